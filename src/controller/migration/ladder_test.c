/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/ladder.h"

#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/test.h"
#include "controller/migration/testdecide.h"

static char text_x[] = "x";
static char abort_cond[] = COND_ABORT_REQUESTED;
static char live_cond[] = COND_LIVE_MIGRATABLE;
static char canceled_reason[] = FAILURE_CANCELED;

/* One setting for each row of the ladder. */

static void
set_machine_unreadable(void)
{
	t.f.vmi = NULL;
	t.f.machine_text = "no sense";
}

static void
set_machine_gone(void)
{
	t.f.vmi = NULL;
}

static void
set_machine_ended(void)
{
	t.vmi.phase = VMI_SUCCEEDED;
}

static void
set_decentralized(void)
{
	t.vmim.receive_id = text_x;
}

static void
set_target_ended(void)
{
	t.target.phase = POD_FAILED;
	t.target.ready = false;
}

static void
set_target_removed(void)
{
	t.f.target_pod = NULL;
}

static void
set_state_cleared(void)
{
	t.vmi.migration = NULL;
}

static void
set_state_taken(void)
{
	t.state.uid = text_x;
}

static void
set_node_failed(void)
{
	t.state.failed = t.state.completed = true;
}

static void
set_rival(void)
{
	(void)testfacts_other(&t, -5, MIGRATION_PENDING, -5);
}

static void
set_not_migratable(void)
{
	static struct cond cond;

	cond = (struct cond){ .type = live_cond,
			      .status = COND_FALSE,
			      .reason = text_x,
			      .message = text_x };
	t.vmi.conds.list = &cond;
	t.vmi.conds.len = 1;
}

static void
set_canceled_unstarted(void)
{
	cancel();
	t.state.abort_requested = true;
}

static void
set_same_node(void)
{
	t.target.node = t.source.node;
}

static void
set_utility_late(void)
{
	t.vmi.utility_volumes = true;
	later(CONFIG_UTILITY_TIMEOUT_S);
}

static void
set_unschedulable_late(void)
{
	t.target.unschedulable = true;
	later(CONFIG_UNSCHEDULABLE_TIMEOUT_S);
}

static void
set_pending_late(void)
{
	later(CONFIG_PENDING_TIMEOUT_S);
}

static void
set_phase_late(void)
{
	later(CONFIG_PREPARING_TIMEOUT_S);
}

static const struct {
	const char *rung;
	void (*set)(void);
	const char *code;
	const char *event;
	enum migration_phase phase;
	bool asks; /* before it believes it: it cannot be undone */
} failures[] = {
	{ "machine-unreadable", set_machine_unreadable, "MachineUnreadable",
	  "Migration failed because there is no sense in the machine",
	  MIGRATION_RUNNING, true },
	{ "machine-gone", set_machine_gone, "MachineGone",
	  "Migration failed because vmi does not exist.", MIGRATION_PENDING,
	  true },
	{ "machine-ended", set_machine_ended, "MachineEnded",
	  "Migration failed vmi shutdown during migration.", MIGRATION_RUNNING,
	  true },
	{ "decentralized", set_decentralized, "DecentralizedUnsupported",
	  "Migration failed because migrations between namespaces or clusters "
	  "are not supported",
	  MIGRATION_UNSET, false },
	{ "canceled", cancel, "Canceled",
	  "Migration failed due to being canceled", MIGRATION_SCHEDULED, true },
	{ "target-ended", set_target_ended, "TargetPodEnded",
	  "Migration failed because target pod shutdown during migration",
	  MIGRATION_PREPARING_TARGET, true },
	{ "target-removed", set_target_removed, "TargetPodRemoved",
	  "Migration target pod was removed during active migration.",
	  MIGRATION_SCHEDULING, true },
	{ "state-cleared", set_state_cleared, "StateCleared",
	  "VMI's migration state was cleared during the active migration.",
	  MIGRATION_TARGET_READY, true },
	{ "state-taken", set_state_taken, "StateTaken",
	  "VMI's migration state was taken over by another migration job "
	  "during active migration.",
	  MIGRATION_RUNNING, true },
	{ "node-failed", set_node_failed, "ReportedByNode",
	  "source node reported migration failed", MIGRATION_RUNNING, false },
	{ "rival", set_rival, "AnotherMigration",
	  "VMI is not eligible for migration because another migration job is "
	  "in progress.",
	  MIGRATION_UNSET, true },
	{ "not-migratable", set_not_migratable, "NotMigratable",
	  "Migration failed because the machine cannot be migrated",
	  MIGRATION_PENDING, true },
	{ "canceled-unstarted", set_canceled_unstarted, "Canceled",
	  "Migration failed due to being canceled", MIGRATION_TARGET_READY,
	  true },
	{ "same-node", set_same_node, "TargetOnSourceNode",
	  "Migration failed because the target pod is on the node that the "
	  "machine runs on",
	  MIGRATION_SCHEDULED, true },
	{ "utility-late", set_utility_late, "UtilityVolumesTimeout",
	  "Migration failed because utility volumes were not detached in "
	  "time",
	  MIGRATION_PENDING, true },
	{ "unschedulable-late", set_unschedulable_late, "UnschedulableTimeout",
	  "Migration target pod was removed during active migration.",
	  MIGRATION_SCHEDULING, true },
	{ "pending-late", set_pending_late, "PendingPodTimeout",
	  "Migration target pod was removed during active migration.",
	  MIGRATION_SCHEDULING, true },
	{ "scheduled-late", set_phase_late, "ScheduledTimeout",
	  "Migration failed because it could not be handed to the nodes in "
	  "time",
	  MIGRATION_SCHEDULED, true },
	{ "preparing-late", set_phase_late, "PreparingTargetTimeout",
	  "Migration failed because the target node did not prepare in time",
	  MIGRATION_PREPARING_TARGET, true },
	{ "ready-late", set_phase_late, "TargetReadyTimeout",
	  "Migration failed because the source node did not start it in "
	  "time",
	  MIGRATION_TARGET_READY, true },
};

static void
test_each_rung_fails_with_its_code_and_text(void **state)
{
	size_t count;
	const struct rung *ladder = ladder_all(&count);

	(void)state;
	assert_int_equal(count, ARRAY_LEN(failures));
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		assert_string_equal(failures[i].rung, ladder[i].name);
		testfacts_in(&t, failures[i].phase);
		failures[i].set();
		run();
		assert_string_equal(d.rule, failures[i].rung);
		assert_int_equal(d.phase, MIGRATION_FAILED);
		assert_int_equal(d.passed_count, 1);
		expect_cond(COND_FAILURE, failures[i].code);
		expect_event(0, false, "FailedMigration", failures[i].event);
		assert_true(d.events[0].warning);
	}
}

static void
test_rungs_that_a_late_cache_explains_ask_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		testfacts_in(&t, failures[i].phase);
		failures[i].set();
		t.f.confirmed = false;
		run();
		assert_string_equal(d.rule, failures[i].rung);
		assert_int_equal(d.confirm, failures[i].asks);
		assert_int_equal(d.phase, failures[i].asks ? failures[i].phase
							   : MIGRATION_FAILED);
		assert_true(!d.confirm || d.action_count == 0);
		assert_true(!d.confirm || !decision_changes_status(&d));
	}
}

/* It may be in the target pod, and nobody can tell. */
static void
test_what_nobody_can_read_keeps_its_pods_until_somebody_can(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	set_machine_unreadable();
	run();
	assert_null(decision_action(&d, ACTION_DELETE_POD));
	assert_false(d.remove_finalizer || d.delete_migration);
	assert_non_null(strstr(find_cond(COND_FAILURE)->message, ": no sense"));
	t.vmim.phase = MIGRATION_FAILED;
	run();
	assert_int_equal(d.action_count, 0);
	assert_false(d.remove_finalizer || d.delete_migration);
	/* It runs where it was. */
	t.f.machine_text = NULL;
	t.f.vmi = &t.vmi;
	t.state.failed = t.state.completed = true;
	run();
	assert_ptr_equal(decision_action(&d, ACTION_DELETE_POD)->pod,
			 &t.target);
	/* Or there is no pod that it could be in. */
	set_machine_unreadable();
	t.f.target_pod = NULL;
	run();
	assert_true(d.remove_finalizer);
	assert_false(d.delete_migration);
}

static void
test_nothing_is_late_a_moment_too_soon(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		if (strstr(failures[i].rung, "-late") == NULL)
			continue;
		testfacts_in(&t, failures[i].phase);
		t.vmim.phase_since_us[t.vmim.phase] = TESTFACTS_NOW_US;
		failures[i].set();
		t.f.now_us =
			TESTFACTS_NOW_US + (t.f.now_us - TESTFACTS_NOW_US) / 3;
		run();
		assert_int_not_equal(d.phase, MIGRATION_FAILED);
	}
}

static void
test_deadlines_can_be_set_or_taken_away(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.vmim.deadlines.preparing_s = 5;
	later(4);
	run();
	assert_string_equal(d.rule, "preparing-late");
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.vmim.deadlines.preparing_s = 0;
	later(1000000);
	run();
	assert_int_equal(d.phase, MIGRATION_PREPARING_TARGET);
	assert_int_equal(d.again_us, DECISION_NEVER);
}

static void
test_a_pod_on_the_machines_node_is_removed_and_never_handed_to(void **state)
{
	(void)state;
	for (enum migration_phase p = MIGRATION_SCHEDULING;
	     p <= MIGRATION_SCHEDULED; p++) {
		testfacts_in(&t, p);
		set_same_node();
		run();
		assert_string_equal(d.rule, "same-node");
		assert_null(decision_action(&d, ACTION_HANDOFF));
		assert_ptr_equal(decision_action(&d, ACTION_DELETE_POD)->pod,
				 &t.target);
	}
}

/* Somebody took the state away after it had moved: it is the machine's pod. */
static void
test_a_pod_that_may_be_the_machines_own_is_not_taken_for_one(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULED);
	set_same_node();
	t.f.source_pod = NULL;
	run();
	assert_int_equal(d.phase, MIGRATION_SCHEDULED);
	assert_null(decision_action(&d, ACTION_DELETE_POD));
	t.f.source_pod = &t.source;
	t.source.phase = POD_FAILED;
	run();
	assert_null(decision_action(&d, ACTION_DELETE_POD));
	cancel();
	run();
	assert_int_equal(d.phase, MIGRATION_FAILED);
	assert_null(decision_action(&d, ACTION_DELETE_POD));
}

/* The guest may run on the target and nobody be there to say so. */
static void
test_what_has_begun_waits_for_the_nodes_however_silent_they_are(void **state)
{
	const struct decision_cond *waiting;

	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	testfacts_cond(&t, abort_cond, canceled_reason);
	t.state.abort_requested = true;
	cancel();
	run();
	assert_int_equal(d.again_us,
			 t.conds[0].since_us + FACTS_ABORT_ANSWER_S * SECOND);
	later(FACTS_ABORT_ANSWER_S);
	run();
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	assert_int_equal(d.action_count, 0);
	assert_int_equal(d.again_us, DECISION_NEVER);
	waiting = find_cond(COND_WAITING);
	assert_string_equal(waiting->reason, WAITING_ABORT);
	assert_non_null(strstr(waiting->message, "do not answer"));
	/* A node answers. */
	t.state.failed = t.state.completed = true;
	run();
	expect_cond(COND_FAILURE, FAILURE_CANCELED);
	assert_ptr_equal(decision_action(&d, ACTION_DELETE_POD)->pod,
			 &t.target);
}

static void
test_a_target_that_has_ended_is_given_up_at_once(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	set_target_ended();
	run();
	assert_non_null(decision_action(&d, ACTION_FAIL_STATE));
	assert_non_null(decision_action(&d, ACTION_DELETE_POD));
}

/* The pod goes, and with it who could be asked. */
static void
test_what_became_of_the_pod_is_kept(void **state)
{
	static char evicted[] = "The node was low on memory.";
	static char exited[] = "no such program";
	static char image[] = "manifest unknown";
	static char nodes[] = "0/2 nodes are available";
	static char type[] = COND_POD_SCHEDULED;
	struct cond cond = { .type = type, .message = nodes };

	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULING);
	set_target_ended();
	t.target.ended_text = exited;
	run();
	assert_non_null(strstr(find_cond(COND_FAILURE)->message,
			       " during migration: no such program"));
	t.target.message = evicted;
	run();
	assert_non_null(strstr(find_cond(COND_FAILURE)->message,
			       ": The node was low on memory."));
	testfacts_in(&t, MIGRATION_SCHEDULING);
	set_pending_late();
	t.target.waiting_message = image;
	run();
	assert_non_null(strstr(find_cond(COND_FAILURE)->message,
			       " migration. manifest unknown"));
	testfacts_in(&t, MIGRATION_SCHEDULING);
	set_unschedulable_late();
	t.target.conds = (struct conds){ .list = &cond, .len = 1 };
	run();
	assert_non_null(strstr(find_cond(COND_FAILURE)->message,
			       " migration. 0/2 nodes are available"));
}

static void
test_what_is_cut_ends_with_a_whole_character(void **state)
{
	static char text[2 * DECISION_TEXT_SIZE];
	const char *message;

	(void)state;
	for (size_t shift = 0; shift < 2; shift++) {
		testfacts_in(&t, MIGRATION_SCHEDULING);
		set_target_ended();
		memset(text, 'x', shift);
		for (size_t i = shift; i + 2 < sizeof(text); i += 2)
			memcpy(text + i, "\xc3\xbc", 3);
		t.target.ended_text = text;
		run();
		message = find_cond(COND_FAILURE)->message;
		assert_true(strlen(message) >= DECISION_TEXT_SIZE - 2);
		assert_int_equal(message[strlen(message) - 1], '\xbc');
	}
}

static void
test_disks_that_hinder_are_told_with_what_would_help(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	t.f.disks_text = "PVC d is not shared. Share it.";
	run();
	assert_string_equal(d.rule, "not-migratable");
	assert_non_null(strstr(find_cond(COND_FAILURE)->message,
			       ": PVC d is not shared. Share it."));
	/* What has begun is for the nodes to judge. */
	testfacts_in(&t, MIGRATION_SCHEDULING);
	t.f.disks_text = "PVC d is not shared. Share it.";
	run();
	assert_int_equal(d.phase, MIGRATION_SCHEDULING);
}

static void
test_networks_are_told_of_one_that_arrived_between_two_looks(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.vmim.phase = MIGRATION_SCHEDULING;
	t.state.domain_ready_us = 1;
	t.state.completed = true;
	run();
	assert_int_equal(d.phase, MIGRATION_SUCCEEDED);
	assert_ptr_equal(decision_action(&d, ACTION_MARK_READY)->pod,
			 &t.target);
}

/* Whoever leads next may find it as new as the one that came second. */
static void
test_one_that_was_handed_off_is_not_second_to_another(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.vmim.phase = MIGRATION_UNSET;
	(void)testfacts_other(&t, -5, MIGRATION_UNSET, 0);
	t.f.other_begun = true;
	run();
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	assert_null(decision_action(&d, ACTION_FAIL_STATE));
}

/* It waited long for a slot, and its phase is not written yet. */
static void
test_utility_volumes_are_late_only_for_what_has_no_pod(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.vmim.phase = MIGRATION_PENDING;
	set_utility_late();
	run();
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	testfacts_in(&t, MIGRATION_SCHEDULING);
	t.vmim.phase = MIGRATION_PENDING;
	set_utility_late();
	run();
	assert_int_equal(d.phase, MIGRATION_SCHEDULING);
}

/* Somebody has written one: nothing would ever lead out of it. */
static void
test_phases_of_half_a_migration_are_not_waited_in(void **state)
{
	(void)state;
	for (enum migration_phase p = MIGRATION_WAITING_FOR_SYNC;
	     p <= MIGRATION_SYNCHRONIZING; p++) {
		testfacts_in(&t, p);
		run();
		assert_int_equal(d.phase, MIGRATION_FAILED);
		expect_cond(COND_FAILURE, FAILURE_UNSUPPORTED);
	}
}

/* The guest may be there: that is for the nodes to say. */
static void
test_what_has_started_is_not_too_late_to_prepare(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.state.start_us = 1;
	set_phase_late();
	run();
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	cancel();
	run();
	assert_int_equal(d.phase, MIGRATION_PREPARING_TARGET);
	assert_int_equal(d.actions[0].kind, ACTION_ABORT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rung_fails_with_its_code_and_text),
		cmocka_unit_test(
			test_rungs_that_a_late_cache_explains_ask_first),
		cmocka_unit_test(
			test_what_nobody_can_read_keeps_its_pods_until_somebody_can),
		cmocka_unit_test(test_nothing_is_late_a_moment_too_soon),
		cmocka_unit_test(test_deadlines_can_be_set_or_taken_away),
		cmocka_unit_test(
			test_a_pod_on_the_machines_node_is_removed_and_never_handed_to),
		cmocka_unit_test(
			test_a_pod_that_may_be_the_machines_own_is_not_taken_for_one),
		cmocka_unit_test(
			test_what_has_begun_waits_for_the_nodes_however_silent_they_are),
		cmocka_unit_test(
			test_a_target_that_has_ended_is_given_up_at_once),
		cmocka_unit_test(test_what_became_of_the_pod_is_kept),
		cmocka_unit_test(test_what_is_cut_ends_with_a_whole_character),
		cmocka_unit_test(
			test_disks_that_hinder_are_told_with_what_would_help),
		cmocka_unit_test(
			test_networks_are_told_of_one_that_arrived_between_two_looks),
		cmocka_unit_test(
			test_one_that_was_handed_off_is_not_second_to_another),
		cmocka_unit_test(
			test_utility_volumes_are_late_only_for_what_has_no_pod),
		cmocka_unit_test(
			test_phases_of_half_a_migration_are_not_waited_in),
		cmocka_unit_test(
			test_what_has_started_is_not_too_late_to_prepare),
	};

	return cmocka_run_group_tests_name("ladder", tests, NULL, NULL);
}
