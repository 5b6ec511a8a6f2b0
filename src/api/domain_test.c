/* SPDX-License-Identifier: Apache-2.0 */
#include "api/domain.h"

#include <stdio.h>

#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "meta/causes.h"

static int
check(const char *text, struct status *st)
{
	AUTO(js_unref) json_t *spec = testjson(text);

	return domain_check_subset(spec, "spec", st);
}

static void
test_the_table_is_in_order_so_that_it_can_be_searched(void **state)
{
	(void)state;
	for (size_t i = 1; domain_subset_path(i) != NULL; i++)
		assert_true(strcmp(domain_subset_path(i - 1),
				   domain_subset_path(i)) < 0);
}

static void
test_whatever_is_in_the_table_can_be_reached(void **state)
{
	(void)state;
	for (size_t i = 0; domain_subset_path(i) != NULL; i++) {
		char parent[DOMAIN_PATH_MAX];
		bool found = false;
		size_t len;

		(void)snprintf(parent, sizeof(parent), "%s",
			       domain_subset_path(i));
		len = strlen(parent);
		if (len > 2 && strcmp(parent + len - 2, "[]") == 0)
			parent[len - 2] = '\0';
		else if (strrchr(parent, '.') != NULL)
			*strrchr(parent, '.') = '\0';
		else
			continue;
		for (size_t k = 0; domain_subset_path(k) != NULL; k++) {
			if (strcmp(domain_subset_path(k), parent) == 0)
				found = true;
		}
		assert_true(found);
	}
}

/* Whether one of the rows is a member of this one. */
static bool
has_members(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; domain_subset_path(i) != NULL; i++) {
		const char *row = domain_subset_path(i);

		if (strncmp(row, path, len) == 0 &&
		    (row[len] == '.' || row[len] == '['))
			return true;
	}
	return false;
}

static void
test_the_documentation_shows_the_table(void **state)
{
	static char docs[64 * 1024];
	FILE *file = fopen(API_DOCS, "re");

	(void)state;
	assert_non_null(file);
	assert_in_range(fread(docs, 1, sizeof(docs) - 1, file), 1,
			sizeof(docs) - 2);
	assert_int_equal(fclose(file), 0);
	for (size_t i = 0; domain_subset_path(i) != NULL; i++) {
		const char *values = domain_subset_values(i);
		char line[2 * DOMAIN_PATH_MAX];

		if (has_members(domain_subset_path(i)))
			continue;
		(void)snprintf(line, sizeof(line), "| `%s` | %s%.*s",
			       domain_subset_path(i),
			       values[0] == '\0' ? "" : "`",
			       (int)strcspn(values, " "), values);
		if (strstr(docs, line) == NULL)
			fail_msg("docs/api.md does not have %s", line);
	}
}

static void
test_a_usual_machine_is_in_the_subset(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(
		check("{'domain': {'cpu': {'cores': 2, 'model': 'host-model', "
		      "'features': [{'name': 'x', 'policy': 'require'}]}, "
		      "'machine': {'type': 'q35'}, 'memory': {'guest': '1Gi'}, "
		      "'firmware': {'kernelBoot': {'kernelArgs': 'a', "
		      "'container': {'image': 'i', 'kernelPath': '/k'}}}, "
		      "'resources': {'requests': {'cpu': '1', "
		      "'example.com/x': 1}}, "
		      "'devices': {'rng': {}, 'disks': [{'name': 'd', 'disk': "
		      "{'bus': 'virtio'}}, {'name': 'c', 'cdrom': {'bus': "
		      "'sata'}}], 'interfaces': [{'name': 'default', "
		      "'masquerade': {}, 'ports': [{'port': 80}]}]}}, "
		      "'volumes': [{'name': 'd', 'containerDisk': {'image': "
		      "'i'}}, {'name': 'c', 'cloudInitNoCloud': {'userData': "
		      "'u'}}], 'networks': [{'name': 'default', 'pod': {}}], "
		      "'nodeSelector': {'a.b/c': 'd'}, 'affinity': "
		      "{'podAffinity': {'x': [1]}}, 'evictionStrategy': "
		      "'LiveMigrate', 'terminationGracePeriodSeconds': 0, "
		      "'livenessProbe': null}",
		      &st),
		0);
	assert_int_equal(st.code, 0);
}

static void
test_what_is_outside_is_refused_with_its_path(void **state)
{
	static const struct {
		const char *spec, *field;
	} cases[] = {
		{ "{'domain': {'devices': {'tpm': {}}}}",
		  "spec.domain.devices.tpm" },
		{ "{'domain': {'devices': {'disks': [{'name': 'a'}, "
		  "{'name': 'b', 'lun': {}}]}}}",
		  "spec.domain.devices.disks[1].lun" },
		{ "{'domain': {'firmware': {'bootloader': {'efi': {}}}}}",
		  "spec.domain.firmware.bootloader.efi" },
		{ "{'accessCredentials': []}", "spec.accessCredentials" },
		{ "{'a.b': 1}", "spec.a.b" },
		{ "{'domain.cpu': {}}", "spec.domain.cpu" },
		{ "{'volumes[]': {}}", "spec.volumes[]" },
		{ "{'domain': {'features': {'kvm.hidden': true}}}",
		  "spec.domain.features.kvm.hidden" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct status st = STATUS_INIT;
		char text[128];

		assert_int_equal(check(cases[i].spec, &st), -1);
		(void)snprintf(text, sizeof(text), "%s is not supported",
			       cases[i].field);
		assert_denied(&st, text, "FieldValueNotSupported",
			      cases[i].field);
	}
}

static void
test_values_and_types_are_looked_at(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(check("{'domain': {'devices': {'disks': [{'disk': "
			       "{'bus': 'ide'}}]}}}",
			       &st),
			 -1);
	assert_denied(&st,
		      "spec.domain.devices.disks[0].disk.bus 'ide' is not "
		      "supported, only: virtio sata scsi usb",
		      "FieldValueNotSupported",
		      "spec.domain.devices.disks[0].disk.bus");
	assert_int_equal(
		check("{'domain': {'cpu': {'dedicatedCpuPlacement': true}}}",
		      &st),
		-1);
	assert_denied(&st,
		      "spec.domain.cpu.dedicatedCpuPlacement 'true' is not "
		      "supported, only: false",
		      "FieldValueNotSupported",
		      "spec.domain.cpu.dedicatedCpuPlacement");
	assert_int_equal(
		check("{'domain': {'firmware': {'kernelBoot': 'x'}}}", &st),
		-1);
	assert_denied(&st, "spec.domain.firmware.kernelBoot must be an object",
		      "FieldValueInvalid", "spec.domain.firmware.kernelBoot");
}

static void
test_all_that_is_wrong_is_said_at_once(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(check("{'x': 1, 'y': 2}", &st), -1);
	assert_string_equal(st.message, "spec.x is not supported, spec.y is "
					"not supported");
	assert_int_equal(json_array_size(js_arr_at(st.details, "causes")), 2);
	status_done(&st);
}

static void
test_a_flood_is_answered_in_bounds(void **state)
{
	AUTO(js_unref) json_t *spec = json_object();
	struct status st = STATUS_INIT;
	char name[1100];

	(void)state;
	(void)memset(name, 'n', sizeof(name));
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(name + 1000, sizeof(name) - 1000, "%d", i);
		(void)json_object_set_new(spec, name, json_true());
	}
	assert_int_equal(domain_check_subset(spec, "spec", &st), -1);
	assert_int_equal(json_array_size(js_arr_at(st.details, "causes")),
			 CAUSES_MAX);
	assert_true(strlen(st.message) < (size_t)CAUSES_MAX * 128);
	status_done(&st);
}

static void
test_names_in_any_script_are_answered_in_json(void **state)
{
	AUTO(js_unref) json_t *spec = json_object();
	AUTO(js_unref) json_t *answer = NULL;
	struct status st = STATUS_INIT;
	char name[202] = "x";

	(void)state;
	for (size_t i = 1; i < sizeof(name) - 1; i += 2)
		(void)memcpy(name + i, "\xc3\xa4", 2);
	name[sizeof(name) - 1] = '\0';
	(void)json_object_set_new(spec, name, json_true());
	assert_int_equal(domain_check_subset(spec, "spec", &st), -1);
	answer = status_json(&st);
	assert_non_null(strstr(js_str_at(answer, "message"), "spec.x"));
	assert_non_null(strstr(
		js_str_at(
			json_array_get(js_arr_at(answer, "details.causes"), 0),
			"field"),
		"spec.x"));
	status_done(&st);
}

static void
test_a_spec_that_is_missing_is_required(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(domain_check_subset(NULL, "spec.template.spec", &st),
			 -1);
	assert_denied(&st, "spec.template.spec is a required field",
		      "FieldValueRequired", "spec.template.spec");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_table_is_in_order_so_that_it_can_be_searched),
		cmocka_unit_test(test_whatever_is_in_the_table_can_be_reached),
		cmocka_unit_test(test_the_documentation_shows_the_table),
		cmocka_unit_test(test_a_usual_machine_is_in_the_subset),
		cmocka_unit_test(test_what_is_outside_is_refused_with_its_path),
		cmocka_unit_test(test_values_and_types_are_looked_at),
		cmocka_unit_test(test_all_that_is_wrong_is_said_at_once),
		cmocka_unit_test(test_a_flood_is_answered_in_bounds),
		cmocka_unit_test(test_names_in_any_script_are_answered_in_json),
		cmocka_unit_test(test_a_spec_that_is_missing_is_required),
	};

	return cmocka_run_group_tests_name("domain", tests, NULL, NULL);
}
