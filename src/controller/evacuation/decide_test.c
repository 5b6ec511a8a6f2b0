/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/evacuation/decide.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "controller/evacuation/testevacuation.h"

#define RUNS "'phase': 'Running', " TEST_MIGRATABLE
#define MARKED RUNS "'evacuationNodeName': 'n1', "
#define MOVES "'evictionStrategy': 'LiveMigrate', "
#define DRAIN "{'key': 'kubevirt.io/drain', 'effect': 'NoSchedule'}"

static void
test_what_has_to_leave_gets_a_migration(void **state)
{
	static const struct {
		const char *metadata, *spec, *status, *taints;
		const char *rule;
		enum evacuation_kind create;
		enum migration_priority priority;
	} cases[] = {
		{ "", MOVES, MARKED, "", "leaves", EVACUATION_LEAVE,
		  PRIORITY_SYSTEM_CRITICAL },
		{ "'annotations': {'kubevirt.io/eviction-source': "
		  "'descheduler'}, ",
		  MOVES, MARKED, "", "leaves", EVACUATION_LEAVE,
		  PRIORITY_SYSTEM_MAINTENANCE },
		{ "", "'evictionStrategy': 'LiveMigrateIfPossible', ", MARKED,
		  "", "leaves", EVACUATION_LEAVE, PRIORITY_SYSTEM_CRITICAL },
		{ "", MOVES, RUNS, DRAIN, "leaves", EVACUATION_LEAVE,
		  PRIORITY_SYSTEM_CRITICAL },
		{ "", MOVES, RUNS, "", "stays", EVACUATION_NOTHING,
		  PRIORITY_UNSET },
		{ "", MOVES, RUNS,
		  "{'key': 'kubevirt.io/drain', 'effect': 'NoExecute'}",
		  "stays", EVACUATION_NOTHING, PRIORITY_UNSET },
		/* The mark of a node that it has left long since. */
		{ "", MOVES, RUNS "'evacuationNodeName': 'n0', ", "", "stays",
		  EVACUATION_NOTHING, PRIORITY_UNSET },
		{ "", "", MARKED, "", "stays", EVACUATION_NOTHING,
		  PRIORITY_UNSET },
		{ "", "'evictionStrategy': 'External', ", MARKED, "", "stays",
		  EVACUATION_NOTHING, PRIORITY_UNSET },
		{ "'deletionTimestamp': '1970-01-01T00:01:00Z', ", MOVES,
		  MARKED, "", "not-running", EVACUATION_NOTHING,
		  PRIORITY_UNSET },
		{ "", MOVES, "'phase': 'Failed', 'evacuationNodeName': 'n1', ",
		  "", "not-running", EVACUATION_NOTHING, PRIORITY_UNSET },
		{ "", MOVES, "'phase': 'Running', 'evacuationNodeName': 'n1', ",
		  "", "not-migratable", EVACUATION_NOTHING, PRIORITY_UNSET },
		{ "", MOVES,
		  MARKED "'migrationState': {'migrationUid': 'm', "
			 "'startTimestamp': '1970-01-01T00:01:00Z'}, ",
		  "", "migrating", EVACUATION_NOTHING, PRIORITY_UNSET },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(vmi_unref)
		struct vmi *vmi = test_vmi(cases[i].metadata, cases[i].spec,
					   cases[i].status);
		AUTO(node_unref)
		struct node *node = test_node(cases[i].taints);
		AUTO(kubevirt_config_unref)
		struct kubevirt_config *config = test_config(NULL, "");
		struct evacuation_facts facts = {
			.now_us = TEST_NOW_US,
			.confirmed = true,
			.config = config,
			.vmi = vmi,
			.node = node,
			.live_pods = 1,
		};
		struct evacuation_decision d;

		evacuation_decide(&facts, &d);
		assert_string_equal(d.rule, cases[i].rule);
		assert_int_equal(d.create, cases[i].create);
		assert_int_equal(d.priority, cases[i].priority);
		assert_false(d.confirm);
		facts.confirmed = false;
		evacuation_decide(&facts, &d);
		assert_int_equal(d.create, EVACUATION_NOTHING);
		assert_int_equal(d.confirm,
				 cases[i].create != EVACUATION_NOTHING);
	}
}

static void
test_there_is_one_migration_at_a_time_and_each_has_a_name(void **state)
{
	AUTO(vmi_unref) struct vmi *vmi = test_vmi("", MOVES, MARKED);
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = test_config(NULL, "");
	AUTO(vmim_unref)
	struct vmim *old = test_vmim("old", "00:01:00", "Succeeded");
	AUTO(vmim_unref)
	struct vmim *last = test_vmim("last", "00:02:00", "Failed");
	AUTO(vmim_unref)
	struct vmim *now = test_vmim("now", "00:03:00", "Pending");
	const struct vmim *vmims[] = { last, old, now };
	struct evacuation_facts facts = {
		.now_us = TEST_NOW_US,
		.confirmed = true,
		.config = config,
		.vmi = vmi,
		.vmims = vmims,
		.vmim_count = 3,
		.live_pods = 1,
	};
	struct evacuation_decision d;

	(void)state;
	evacuation_decide(&facts, &d);
	assert_string_equal(d.rule, "has-migration");
	facts.vmim_count = 2;
	evacuation_decide(&facts, &d);
	assert_int_equal(d.create, EVACUATION_LEAVE);
	assert_string_equal(d.seed, "last");
	facts.vmim_count = 0;
	evacuation_decide(&facts, &d);
	assert_string_equal(d.seed, "");
	facts.live_pods = 2;
	evacuation_decide(&facts, &d);
	assert_string_equal(d.rule, "several-pods");
	assert_int_equal(d.again_us, TEST_NOW_US + 5000000);
}

static void
test_what_cannot_leave_is_said_now_and_then(void **state)
{
	AUTO(vmi_unref)
	struct vmi *vmi = test_vmi(
		"", MOVES, "'phase': 'Running', 'evacuationNodeName': 'n1', ");
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = test_config(NULL, "");
	const struct evacuation_facts facts = {
		.now_us = TEST_NOW_US,
		.config = config,
		.vmi = vmi,
		.live_pods = 1,
	};
	struct evacuation_decision d;

	(void)state;
	evacuation_decide(&facts, &d);
	assert_true(d.complain);
	assert_int_equal(d.again_us, TEST_NOW_US + 60 * INT64_C(1000000));
}

static void
test_what_was_chosen_is_updated_unless_it_has_to_leave(void **state)
{
	AUTO(vmi_unref) struct vmi *vmi = test_vmi("", MOVES, RUNS);
	AUTO(node_unref) struct node *drained = test_node(DRAIN);
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = test_config(NULL, "");
	struct evacuation_facts facts = {
		.now_us = TEST_NOW_US,
		.confirmed = true,
		.config = config,
		.vmi = vmi,
		.live_pods = 1,
		.update = UPDATE_LAUNCHER,
	};
	struct evacuation_decision d;

	(void)state;
	evacuation_decide(&facts, &d);
	assert_int_equal(d.create, EVACUATION_UPDATE);
	assert_int_equal(d.priority, PRIORITY_SYSTEM_CRITICAL);
	facts.update = UPDATE_CHANGE;
	evacuation_decide(&facts, &d);
	assert_int_equal(d.priority, PRIORITY_USER_TRIGGERED);
	facts.node = drained;
	evacuation_decide(&facts, &d);
	assert_int_equal(d.create, EVACUATION_LEAVE);
}

static void
test_old_launchers_and_changes_call_for_an_update(void **state)
{
	static const struct {
		const char *metadata, *status;
		enum update update;
	} cases[] = {
		{ "", "'launcherContainerImageVersion': 'new', ", UPDATE_NONE },
		{ "", "'launcherContainerImageVersion': 'old', ",
		  UPDATE_LAUNCHER },
		{ "", "", UPDATE_NONE },
		{ "",
		  "'conditions': [{'type': 'HotVCPUChange', 'status': "
		  "'False'}], ",
		  UPDATE_CHANGE },
		{ "",
		  "'conditions': [{'type': 'HotMemoryChange', 'status': "
		  "'False'}], ",
		  UPDATE_NONE },
		{ "",
		  "'conditions': [{'type': 'HotMemoryChange', 'status': "
		  "'True'}], ",
		  UPDATE_CHANGE },
		{ "",
		  "'conditions': [{'type': 'MigrationRequired', 'status': "
		  "'True'}], ",
		  UPDATE_CHANGE },
		{ "",
		  "'conditions': [{'type': 'VolumesChange', 'status': "
		  "'True'}], ",
		  UPDATE_CHANGE },
		{ "'annotations': "
		  "{'kubevirt.io/testWorkloadUpdateMigrationAbortion': ''}, ",
		  "'launcherContainerImageVersion': 'old', ", UPDATE_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(vmi_unref)
		struct vmi *vmi =
			test_vmi(cases[i].metadata, "", cases[i].status);

		assert_int_equal(update_of(vmi, "new"), cases[i].update);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_has_to_leave_gets_a_migration),
		cmocka_unit_test(
			test_there_is_one_migration_at_a_time_and_each_has_a_name),
		cmocka_unit_test(test_what_cannot_leave_is_said_now_and_then),
		cmocka_unit_test(
			test_what_was_chosen_is_updated_unless_it_has_to_leave),
		cmocka_unit_test(
			test_old_launchers_and_changes_call_for_an_update),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
