/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/podrefs.h"

#include <stdio.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "kube/obj.h"
#include "kubelet/attach.h"

static const struct kube_resource persistent_volumes = {
	.group = "",
	.version = "v1",
	.plural = "persistentvolumes",
	.kind = "PersistentVolume",
};

static const struct kube_resource networks = {
	.group = "k8s.cni.cncf.io",
	.version = "v1",
	.plural = "network-attachment-definitions",
	.kind = "NetworkAttachmentDefinition",
};

static const struct kube_resource service_accounts = {
	.group = "",
	.version = "v1",
	.plural = "serviceaccounts",
	.kind = "ServiceAccount",
};

/* A search for the first that is not there. */
struct search {
	const json_t *pod;
	const json_t *have;
	struct podref *found;
	bool done;
};

static void
want_key(struct search *s, const char *key, const struct podref *ref)
{
	if (s->done || json_object_get(s->have, key) != NULL)
		return;
	*s->found = *ref;
	(void)snprintf(s->found->key, sizeof(s->found->key), "%s", key);
	s->done = true;
}

static void
want(struct search *s, const struct kube_resource *resource, const char *ns,
     const char *name, bool optional)
{
	struct podref ref = { .resource = resource, .optional = optional };
	char key[PODREFS_KEY_MAX];

	if (*name == '\0')
		return;
	(void)snprintf(ref.ns, sizeof(ref.ns), "%s", ns);
	(void)snprintf(ref.name, sizeof(ref.name), "%s", name);
	(void)snprintf(key, sizeof(key), "%s/%s", resource->plural, name);
	want_key(s, key, &ref);
}

static void
want_own(struct search *s, const struct kube_resource *resource,
	 const json_t *source, const char *member)
{
	if (source != NULL)
		want(s, resource, obj_ns(s->pod), js_str_at(source, member),
		     js_bool_at(source, "optional", false));
}

static void
want_token(struct search *s, const json_t *volume, size_t i,
	   const json_t *token)
{
	struct podref ref = { .resource = &service_accounts, .token = token };
	const char *account = js_str_at(s->pod, "spec.serviceAccountName");
	char key[PODREFS_KEY_MAX];

	if (token == NULL)
		return;
	(void)snprintf(ref.ns, sizeof(ref.ns), "%s", obj_ns(s->pod));
	(void)snprintf(ref.name, sizeof(ref.name), "%s",
		       *account == '\0' ? "default" : account);
	(void)snprintf(key, sizeof(key), "tokens/%s/%zu",
		       js_str_at(volume, "name"), i);
	want_key(s, key, &ref);
}

static void
search_projected(struct search *s, const json_t *volume)
{
	const json_t *source;
	size_t i;

	json_array_foreach(js_arr_at(volume, "projected.sources"), i, source)
	{
		want_own(s, &kube_configmaps, js_obj_at(source, "configMap"),
			 "name");
		want_own(s, &kube_secrets, js_obj_at(source, "secret"), "name");
		want_token(s, volume, i,
			   js_obj_at(source, "serviceAccountToken"));
	}
}

static void
search_volumes(struct search *s)
{
	const json_t *volume;
	size_t i;

	json_array_foreach(js_arr_at(s->pod, "spec.volumes"), i, volume)
	{
		const char *claim = js_str_at(volume, "persistentVolumeClaim."
						      "claimName");
		const json_t *bound;

		want_own(s, &kube_configmaps, js_obj_at(volume, "configMap"),
			 "name");
		want_own(s, &kube_secrets, js_obj_at(volume, "secret"),
			 "secretName");
		search_projected(s, volume);
		want(s, &kube_persistentvolumeclaims, obj_ns(s->pod), claim,
		     false);
		bound = podrefs_get(s->have, "persistentvolumeclaims", claim);
		want(s, &persistent_volumes, "",
		     js_str_at(bound, "spec.volumeName"), false);
	}
}

static void
search_containers(struct search *s, const char *list)
{
	const json_t *container, *env;
	size_t i, k;

	json_array_foreach(js_arr_at(s->pod, list), i, container)
	{
		json_array_foreach(js_arr_at(container, "env"), k, env)
		{
			want_own(s, &kube_configmaps,
				 js_obj_at(env, "valueFrom.configMapKeyRef"),
				 "name");
			want_own(s, &kube_secrets,
				 js_obj_at(env, "valueFrom.secretKeyRef"),
				 "name");
		}
		json_array_foreach(js_arr_at(container, "envFrom"), k, env)
		{
			want_own(s, &kube_configmaps,
				 js_obj_at(env, "configMapRef"), "name");
			want_own(s, &kube_secrets, js_obj_at(env, "secretRef"),
				 "name");
		}
	}
}

static int
search_networks(struct search *s, struct err *err)
{
	AUTO(js_unref) json_t *wanted = attach_wanted(s->pod, err);
	const json_t *one;
	size_t i;

	if (wanted == NULL)
		return -1;
	json_array_foreach(wanted, i, one)
	{
		const char *ns = js_str_at(one, "namespace");
		struct podref ref = { .resource = &networks };
		char key[PODREFS_KEY_MAX];

		(void)snprintf(ref.name, sizeof(ref.name), "%s",
			       js_str_at(one, "name"));
		(void)snprintf(key, sizeof(key), "networks/%s/%s", ns,
			       ref.name);
		(void)snprintf(ref.ns, sizeof(ref.ns), "%s", ns);
		want_key(s, key, &ref);
	}
	return 0;
}

/* A claim must be bound, to be more than a name. */
static int
check_claims(const json_t *pod, const json_t *have, struct err *err)
{
	const json_t *volume;
	size_t i;

	json_array_foreach(js_arr_at(pod, "spec.volumes"), i, volume)
	{
		const char *name = js_str_at(volume, "persistentVolumeClaim."
						     "claimName");
		const json_t *claim =
			podrefs_get(have, "persistentvolumeclaims", name);

		if (claim != NULL &&
		    *js_str_at(claim, "spec.volumeName") == '\0')
			return err_set(err, ERR_NOT_FOUND,
				       "persistentvolumeclaim \"%s\" is not "
				       "bound",
				       name);
	}
	return 0;
}

int
podrefs_next(const json_t *pod, const json_t *have, struct podref *ret,
	     struct err *err)
{
	struct search s = { .pod = pod, .have = have, .found = ret };

	search_volumes(&s);
	search_containers(&s, "spec.initContainers");
	search_containers(&s, "spec.containers");
	if (search_networks(&s, err) == -1)
		return -1;
	if (s.done)
		return 0;
	return check_claims(pod, have, err) == -1 ? -1 : 1;
}

static const json_t *
get(const json_t *have, const char *key)
{
	const json_t *object = json_object_get(have, key);

	return json_is_object(object) ? object : NULL;
}

const json_t *
podrefs_get(const json_t *have, const char *plural, const char *name)
{
	char key[PODREFS_KEY_MAX];

	(void)snprintf(key, sizeof(key), "%s/%s", plural, name);
	return get(have, key);
}

const json_t *
podrefs_token(const json_t *have, const char *volume, size_t source)
{
	char key[PODREFS_KEY_MAX];

	(void)snprintf(key, sizeof(key), "tokens/%s/%zu", volume, source);
	return get(have, key);
}

const json_t *
podrefs_network(const json_t *have, const char *ns, const char *name)
{
	char key[PODREFS_KEY_MAX];

	(void)snprintf(key, sizeof(key), "networks/%s/%s", ns, name);
	return get(have, key);
}

bool
podrefs_change(const json_t *pod)
{
	static const char *const kinds[] = { "configMap", "secret", "projected",
					     "downwardAPI" };
	const json_t *volume;
	size_t i;

	json_array_foreach(js_arr_at(pod, "spec.volumes"), i, volume)
	{
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
			if (js_obj_at(volume, kinds[k]) != NULL)
				return true;
		}
	}
	return false;
}
