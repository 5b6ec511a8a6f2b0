/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORE_ENTRY_H
#define CLUSTER_STORE_ENTRY_H

/*
 * entry - one key of a collection: what is there now, and what was.
 *
 * A collection has an entry for each key that has an object (in the tree
 * "live") or had one within the history (in the tree "gone"). The entry leads
 * to the key's records, newest first, so that the state at an older revision
 * is a few steps away, and a write can be taken back.
 *
 * For the files of this directory only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/tree.h"

struct label_post;
struct object;
struct store;
struct subscription;

/* One write. Belongs to the history. */
struct record {
	struct object *object; /* a reference; the tombstone of a removal */
	struct object *old;    /* a reference to what it replaced; or NULL */
	struct entry *entry;
	struct record *older; /* of the same key, and still in the history */
	struct record *newer;
	bool removed;
};

struct entry {
	struct tree_node node;
	struct map_node by_uid;
	struct collection *collection;
	struct object *object;    /* a reference; NULL: none now */
	struct record *newest;    /* NULL: not changed within the history */
	struct label_post *posts; /* one for each label of object; labels.h */
	size_t post_count;
};

struct collection {
	struct map_node by_name;
	struct store *store;
	char *name; /* "group/resource" */
	char *group;
	const char *resource; /* in name */
	struct tree live;
	struct tree gone;
	struct map labels;   /* groups of what is live; labels.h */
	uint64_t changed_rv; /* no write is newer */
	struct subscription *subscriptions;
};

/* A place in the order of keys. */
struct key {
	const char *ns;
	size_t ns_len;
	const char *name; /* NULL: any */
	int side;         /* -1, 0, 1: before, at or behind what is equal */
};

struct key key_of(const char *ns, const char *name);
/* Before (-1) or behind (1) everything of a namespace. */
struct key key_space(const char *ns, int side);
/* Behind the object of an object_key() text. */
struct key key_after(const char *text);
/* Whether an object comes behind the place. */
bool key_precedes(const struct key *key, const struct object *object);

void collection_init(struct collection *c, struct store *store,
		     const char *group, const char *resource);
/* Drops all entries; there must be no records any more. */
void collection_done(struct collection *c);

/* NULL when there is none. */
struct entry *entry_find(const struct collection *c, const char *ns,
			 const char *name);

/* One of no key, to be given an object or a record with entry_change(). */
struct entry *entry_new(struct collection *c);

/*
 * Sets what is there from now on: an object (the reference is taken) or NULL,
 * and the newest record or NULL. Returns what was there, a reference. An entry
 * that is left with neither is freed. by_uid and the collection's labels are
 * kept up to date.
 */
struct object *entry_change(struct entry *entry, struct object *object,
			    struct record *newest, struct map *by_uid);

/* What was there at revision rv; NULL for nothing. Borrowed. */
struct object *entry_at(const struct entry *entry, uint64_t rv);

/* What gives the entry its key: the object, or the tombstone. */
const struct object *entry_face(const struct entry *entry);

#endif
