/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORE_DB_H
#define CLUSTER_STORE_DB_H

/*
 * db - the store's file: SQLite, in WAL mode, every commit synced.
 *
 *   log    one row per write that is part of the state or of the history:
 *          revision, collection, whether it removed, and the object's text
 *   mark   one row: the revision up to which the history was dropped
 *
 * The newest row of a key is its state. A row goes away when the write that
 * superseded it leaves the history; so does a removal's own row.
 *
 * For the files of this directory only.
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct err;
struct object;

/* text is valid for the time of the call only. */
struct db_row {
	uint64_t rv;
	const char *collection;
	const char *text;
	size_t len;
	bool removed;
};

struct db_write {
	const struct object *object;
	bool removed;
};

/* One transaction. */
struct db_batch {
	const struct db_write *writes;
	size_t write_count;
	const uint64_t *drops; /* revisions whose rows go away */
	size_t drop_count;
	uint64_t oldest_rv; /* written when there are drops */
};

enum db_mode {
	DB_READ,   /* changes nothing, and needs no right to */
	DB_WRITE,  /* the file must be there */
	DB_CREATE, /* an empty or missing file becomes a new store */
};

/* NULL on failure. */
struct db *db_open(const char *path, enum db_mode mode, struct err *err);
/* NULL is fine. */
void db_close(struct db *db);

/* The revision up to which the history was dropped; and the newest one, which
 * may be the same. */
int db_revisions(struct db *db, uint64_t *ret_oldest_rv, uint64_t *ret_rv,
		 struct err *err);
/* Drops the history up to there; it may be above all revisions. */
int db_set_oldest(struct db *db, uint64_t rv, struct err *err);

/* Calls fn for each row in order of revisions, until it returns -1. */
int db_load(struct db *db,
	    int (*fn)(const struct db_row *row, void *arg, struct err *err),
	    void *arg, struct err *err);

/* All of the batch is on disk when this returns 0, nothing of it after -1. */
int db_commit(struct db *db, const struct db_batch *batch, struct err *err);

/* Moves what was committed from the log of SQLite into its file, if there is
 * enough of it to be worth it. */
void db_checkpoint(struct db *db);

/* Whether SQLite finds the file in order, all of it. */
int db_check(struct db *db, struct err *err);
/* Copies everything to an empty or new file, synced. */
int db_copy(struct db *db, const char *path, struct err *err);

#endif
