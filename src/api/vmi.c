/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vmi.h"

#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "api/text.h"
#include "api/vmi_volumes.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/obj.h"

static const char *const phase_names[] = {
	[VMI_UNSET] = "",
	[VMI_PENDING] = "Pending",
	[VMI_SCHEDULING] = "Scheduling",
	[VMI_SCHEDULED] = "Scheduled",
	[VMI_RUNNING] = "Running",
	[VMI_SUCCEEDED] = "Succeeded",
	[VMI_FAILED] = "Failed",
	[VMI_WAITING_FOR_SYNC] = "WaitingForSync",
	[VMI_UNKNOWN] = "Unknown",
};
_Static_assert(ARRAY_LEN(phase_names) == VMI_PHASE_COUNT,
	       "each phase has a name");

/* How an interface is connected; the first that is there counts. */
static const struct {
	const char *member;
	enum binding binding;
} bindings[] = {
	{ "masquerade", BINDING_MASQUERADE }, { "bridge", BINDING_BRIDGE },
	{ "passtBinding", BINDING_PASST },    { "passt", BINDING_PASST },
	{ "binding", BINDING_PLUGIN },
};

const char *
vmi_phase_name(enum vmi_phase phase)
{
	return phase_names[phase];
}

static enum vmi_phase
phase_parse(const char *text)
{
	size_t i = text_index(phase_names, ARRAY_LEN(phase_names), text);

	return i == ARRAY_LEN(phase_names) ? VMI_UNKNOWN : (enum vmi_phase)i;
}

static enum binding
binding_of(const json_t *interface)
{
	for (size_t i = 0; i < ARRAY_LEN(bindings); i++) {
		if (js_at(interface, bindings[i].member) != NULL)
			return bindings[i].binding;
	}
	return BINDING_OTHER;
}

static enum binding
decode_pod_binding(const json_t *spec)
{
	const json_t *networks = js_arr_at(spec, "networks");
	const json_t *interfaces = js_arr_at(spec, "domain.devices.interfaces");
	const char *name = NULL;
	const json_t *interface;

	for (size_t i = 0;
	     i < json_array_size(networks) && i < VMI_NETWORKS_MAX; i++) {
		const json_t *network = json_array_get(networks, i);

		if (js_at(network, "pod") != NULL)
			name = js_str_at(network, "name");
	}
	if (name == NULL)
		return BINDING_NONE;
	interface = js_find(interfaces, "name", name);
	return interface == NULL ? BINDING_NONE : binding_of(interface);
}

static uint32_t
decode_vcpus(const json_t *cpu)
{
	int64_t count = 1;

	for (size_t i = 0; i < 3; i++) {
		static const char *const parts[] = { "sockets", "cores",
						     "threads" };
		int64_t n = js_int_at(cpu, parts[i], 1);

		/* Zero is what is not said, as in Go. */
		if (n > 1 && n <= VMI_VCPUS_MAX && count <= VMI_VCPUS_MAX)
			count *= n;
	}
	return (uint32_t)(count > VMI_VCPUS_MAX ? VMI_VCPUS_MAX : count);
}

static void
decode_spec(const json_t *object, struct vmi *vmi)
{
	const json_t *spec = js_obj_at(object, "spec");
	const json_t *domain = js_obj_at(spec, "domain");

	vmi->eviction =
		eviction_strategy_parse(js_str_at(spec, "evictionStrategy"));
	vmi->memory_bytes = text_bytes(js_at(domain, "memory.guest"));
	if (vmi->memory_bytes == 0)
		vmi->memory_bytes =
			text_bytes(js_at(domain, "resources.requests.memory"));
	vmi->vcpus = decode_vcpus(js_obj_at(domain, "cpu"));
	vmi->cpu_model = text_at(domain, "cpu.model");
	vmi->dedicated_cpus =
		js_bool_at(domain, "cpu.dedicatedCpuPlacement", false);
	vmi->cpu_limited = js_at(domain, "resources.limits.cpu") != NULL;
	vmi->host_devices =
		json_array_size(js_arr_at(domain, "devices.hostDevices")) > 0 ||
		json_array_size(js_arr_at(domain, "devices.gpus")) > 0;
	vmi->utility_volumes =
		json_array_size(js_arr_at(spec, "utilityVolumes")) > 0;
	vmi->pod_binding = decode_pod_binding(spec);
	vmi->scheduler_name = text_at(spec, "schedulerName");
}

static void
decode_metadata(const json_t *object, struct vmi *vmi)
{
	const json_t *owner = obj_controller(object);

	vmi->labels = text_obj_at(object, "metadata.labels");
	vmi->vm_name = str_equal(js_str_at(owner, "kind"), "VirtualMachine")
			       ? text_at(owner, "name")
			       : text_new("");
	vmi->has_finalizer = obj_has_finalizer(object, FINALIZER_VMI);
	vmi->has_vm_finalizer = obj_has_finalizer(object, FINALIZER_VM);
	vmi->outdated = obj_label(object, LABEL_OUTDATED_IMAGE) != NULL;
	vmi->abort_updates =
		obj_annotation(object, ANNOTATION_UPDATE_ABORTION) != NULL;
	vmi->vm_generation =
		text_number(object, ANNOTATION_VM_GENERATION, INT64_MAX, 0);
	vmi->template_digest = text_annotation(object, ANNOTATION_VM_TEMPLATE);
	vmi->wishes = text_wishes(object);
	vmi->from_descheduler =
		str_equal(obj_annotation(object, ANNOTATION_EVICTION_SOURCE),
			  EVICTION_SOURCE_DESCHEDULER);
	vmi->create_target = str_equal(
		obj_annotation(object, ANNOTATION_CREATE_TARGET), "true");
	vmi->allow_bridge =
		obj_annotation(object, ANNOTATION_ALLOW_BRIDGE) != NULL;
}

static void
decode_pods(json_t *map, struct vmi *vmi)
{
	const char *uid;
	json_t *node;

	if (json_object_size(map) == 0)
		return;
	vmi->pods = xcalloc(json_object_size(map), sizeof(*vmi->pods));
	json_object_foreach(map, uid, node)
	{
		if (vmi->pod_count == VMI_PODS_MAX || !json_is_string(node))
			continue;
		vmi->pods[vmi->pod_count++] = (struct vmi_pod){
			.uid = text_new(uid),
			.node = text_new(json_string_value(node)),
		};
	}
}

static void
decode_phases(const json_t *array, struct vmi *vmi)
{
	size_t i;
	json_t *item;

	json_array_foreach(array, i, item)
	{
		enum vmi_phase phase = phase_parse(js_str_at(item, "phase"));

		if (vmi->phase_since_us[phase] == 0)
			vmi->phase_since_us[phase] =
				text_time_at(item, "phaseTransitionTimestamp");
	}
}

static void
decode_status(const json_t *object, struct vmi *vmi)
{
	const json_t *status = js_obj_at(object, "status");
	const json_t *state = js_obj_at(status, "migrationState");

	vmi->phase = phase_parse(js_str_at(status, "phase"));
	decode_phases(js_arr_at(status, "phaseTransitionTimestamps"), vmi);
	vmi->qos_class = text_at(status, "qosClass");
	vmi->node = text_at(status, "nodeName");
	vmi->evacuation_node = text_at(status, "evacuationNodeName");
	vmi->launcher_image = text_at(status, "launcherContainerImageVersion");
	vmi->selinux_context = text_at(status, "selinuxContext");
	vmi->migration_transport = text_at(status, "migrationTransport");
	vmi->block_migration = strcmp(js_str_at(status, "migrationMethod"),
				      "BlockMigration") == 0;
	vmi->backup_in_progress =
		js_at(status, "backupStatus") != NULL &&
		!js_bool_at(status, "backupStatus.completed", false);
	decode_pods(js_obj_at(status, "activePods"), vmi);
	conds_decode(js_arr_at(status, "conditions"), &vmi->conds);
	if (state != NULL)
		vmi->migration = migration_state_decode(state);
}

struct vmi *
vmi_decode(const json_t *object, struct err *err)
{
	AUTO(vmi_unref) struct vmi *vmi = xmalloc0(sizeof(*vmi));

	if (objmeta_decode(object, &vmi->meta, err) == -1)
		return NULL;
	decode_metadata(object, vmi);
	decode_spec(object, vmi);
	if (vmi_volumes_decode(object, vmi, err) == -1)
		return NULL;
	decode_status(object, vmi);
	return TAKE_PTR(vmi);
}

void
vmi_free(struct vmi *vmi)
{
	if (vmi == NULL)
		return;
	objmeta_done(&vmi->meta);
	json_decref(vmi->labels);
	text_free(vmi->vm_name);
	text_free(vmi->template_digest);
	text_free(vmi->wishes);
	text_free(vmi->qos_class);
	text_free(vmi->cpu_model);
	vmi_volumes_done(vmi);
	text_free(vmi->scheduler_name);
	text_free(vmi->node);
	text_free(vmi->evacuation_node);
	text_free(vmi->launcher_image);
	text_free(vmi->selinux_context);
	text_free(vmi->migration_transport);
	for (size_t i = 0; i < vmi->pod_count; i++) {
		text_free(vmi->pods[i].uid);
		text_free(vmi->pods[i].node);
	}
	free(vmi->pods);
	conds_done(&vmi->conds);
	migration_state_free(vmi->migration);
	free(vmi);
}

void
vmi_unref(struct vmi **pointer)
{
	vmi_free(*pointer);
	*pointer = NULL;
}

enum eviction_strategy
vmi_eviction(const struct vmi *vmi, const struct kubevirt_config *config)
{
	return vmi->eviction == EVICTION_UNSET ? config->eviction
					       : vmi->eviction;
}

bool
vmi_is_migrating(const struct vmi *vmi, int64_t now_us)
{
	return migration_state_is_active(vmi->migration, now_us);
}

bool
vmi_is_handed_to(const struct vmi *vmi, const char *migration_uid)
{
	return vmi->migration != NULL &&
	       vmi->migration->target_node[0] != '\0' &&
	       strcmp(vmi->migration->uid, migration_uid) == 0;
}
