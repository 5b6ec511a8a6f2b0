/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/podrefs.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"

struct visit {
	void (*fn)(enum podref type, const char *name, void *arg);
	void *arg;
};

/* Where a volume, or one source of a projected one, names another object. */
static const struct place {
	const char *path;
	enum podref type;
} volume_places[] = {
	{ "secret.secretName", PODREF_SECRET },
	{ "configMap.name", PODREF_CONFIG_MAP },
	{ "persistentVolumeClaim.claimName", PODREF_CLAIM },
	{ "azureFile.secretName", PODREF_SECRET },
	{ "cephfs.secretRef.name", PODREF_SECRET },
	{ "cinder.secretRef.name", PODREF_SECRET },
	{ "flexVolume.secretRef.name", PODREF_SECRET },
	{ "rbd.secretRef.name", PODREF_SECRET },
	{ "scaleIO.secretRef.name", PODREF_SECRET },
	{ "iscsi.secretRef.name", PODREF_SECRET },
	{ "storageos.secretRef.name", PODREF_SECRET },
	{ "csi.nodePublishSecretRef.name", PODREF_SECRET },
}, projected_places[] = {
	{ "secret.name", PODREF_SECRET },
	{ "configMap.name", PODREF_CONFIG_MAP },
}, env_places[] = {
	{ "valueFrom.secretKeyRef.name", PODREF_SECRET },
	{ "valueFrom.configMapKeyRef.name", PODREF_CONFIG_MAP },
}, env_from_places[] = {
	{ "secretRef.name", PODREF_SECRET },
	{ "configMapRef.name", PODREF_CONFIG_MAP },
};

static void
visit_name(const struct visit *visit, enum podref type, const char *name)
{
	if (*name)
		visit->fn(type, name, visit->arg);
}

/* The places in each object of a list. */
static void
visit_list(const struct visit *visit, const json_t *list,
	   const struct place *places, size_t count)
{
	size_t i;
	json_t *item;

	json_array_foreach(list, i, item)
	{
		for (size_t k = 0; k < count; k++)
			visit_name(visit, places[k].type,
				   js_str_at(item, places[k].path));
	}
}

static void
visit_containers(const struct visit *visit, const json_t *list)
{
	size_t i;
	json_t *item;

	json_array_foreach(list, i, item)
	{
		visit_list(visit, js_arr_at(item, "env"), env_places,
			   ARRAY_LEN(env_places));
		visit_list(visit, js_arr_at(item, "envFrom"), env_from_places,
			   ARRAY_LEN(env_from_places));
	}
}

static void
visit_volumes(const struct visit *visit, const json_t *pod)
{
	const json_t *volumes = js_arr_at(pod, "spec.volumes");
	size_t i;
	json_t *item;

	visit_list(visit, volumes, volume_places, ARRAY_LEN(volume_places));
	json_array_foreach(volumes, i, item)
	{
		visit_list(visit, js_arr_at(item, "projected.sources"),
			   projected_places, ARRAY_LEN(projected_places));
		if (js_obj_at(item, "ephemeral")) {
			/* The claim that is made for it has this name. */
			AUTO(free_ptr)
			char *claim = xasprintf("%s-%s",
						js_str_at(pod, "metadata.name"),
						js_str_at(item, "name"));

			visit_name(visit, PODREF_CLAIM, claim);
		}
	}
}

void
podrefs_each(const json_t *pod,
	     void (*fn)(enum podref type, const char *name, void *arg),
	     void *arg)
{
	const struct visit visit = { .fn = fn, .arg = arg };
	static const struct place pull[] = { { "name", PODREF_SECRET } };

	visit_name(&visit, PODREF_SERVICE_ACCOUNT,
		   js_str_at(pod, "spec.serviceAccountName"));
	visit_list(&visit, js_arr_at(pod, "spec.imagePullSecrets"), pull,
		   ARRAY_LEN(pull));
	visit_containers(&visit, js_arr_at(pod, "spec.initContainers"));
	visit_containers(&visit, js_arr_at(pod, "spec.containers"));
	visit_containers(&visit, js_arr_at(pod, "spec.ephemeralContainers"));
	visit_volumes(&visit, pod);
}
