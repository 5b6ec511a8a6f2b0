/* SPDX-License-Identifier: Apache-2.0 */
#include "api/defaults.h"

#include "api/check.h"
#include "api/config.h"
#include "api/testjson.h"
#include "base/cleanup.h"

#define UUID "5d307ca9-b3ef-428c-8861-06e72d69f223"

static void
set_vmi(json_t *object, const char *configuration)
{
	AUTO(js_unref)
	json_t *kubevirt = testjson("{'metadata': {'name': 'kubevirt'}, "
				    "'spec': {}}");
	AUTO(kubevirt_config_unref) struct kubevirt_config *config = NULL;
	struct err err;

	(void)json_object_set_new(json_object_get(kubevirt, "spec"),
				  "configuration", testjson(configuration));
	config = kubevirt_config_decode(kubevirt, &err);
	assert_non_null(config);
	vmi_set_defaults(object, config, UUID);
}

static void
test_a_migration_is_labelled_and_kept(void **state)
{
	AUTO(js_unref)
	json_t *object = testjson(
		"{'metadata': {'labels': {'kubevirt.io/vmi-name': 'other', "
		"'a': 'b'}, 'finalizers': ['x']}, 'spec': {'vmiName': "
		"'vm1'}}");
	AUTO(js_unref)
	json_t *expected = testjson(
		"{'metadata': {'labels': {'kubevirt.io/vmi-name': 'vm1', "
		"'a': 'b'}, 'finalizers': ['x', "
		"'kubevirt.io/migrationJobFinalize']}, 'spec': {'vmiName': "
		"'vm1'}}");

	(void)state;
	vmim_set_defaults(object);
	assert_true(json_equal(object, expected));
	vmim_set_defaults(object);
	assert_true(json_equal(object, expected));
}

static void
test_a_bare_machine_gets_what_it_needs(void **state)
{
	AUTO(js_unref)
	json_t *object = testjson(
		"{'metadata': {'name': 'v'}, 'spec': {'domain': {'memory': "
		"{'guest': '1Gi'}, 'devices': {}}, 'volumes': [{'name': 'a', "
		"'containerDisk': {'image': 'i'}}]}}");
	AUTO(js_unref)
	json_t *expected = testjson(
		"{'metadata': {'name': 'v', 'finalizers': "
		"['foregroundDeleteVirtualMachine']}, 'spec': {'domain': "
		"{'memory': {'guest': '1Gi'}, 'cpu': {'sockets': 1, 'cores': "
		"1, 'threads': 1, 'model': 'host-model'}, 'machine': "
		"{'type': 'q35'}, 'firmware': {'uuid': '" UUID "'}, "
		"'features': {'acpi': {'enabled': true}}, 'devices': "
		"{'disks': [{'name': 'a', 'disk': {'bus': 'sata'}}], "
		"'interfaces': [{'name': 'default', 'bridge': {}, 'model': "
		"'virtio'}]}}, 'terminationGracePeriodSeconds': 30, "
		"'volumes': [{'name': 'a', 'containerDisk': {'image': 'i'}}], "
		"'networks': [{'name': 'default', 'pod': {}}]}}");
	static const struct check_user user = { .name = "u" };
	struct status st = STATUS_INIT;

	(void)state;
	set_vmi(object, "{}");
	assert_true(json_equal(object, expected));
	set_vmi(object, "{'cpuModel': 'Other'}");
	assert_true(json_equal(object, expected));
	/* And is let in then. */
	assert_int_equal(vmi_check_create(object, &user, &st), 0);
}

static void
test_what_a_machine_says_stays(void **state)
{
	static const char text[] =
		"{'metadata': {'finalizers': "
		"['foregroundDeleteVirtualMachine']}, 'spec': {'domain': "
		"{'cpu': {'sockets': 2, 'cores': 3, 'threads': 4, 'model': "
		"'Haswell'}, 'machine': {'type': 'pc'}, 'firmware': {'uuid': "
		"'u'}, 'features': {'acpi': {'enabled': false}}, 'devices': "
		"{'autoattachPodInterface': false, 'disks': [{'name': 'a', "
		"'cdrom': {'bus': 'scsi'}}], 'filesystems': [{'name': 'f'}]}}, "
		"'terminationGracePeriodSeconds': 0, 'volumes': [{'name': "
		"'a'}, {'name': 'f'}]}}";
	AUTO(js_unref) json_t *object = testjson(text);
	AUTO(js_unref) json_t *expected = testjson(text);

	(void)state;
	set_vmi(object, "{}");
	assert_true(json_equal(object, expected));
}

static void
test_the_cluster_can_say_what_is_usual(void **state)
{
	AUTO(js_unref) json_t *object = testjson("{}");

	(void)state;
	set_vmi(object, "{'cpuModel': 'Haswell', 'machineType': 'pc', "
			"'network': {'defaultNetworkInterface': "
			"'masquerade'}}");
	assert_string_equal(js_str_at(object, "spec.domain.cpu.model"),
			    "Haswell");
	assert_string_equal(js_str_at(object, "spec.domain.machine.type"),
			    "pc");
	assert_non_null(js_at(
		json_array_get(
			js_arr_at(object, "spec.domain.devices.interfaces"), 0),
		"masquerade"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_migration_is_labelled_and_kept),
		cmocka_unit_test(test_a_bare_machine_gets_what_it_needs),
		cmocka_unit_test(test_what_a_machine_says_stays),
		cmocka_unit_test(test_the_cluster_can_say_what_is_usual),
	};

	return cmocka_run_group_tests_name("defaults", tests, NULL, NULL);
}
