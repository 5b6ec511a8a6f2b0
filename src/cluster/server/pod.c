/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/str.h"
#include "cluster/server/objmeta.h"
#include "cluster/server/pod.h"
#include "cluster/server/podcheck.h"
#include "cluster/server/query.h"
#include "meta/causes.h"

static const json_t *
get_path(const json_t *value, const char *a, const char *b)
{
	return json_object_get(json_object_get(value, a), b);
}

struct qos {
	bool any;        /* something is requested or limited */
	bool guaranteed; /* so far */
};

static void
look_at_container(const json_t *container, struct qos *qos)
{
	static const char *const names[] = { "cpu", "memory" };
	const json_t *requests = get_path(container, "resources", "requests");
	const json_t *limits = get_path(container, "resources", "limits");

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const json_t *request = json_object_get(requests, names[i]);
		const json_t *limit = json_object_get(limits, names[i]);

		if (request != NULL || limit != NULL)
			qos->any = true;
		/* A limit alone is its own request. */
		if (limit == NULL ||
		    (request != NULL && !json_equal(request, limit)))
			qos->guaranteed = false;
	}
}

const char *
pod_qos_class(const json_t *object)
{
	static const char *const lists[] = { "containers", "initContainers" };
	struct qos qos = { .guaranteed = true };
	const json_t *container;
	size_t k;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		json_array_foreach(get_path(object, "spec", lists[i]), k,
				   container)
			look_at_container(container, &qos);
	if (!qos.any)
		return "BestEffort";
	return qos.guaranteed ? "Guaranteed" : "Burstable";
}

/* What is limited and not requested is requested as limited. */
static void
default_requests(json_t *object)
{
	static const char *const lists[] = { "containers", "initContainers" };
	json_t *container, *limit;
	const char *name;
	size_t k;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		json_array_foreach(get_path(object, "spec", lists[i]), k,
				   container)
		{
			json_t *resources =
				json_object_get(container, "resources");
			json_t *requests,
				*limits = json_object_get(resources, "limits");

			if (json_object_size(limits) == 0)
				continue;
			requests = json_object_get(resources, "requests");
			if (!json_is_object(requests)) {
				requests = json_object();
				json_object_set_new(resources, "requests",
						    requests);
			}
			json_object_foreach(
				limits, name,
				limit) if (json_object_get(requests, name) ==
					   NULL)
				json_object_set(requests, name, limit);
		}
	}
}

/* An image without a tag, or called latest, may have changed. */
static const char *
pull_policy(const char *image)
{
	const char *name = strrchr(image, '/');
	const char *tag = strchr(name == NULL ? image : name, ':');

	if (strchr(image, '@') != NULL)
		return "IfNotPresent";
	return tag == NULL || str_equal(tag, ":latest") ? "Always"
							: "IfNotPresent";
}

static void
default_pull_policy(json_t *object)
{
	static const char *const lists[] = { "containers", "initContainers" };
	json_t *container;
	size_t k;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		json_array_foreach(get_path(object, "spec", lists[i]), k,
				   container)
		{
			const char *image = json_string_value(
				json_object_get(container, "image"));

			if (image != NULL &&
			    json_object_get(container, "imagePullPolicy") ==
				    NULL)
				json_object_set_new(
					container, "imagePullPolicy",
					json_string(pull_policy(image)));
		}
	}
}

void
pod_prepare_create(json_t *object)
{
	default_requests(object);
	default_pull_policy(object);
	json_object_set_new(object, "status",
			    json_pack("{s:s, s:s}", "phase", "Pending",
				      "qosClass", pod_qos_class(object)));
}

void
pod_prepare_update(json_t *object, const json_t *old)
{
	const json_t *qos = get_path(old, "status", "qosClass");
	json_t *status = json_object_get(object, "status");

	if (qos != NULL && json_is_object(status))
		json_object_set(status, "qosClass", (json_t *)qos);
}

/* The spec with everything that may change taken out; a new reference. */
static json_t *
fixed_part(const json_t *object)
{
	static const char *const lists[] = { "containers", "initContainers" };
	json_t *spec = json_deep_copy(json_object_get(object, "spec"));
	json_t *container;
	size_t k;

	json_object_del(spec, "activeDeadlineSeconds");
	json_object_del(spec, "terminationGracePeriodSeconds");
	json_object_del(spec, "tolerations");
	json_object_del(spec, "schedulingGates");
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		json_array_foreach(json_object_get(spec, lists[i]), k,
				   container)
			json_object_del(container, "image");
	return spec;
}

/* Tolerations may be added, but not be taken away or changed. */
static bool
keeps_tolerations(const json_t *object, const json_t *old)
{
	const json_t *now = get_path(object, "spec", "tolerations");
	const json_t *item, *other;
	size_t i, k;

	json_array_foreach(get_path(old, "spec", "tolerations"), i, item)
	{
		bool found = false;

		json_array_foreach(now, k, other) if (json_equal(item, other))
			found = true;
		if (!found)
			return false;
	}
	return true;
}

static void
check_update(const json_t *object, const json_t *old, struct causes *causes)
{
	json_t *now = fixed_part(object);
	json_t *before = fixed_part(old);

	if (!json_equal(now, before)) {
		causes_forbidden(
			causes, "spec",
			"pod updates may not change fields other than "
			"`spec.containers[*].image`, "
			"`spec.initContainers[*].image`, "
			"`spec.activeDeadlineSeconds`, `spec.tolerations` "
			"(only additions to existing tolerations) or "
			"`spec.terminationGracePeriodSeconds` (allow it to be "
			"set to 1 if it was previously negative)");
	} else if (!keeps_tolerations(object, old)) {
		causes_forbidden(causes, "spec.tolerations",
				 "existing toleration can not be modified "
				 "except its tolerationSeconds");
	}
	json_decref(now);
	json_decref(before);
}

void
pod_validate(const struct strategy_env *env, json_t *object, const json_t *old,
	     struct causes *causes)
{
	(void)env;
	podcheck_containers(object, causes);
	if (json_array_size(get_path(object, "spec", "containers")) == 0)
		causes_required(causes, "spec.containers", "");
	if (old != NULL)
		check_update(object, old, causes);
}

int64_t
pod_grace(const json_t *object, const struct delete_options *options)
{
	const json_t *given =
		get_path(object, "spec", "terminationGracePeriodSeconds");
	const char *phase =
		json_string_value(get_path(object, "status", "phase"));
	const char *node =
		json_string_value(get_path(object, "spec", "nodeName"));
	int64_t grace = POD_GRACE_DEFAULT_S;

	if (options->has_grace)
		grace = options->grace_s;
	else if (json_is_integer(given))
		grace = json_integer_value(given);
	/* Nobody would clean up: it runs nowhere, or not any more. */
	if (node == NULL || *node == '\0' || str_equal(phase, "Failed") ||
	    str_equal(phase, "Succeeded"))
		return 0;
	return grace < 0 ? 1 : grace;
}
