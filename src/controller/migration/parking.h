/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_PARKING_H
#define CONTROLLER_MIGRATION_PARKING_H

/*
 * parking - migrations that wait for a slot, in the order in which they get
 * one.
 *
 * The highest priority first. Among equals the nodes take turns, so that one
 * with many migrations does not keep the others waiting, and of a node the one
 * that was made first. A node that has no slot is passed over. Adding and
 * dropping take logarithmic time, taking besides that a look at each node that
 * is passed over; those who wait are not looked at.
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parking;

/* All is copied. */
struct parked {
	const char *key;
	const char *uid;
	const char *node; /* whose slot it waits for; "" is one too */
	int priority;
	int64_t created_us;
};

struct parking *parking_new(void);
void parking_free(struct parking *parking); /* NULL is fine */

/* One that is there already, by its key, moves to its new place. */
void parking_put(struct parking *parking, const struct parked *parked);
/* Nothing when it is not there. */
void parking_drop(struct parking *parking, const char *key);

/*
 * Takes out the next one whose node has a slot, and calls taken with it; it is
 * good during the call, which must not use the parking. False when there is
 * none.
 */
struct parking_taker {
	bool (*has_slot)(const char *node, void *arg);
	void (*taken)(const struct parked *parked, void *arg);
	void *arg;
};
bool parking_take(struct parking *parking, const struct parking_taker *taker);

size_t parking_count(const struct parking *parking);

#endif
