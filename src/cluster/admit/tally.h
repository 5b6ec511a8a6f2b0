/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_TALLY_H
#define CLUSTER_ADMIT_TALLY_H

/*
 * tally - one ResourceQuota: its limits, what is used and what is reserved.
 *
 * Knows how to count and to compare; who tells it of objects, and when, is
 * quota.c's.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/js.h"
#include "cluster/admit/usage.h"
#include "meta/quantity.h"

struct kind;
struct object;
struct registry;
struct status;
struct store;

/* Names in spec.hard; a quota with more is refused when it is written. */
#define TALLY_LIMITS_MAX 256

struct tally_limit {
	struct usage_meter meter;
	struct quantity hard;
	struct quantity used;     /* by what is on disk */
	struct quantity reserved; /* by what is on its way there */
};

struct tally {
	char *namespace_;
	char *name;
	json_t *spec;
	bool scoped; /* only about pods, and not all of them */
	struct tally_limit *limits;
	size_t count;
	uint64_t since; /* writes up to this one are counted */
	bool dirty;     /* the status is not up to date */
	struct tally *next;
};

/* From an object of kind ResourceQuota, whose reference is not taken; nothing
 * is counted yet. */
struct tally *tally_new(const char *ns, const char *name, const json_t *quota);
void tally_free(struct tally *tally);

/* Counts the objects of the namespace as they are now, from nothing. */
void tally_count(struct tally *tally, struct store *store,
		 const struct registry *registry);

/* Adds new and takes old away; either may be NULL. True if that changed
 * anything. */
bool tally_follow(struct tally *tally, const struct object *old,
		  const struct object *new);

/* An object that is to be written; old is NULL for a new one. */
struct tally_change {
	const struct kind *kind;
	const char *name;
	const json_t *object;
	const json_t *old;
};

/*
 * Whether the change fits, 0, or -1 with 403. ret_amounts has one place for
 * each limit and is filled with what is to be reserved; *ret_any tells whether
 * that is anything.
 */
int tally_check(const struct tally *tally, const struct tally_change *change,
		struct quantity *ret_amounts, bool *ret_any, struct status *st);

/* {"hard":{},"used":{}}: a new reference. */
json_t *tally_status(const struct tally *tally);

#endif
