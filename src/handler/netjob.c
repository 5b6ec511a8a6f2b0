/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/netjob.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"

struct netjob {
	struct netjob_config config;
	struct network_pod pod;
	char *pod_uid;
	json_t *vmi;
	int result;
	struct network_result *made;
	struct err err;
	pthread_t thread;
	pthread_mutex_t lock;
	bool forgotten; /* under the lock */
};

static int
copy_fd(int fd, int *ret_fd, struct err *err)
{
	if (fd == -1)
		return 0;
	*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *ret_fd == -1 ? err_errno(err, "cannot copy a descriptor") : 0;
}

static int
copy_pod(const struct network_pod *from, struct network_pod *to,
	 struct err *err)
{
	if (copy_fd(from->netns_fd, &to->netns_fd, err) == -1 ||
	    copy_fd(from->pidns_fd, &to->pidns_fd, err) == -1 ||
	    copy_fd(from->cgroup_fd, &to->cgroup_fd, err) == -1 ||
	    copy_fd(from->root_fd, &to->root_fd, err) == -1)
		return -1;
	return 0;
}

static void
job_free(struct netjob *job)
{
	network_result_free(job->made);
	network_pod_close(&job->pod);
	close_fd(&job->config.request.cache_fd);
	json_decref(job->vmi);
	free(job->pod_uid);
	(void)pthread_mutex_destroy(&job->lock);
	free(job);
}

/* In the loop's thread. */
static void
deliver(void *arg)
{
	struct netjob *job = arg;
	struct network_result *made = TAKE_PTR(job->made);

	/* It has let go of the lock by then. */
	(void)pthread_join(job->thread, NULL);
	if (job->forgotten)
		network_result_free(made);
	else if (job->result == -1)
		job->config.done(job->config.arg, NULL, &job->err);
	else
		job->config.done(job->config.arg, made, NULL);
	job_free(job);
}

static void *
run(void *arg)
{
	struct netjob *job = arg;
	bool forgotten;

	(void)pthread_setname_np(pthread_self(), "network");
	job->result =
		job->config.setup(&job->config.request, &job->made, &job->err);
	(void)pthread_mutex_lock(&job->lock);
	forgotten = job->forgotten;
	/* Under the lock: whoever forgets it may free the loop next. */
	if (!forgotten)
		loop_post(job->config.loop, deliver, job);
	(void)pthread_mutex_unlock(&job->lock);
	if (forgotten) {
		(void)pthread_detach(pthread_self());
		job_free(job);
	}
	return NULL;
}

/* With all signals blocked: they are for the loop. */
static int
start_thread(struct netjob *job)
{
	sigset_t all, old;
	int number;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	number = pthread_create(&job->thread, NULL, run, job);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return number;
}

struct netjob *
netjob_start(const struct netjob_config *config, struct err *err)
{
	struct netjob *job = xmalloc0(sizeof(*job));
	struct network_request *request = &job->config.request;

	job->config = *config;
	job->pod = NETWORK_POD_INIT;
	job->pod_uid = xstrdup(config->request.pod_uid);
	job->vmi = json_deep_copy(config->request.vmi);
	(void)pthread_mutex_init(&job->lock, NULL);
	request->pod = &job->pod;
	request->pod_uid = job->pod_uid;
	request->vmi = job->vmi;
	request->cache_fd = -1;
	if (job->config.setup == NULL)
		job->config.setup = network_setup;
	if (copy_pod(config->request.pod, &job->pod, err) == -1 ||
	    copy_fd(config->request.cache_fd, &request->cache_fd, err) == -1) {
		job_free(job);
		return NULL;
	}
	if (start_thread(job) != 0) {
		(void)err_set(err, ERR_LIMIT, "cannot start a thread");
		job_free(job);
		return NULL;
	}
	return job;
}

void
netjob_forget(struct netjob *job)
{
	if (job == NULL)
		return;
	/* Its owner is not there any more when it comes; if it was posted, the
	 * loop frees it, or drops it with itself. */
	(void)pthread_mutex_lock(&job->lock);
	job->forgotten = true;
	(void)pthread_mutex_unlock(&job->lock);
}
