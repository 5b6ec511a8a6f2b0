/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/podplugins.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission.h"
#include "cluster/admit/classes.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/names.h"
#include "meta/status.h"

#define DEFAULT_ACCOUNT "default"
#define TOLERATION_SECONDS 300
/* Renewed well before an hour is over, hence an odd number to know it by. */
#define TOKEN_SECONDS 3607
#define TOKEN_VOLUME "kube-api-access-"
#define VOLUME_MODE 0644

static const struct gr pods = { .group = "", .resource = "pods" };

static const char *const container_lists[] = { "containers", "initContainers" };

/* A mirror pod stands for one that a node runs of itself: it stays as it is. */
static bool
is_mirror(const json_t *pod)
{
	return json_object_get(js_obj_at(pod, "metadata.annotations"),
			       "kubernetes.io/config.mirror") != NULL;
}

static void
default_requests(json_t *container)
{
	json_t *limits = js_obj_at(container, "resources.limits");
	json_t *requests, *value;
	const char *name;

	if (json_object_size(limits) == 0)
		return;
	requests = js_make_obj_at(container, "resources.requests");
	json_object_foreach(limits, name, value)
	{
		if (json_object_get(requests, name) == NULL)
			(void)json_object_set_new(requests, name,
						  json_deep_copy(value));
	}
}

void
podplugin_requests(json_t *pod)
{
	json_t *spec = js_obj_at(pod, "spec"), *container;
	size_t i;

	for (size_t n = 0; n < ARRAY_LEN(container_lists); n++) {
		json_array_foreach(js_arr_at(spec, container_lists[n]), i,
				   container) default_requests(container);
	}
}

static bool
tolerates(const json_t *tolerations, const char *key)
{
	const json_t *item;
	size_t i;

	json_array_foreach(tolerations, i, item)
	{
		const char *its = js_str_at(item, "key");
		const char *effect = js_str_at(item, "effect");

		if ((str_equal(its, key) || *its == '\0') &&
		    (str_equal(effect, "NoExecute") || *effect == '\0'))
			return true;
	}
	return false;
}

void
podplugin_tolerations(json_t *pod)
{
	static const char *const keys[] = { "node.kubernetes.io/not-ready",
					    "node.kubernetes.io/unreachable" };
	json_t *spec = js_make_obj_at(pod, "spec");

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		json_t *list = js_arr_at(spec, "tolerations");

		if (tolerates(list, keys[i]))
			continue;
		if (list == NULL) {
			list = json_array();
			(void)json_object_set_new(spec, "tolerations", list);
		}
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:s, s:i}", "key", keys[i],
				  "operator", "Exists", "effect", "NoExecute",
				  "tolerationSeconds", TOLERATION_SECONDS));
	}
}

/* Whoever knows the numbers may write them, if they are the right ones. */
static int
check_priority(const struct admission_request *req,
	       const struct priority_class *class, struct status *st)
{
	const json_t *spec = js_obj_at(req->object, "spec");
	const char *policy = js_str_at(spec, "preemptionPolicy");
	int64_t value = js_int_at(spec, "priority", class->value);
	AUTO(free_ptr) char *why = NULL;

	if (value != class->value) {
		why = xasprintf("the integer value of priority (%" PRId64
				") must not be provided in pod spec; priority "
				"admission controller computed %" PRId32
				" from the given PriorityClass name",
				value, class->value);
	} else if (*policy != '\0' && !str_equal(policy, class->preemption)) {
		why = xasprintf("the string value of PreemptionPolicy (%s) "
				"must not be provided in pod spec; priority "
				"admission controller computed %s from the "
				"given PriorityClass name",
				policy, class->preemption);
	}
	return why == NULL ? 0 : status_forbidden(st, &pods, req->name, why);
}

int
podplugin_priority(struct classes *classes, const struct admission_request *req,
		   struct status *st)
{
	json_t *spec = js_make_obj_at(req->object, "spec");
	const char *name = js_str_at(spec, "priorityClassName");
	struct priority_class class;

	if (!classes_priority(classes, name, &class)) {
		AUTO(free_ptr)
		char *why = xasprintf("no PriorityClass with name %s was found",
				      name);

		return status_forbidden(st, &pods, req->name, why);
	}
	if (check_priority(req, &class, st) == -1)
		return -1;
	if (*name == '\0' && *class.name != '\0')
		(void)json_object_set_new(spec, "priorityClassName",
					  json_string(class.name));
	(void)json_object_set_new(spec, "priority", json_integer(class.value));
	(void)json_object_set_new(spec, "preemptionPolicy",
				  json_string(class.preemption));
	return 0;
}

/* serviceAccount is the old name of the same member. */
static const char *
account_of(const json_t *pod)
{
	const char *name = js_str_at(pod, "spec.serviceAccountName");

	if (*name == '\0')
		name = js_str_at(pod, "spec.serviceAccount");
	return *name != '\0' ? name : DEFAULT_ACCOUNT;
}

static struct object *
find_account(struct store *store, const struct admission_request *req)
{
	return store_get(store_collection(store, "", "serviceaccounts"),
			 req->namespace_, account_of(req->object));
}

bool
podplugin_account_missing(struct store *store,
			  const struct admission_request *req)
{
	return !is_mirror(req->object) &&
	       str_equal(account_of(req->object), DEFAULT_ACCOUNT) &&
	       find_account(store, req) == NULL;
}

static bool
uses_secrets(const json_t *pod)
{
	const json_t *volume, *source;
	size_t i, n;

	json_array_foreach(js_arr_at(pod, "spec.volumes"), i, volume)
	{
		if (js_at(volume, "secret") != NULL)
			return true;
		json_array_foreach(js_arr_at(volume, "projected.sources"), n,
				   source)
		{
			if (js_at(source, "secret") != NULL ||
			    js_at(source, "serviceAccountToken") != NULL)
				return true;
		}
	}
	return false;
}

static int
check_mirror(const struct admission_request *req, struct status *st)
{
	if (*js_str_at(req->object, "spec.serviceAccountName") != '\0')
		return status_forbidden(
			st, &pods, req->name,
			"a mirror pod may not reference service accounts");
	if (uses_secrets(req->object))
		return status_forbidden(
			st, &pods, req->name,
			"a mirror pod may not reference secrets");
	return 0;
}

static json_t *
token_volume(const char *name)
{
	return json_pack("{s:s, s:{s:i, s:[{s:{s:i, s:s}},"
			 " {s:{s:s, s:[{s:s, s:s}]}},"
			 " {s:{s:[{s:s, s:{s:s, s:s}}]}}]}}",
			 "name", name, "projected", "defaultMode", VOLUME_MODE,
			 "sources", "serviceAccountToken", "expirationSeconds",
			 TOKEN_SECONDS, "path", "token", "configMap", "name",
			 "kube-root-ca.crt", "items", "key", "ca.crt", "path",
			 "ca.crt", "downwardAPI", "items", "path", "namespace",
			 "fieldRef", "apiVersion", "v1", "fieldPath",
			 "metadata.namespace");
}

/* True when the container got the mount, false when it had one there. */
static bool
mount_token(json_t *container, const char *volume)
{
	json_t *mounts = js_arr_at(container, "volumeMounts");

	if (js_find(mounts, "mountPath", PODPLUGINS_TOKEN_PATH) != NULL)
		return false;
	if (mounts == NULL) {
		mounts = json_array();
		(void)json_object_set_new(container, "volumeMounts", mounts);
	}
	(void)json_array_append_new(
		mounts, json_pack("{s:s, s:b, s:s}", "name", volume, "readOnly",
				  1, "mountPath", PODPLUGINS_TOKEN_PATH));
	return true;
}

static const char *
find_token_volume(const json_t *spec)
{
	const json_t *volume;
	size_t i;

	json_array_foreach(js_arr_at(spec, "volumes"), i, volume)
	{
		if (str_has_prefix(js_str_at(volume, "name"), TOKEN_VOLUME))
			return js_str_at(volume, "name");
	}
	return NULL;
}

static void
mount_account(json_t *spec)
{
	const char *there = find_token_volume(spec);
	AUTO(free_ptr)
	char *name =
		there != NULL ? xstrdup(there) : name_generate(TOKEN_VOLUME);
	json_t *container, *volumes;
	bool needed = false;
	size_t i;

	for (size_t n = 0; n < ARRAY_LEN(container_lists); n++) {
		json_array_foreach(js_arr_at(spec, container_lists[n]), i,
				   container) needed |=
			mount_token(container, name);
	}
	if (!needed || there != NULL)
		return;
	volumes = js_arr_at(spec, "volumes");
	if (volumes == NULL) {
		volumes = json_array();
		(void)json_object_set_new(spec, "volumes", volumes);
	}
	(void)json_array_append_new(volumes, token_volume(name));
}

static void
copy_pull_secrets(json_t *spec, const json_t *account)
{
	const json_t *secrets = js_arr_at(account, "imagePullSecrets");

	if (json_array_size(secrets) > 0 &&
	    json_array_size(js_arr_at(spec, "imagePullSecrets")) == 0)
		(void)json_object_set_new(spec, "imagePullSecrets",
					  json_deep_copy(secrets));
}

int
podplugin_account(struct store *store, const struct admission_request *req,
		  struct status *st)
{
	const struct object *object = find_account(store, req);
	AUTO(free_ptr) char *name = xstrdup(account_of(req->object));
	json_t *spec = js_make_obj_at(req->object, "spec");
	AUTO(js_unref) json_t *account = NULL;

	if (is_mirror(req->object))
		return check_mirror(req, st);
	if (object == NULL) {
		AUTO(free_ptr)
		char *why = xasprintf("error looking up service account %s/%s: "
				      "serviceaccount \"%s\" not found",
				      req->namespace_, name, name);

		return status_forbidden(st, &pods, req->name, why);
	}
	account = object_json(object);
	(void)json_object_set_new(spec, "serviceAccountName",
				  json_string(name));
	(void)json_object_set_new(spec, "serviceAccount", json_string(name));
	if (js_bool_at(
		    spec, "automountServiceAccountToken",
		    js_bool_at(account, "automountServiceAccountToken", true)))
		mount_account(spec);
	copy_pull_secrets(spec, account);
	return 0;
}
