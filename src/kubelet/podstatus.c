/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/podstatus.h"

#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/conditions.h"
#include "kube/obj.h"
#include "meta/time.h"

static const char *const phase_names[] = {
	[PLAN_PENDING] = "Pending",
	[PLAN_RUNNING] = "Running",
	[PLAN_SUCCEEDED] = "Succeeded",
	[PLAN_FAILED] = "Failed",
};

static json_t *
time_json(int64_t us)
{
	char text[TIME_TEXT_SIZE];

	return us == 0 ? json_null() : json_string(time_text(us, text));
}

static json_t *
ended(const struct podstatus_in *in, const struct container *c,
      const struct container_run *run, unsigned attempt)
{
	AUTO(free_ptr)
	char *id = container_id(obj_uid(in->pod), c->name, attempt);
	json_t *state =
		json_pack("{s:i, s:s, s:o, s:o, s:o}", "exitCode",
			  run->exit_code, "reason", run->reason, "startedAt",
			  time_json(run->started_us == 0 ? run->finished_us
							 : run->started_us),
			  "finishedAt", time_json(run->finished_us),
			  "containerID", json_sprintf("crun://%s", id));

	if (run->signal != 0)
		(void)json_object_set_new(state, "signal",
					  json_integer(run->signal));
	if (run->message[0] != '\0')
		(void)json_object_set_new(state, "message",
					  json_string(run->message));
	return json_pack("{s:o}", "terminated", state);
}

static json_t *
waiting(const struct podstatus_in *in, const struct container *c)
{
	bool meant = in->waiting_container == NULL ||
		     str_equal(in->waiting_container, c->name);
	const char *reason = meant ? in->waiting_reason : NULL;
	const char *message = in->waiting_message;
	bool inits =
		json_array_size(js_arr_at(in->pod, "spec.initContainers")) > 0;

	if (reason == NULL) {
		message = NULL;
		reason = inits && !c->init ? "PodInitializing"
					   : "ContainerCreating";
	}
	if (message == NULL)
		return json_pack("{s:{s:s}}", "waiting", "reason", reason);
	return json_pack("{s:{s:s, s:s}}", "waiting", "reason", reason,
			 "message", message);
}

static json_t *
crash_loop(const struct podstatus_in *in, const struct container *c)
{
	return json_pack(
		"{s:{s:s, s:o}}", "waiting", "reason", "CrashLoopBackOff",
		"message",
		json_sprintf("back-off %us restarting failed container=%s "
			     "pod=%s_%s(%s)",
			     (unsigned)(plan_pause_ms(in->plan, c) / 1000),
			     c->name, obj_name(in->pod), obj_ns(in->pod),
			     obj_uid(in->pod)));
}

static json_t *
state_of(const struct podstatus_in *in, const struct container *c,
	 bool *ret_looping)
{
	*ret_looping = false;
	switch (c->phase) {
	case CONTAINER_RUNNING:
	case CONTAINER_LOST:
		return json_pack("{s:{s:o}}", "running", "startedAt",
				 time_json(c->now.started_us));
	case CONTAINER_EXITED:
		*ret_looping = !in->plan->going && plan_restarts(in->plan, c) &&
			       plan_pause_ms(in->plan, c) > 0;
		if (*ret_looping)
			return crash_loop(in, c);
		return ended(in, c, &c->now, c->attempt);
	case CONTAINER_NONE:
	case CONTAINER_STALE:
	case CONTAINER_STARTING:
		break;
	}
	return waiting(in, c);
}

/* What of the mounts are images, and which ones they were. */
static json_t *
mounts_of(const struct container *c, const json_t *spec)
{
	json_t *list = json_array();
	const json_t *mount;
	size_t i;

	json_array_foreach(js_arr_at(spec, "volumeMounts"), i, mount)
	{
		const char *name = js_str_at(mount, "name");
		const char *ref =
			json_string_value(json_object_get(c->volumes, name));
		json_t *one = json_pack("{s:s, s:s}", "name", name, "mountPath",
					js_str_at(mount, "mountPath"));

		if (js_bool_at(mount, "readOnly", false) || ref != NULL)
			(void)json_object_set_new(one, "readOnly", json_true());
		if (ref != NULL)
			(void)json_object_set_new(one, "volumeStatus",
						  json_pack("{s:{s:s}}",
							    "image", "imageRef",
							    ref));
		(void)json_array_append_new(list, one);
	}
	return list;
}

static json_t *
container_status(const struct podstatus_in *in, const struct container *c,
		 const json_t *spec)
{
	bool running =
		c->phase == CONTAINER_RUNNING || c->phase == CONTAINER_LOST;
	bool looping;
	json_t *state = state_of(in, c, &looping);
	json_t *last = json_object();
	json_t *status, *mounts;

	if (looping) {
		json_decref(last);
		last = ended(in, c, &c->now, c->attempt);
	} else if (c->has_before) {
		json_decref(last);
		last = ended(in, c, &c->before, c->attempt - 1);
	}
	status = json_pack(
		"{s:s, s:o, s:o, s:b, s:i, s:s, s:s, s:b}", "name", c->name,
		"state", state, "lastState", last, "ready",
		c->init ? c->phase == CONTAINER_EXITED && c->now.exit_code == 0
			: running,
		"restartCount", (int)c->attempt, "image",
		js_str_at(spec, "image"), "imageID",
		c->image_ref == NULL ? "" : c->image_ref, "started", running);
	if (c->phase != CONTAINER_NONE && c->phase != CONTAINER_STALE) {
		AUTO(free_ptr)
		char *id = container_id(obj_uid(in->pod), c->name, c->attempt);

		(void)json_object_set_new(status, "containerID",
					  json_sprintf("crun://%s", id));
	}
	mounts = mounts_of(c, spec);
	if (json_array_size(mounts) > 0)
		(void)json_object_set(status, "volumeMounts", mounts);
	json_decref(mounts);
	return status;
}

static json_t *
statuses(const struct podstatus_in *in, bool init)
{
	const json_t *specs = js_arr_at(in->pod, init ? "spec.initContainers"
						      : "spec.containers");
	json_t *list = json_array();

	for (size_t i = 0; i < in->plan->count; i++) {
		const struct container *c = &in->plan->containers[i];

		if (c->init == init)
			(void)json_array_append_new(
				list, container_status(
					      in, c,
					      js_find(specs, "name", c->name)));
	}
	return list;
}

/* Conditions are merged member by member: what is not named would stay. */
static void
name_missing(json_t *condition)
{
	static const char *const members[] = { "reason", "message" };

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (json_object_get(condition, members[i]) == NULL)
			(void)json_object_set_new(condition, members[i],
						  json_null());
	}
}

static json_t *
make_conditions(const struct podstatus_in *in, enum plan_phase phase)
{
	bool initialized = true, ready = true;
	bool over = phase == PLAN_SUCCEEDED || phase == PLAN_FAILED;
	const char *why = phase == PLAN_SUCCEEDED ? "PodCompleted"
			  : phase == PLAN_FAILED  ? "PodFailed"
						  : "ContainersNotReady";
	json_t *list = json_array();

	for (size_t i = 0; i < in->plan->count; i++) {
		const struct container *c = &in->plan->containers[i];

		if (c->init)
			initialized = initialized &&
				      c->phase == CONTAINER_EXITED &&
				      c->now.exit_code == 0;
		else
			ready = ready && (c->phase == CONTAINER_RUNNING ||
					  c->phase == CONTAINER_LOST);
	}
	ready = ready && initialized && !over;
	const struct condition all[] = {
		{ "PodReadyToStartContainers",
		  in->plan->sandbox ? "True" : "False", NULL, NULL },
		{ "Initialized",
		  initialized || phase == PLAN_SUCCEEDED ? "True" : "False",
		  initialized               ? NULL
		  : phase == PLAN_SUCCEEDED ? "PodCompleted"
					    : "ContainersNotInitialized",
		  NULL },
		{ "Ready", ready ? "True" : "False", ready ? NULL : why, NULL },
		{ "ContainersReady", ready ? "True" : "False",
		  ready ? NULL : why, NULL },
		{ "PodScheduled", "True", NULL, NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		json_t *old = condition_get(
			js_arr_at(in->pod, "status.conditions"), all[i].type);

		/* Those of others are theirs to write. */
		if (old != NULL)
			(void)json_array_append_new(list, json_deep_copy(old));
		(void)condition_set(list, &all[i], in->now_us);
		name_missing(condition_get(list, all[i].type));
	}
	return list;
}

static void
add_addresses(const struct podstatus_in *in, json_t *status)
{
	json_t *ips = json_array();
	const json_t *ip;
	size_t i;

	json_array_foreach(in->pod_ips, i, ip)
	{
		(void)json_array_append_new(
			ips, json_pack("{s:s}", "ip", json_string_value(ip)));
	}
	if (json_array_size(ips) > 0) {
		(void)json_object_set_new(
			status, "podIP",
			json_string(json_string_value(
				json_array_get(in->pod_ips, 0))));
		(void)json_object_set(status, "podIPs", ips);
	}
	json_decref(ips);
	if (*in->host_ip == '\0')
		return;
	(void)json_object_set_new(status, "hostIP", json_string(in->host_ip));
	(void)json_object_set_new(status, "hostIPs",
				  json_pack("[{s:s}]", "ip", in->host_ip));
}

json_t *
podstatus_make(const struct podstatus_in *in)
{
	enum plan_phase phase = plan_phase(in->plan);
	const char *before = js_str_at(in->pod, "status.startTime");
	const char *old = js_str_at(in->pod, "status.phase");
	json_t *inits = statuses(in, true);
	json_t *status;

	/* A pod that is over stays so, whatever is found on the node. */
	if (str_equal(old, "Failed"))
		phase = PLAN_FAILED;
	if (str_equal(old, "Succeeded"))
		phase = PLAN_SUCCEEDED;
	status =
		json_pack("{s:s, s:o, s:o, s:o}", "phase", phase_names[phase],
			  "conditions", make_conditions(in, phase), "startTime",
			  *before == '\0' ? time_json(in->started_us)
					  : json_string(before),
			  "containerStatuses", statuses(in, false));
	if (json_array_size(inits) > 0)
		(void)json_object_set(status, "initContainerStatuses", inits);
	json_decref(inits);
	add_addresses(in, status);
	return status;
}
