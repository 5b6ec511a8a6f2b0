/* SPDX-License-Identifier: Apache-2.0 */
#include "api/names.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "controller/render/vmipatch.h"
#include "meta/quantity.h"

#define STATE "/status/migrationState"
#define LABELS "/metadata/labels"
#define PODS "/status/activePods"
#define EVACUATION "/status/evacuationNodeName"
#define VERSION "/metadata/resourceVersion"

/* Takes value. */
static void
add_op(json_t *patch, const char *op, const char *path, json_t *value)
{
	json_array_append_new(patch, json_pack("{s:s, s:s, s:o}", "op", op,
					       "path", path, "value", value));
}

/* Replaces the member that was seen as old (NULL: not there); takes value. */
static void
replace_seen(json_t *patch, const char *path, const json_t *old, json_t *value)
{
	add_op(patch, "test", path,
	       old == NULL ? json_null() : json_deep_copy(old));
	/* Not "replace", which fails for a member that is missing. */
	add_op(patch, old == NULL ? "add" : "replace", path, value);
}

static void
set_text(json_t *obj, const char *name, const char *value)
{
	if (value != NULL && *value != '\0')
		json_object_set_new(obj, name, json_string(value));
}

static json_t *
new_state(const struct handoff *handoff)
{
	json_t *state = json_object();
	char text[QUANTITY_TEXT_SIZE];
	struct quantity overhead;

	set_text(state, "migrationUid", handoff->migration_uid);
	set_text(state, "sourceNode", handoff->source_node);
	set_text(state, "sourcePod", handoff->source_pod);
	set_text(state, "targetNode", handoff->target_node);
	set_text(state, "targetPod", handoff->target_pod);
	set_text(state, "migrationPolicyName", handoff->policy_name);
	if (handoff->configuration != NULL)
		json_object_set_new(state, "migrationConfiguration",
				    json_deep_copy(handoff->configuration));
	if (handoff->memory_overhead_bytes > 0 &&
	    handoff->memory_overhead_bytes <= INT64_MAX) {
		overhead = quantity_from_int(
			(int64_t)handoff->memory_overhead_bytes,
			QUANTITY_BINARY_SI);
		set_text(state, "targetMemoryOverhead",
			 quantity_text(&overhead, text, sizeof(text)));
	}
	return state;
}

static json_t *
new_labels(const struct handoff *handoff)
{
	json_t *labels = handoff->labels == NULL
				 ? json_object()
				 : json_deep_copy(handoff->labels);

	set_text(labels, LABEL_MIGRATION_TARGET_NODE, handoff->target_node);
	set_text(labels, LABEL_VMI_CPU_LIMITS, handoff->cpu_limits);
	set_text(labels, LABEL_VMI_MEMORY_REQUESTS, handoff->memory_requests);
	return labels;
}

/* Into the list that is there; UIDs need no escapes. */
static void
add_pod(json_t *patch, const struct handoff *handoff)
{
	AUTO(free_ptr)
	char *path = xasprintf(PODS "/%s", handoff->target_pod_uid);

	if (handoff->active_pods == NULL)
		add_op(patch, "add", PODS,
		       json_pack("{s:s}", handoff->target_pod_uid,
				 handoff->target_node));
	else
		add_op(patch, "add", path, json_string(handoff->target_node));
}

json_t *
vmipatch_handoff(const struct handoff *handoff)
{
	json_t *patch = json_array();

	replace_seen(patch, STATE, handoff->state, new_state(handoff));
	replace_seen(patch, LABELS, handoff->labels, new_labels(handoff));
	add_pod(patch, handoff);
	return patch;
}

static json_t *
for_migration(const char *uid)
{
	json_t *patch = json_array();

	add_op(patch, "test", STATE "/migrationUid", json_string(uid));
	return patch;
}

json_t *
vmipatch_abort(const char *migration_uid)
{
	json_t *patch = for_migration(migration_uid);

	add_op(patch, "add", STATE "/abortRequested", json_true());
	return patch;
}

json_t *
vmipatch_left(const char *migration_uid, const char *version, const char *now)
{
	json_t *patch = for_migration(migration_uid);

	add_op(patch, "test", VERSION, json_string(version));
	add_op(patch, "add", STATE "/endTimestamp", json_string(now));
	return patch;
}

json_t *
vmipatch_fail(const struct failure *failure)
{
	json_t *patch = for_migration(failure->migration_uid);

	add_op(patch, "test", VERSION, json_string(failure->version));
	add_op(patch, "add", STATE "/failed", json_true());
	add_op(patch, "add", STATE "/completed", json_true());
	add_op(patch, "add", STATE "/failureReason",
	       json_string(failure->reason));
	if (!failure->has_start)
		add_op(patch, "add", STATE "/startTimestamp",
		       json_string(failure->now));
	if (!failure->has_end)
		add_op(patch, "add", STATE "/endTimestamp",
		       json_string(failure->now));
	return patch;
}

json_t *
vmipatch_evacuate(const char *node)
{
	json_t *patch = json_array();

	replace_seen(patch, EVACUATION, NULL, json_string(node));
	return patch;
}

json_t *
vmipatch_evacuate_cancel(const char *node)
{
	json_t *patch = json_array();

	add_op(patch, "test", EVACUATION, json_string(node));
	json_array_append_new(patch, json_pack("{s:s, s:s}", "op", "remove",
					       "path", EVACUATION));
	return patch;
}
