/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/decide.h"

#include <string.h>

#include "api/backoff.h"
#include "api/names.h"
#include "base/test.h"
#include "controller/migration/gc.h"
#include "controller/migration/ladder.h"
#include "controller/migration/rank.h"
#include "controller/migration/steps.h"
#include "controller/migration/testdecide.h"

static char text_x[] = "x";
static char abort_cond[] = COND_ABORT_REQUESTED;
static char waiting_cond[] = COND_WAITING;
static char quota_cond[] = COND_QUOTA;
static char timeout_reason[] = FAILURE_RUNNING_TIMEOUT;
static char quota_reason[] = WAITING_QUOTA;
static char failure_cond[] = COND_FAILURE;
static char failure_reason[] = FAILURE_NODE;
static char failure_text[] = "no room";

/* The way of a migration that goes well. */

static void
test_a_new_one_is_accepted_and_gets_its_pod_in_one_go(void **state)
{
	(void)state;
	testfacts_init(&t);
	run();
	assert_int_equal(d.phase, MIGRATION_PENDING);
	assert_int_equal(d.passed_count, 1);
	assert_int_equal(d.action_count, 1);
	assert_int_equal(d.actions[0].kind, ACTION_CREATE_TARGET);
	t.f.confirmed = false;
	run();
	assert_true(d.confirm);
	assert_int_equal(d.action_count, 0);
}

static void
test_a_pod_is_made_once(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	t.f.create_sent = true;
	run();
	assert_int_equal(d.action_count, 0);
	t.f.create_sent = false;
	t.f.target_pod = &t.target;
	run();
	assert_int_equal(d.phase, MIGRATION_SCHEDULING);
	assert_int_equal(d.action_count, 0);
}

static void
test_what_lacks_its_stamp_gets_it_before_anything_else(void **state)
{
	(void)state;
	testfacts_init(&t);
	t.vmim.has_finalizer = false;
	run();
	assert_int_equal(d.action_count, 1);
	assert_int_equal(d.actions[0].kind, ACTION_STAMP);
	assert_false(decision_changes_status(&d));
}

static void
test_a_ready_pod_is_handed_off(void **state)
{
	const struct action *action;

	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULED);
	t.vmim.phase = MIGRATION_SCHEDULING;
	run();
	assert_int_equal(d.phase, MIGRATION_SCHEDULED);
	action = decision_action(&d, ACTION_HANDOFF);
	assert_non_null(action);
	assert_ptr_equal(action->pod, &t.target);
	assert_string_equal(action->event.text,
			    "Migration target pod is ready for preparation by "
			    "virt-handler.");
	t.f.handoff_sent = true;
	run();
	assert_int_equal(d.action_count, 0);
	t.f.handoff_sent = false;
	t.f.confirmed = false;
	run();
	assert_true(d.confirm);
}

static void
test_facts_that_are_ahead_are_caught_up_with(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.vmim.phase = MIGRATION_SCHEDULING;
	t.state.completed = true;
	run();
	assert_int_equal(d.phase, MIGRATION_SUCCEEDED);
	assert_int_equal(d.passed_count, 5);
	assert_int_equal(d.passed[0], MIGRATION_SCHEDULED);
	assert_int_equal(d.passed[3], MIGRATION_RUNNING);
	assert_true(d.copy_state);
	expect_event(0, false, "SuccessfulMigration",
		     "Source node reported migration succeeded");
	assert_false(d.events[0].warning);
}

static void
test_a_changed_machine_has_to_say_so_first(void **state)
{
	static char type[] = COND_HOT_VCPU;
	static struct cond cond = { .type = type,
				    .status = COND_FALSE,
				    .reason = text_x,
				    .message = text_x };

	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.state.completed = true;
	t.vmi.conds = (struct conds){ .list = &cond, .len = 1 };
	run();
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	t.vmi.conds.len = 0;
	run();
	assert_int_equal(d.phase, MIGRATION_SUCCEEDED);
}

static void
test_networks_are_told_once_when_the_guest_runs_on_the_target(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.state.domain_ready_us = 1;
	run();
	assert_non_null(decision_action(&d, ACTION_MARK_READY));
	t.target.target_ready = text_x;
	run();
	assert_null(decision_action(&d, ACTION_MARK_READY));
}

/* By force, or with its node: the target waits for somebody to say so. */
static void
test_a_source_pod_that_is_gone_is_told_once_it_is_sure(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.state.mode = MODE_POST_COPY;
	t.f.source_pod = NULL;
	t.f.confirmed = false;
	run();
	assert_true(d.confirm);
	t.f.confirmed = true;
	run();
	assert_int_equal(d.action_count, 1);
	assert_int_equal(d.actions[0].kind, ACTION_TELL_LEFT);
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	/* A cancel does not hide it. */
	cancel();
	run();
	assert_int_equal(d.actions[0].kind, ACTION_TELL_LEFT);
	t.state.end_us = 1;
	run();
	assert_null(decision_action(&d, ACTION_TELL_LEFT));
	/* What has not begun ends by its deadlines. */
	testfacts_in(&t, MIGRATION_TARGET_READY);
	t.f.source_pod = NULL;
	run();
	assert_null(decision_action(&d, ACTION_TELL_LEFT));
}

static void
test_each_row_of_the_phases_goes_forward_by_one(void **state)
{
	size_t count;
	const struct step *steps = steps_all(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(steps[i].to, steps[i].from == MIGRATION_UNSET
						      ? MIGRATION_PENDING
						      : steps[i].from + 1);
		if (i > 0)
			assert_int_equal(steps[i].from, steps[i - 1].to);
	}
}

/* Waiting. */

static void
expect_waiting(const char *reason)
{
	run();
	assert_int_equal(d.action_count, 0);
	assert_int_equal(d.phase, t.vmim.phase);
	expect_cond(COND_WAITING, reason);
}

static void
test_before_the_pod_it_says_what_it_waits_for(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	t.f.quota_text = "exceeded quota: q";
	t.f.quota_until_us = TESTFACTS_NOW_US + SECOND;
	expect_waiting(WAITING_QUOTA);
	expect_cond(COND_QUOTA, WAITING_QUOTA);
	assert_int_equal(d.again_us, TESTFACTS_NOW_US + SECOND);
	t.f.slot = SLOT_SOURCE_FULL;
	expect_waiting(WAITING_SOURCE_SLOT);
	assert_int_equal(d.wants, SLOT_SOURCE_FULL);
	assert_non_null(strstr(find_cond(COND_WAITING)->message, "'a'"));
	t.f.slot = SLOT_CLUSTER_FULL;
	expect_waiting(WAITING_CLUSTER_SLOT);
	assert_int_equal(d.wants, SLOT_CLUSTER_FULL);
	assert_int_equal(d.again_us, DECISION_NEVER);
	t.f.live_pods = 2;
	expect_waiting(WAITING_PODS);
	t.f.source_pod = NULL;
	expect_waiting(WAITING_SOURCE_POD);
	t.vmi.phase = VMI_SCHEDULED;
	expect_waiting(WAITING_MACHINE);
	t.vmi.backup_in_progress = true;
	expect_waiting(WAITING_BACKUP);
	expect_cond(COND_BACKUP, REASON_BACKUP);
	t.vmi.utility_volumes = true;
	expect_waiting(WAITING_UTILITY_VOLUMES);
	expect_event(0, false, EVENT_UTILITY_PENDING,
		     "Migration is waiting for utility volumes to detach");
}

static void
test_back_off_shows_the_next_try_and_why_there_is_one(void **state)
{
	static struct cond why = { .type = failure_cond,
				   .status = COND_TRUE,
				   .reason = failure_reason,
				   .message = failure_text };
	char when[TIME_TEXT_SIZE];
	const char *said;
	struct vmim *last;

	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	t.vmim.evacuation = true;
	last = testfacts_other(&t, -100, MIGRATION_FAILED, -10);
	last->evacuation = true;
	last->conds = (struct conds){ .list = &why, .len = 1 };
	expect_waiting(WAITING_BACKOFF);
	assert_int_equal(d.again_us, t.f.now_us + 10 * SECOND);
	said = find_cond(COND_WAITING)->message;
	assert_non_null(strstr(said, time_text(d.again_us, when)));
	assert_non_null(strstr(said, "It is attempt 2: the one before, "));
	assert_non_null(strstr(said, "has failed (ReportedByNode). no room"));
	expect_event(0, true, "MigrationBackoff",
		     "backoff migrating vmi default/vm");
	later(10);
	run();
	assert_non_null(decision_action(&d, ACTION_CREATE_TARGET));
}

static int64_t
held_until_us(void)
{
	return backoff_of(t.f.vmim, t.f.others, t.f.other_count).until_us;
}

static void
test_back_off_doubles_until_a_success(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	t.vmim.workload_update = true;
	testfacts_other(&t, -40, MIGRATION_FAILED, -5)->evacuation = true;
	testfacts_other(&t, -60, MIGRATION_FAILED, -50)->evacuation = true;
	testfacts_other(&t, -70, MIGRATION_FAILED, -65); /* a person's */
	assert_int_equal(held_until_us(), t.f.now_us + 35 * SECOND);
	testfacts_other(&t, -80, MIGRATION_SUCCEEDED, -79)->evacuation = true;
	testfacts_other(&t, -90, MIGRATION_FAILED, -89)->evacuation = true;
	assert_int_equal(held_until_us(), t.f.now_us + 35 * SECOND);
	/* The next one, which nobody has made yet. */
	assert_int_equal(backoff_of(NULL, t.f.others, t.f.other_count).until_us,
			 t.f.now_us + 35 * SECOND);
	t.vmim.ignores_backoff = true;
	assert_int_equal(held_until_us(), 0);
	t.vmim.ignores_backoff = t.vmim.workload_update = false;
	assert_int_equal(held_until_us(), 0);
}

static void
test_a_full_target_node_delays_the_hand_off(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULED);
	t.config.parallel_inbound = 1;
	t.f.inbound = SLOT_TARGET_FULL;
	expect_waiting(WAITING_TARGET_SLOT);
	assert_non_null(strstr(find_cond(COND_WAITING)->message, "'b'"));
}

static void
test_an_unschedulable_pod_is_reported_once(void **state)
{
	static char reason[] = WAITING_SCHEDULING;

	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULING);
	t.target.unschedulable = true;
	t.f.cpu_labels = "map[x:true]";
	expect_waiting(WAITING_SCHEDULING);
	assert_int_equal(d.event_count, 2);
	expect_event(0, false, "migrationTargetPodUnschedulable",
		     "Migration target pod for VMI [default/vm] is currently "
		     "unschedulable.");
	expect_event(1, true, "NoSuitableNodesForHostModelMigration",
		     "Migration cannot proceed since no node is suitable to "
		     "run the required CPU model / required features: "
		     "map[x:true]");
	assert_int_equal(d.again_us, TESTFACTS_NOW_US + 300 * SECOND);
	testfacts_cond(&t, waiting_cond, reason);
	run();
	assert_int_equal(d.event_count, 0);
	assert_int_equal(find_cond(COND_WAITING)->since_us,
			 t.conds[0].since_us);
}

static void
test_a_pod_that_is_refused_is_told_and_tried_again(void **state)
{
	const struct decision_cond *waiting;

	(void)state;
	testfacts_in(&t, MIGRATION_UNSET);
	t.f.refused_text = "no privileges";
	t.f.refused_until_us = TESTFACTS_NOW_US + SECOND;
	run();
	assert_int_equal(d.phase, MIGRATION_PENDING);
	assert_int_equal(d.action_count, 0);
	assert_int_equal(d.again_us, TESTFACTS_NOW_US + SECOND);
	waiting = find_cond(COND_WAITING);
	assert_string_equal(waiting->reason, WAITING_REFUSED);
	assert_non_null(strstr(waiting->message, ": no privileges. "));
	t.f.refused_text = NULL;
	run();
	assert_non_null(decision_action(&d, ACTION_CREATE_TARGET));
}

/* Both were made within one second, and each was read before the other was
 * written: the one that is let begin counts, whichever is the older. */
static void
test_of_two_that_are_new_the_one_that_has_begun_goes_on(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_UNSET);
	t.f.other_begun = true;
	run();
	assert_string_equal(d.rule, "rival");
	testfacts_in(&t, MIGRATION_UNSET);
	(void)testfacts_other(&t, -5, MIGRATION_UNSET, 0);
	t.f.begun = true;
	run();
	assert_non_null(decision_action(&d, ACTION_CREATE_TARGET));
	/* Whoever has been written to go on comes first all the same. */
	t.others[0].phase = MIGRATION_PENDING;
	run();
	assert_string_equal(d.rule, "rival");
}

static void
test_one_that_has_arrived_says_which_change_it_waits_for(void **state)
{
	static char vcpu[] = COND_HOT_VCPU;
	static struct cond cond = { .type = vcpu,
				    .status = COND_TRUE,
				    .reason = vcpu,
				    .message = vcpu };

	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.state.completed = true;
	t.state.end_us = TESTFACTS_NOW_US;
	t.vmi.conds = (struct conds){ .list = &cond, .len = 1 };
	run();
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	assert_non_null(strstr(find_cond(COND_WAITING)->message,
			       "has arrived. It ends when its condition "
			       "HotVCPUChange "));
	t.vmi.conds.len = 0;
	run();
	assert_int_equal(d.phase, MIGRATION_SUCCEEDED);
}

static void
test_quota_is_forgotten_when_the_pod_is_there(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	testfacts_cond(&t, quota_cond, quota_reason);
	run();
	assert_null(find_cond(COND_QUOTA));
	t.f.target_pod = &t.target;
	run();
	assert_true(find_cond(COND_QUOTA)->remove);
}

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
test_what_a_node_waits_for_is_said_in_its_words(void **state)
{
	static char waits[] = "ferry-proxy of node 'b' does not answer";

	(void)state;
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.state.target_waits = waits;
	run();
	expect_cond(COND_WAITING, WAITING_TARGET_PREPARATION);
	assert_non_null(strstr(find_cond(COND_WAITING)->message, waits));
	testfacts_in(&t, MIGRATION_TARGET_READY);
	t.state.target_waits = t.state.target_address;
	t.state.source_waits = waits;
	run();
	expect_cond(COND_WAITING, WAITING_SOURCE_START);
	assert_non_null(strstr(find_cond(COND_WAITING)->message, waits));
}

static void
test_a_new_one_that_was_handed_off_gets_no_other_pod(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.vmim.phase = MIGRATION_UNSET;
	t.f.target_pod = NULL;
	run();
	assert_null(decision_action(&d, ACTION_CREATE_TARGET));
	assert_int_equal(d.phase, MIGRATION_PREPARING_TARGET);
	/* The next look finds that the pod is gone. */
	t.vmim.phase = d.phase;
	run();
	assert_int_equal(d.phase, MIGRATION_FAILED);
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

static void
test_of_two_new_ones_the_older_begins(void **state)
{
	(void)state;
	testfacts_init(&t);
	(void)testfacts_other(&t, 1, MIGRATION_UNSET, 0);
	(void)testfacts_other(&t, -1, MIGRATION_FAILED, 0);
	run();
	assert_int_equal(d.phase, MIGRATION_PENDING);
	(void)testfacts_other(&t, -1, MIGRATION_UNSET, 0);
	run();
	assert_string_equal(d.rule, "rival");
}

static void
test_ranks_put_active_first_and_people_before_the_system(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	assert_int_equal(rank_priority(&t.f), RANK_PERSON);
	assert_string_equal(rank_group(&t.f), "a");
	t.vmim.evacuation = true;
	assert_int_equal(rank_priority(&t.f), RANK_OTHER);
	assert_int_equal(rank_retry_us(&t.f), 5 * SECOND);
	t.vmim.priority = PRIORITY_SYSTEM_MAINTENANCE;
	assert_int_equal(rank_priority(&t.f), RANK_MAINTENANCE);
	t.vmim.priority = PRIORITY_USER_TRIGGERED;
	assert_int_equal(rank_priority(&t.f), RANK_USER);
	assert_int_equal(rank_retry_us(&t.f), 3 * SECOND);
	t.vmim.priority = PRIORITY_SYSTEM_CRITICAL;
	assert_int_equal(rank_priority(&t.f), RANK_CRITICAL);
	assert_int_equal(rank_retry_us(&t.f), SECOND);
	t.f.target_pod = &t.target;
	assert_int_equal(rank_priority(&t.f), RANK_ACTIVE);
	t.f.vmi = NULL;
	assert_string_equal(rank_group(&t.f), "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_new_one_is_accepted_and_gets_its_pod_in_one_go),
		cmocka_unit_test(test_a_pod_is_made_once),
		cmocka_unit_test(
			test_what_lacks_its_stamp_gets_it_before_anything_else),
		cmocka_unit_test(test_a_ready_pod_is_handed_off),
		cmocka_unit_test(test_facts_that_are_ahead_are_caught_up_with),
		cmocka_unit_test(test_a_changed_machine_has_to_say_so_first),
		cmocka_unit_test(
			test_networks_are_told_once_when_the_guest_runs_on_the_target),
		cmocka_unit_test(
			test_a_source_pod_that_is_gone_is_told_once_it_is_sure),
		cmocka_unit_test(
			test_each_row_of_the_phases_goes_forward_by_one),
		cmocka_unit_test(test_before_the_pod_it_says_what_it_waits_for),
		cmocka_unit_test(
			test_back_off_shows_the_next_try_and_why_there_is_one),
		cmocka_unit_test(test_back_off_doubles_until_a_success),
		cmocka_unit_test(test_a_full_target_node_delays_the_hand_off),
		cmocka_unit_test(test_an_unschedulable_pod_is_reported_once),
		cmocka_unit_test(
			test_a_pod_that_is_refused_is_told_and_tried_again),
		cmocka_unit_test(
			test_of_two_that_are_new_the_one_that_has_begun_goes_on),
		cmocka_unit_test(
			test_one_that_has_arrived_says_which_change_it_waits_for),
		cmocka_unit_test(test_quota_is_forgotten_when_the_pod_is_there),
		cmocka_unit_test(test_cancel_before_hand_off_deletes_the_pod),
		cmocka_unit_test(
			test_cancel_after_hand_off_asks_the_nodes_in_each_phase),
		cmocka_unit_test(test_a_canceled_one_does_not_move_on),
		cmocka_unit_test(
			test_a_new_one_that_is_on_its_way_can_be_canceled),
		cmocka_unit_test(
			test_what_a_node_waits_for_is_said_in_its_words),
		cmocka_unit_test(
			test_a_new_one_that_was_handed_off_gets_no_other_pod),
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
		cmocka_unit_test(test_of_two_new_ones_the_older_begins),
		cmocka_unit_test(
			test_ranks_put_active_first_and_people_before_the_system),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
