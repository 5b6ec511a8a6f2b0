/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/scope.h"

#include "base/array.h"
#include "base/jsat.h"
#include "base/str.h"
#include "meta/amount.h"
#include "meta/quantity.h"

bool
scope_has_any(const json_t *spec)
{
	return json_array_size(js_arr_at(spec, "scopes")) > 0 ||
	       json_array_size(
		       js_arr_at(spec, "scopeSelector.matchExpressions")) > 0;
}

static bool
asks_for_compute(const json_t *containers)
{
	static const char *const paths[] = { "resources.requests",
					     "resources.limits" };
	const json_t *item;
	size_t i;

	json_array_foreach(containers, i, item)
	{
		for (size_t n = 0; n < ARRAY_LEN(paths); n++) {
			const json_t *list = js_obj_at(item, paths[n]);
			struct quantity cpu, memory;

			(void)amount_in(list, "cpu", &cpu);
			(void)amount_in(list, "memory", &memory);
			if (!quantity_is_zero(&cpu) ||
			    !quantity_is_zero(&memory))
				return true;
		}
	}
	return false;
}

static bool
is_best_effort(const json_t *pod)
{
	return !asks_for_compute(js_arr_at(pod, "spec.containers")) &&
	       !asks_for_compute(js_arr_at(pod, "spec.initContainers"));
}

static bool
term_crosses(const json_t *term)
{
	return json_array_size(js_arr_at(term, "namespaces")) > 0 ||
	       js_obj_at(term, "namespaceSelector") != NULL;
}

static bool
affinity_crosses(const json_t *affinity)
{
	const json_t *item;
	size_t i;

	json_array_foreach(
		js_arr_at(affinity,
			  "requiredDuringSchedulingIgnoredDuringExecution"),
		i, item)
	{
		if (term_crosses(item))
			return true;
	}
	json_array_foreach(
		js_arr_at(affinity,
			  "preferredDuringSchedulingIgnoredDuringExecution"),
		i, item)
	{
		if (term_crosses(js_obj_at(item, "podAffinityTerm")))
			return true;
	}
	return false;
}

static bool
crosses_namespaces(const json_t *pod)
{
	const json_t *affinity = js_obj_at(pod, "spec.affinity");

	return affinity_crosses(js_obj_at(affinity, "podAffinity")) ||
	       affinity_crosses(js_obj_at(affinity, "podAntiAffinity"));
}

static bool
has_value(const json_t *values, const char *value)
{
	const json_t *item;
	size_t i;

	json_array_foreach(values, i, item)
	{
		if (str_equal(json_string_value(item), value))
			return true;
	}
	return false;
}

/* As label selectors work: NotIn holds where there is no class at all. */
static bool
matches_class(const json_t *pod, const char *op, const json_t *values)
{
	const char *class = js_str_at(pod, "spec.priorityClassName");
	bool has = *class != '\0';

	if (str_equal(op, "Exists"))
		return has;
	if (str_equal(op, "DoesNotExist"))
		return !has;
	if (str_equal(op, "NotIn"))
		return !has || !has_value(values, class);
	return has && has_value(values, class);
}

static bool
matches_one(const json_t *pod, const char *scope, const char *op,
	    const json_t *values)
{
	bool ends = js_int_at(pod, "spec.activeDeadlineSeconds", -1) >= 0;

	if (str_equal(scope, "Terminating"))
		return ends;
	if (str_equal(scope, "NotTerminating"))
		return !ends;
	if (str_equal(scope, "BestEffort"))
		return is_best_effort(pod);
	if (str_equal(scope, "NotBestEffort"))
		return !is_best_effort(pod);
	if (str_equal(scope, "PriorityClass"))
		return matches_class(pod, op, values);
	if (str_equal(scope, "CrossNamespacePodAffinity"))
		return crosses_namespaces(pod);
	return false;
}

bool
scope_matches(const json_t *spec, const json_t *pod)
{
	const json_t *item;
	size_t i;

	json_array_foreach(js_arr_at(spec, "scopes"), i, item)
	{
		if (!matches_one(pod, json_string_value(item), "Exists", NULL))
			return false;
	}
	json_array_foreach(js_arr_at(spec, "scopeSelector.matchExpressions"), i,
			   item)
	{
		if (!matches_one(pod, js_str_at(item, "scopeName"),
				 js_str_at(item, "operator"),
				 js_arr_at(item, "values")))
			return false;
	}
	return true;
}
