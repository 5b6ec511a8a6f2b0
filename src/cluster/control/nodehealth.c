/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/nodehealth.h"

#include <string.h>

#include "base/array.h"
#include "base/jsat.h"
#include "base/str.h"
#include "meta/taint.h"

/* What a kubelet posts. */
static const char *const posted[] = { "Ready", "MemoryPressure", "DiskPressure",
				      "PIDPressure" };

static const struct {
	const char *type, *status; /* of the condition; NULL: cordoned */
	const char *taint;
	bool evicts; /* NoExecute besides NoSchedule */
} rules[] = {
	{ "Ready", "False", TAINT_NOT_READY, true },
	{ "Ready", "Unknown", TAINT_UNREACHABLE, true },
	{ "MemoryPressure", "True", "node.kubernetes.io/memory-pressure",
	  false },
	{ "DiskPressure", "True", "node.kubernetes.io/disk-pressure", false },
	{ "PIDPressure", "True", "node.kubernetes.io/pid-pressure", false },
	{ "NetworkUnavailable", "True",
	  "node.kubernetes.io/network-unavailable", false },
	{ NULL, NULL, TAINT_UNSCHEDULABLE, false },
};

static const json_t *
condition_of(const json_t *node, const char *type)
{
	return js_find(js_at(node, "status.conditions"), "type", type);
}

const char *
nodehealth_ready(const json_t *node)
{
	return js_str_at(condition_of(node, "Ready"), "status");
}

json_t *
nodehealth_silent(const json_t *node, const char *now)
{
	json_t *changes = json_array();

	for (size_t i = 0; i < ARRAY_LEN(posted); i++) {
		const json_t *old = condition_of(node, posted[i]);
		json_t *beat = js_at(old, "lastHeartbeatTime");

		if (strcmp(js_str_at(old, "status"), "Unknown") == 0)
			continue;
		(void)json_array_append_new(
			changes,
			json_pack(
				"{s:s,s:s,s:s,s:s,s:s,s:o}", "type", posted[i],
				"status", "Unknown", "reason",
				old == NULL ? "NodeStatusNeverUpdated"
					    : "NodeStatusUnknown",
				"message",
				old == NULL
					? "Kubelet never posted node status."
					: "Kubelet stopped posting node "
					  "status.",
				"lastTransitionTime", now, "lastHeartbeatTime",
				beat != NULL
					? json_incref(beat)
					: json_string(js_str_at(
						  node, "metadata."
							"creationTimestamp"))));
	}
	if (json_array_size(changes) > 0)
		return changes;
	json_decref(changes);
	return NULL;
}

static bool
applies(const json_t *node, size_t rule)
{
	if (rules[rule].type == NULL)
		return js_bool_at(node, "spec.unschedulable", false);
	return strcmp(js_str_at(condition_of(node, rules[rule].type), "status"),
		      rules[rule].status) == 0;
}

static bool
has_taint(const json_t *taints, const char *key, const char *effect)
{
	size_t i;
	json_t *each;

	json_array_foreach(taints, i, each)
	{
		if (strcmp(js_str_at(each, "key"), key) == 0 &&
		    strcmp(js_str_at(each, "effect"), effect) == 0)
			return true;
	}
	return false;
}

/* Whether the taint is one of ours and has no reason any more. */
static bool
is_over(const json_t *node, const json_t *taint)
{
	const char *key = js_str_at(taint, "key");
	const char *effect = js_str_at(taint, "effect");

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (strcmp(rules[i].taint, key) != 0)
			continue;
		if (strcmp(effect, "NoSchedule") == 0 ||
		    (rules[i].evicts && strcmp(effect, "NoExecute") == 0))
			return !applies(node, i);
	}
	return false;
}

static bool
add_taint(json_t *taints, const char *key, const char *effect, const char *now)
{
	if (has_taint(taints, key, effect))
		return false;
	(void)json_array_append_new(taints, json_pack("{s:s,s:s,s:s}", "key",
						      key, "effect", effect,
						      "timeAdded", now));
	return true;
}

json_t *
nodehealth_taints(const json_t *node, const char *now)
{
	json_t *taints = json_array();
	bool changed = false;
	size_t i;
	json_t *each;

	json_array_foreach(js_at(node, "spec.taints"), i, each)
	{
		if (is_over(node, each))
			changed = true;
		else
			(void)json_array_append(taints, each);
	}
	for (i = 0; i < ARRAY_LEN(rules); i++) {
		if (!applies(node, i))
			continue;
		changed |= add_taint(taints, rules[i].taint, "NoSchedule", now);
		if (rules[i].evicts)
			changed |= add_taint(taints, rules[i].taint,
					     "NoExecute", now);
	}
	if (changed)
		return taints;
	json_decref(taints);
	return NULL;
}
