/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pod.h"

#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "api/text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/conditions.h"
#include "kube/obj.h"

static const char *const phase_names[] = {
	[POD_UNSET] = "",          [POD_PENDING] = "Pending",
	[POD_RUNNING] = "Running", [POD_SUCCEEDED] = "Succeeded",
	[POD_FAILED] = "Failed",   [POD_UNKNOWN] = "Unknown",
};
_Static_assert(ARRAY_LEN(phase_names) == POD_PHASE_COUNT,
	       "each phase has a name");

const char *
pod_phase_name(enum pod_phase phase)
{
	return phase_names[phase];
}

/*
 * A launcher is ready before its guest runs, so that its own probe does not
 * count; neither does that of a mesh's proxy, which waits for it.
 */
static bool
needs_only_to_run(const char *container)
{
	return strcmp(container, "compute") == 0 ||
	       strcmp(container, "istio-proxy") == 0;
}

static void
decode_containers(const json_t *object, struct pod *pod)
{
	const json_t *statuses = js_arr_at(object, "status.containerStatuses");
	bool ready = json_array_size(statuses) > 0;
	size_t i;
	json_t *item;

	json_array_foreach(statuses, i, item)
	{
		const char *name = js_str_at(item, "name");
		bool runs = js_obj_at(item, "state.running") != NULL;
		int64_t ended =
			text_time_at(item, "state.terminated.finishedAt");

		if (ended > pod->ended_us)
			pod->ended_us = ended;

		if (strcmp(name, "compute") == 0)
			pod->compute_running = runs;
		if (needs_only_to_run(name) ? !runs
					    : !js_bool_at(item, "ready", false))
			ready = false;
	}
	pod->ready = ready && !objmeta_is_deleting(&pod->meta);
}

/* The first container that waits for something that has a name. */
static void
decode_waiting(const json_t *object, struct pod *pod)
{
	static const char *const lists[] = {
		"status.initContainerStatuses",
		"status.containerStatuses",
	};
	const json_t *found = NULL;

	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		const json_t *list = js_arr_at(object, lists[l]);
		size_t i;
		json_t *item;

		json_array_foreach(list, i, item)
		{
			const json_t *waiting =
				js_obj_at(item, "state.waiting");

			if (found == NULL && *js_str_at(waiting, "reason") != 0)
				found = waiting;
		}
	}
	pod->waiting_reason = text_at(found, "reason");
	pod->waiting_message = text_at(found, "message");
}

/* What the first container that failed has left, or its reason. */
static void
decode_ended(const json_t *object, struct pod *pod)
{
	static const char *const lists[] = {
		"status.initContainerStatuses",
		"status.containerStatuses",
	};
	const json_t *found = NULL;

	for (size_t l = 0; l < ARRAY_LEN(lists) && found == NULL; l++) {
		const json_t *list = js_arr_at(object, lists[l]);
		size_t i;
		json_t *item;

		json_array_foreach(list, i, item)
		{
			const json_t *ended =
				js_obj_at(item, "state.terminated");

			if (found == NULL && js_int_at(ended, "exitCode", 0))
				found = ended;
		}
	}
	pod->ended_text =
		text_at(found, *js_str_at(found, "message") != 0 ? "message"
								 : "reason");
}

/* Most of a pod's conditions say the same in other words. */
static void
decode_conditions(const json_t *array, struct pod *pod)
{
	static const char *const types[] = { COND_POD_SCHEDULED, COND_READY };
	AUTO(js_unref) json_t *kept = json_array();

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		json_t *item = condition_get(array, types[i]);

		if (item != NULL)
			(void)json_array_append(kept, item);
	}
	conds_decode(kept, &pod->conds);
}

static void
decode_metadata(const json_t *object, struct pod *pod)
{
	const char *app = obj_label(object, LABEL_APP);
	const char *overhead =
		obj_annotation(object, ANNOTATION_MEMORY_OVERHEAD);
	json_t *text = overhead == NULL ? NULL : json_string(overhead);

	pod->launcher = str_equal(app, APP_LAUNCHER);
	pod->hotplug = str_equal(app, APP_HOTPLUG);
	pod->vmi_uid = text_label(object, LABEL_CREATED_BY);
	pod->vmi_name = text_annotation(object, ANNOTATION_DOMAIN);
	pod->migration_uid = text_label(object, LABEL_MIGRATION_UID);
	pod->migration_name =
		text_annotation(object, ANNOTATION_MIGRATION_NAME);
	pod->target_ready = text_annotation(object, ANNOTATION_TARGET_READY);
	pod->evicting =
		str_equal(obj_annotation(object, ANNOTATION_EVICTING), "true");
	pod->wishes = text_wishes(object);
	pod->unix_transport =
		obj_annotation(object, ANNOTATION_TRANSPORT_UNIX) != NULL;
	pod->memory_overhead_bytes = text_bytes(text);
	json_decref(text);
}

static void
decode_status(const json_t *object, struct pod *pod)
{
	const json_t *conditions = js_arr_at(object, "status.conditions");
	const json_t *scheduled = condition_get(conditions, "PodScheduled");
	size_t i = text_index(phase_names, ARRAY_LEN(phase_names),
			      js_str_at(object, "status.phase"));

	pod->phase =
		i == ARRAY_LEN(phase_names) ? POD_UNKNOWN : (enum pod_phase)i;
	pod->node = text_at(object, "spec.nodeName");
	pod->compute_image =
		text_at(js_find(js_arr_at(object, "spec.containers"), "name",
				"compute"),
			"image");
	pod->ip = text_at(object, "status.podIP");
	pod->reason = text_at(object, "status.reason");
	pod->message = text_at(object, "status.message");
	decode_conditions(conditions, pod);
	decode_waiting(object, pod);
	decode_ended(object, pod);
	pod->qos_class = text_at(object, "status.qosClass");
	pod->unschedulable =
		condition_is_false(conditions, "PodScheduled") &&
		strcmp(js_str_at(scheduled, "reason"), "Unschedulable") == 0;
	decode_containers(object, pod);
}

struct pod *
pod_decode(const json_t *object, struct err *err)
{
	AUTO(pod_unref) struct pod *pod = xmalloc0(sizeof(*pod));

	if (objmeta_decode(object, &pod->meta, err) == -1)
		return NULL;
	decode_metadata(object, pod);
	decode_status(object, pod);
	return TAKE_PTR(pod);
}

void
pod_free(struct pod *pod)
{
	if (pod == NULL)
		return;
	objmeta_done(&pod->meta);
	text_free(pod->vmi_uid);
	text_free(pod->vmi_name);
	text_free(pod->migration_uid);
	text_free(pod->migration_name);
	text_free(pod->target_ready);
	text_free(pod->node);
	text_free(pod->compute_image);
	text_free(pod->ip);
	text_free(pod->wishes);
	text_free(pod->qos_class);
	text_free(pod->waiting_reason);
	text_free(pod->waiting_message);
	text_free(pod->ended_text);
	conds_done(&pod->conds);
	text_free(pod->reason);
	text_free(pod->message);
	free(pod);
}

void
pod_unref(struct pod **pointer)
{
	pod_free(*pointer);
	*pointer = NULL;
}
