/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/pod.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/process.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/obj.h"
#include "kubelet/attach.h"
#include "kubelet/network.h"
#include "kubelet/podrefs.h"
#include "kubelet/sandbox.h"
#include "meta/time.h"

#define NAME_MAX_LEN 253
#define UID_MAX_LEN 64
#define US_PER_MS UINT64_C(1000)
#define US_PER_S INT64_C(1000000)
#define GRACE_DEFAULT_S 30
/* How often a pod is looked at when nobody tells of a change. */
#define LOOK_MS 5000
/* A step that failed is tried again after this, doubled each time. */
#define RETRY_MIN_MS 500
#define RETRY_MAX_MS 30000

bool
pod_is_going(const struct pod *pod)
{
	return pod->vanished || obj_is_deleting(pod->object);
}

const json_t *
pod_container_spec(const struct pod *pod, size_t index)
{
	const struct container *c = &pod->containers[index];

	return js_find(js_arr_at(pod->object, c->init ? "spec.initContainers"
						      : "spec.containers"),
		       "name", c->name);
}

void
pod_event(struct pod *pod, const char *type, const char *reason,
	  const char *fmt, ...)
{
	const struct events_ref ref = { .api_version = "v1",
					.kind = "Pod",
					.ns = pod->ns,
					.name = pod->name,
					.uid = pod->uid };
	AUTO(free_ptr) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	events_emit(pod->kubelet->events, &ref, type, reason, "%s", text);
}

json_t *
pod_ips(const struct pod *pod)
{
	const json_t *own = json_array_get(pod->networks, 0);

	if (js_bool_at(pod->object, "spec.hostNetwork", false))
		return json_pack("[s]", pod->kubelet->node_ip);
	if (!network_is_up(pod->networks))
		return json_array();
	return attach_ips(js_obj_at(own, "result"), ATTACH_DEFAULT_IFNAME);
}

static enum plan_policy
policy_of(const json_t *object)
{
	const char *text = js_str_at(object, "spec.restartPolicy");

	if (str_equal(text, "Never"))
		return PLAN_NEVER;
	return str_equal(text, "OnFailure") ? PLAN_ON_FAILURE : PLAN_ALWAYS;
}

struct plan_in
pod_plan_in(const struct pod *pod)
{
	const struct settings *s = pod->kubelet->settings;
	bool up = js_bool_at(pod->object, "spec.hostNetwork", false) ||
		  network_is_up(pod->networks);
	bool there = sandbox_is_there(pod->ns_dir);

	return (struct plan_in){
		.policy = policy_of(pod->object),
		.going = pod_is_going(pod),
		.removed = access(pod->dir, F_OK) == -1,
		.prepared = pod->prepared,
		.sandbox = up && there,
		.network = json_array_size(pod->networks) > 0 ||
			   sandbox_is_left(pod->ns_dir),
		.containers = pod->containers,
		.terminated = pod->terminated,
		.count = pod->count,
		.now_us = time_now_us(),
		.kill_us = pod->kill_us,
		.backoff_ms = s->backoff_ms,
		.backoff_max_ms = s->backoff_max_ms,
	};
}

static void
note_start(struct pod *pod, size_t i)
{
	bool running = pod->containers[i].phase == CONTAINER_RUNNING;

	/* One that was found running has been told of before. */
	if (running && !pod->was_running[i] && pod->monitors[i].process != NULL)
		pod_event(pod, "Normal", "Started", "Started container %s",
			  pod->containers[i].name);
	pod->was_running[i] = running;
}

static void
note_failed_start(struct pod *pod, size_t i, enum container_phase before)
{
	const struct container *c = &pod->containers[i];

	if (c->phase == CONTAINER_EXITED && before != CONTAINER_EXITED &&
	    str_equal(c->now.reason, "StartError"))
		pod_event(pod, "Warning", "Failed", "Error: %s",
			  c->now.message);
}

static void
look(struct pod *pod)
{
	AUTO(free_ptr) char *networks = xasprintf("%s/network", pod->dir);

	for (size_t i = 0; i < pod->count; i++) {
		struct container *c = &pod->containers[i];
		enum container_phase before = c->phase;

		container_look(c, pod->dir);
		/* Its monitor is on its way, in or out. */
		if ((c->phase == CONTAINER_STALE ||
		     c->phase == CONTAINER_EXITED) &&
		    pod->monitors[i].process != NULL)
			c->phase = CONTAINER_STARTING;
		note_start(pod, i);
		note_failed_start(pod, i, before);
	}
	js_unref(&pod->networks);
	pod->networks = network_load(networks);
}

/* When TERM has been enough, from what the API says. */
static void
set_kill_time(struct pod *pod)
{
	int64_t now = time_now_us(), at = 0, latest;
	int64_t grace =
		js_int_at(pod->object, "metadata.deletionGracePeriodSeconds",
			  js_int_at(pod->object,
				    "spec."
				    "terminationGracePeriodSeconds",
				    GRACE_DEFAULT_S));
	struct err ignored;

	if (!pod_is_going(pod))
		return;
	latest = now + grace * US_PER_S;
	if (time_parse(js_str_at(pod->object, "metadata.deletionTimestamp"),
		       &at, &ignored) == -1 ||
	    at > latest)
		at = latest;
	if (pod->kill_us == 0 || at < pod->kill_us)
		pod->kill_us = at;
}

static void
wake_after(struct pod *pod, uint64_t ms)
{
	if (!pod->gone)
		loop_timer_start(pod->timer, ms * US_PER_MS);
}

void
pod_wake(struct pod *pod)
{
	wake_after(pod, 0);
}

static void
set_waiting(struct pod *pod, const char *reason, const char *message,
	    const char *container)
{
	free(pod->waiting_reason);
	free(pod->waiting_message);
	free(pod->waiting_container);
	pod->waiting_reason = reason == NULL ? NULL : xstrdup(reason);
	pod->waiting_message = message == NULL ? NULL : xstrdup(message);
	pod->waiting_container = container == NULL ? NULL : xstrdup(container);
}

void
pod_step_done(struct pod *pod, const struct err *err, const char *reason,
	      const char *waiting)
{
	const struct log_field ref[] = { { "namespace", pod->ns },
					 { "name", pod->name },
					 { "uid", pod->uid },
					 { NULL, NULL } };
	uint64_t pause = RETRY_MIN_MS;

	pod->busy = false;
	if (err == NULL) {
		pod->failures = 0;
		pod->hold_ms = 0;
		if (pod->plan.step != PLAN_WAIT)
			set_waiting(pod, NULL, NULL, NULL);
		pod_wake(pod);
		return;
	}
	log_warning(ref, "%s: %s", reason, err->text);
	pod_event(pod, "Warning", reason, "%s", err->text);
	if (waiting != NULL)
		set_waiting(pod, waiting, err->text,
			    pod->plan.step == PLAN_START
				    ? pod->containers[pod->plan.index].name
				    : NULL);
	for (unsigned i = 0; i < pod->failures && pause < RETRY_MAX_MS; i++)
		pause *= 2;
	pod->failures++;
	pod->hold_ms = loop_now_ms() + pause;
	wake_after(pod, pause);
}

static void
note_backoff(struct pod *pod, const struct plan_in *in)
{
	for (size_t i = 0; i < pod->count; i++) {
		const struct container *c = &pod->containers[i];

		if (c->phase == CONTAINER_EXITED && plan_restarts(in, c) &&
		    plan_pause_ms(in, c) > 0)
			pod_event(pod, "Warning", "BackOff",
				  "Back-off restarting failed container %s in "
				  "pod %s_%s(%s)",
				  c->name, pod->name, pod->ns, pod->uid);
	}
}

/* Volumes made of objects are looked after as long as the pod runs. */
static bool
is_stale(const struct pod *pod, const struct plan_in *in)
{
	return pod->prepared && !in->going && plan_phase(in) == PLAN_RUNNING &&
	       loop_now_ms() - pod->prepared_ms >
		       pod->kubelet->settings->refresh_ms;
}

static void
step_on(void *arg)
{
	struct pod *pod = arg;
	struct plan_in in;
	uint64_t now = loop_now_ms();

	if (pod->gone || pod->busy || !pod->confirmed)
		return;
	look(pod);
	set_kill_time(pod);
	in = pod_plan_in(pod);
	pod->plan = plan_next(&in);
	pod_report(pod);
	if (pod->plan.step == PLAN_WAIT && is_stale(pod, &in))
		pod->plan.step = PLAN_PREPARE;
	if (pod->plan.step == PLAN_WAIT) {
		if (pod->plan.wait_ms > 0 && !in.going)
			note_backoff(pod, &in);
		wake_after(pod,
			   pod->plan.wait_ms > 0 && pod->plan.wait_ms < LOOK_MS
				   ? pod->plan.wait_ms
				   : LOOK_MS);
		return;
	}
	if (now < pod->hold_ms) {
		wake_after(pod, pod->hold_ms - now);
		return;
	}
	log_debug((const struct log_field[]){ { "namespace", pod->ns },
					      { "name", pod->name },
					      { NULL, NULL } },
		  "%s", plan_step_name(pod->plan.step));
	pod->busy = true;
	pod_begin(pod);
}

static void
add_containers(struct pod *pod, const json_t *list, bool init)
{
	const json_t *spec;
	size_t i;

	json_array_foreach(list, i, spec)
	{
		struct container *c = &pod->containers[pod->count];

		c->name = xstrdup(js_str_at(spec, "name"));
		c->init = init;
		pod->watches[pod->count++] = -1;
	}
}

static int
check(const json_t *object, struct err *err)
{
	static const char *const lists[] = { "spec.initContainers",
					     "spec.containers" };
	size_t count = 0;

	if (!str_is_name(obj_uid(object), UID_MAX_LEN) ||
	    !str_is_name(obj_name(object), NAME_MAX_LEN))
		return err_set(err, ERR_INVALID, "a pod without name or uid");
	for (size_t k = 0; k < 2; k++) {
		const json_t *spec;
		size_t i;

		json_array_foreach(js_arr_at(object, lists[k]), i, spec)
		{
			count++;
			if (!str_is_name(js_str_at(spec, "name"), NAME_MAX_LEN))
				return err_set(err, ERR_INVALID,
					       "container '%s': no such name",
					       js_str_at(spec, "name"));
		}
	}
	if (count == 0 || count > POD_CONTAINERS_MAX)
		return err_set(err, ERR_LIMIT,
			       "a pod must have 1 to %d "
			       "containers",
			       POD_CONTAINERS_MAX);
	return 0;
}

/* So that a pod can be taken down of which the API knows nothing any more. */
static void
save_object(struct pod *pod)
{
	AUTO(close_fd) int dir_fd = -1;
	AUTO(free_ptr) char *text = NULL;
	struct err err;

	/* What is going and has nothing here needs nothing here. */
	if (pod_is_going(pod) && access(pod->dir, F_OK) == -1)
		return;
	(void)mkdir(pod->dir, 0750);
	text = js_text(pod->object);
	if (path_open_dir(pod->dir, &dir_fd, &err) == -1 ||
	    path_write_file_at(dir_fd, POD_OBJECT_FILE, text, strlen(text),
			       0600, &err) == -1)
		log_error(NULL, "cannot keep pod '%s/%s', ignoring: %s",
			  pod->ns, pod->name, err.text);
}

struct pod *
pod_new(struct kubelet *kubelet, json_t *object, struct err *err)
{
	const json_t *inits = js_arr_at(object, "spec.initContainers");
	const json_t *others = js_arr_at(object, "spec.containers");
	size_t n = json_array_size(inits) + json_array_size(others);
	struct pod *pod;

	if (check(object, err) == -1)
		return NULL;
	pod = xmalloc0(sizeof(*pod));
	pod->kubelet = kubelet;
	pod->lock_fd = -1;
	pod->uid = xstrdup(obj_uid(object));
	pod->ns = xstrdup(obj_ns(object));
	pod->name = xstrdup(obj_name(object));
	pod->dir = xasprintf("%s/%s", kubelet->pods_dir, pod->uid);
	pod->ns_dir = xasprintf("%s/%s", kubelet->ns_dir, pod->uid);
	pod->cgroup =
		xasprintf("%s/pod%s", kubelet->settings->cgroup, pod->uid);
	pod->object = json_deep_copy(object);
	pod->containers = xcalloc(n, sizeof(*pod->containers));
	pod->monitors = xcalloc(n, sizeof(*pod->monitors));
	pod->terminated = xcalloc(n, sizeof(bool));
	pod->was_running = xcalloc(n, sizeof(bool));
	pod->watches = xcalloc(n, sizeof(int));
	pod->timer = loop_timer_new(kubelet->loop, step_on, pod);
	add_containers(pod, inits, true);
	add_containers(pod, others, false);
	return pod;
}

void
pod_free(struct pod *pod)
{
	if (pod == NULL)
		return;
	kube_cancel(pod->call);
	kube_cancel(pod->status_call);
	process_cancel(pod->process);
	network_cancel(pod->network_op);
	for (size_t i = 0; i < pod->count; i++) {
		process_cancel(pod->monitors[i].process);
		container_done(&pod->containers[i]);
	}
	loop_timer_free(pod->timer);
	close_fd(&pod->lock_fd);
	set_waiting(pod, NULL, NULL, NULL);
	free(pod->containers);
	free(pod->monitors);
	free(pod->terminated);
	free(pod->was_running);
	free(pod->watches);
	js_unref(&pod->object);
	js_unref(&pod->have);
	js_unref(&pod->volumes);
	js_unref(&pod->networks);
	free(pod->sent);
	free(pod->uid);
	free(pod->ns);
	free(pod->name);
	free(pod->dir);
	free(pod->ns_dir);
	free(pod->cgroup);
	free(pod);
}

void
pod_update(struct pod *pod, json_t *object)
{
	AUTO(js_unref) json_t *status = NULL;
	bool first = !pod->confirmed;
	bool going = pod_is_going(pod);

	/* What was written last counts, until it comes back. */
	if (pod->sent != NULL)
		status = json_incref(js_obj_at(pod->object, "status"));
	js_unref(&pod->object);
	pod->object = json_deep_copy(object);
	if (status != NULL)
		(void)json_object_set(pod->object, "status", status);
	pod->confirmed = true;
	if (first || going != pod_is_going(pod))
		save_object(pod);
	pod_wake(pod);
}

void
pod_vanish(struct pod *pod)
{
	pod->vanished = true;
	pod->confirmed = true;
	pod_wake(pod);
}
