/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vmi.h"

#include "api/names.h"
#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"

static struct vmi *
vmi_of(const char *text)
{
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };
	struct vmi *vmi = vmi_decode(object, &err);

	assert_string_equal(err.text, "");
	return vmi;
}

static void
test_all_that_is_used_is_decoded(void **state)
{
	AUTO(vmi_unref)
	struct vmi *vmi = vmi_of(
		"{'metadata': {'name': 'vm1', 'labels': "
		"{'kubevirt.io/nodeName': 'n1'}, 'annotations': "
		"{'kubevirt.io/eviction-source': 'descheduler'}, "
		"'finalizers': ['foregroundDeleteVirtualMachine'], "
		"'ownerReferences': [{'kind': 'VirtualMachine', 'name': 'vm', "
		"'uid': 'o', 'controller': true}]}, "
		"'spec': {'evictionStrategy': 'LiveMigrate', 'domain': "
		"{'memory': {'guest': '1Gi'}, 'cpu': {'sockets': 2, 'cores': "
		"3, 'threads': 0, 'model': 'host-model'}, 'resources': "
		"{'limits': {'cpu': '2'}}, 'devices': {'interfaces': "
		"[{'name': 'x', 'bridge': {}}, {'name': 'default', "
		"'masquerade': {}}]}}, 'networks': [{'name': 'x', 'multus': "
		"{'networkName': 'n'}}, {'name': 'default', 'pod': {}}]}, "
		"'status': {'phase': 'Running', 'nodeName': 'n1', "
		"'evacuationNodeName': 'n1', 'migrationMethod': "
		"'BlockMigration', 'activePods': {'u1': 'n1', 'u2': 'n2'}, "
		"'conditions': [{'type': 'LiveMigratable', 'status': "
		"'False', 'reason': 'R', 'message': 'M', "
		"'lastTransitionTime': '1970-01-01T00:00:01Z'}], "
		"'migrationState': {'migrationUid': 'm', 'targetNode': "
		"'n2'}}}");
	const struct cond *cond = conds_find(&vmi->conds, COND_LIVE_MIGRATABLE);

	(void)state;
	assert_string_equal(vmi->vm_name, "vm");
	assert_string_equal(vmi->meta.owner_uid, "o");
	assert_true(vmi->has_finalizer && vmi->from_descheduler);
	assert_string_equal(
		json_string_value(json_object_get(vmi->labels, LABEL_NODE)),
		"n1");
	assert_int_equal(vmi->eviction, EVICTION_LIVE_MIGRATE);
	assert_int_equal(vmi->memory_bytes, 1 << 30);
	assert_int_equal(vmi->vcpus, 6);
	assert_string_equal(vmi->cpu_model, "host-model");
	assert_true(vmi->cpu_limited && vmi->block_migration);
	assert_false(vmi->dedicated_cpus || vmi->host_devices);
	assert_int_equal(vmi->pod_binding, BINDING_MASQUERADE);
	assert_int_equal(vmi->phase, VMI_RUNNING);
	assert_false(vmi_is_final(vmi));
	assert_string_equal(vmi->node, "n1");
	assert_string_equal(vmi->evacuation_node, "n1");
	assert_int_equal(vmi->pod_count, 2);
	assert_non_null(cond);
	assert_int_equal(cond->status, COND_FALSE);
	assert_string_equal(cond->reason, "R");
	assert_string_equal(cond->message, "M");
	assert_true(vmi_is_handed_to(vmi, "m"));
	assert_false(vmi_is_handed_to(vmi, "other"));
}

static void
test_a_bare_machine_has_empty_texts_and_defaults(void **state)
{
	struct err err;
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(NULL, &err);
	AUTO(vmi_unref)
	struct vmi *vmi = vmi_of(
		"{'metadata': {'name': 'vm1'}, 'spec': {'domain': "
		"{'resources': {'requests': {'memory': '64M'}}}}, 'status': "
		"{'phase': 'Odd', 'migrationState': null}}");

	(void)state;
	assert_null(vmi->labels);
	assert_null(vmi->migration);
	assert_string_equal(vmi->node, "");
	assert_int_equal(vmi->phase, VMI_UNKNOWN);
	assert_int_equal(vmi->memory_bytes, 64000000);
	assert_int_equal(vmi->vcpus, 1);
	assert_int_equal(vmi->pod_binding, BINDING_NONE);
	assert_int_equal(vmi_eviction(vmi, config), EVICTION_NONE);
	assert_false(vmi_is_handed_to(vmi, ""));
	assert_false(vmi_is_migrating(vmi, 1));
}

static void
test_volumes_are_told_apart(void **state)
{
	AUTO(vmi_unref)
	struct vmi *vmi = vmi_of(
		"{'metadata': {'name': 'vm1'}, 'spec': {'domain': {'devices': "
		"{'disks': [{'name': 'a', 'disk': {'readonly': true}}, "
		"{'name': 'b', 'cdrom': {}}, {'name': 'c', 'disk': {}}], "
		"'filesystems': [{'name': 'd', 'virtiofs': {}}]}}, 'volumes': "
		"[{'name': 'a', 'containerDisk': {'image': 'i'}}, {'name': "
		"'b', 'cloudInitNoCloud': {}}, {'name': 'c', "
		"'persistentVolumeClaim': {'claimName': 'pvc'}}, {'name': "
		"'d', 'configMap': {}}, {'name': 'e', 'hostDisk': {'path': "
		"'/x', 'capacity': '1Ki', 'shared': true}}, {'name': 'f', "
		"'dataVolume': {'name': 'dv', 'hotpluggable': true}}, "
		"{'name': 'g', 'new': {}}]}, 'status': {'migratedVolumes': "
		"[{'volumeName': 'f'}]}}");
	static const enum volume_kind kinds[] = {
		VOLUME_CONTAINER_DISK, VOLUME_CLOUD_INIT, VOLUME_PVC,
		VOLUME_CONFIG,         VOLUME_HOST_DISK,  VOLUME_DATA_VOLUME,
		VOLUME_OTHER,
	};

	(void)state;
	assert_int_equal(vmi->volume_count, ARRAY_LEN(kinds));
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		assert_int_equal(vmi->volumes[i].kind, kinds[i]);
	assert_true(vmi->volumes[0].read_only && vmi->volumes[1].read_only);
	assert_false(vmi->volumes[2].read_only);
	assert_string_equal(vmi->volumes[2].claim, "pvc");
	assert_true(vmi->volumes[3].filesystem);
	assert_true(vmi->volumes[4].shared);
	assert_int_equal(vmi->volumes[4].size_bytes, 1024);
	assert_true(vmi->volumes[5].hotplug && vmi->volumes[5].migrated);
	assert_string_equal(vmi->volumes[5].claim, "dv");
}

static void
test_bindings_are_those_of_the_pod_network(void **state)
{
	static const struct {
		const char *interface;
		enum binding binding;
	} cases[] = {
		{ "{'name': 'd', 'masquerade': {}}", BINDING_MASQUERADE },
		{ "{'name': 'd', 'bridge': {}}", BINDING_BRIDGE },
		{ "{'name': 'd', 'passt': {}}", BINDING_PASST },
		{ "{'name': 'd', 'binding': {'name': 'x'}}", BINDING_PLUGIN },
		{ "{'name': 'd', 'sriov': {}}", BINDING_OTHER },
		{ "{'name': 'e', 'bridge': {}}", BINDING_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref)
		json_t *object = testjson(
			"{'metadata': {'name': 'v'}, 'spec': {'networks': "
			"[{'name': 'd', 'pod': {}}], 'domain': {'devices': "
			"{'interfaces': []}}}}");
		AUTO(vmi_unref) struct vmi *vmi = NULL;
		struct err err;

		(void)json_array_append_new(
			js_arr_at(object, "spec.domain.devices.interfaces"),
			testjson(cases[i].interface));
		vmi = vmi_decode(object, &err);
		assert_int_equal(vmi->pod_binding, cases[i].binding);
	}
}

static void
test_too_much_is_refused(void **state)
{
	AUTO(js_unref)
	json_t *object = testjson("{'metadata': {'name': 'v'}, 'spec': "
				  "{'volumes': []}}");
	struct err err;

	(void)state;
	for (int i = 0; i < VMI_VOLUMES_MAX + 1; i++)
		(void)json_array_append_new(js_arr_at(object, "spec.volumes"),
					    json_object());
	assert_null(vmi_decode(object, &err));
	assert_int_equal(err.kind, ERR_LIMIT);
}

/* Of what it says nodes write a part. */
static void
test_no_status_makes_a_machine_unreadable(void **state)
{
	AUTO(js_unref)
	json_t *object = testjson(
		"{'metadata': {'name': 'v'}, 'spec': {'volumes': [{'name': "
		"'d', 'emptyDisk': {}}]}, 'status': {'nodeName': 'n', "
		"'migratedVolumes': [], 'migrationState': {'migrationUid': "
		"'u', 'targetDirectMigrationNodePorts': {'x': 0}}}}");
	AUTO(vmi_unref) struct vmi *vmi = NULL;
	struct err err;

	(void)state;
	for (int i = 0; i < VMI_VOLUMES_MAX + 1; i++)
		(void)json_array_append_new(
			js_arr_at(object, "status.migratedVolumes"),
			json_pack("{s:s}", "volumeName", "d"));
	vmi = vmi_decode(object, &err);
	assert_non_null(vmi);
	assert_string_equal(vmi->node, "n");
	assert_string_equal(vmi->migration->uid, "u");
	assert_false(vmi->volumes[0].migrated);
}

static void
test_huge_processors_are_cut_and_do_not_overflow(void **state)
{
	AUTO(vmi_unref)
	struct vmi *vmi =
		vmi_of("{'metadata': {'name': 'v'}, 'spec': {'domain': {'cpu': "
		       "{'sockets': 4096, 'cores': 4096, 'threads': "
		       "9223372036854775807}}}}");

	(void)state;
	assert_int_equal(vmi->vcpus, VMI_VCPUS_MAX);
}

static void
test_where_it_came_from_and_was_is_decoded(void **state)
{
	AUTO(vmi_unref)
	struct vmi *vmi = vmi_of(
		"{'metadata': {'name': 'v', 'labels': "
		"{'kubevirt.io/outdatedLauncherImage': ''}, 'annotations': "
		"{'kubevirt.io/vm-generation': '7', "
		"'ferry.io/vm-template-digest': 'd', "
		"'descheduler.alpha.kubernetes.io/evict': 'true', "
		"'kubevirt.io/testWorkloadUpdateMigrationAbortion': ''}, "
		"'finalizers': "
		"['kubevirt.io/virtualMachineControllerFinalize']}, 'status': "
		"{'phase': 'Failed', 'qosClass': 'Burstable', "
		"'phaseTransitionTimestamps': [{'phase': 'Running', "
		"'phaseTransitionTimestamp': '1970-01-01T00:00:02Z'}, "
		"{'phase': 'Running', 'phaseTransitionTimestamp': "
		"'1970-01-01T00:00:09Z'}]}}");

	(void)state;
	assert_true(vmi->outdated && vmi->abort_updates);
	assert_true(vmi->has_vm_finalizer);
	assert_false(vmi->has_finalizer);
	assert_int_equal(vmi->vm_generation, 7);
	assert_string_equal(vmi->template_digest, "d");
	assert_string_equal(vmi->wishes, "evict=true,");
	assert_string_equal(vmi->qos_class, "Burstable");
	assert_int_equal(vmi->phase_since_us[VMI_RUNNING], 2000000);
	assert_int_equal(vmi->phase_since_us[VMI_PENDING], 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_is_used_is_decoded),
		cmocka_unit_test(
			test_a_bare_machine_has_empty_texts_and_defaults),
		cmocka_unit_test(test_volumes_are_told_apart),
		cmocka_unit_test(test_bindings_are_those_of_the_pod_network),
		cmocka_unit_test(test_too_much_is_refused),
		cmocka_unit_test(test_no_status_makes_a_machine_unreadable),
		cmocka_unit_test(
			test_huge_processors_are_cut_and_do_not_overflow),
		cmocka_unit_test(test_where_it_came_from_and_was_is_decoded),
	};

	return cmocka_run_group_tests_name("vmi", tests, NULL, NULL);
}
