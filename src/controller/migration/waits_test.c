/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/waits.h"

#include <string.h>

#include "api/backoff.h"
#include "api/names.h"
#include "base/test.h"
#include "controller/migration/ladder.h"
#include "controller/migration/testdecide.h"

static char waiting_cond[] = COND_WAITING;
static char quota_cond[] = COND_QUOTA;
static char quota_reason[] = WAITING_QUOTA;
static char failure_cond[] = COND_FAILURE;
static char failure_reason[] = FAILURE_NODE;
static char failure_text[] = "no room";

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

/* Nobody can be moved out of it; and it may be in the target already. */
static void
test_a_source_pod_that_has_ended_is_no_place_to_move_from(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	t.source.phase = POD_FAILED;
	t.f.live_pods = 0;
	expect_waiting(WAITING_SOURCE_POD);
	assert_non_null(strstr(find_cond(COND_WAITING)->message, "has ended"));
	testfacts_in(&t, MIGRATION_SCHEDULED);
	t.source.phase = POD_FAILED;
	expect_waiting(WAITING_SOURCE_POD);
	t.target.node = t.source.node;
	expect_waiting(WAITING_SOURCE_POD);
}

/* Its phase stays, since it was canceled; what is waited for does not. */
static void
test_a_canceled_one_that_has_switched_says_so_in_any_phase(void **state)
{
	(void)state;
	for (enum migration_phase p = MIGRATION_UNSET; p <= MIGRATION_RUNNING;
	     p++) {
		if (p == MIGRATION_WAITING_FOR_SYNC ||
		    p == MIGRATION_SYNCHRONIZING)
			continue;
		testfacts_in(&t, MIGRATION_RUNNING);
		t.vmim.phase = p;
		t.vmim.meta.deleted_us = 1;
		t.state.mode = MODE_POST_COPY;
		expect_waiting(WAITING_TRANSFER);
		t.state.domain_ready_us = 1;
		run();
		assert_non_null(decision_action(&d, ACTION_MARK_READY));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_the_pod_it_says_what_it_waits_for),
		cmocka_unit_test(
			test_back_off_shows_the_next_try_and_why_there_is_one),
		cmocka_unit_test(test_back_off_doubles_until_a_success),
		cmocka_unit_test(test_a_full_target_node_delays_the_hand_off),
		cmocka_unit_test(test_an_unschedulable_pod_is_reported_once),
		cmocka_unit_test(
			test_a_pod_that_is_refused_is_told_and_tried_again),
		cmocka_unit_test(
			test_one_that_has_arrived_says_which_change_it_waits_for),
		cmocka_unit_test(test_quota_is_forgotten_when_the_pod_is_there),
		cmocka_unit_test(
			test_what_a_node_waits_for_is_said_in_its_words),
		cmocka_unit_test(
			test_a_source_pod_that_has_ended_is_no_place_to_move_from),
		cmocka_unit_test(
			test_a_canceled_one_that_has_switched_says_so_in_any_phase),
	};

	return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
