/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/committer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "cluster/store/db.h"
#include "cluster/store/object.h"

/* Rows that go away are scattered over the file; together they share pages. */
#define DROPS_AT_ONCE 256

struct writes {
	struct db_write *items;
	size_t count;
	size_t size;
};

struct revisions {
	uint64_t *items;
	size_t count;
	size_t size;
};

struct committer {
	pthread_t thread;
	struct db *db;
	int wake_fd;

	pthread_mutex_t lock;
	pthread_cond_t start; /* the committer waits for it */
	pthread_cond_t rest;  /* committer_wait() waits for it */

	/* Under lock. */
	struct writes queue;
	struct revisions drops;
	uint64_t oldest_rv;
	bool go;
	bool working;
	bool stop;
	struct committer_report report;

	/* The committer's own: the transaction it works on. Drops stay in it
	 * until one succeeds. */
	struct writes batch;
	struct revisions batch_drops;
	uint64_t batch_oldest_rv;
};

static void
add_revision(struct revisions *list, uint64_t rv)
{
	if (list->count == list->size) {
		list->size = list->size > 0 ? list->size * 2 : 64;
		list->items = xrealloc(list->items,
				       list->size * sizeof(*list->items));
	}
	list->items[list->count++] = rv;
}

/* Under lock: moves what is queued into the batch. */
static void
take(struct committer *committer)
{
	struct writes batch = committer->batch;

	committer->batch = committer->queue;
	batch.count = 0;
	committer->queue = batch;
	if (committer->drops.count < DROPS_AT_ONCE && !committer->stop)
		return;
	for (size_t i = 0; i < committer->drops.count; i++)
		add_revision(&committer->batch_drops,
			     committer->drops.items[i]);
	committer->drops.count = 0;
	committer->batch_oldest_rv = committer->oldest_rv;
}

static int
commit(struct committer *committer, struct err *err)
{
	struct db_batch batch = {
		.writes = committer->batch.items,
		.write_count = committer->batch.count,
		.drops = committer->batch_drops.items,
		.drop_count = committer->batch_drops.count,
		.oldest_rv = committer->batch_oldest_rv,
	};

	if (db_commit(committer->db, &batch, err) == -1)
		return -1;
	committer->batch_drops.count = 0;
	return 0;
}

static void
wake(const struct committer *committer)
{
	static const uint64_t one = 1;

	if (write(committer->wake_fd, &one, sizeof(one)) == -1 &&
	    errno != EAGAIN)
		abort();
}

/* Under lock, which is released meanwhile: one transaction. */
static void
work(struct committer *committer)
{
	const struct writes *batch = &committer->batch;
	struct err err;
	int result;

	take(committer);
	committer->working = true;
	pthread_mutex_unlock(&committer->lock);
	result = commit(committer, &err);
	pthread_mutex_lock(&committer->lock);
	if (result == -1) {
		committer->report.failed = true;
		committer->report.err = err;
	} else if (batch->count > 0) {
		committer->report.durable_rv =
			batch->items[batch->count - 1].object->rv;
	}
	wake(committer);

	/* Behind the report: nobody waits for this but what comes next. */
	pthread_mutex_unlock(&committer->lock);
	db_checkpoint(committer->db);
	pthread_mutex_lock(&committer->lock);
	committer->working = false;
}

static bool
has_work(const struct committer *committer)
{
	if (committer->report.failed)
		return false;
	if (committer->stop && committer->drops.count > 0)
		return true;
	return committer->go && committer->queue.count > 0;
}

static void *
run(void *arg)
{
	struct committer *committer = arg;

	(void)prctl(PR_SET_NAME, "committer");
	pthread_mutex_lock(&committer->lock);
	for (;;) {
		if (has_work(committer)) {
			work(committer);
			continue;
		}
		committer->go = false;
		pthread_cond_signal(&committer->rest);
		if (committer->stop)
			break;
		pthread_cond_wait(&committer->start, &committer->lock);
	}
	pthread_mutex_unlock(&committer->lock);
	return NULL;
}

struct committer *
committer_start(struct db *db, int wake_fd, uint64_t durable_rv)
{
	struct committer *committer = xmalloc0(sizeof(*committer));
	sigset_t all, before;

	committer->db = db;
	committer->wake_fd = wake_fd;
	committer->report.durable_rv = durable_rv;
	(void)pthread_mutex_init(&committer->lock, NULL);
	(void)pthread_cond_init(&committer->start, NULL);
	(void)pthread_cond_init(&committer->rest, NULL);

	/* Signals are for the main thread. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&committer->thread, NULL, run, committer) != 0)
		abort();
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return committer;
}

void
committer_stop(struct committer *committer)
{
	if (committer == NULL)
		return;
	pthread_mutex_lock(&committer->lock);
	committer->stop = true;
	committer->go = true;
	pthread_cond_signal(&committer->start);
	pthread_mutex_unlock(&committer->lock);
	(void)pthread_join(committer->thread, NULL);
	(void)pthread_mutex_destroy(&committer->lock);
	(void)pthread_cond_destroy(&committer->start);
	(void)pthread_cond_destroy(&committer->rest);
	free(committer->queue.items);
	free(committer->drops.items);
	free(committer->batch.items);
	free(committer->batch_drops.items);
	free(committer);
}

void
committer_add(struct committer *committer, const struct object *object,
	      bool removed)
{
	struct writes *queue = &committer->queue;

	pthread_mutex_lock(&committer->lock);
	if (queue->count == queue->size) {
		queue->size = queue->size > 0 ? queue->size * 2 : 64;
		queue->items = xrealloc(queue->items,
					queue->size * sizeof(*queue->items));
	}
	queue->items[queue->count++] = (struct db_write){ object, removed };
	pthread_mutex_unlock(&committer->lock);
}

void
committer_drop(struct committer *committer, uint64_t rv, uint64_t oldest_rv)
{
	pthread_mutex_lock(&committer->lock);
	add_revision(&committer->drops, rv);
	committer->oldest_rv = oldest_rv;
	pthread_mutex_unlock(&committer->lock);
}

void
committer_go(struct committer *committer)
{
	pthread_mutex_lock(&committer->lock);
	committer->go = true;
	pthread_cond_signal(&committer->start);
	pthread_mutex_unlock(&committer->lock);
}

struct committer_report
committer_poll(struct committer *committer)
{
	struct committer_report report;

	pthread_mutex_lock(&committer->lock);
	report = committer->report;
	pthread_mutex_unlock(&committer->lock);
	return report;
}

void
committer_wait(struct committer *committer)
{
	pthread_mutex_lock(&committer->lock);
	while (committer->working || has_work(committer))
		pthread_cond_wait(&committer->rest, &committer->lock);
	pthread_mutex_unlock(&committer->lock);
}

void
committer_reset(struct committer *committer)
{
	pthread_mutex_lock(&committer->lock);
	committer->queue.count = 0;
	committer->report.failed = false;
	pthread_mutex_unlock(&committer->lock);
}
