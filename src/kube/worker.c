/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/worker.h"

#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"
#include "kube/queue.h"

/* So many are begun before the loop gets its turn. */
#define PORTION 64

struct worker {
	struct worker_config config;
	struct queue *queue;
	struct loop_timer *timer;
	bool running; /* inside run() */
};

static void
schedule(struct worker *w)
{
	uint64_t due = queue_due(w->queue);
	uint64_t now = loop_now_ms();

	/* run() comes here at its end; a full house comes at worker_end(). */
	if (w->running || queue_working(w->queue) >= w->config.parallel)
		return;
	if (due == QUEUE_NEVER)
		loop_timer_stop(w->timer);
	else
		loop_timer_start(w->timer, due <= now ? 0 : (due - now) * 1000);
}

static void
run(void *arg)
{
	struct worker *w = arg;

	w->running = true;
	for (int i = 0; i < PORTION; i++) {
		const char *key;

		if (queue_working(w->queue) >= w->config.parallel)
			break;
		key = queue_take(w->queue, loop_now_ms());
		if (key == NULL)
			break;
		w->config.work(key, w->config.arg);
	}
	w->running = false;
	schedule(w);
}

struct worker *
worker_new(const struct worker_config *config)
{
	struct worker *w = xmalloc0(sizeof(*w));

	w->config = *config;
	w->queue = queue_new(&config->queue);
	w->timer = loop_timer_new(config->loop, run, w);
	return w;
}

void
worker_free(struct worker *w)
{
	if (w == NULL)
		return;
	loop_timer_free(w->timer);
	queue_free(w->queue);
	free(w);
}

void
worker_put(struct worker *w, const struct queue_add *add)
{
	queue_put(w->queue, add, loop_now_ms());
	schedule(w);
}

void
worker_add(struct worker *w, const char *key)
{
	worker_put(w, &(struct queue_add){ .key = key });
}

void
worker_add_after(struct worker *w, const char *key, uint64_t delay_ms)
{
	worker_put(w, &(struct queue_add){ .key = key, .delay_ms = delay_ms });
}

void
worker_end(struct worker *w, const char *key, bool failed)
{
	queue_end(w->queue, key, failed, loop_now_ms());
	schedule(w);
}

struct queue *
worker_queue(struct worker *w)
{
	return w->queue;
}
