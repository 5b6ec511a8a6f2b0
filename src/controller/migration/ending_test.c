/* SPDX-License-Identifier: Apache-2.0 */
/* How migrations end: canceled, failed or done, and what is left of them. */
#include "api/names.h"
#include "base/test.h"
#include "controller/migration/gc.h"
#include "controller/migration/ladder.h"
#include "controller/migration/testdecide.h"

static char text_x[] = "x";
static char abort_cond[] = COND_ABORT_REQUESTED;
static char timeout_reason[] = FAILURE_RUNNING_TIMEOUT;

/* Cancelling. */

static void
test_cancel_before_hand_off_deletes_the_pod(void **state)
{
	const struct action *action;

	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULING);
	cancel();
	run();
	action = decision_action(&d, ACTION_DELETE_POD);
	assert_non_null(action);
	assert_string_equal(action->event.reason, "SuccessfulDelete");
	assert_string_equal(
		action->event.text,
		"migration canceled and pod default/pod-b is deleted");
	expect_cond(COND_ABORT_REQUESTED, FAILURE_CANCELED);
	assert_false(d.remove_finalizer);
}

static void
test_cancel_after_hand_off_asks_the_nodes_in_each_phase(void **state)
{
	(void)state;
	for (enum migration_phase p = MIGRATION_PREPARING_TARGET;
	     p <= MIGRATION_RUNNING; p++) {
		testfacts_in(&t, p);
		cancel();
		run();
		assert_int_equal(d.phase, p);
		assert_int_equal(d.action_count, 1);
		assert_int_equal(d.actions[0].kind, ACTION_ABORT);
		assert_string_equal(d.actions[0].event.reason,
				    "SuccessfulAbortMigration");
		assert_string_equal(d.actions[0].event.text,
				    "Migration is ready to be canceled by "
				    "virt-handler.");
		expect_cond(COND_WAITING, WAITING_ABORT);
	}
}

static void
test_a_canceled_one_does_not_move_on(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.vmim.phase = MIGRATION_TARGET_READY;
	cancel();
	run();
	assert_int_equal(d.phase, MIGRATION_TARGET_READY);
	/* It is too late when the machine has arrived. */
	t.state.completed = true;
	run();
	assert_int_equal(d.phase, MIGRATION_SUCCEEDED);
}

/* Phases that last for a moment are not written: whoever leads next finds a
 * new migration that is far on its way. */
static void
test_a_new_one_that_is_on_its_way_can_be_canceled(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.vmim.phase = MIGRATION_UNSET;
	cancel();
	run();
	assert_int_equal(d.phase, MIGRATION_UNSET);
	assert_int_equal(d.action_count, 1);
	assert_int_equal(d.actions[0].kind, ACTION_ABORT);
	/* It is too late when the machine has arrived. */
	t.state.completed = true;
	run();
	assert_int_equal(d.phase, MIGRATION_SUCCEEDED);
}

static void
test_a_hand_off_that_is_not_seen_yet_is_not_undone(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULED);
	t.f.handoff_sent = true;
	cancel();
	run();
	assert_int_equal(d.phase, MIGRATION_SCHEDULED);
	assert_int_equal(d.action_count, 0);
	assert_int_equal(d.again_us, t.f.now_us + SECOND);
}

static void
test_a_machine_that_has_switched_is_never_cut_off(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.state.mode = MODE_POST_COPY;
	later(10 * CONFIG_RUNNING_TIMEOUT_S);
	run();
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	assert_int_equal(d.action_count, 0);
	cancel();
	t.state.abort_requested = true;
	run();
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	assert_int_equal(d.action_count, 0);
}

static void
test_a_transfer_that_takes_too_long_is_aborted_with_its_own_code(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	later(CONFIG_RUNNING_TIMEOUT_S);
	run();
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	assert_non_null(decision_action(&d, ACTION_ABORT));
	expect_cond(COND_ABORT_REQUESTED, FAILURE_RUNNING_TIMEOUT);
	testfacts_in(&t, MIGRATION_RUNNING);
	testfacts_cond(&t, abort_cond, timeout_reason);
	t.state.failed = t.state.completed = true;
	run();
	expect_cond(COND_FAILURE, FAILURE_RUNNING_TIMEOUT);
}

/* After the end. */

static void
test_a_failure_is_told_to_the_machine_and_its_pod_deleted(void **state)
{
	const struct action *action;

	(void)state;
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.target.phase = POD_FAILED;
	t.target.ready = false;
	run();
	action = decision_action(&d, ACTION_FAIL_STATE);
	assert_non_null(action);
	assert_string_equal(action->text, "Target pod is down");
	assert_true(action->event.on_vmi);
	assert_string_equal(action->event.text,
			    "VirtualMachineInstance migration uid uid-1 "
			    "failed. reason: Target pod is down");
	assert_non_null(decision_action(&d, ACTION_DELETE_POD));
	assert_false(d.remove_finalizer);
	/* The next go: told and deleted. */
	t.vmim.phase = MIGRATION_FAILED;
	t.state.failed = t.state.completed = true;
	t.target.meta.deleted_us = 1;
	run();
	assert_int_equal(d.action_count, 0);
	assert_true(d.copy_state);
	assert_true(d.remove_finalizer);
	/* And nothing after that. */
	t.vmim.state_uid = t.vmim.meta.uid;
	t.vmim.has_finalizer = false;
	run();
	assert_false(decision_changes_status(&d));
	assert_false(d.remove_finalizer);
}

static void
test_a_half_written_failure_keeps_its_code(void **state)
{
	static char told[] = "Target node did not prepare in time";

	(void)state;
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.state.failed = t.state.completed = true;
	t.state.failure_reason = told;
	run();
	expect_cond(COND_FAILURE, FAILURE_PREPARING_TIMEOUT);
}

static void
test_late_pods_are_deleted_with_their_text(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULING);
	t.target.unschedulable = true;
	later(CONFIG_UNSCHEDULABLE_TIMEOUT_S);
	run();
	assert_string_equal(
		decision_action(&d, ACTION_DELETE_POD)->event.text,
		"unschedulable pod default/pod-b timeout period exceeded");
	testfacts_in(&t, MIGRATION_SCHEDULING);
	later(CONFIG_PENDING_TIMEOUT_S);
	run();
	assert_string_equal(
		decision_action(&d, ACTION_DELETE_POD)->event.text,
		"pending pod default/pod-b timeout period exceeded");
}

static void
test_success_removes_the_pod_that_was_left_and_no_other(void **state)
{
	static char node_b[] = "b";

	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.vmim.phase = MIGRATION_SUCCEEDED;
	t.state.completed = true;
	t.vmi.node = node_b;
	run();
	assert_ptr_equal(decision_action(&d, ACTION_DELETE_POD)->pod,
			 &t.source);
	assert_false(d.remove_finalizer);
	/* It has come back since. */
	t.state.uid = text_x;
	run();
	assert_int_equal(d.action_count, 0);
	t.state.uid = t.vmim.meta.uid;
	t.vmi.node = t.source.node;
	run();
	assert_int_equal(d.action_count, 0);
	assert_true(d.remove_finalizer);
}

static void
test_five_ended_ones_are_kept(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_SUCCEEDED);
	t.vmi.migration = NULL;
	for (int i = 1; i <= GC_KEPT - 1; i++)
		(void)testfacts_other(&t, i, MIGRATION_FAILED, i);
	(void)testfacts_other(&t, -1, MIGRATION_FAILED, -1);
	(void)testfacts_other(&t, 8, MIGRATION_RUNNING, 8);
	run();
	assert_false(d.delete_migration);
	(void)testfacts_other(&t, 9, MIGRATION_SUCCEEDED, 9);
	run();
	assert_true(d.delete_migration);
}

static void
test_without_its_machine_it_goes_after_it_has_ended(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	t.f.vmi = NULL;
	run();
	assert_false(d.delete_migration);
	assert_true(d.remove_finalizer);
	t.vmim.phase = MIGRATION_FAILED;
	run();
	assert_true(d.delete_migration);
	t.f.confirmed = false;
	run();
	assert_true(d.confirm);
}

static void
test_pods_without_migration_are_left_unless_the_machine_needs_them(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.target.migration_uid = t.vmim.meta.uid;
	t.target.vmi_uid = t.vmi.meta.uid;
	assert_false(gc_pod_is_left(&t.target, &t.vmi));
	t.vmi.migration = NULL;
	assert_true(gc_pod_is_left(&t.target, &t.vmi));
	assert_true(gc_pod_is_left(&t.target, NULL));
	t.vmi.node = t.target.node;
	assert_false(gc_pod_is_left(&t.target, &t.vmi));
	t.vmi.node = t.source.node;
	t.target.meta.deleted_us = 1;
	assert_false(gc_pod_is_left(&t.target, &t.vmi));
	assert_false(gc_pod_is_left(&t.source, &t.vmi));
}

/* Nobody could read the machine when it failed, and now somebody can. */
static void
test_a_failure_does_not_reach_a_machine_that_may_have_moved(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.vmim.phase = MIGRATION_FAILED;
	run();
	assert_int_equal(d.action_count, 1);
	assert_int_equal(d.actions[0].kind, ACTION_ABORT);
	t.state.abort_requested = true;
	run();
	assert_int_equal(d.action_count, 0);
	assert_false(d.remove_finalizer);
	t.state.abort_requested = false;
	t.state.mode = MODE_POST_COPY;
	run();
	assert_int_equal(d.action_count, 0);
	t.state.mode = MODE_PRE_COPY;
	/* It has ended, wherever that was. */
	t.vmi.phase = VMI_FAILED;
	t.vmi.node = t.target.node;
	run();
	assert_non_null(decision_action(&d, ACTION_FAIL_STATE));
	/* It has come to nothing. */
	t.vmi.phase = VMI_RUNNING;
	t.vmi.node = t.source.node;
	t.state.failed = t.state.completed = true;
	run();
	assert_ptr_equal(decision_action(&d, ACTION_DELETE_POD)->pod,
			 &t.target);
	/* It has arrived. */
	t.state.failed = false;
	t.vmi.node = t.target.node;
	run();
	assert_ptr_equal(decision_action(&d, ACTION_DELETE_POD)->pod,
			 &t.source);
	/* What has not started is to give up. */
	t.vmi.node = t.source.node;
	t.state.completed = false;
	t.state.start_us = 0;
	run();
	assert_non_null(decision_action(&d, ACTION_FAIL_STATE));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancel_before_hand_off_deletes_the_pod),
		cmocka_unit_test(
			test_cancel_after_hand_off_asks_the_nodes_in_each_phase),
		cmocka_unit_test(test_a_canceled_one_does_not_move_on),
		cmocka_unit_test(
			test_a_new_one_that_is_on_its_way_can_be_canceled),
		cmocka_unit_test(
			test_a_hand_off_that_is_not_seen_yet_is_not_undone),
		cmocka_unit_test(
			test_a_machine_that_has_switched_is_never_cut_off),
		cmocka_unit_test(
			test_a_transfer_that_takes_too_long_is_aborted_with_its_own_code),
		cmocka_unit_test(
			test_a_failure_is_told_to_the_machine_and_its_pod_deleted),
		cmocka_unit_test(test_a_half_written_failure_keeps_its_code),
		cmocka_unit_test(test_late_pods_are_deleted_with_their_text),
		cmocka_unit_test(
			test_success_removes_the_pod_that_was_left_and_no_other),
		cmocka_unit_test(test_five_ended_ones_are_kept),
		cmocka_unit_test(
			test_without_its_machine_it_goes_after_it_has_ended),
		cmocka_unit_test(
			test_pods_without_migration_are_left_unless_the_machine_needs_them),
		cmocka_unit_test(
			test_a_failure_does_not_reach_a_machine_that_may_have_moved),
	};

	return cmocka_run_group_tests_name("ending", tests, NULL, NULL);
}
