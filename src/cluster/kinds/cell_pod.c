/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of pods, counted and worded as kubectl's users know them from
 * kube-apiserver.
 */
#include <string.h>

#include "base/jsat.h"
#include "base/str.h"
#include "cluster/kinds/cell_internal.h"
#include "meta/time.h"

static bool
is_sidecar(const json_t *container)
{
	return str_equal(js_str_at(container, "restartPolicy"), "Always");
}

static const json_t *
find_status(const json_t *pod, const char *list, const json_t *container)
{
	return js_find(js_arr_at(pod, list), "name",
		       js_str_at(container, "name"));
}

json_t *
cell_pod_ready(const struct column *column, const json_t *obj, int64_t now_s)
{
	const json_t *container, *status;
	size_t i, total = 0, ready = 0;
	char text[64];

	(void)column;
	(void)now_s;
	total = json_array_size(js_arr_at(obj, "spec.containers"));
	json_array_foreach(js_arr_at(obj, "status.containerStatuses"), i,
			   status)
	{
		if (js_bool_at(status, "ready", false) &&
		    js_obj_at(status, "state.running") != NULL)
			ready++;
	}
	json_array_foreach(js_arr_at(obj, "spec.initContainers"), i, container)
	{
		if (!is_sidecar(container))
			continue;
		total++;
		status = find_status(obj, "status.initContainerStatuses",
				     container);
		ready += js_bool_at(status, "ready", false);
	}
	(void)snprintf(text, sizeof(text), "%zu/%zu", ready, total);
	return json_string(text);
}

/* "Error", "ExitCode:3", "Signal:9" of a container that ended. */
static void
write_ended(const json_t *ended, const char *prefix, struct buf *out)
{
	const char *reason = js_str_at(ended, "reason");
	long long signal = js_int_at(ended, "signal", 0);

	buf_clear(out);
	if (*reason != '\0')
		(void)buf_printf(out, "%s%s", prefix, reason);
	else if (signal != 0)
		(void)buf_printf(out, "%sSignal:%lld", prefix, signal);
	else
		(void)buf_printf(out, "%sExitCode:%lld", prefix,
				 (long long)js_int_at(ended, "exitCode", 0));
}

/* Whether init containers still have to end; says so in out. */
static bool
write_initializing(const json_t *pod, struct buf *out)
{
	const json_t *inits = js_arr_at(pod, "spec.initContainers"), *status;
	size_t i;

	json_array_foreach(js_arr_at(pod, "status.initContainerStatuses"), i,
			   status)
	{
		const json_t *ended = js_obj_at(status, "state.terminated");
		const char *waits = js_str_at(status, "state.waiting.reason");

		if (ended != NULL && js_int_at(ended, "exitCode", 0) == 0)
			continue;
		if (is_sidecar(js_find(inits, "name",
				       js_str_at(status, "name"))) &&
		    js_bool_at(status, "started", false))
			continue;
		if (ended != NULL) {
			write_ended(ended, "Init:", out);
		} else if (*waits != '\0' &&
			   !str_equal(waits, "PodInitializing")) {
			buf_clear(out);
			(void)buf_printf(out, "Init:%s", waits);
		} else {
			buf_clear(out);
			(void)buf_printf(out, "Init:%zu/%zu", i,
					 json_array_size(inits));
		}
		return true;
	}
	return false;
}

static bool
is_ready(const json_t *pod)
{
	const json_t *condition =
		js_find(js_arr_at(pod, "status.conditions"), "type", "Ready");

	return str_equal(js_str_at(condition, "status"), "True");
}

/* The last container that has something to say is the one that counts. */
static void
write_containers(const json_t *pod, struct buf *out)
{
	const json_t *list = js_arr_at(pod, "status.containerStatuses");
	bool running = false;

	for (size_t i = json_array_size(list); i > 0; i--) {
		const json_t *status = json_array_get(list, i - 1);
		const json_t *ended = js_obj_at(status, "state.terminated");
		const char *waits = js_str_at(status, "state.waiting.reason");

		if (*waits != '\0') {
			buf_clear(out);
			(void)buf_append_str(out, waits);
		} else if (ended != NULL) {
			write_ended(ended, "", out);
		} else if (js_bool_at(status, "ready", false) &&
			   js_obj_at(status, "state.running") != NULL) {
			running = true;
		}
	}
	if (running && out->len > 0 &&
	    str_equal((const char *)out->data, "Completed")) {
		buf_clear(out);
		(void)buf_append_str(out,
				     is_ready(pod) ? "Running" : "NotReady");
	}
}

json_t *
cell_pod_status(const struct column *column, const json_t *obj, int64_t now_s)
{
	const char *phase = js_str_at(obj, "status.phase");
	const char *reason = js_str_at(obj, "status.reason");
	const json_t *scheduled = js_find(js_arr_at(obj, "status.conditions"),
					  "type", "PodScheduled");
	struct buf out = BUF_INIT(CELL_TEXT_MAX);

	(void)column;
	(void)now_s;
	(void)buf_append_str(&out, *reason != '\0' ? reason : phase);
	if (str_equal(js_str_at(scheduled, "reason"), "SchedulingGated")) {
		buf_clear(&out);
		(void)buf_append_str(&out, "SchedulingGated");
	}
	if (!write_initializing(obj, &out))
		write_containers(obj, &out);
	if (*js_str_at(obj, "metadata.deletionTimestamp") != '\0') {
		if (str_equal(reason, "NodeLost")) {
			buf_clear(&out);
			(void)buf_append_str(&out, "Unknown");
		} else if (!str_equal(phase, "Failed") &&
			   !str_equal(phase, "Succeeded")) {
			buf_clear(&out);
			(void)buf_append_str(&out, "Terminating");
		}
	}
	return cell_from_buf(&out, "");
}

json_t *
cell_pod_restarts(const struct column *column, const json_t *obj, int64_t now_s)
{
	const char *last = "";
	long long restarts = 0;
	const json_t *status;
	char text[128], age[TIME_TEXT_SIZE];
	size_t i;

	(void)column;
	json_array_foreach(js_arr_at(obj, "status.containerStatuses"), i,
			   status)
	{
		const char *ended =
			js_str_at(status, "lastState.terminated.finishedAt");

		restarts += js_int_at(status, "restartCount", 0);
		/* All of one form, so the later one is the greater text. */
		if (strcmp(ended, last) > 0)
			last = ended;
	}
	if (restarts == 0 || *last == '\0')
		(void)snprintf(text, sizeof(text), "%lld", restarts);
	else
		(void)snprintf(text, sizeof(text), "%lld (%s ago)", restarts,
			       time_age(last, now_s * TIME_US_PER_SECOND, age));
	return json_string(text);
}

json_t *
cell_pod_gates(const struct column *column, const json_t *obj, int64_t now_s)
{
	const json_t *gates = js_arr_at(obj, "spec.readinessGates"), *gate;
	const json_t *conditions = js_arr_at(obj, "status.conditions");
	size_t i, hold = 0;
	char text[64];

	(void)column;
	(void)now_s;
	if (json_array_size(gates) == 0)
		return json_string(CELL_NONE);
	json_array_foreach(gates, i, gate)
	{
		const json_t *condition = js_find(
			conditions, "type", js_str_at(gate, "conditionType"));

		hold += str_equal(js_str_at(condition, "status"), "True");
	}
	(void)snprintf(text, sizeof(text), "%zu/%zu", hold,
		       json_array_size(gates));
	return json_string(text);
}
