/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/worldkinds.h"

#include "api/kinds.h"
#include "api/names.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "kube/obj.h"

/* How a kind is decoded. */
struct codec {
	const char *kind;
	void *(*decode)(const json_t *object, struct err *err);
	void (*release)(void *view);
};

/* Functions of one type out of those of src/api. */
#define CODEC(name, kind_name)                                             \
	static void *name##_read(const json_t *object, struct err *err)    \
	{                                                                  \
		return name##_decode(object, err);                         \
	}                                                                  \
	static void name##_drop(void *view)                                \
	{                                                                  \
		name##_free(view);                                         \
	}                                                                  \
	static const struct codec name##_codec = { kind_name, name##_read, \
						   name##_drop }

CODEC(vm, "VirtualMachine");
CODEC(vmi, "VirtualMachineInstance");
CODEC(vmim, "VirtualMachineInstanceMigration");
CODEC(pod, "Pod");
CODEC(node, "Node");
CODEC(policy, "MigrationPolicy");
CODEC(pvc, "PersistentVolumeClaim");
CODEC(storage_profile, "StorageProfile");

/* Only that it is there. */
static void *
nothing_read(const json_t *object, struct err *err)
{
	(void)object;
	(void)err;
	return NULL;
}

static void
nothing_drop(void *view)
{
	(void)view;
}

static const struct codec nothing_codec = { NULL, nothing_read, nothing_drop };

static void *
decode(json_t *object, void *arg)
{
	const struct codec *codec = arg;
	struct err err;
	void *view = codec->decode(object, &err);

	if (view == NULL && codec->kind != NULL) {
		const struct log_field ref[] = {
			{ "kind", codec->kind },
			{ "namespace", obj_ns(object) },
			{ "name", obj_name(object) },
			{ "uid", obj_uid(object) },
			{ NULL, NULL },
		};

		log_warning(ref, "the object makes no sense, ignoring: %s",
			    err.text);
	}
	return view;
}

static void
release(void *view, void *arg)
{
	const struct codec *codec = arg;

	codec->release(view);
}

static void
vmi_by_uid(const struct cache_object *object, struct cache_keys *keys)
{
	cache_add_key(keys, object->uid);
}

static void
vmi_by_node(const struct cache_object *object, struct cache_keys *keys)
{
	const struct vmi *vmi = object->view;

	if (vmi != NULL)
		cache_add_key(keys, vmi->node);
}

static void
vmi_by_evacuation(const struct cache_object *object, struct cache_keys *keys)
{
	const struct vmi *vmi = object->view;

	if (vmi != NULL)
		cache_add_key(keys, vmi->evacuation_node);
}

static void
vmi_by_claim(const struct cache_object *object, struct cache_keys *keys)
{
	const struct vmi *vmi = object->view;
	char key[KUBE_KEY_MAX];

	for (size_t i = 0; vmi != NULL && i < vmi->volume_count; i++) {
		if (vmi->volumes[i].claim[0] != '\0')
			cache_add_key(keys,
				      kube_key(vmi->meta.ns,
					       vmi->volumes[i].claim, key));
	}
}

static const struct cache_index vmi_indexes[] = {
	[VMIS_BY_UID] = { "uid", vmi_by_uid },
	[VMIS_BY_NODE] = { "node", vmi_by_node },
	[VMIS_BY_EVACUATION] = { "evacuation", vmi_by_evacuation },
	[VMIS_BY_CLAIM] = { "claim", vmi_by_claim },
};
_Static_assert(ARRAY_LEN(vmi_indexes) == VMIS_INDEX_COUNT, "each has a row");

static void
vmim_by_vmi(const struct cache_object *object, struct cache_keys *keys)
{
	const struct vmim *vmim = object->view;
	char key[KUBE_KEY_MAX];

	if (vmim != NULL)
		cache_add_key(keys,
			      kube_key(vmim->meta.ns, vmim->vmi_name, key));
}

static void
vmim_active(const struct cache_object *object, struct cache_keys *keys)
{
	const struct vmim *vmim = object->view;

	if (vmim != NULL && !vmim_is_final(vmim))
		cache_add_key(keys, WORLD_ACTIVE);
}

static const struct cache_index vmim_indexes[] = {
	[VMIMS_BY_UID] = { "uid", vmi_by_uid },
	[VMIMS_BY_VMI] = { "vmi", vmim_by_vmi },
	[VMIMS_ACTIVE] = { "active", vmim_active },
};
_Static_assert(ARRAY_LEN(vmim_indexes) == VMIMS_INDEX_COUNT, "each has a row");

static void
pod_by_vmi(const struct cache_object *object, struct cache_keys *keys)
{
	const struct pod *pod = object->view;

	if (pod != NULL)
		cache_add_key(keys, pod->vmi_uid);
}

static void
pod_by_migration(const struct cache_object *object, struct cache_keys *keys)
{
	const struct pod *pod = object->view;

	if (pod != NULL)
		cache_add_key(keys, pod->migration_uid);
}

static void
pod_by_node(const struct cache_object *object, struct cache_keys *keys)
{
	const struct pod *pod = object->view;

	if (pod != NULL)
		cache_add_key(keys, pod->node);
}

static const struct cache_index pod_indexes[] = {
	[PODS_BY_VMI] = { "vmi", pod_by_vmi },
	[PODS_BY_MIGRATION] = { "migration", pod_by_migration },
	[PODS_BY_NODE] = { "node", pod_by_node },
};
_Static_assert(ARRAY_LEN(pod_indexes) == PODS_INDEX_COUNT, "each has a row");

struct row {
	const struct kube_resource *resource;
	const char *api_version;
	const struct codec *codec; /* NULL: the JSON itself */
	const char *label_selector;
	const struct cache_index *indexes;
	size_t index_count;
	bool optional;
};

static const struct row rows[] = {
	[WORLD_VMS] = { &api_vms, "kubevirt.io/v1", &vm_codec, NULL, NULL, 0,
			false },
	[WORLD_VMIS] = { &api_vmis, "kubevirt.io/v1", &vmi_codec, NULL,
			 vmi_indexes, ARRAY_LEN(vmi_indexes), false },
	[WORLD_VMIMS] = { &api_vmims, "kubevirt.io/v1", &vmim_codec, NULL,
			  vmim_indexes, ARRAY_LEN(vmim_indexes), false },
	[WORLD_PODS] = { &kube_pods, "v1", &pod_codec,
			 LABEL_APP "=" APP_LAUNCHER, pod_indexes,
			 ARRAY_LEN(pod_indexes), false },
	[WORLD_NODES] = { &kube_nodes, "v1", &node_codec, NULL, NULL, 0,
			  false },
	[WORLD_KUBEVIRTS] = { &api_kubevirts, "kubevirt.io/v1", NULL, NULL,
			      NULL, 0, false },
	[WORLD_POLICIES] = { &api_policies, "migrations.kubevirt.io/v1alpha1",
			     &policy_codec, NULL, NULL, 0, false },
	[WORLD_PVCS] = { &kube_persistentvolumeclaims, "v1", &pvc_codec, NULL,
			 NULL, 0, false },
	[WORLD_STORAGE_PROFILES] = { &api_storage_profiles,
				     "cdi.kubevirt.io/v1beta1",
				     &storage_profile_codec, NULL, NULL, 0,
				     true },
	[WORLD_QUOTAS] = { &kube_resourcequotas, "v1", &nothing_codec, NULL,
			   NULL, 0, false },
};
_Static_assert(ARRAY_LEN(rows) == WORLD_KIND_COUNT, "each kind has a row");

void
worldkinds_describe(enum world_kind kind, struct informer_config *config)
{
	const struct row *row = &rows[kind];

	config->resource = *row->resource;
	config->label_selector = row->label_selector;
	config->cache.indexes = row->indexes;
	config->cache.index_count = row->index_count;
	if (row->codec == NULL)
		return;
	config->cache.decode = decode;
	config->cache.release = release;
	config->cache.arg = (void *)(uintptr_t)row->codec;
}

bool
worldkinds_is_optional(enum world_kind kind)
{
	return rows[kind].optional;
}

const char *
worldkinds_api_version(const struct kube_resource *resource)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].resource == resource)
			return rows[i].api_version;
	}
	return "";
}
