/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/entry.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cluster/store/labels.h"
#include "cluster/store/object.h"

struct key
key_of(const char *ns, const char *name)
{
	return (struct key){ .ns = ns, .ns_len = strlen(ns), .name = name };
}

struct key
key_space(const char *ns, int side)
{
	return (struct key){ .ns = ns, .ns_len = strlen(ns), .side = side };
}

struct key
key_after(const char *text)
{
	const char *slash = strchr(text, '/');
	struct key key = { .ns = text, .name = text, .side = 1 };

	if (slash != NULL) {
		key.ns_len = (size_t)(slash - text);
		key.name = slash + 1;
	}
	return key;
}

/* A namespace ends where the slash of the key is: "a-b/" comes before "a/". */
static int
compare_space(const struct key *key, const char *ns)
{
	size_t i = 0;
	int a, b;

	while (i < key->ns_len && key->ns[i] == ns[i])
		i++;
	a = i < key->ns_len ? (unsigned char)key->ns[i] : '/';
	b = ns[i] != '\0' ? (unsigned char)ns[i] : '/';
	return a - b;
}

static int
compare_object(const struct key *key, const struct object *object)
{
	int order = compare_space(key, object->namespace_);

	if (order == 0 && key->name != NULL)
		order = strcmp(key->name, object->name);
	return order != 0 ? order : key->side;
}

bool
key_precedes(const struct key *key, const struct object *object)
{
	return compare_object(key, object) < 0;
}

static int
compare(const void *key, const struct tree_node *node)
{
	return compare_object(key,
			      entry_face(TREE_ENTRY(node, struct entry, node)));
}

const struct object *
entry_face(const struct entry *entry)
{
	return entry->object != NULL ? entry->object : entry->newest->object;
}

void
collection_init(struct collection *c, struct store *store, const char *group,
		const char *resource)
{
	c->store = store;
	c->name = xasprintf("%s/%s", group, resource);
	c->group = xstrdup(group);
	c->resource = c->name + strlen(group) + 1;
	c->live.compare = compare;
	c->gone.compare = compare;
}

void
collection_done(struct collection *c)
{
	struct tree_node *node;

	assert(c->gone.root == NULL);
	while ((node = tree_first(&c->live)) != NULL) {
		struct entry *entry = TREE_ENTRY(node, struct entry, node);

		tree_remove(&c->live, node);
		object_unref(TAKE_PTR(entry->object));
		labels_update(&c->labels, entry);
		free(entry);
	}
	map_done(&c->labels);
	free(c->name);
	free(c->group);
}

struct entry *
entry_find(const struct collection *c, const char *ns, const char *name)
{
	struct key key = key_of(ns, name);
	struct tree_node *node = tree_find(&c->live, &key);

	if (node == NULL)
		node = tree_find(&c->gone, &key);
	return node != NULL ? TREE_ENTRY(node, struct entry, node) : NULL;
}

struct entry *
entry_new(struct collection *c)
{
	struct entry *entry = xmalloc0(sizeof(*entry));

	entry->collection = c;
	return entry;
}

static struct tree *
home(const struct entry *entry)
{
	if (entry->object != NULL)
		return &entry->collection->live;
	return entry->newest != NULL ? &entry->collection->gone : NULL;
}

static void
set_uid(struct entry *entry, struct map *by_uid)
{
	const struct object *object = entry->object;

	map_remove(by_uid, &entry->by_uid);
	/* The server makes them; should two be equal, the first counts. */
	if (object != NULL && object->uid[0] != '\0' &&
	    map_get(by_uid, object->uid) == NULL)
		map_put(by_uid, &entry->by_uid, object->uid);
}

struct object *
entry_change(struct entry *entry, struct object *object, struct record *newest,
	     struct map *by_uid)
{
	struct tree *from = home(entry), *to;
	struct object *old = entry->object;

	entry->object = object;
	entry->newest = newest;
	to = home(entry);
	if (from != NULL && from != to)
		tree_remove(from, &entry->node);
	if (to != NULL && from != to) {
		const struct object *face = entry_face(entry);
		struct key key = key_of(face->namespace_, face->name);

		(void)tree_insert(to, &key, &entry->node);
	}
	if (object != old) {
		set_uid(entry, by_uid);
		labels_update(&entry->collection->labels, entry);
	}
	if (to == NULL)
		free(entry);
	return old;
}

struct object *
entry_at(const struct entry *entry, uint64_t rv)
{
	const struct record *record = entry->newest;
	struct object *object = entry->object;

	while (record != NULL && record->object->rv > rv) {
		object = record->old;
		record = record->older;
	}
	return object;
}
