/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/nodefit.h"

#include <stdlib.h>

#include "api/config.h"
#include "api/names.h"
#include "api/placement.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "ctl/checks.h"
#include "ctl/preflight.h"
#include "ctl/traffic.h"
#include "kube/conditions.h"
#include "kube/obj.h"
#include "meta/amount.h"
#include "meta/nodesel.h"
#include "meta/taint.h"

#define REQUIRED_AFFINITY             \
	"spec.affinity.nodeAffinity." \
	"requiredDuringSchedulingIgnoredDuringExecution"

/* One look at all nodes. */
struct fit {
	const struct preflight_facts *f;
	json_t *selector; /* that the target pod would have */
	json_t *checks;
};

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
	size_t count, len;
	struct taint *taints =
		taints_from_json(js_arr_at(node, "spec.taints"), &count);
	struct toleration *tolerations =
		tolerations_from_json(js_arr_at(pod, "spec.tolerations"), &len);

	for (size_t i = 0; i < count; i++) {
		const struct taint *taint = &taints[i];

		/* Said already: it is cordoned. */
		if (str_equal(taint->key, TAINT_UNSCHEDULABLE) ||
		    !taint_is_hard(taint) ||
		    tolerations_cover(tolerations, len, taint))
			continue;
		checks_add(checks, obj_name(node), CHECK_FAIL, "taint",
			   "%s=%s:%s is not tolerated", taint->key,
			   taint->value, taint_effect_name(taint->effect));
	}
	tolerations_free(tolerations, len);
	taints_free(taints, count);
}

static bool
is_of_cpu(const char *label)
{
	static const char *const prefixes[] = {
		LABEL_CPU_MIGRATION_PREFIX,
		LABEL_CPU_MODEL_PREFIX,
		LABEL_CPU_FEATURE_PREFIX,
		LABEL_CPU_VENDOR_PREFIX,
	};

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		if (str_has_prefix(label, prefixes[i]))
			return true;
	}
	return false;
}

static void
check_labels(const struct fit *fit, const json_t *node)
{
	const json_t *labels = js_obj_at(node, "metadata.labels");
	bool asks_cpu = false, cpu = true, others = true;
	const char *key;
	json_t *value;

	json_object_foreach(fit->selector, key, value)
	{
		bool of_cpu = is_of_cpu(key);

		asks_cpu = asks_cpu || of_cpu;
		/* Said already: its handler is silent. */
		if (str_equal(key, LABEL_SCHEDULABLE) ||
		    json_equal(json_object_get(labels, key), value))
			continue;
		if (of_cpu)
			cpu = false;
		else
			others = false;
		checks_add(fit->checks, obj_name(node), CHECK_FAIL,
			   of_cpu ? "CPU" : "labels", "lacks %s=%s", key,
			   json_string_value(value));
	}
	if (!nodesel_matches(js_obj_at(fit->f->pod, REQUIRED_AFFINITY), labels,
			     obj_name(node))) {
		others = false;
		checks_add(fit->checks, obj_name(node), CHECK_FAIL, "labels",
			   "do not match the node affinity");
	}
	if (others)
		checks_add(fit->checks, obj_name(node), CHECK_OK, "labels",
			   "all that the pod asks for");
	if (asks_cpu && cpu)
		checks_add(fit->checks, obj_name(node), CHECK_OK, "CPU",
			   "can be what the guest has");
}

static bool
is_on(const json_t *pod, const json_t *node)
{
	return str_equal(js_str_at(pod, "spec.nodeName"), obj_name(node)) &&
	       preflight_is_live(pod);
}

static void
check_amount(const struct fit *fit, const json_t *node, const char *resource)
{
	struct quantity need, left, taken;
	char need_text[QUANTITY_TEXT_SIZE], left_text[QUANTITY_TEXT_SIZE];
	const json_t *pod;
	size_t i;
	bool fits;

	(void)amount_of_pod(fit->f->pod, "requests", resource, &need);
	(void)amount_in(js_obj_at(node, "status.allocatable"), resource, &left);
	json_array_foreach(fit->f->pods, i, pod)
	{
		if (!is_on(pod, node))
			continue;
		(void)amount_of_pod(pod, "requests", resource, &taken);
		left = quantity_sub(left, taken);
	}
	fits = quantity_cmp(&need, &left) <= 0;
	checks_add(fit->checks, obj_name(node), fits ? CHECK_OK : CHECK_FAIL,
		   resource, "needs %s, %s is free",
		   quantity_text(&need, need_text, sizeof(need_text)),
		   quantity_text(&left, left_text, sizeof(left_text)));
}

/* A node takes so many pods, however small. */
static void
check_pods(const struct fit *fit, const json_t *node)
{
	struct quantity limit;
	const json_t *pod;
	size_t i, count = 0;
	int64_t max;

	(void)amount_in(js_obj_at(node, "status.allocatable"), "pods", &limit);
	max = quantity_value(&limit);
	json_array_foreach(fit->f->pods, i, pod)
	{
		count += is_on(pod, node);
	}
	checks_add(fit->checks, obj_name(node),
		   (int64_t)count < max ? CHECK_OK : CHECK_FAIL, "pods",
		   "%zu of %lld are there", count, (long long)max);
}

/* All that a pod requests, as the members of an object; a new reference. */
static json_t *
requested(const json_t *pod)
{
	static const char *const lists[] = { "spec.containers",
					     "spec.initContainers" };
	json_t *names = json_object();
	const json_t *container;
	size_t i;

	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		json_array_foreach(js_arr_at(pod, lists[k]), i, container)
		{
			json_object_update(names,
					   js_obj_at(container, "resources."
								"requests"));
		}
	}
	json_object_update(names, js_obj_at(pod, "spec.overhead"));
	return names;
}

static void
check_room(const struct fit *fit, const json_t *node)
{
	AUTO(js_unref) json_t *names = requested(fit->f->pod);
	const char *name;
	json_t *unused;

	if (fit->f->pods == NULL) {
		checks_add(fit->checks, obj_name(node), CHECK_UNKNOWN, "room",
			   "pods of other namespaces may not be looked at");
		return;
	}
	json_object_foreach(names, name, unused)
	{
		check_amount(fit, node, name);
	}
	check_pods(fit, node);
}

/* How many may come at a time, which is Ferry's own and mostly not said. */
static void
check_inbound(const struct fit *fit, const json_t *node)
{
	uint32_t limit = fit->f->config->parallel_inbound;
	struct traffic traffic;
	bool waits;

	if (limit == 0)
		return;
	if (fit->f->others == NULL || fit->f->machines == NULL) {
		checks_add(fit->checks, obj_name(node), CHECK_UNKNOWN, "limit",
			   "%s of other namespaces may not be looked at",
			   fit->f->others == NULL ? "migrations" : "machines");
		return;
	}
	traffic =
		traffic_count(fit->f->others, fit->f->machines, obj_name(node));
	waits = traffic.inbound >= limit;
	checks_add(fit->checks, obj_name(node), waits ? CHECK_NOTE : CHECK_OK,
		   "limit", "%zu of %u come here%s", traffic.inbound, limit,
		   waits ? ": it would wait" : "");
}

static void
check_node(const struct fit *fit, const json_t *node)
{
	check_ready(node, fit->checks);
	check_taints(fit->f->pod, node, fit->checks);
	check_labels(fit, node);
	check_room(fit, node);
	check_inbound(fit, node);
}

/* What the controller would ask nodes for; a new reference. */
static json_t *
target_selector(const struct preflight_facts *f, json_t *checks)
{
	const struct placement_source source = {
		.pod = f->pod,
		.node = nodefit_find(f->nodes,
				     js_str_at(f->vmi, "status.nodeName")),
	};
	json_t *selector =
		placement_selector(f->vmi, f->config, f->configuration);
	struct err err;

	if (placement_narrow(f->vmi, f->config, &source, selector, &err) == -1)
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "CPU", "%s",
			   err.text);
	return selector;
}

const json_t *
nodefit_find(const json_t *nodes, const char *name)
{
	const json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		if (str_equal(obj_name(node), name))
			return node;
	}
	return NULL;
}

bool
nodefit_is_asked(const struct preflight_facts *f, const json_t *node)
{
	return (f->only == NULL || str_equal(obj_name(node), f->only)) &&
	       !str_equal(obj_name(node), js_str_at(f->vmi, "status.nodeName"));
}

void
nodefit_judge(const struct preflight_facts *f, json_t *checks)
{
	const char *from = js_str_at(f->vmi, "status.nodeName");
	AUTO(js_unref) json_t *selector = NULL;
	struct fit fit = { .f = f, .checks = checks };
	const json_t *node;
	size_t i;

	if (f->nodes == NULL) {
		checks_add(checks, PREFLIGHT_MACHINE, CHECK_UNKNOWN, "nodes",
			   "may not be looked at");
		return;
	}
	if (f->pod == NULL)
		return;
	selector = target_selector(f, checks);
	fit.selector = selector;
	if (f->only != NULL && str_equal(f->only, from))
		checks_add(checks, from, CHECK_FAIL, "node",
			   "it is there already");
	json_array_foreach(f->nodes, i, node)
	{
		if (nodefit_is_asked(f, node))
			check_node(&fit, node);
	}
}

size_t
nodefit_count(const struct preflight_facts *f, const json_t *checks)
{
	const json_t *node;
	size_t i, count = 0;

	if (f->pod == NULL)
		return 0;
	json_array_foreach(f->nodes, i, node)
	{
		count += nodefit_is_asked(f, node) &&
			 checks_count(checks, obj_name(node), CHECK_FAIL) == 0;
	}
	return count;
}
