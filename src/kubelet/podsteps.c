/* SPDX-License-Identifier: Apache-2.0 */

/* The steps of a pod, as plan.h names them. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/obj.h"
#include "kubelet/pod.h"
#include "kubelet/podnet.h"
#include "kubelet/podstart.h"
#include "meta/status.h"

#define CRUN_TIMEOUT_MS (60U * 1000)
#define REMOVE_TIMEOUT_MS (10U * 60 * 1000)
/* A container that was killed is looked at again after this. */
#define KILL_PAUSE_MS 1000

static void
run_crun(struct pod *pod, const char *verb, const char *const *more,
	 process_done_fn *done)
{
	const struct settings *s = pod->kubelet->settings;
	const struct container *c = &pod->containers[pod->plan.index];
	AUTO(free_ptr) char *root = xasprintf("%s/crun", s->run_dir);
	AUTO(free_ptr) char *id = container_id(pod->uid, c->name, c->attempt);
	const char *argv[16] = {
		pod->kubelet->self,          "crun", s->crun, "--root", root,
		"--cgroup-manager=cgroupfs", verb
	};
	size_t n = 7;

	for (; *more != NULL; more++)
		argv[n++] = str_equal(*more, "ID") ? id : *more;
	argv[n] = NULL;
	pod->process = process_start(
		pod->kubelet->loop,
		&(struct process_spec){ .argv = argv,
					.timeout_ms = CRUN_TIMEOUT_MS },
		done, pod);
}

static void
on_signalled(const struct process_result *result, void *arg)
{
	struct pod *pod = arg;

	pod->process = NULL;
	/* It may have ended meanwhile; if not, KILL comes next. */
	if (result->err != NULL)
		log_debug(NULL, "pod '%s/%s': %s", pod->ns, pod->name,
			  result->err->text);
	pod_step_done(pod, NULL, NULL, NULL);
	if (pod->plan.step == PLAN_KILL)
		pod->hold_ms = loop_now_ms() + KILL_PAUSE_MS;
}

static void
begin_term(struct pod *pod)
{
	const struct container *c = &pod->containers[pod->plan.index];

	pod_event(pod, "Normal", "Killing", "Stopping container %s", c->name);
	pod->terminated[pod->plan.index] = true;
	run_crun(pod, "kill", (const char *const[]){ "ID", "TERM", NULL },
		 on_signalled);
}

static void
begin_kill(struct pod *pod)
{
	run_crun(pod, "kill",
		 (const char *const[]){ "--all", "ID", "KILL", NULL },
		 on_signalled);
}

static void
on_buried(const struct process_result *result, void *arg)
{
	struct pod *pod = arg;
	const struct container *c = &pod->containers[pod->plan.index];
	struct err err;

	(void)result; /* crun may know nothing of it after a reboot */
	pod->process = NULL;
	if (container_write_lost(pod->dir, c, &err) == -1)
		pod_step_done(pod, &err, "Failed", NULL);
	else
		pod_step_done(pod, NULL, NULL, NULL);
}

/* Nobody reads its output and nobody will know its end: it has to go. */
static void
begin_bury(struct pod *pod)
{
	const struct container *c = &pod->containers[pod->plan.index];
	AUTO(free_ptr)
	char *cgroup = xasprintf("%s/%s-%u", pod->cgroup, c->name, c->attempt);

	pod_event(pod, "Warning", "Failed", "Container %s was lost", c->name);
	cgroups_kill(&pod->kubelet->cgroups, cgroup);
	run_crun(pod, "delete", (const char *const[]){ "--force", "ID", NULL },
		 on_buried);
}

static void
on_removed(const struct process_result *result, void *arg)
{
	struct pod *pod = arg;

	pod->process = NULL;
	close_fd(&pod->lock_fd);
	pod_step_done(pod, result->err, "FailedKillPod", NULL);
}

static void
begin_remove(struct pod *pod, const char *const *dirs)
{
	const char *argv[8] = { pod->kubelet->self, "remove" };
	size_t n = 2;

	while (*dirs != NULL)
		argv[n++] = *dirs++;
	argv[n] = NULL;
	pod->process = process_start(
		pod->kubelet->loop,
		&(struct process_spec){ .argv = argv,
					.timeout_ms = REMOVE_TIMEOUT_MS },
		on_removed, pod);
}

static void
begin_discard(struct pod *pod)
{
	const struct container *c = &pod->containers[pod->plan.index];
	AUTO(free_ptr)
	char *dir = container_dir(pod->dir, c->name, c->attempt);
	struct err ignored;

	/* The monitor of a kubelet that was killed may be on its way. */
	if (container_lock(pod->dir, c, &pod->lock_fd, &ignored) == -1)
		pod_step_done(pod, NULL, NULL, NULL);
	else
		begin_remove(pod, (const char *const[]){ dir, NULL });
}

static void
begin_remove_all(struct pod *pod)
{
	struct err err;

	cgroups_kill(&pod->kubelet->cgroups, pod->cgroup);
	if (!cgroups_remove(&pod->kubelet->cgroups, pod->cgroup)) {
		(void)err_set(&err, ERR_UNAVAILABLE,
			      "cgroup '%s' is still in use", pod->cgroup);
		pod_step_done(pod, &err, "FailedKillPod", NULL);
		return;
	}
	begin_remove(pod, (const char *const[]){ pod->ns_dir, pod->dir, NULL });
}

static void
go(struct pod *pod)
{
	pod->busy = false;
	pod->gone = true;
	loop_timer_stop(pod->timer);
	pod->on_gone(pod, pod->arg);
}

static void
on_forgotten(const struct kube_result *result, void *arg)
{
	struct pod *pod = arg;
	struct err err;

	pod->call = NULL;
	if (result->status->code == 0 || kube_is_not_found(result) ||
	    kube_is_conflict(result)) {
		go(pod);
		return;
	}
	(void)err_set(&err, ERR_UNAVAILABLE, "%s", result->status->message);
	pod_step_done(pod, &err, "FailedKillPod", NULL);
}

static void
begin_forget(struct pod *pod)
{
	AUTO(js_unref) json_t *body = NULL;

	if (pod->vanished) {
		go(pod);
		return;
	}
	/* The last status must not come after the end. */
	kube_cancel(TAKE_PTR(pod->status_call));
	body = kube_delete_options(pod->uid, NULL, 0);
	pod->call = kube_send(pod->kubelet->client,
			      &(struct kube_request){ .verb = KUBE_DELETE,
						      .resource = &kube_pods,
						      .ns = pod->ns,
						      .name = pod->name,
						      .body = body,
						      .repeatable = true },
			      on_forgotten, pod);
}

static void
begin_wait(struct pod *pod)
{
	pod_step_done(pod, NULL, NULL, NULL);
}

static void (*const steps[])(struct pod *pod) = {
	[PLAN_WAIT] = begin_wait,      [PLAN_PREPARE] = pod_prepare,
	[PLAN_SANDBOX] = podnet_up,    [PLAN_START] = podstart_begin,
	[PLAN_TERM] = begin_term,      [PLAN_KILL] = begin_kill,
	[PLAN_BURY] = begin_bury,      [PLAN_DISCARD] = begin_discard,
	[PLAN_NET_DOWN] = podnet_down, [PLAN_REMOVE] = begin_remove_all,
	[PLAN_FORGET] = begin_forget,
};

void
pod_begin(struct pod *pod)
{
	steps[pod->plan.step](pod);
}
