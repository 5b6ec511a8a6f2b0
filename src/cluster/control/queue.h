/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_QUEUE_H
#define CLUSTER_CONTROL_QUEUE_H

/*
 * queue - what a controller has to look at, each thing once.
 *
 * A thing is known by a text. However often it is added before its turn, it
 * comes once; what is added while it is being worked on comes again
 * afterwards, never at the same time. A thing whose work failed comes back
 * after a pause that doubles from QUEUE_PAUSE_MIN_MS to QUEUE_PAUSE_MAX_MS;
 * success ends that.
 *
 * Knows no clock: the caller says what time it is, in milliseconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_PAUSE_MIN_MS 50U
#define QUEUE_PAUSE_MAX_MS (30U * 1000)
#define QUEUE_NEVER UINT64_MAX

struct queue;

struct queue *queue_new(void);
void queue_free(struct queue *queue); /* NULL is fine */

/*
 * To be worked on at `at_ms` or, if it is due earlier already, then. 0 means at
 * once: such things come in the order in which they were added.
 */
void queue_add(struct queue *queue, const char *key, uint64_t at_ms);

/*
 * The next that is due; NULL if none is. It counts as being worked on until
 * queue_end(), which must be called for it; the text lives until then.
 */
const char *queue_take(struct queue *queue, uint64_t now_ms);

/* The work on a taken thing is over. failed: it comes again after a pause. */
void queue_end(struct queue *queue, const char *key, bool failed,
	       uint64_t now_ms);

/* When the next is due; QUEUE_NEVER if none waits. */
uint64_t queue_due(const struct queue *queue);

size_t queue_waiting(const struct queue *queue);
size_t queue_working(const struct queue *queue);

#endif
