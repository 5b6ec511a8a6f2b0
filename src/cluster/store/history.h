/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORE_HISTORY_H
#define CLUSTER_STORE_HISTORY_H

/*
 * history - the last writes, in order of their revisions.
 *
 * A queue of records: writes come in at the new end, and leave at the old end
 * when there are too many, or at the new end when they are taken back.
 *
 * For the files of this directory only.
 */

#include <stddef.h>
#include <stdint.h>

struct record;

/* { 0 } is an empty one. */
struct history {
	struct record **items; /* a ring of size, a power of two */
	size_t size;
	size_t first;
	size_t count;
	size_t bytes; /* of what only the history needs */
};

void history_push(struct history *h, struct record *record);

/* The n-th from the old end; n is below count. */
struct record *history_get(const struct history *h, size_t n);
/* How many have a revision of at most rv. */
size_t history_find(const struct history *h, uint64_t rv);

/* The oldest and the newest leave; there must be one. */
struct record *history_pop_oldest(struct history *h);
struct record *history_pop_newest(struct history *h);

/* It must be empty. */
void history_done(struct history *h);

#endif
