/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/server/objmeta.h"
#include "cluster/server/pod.h"
#include "cluster/server/query.h"
#include "cluster/server/registration.h"
#include "cluster/server/strategy.h"
#include "meta/causes.h"
#include "meta/names.h"
#include "meta/status.h"
#include "meta/time.h"

/* Of all values of a ConfigMap or Secret together. */
#define DATA_MAX (1024U * 1024)

static json_t *
get_or_make(json_t *object, const char *member)
{
	json_t *value = json_object_get(object, member);

	if (!json_is_object(value)) {
		value = json_object();
		json_object_set_new(object, member, value);
	}
	return value;
}

static void
label_namespace(json_t *object)
{
	json_t *labels = get_or_make(objmeta_get(object), "labels");

	json_object_set_new(labels, "kubernetes.io/metadata.name",
			    json_string(objmeta_str(object, "name")));
}

static void
create_namespace(json_t *object)
{
	json_object_set_new(object, "spec",
			    json_pack("{s:[s]}", "finalizers", "kubernetes"));
	json_object_set_new(object, "status",
			    json_pack("{s:s}", "phase", "Active"));
	label_namespace(object);
}

/* What keeps a namespace is changed through its own subresource only. */
static void
update_namespace(json_t *object, const json_t *old)
{
	json_t *finalizers =
		json_object_get(json_object_get(old, "spec"), "finalizers");

	if (finalizers != NULL)
		json_object_set(get_or_make(object, "spec"), "finalizers",
				finalizers);
	else
		json_object_del(get_or_make(object, "spec"), "finalizers");
	label_namespace(object);
}

static int
check_delete_namespace(const json_t *object, struct status *st)
{
	static const char *const kept[] = { "default", "kube-public",
					    "kube-system" };
	const char *name = objmeta_str(object, "name");
	struct gr gr = { "", "namespaces" };

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (str_equal(name, kept[i]))
			return status_forbidden(
				st, &gr, name,
				"this namespace may not be deleted");
	return 0;
}

static void
create_claim(json_t *object)
{
	json_object_set_new(object, "status",
			    json_pack("{s:s}", "phase", "Pending"));
}

static void
create_budget(json_t *object)
{
	json_object_set_new(object, "status",
			    json_pack("{s:i, s:i, s:i, s:i}", "currentHealthy",
				      0, "desiredHealthy", 0,
				      "disruptionsAllowed", 0, "expectedPods",
				      0));
}

static void
create_without_status(json_t *object)
{
	json_object_del(object, "status");
}

/* stringData is for writing only: it goes into data, encoded. */
static void
merge_string_data(json_t *object)
{
	json_t *plain = json_object_get(object, "stringData");
	const json_t *value;
	const char *key;

	json_object_foreach(plain, key, value)
	{
		char *encoded;

		if (!json_is_string(value))
			continue;
		encoded = base64_encode(BASE64_STD, json_string_value(value),
					json_string_length(value));
		json_object_set_new(get_or_make(object, "data"), key,
				    json_string(encoded));
		free(encoded);
	}
	json_object_del(object, "stringData");
}

static void
update_secret(json_t *object, const json_t *old)
{
	(void)old;
	merge_string_data(object);
}

static size_t
sum_of_values(const json_t *map)
{
	const json_t *value;
	const char *key;
	size_t total = 0;

	json_object_foreach((json_t *)map, key, value) total +=
		json_string_length(value);
	return total;
}

static bool
same(const json_t *a, const json_t *b, const char *member)
{
	const json_t *x = json_object_get(a, member);
	const json_t *y = json_object_get(b, member);

	return x == y || (x != NULL && y != NULL && json_equal(x, y));
}

static void
check_immutable(const json_t *object, const json_t *old,
		const char *const *members, struct causes *causes)
{
	if (!json_is_true(json_object_get(old, "immutable")))
		return;
	if (!json_is_true(json_object_get(object, "immutable")))
		causes_forbidden(causes, "immutable",
				 "field is immutable when `immutable` is set");
	for (; *members != NULL; members++)
		if (!same(object, old, *members))
			causes_forbidden(
				causes, *members,
				"field is immutable when `immutable` is set");
}

static void
check_keys(const json_t *object, const char *member, struct causes *causes)
{
	const json_t *value;
	const char *key;

	json_object_foreach(json_object_get(object, member), key, value)
	{
		AUTO(free_ptr) char *field = xasprintf("%s[%s]", member, key);

		(void)value;
		name_check_field(NAME_CONFIG_KEY, key, field, causes);
	}
}

static void
validate_configmap(const struct strategy_env *env, json_t *object,
		   const json_t *old, struct causes *causes)
{
	static const char *const members[] = { "binaryData", "data", NULL };

	(void)env;
	if (sum_of_values(json_object_get(object, "data")) +
		    sum_of_values(json_object_get(object, "binaryData")) >
	    DATA_MAX)
		causes_too_long(causes, "[]", DATA_MAX);
	check_keys(object, "data", causes);
	check_keys(object, "binaryData", causes);
	check_immutable(object, old, members, causes);
}

static bool
is_base64(const json_t *value)
{
	struct err err;
	uint8_t *data;
	size_t len;

	if (!json_is_string(value) ||
	    base64_decode(BASE64_STD, json_string_value(value),
			  json_string_length(value), &data, &len, &err) == -1)
		return false;
	free(data);
	return true;
}

static void
validate_secret(const struct strategy_env *env, json_t *object,
		const json_t *old, struct causes *causes)
{
	static const char *const members[] = { "data", NULL };
	const json_t *value, *data = json_object_get(object, "data");
	const char *key;

	(void)env;
	if (sum_of_values(data) / 4 * 3 > DATA_MAX)
		causes_too_long(causes, "data", DATA_MAX);
	check_keys(object, "data", causes);
	json_object_foreach((json_t *)data, key, value) if (!is_base64(value))
		causes_invalid_str(causes, "data", key, "illegal base64 data");
	if (old != NULL && !same(object, old, "type"))
		causes_invalid(causes, "type", json_object_get(object, "type"),
			       "field is immutable");
	check_immutable(object, old, members, causes);
}

static void
validate_event(const struct strategy_env *env, json_t *object,
	       const json_t *old, struct causes *causes)
{
	const json_t *about = json_object_get(object, "involvedObject");
	const char *field = "involvedObject.namespace";
	const char *ns;

	(void)env;
	(void)old;
	if (about == NULL) {
		about = json_object_get(object, "regarding");
		field = "regarding.namespace";
	}
	ns = json_string_value(json_object_get(about, "namespace"));
	if (ns == NULL || *ns == '\0') {
		/* Of what has no namespace. */
		if (!str_equal(objmeta_str(object, "namespace"), "default") &&
		    !str_equal(objmeta_str(object, "namespace"), "kube-system"))
			causes_invalid_str(causes, field, "",
					   "does not match event.namespace");
	} else if (!str_equal(ns, objmeta_str(object, "namespace"))) {
		causes_invalid_str(causes, field, ns,
				   "does not match event.namespace");
	}
}

static void
validate_crd(const struct strategy_env *env, json_t *object, const json_t *old,
	     struct causes *causes)
{
	char now[TIME_TEXT_SIZE];

	(void)registry_prepare_crd(env->registry, object, old,
				   time_now_text(now), causes);
}

/* It stays until the controller has removed all objects of the kind. */
static void
prepare_delete_crd(json_t *object)
{
	json_t *conditions =
		json_object_get(get_or_make(object, "status"), "conditions");
	char now[TIME_TEXT_SIZE];

	(void)objmeta_add_finalizer(
		object, "customresourcecleanup.apiextensions.k8s.io");
	json_array_append_new(
		conditions,
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", "Terminating",
			  "status", "True", "lastTransitionTime",
			  time_now_text(now), "reason",
			  "InstanceDeletionPending", "message",
			  "CustomResourceDefinition marked for deletion; "
			  "CustomResource deletion will begin soon"));
}

/* Which role a binding grants cannot be changed, only who gets it. */
static void
validate_binding(const struct strategy_env *env, json_t *object,
		 const json_t *old, struct causes *causes)
{
	(void)env;
	if (old != NULL && !same(object, old, "roleRef"))
		causes_invalid(causes, "roleRef",
			       json_object_get(object, "roleRef"),
			       "cannot change roleRef");
}

static const char admission_group[] = "admissionregistration.k8s.io";
static const char rbac_group[] = "rbac.authorization.k8s.io";

static const struct strategy strategies[] = {
	{ .group = "",
	  .plural = "namespaces",
	  .prepare_create = create_namespace,
	  .prepare_update = update_namespace,
	  .check_delete = check_delete_namespace,
	  .delete_returns_object = true },
	{ .group = "", .plural = "nodes", .keeps_status = true },
	{ .group = "",
	  .plural = "pods",
	  .prepare_create = pod_prepare_create,
	  .prepare_update = pod_prepare_update,
	  .validate = pod_validate,
	  .grace = pod_grace,
	  .delete_returns_object = true },
	{ .group = "", .plural = "configmaps", .validate = validate_configmap },
	{ .group = "",
	  .plural = "secrets",
	  .prepare_create = merge_string_data,
	  .prepare_update = update_secret,
	  .validate = validate_secret },
	{ .group = "", .plural = "events", .validate = validate_event },
	{ .group = "events.k8s.io",
	  .plural = "events",
	  .validate = validate_event },
	{ .group = "",
	  .plural = "persistentvolumeclaims",
	  .prepare_create = create_claim,
	  .delete_returns_object = true },
	{ .group = "",
	  .plural = "persistentvolumes",
	  .prepare_create = create_claim,
	  .delete_returns_object = true },
	{ .group = "",
	  .plural = "resourcequotas",
	  .prepare_create = create_without_status },
	{ .group = "policy",
	  .plural = "poddisruptionbudgets",
	  .prepare_create = create_budget },
	{ .group = "apiextensions.k8s.io",
	  .plural = "customresourcedefinitions",
	  .prepare_create = create_without_status,
	  .validate = validate_crd,
	  .prepare_delete = prepare_delete_crd,
	  .delete_returns_object = true },
	{ .group = admission_group,
	  .plural = "validatingwebhookconfigurations",
	  .validate = registration_validate_webhooks },
	{ .group = admission_group,
	  .plural = "mutatingwebhookconfigurations",
	  .validate = registration_validate_webhooks },
	{ .group = "apiregistration.k8s.io",
	  .plural = "apiservices",
	  .prepare_create = create_without_status,
	  .validate = registration_validate_apiservice },
	{ .group = rbac_group,
	  .plural = "rolebindings",
	  .validate = validate_binding },
	{ .group = rbac_group,
	  .plural = "clusterrolebindings",
	  .validate = validate_binding },
};

const struct strategy *
strategy_for(const struct kind *kind)
{
	static const struct strategy none = { .group = "" };

	if (!kind->builtin)
		return &none;
	for (size_t i = 0; i < ARRAY_LEN(strategies); i++)
		if (str_equal(kind->group, strategies[i].group) &&
		    str_equal(kind->plural, strategies[i].plural))
			return &strategies[i];
	return &none;
}
