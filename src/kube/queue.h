/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_QUEUE_H
#define KUBE_QUEUE_H

/*
 * queue - what a controller has to look at, each thing once.
 *
 * A thing is known by a text. However often it is added before its turn, it
 * comes once; what is added while it is being worked on comes again
 * afterwards, never at the same time. A thing whose work failed comes back
 * after a pause that doubles from pause_min_ms to pause_max_ms; success ends
 * that.
 *
 * Of the things that are due those of the highest priority come first. Among
 * equals the groups take turns, so that a group with many things does not keep
 * the others waiting; within a group they come in the order in which they
 * became due. Each operation takes logarithmic time in the number of things and
 * groups; of priorities there should be a handful.
 *
 * Knows no clock: the caller says what time it is, in milliseconds.
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/timing.h"

#define QUEUE_PAUSE_MIN_MS 50U
#define QUEUE_PAUSE_MAX_MS (30U * 1000)
#define QUEUE_NEVER UINT64_MAX

struct queue;

struct queue_options {
	unsigned pause_min_ms; /* 0: QUEUE_PAUSE_MIN_MS */
	unsigned pause_max_ms; /* 0: QUEUE_PAUSE_MAX_MS */
};

/* options may be NULL. */
struct queue *queue_new(const struct queue_options *options);
void queue_free(struct queue *queue); /* NULL is fine */

/* All is copied. */
struct queue_add {
	const char *key;
	const char *group; /* NULL: the one that has no name */
	int priority;      /* higher comes first */
	uint64_t delay_ms; /* 0: at once */
};

/*
 * Adds a thing. If it waits already, it does so until the earlier of both
 * times, with the higher of both priorities, in the group named last.
 */
void queue_put(struct queue *queue, const struct queue_add *add,
	       uint64_t now_ms);

/*
 * The next that is due; NULL if none is. It counts as being worked on until
 * queue_end(), which must be called for it; the text lives until then.
 */
const char *queue_take(struct queue *queue, uint64_t now_ms);

/* The work on a taken thing is over. failed: it comes again after a pause, at
 * its priority and in its group. */
void queue_end(struct queue *queue, const char *key, bool failed,
	       uint64_t now_ms);

/* How often in a row the work on it has failed. */
unsigned queue_failures(const struct queue *queue, const char *key);

/* When the next is due; 0: now, QUEUE_NEVER if none waits. */
uint64_t queue_due(const struct queue *queue);

size_t queue_waiting(const struct queue *queue); /* due or not */
size_t queue_working(const struct queue *queue);

struct queue_stats {
	uint64_t added;
	uint64_t merged; /* of these: was there already */
	uint64_t taken;
	uint64_t failed;
	size_t ready;         /* now: due */
	size_t delayed;       /* now: not yet due */
	size_t working;       /* now */
	struct timing waited; /* from being due to being taken */
};

/* Good until the queue is used again. */
const struct queue_stats *queue_stats(struct queue *queue);

#endif
