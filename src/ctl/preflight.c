/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/preflight.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "api/migration.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/checks.h"
#include "ctl/human.h"
#include "ctl/podneeds.h"
#include "kube/conditions.h"
#include "kube/obj.h"

#define HOST_MODEL "host-model"

static void
check_running(const struct preflight_facts *f, json_t *checks)
{
	const char *phase = js_str_at(f->vmi, "status.phase");

	if (str_equal(phase, "Running"))
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "running",
			   "on %s", js_str_at(f->vmi, "status.nodeName"));
	else
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "running",
			   "it is %s: only what runs can move",
			   phase[0] == '\0' ? "stopped" : phase);
}

static void
check_migratable(const struct preflight_facts *f, json_t *checks)
{
	const json_t *conds = js_arr_at(f->vmi, "status.conditions");
	const json_t *cond = condition_get(conds, COND_LIVE_MIGRATABLE);

	if (condition_is_true(conds, COND_LIVE_MIGRATABLE))
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "migratable",
			   "%s", js_str_at(f->vmi, "status.migrationMethod"));
	else if (cond == NULL)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN,
			   "migratable", "its node has not said yet");
	else
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "migratable",
			   "%s: %s", js_str_at(cond, "reason"),
			   js_str_at(cond, "message"));
}

static void
check_rivals(const struct preflight_facts *f, json_t *checks)
{
	const json_t *vmim;
	size_t i;

	json_array_foreach(f->vmims, i, vmim)
	{
		enum migration_phase phase;
		struct err ignored;

		if (migration_phase_parse(js_str_at(vmim, "status.phase"),
					  &phase, &ignored) == 0 &&
		    migration_phase_is_final(phase))
			continue;
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL,
			   "other migrations", "%s is not over",
			   obj_name(vmim));
		return;
	}
	checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "other migrations",
		   "none goes on");
}

static void
check_admission(const struct preflight_facts *f, json_t *checks)
{
	if (f->refusal == NULL)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN,
			   "admission", "not asked");
	else if (f->refusal[0] == '\0')
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "admission",
			   "a migration would be accepted");
	else
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "admission",
			   "%s", f->refusal);
}

static bool
is_shared(const json_t *claim)
{
	const json_t *modes = js_arr_at(claim, "status.accessModes"), *mode;
	size_t i;

	if (modes == NULL)
		modes = js_arr_at(claim, "spec.accessModes");
	json_array_foreach(modes, i, mode)
	{
		if (str_equal(json_string_value(mode), "ReadWriteMany"))
			return true;
	}
	return false;
}

static void
check_storage(const struct preflight_facts *f, json_t *checks)
{
	const char *name;
	json_t *claim;

	json_object_foreach((json_t *)f->claims, name, claim)
	{
		if (!json_is_object(claim))
			checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL,
				   "storage", "the claim %s is gone", name);
		else {
			checks_add(checks, PREFLIGHT_MACHINE,
				   is_shared(claim) ? CHECK_OK : CHECK_FAIL,
				   "storage", "the claim %s %s", name,
				   is_shared(claim)
					   ? "is shared (ReadWriteMany)"
					   : "is not ReadWriteMany");
		}
	}
}

static void
check_networks(const struct preflight_facts *f, json_t *checks)
{
	const char *name;
	json_t *there;

	json_object_foreach((json_t *)f->nets, name, there)
	{
		if (json_is_null(there))
			checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN,
				   "network", "%s may not be looked at", name);
		else {
			checks_add(checks, PREFLIGHT_MACHINE,
				   json_is_true(there) ? CHECK_OK : CHECK_FAIL,
				   "network",
				   "the NetworkAttachmentDefinition %s %s",
				   name,
				   json_is_true(there) ? "exists"
						       : "does not exist");
		}
	}
}

/* How much of what a quota counts one more pod takes. */
static struct quantity
pod_counts(const json_t *pod, const char *resource)
{
	static const struct {
		const char *name, *which, *resource;
	} known[] = {
		{ "cpu", "requests", "cpu" },
		{ "memory", "requests", "memory" },
		{ "requests.cpu", "requests", "cpu" },
		{ "requests.memory", "requests", "memory" },
		{ "limits.cpu", "limits", "cpu" },
		{ "limits.memory", "limits", "memory" },
	};

	if (str_equal(resource, "pods") || str_equal(resource, "count/pods"))
		return quantity_from_int(1, QUANTITY_DECIMAL_SI);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_equal(resource, known[i].name))
			return podneeds_sum(pod, known[i].which,
					    known[i].resource);
	}
	return QUANTITY_ZERO;
}

static struct quantity
parsed(const json_t *list, const char *name)
{
	const char *text = json_string_value(json_object_get(list, name));
	struct quantity q = QUANTITY_ZERO;
	struct err ignored;

	if (text == NULL || quantity_parse(text, &q, &ignored) == -1)
		q = QUANTITY_ZERO;
	return q;
}

static void
check_quota(const struct preflight_facts *f, const json_t *quota,
	    json_t *checks)
{
	json_t *hard = js_obj_at(quota, "spec.hard"), *value;
	const json_t *used = js_obj_at(quota, "status.used");
	char need_text[QUANTITY_TEXT_SIZE], free_text[QUANTITY_TEXT_SIZE];
	bool fits = true;
	const char *resource;

	json_object_foreach(hard, resource, value)
	{
		struct quantity need = pod_counts(f->pod, resource);
		struct quantity left = quantity_sub(parsed(hard, resource),
						    parsed(used, resource));

		if (quantity_cmp(&need, &left) <= 0)
			continue;
		fits = false;
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "quota",
			   "%s: the target pod needs %s %s, %s is left",
			   obj_name(quota),
			   quantity_text(&need, need_text, sizeof(need_text)),
			   resource,
			   quantity_text(&left, free_text, sizeof(free_text)));
	}
	if (fits)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "quota",
			   "%s has room for the target pod", obj_name(quota));
}

static void
check_quotas(const struct preflight_facts *f, json_t *checks)
{
	const json_t *quota;
	size_t i;

	if (f->quotas == NULL)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN, "quota",
			   "quotas may not be looked at");
	json_array_foreach(f->quotas, i, quota)
	{
		if (f->pod != NULL)
			check_quota(f, quota, checks);
	}
}

void
preflight_machine(const struct preflight_facts *facts, json_t *checks)
{
	check_running(facts, checks);
	check_migratable(facts, checks);
	check_rivals(facts, checks);
	check_admission(facts, checks);
	check_storage(facts, checks);
	check_networks(facts, checks);
	check_quotas(facts, checks);
}

void
preflight_settings(const struct migration_config *config, const char *policy,
		   json_t *checks)
{
	char rate[HUMAN_SIZE];
	int64_t limit = quantity_value(&config->bandwidth);
	AUTO(free_ptr) char *bandwidth = NULL;

	bandwidth = limit > 0 ? xasprintf("%s/s", human_bytes(limit, rate))
			      : xstrdup("no limit");
	checks_add(checks, PREFLIGHT_MACHINE, CHECK_OK, "policy",
		   "%s: bandwidth %s, %lld s per gigabyte%s%s%s",
		   policy[0] == '\0' ? "none" : policy, bandwidth,
		   (long long)config->completion_timeout_per_gib,
		   config->allow_auto_converge ? ", auto-converge" : "",
		   config->allow_post_copy ? ", post-copy" : "",
		   config->allow_workload_disruption ? ", may be disrupted"
						     : "");
}

static bool
leaves(const json_t *vmim, const json_t *vmis, const char *from)
{
	const json_t *vmi;
	size_t i;

	json_array_foreach(vmis, i, vmi)
	{
		if (str_equal(obj_ns(vmi), obj_ns(vmim)) &&
		    str_equal(obj_name(vmi), js_str_at(vmim, "spec.vmiName")))
			return str_equal(js_str_at(vmi, "status.nodeName"),
					 from);
	}
	return false;
}

void
preflight_limits(const struct migration_config *config, const json_t *vmims,
		 const json_t *vmis, const char *from, json_t *checks)
{
	const json_t *vmim;
	size_t i, all = 0, outbound = 0;
	bool waits;

	if (vmims == NULL || vmis == NULL) {
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN, "limits",
			   "migrations of other namespaces may not be looked "
			   "at");
		return;
	}
	json_array_foreach(vmims, i, vmim)
	{
		enum migration_phase phase;
		struct err ignored;

		if (migration_phase_parse(js_str_at(vmim, "status.phase"),
					  &phase, &ignored) == -1 ||
		    !migration_phase_is_running(phase))
			continue;
		all++;
		if (leaves(vmim, vmis, from))
			outbound++;
	}
	waits = all >= config->parallel_cluster ||
		outbound >= config->parallel_outbound;
	checks_add(checks, PREFLIGHT_MACHINE, waits ? CHECK_NOTE : CHECK_OK,
		   "limits", "%zu of %u in the cluster, %zu of %u from %s%s",
		   all, config->parallel_cluster, outbound,
		   config->parallel_outbound, from,
		   waits ? ": it would wait" : "");
}

static void
check_ready(const json_t *node, json_t *checks)
{
	const char *name = obj_name(node);
	const json_t *conds = js_arr_at(node, "status.conditions");
	const char *label = obj_label(node, LABEL_SCHEDULABLE);

	checks_add(checks, name,
		   condition_is_true(conds, COND_READY) ? CHECK_OK : CHECK_FAIL,
		   "ready", "%s",
		   condition_is_true(conds, COND_READY)
			   ? "yes"
			   : js_str_at(condition_get(conds, COND_READY),
				       "message"));
	if (js_bool_at(node, "spec.unschedulable", false))
		checks_add(checks, name, CHECK_FAIL, "schedulable",
			   "it is cordoned");
	else if (!str_equal(label, "true"))
		checks_add(checks, name, CHECK_FAIL, "schedulable",
			   "its handler is silent (label " LABEL_SCHEDULABLE
			   ")");
	else
		checks_add(checks, name, CHECK_OK, "schedulable", "yes");
}

static void
check_taints(const json_t *pod, const json_t *node, json_t *checks)
{
	const json_t *taint;
	size_t i;

	json_array_foreach(js_arr_at(node, "spec.taints"), i, taint)
	{
		/* Said already: it is cordoned. */
		if (str_equal(js_str_at(taint, "key"),
			      "node.kubernetes.io/unschedulable"))
			continue;
		if (!podneeds_tolerates(pod, taint)) {
			checks_add(checks, obj_name(node), CHECK_FAIL, "taint",
				   "%s=%s:%s is not tolerated",
				   js_str_at(taint, "key"),
				   js_str_at(taint, "value"),
				   js_str_at(taint, "effect"));
		}
	}
}

static void
check_selector(const json_t *pod, const json_t *node, json_t *checks)
{
	AUTO(free_ptr) char *why = NULL;

	if (podneeds_selects(pod, node, &why))
		checks_add(checks, obj_name(node), CHECK_OK, "labels",
			   "all that the pod asks for");
	else
		checks_add(checks, obj_name(node), CHECK_FAIL, "labels",
			   "the node %s", why);
}

static bool
has_true_label(const json_t *node, const char *prefix, const char *name)
{
	AUTO(free_ptr) char *key = xasprintf("%s%s", prefix, name);

	return str_equal(obj_label(node, key), "true");
}

/* A host-model CPU: the target must know the source's model and features. */
static void
check_cpu(const struct preflight_facts *f, const json_t *node, json_t *checks)
{
	static const struct {
		const char *has, *needs, *what;
	} rows[] = {
		{ LABEL_HOST_MODEL_PREFIX, LABEL_CPU_MIGRATION_PREFIX,
		  "model" },
		{ LABEL_HOST_FEATURES_PREFIX, LABEL_CPU_FEATURE_PREFIX,
		  "feature" },
	};
	const char *from = js_str_at(f->vmi, "status.nodeName");
	const json_t *source = NULL, *item;
	const char *key;
	json_t *value;
	size_t i;
	bool fits = true;

	if (!str_equal(js_str_at(f->vmi, "spec.domain.cpu.model"), HOST_MODEL))
		return;
	json_array_foreach(f->nodes, i, item)
	{
		if (str_equal(obj_name(item), from))
			source = item;
	}
	json_object_foreach(js_obj_at(source, "metadata.labels"), key, value)
	{
		for (i = 0; i < ARRAY_LEN(rows); i++) {
			const char *name = key + strlen(rows[i].has);

			if (!str_has_prefix(key, rows[i].has) ||
			    has_true_label(node, rows[i].needs, name))
				continue;
			fits = false;
			checks_add(checks, obj_name(node), CHECK_FAIL, "CPU",
				   "lacks the %s %s of %s", rows[i].what, name,
				   from);
		}
	}
	if (fits)
		checks_add(checks, obj_name(node), CHECK_OK, "CPU",
			   "can be what %s is", from);
}

static bool
is_live(const json_t *pod)
{
	const char *phase = js_str_at(pod, "status.phase");

	return !str_equal(phase, "Succeeded") && !str_equal(phase, "Failed");
}

static void
check_room(const struct preflight_facts *f, const json_t *node,
	   const char *resource, json_t *checks)
{
	struct quantity need = podneeds_sum(f->pod, "requests", resource);
	struct quantity left =
		parsed(js_obj_at(node, "status.allocatable"), resource);
	char need_text[QUANTITY_TEXT_SIZE], left_text[QUANTITY_TEXT_SIZE];
	const json_t *pod;
	size_t i;
	bool fits;

	json_array_foreach(f->pods, i, pod)
	{
		if (str_equal(js_str_at(pod, "spec.nodeName"),
			      obj_name(node)) &&
		    is_live(pod))
			left = quantity_sub(
				left, podneeds_sum(pod, "requests", resource));
	}
	fits = quantity_cmp(&need, &left) <= 0;
	checks_add(checks, obj_name(node), fits ? CHECK_OK : CHECK_FAIL,
		   resource, "needs %s, %s is free",
		   quantity_text(&need, need_text, sizeof(need_text)),
		   quantity_text(&left, left_text, sizeof(left_text)));
}

static void
check_node(const struct preflight_facts *f, const json_t *node, json_t *checks)
{
	check_ready(node, checks);
	check_taints(f->pod, node, checks);
	check_selector(f->pod, node, checks);
	check_cpu(f, node, checks);
	if (f->pods == NULL) {
		checks_add(checks, obj_name(node), CHECK_UNKNOWN, "room",
			   "pods of other namespaces may not be looked at");
		return;
	}
	check_room(f, node, "cpu", checks);
	check_room(f, node, "memory", checks);
}

size_t
preflight_nodes(const struct preflight_facts *facts, json_t *checks)
{
	const char *from = js_str_at(facts->vmi, "status.nodeName");
	const json_t *node;
	size_t i, fit = 0;

	json_array_foreach(facts->nodes, i, node)
	{
		const char *name = obj_name(node);

		if (facts->only != NULL && !str_equal(name, facts->only))
			continue;
		if (str_equal(name, from)) {
			if (facts->only != NULL)
				checks_add(checks, name, CHECK_FAIL, "node",
					   "it is there already");
			continue;
		}
		check_node(facts, node, checks);
		if (checks_count(checks, name, CHECK_FAIL) == 0)
			fit++;
	}
	return fit;
}
