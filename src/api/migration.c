/* SPDX-License-Identifier: Apache-2.0 */
#include "api/migration.h"

#include <stdlib.h>

#include "api/text.h"
#include "base/array.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"

static const char *const phase_names[] = {
	[MIGRATION_UNSET] = "",
	[MIGRATION_WAITING_FOR_SYNC] = "WaitingForSync",
	[MIGRATION_SYNCHRONIZING] = "Synchronizing",
	[MIGRATION_PENDING] = "Pending",
	[MIGRATION_SCHEDULING] = "Scheduling",
	[MIGRATION_SCHEDULED] = "Scheduled",
	[MIGRATION_PREPARING_TARGET] = "PreparingTarget",
	[MIGRATION_TARGET_READY] = "TargetReady",
	[MIGRATION_RUNNING] = "Running",
	[MIGRATION_SUCCEEDED] = "Succeeded",
	[MIGRATION_FAILED] = "Failed",
};
_Static_assert(ARRAY_LEN(phase_names) == MIGRATION_PHASE_COUNT,
	       "each phase has a name");

static const char *const priority_names[] = {
	[PRIORITY_UNSET] = "",
	[PRIORITY_SYSTEM_MAINTENANCE] = "system-maintenance",
	[PRIORITY_USER_TRIGGERED] = "user-triggered",
	[PRIORITY_SYSTEM_CRITICAL] = "system-critical",
};
_Static_assert(ARRAY_LEN(priority_names) == PRIORITY_COUNT,
	       "each priority has a name");

static const char *const abort_names[] = {
	[ABORT_NONE] = "",
	[ABORT_ABORTING] = "Aborting",
	[ABORT_SUCCEEDED] = "Succeeded",
	[ABORT_FAILED] = "Failed",
};
_Static_assert(ARRAY_LEN(abort_names) == ABORT_STATUS_COUNT,
	       "each abort status has a name");

static const char *const mode_names[] = {
	[MODE_NONE] = "",
	[MODE_PRE_COPY] = "PreCopy",
	[MODE_POST_COPY] = "PostCopy",
	[MODE_PAUSED] = "Paused",
};
_Static_assert(ARRAY_LEN(mode_names) == MIGRATION_MODE_COUNT,
	       "each mode has a name");

const char *
migration_phase_name(enum migration_phase phase)
{
	return phase_names[phase];
}

int
migration_phase_parse(const char *text, enum migration_phase *ret_phase,
		      struct err *err)
{
	size_t i = text_index(phase_names, ARRAY_LEN(phase_names), text);

	if (i == ARRAY_LEN(phase_names))
		return err_set(err, ERR_INVALID, "unknown phase '%s'", text);
	*ret_phase = (enum migration_phase)i;
	return 0;
}

bool
migration_phase_is_final(enum migration_phase phase)
{
	return phase == MIGRATION_SUCCEEDED || phase == MIGRATION_FAILED;
}

bool
migration_phase_is_handed_off(enum migration_phase phase)
{
	return phase >= MIGRATION_PREPARING_TARGET &&
	       phase <= MIGRATION_RUNNING;
}

bool
migration_phase_is_running(enum migration_phase phase)
{
	return phase >= MIGRATION_SCHEDULING && phase <= MIGRATION_RUNNING;
}

const char *
migration_priority_name(enum migration_priority priority)
{
	return priority_names[priority];
}

enum migration_priority
migration_priority_parse(const char *text)
{
	size_t i = text_index(priority_names, ARRAY_LEN(priority_names), text);

	return i == ARRAY_LEN(priority_names) ? PRIORITY_UNSET
					      : (enum migration_priority)i;
}

static bool
port_of(const char *key, const json_t *channel, struct migration_port *ret_port)
{
	uint64_t port;
	struct err err;

	if (str_to_u64(key, "port", 1, UINT16_MAX, &port, &err) == -1 ||
	    !json_is_integer(channel) || json_integer_value(channel) < 0 ||
	    json_integer_value(channel) > UINT32_MAX)
		return false;
	*ret_port = (struct migration_port){
		.port = (uint16_t)port,
		.channel = (uint32_t)json_integer_value(channel),
	};
	return true;
}

bool
migration_ports_are_good(const json_t *ports)
{
	const char *key;
	json_t *channel;

	if (ports == NULL || json_is_null(ports))
		return true;
	if (!json_is_object(ports) ||
	    json_object_size(ports) > MIGRATION_PORTS_MAX)
		return false;
	json_object_foreach((json_t *)(uintptr_t)ports, key, channel)
	{
		struct migration_port port;

		if (!port_of(key, channel, &port))
			return false;
	}
	return true;
}

static void
decode_ports(const json_t *ports, struct migration_state *state)
{
	const char *key;
	json_t *channel;

	state->ports_bad = !migration_ports_are_good(ports);
	if (state->ports_bad || json_object_size(ports) == 0)
		return;
	state->ports = xcalloc(json_object_size(ports), sizeof(*state->ports));
	json_object_foreach((json_t *)(uintptr_t)ports, key, channel)
	{
		if (port_of(key, channel, &state->ports[state->port_count]))
			state->port_count++;
	}
}

static void
decode_controller(const json_t *obj, struct migration_state *state)
{
	state->uid = text_at(obj, "migrationUid");
	state->source_node = text_at(obj, "sourceNode");
	state->source_pod = text_at(obj, "sourcePod");
	state->target_node = text_at(obj, "targetNode");
	state->target_pod = text_at(obj, "targetPod");
	state->target_attachment_pod_uid =
		text_at(obj, "targetAttachmentPodUID");
	state->policy_name = text_at(obj, "migrationPolicyName");
	state->source_pvc = text_at(obj, "sourcePersistentStatePVCName");
	state->target_pvc = text_at(obj, "targetPersistentStatePVCName");
	state->abort_requested = js_bool_at(obj, "abortRequested", false);
	state->source_state_uid = text_at(obj, "sourceState.migrationUID");
	state->target_state_uid = text_at(obj, "targetState.migrationUID");
}

static void
decode_nodes(const json_t *obj, struct migration_state *state)
{
	size_t i;

	state->target_address = text_at(obj, "targetNodeAddress");
	state->target_waits = text_at(obj, "targetWaitsFor");
	state->source_waits = text_at(obj, "sourceWaitsFor");
	state->domain_detected =
		js_bool_at(obj, "targetNodeDomainDetected", false);
	state->domain_ready_us =
		text_time_at(obj, "targetNodeDomainReadyTimestamp");
	state->start_us = text_time_at(obj, "startTimestamp");
	state->end_us = text_time_at(obj, "endTimestamp");
	state->completed = js_bool_at(obj, "completed", false);
	state->failed = js_bool_at(obj, "failed", false);
	state->failure_reason = text_at(obj, "failureReason");
	i = text_index(abort_names, ARRAY_LEN(abort_names),
		       js_str_at(obj, "abortStatus"));
	state->abort_status =
		i == ARRAY_LEN(abort_names) ? ABORT_NONE : (enum abort_status)i;
	i = text_index(mode_names, ARRAY_LEN(mode_names),
		       js_str_at(obj, "mode"));
	state->mode =
		i == ARRAY_LEN(mode_names) ? MODE_NONE : (enum migration_mode)i;
}

struct migration_state *
migration_state_decode(const json_t *obj)
{
	struct migration_state *state = xmalloc0(sizeof(*state));

	decode_controller(obj, state);
	decode_nodes(obj, state);
	decode_ports(js_at(obj, "targetDirectMigrationNodePorts"), state);
	state->text = js_text(obj);
	return state;
}

void
migration_state_free(struct migration_state *state)
{
	if (state == NULL)
		return;
	text_free(state->uid);
	text_free(state->source_node);
	text_free(state->source_pod);
	text_free(state->target_node);
	text_free(state->target_pod);
	text_free(state->target_attachment_pod_uid);
	text_free(state->policy_name);
	text_free(state->source_pvc);
	text_free(state->target_pvc);
	text_free(state->target_address);
	text_free(state->target_waits);
	text_free(state->source_waits);
	text_free(state->failure_reason);
	text_free(state->source_state_uid);
	text_free(state->target_state_uid);
	free(state->ports);
	free(state->text);
	free(state);
}

bool
migration_state_is_active(const struct migration_state *state, int64_t now_us)
{
	return state != NULL && state->start_us != 0 &&
	       state->start_us <= now_us &&
	       (state->end_us == 0 || state->end_us > now_us);
}
