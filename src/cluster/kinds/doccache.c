/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/doccache.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tls/digest.h"

struct entry {
	struct map_node node;
	struct document document;
	char *name;
	uint64_t state;
	char *data;
	char etag[DIGEST_SHA256_HEX_SIZE + 2];
	char hash[DIGEST_SHA256_HEX_SIZE];
};

static void
forget(struct doccache *cache, struct entry *entry)
{
	map_remove(&cache->map, &entry->node);
	free(entry->name);
	free(entry->data);
	free(entry);
}

void
doccache_done(struct doccache *cache)
{
	struct map_node *node, *next;

	for (node = map_next(&cache->map, NULL); node != NULL; node = next) {
		next = map_next(&cache->map, node);
		forget(cache, MAP_ENTRY(node, struct entry, node));
	}
	map_done(&cache->map);
	*cache = (struct doccache){ 0 };
}

void
doccache_sweep(struct doccache *cache,
	       uint64_t (*state)(const char *name, void *arg), void *arg)
{
	struct map_node *node, *next;

	for (node = map_next(&cache->map, NULL); node != NULL; node = next) {
		struct entry *entry = MAP_ENTRY(node, struct entry, node);

		next = map_next(&cache->map, node);
		if (state(entry->name, arg) != entry->state)
			forget(cache, entry);
	}
}

const struct document *
doccache_get(struct doccache *cache, const struct docname *name)
{
	struct map_node *node = map_get(&cache->map, name->name);
	struct entry *entry;

	if (node == NULL)
		return NULL;
	entry = MAP_ENTRY(node, struct entry, node);
	if (entry->state == name->state)
		return &entry->document;
	forget(cache, entry);
	return NULL;
}

const struct document *
doccache_put(struct doccache *cache, const struct docname *name,
	     const char *content_type, char *data, size_t len)
{
	struct entry *entry = xmalloc0(sizeof(*entry));

	entry->name = xstrdup(name->name);
	entry->state = name->state;
	entry->data = data;
	(void)digest_sha256_hex(data, len, entry->hash);
	(void)snprintf(entry->etag, sizeof(entry->etag), "\"%s\"", entry->hash);
	entry->document = (struct document){ .content_type = content_type,
					     .etag = entry->etag,
					     .hash = entry->hash,
					     .data = data,
					     .len = len };
	map_put(&cache->map, &entry->node, entry->name);
	return &entry->document;
}

const struct document *
doccache_put_json(struct doccache *cache, const struct docname *name,
		  const char *content_type, json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT);
	size_t len;

	json_decref(value);
	if (text == NULL)
		abort();
	len = strlen(text);
	text = xrealloc(text, len + 2);
	text[len++] = '\n';
	text[len] = '\0';
	return doccache_put(cache, name, content_type, text, len);
}
