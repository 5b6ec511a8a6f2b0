/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORE_COMMITTER_H
#define CLUSTER_STORE_COMMITTER_H

/*
 * committer - a thread that carries writes to disk.
 *
 * The loop's thread queues writes; the committer takes all there are, commits
 * them in one transaction, reports, and takes what has come meanwhile. After a
 * failure it rests until committer_reset(). It reports by making a descriptor
 * readable, which the loop's thread answers with committer_poll().
 *
 * For the files of this directory only.
 *
 * Threading: every function from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct committer;
struct db;
struct object;

struct committer_report {
	uint64_t durable_rv; /* everything up to here is on disk */
	bool failed;         /* and nothing behind it will be */
	struct err err;      /* why */
};

/* Uses db from its own thread until committer_stop(). wake_fd is an eventfd and
 * stays the caller's; durable_rv is what is on disk already. */
struct committer *committer_start(struct db *db, int wake_fd,
				  uint64_t durable_rv);

/* Commits what is queued, then ends the thread. NULL is fine. */
void committer_stop(struct committer *committer);

/* Queues a write. The object is borrowed until it is reported durable, or
 * until committer_reset(). */
void committer_add(struct committer *committer, const struct object *object,
		   bool removed);

/* Queues a row to be dropped, because the history now begins at oldest_rv. Rows
 * are dropped many at a time, with some write; committer_stop() drops the last
 * ones. */
void committer_drop(struct committer *committer, uint64_t rv,
		    uint64_t oldest_rv);

/* Starts on what is queued, if the committer rests. */
void committer_go(struct committer *committer);

struct committer_report committer_poll(struct committer *committer);

/* Waits until the committer rests: nothing is queued, or it has failed. */
void committer_wait(struct committer *committer);

/* After a failure: forgets what is queued, and works again. */
void committer_reset(struct committer *committer);

#endif
