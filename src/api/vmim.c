/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vmim.h"

#include <stdlib.h>

#include "api/names.h"
#include "api/text.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "kube/obj.h"

static void
decode_spec(const json_t *object, struct vmim *vmim)
{
	const json_t *spec = js_obj_at(object, "spec");

	vmim->vmi_name = text_at(spec, "vmiName");
	vmim->added_node_selector = text_obj_at(spec, "addedNodeSelector");
	vmim->priority = migration_priority_parse(js_str_at(spec, "priority"));
	vmim->send_to_id = text_at(spec, "sendTo.migrationID");
	vmim->send_to_url = text_at(spec, "sendTo.connectURL");
	vmim->receive_id = text_at(spec, "receive.migrationID");
}

static void
decode_metadata(const json_t *object, struct vmim *vmim)
{
	vmim->vmi_label = text_label(object, LABEL_VMI_NAME);
	vmim->evacuation_node = text_annotation(object, ANNOTATION_EVACUATION);
	vmim->evacuation =
		obj_annotation(object, ANNOTATION_EVACUATION) != NULL;
	vmim->workload_update =
		obj_annotation(object, ANNOTATION_WORKLOAD_UPDATE) != NULL;
	vmim->ignores_backoff =
		obj_annotation(object, ANNOTATION_IGNORE_BACKOFF) != NULL;
	vmim->has_finalizer = obj_has_finalizer(object, FINALIZER_MIGRATION);
	vmim->has_observed_versions =
		obj_annotation(object, ANNOTATION_LATEST_VERSION) != NULL &&
		obj_annotation(object, ANNOTATION_STORAGE_VERSION) != NULL;
	vmim->deadlines = (struct migration_deadlines){
		.unschedulable_s =
			text_seconds(object, ANNOTATION_UNSCHEDULABLE_TIMEOUT,
				     VMIM_TIMEOUT_UNSET),
		.pending_s = text_seconds(object, ANNOTATION_PENDING_TIMEOUT,
					  VMIM_TIMEOUT_UNSET),
		.scheduled_s =
			text_seconds(object, ANNOTATION_SCHEDULED_TIMEOUT,
				     VMIM_TIMEOUT_UNSET),
		.preparing_s =
			text_seconds(object, ANNOTATION_PREPARING_TIMEOUT,
				     VMIM_TIMEOUT_UNSET),
		.ready_s = text_seconds(object, ANNOTATION_READY_TIMEOUT,
					VMIM_TIMEOUT_UNSET),
		.running_s = text_seconds(object, ANNOTATION_RUNNING_TIMEOUT,
					  VMIM_TIMEOUT_UNSET),
	};
	vmim->utility_timeout_s = text_seconds(
		object, ANNOTATION_UTILITY_TIMEOUT, VMIM_TIMEOUT_UNSET);
}

static void
decode_times(const json_t *array, struct vmim *vmim)
{
	size_t i;
	json_t *item;

	json_array_foreach(array, i, item)
	{
		enum migration_phase phase;
		struct err err;

		/* The first counts; phases of later versions do not. */
		if (migration_phase_parse(js_str_at(item, "phase"), &phase,
					  &err) == 0 &&
		    vmim->phase_since_us[phase] == 0)
			vmim->phase_since_us[phase] =
				text_time_at(item, "phaseTransitionTimestamp");
	}
}

static int
decode_status(const json_t *object, struct vmim *vmim, struct err *err)
{
	const json_t *status = js_obj_at(object, "status");

	vmim->state_uid = text_at(status, "migrationState.migrationUid");
	vmim->source_pod = text_at(status, "migrationState.sourcePod");
	conds_decode(js_arr_at(status, "conditions"), &vmim->conds);
	decode_times(js_arr_at(status, "phaseTransitionTimestamps"), vmim);
	if (migration_phase_parse(js_str_at(status, "phase"), &vmim->phase,
				  err) == -1)
		return err_prefix(err, "status.phase");
	return 0;
}

struct vmim *
vmim_decode(const json_t *object, struct err *err)
{
	AUTO(vmim_unref) struct vmim *vmim = xmalloc0(sizeof(*vmim));

	if (objmeta_decode(object, &vmim->meta, err) == -1)
		return NULL;
	decode_spec(object, vmim);
	decode_metadata(object, vmim);
	if (decode_status(object, vmim, err) == -1)
		return NULL;
	return TAKE_PTR(vmim);
}

void
vmim_free(struct vmim *vmim)
{
	if (vmim == NULL)
		return;
	objmeta_done(&vmim->meta);
	text_free(vmim->vmi_name);
	json_decref(vmim->added_node_selector);
	text_free(vmim->send_to_id);
	text_free(vmim->send_to_url);
	text_free(vmim->receive_id);
	text_free(vmim->vmi_label);
	text_free(vmim->evacuation_node);
	conds_done(&vmim->conds);
	text_free(vmim->state_uid);
	text_free(vmim->source_pod);
	free(vmim);
}

void
vmim_unref(struct vmim **pointer)
{
	vmim_free(*pointer);
	*pointer = NULL;
}

bool
vmim_is_decentralized(const struct vmim *vmim)
{
	return (vmim->send_to_id[0] != '\0') != (vmim->receive_id[0] != '\0');
}

bool
vmim_is_automatic(const struct vmim *vmim)
{
	return vmim->evacuation || vmim->workload_update;
}

int64_t
vmim_ended_us(const struct vmim *vmim)
{
	return vmim_is_final(vmim) ? vmim->phase_since_us[vmim->phase] : 0;
}

static int64_t
choose(int64_t own, int64_t cluster)
{
	return own == VMIM_TIMEOUT_UNSET ? cluster : own;
}

struct migration_deadlines
vmim_deadlines(const struct vmim *vmim, const struct kubevirt_config *config)
{
	const struct migration_deadlines *own = &vmim->deadlines;
	const struct migration_deadlines *all = &config->deadlines;

	return (struct migration_deadlines){
		.unschedulable_s =
			choose(own->unschedulable_s, all->unschedulable_s),
		.pending_s = choose(own->pending_s, all->pending_s),
		.scheduled_s = choose(own->scheduled_s, all->scheduled_s),
		.preparing_s = choose(own->preparing_s, all->preparing_s),
		.ready_s = choose(own->ready_s, all->ready_s),
		.running_s = choose(own->running_s, all->running_s),
	};
}
