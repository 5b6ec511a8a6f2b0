/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_WORKER_H
#define KUBE_WORKER_H

/*
 * worker - works through a queue from the loop.
 *
 * Up to `parallel` things are worked on at once, which matters because the
 * work is mostly waiting for requests. Work begins from the loop, never from
 * inside worker_add(), and the loop gets its turn between portions of it. What
 * comes first, and when what failed comes again, is as in queue.h.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/queue.h"

struct loop;
struct worker;

struct worker_config {
	struct loop *loop;
	size_t parallel;
	struct queue_options queue;
	/* Must lead to one worker_end() for the key, inside or later. The key
	 * lives until then. */
	void (*work)(const char *key, void *arg);
	void *arg;
};

struct worker *worker_new(const struct worker_config *config);
/* What is in work is forgotten: its worker_end() must not come any more. */
void worker_free(struct worker *worker); /* NULL is fine */

void worker_put(struct worker *worker, const struct queue_add *add);
/* The same without a group, and with the priority 0. */
void worker_add(struct worker *worker, const char *key);
void worker_add_after(struct worker *worker, const char *key,
		      uint64_t delay_ms);
void worker_end(struct worker *worker, const char *key, bool failed);

/* To look at; see queue_stats(). */
struct queue *worker_queue(struct worker *worker);

#endif
