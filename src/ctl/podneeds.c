/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/podneeds.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "kube/obj.h"
#include "meta/selector.h"
#include "meta/status.h"

struct quantity
podneeds_amount(const json_t *list, const char *resource)
{
	const char *text = json_string_value(json_object_get(list, resource));
	struct quantity q = QUANTITY_ZERO;
	struct err ignored;

	if (text == NULL || quantity_parse(text, &q, &ignored) == -1)
		q = QUANTITY_ZERO;
	return q;
}

static struct quantity
one(const json_t *container, const char *which, const char *resource)
{
	return podneeds_amount(
		js_obj_at(js_obj_at(container, "resources"), which), resource);
}

json_t *
podneeds_resources(const json_t *pod)
{
	static const char *const lists[] = { "spec.containers",
					     "spec.initContainers" };
	json_t *names = json_object();
	const json_t *container;
	size_t i;

	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		json_array_foreach(js_arr_at(pod, lists[k]), i, container)
		{
			json_t *requests =
				js_obj_at(container, "resources.requests");

			if (requests != NULL)
				json_object_update(names, requests);
		}
	}
	return names;
}

bool
podneeds_is_live(const json_t *pod)
{
	const char *phase = js_str_at(pod, "status.phase");

	return !str_equal(phase, "Succeeded") && !str_equal(phase, "Failed");
}

struct quantity
podneeds_sum(const json_t *pod, const char *which, const char *resource)
{
	struct quantity sum = QUANTITY_ZERO, q;
	const json_t *container;
	size_t i;

	json_array_foreach(js_arr_at(pod, "spec.containers"), i, container)
	{
		sum = quantity_add(sum, one(container, which, resource));
	}
	json_array_foreach(js_arr_at(pod, "spec.initContainers"), i, container)
	{
		q = one(container, which, resource);
		if (quantity_cmp(&q, &sum) > 0)
			sum = q;
	}
	return sum;
}

static bool
is_tolerated_by(const json_t *taint, const json_t *toleration)
{
	const char *key = js_str_at(toleration, "key");
	const char *effect = js_str_at(toleration, "effect");

	if (effect[0] != '\0' && !str_equal(effect, js_str_at(taint, "effect")))
		return false;
	if (str_equal(js_str_at(toleration, "operator"), "Exists"))
		return key[0] == '\0' ||
		       str_equal(key, js_str_at(taint, "key"));
	return str_equal(key, js_str_at(taint, "key")) &&
	       str_equal(js_str_at(toleration, "value"),
			 js_str_at(taint, "value"));
}

bool
podneeds_tolerates(const json_t *pod, const json_t *taint)
{
	const json_t *toleration;
	size_t i;

	if (str_equal(js_str_at(taint, "effect"), "PreferNoSchedule"))
		return true;
	json_array_foreach(js_arr_at(pod, "spec.tolerations"), i, toleration)
	{
		if (is_tolerated_by(taint, toleration))
			return true;
	}
	return false;
}

/* One term: all of its expressions. Fields and comparisons of numbers, which
 * label selectors do not have, never match. */
static bool
term_matches(const json_t *term, const json_t *labels)
{
	AUTO(js_unref)
	json_t *object = json_pack("{s:O*}", "matchExpressions",
				   json_object_get(term, "matchExpressions"));
	AUTO(status_done) struct status st = { 0 };
	AUTO(selector_unref) struct selector *sel = NULL;

	if (json_array_size(js_arr_at(term, "matchFields")) > 0)
		return false;
	sel = selector_from_json(object, &st);
	return sel != NULL && selector_matches(sel, labels);
}

bool
podneeds_is_affine(const json_t *pod, const json_t *node)
{
	const json_t *labels = js_obj_at(node, "metadata.labels");
	const json_t *terms =
		js_arr_at(pod, "spec.affinity.nodeAffinity."
			       "requiredDuringSchedulingIgnoredDuringExecution."
			       "nodeSelectorTerms");
	const json_t *term;
	size_t i;

	if (terms == NULL)
		return true;
	json_array_foreach(terms, i, term)
	{
		if (term_matches(term, labels))
			return true;
	}
	return false;
}
