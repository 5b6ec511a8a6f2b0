/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vmim.h"

#include "api/names.h"
#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "meta/time.h"

static struct vmim *
vmim_of(const char *text)
{
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };
	struct vmim *vmim = vmim_decode(object, &err);

	assert_string_equal(err.text, "");
	return vmim;
}

static void
test_all_that_is_used_is_decoded(void **state)
{
	AUTO(vmim_unref)
	struct vmim *vmim = vmim_of(
		"{'metadata': {'name': 'm', 'namespace': 'ns', 'uid': 'u', "
		"'resourceVersion': '7', 'generation': 2, 'creationTimestamp': "
		"'1970-01-01T00:00:01Z', 'labels': {'kubevirt.io/vmi-name': "
		"'vm1'}, 'annotations': {'kubevirt.io/evacuationMigration': "
		"'n1', 'kubevirt.io/migrationPendingPodTimeoutSeconds': '60', "
		"'kubevirt.io/migrationUnschedulablePodTimeoutSeconds': "
		"'soon', 'ferry.io/migrationRunningTimeoutSeconds': '0'}, "
		"'finalizers': ['kubevirt.io/migrationJobFinalize']}, "
		"'spec': {'vmiName': 'vm1', 'priority': 'system-critical', "
		"'addedNodeSelector': {'zone': 'a'}}, "
		"'status': {'phase': 'Scheduled', 'conditions': [{'type': "
		"'migrationAbortRequested', 'status': 'True'}], "
		"'phaseTransitionTimestamps': [{'phase': 'Pending', "
		"'phaseTransitionTimestamp': '1970-01-01T00:00:02Z'}, "
		"{'phase': 'Later', 'phaseTransitionTimestamp': "
		"'1970-01-01T00:00:02Z'}, {'phase': 'Pending', "
		"'phaseTransitionTimestamp': '1970-01-01T00:00:09Z'}], "
		"'migrationState': {'sourcePod': 'p'}}}");

	(void)state;
	assert_string_equal(vmim->meta.ns, "ns");
	assert_string_equal(vmim->meta.name, "m");
	assert_string_equal(vmim->meta.uid, "u");
	assert_string_equal(vmim->meta.version, "7");
	assert_int_equal(vmim->meta.generation, 2);
	assert_int_equal(vmim->meta.created_us, TIME_US_PER_SECOND);
	assert_false(objmeta_is_deleting(&vmim->meta));
	assert_string_equal(vmim->vmi_name, "vm1");
	assert_string_equal(vmim->vmi_label, "vm1");
	assert_int_equal(vmim->priority, PRIORITY_SYSTEM_CRITICAL);
	assert_string_equal(js_str_at(vmim->added_node_selector, "zone"), "a");
	assert_string_equal(vmim->evacuation_node, "n1");
	assert_true(vmim->has_finalizer);
	assert_false(vmim->has_observed_versions);
	assert_int_equal(vmim->phase, MIGRATION_SCHEDULED);
	assert_true(conds_is_true(&vmim->conds, COND_ABORT_REQUESTED));
	/* The first of each phase counts, unknown ones do not. */
	assert_int_equal(vmim->phase_since_us[MIGRATION_PENDING],
			 2 * TIME_US_PER_SECOND);
	assert_int_equal(vmim->phase_since_us[MIGRATION_SCHEDULED], 0);
	assert_string_equal(vmim->source_pod, "p");
	assert_true(vmim_is_automatic(vmim));
	assert_false(vmim_is_final(vmim));
	assert_int_equal(vmim_ended_us(vmim), 0);
}

static void
test_its_own_deadlines_go_before_those_of_the_cluster(void **state)
{
	AUTO(vmim_unref)
	struct vmim *vmim = vmim_of(
		"{'metadata': {'name': 'm', 'annotations': {"
		"'kubevirt.io/migrationPendingPodTimeoutSeconds': '60', "
		"'kubevirt.io/migrationUnschedulablePodTimeoutSeconds': "
		"'soon', 'ferry.io/migrationRunningTimeoutSeconds': '0', "
		"'ferry.io/migrationTargetReadyTimeoutSeconds': '-1'}}}");
	struct err err;
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(NULL, &err);
	struct migration_deadlines deadlines = vmim_deadlines(vmim, config);

	(void)state;
	assert_int_equal(deadlines.pending_s, 60);
	assert_int_equal(deadlines.unschedulable_s, 300);
	assert_int_equal(deadlines.running_s, 0);
	assert_int_equal(deadlines.ready_s, CONFIG_READY_TIMEOUT_S);
	assert_int_equal(deadlines.preparing_s, CONFIG_PREPARING_TIMEOUT_S);
}

static void
test_a_new_one_is_empty_and_needs_no_name_yet(void **state)
{
	AUTO(vmim_unref)
	struct vmim *vmim =
		vmim_of("{'metadata': {'generateName': 'x-'}, 'spec': {}}");

	(void)state;
	assert_string_equal(vmim->meta.name, "");
	assert_int_equal(vmim->phase, MIGRATION_UNSET);
	assert_string_equal(vmim->vmi_name, "");
	assert_null(vmim->added_node_selector);
	assert_false(vmim_is_automatic(vmim));
	assert_false(vmim_is_decentralized(vmim));
}

static void
test_one_half_makes_it_decentralized_and_both_do_not(void **state)
{
	AUTO(vmim_unref)
	struct vmim *send = vmim_of("{'metadata': {'name': 'm'}, 'spec': "
				    "{'sendTo': {'migrationID': 'a'}}}");
	AUTO(vmim_unref)
	struct vmim *both =
		vmim_of("{'metadata': {'name': 'm'}, 'spec': {'sendTo': "
			"{'migrationID': 'a'}, 'receive': {'migrationID': "
			"'a'}}}");

	(void)state;
	assert_true(vmim_is_decentralized(send));
	assert_false(vmim_is_decentralized(both));
}

static void
test_a_final_one_knows_when_it_ended(void **state)
{
	AUTO(vmim_unref)
	struct vmim *vmim = vmim_of(
		"{'metadata': {'name': 'm', 'deletionTimestamp': "
		"'1970-01-01T00:00:05Z'}, 'status': {'phase': 'Failed', "
		"'phaseTransitionTimestamps': [{'phase': 'Failed', "
		"'phaseTransitionTimestamp': '1970-01-01T00:00:03Z'}]}}");

	(void)state;
	assert_true(vmim_is_final(vmim));
	assert_true(objmeta_is_deleting(&vmim->meta));
	assert_int_equal(vmim_ended_us(vmim), 3 * TIME_US_PER_SECOND);
}

static void
test_what_has_no_meaning_is_refused(void **state)
{
	static const struct {
		const char *object, *text;
	} cases[] = {
		{ "{'metadata': {}}", "metadata.name is missing" },
		{ "{}", "metadata.name is missing" },
		{ "[]", "metadata.name is missing" },
		{ "{'metadata': {'name': 'm'}, 'status': {'phase': 'Odd'}}",
		  "status.phase: unknown phase 'Odd'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *object = testjson(cases[i].object);
		struct err err;

		assert_null(vmim_decode(object, &err));
		assert_string_equal(err.text, cases[i].text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_is_used_is_decoded),
		cmocka_unit_test(
			test_its_own_deadlines_go_before_those_of_the_cluster),
		cmocka_unit_test(test_a_new_one_is_empty_and_needs_no_name_yet),
		cmocka_unit_test(
			test_one_half_makes_it_decentralized_and_both_do_not),
		cmocka_unit_test(test_a_final_one_knows_when_it_ended),
		cmocka_unit_test(test_what_has_no_meaning_is_refused),
	};

	return cmocka_run_group_tests_name("vmim", tests, NULL, NULL);
}
