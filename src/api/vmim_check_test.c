/* SPDX-License-Identifier: Apache-2.0 */
#include "api/check.h"

#include <stdio.h>

#include "api/config.h"
#include "api/names.h"
#include "api/testjson.h"
#include "api/vmi.h"
#include "api/vmim.h"
#include "base/array.h"
#include "base/cleanup.h"

/* Texts of what is there when a migration is created; NULL: nothing. */
struct scene {
	const char *spec;   /* of the migration */
	const char *status; /* of the machine; NULL: it does not exist */
	const char *others; /* phase of another one; NULL: there is none */
	const char *gate;   /* the enabled one, or NULL */
	bool controller;    /* asks */
};

static struct vmim *
vmim_of(const char *name, const char *spec, const char *phase)
{
	AUTO(js_unref)
	json_t *object = testjson("{'metadata': {'namespace': 'ns'}}");
	struct vmim *vmim;
	struct err err;

	(void)json_object_set_new(json_object_get(object, "metadata"), "name",
				  json_string(name));
	(void)json_object_set_new(json_object_get(object, "metadata"), "uid",
				  json_string("uid-of-other"));
	(void)json_object_set_new(object, "spec", testjson(spec));
	(void)json_object_set_new(object, "status",
				  json_pack("{s:s}", "phase", phase));
	vmim = vmim_decode(object, &err);
	assert_non_null(vmim);
	return vmim;
}

static struct vmi *
vmi_of(const char *status)
{
	AUTO(js_unref)
	json_t *object = testjson("{'metadata': {'name': 'vm1'}}");
	struct vmi *vmi;
	struct err err;

	if (status == NULL)
		return NULL;
	(void)json_object_set_new(object, "status", testjson(status));
	vmi = vmi_decode(object, &err);
	assert_non_null(vmi);
	return vmi;
}

static struct kubevirt_config *
config_of(const char *gate)
{
	AUTO(js_unref)
	json_t *object = testjson("{'metadata': {'name': 'kubevirt'}}");
	struct err err;

	if (gate != NULL) {
		(void)json_object_set_new(object, "spec",
					  json_pack("{s:{s:{s:[s]}}}",
						    "configuration",
						    "developerConfiguration",
						    "featureGates", gate));
	}
	return kubevirt_config_decode(object, &err);
}

static int
play(const struct scene *scene, struct status *st)
{
	AUTO(vmim_unref)
	struct vmim *vmim = vmim_of("mig", scene->spec, "");
	AUTO(vmim_unref)
	struct vmim *other =
		vmim_of("other", "{'vmiName': 'vm1'}",
			scene->others == NULL ? "" : scene->others);
	AUTO(vmi_unref) struct vmi *vmi = vmi_of(scene->status);
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = config_of(scene->gate);
	const struct vmim *const others[] = { other };
	struct vmim_create_facts facts = {
		.vmim = vmim,
		.user = { .name = "u", .controller = scene->controller },
		.config = config,
		.vmi = vmi,
		.of_vmi = others,
		.of_vmi_count = scene->others == NULL ? 0 : 1,
	};

	return vmim_check_create(&facts, st);
}

static const char vm1[] = "{'vmiName': 'vm1'}";
static const char running[] = "{'phase': 'Running'}";

static void
test_what_can_migrate_is_let_in(void **state)
{
	static const struct scene scenes[] = {
		{ .spec = vm1, .status = running },
		{ .spec = vm1, .status = "{}" },
		{ .spec = vm1, .status = running, .others = "Succeeded" },
		{ .spec = vm1, .status = running, .others = "Failed" },
		{ .spec = "{'vmiName': 'vm1', 'priority': 'system-critical'}",
		  .status = running,
		  .controller = true },
		{ .spec = vm1,
		  .status = "{'phase': 'Running', 'conditions': [{'type': "
			    "'LiveMigratable', 'status': 'True'}]}" },
		{ .spec = "{'vmiName': 'vm1', 'sendTo': {'migrationID': 'a', "
			  "'connectURL': 'u'}, 'receive': {'migrationID': "
			  "'a'}}",
		  .status = running,
		  .gate = GATE_DECENTRALIZED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		struct status st = STATUS_INIT;

		assert_int_equal(play(&scenes[i], &st), 0);
		assert_int_equal(st.code, 0);
	}
}

static void
test_half_a_migration_is_refused_whatever_the_gate_says(void **state)
{
	static const struct {
		const char *spec, *field;
	} cases[] = {
		{ "{'vmiName': 'vm1', 'sendTo': {'migrationID': 'a', "
		  "'connectURL': 'u'}}",
		  "spec.sendTo" },
		{ "{'vmiName': 'vm1', 'receive': {'migrationID': 'a'}}",
		  "spec.receive" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct scene scene = {
			.spec = cases[i].spec,
			/* A copy of its disks would go with it. */
			.status = "{'phase': 'Running', 'conditions': [{"
				  "'type': 'LiveMigratable', 'status': "
				  "'False', 'reason': "
				  "'DisksNotLiveMigratable'}]}",
			.gate = GATE_DECENTRALIZED,
		};
		struct status st = STATUS_INIT;
		char text[160];

		assert_int_equal(play(&scene, &st), -1);
		(void)snprintf(text, sizeof(text),
			       "%s is not supported: there is nothing that "
			       "moves machines between namespaces or clusters",
			       cases[i].field);
		assert_denied(&st, text, "FieldValueNotSupported",
			      cases[i].field);
	}
}

static void
test_a_migration_without_a_machine_is_refused(void **state)
{
	struct scene scene = { .spec = "{'priority': 'system-critical'}" };
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(play(&scene, &st), -1);
	assert_denied(&st, "vmiName is missing", "FieldValueRequired",
		      "spec.vmiName");
}

static void
test_only_the_controller_sets_a_priority(void **state)
{
	/* The machine is not looked at yet. */
	struct scene scene = {
		.spec = "{'vmiName': 'vm1', 'priority': 'user-triggered'}",
	};
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(play(&scene, &st), -1);
	assert_denied(&st,
		      "Migration priority queue, only virt-controller is "
		      "allowed to set priority field",
		      "FieldValueInvalid", "spec.migrationPriority");
}

static void
test_refusals_come_in_order_and_in_kubevirts_words(void **state)
{
	static const struct {
		struct scene scene;
		const char *text;
	} cases[] = {
		{ { .spec = vm1, .others = "Running" },
		  "the VMI \"ns/vm1\" does not exist" },
		{ { .spec = vm1,
		    .status = "{'phase': 'Failed', 'conditions': [{'type': "
			      "'LiveMigratable', 'status': 'False'}]}" },
		  "Cannot migrate VMI in finalized state." },
		{ { .spec = vm1,
		    .status = "{'phase': 'Running', 'conditions': [{'type': "
			      "'LiveMigratable', 'status': 'False', 'reason': "
			      "'DisksNotLiveMigratable', 'message': 'no'}]}",
		    .others = "Running" },
		  "Cannot migrate VMI, Reason: DisksNotLiveMigratable, "
		  "Message: no" },
		{ { .spec = "{'vmiName': 'vm1', 'receive': {'migrationID': "
			    "'a'}}",
		    .status = running,
		    .others = "Pending" },
		  "in-flight migration detected. Active migration job "
		  "(uid-of-other) is currently already in progress for VMI "
		  "vm1." },
		{ { .spec = "{'vmiName': 'vm1', 'receive': {'migrationID': "
			    "'a'}}",
		    .status = running },
		  "DecentralizedLiveMigration feature gate is not enabled in "
		  "kubevirt resource" },
		{ { .spec = "{'vmiName': 'vm1', 'receive': {'migrationID': "
			    "'a'}, 'sendTo': {'migrationID': 'b'}}",
		    .status = running,
		    .gate = GATE_DECENTRALIZED },
		  "sendTo migrationID b does not match receive migrationID "
		  "a" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct status st = STATUS_INIT;

		assert_int_equal(play(&cases[i].scene, &st), -1);
		assert_failed(&st, cases[i].text);
	}
}

static int
update(const char *old_text, const char *new_text, struct status *st)
{
	AUTO(js_unref) json_t *before = testjson(old_text);
	AUTO(js_unref) json_t *now = testjson(new_text);

	return vmim_check_update(before, now, st);
}

#define LABELLED(value, phase)                                             \
	"{'metadata': {'labels': {'kubevirt.io/vmi-name': '" value "'}}, " \
	"'spec': {'vmiName': 'vm1'}, 'status': {'phase': '" phase "'}}"

static void
test_the_spec_of_a_migration_does_not_change(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(update("{'spec': {'vmiName': 'a'}}",
				"{'spec': {'vmiName': 'b'}}", &st),
			 -1);
	assert_denied(&st, "update of Migration object's spec is restricted",
		      "FieldValueNotSupported", NULL);
	assert_int_equal(update("{'spec': {'vmiName': 'a'}}",
				"{'spec': {'vmiName': 'a', "
				"'addedNodeSelector': {}}}",
				&st),
			 0);
	assert_int_equal(update("{'spec': {'vmiName': 'a'}}",
				"{'spec': {'vmiName': 'a', "
				"'addedNodeSelector': {'x': 'y'}}}",
				&st),
			 -1);
	status_done(&st);
}

static void
test_the_label_stays_as_long_as_the_migration_goes_on(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(update(LABELLED("vm1", "Running"),
				LABELLED("vm2", "Running"), &st),
			 -1);
	assert_denied(&st,
		      "selector label can't be modified on an in-flight "
		      "migration",
		      "FieldValueNotSupported", NULL);
	assert_int_equal(update(LABELLED("vm1", "Running"),
				"{'spec': {'vmiName': 'vm1'}}", &st),
			 -1);
	assert_denied(&st,
		      "selector label can't be removed from an in-flight "
		      "migration",
		      "FieldValueNotSupported", NULL);
	assert_int_equal(update(LABELLED("vm1", "Running"),
				LABELLED("vm2", "Failed"), &st),
			 0);
	assert_int_equal(update("{'spec': {'vmiName': 'vm1'}}",
				LABELLED("vm2", "Running"), &st),
			 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_can_migrate_is_let_in),
		cmocka_unit_test(
			test_half_a_migration_is_refused_whatever_the_gate_says),
		cmocka_unit_test(test_a_migration_without_a_machine_is_refused),
		cmocka_unit_test(test_only_the_controller_sets_a_priority),
		cmocka_unit_test(
			test_refusals_come_in_order_and_in_kubevirts_words),
		cmocka_unit_test(test_the_spec_of_a_migration_does_not_change),
		cmocka_unit_test(
			test_the_label_stays_as_long_as_the_migration_goes_on),
	};

	return cmocka_run_group_tests_name("vmim_check", tests, NULL, NULL);
}
