/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/jsat.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/obj.h"
#include "kube/resource.h"

/* All objects that yield one key of an index. */
struct bucket {
	struct map_node node;
	LIST_HEAD(, link) links;
	size_t count;
	char key[];
};

/* An object's place in a bucket. */
struct link {
	LIST_ENTRY(link) entry;
	struct bucket *bucket;
	struct item *item;
	size_t index;
};

struct item {
	struct cache_object object;
	struct map_node node;
	TAILQ_ENTRY(item) entry; /* those not seen for longest first */
	uint64_t seen;           /* the sweep in which it was put */
	struct link *links;
	size_t link_count;
	char texts[]; /* key, ns, name, uid and version */
};

struct cache {
	struct cache_config config;
	struct map all;
	TAILQ_HEAD(, item) order;
	struct map indexes[CACHE_INDEXES_MAX];
	uint64_t sweep;
};

/* The keys of one object, while they are being collected. */
struct cache_keys {
	struct cache *cache;
	struct item *item;
	size_t index;
	size_t first; /* link of this index */
};

struct cache *
cache_new(const struct cache_config *config)
{
	struct cache *c = xmalloc0(sizeof(*c));

	assert(config->index_count <= CACHE_INDEXES_MAX);
	c->config = *config;
	TAILQ_INIT(&c->order);
	return c;
}

static struct bucket *
find_bucket(const struct cache *c, size_t index, const char *key)
{
	struct map_node *node = map_get(&c->indexes[index], key);

	return node != NULL ? MAP_ENTRY(node, struct bucket, node) : NULL;
}

static struct bucket *
make_bucket(struct cache *c, size_t index, const char *key)
{
	struct bucket *b = find_bucket(c, index, key);
	size_t len = strlen(key);

	if (b != NULL)
		return b;
	b = xmalloc0(sizeof(*b) + len + 1);
	memcpy(b->key, key, len);
	LIST_INIT(&b->links);
	map_put(&c->indexes[index], &b->node, b->key);
	return b;
}

void
cache_add_key(struct cache_keys *keys, const char *key)
{
	struct item *item = keys->item;

	if (key == NULL || *key == '\0' ||
	    item->link_count - keys->first == CACHE_KEYS_MAX)
		return;
	for (size_t i = keys->first; i < item->link_count; i++) {
		if (str_equal(item->links[i].bucket->key, key))
			return;
	}
	item->links = xrealloc(item->links,
			       (item->link_count + 1) * sizeof(*item->links));
	item->links[item->link_count++] = (struct link){
		.bucket = make_bucket(keys->cache, keys->index, key),
		.item = item,
		.index = keys->index,
	};
}

/* The links move while they are collected, so they are linked in the end. */
static void
index_item(struct cache *c, struct item *item)
{
	for (size_t i = 0; i < c->config.index_count; i++) {
		struct cache_keys keys = { c, item, i, item->link_count };

		c->config.indexes[i].keys(&item->object, &keys);
	}
	for (size_t i = 0; i < item->link_count; i++) {
		struct link *link = &item->links[i];

		LIST_INSERT_HEAD(&link->bucket->links, link, entry);
		link->bucket->count++;
	}
}

static void
unindex_item(struct cache *c, struct item *item)
{
	for (size_t i = 0; i < item->link_count; i++) {
		struct link *link = &item->links[i];
		struct bucket *b = link->bucket;

		LIST_REMOVE(link, entry);
		if (--b->count > 0)
			continue;
		map_remove(&c->indexes[link->index], &b->node);
		free(b);
	}
	free(item->links);
	item->links = NULL;
	item->link_count = 0;
}

static void
item_free(struct cache *c, struct item *item)
{
	if (c->config.decode == NULL)
		json_decref(item->object.view);
	else if (c->config.release != NULL)
		c->config.release(item->object.view, c->config.arg);
	free(item);
}

static const char *
put_text(char **at, const char *text)
{
	const char *start = *at;
	size_t len = strlen(text) + 1;

	memcpy(*at, text, len);
	*at += len;
	return start;
}

static struct item *
item_new(struct cache *c, json_t *json, const char *key)
{
	const char *texts[] = { key, obj_ns(json), obj_name(json),
				obj_uid(json), obj_version(json) };
	const char *placed[5];
	struct item *item;
	size_t len = 0;
	char *at;

	for (size_t i = 0; i < 5; i++)
		len += strlen(texts[i]) + 1;
	item = xmalloc0(sizeof(*item) + len);
	at = item->texts;
	for (size_t i = 0; i < 5; i++)
		placed[i] = put_text(&at, texts[i]);
	item->object = (struct cache_object){
		.key = placed[0],
		.ns = placed[1],
		.name = placed[2],
		.uid = placed[3],
		.version = placed[4],
		.view = c->config.decode != NULL
				? c->config.decode(json, c->config.arg)
				: json_incref(json),
	};
	return item;
}

static void
insert(struct cache *c, struct item *item)
{
	item->seen = c->sweep;
	map_put(&c->all, &item->node, item->object.key);
	TAILQ_INSERT_TAIL(&c->order, item, entry);
	index_item(c, item);
}

static void
take_out(struct cache *c, struct item *item)
{
	unindex_item(c, item);
	map_remove(&c->all, &item->node);
	TAILQ_REMOVE(&c->order, item, entry);
}

static void
tell(cache_changed_fn *changed, void *arg, const struct item *old,
     const struct item *item)
{
	if (changed != NULL)
		changed(old != NULL ? &old->object : NULL,
			item != NULL ? &item->object : NULL, arg);
}

static struct item *
find_item(const struct cache *c, const char *key)
{
	struct map_node *node = map_get(&c->all, key);

	return node != NULL ? MAP_ENTRY(node, struct item, node) : NULL;
}

static void
remove_item(struct cache *c, struct item *item, cache_changed_fn *changed,
	    void *arg)
{
	take_out(c, item);
	tell(changed, arg, item, NULL);
	item_free(c, item);
}

enum cache_change
cache_put(struct cache *c, json_t *json, cache_changed_fn *changed, void *arg)
{
	enum cache_change change = CACHE_ADDED;
	char key[KUBE_KEY_MAX];
	struct item *item;
	struct item *old;

	if (*obj_name(json) == '\0' || *obj_version(json) == '\0')
		return CACHE_INVALID;
	(void)kube_key(obj_ns(json), obj_name(json), key);
	old = find_item(c, key);
	if (old != NULL && str_equal(old->object.version, obj_version(json)) &&
	    str_equal(old->object.uid, obj_uid(json))) {
		old->seen = c->sweep;
		TAILQ_REMOVE(&c->order, old, entry);
		TAILQ_INSERT_TAIL(&c->order, old, entry);
		return CACHE_SAME;
	}
	if (old != NULL && !str_equal(old->object.uid, obj_uid(json))) {
		remove_item(c, old, changed, arg);
		old = NULL;
		change = CACHE_REPLACED;
	}
	item = item_new(c, json, key);
	if (old != NULL) {
		take_out(c, old);
		change = CACHE_UPDATED;
	}
	insert(c, item);
	tell(changed, arg, old, item);
	if (old != NULL)
		item_free(c, old);
	return change;
}

bool
cache_remove(struct cache *c, const char *ns, const char *name,
	     cache_changed_fn *changed, void *arg)
{
	char key[KUBE_KEY_MAX];
	struct item *item = find_item(c, kube_key(ns, name, key));

	if (item == NULL)
		return false;
	remove_item(c, item, changed, arg);
	return true;
}

void
cache_sweep_begin(struct cache *c)
{
	c->sweep++;
}

void
cache_sweep_end(struct cache *c, cache_changed_fn *changed, void *arg)
{
	struct item *item;

	/* Whatever was put during the sweep is behind what was not. */
	while ((item = TAILQ_FIRST(&c->order)) != NULL &&
	       item->seen != c->sweep)
		remove_item(c, item, changed, arg);
}

void
cache_free(struct cache *c)
{
	struct item *item;

	if (c == NULL)
		return;
	while ((item = TAILQ_FIRST(&c->order)) != NULL) {
		take_out(c, item);
		item_free(c, item);
	}
	for (size_t i = 0; i < CACHE_INDEXES_MAX; i++)
		map_done(&c->indexes[i]);
	map_done(&c->all);
	free(c);
}

const struct cache_object *
cache_get_key(const struct cache *c, const char *key)
{
	const struct item *item = find_item(c, key);

	return item != NULL ? &item->object : NULL;
}

const struct cache_object *
cache_get(const struct cache *c, const char *ns, const char *name)
{
	char key[KUBE_KEY_MAX];

	return cache_get_key(c, kube_key(ns, name, key));
}

size_t
cache_count(const struct cache *c)
{
	return c->all.count;
}

struct cache_walk
cache_find(const struct cache *c, size_t index, const char *key)
{
	const struct bucket *b;

	assert(index < c->config.index_count);
	b = find_bucket(c, index, key);
	return (struct cache_walk){
		.cache = c,
		.at = b != NULL ? LIST_FIRST(&b->links) : NULL,
	};
}

struct cache_walk
cache_all(const struct cache *c)
{
	return (struct cache_walk){ .cache = c,
				    .at = TAILQ_FIRST(&c->order),
				    .all = true };
}

const struct cache_object *
cache_walk_next(struct cache_walk *walk)
{
	const struct item *item;
	const struct link *link;

	if (walk->at == NULL)
		return NULL;
	if (walk->all) {
		item = walk->at;
		walk->at = TAILQ_NEXT(item, entry);
		return &item->object;
	}
	link = walk->at;
	walk->at = LIST_NEXT(link, entry);
	return &link->item->object;
}

size_t
cache_count_of(const struct cache *c, size_t index, const char *key)
{
	const struct bucket *b;

	assert(index < c->config.index_count);
	b = find_bucket(c, index, key);
	return b != NULL ? b->count : 0;
}
