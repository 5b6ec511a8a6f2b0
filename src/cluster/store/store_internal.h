/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORE_STORE_INTERNAL_H
#define CLUSTER_STORE_STORE_INTERNAL_H

/*
 * What the files of the store share. For the files of this directory only.
 *
 *   store.c   opening, collections, reading
 *   write.c   writing, becoming durable, being taken back
 *   list.c    lists, now and at an older revision
 *   watch.c   subscriptions
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "cluster/store/history.h"
#include "cluster/store/store.h"

struct committer;
struct db;
struct err;
struct loop_io;

struct waiter {
	uint64_t rv;
	void (*fn)(const struct err *err, void *arg);
	void *arg;
};

/* In order of revisions; those before first have been called. */
struct waiters {
	struct waiter *items;
	size_t first;
	size_t count;
	size_t size;
};

struct store {
	int dir_fd; /* locked, as long as the store is open */
	struct db *db;
	struct committer *committer;
	int wake_fd; /* readable when the committer or kick() wants the loop */
	struct loop_io *wake;
	bool kicked;   /* wake_fd was made readable to start the committer */
	bool settling; /* events or waiters are being called */

	struct map collections;
	struct map by_uid; /* entries */

	/* Of rising revisions, with gaps; those above durable_rv are pending,
	 * oldest_rv is the one before the first. */
	struct history history;
	size_t history_events;
	size_t history_bytes;
	uint64_t oldest_rv;
	uint64_t durable_rv;
	uint64_t rv;

	struct waiters waiters;
	struct subscription *subscriptions; /* of all collections */
	struct subscription *cursor;        /* the next one to be called */
};

/* Nobody else may write in a directory that is locked. The lock is the
 * kernel's: it ends with the descriptor, and with the process, however that
 * ends. */
int store_lock_dir(const char *dir, int *ret_fd, struct err *err);

/* Puts a write into memory and the history; takes the reference. */
void write_apply(struct collection *c, struct object *object, bool removed);

/* Drops what the history may not keep; what is pending stays. */
void write_trim(struct store *store);
/* Drops the history up to rv. */
void write_forget(struct store *store, uint64_t rv);

/* Frees the history, at the end; the disk keeps it. */
void write_discard(struct store *store);

/* When wake_fd is readable. */
void write_on_wake(unsigned ready, void *arg);

/* Calls the subscriptions for the durable events behind rv. */
void watch_deliver(struct store *store, uint64_t after_rv);

#endif
