/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_CACHE_H
#define KUBE_CACHE_H

/*
 * cache - objects of one kind as they were last seen, found by name and by
 * indexes.
 *
 * An object is decoded once, into a view of the user's making; its JSON is not
 * kept. An index maps texts that a view yields (any number of them) to the
 * objects that yield them. Each operation takes constant time per object and
 * key, however many objects there are.
 *
 * Objects are the cache's. A pointer to one is good until the object is put
 * again or removed; whoever needs it longer keeps its key.
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

#define CACHE_INDEXES_MAX 8
#define CACHE_KEYS_MAX 256 /* of one object in one index; more are dropped */

struct cache;
struct cache_keys;

struct cache_object {
	const char *key; /* see kube_key() */
	const char *ns;  /* "" when it has none */
	const char *name;
	const char *uid;
	const char *version; /* metadata.resourceVersion */
	void *view;
};

struct cache_index {
	const char *name; /* for messages */
	/* Calls cache_add_key() for each text. */
	void (*keys)(const struct cache_object *object,
		     struct cache_keys *keys);
};

/* Copied; one that is there already is ignored, and so is NULL or "". */
void cache_add_key(struct cache_keys *keys, const char *key);

struct cache_config {
	/*
	 * Makes the view; what it wants to keep of the JSON it copies or takes
	 * a reference to. NULL: the object itself, which is kept then. A view
	 * that is NULL is one like any other.
	 */
	void *(*decode)(json_t *object, void *arg);
	void (*release)(void *view, void *arg);
	void *arg;
	const struct cache_index *indexes; /* kept, not copied */
	size_t index_count;
};

struct cache *cache_new(const struct cache_config *config);
void cache_free(struct cache *cache); /* NULL is fine */

enum cache_change {
	CACHE_SAME, /* this version was there already */
	CACHE_ADDED,
	CACHE_UPDATED,
	CACHE_REPLACED, /* by another of the same name: removed, then added */
	CACHE_INVALID,  /* no name or no resource version: ignored */
};

/* Called while both are there; old is NULL for what is added, new for what is
 * removed. The cache has the new state already. */
typedef void cache_changed_fn(const struct cache_object *old,
			      const struct cache_object *new_object, void *arg);

/* Takes over an object as it is now and tells changed, if it is not NULL. */
enum cache_change cache_put(struct cache *cache, json_t *json,
			    cache_changed_fn *changed, void *arg);
/* False when it is not there. */
bool cache_remove(struct cache *cache, const char *ns, const char *name,
		  cache_changed_fn *changed, void *arg);

/* What was not put between these two is removed by the second. */
void cache_sweep_begin(struct cache *cache);
void cache_sweep_end(struct cache *cache, cache_changed_fn *changed, void *arg);

/* NULL when it is not there. ns may be NULL or "". */
const struct cache_object *cache_get(const struct cache *cache, const char *ns,
				     const char *name);
const struct cache_object *cache_get_key(const struct cache *cache,
					 const char *key);
size_t cache_count(const struct cache *cache);

/*
 * The objects that yield a key, or all of them, in no order; the cache must not
 * change meanwhile.
 *
 *	struct cache_walk walk = cache_find(cache, BY_NODE, "node1");
 *	while ((object = cache_walk_next(&walk)) != NULL)
 */
struct cache_walk {
	const struct cache *cache;
	const void *at;
	bool all;
};

struct cache_walk cache_find(const struct cache *cache, size_t index,
			     const char *key);
struct cache_walk cache_all(const struct cache *cache);
const struct cache_object *cache_walk_next(struct cache_walk *walk);
/* How many yield the key. */
size_t cache_count_of(const struct cache *cache, size_t index, const char *key);

#endif
