/* SPDX-License-Identifier: Apache-2.0 */
#include "api/check.h"

#include "api/config.h"
#include "api/testjson.h"
#include "api/vmi.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "meta/time.h"

#define GUEST "'memory': {'guest': '128Mi'}"
#define SPEC "{'domain': {" GUEST ", 'devices': {}}}"

static const struct check_user person = { .name = "alice" };
static const struct check_user system_user = { .name = "sa", .internal = true };

static void
test_each_contradiction_is_refused_in_kubevirts_words(void **state)
{
	static const struct {
		const char *spec, *text, *reason, *field;
	} cases[] = {
		{ "{'domain': {'devices': {}}}",
		  "no memory requested, at least one of "
		  "'spec.domain.memory.guest', "
		  "'spec.domain.memory.hugepages.size' or "
		  "'spec.domain.resources.requests.memory' must be set",
		  "FieldValueRequired", NULL },
		{ "{'domain': {" GUEST ", 'devices': {'disks': [{'name': "
		  "'a'}]}}}",
		  "spec.domain.devices.disks[0].name 'a' not found.",
		  "FieldValueInvalid", "spec.domain.devices.disks[0].name" },
		{ "{'domain': {" GUEST ", 'devices': {'disks': [{'name': "
		  "'a'}]}}, 'volumes': [{'name': 'a'}]}",
		  "spec.volumes[0] must have exactly one source type set",
		  "FieldValueInvalid", "spec.volumes[0]" },
		{ "{'domain': {" GUEST ", 'devices': {'disks': [{'name': "
		  "'a'}]}}, 'volumes': [{'name': 'a', 'emptyDisk': "
		  "{'capacity': 1}}, {'name': 'a', 'emptyDisk': {'capacity': "
		  "1}}]}",
		  "spec.volumes[1] and spec.volumes[0] must not have the same "
		  "Name.",
		  "FieldValueInvalid", "spec.volumes[1].name" },
		{ "{'domain': {" GUEST ", 'devices': {'interfaces': [{'name': "
		  "'n', 'masquerade': {}}]}}}",
		  "spec.domain.devices.interfaces[0].name 'n' not found.",
		  "FieldValueInvalid",
		  "spec.domain.devices.interfaces[0].name" },
		{ "{'domain': {" GUEST ", 'devices': {'interfaces': [{'name': "
		  "'n'}]}}, 'networks': [{'name': 'n'}]}",
		  "should have a network type", "FieldValueRequired",
		  "spec.networks[0]" },
		{ "{'domain': {" GUEST
		  ", 'devices': {}}, 'evictionStrategy': 'fantasy'}",
		  "spec.evictionStrategy is set with an unrecognized option: "
		  "fantasy",
		  "FieldValueInvalid", "spec.evictionStrategy" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *spec = testjson(cases[i].spec);
		struct status st = STATUS_INIT;

		assert_int_equal(vmi_check_spec(spec, "spec", &st), -1);
		assert_denied(&st, cases[i].text, cases[i].reason,
			      cases[i].field);
	}
}

static void
test_too_many_volumes_are_not_compared(void **state)
{
	AUTO(js_unref) json_t *spec = testjson(SPEC);
	json_t *volumes = json_array();
	struct status st = STATUS_INIT;

	(void)state;
	for (int i = 0; i < VMI_VOLUMES_MAX + 1; i++)
		(void)json_array_append_new(volumes,
					    json_pack("{s:s}", "name", "a"));
	(void)json_object_set_new(spec, "volumes", volumes);
	assert_int_equal(vmi_check_spec(spec, "spec", &st), -1);
	assert_denied(&st,
		      "spec.volumes list exceeds the 256 element limit in "
		      "length",
		      "FieldValueInvalid", "spec.volumes");
}

static int
create(const char *labels, const struct check_user *user, struct status *st)
{
	AUTO(js_unref) json_t *object = testjson("{'metadata': {}}");

	(void)json_object_set_new(json_object_get(object, "metadata"), "labels",
				  testjson(labels));
	(void)json_object_set_new(object, "spec", testjson(SPEC));
	return vmi_check_create(object, user, st);
}

static void
test_people_do_not_make_machines_with_labels_of_the_system(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(create("{'kubevirt.io/nodeName': 'n'}", &person, &st),
			 -1);
	assert_denied(&st,
		      "creation of the following reserved kubevirt.io/ labels "
		      "on a VMI object is prohibited",
		      "FieldValueNotSupported", "metadata.labels");
	assert_int_equal(
		create("{'kubevirt.io/nodeName': 'n'}", &system_user, &st), 0);
	assert_int_equal(create("{'kubevirt.io/mine': 'n'}", &person, &st), 0);
}

static int
update(const char *before, const char *now, const struct check_user *user,
       struct status *st)
{
	AUTO(js_unref) json_t *old_object = testjson(before);
	AUTO(js_unref) json_t *new_object = testjson(now);

	return vmi_check_update(old_object, new_object, user,
				100 * TIME_US_PER_SECOND, st);
}

static void
test_people_do_not_change_what_a_machine_is(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(update("{'spec': {'hostname': 'a'}}",
				"{'spec': {'hostname': 'b'}}", &person, &st),
			 -1);
	assert_denied(&st, "update of VMI object is restricted",
		      "FieldValueNotSupported", NULL);
	assert_int_equal(update("{'spec': {'hostname': 'a'}}",
				"{'spec': {'hostname': 'b'}}", &system_user,
				&st),
			 0);
	assert_int_equal(update("{'spec': {'hostname': 'a'}}",
				"{'spec': {'hostname': 'a'}, 'status': {'x': "
				"1}}",
				&person, &st),
			 0);
}

static void
test_people_do_not_change_labels_of_the_system(void **state)
{
	static const char labelled[] =
		"{'metadata': {'labels': {'kubevirt.io/migrationTargetNodeName'"
		": 'n', 'x': 'y'}}}";
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(update(labelled, "{'metadata': {}}", &person, &st),
			 -1);
	assert_denied(&st,
		      "modification of the following reserved kubevirt.io/ "
		      "labels on a VMI object is prohibited",
		      "FieldValueNotSupported", NULL);
	assert_int_equal(
		update(labelled, "{'metadata': {}}", &system_user, &st), 0);
	assert_int_equal(update("{'metadata': {'labels': {'x': 'y'}}}",
				"{'metadata': {}}", &person, &st),
			 0);
}

#define MIGRATING(volumes)                                    \
	"{'spec': {'volumes': " volumes                       \
	"}, 'status': {'migrationState': {'startTimestamp': " \
	"'1970-01-01T00:01:00Z'}}}"
#define MIGRATED(volumes)                                     \
	"{'spec': {'volumes': " volumes                       \
	"}, 'status': {'migrationState': {'startTimestamp': " \
	"'1970-01-01T00:01:00Z', 'endTimestamp': '1970-01-01T00:01:30Z'}}}"

static void
test_volumes_stay_while_the_machine_moves(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(update(MIGRATING("[]"), MIGRATING("[{'name': 'a'}]"),
				&system_user, &st),
			 -1);
	assert_denied(&st,
		      "Cannot handle volume requests while VMI migration is in "
		      "progress",
		      "FieldValueNotSupported", "spec");
	assert_int_equal(update(MIGRATED("[]"), MIGRATED("[{'name': 'a'}]"),
				&system_user, &st),
			 0);
}

static int
check_vm(const char *before, const char *now, const struct vmi *vmi,
	 struct status *st)
{
	struct err err;
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(NULL, &err);
	AUTO(js_unref)
	json_t *old_object = before == NULL ? NULL : testjson(before);
	AUTO(js_unref) json_t *new_object = testjson(now);
	struct vm_facts facts = {
		.old_object = old_object,
		.new_object = new_object,
		.config = config,
		.vmi = vmi,
		.now_us = 100 * TIME_US_PER_SECOND,
	};

	return vm_check(&facts, st);
}

static void
test_a_virtual_machine_says_once_when_it_runs(void **state)
{
	static const struct {
		const char *spec, *text, *field;
	} cases[] = {
		{ "{'spec': {'running': true, 'runStrategy': 'Always', "
		  "'template': {'spec': " SPEC "}}}",
		  "Running and RunStrategy are mutually exclusive. Note that "
		  "Running is deprecated, please use RunStrategy instead",
		  "spec.running" },
		{ "{'spec': {'template': {'spec': " SPEC "}}}",
		  "One of Running or RunStrategy must be specified",
		  "spec.running" },
		{ "{'spec': {'runStrategy': 'Sometimes', 'template': "
		  "{'spec': " SPEC "}}}",
		  "Invalid RunStrategy (Sometimes)", "spec.runStrategy" },
		{ "{'spec': {'runStrategy': 'WaitAsReceiver', 'template': "
		  "{'spec': " SPEC "}}}",
		  "Invalid RunStrategy (WaitAsReceiver)", "spec.runStrategy" },
	};
	struct status st = STATUS_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(check_vm(NULL, cases[i].spec, NULL, &st), -1);
		assert_denied(&st, cases[i].text, "FieldValueInvalid",
			      cases[i].field);
	}
	assert_int_equal(check_vm(NULL,
				  "{'spec': {'runStrategy': 'Once', "
				  "'template': {'spec': " SPEC "}}}",
				  NULL, &st),
			 0);
}

static void
test_a_virtual_machine_needs_a_template_that_can_run(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(
		check_vm(NULL, "{'spec': {'running': true}}", NULL, &st), -1);
	assert_denied(&st, "missing virtual machine template.",
		      "FieldValueRequired", "spec.template");
	assert_int_equal(check_vm(NULL,
				  "{'spec': {'running': true, 'template': "
				  "{'spec': {'domain': {'devices': {'gpus': "
				  "[]}}}}}}",
				  NULL, &st),
			 -1);
	assert_denied(&st,
		      "spec.template.spec.domain.devices.gpus is not supported",
		      "FieldValueNotSupported",
		      "spec.template.spec.domain.devices.gpus");
	assert_int_equal(check_vm(NULL,
				  "{'spec': {'running': true, 'instancetype': "
				  "{'name': 'x'}, 'template': {}}}",
				  NULL, &st),
			 -1);
	assert_denied(&st, "spec.instancetype is not supported",
		      "FieldValueNotSupported", "spec.instancetype");
	/* What is there already can go away. */
	assert_int_equal(check_vm(NULL,
				  "{'metadata': {'deletionTimestamp': "
				  "'2026-01-01T00:00:00Z'}, 'spec': {}}",
				  NULL, &st),
			 0);
}

static void
test_a_virtual_machine_gets_no_volumes_while_it_moves(void **state)
{
	static const char plain[] =
		"{'spec': {'running': true, 'template': {'spec': " SPEC "}}}";
	static const char asking[] =
		"{'spec': {'running': true, 'template': {'spec': " SPEC
		"}}, 'status': {'volumeRequests': [{'addVolumeOptions': "
		"{}}]}}";
	AUTO(js_unref)
	json_t *object = testjson("{'metadata': {'name': 'v'}, 'status': "
				  "{'migrationState': {'startTimestamp': "
				  "'1970-01-01T00:01:00Z'}}}");
	struct err err;
	AUTO(vmi_unref) struct vmi *vmi = vmi_decode(object, &err);
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(check_vm(plain, asking, vmi, &st), -1);
	assert_denied(&st,
		      "Cannot handle volume requests while VMI migration is in "
		      "progress",
		      "FieldValueNotSupported", "spec");
	assert_int_equal(check_vm(asking, asking, vmi, &st), 0);
	assert_int_equal(check_vm(plain, asking, NULL, &st), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_each_contradiction_is_refused_in_kubevirts_words),
		cmocka_unit_test(test_too_many_volumes_are_not_compared),
		cmocka_unit_test(
			test_people_do_not_make_machines_with_labels_of_the_system),
		cmocka_unit_test(test_people_do_not_change_what_a_machine_is),
		cmocka_unit_test(
			test_people_do_not_change_labels_of_the_system),
		cmocka_unit_test(test_volumes_stay_while_the_machine_moves),
		cmocka_unit_test(test_a_virtual_machine_says_once_when_it_runs),
		cmocka_unit_test(
			test_a_virtual_machine_needs_a_template_that_can_run),
		cmocka_unit_test(
			test_a_virtual_machine_gets_no_volumes_while_it_moves),
	};

	return cmocka_run_group_tests_name("vmi_check", tests, NULL, NULL);
}
