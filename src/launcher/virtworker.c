/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/virtworker.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "virt/conn.h"

struct job {
	struct job *next;
	void (*work)(struct virtworker *worker, void *arg);
	void (*done)(void *arg);
	void *arg;
};

struct virtworker {
	struct loop *loop;
	const char *name;
	const char *uri;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *first, **last;
	bool ending;
	struct virt_conn *conn; /* the thread's own */
	unsigned serial;
};

static struct job *
next_job(struct virtworker *worker)
{
	struct job *job;

	(void)pthread_mutex_lock(&worker->lock);
	while (worker->first == NULL && !worker->ending)
		(void)pthread_cond_wait(&worker->changed, &worker->lock);
	job = worker->ending ? NULL : worker->first;
	if (job != NULL) {
		worker->first = job->next;
		if (worker->first == NULL)
			worker->last = &worker->first;
	}
	(void)pthread_mutex_unlock(&worker->lock);
	return job;
}

static void *
run(void *arg)
{
	struct virtworker *worker = arg;
	struct job *job;

	(void)pthread_setname_np(pthread_self(), worker->name);
	while ((job = next_job(worker)) != NULL) {
		job->work(worker, job->arg);
		if (job->done != NULL)
			loop_post(worker->loop, job->done, job->arg);
		free(job);
	}
	virt_conn_done(&worker->conn);
	return NULL;
}

struct virtworker *
virtworker_new(const char *name, struct loop *loop, const char *uri)
{
	struct virtworker *worker = xmalloc0(sizeof(*worker));

	worker->loop = loop;
	worker->name = name;
	worker->uri = uri;
	worker->last = &worker->first;
	(void)pthread_mutex_init(&worker->lock, NULL);
	(void)pthread_cond_init(&worker->changed, NULL);
	if (pthread_create(&worker->thread, NULL, run, worker) != 0)
		abort(); /* nothing can be done without */
	return worker;
}

void
virtworker_free(struct virtworker *worker)
{
	struct job *job;

	if (worker == NULL)
		return;
	(void)pthread_mutex_lock(&worker->lock);
	worker->ending = true;
	(void)pthread_cond_signal(&worker->changed);
	(void)pthread_mutex_unlock(&worker->lock);
	(void)pthread_join(worker->thread, NULL);
	while ((job = worker->first) != NULL) {
		worker->first = job->next;
		free(job);
	}
	(void)pthread_cond_destroy(&worker->changed);
	(void)pthread_mutex_destroy(&worker->lock);
	free(worker);
}

void
virtworker_do(struct virtworker *worker,
	      void (*work)(struct virtworker *, void *arg),
	      void (*done)(void *arg), void *arg)
{
	struct job *job = xmalloc0(sizeof(*job));

	job->work = work;
	job->done = done;
	job->arg = arg;
	(void)pthread_mutex_lock(&worker->lock);
	*worker->last = job;
	worker->last = &job->next;
	(void)pthread_cond_signal(&worker->changed);
	(void)pthread_mutex_unlock(&worker->lock);
}

int
virtworker_conn(struct virtworker *worker, struct virt_conn **ret_conn,
		struct err *err)
{
	if (worker->conn != NULL && !virt_conn_alive(worker->conn))
		virt_conn_done(&worker->conn);
	if (worker->conn == NULL) {
		if (virt_conn_open(worker->uri, &worker->conn, err) == -1)
			return -1;
		virt_conn_keep_alive(worker->conn);
		worker->serial++;
	}
	*ret_conn = worker->conn;
	return 0;
}

unsigned
virtworker_conn_serial(const struct virtworker *worker)
{
	return worker->serial;
}
