/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORE_STORE_H
#define CLUSTER_STORE_STORE_H

/*
 * store - all objects in memory, every write on disk, and a bounded history.
 *
 * A write is seen by reads at once. A committer thread carries it to disk, with
 * all that arrived while the transaction before was being synced. Only then is
 * it durable: its event goes out, then those who wait are called. When a
 * transaction fails, everything that is not yet durable is taken back in
 * memory, and who waits gets the error; so a reply must not show anything that
 * is not durable, or a crash could take back what a client has seen. There are
 * two ways to keep to that:
 *
 *   - read the newest state, then reply from store_when_durable(). Whoever
 *     writes does this.
 *   - read the state as of store_durable_rv() with store_get_at() and
 *     store_list_at(), and reply at once. A read never waits for the disk this
 *     way, and still sees every write that was answered.
 *
 * Revisions. One counter for all collections; each write takes the next number.
 * The revision of a write that was taken back is given to another.
 *
 * History. The last writes are kept, also over a restart, up to the configured
 * count and bytes: subscribing and listing reach back to store_oldest_rv().
 *
 * Order of objects: that of the bytes of "namespace/name", as in etcd.
 *
 * Threading: everything from the loop's thread. Nothing blocks but opening,
 * closing and store_flush().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct label; /* meta/selector.h */
struct loop;
struct object;
struct store;
struct collection;
struct subscription;

#define STORE_HISTORY_EVENTS 50000
#define STORE_HISTORY_BYTES (64UL << 20)

/* The file in the directory that holds everything. */
#define STORE_FILE "state.db"

struct store_config {
	const char *dir; /* must exist */
	struct loop *loop;
	/* How much history to keep; 0: the value above. Bytes are those that
	 * only the history needs: objects that were replaced or removed. */
	size_t history_events;
	size_t history_bytes;
};

/*
 * Opens the store in dir, making it if there is none, and reads all of it.
 * NULL with ERR_CONFLICT when another process has it open, with ERR_INVALID
 * when the file is not a store, or one of a newer version.
 */
struct store *store_open(const struct store_config *config, struct err *err);

/*
 * Commits what is pending, calls who waits, and frees everything but objects
 * that somebody else refers to. All subscriptions must have ended. NULL is
 * fine.
 */
void store_close(struct store *store);

/* The same one for the same names; made on first use. group is "" for core. */
struct collection *store_collection(struct store *store, const char *group,
				    const char *resource);
const char *collection_group(const struct collection *collection);
const char *collection_resource(const struct collection *collection);
struct store *collection_store(const struct collection *collection);

/* The revision of the newest write, durable or not. */
uint64_t store_rv(const struct store *store);
/* The revision of the newest durable write. */
uint64_t store_durable_rv(const struct store *store);
/* The oldest revision whose state is known and after which every event is. */
uint64_t store_oldest_rv(const struct store *store);
/* The revision that the next write must have; asking does not use it up. */
uint64_t store_next_rv(const struct store *store);

/* The newest state; borrowed until the next write or turn of the loop. ns is ""
 * for objects without a namespace. NULL when there is none. */
struct object *store_get(const struct collection *c, const char *ns,
			 const char *name);
/* The same as of revision rv, not below store_oldest_rv(). */
struct object *store_get_at(const struct collection *c, const char *ns,
			    const char *name, uint64_t rv);
/* Over all collections, the newest state; borrowed. */
struct object *store_by_uid(const struct store *store, const char *uid);

/*
 * The newest objects of a namespace (NULL: of all) in order, at most limit (0:
 * all) of those behind after (NULL: from the first), which is a text as of
 * object_key() and need not name an object. Returns how many;
 * *ret_objects is an array of references for objects_unref().
 */
size_t store_list(const struct collection *c, const char *ns, const char *after,
		  size_t limit, struct object ***ret_objects);

/* How many there are, and how many behind a key; in logarithmic time. */
size_t store_count(const struct collection *c, const char *ns);
size_t store_count_after(const struct collection *c, const char *ns,
			 const char *after);

/* How many have the label now; in constant time. */
size_t store_count_labelled(const struct collection *c,
			    const struct label *label);

/* What store_list_at() shall list; the members as in store_list(). */
struct list_range {
	const char *ns;
	const char *after;
	size_t limit;
	/* Only those that have it; NULL: all. Costs as much as there are of
	 * these in all namespaces, and writes after the revision. */
	const struct label *label;
};

/* What it found; for objects_unref(objects, count). */
struct object_list {
	struct object **objects;
	size_t count;
	size_t remaining; /* how many there were behind the last one */
};

/*
 * As store_list(), with the objects as they were at revision rv. -1 with
 * ERR_NOT_FOUND when rv is below store_oldest_rv(), with ERR_INVALID when it is
 * above store_rv(); then *ret_list is not touched.
 */
int store_list_at(const struct collection *c, uint64_t rv,
		  const struct list_range *range, struct object_list *ret_list,
		  struct err *err);

/*
 * Creates or replaces the object of this key. Takes the reference; its rv must
 * be store_next_rv() and its collection c.
 */
void store_put(struct collection *c, struct object *object);

/*
 * Removes the object of this key, which must be there. tombstone is its last
 * content with the removal's revision, store_next_rv(); the reference is taken.
 */
void store_remove(struct collection *c, struct object *tombstone);

/*
 * Calls fn once, when everything written so far is durable: at once when it is
 * already, otherwise from the loop with NULL, or with the error after the
 * writes were taken back (ERR_LIMIT: the disk is full). The events of these
 * writes have been delivered before.
 */
void store_when_durable(struct store *store,
			void (*fn)(const struct err *err, void *arg),
			void *arg);

/* Waits until everything written so far is durable, and does what the loop
 * would have done then: events, callbacks; so it must not be called from those.
 * -1 when the writes were taken back. */
int store_flush(struct store *store, struct err *err);

enum event_type {
	EVENT_ADDED,
	EVENT_MODIFIED,
	EVENT_DELETED,
	EVENT_TYPE_COUNT,
};

/* Everything is borrowed for the time of the call. */
struct event {
	enum event_type type;
	uint64_t rv;
	struct object *object; /* of EVENT_DELETED: the tombstone */
	struct object *old;    /* what it replaced; NULL for EVENT_ADDED */
};

/*
 * Calls fn for each event of a collection (NULL: of all) after revision
 * after_rv, in order: first, before this returns, for what is durable already,
 * then from the loop as writes become so. fn may write, subscribe and
 * unsubscribe. NULL, with *ret_too_old set, when after_rv is below
 * store_oldest_rv(). A revision in the future is fine: nothing comes until
 * it was passed.
 */
struct subscription *subscribe(struct store *store, struct collection *c,
			       uint64_t after_rv,
			       void (*fn)(const struct event *event, void *arg),
			       void *arg, bool *ret_too_old);
/* fn is not called again. Inside fn too; NULL is fine. */
void unsubscribe(struct subscription *subscription);

/*
 * Copies the store of dir to file, while it may be in use, also by another
 * process: the copy is the state at one moment. An existing file is replaced
 * once the copy is complete; on failure it is as it was.
 */
int store_backup(const char *dir, const char *file, struct err *err);

/*
 * Makes the store of dir, which must have none, from a backup, after checking
 * the whole of it. Its revisions go on far above those of the backup and its
 * history is dropped, so that a client that has seen later states lists again
 * instead of taking old for new. On failure dir has no store.
 */
int store_restore(const char *dir, const char *file, struct err *err);

#endif
