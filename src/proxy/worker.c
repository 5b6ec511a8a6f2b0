/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/worker.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/loop.h"
#include "base/mem.h"
#include "proxy/pool.h"
#include "proxy/turns.h"

struct worker {
	pthread_t thread;
	unsigned number;
	struct loop *loop;
	struct pool *pool;
	struct turns *turns;
};

struct workers {
	unsigned count;
	unsigned next;
	struct worker worker[WORKERS_MAX];
};

struct post {
	struct worker *worker;
	void (*fn)(struct worker *worker, void *arg);
	void *arg;
};

static void *
run(void *arg)
{
	struct worker *worker = arg;
	char name[16];

	/* From inside: naming another thread takes /proc, which is gone. */
	(void)snprintf(name, sizeof(name), "stream/%u", worker->number);
	(void)prctl(PR_SET_NAME, name);
	loop_run(worker->loop);
	return NULL;
}

static void
start(struct worker *worker, unsigned number)
{
	sigset_t all, before;

	worker->number = number;
	worker->loop = loop_new();
	worker->pool = pool_new();
	worker->turns = turns_new(worker->loop);

	/* Signals are for the main thread. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&worker->thread, NULL, run, worker) != 0)
		abort();
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct workers *
workers_start(unsigned count)
{
	struct workers *workers = xmalloc0(sizeof(*workers));

	assert(count >= 1 && count <= WORKERS_MAX);
	workers->count = count;
	for (unsigned i = 0; i < count; i++)
		start(&workers->worker[i], i);
	return workers;
}

static void
stop_loop(struct worker *worker, void *arg)
{
	(void)arg;
	loop_stop(worker->loop);
}

void
workers_stop(struct workers *workers)
{
	if (workers == NULL)
		return;
	for (unsigned i = 0; i < workers->count; i++) {
		struct worker *worker = &workers->worker[i];

		worker_post(worker, stop_loop, NULL);
		(void)pthread_join(worker->thread, NULL);
		turns_free(worker->turns);
		pool_free(worker->pool);
		loop_free(worker->loop);
	}
	free(workers);
}

struct worker *
workers_next(struct workers *workers)
{
	return &workers->worker[workers->next++ % workers->count];
}

static void
run_post(void *arg)
{
	struct post *post = arg;

	post->fn(post->worker, post->arg);
	free(post);
}

void
worker_post(struct worker *worker, void (*fn)(struct worker *worker, void *arg),
	    void *arg)
{
	struct post *post = xmalloc0(sizeof(*post));

	*post = (struct post){ .worker = worker, .fn = fn, .arg = arg };
	loop_post(worker->loop, run_post, post);
}

struct loop *
worker_loop(struct worker *worker)
{
	return worker->loop;
}

struct pool *
worker_pool(struct worker *worker)
{
	return worker->pool;
}

struct turns *
worker_turns(struct worker *worker)
{
	return worker->turns;
}
