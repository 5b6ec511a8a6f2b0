/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/decide.h"

#include "api/names.h"
#include "base/test.h"
#include "controller/migration/rank.h"
#include "controller/migration/steps.h"
#include "controller/migration/testdecide.h"

static char text_x[] = "x";

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

static void
test_what_came_before_need_not_be_told_when_what_follows_is(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.state.start_us = 1;
	run();
	assert_int_equal(d.phase, MIGRATION_RUNNING);
	t.state.start_us = 0;
	t.state.completed = true;
	run();
	assert_int_equal(d.phase, MIGRATION_SUCCEEDED);
	assert_int_equal(d.passed_count, 3);
}

static void
test_what_may_have_been_handed_off_gets_no_other_pod(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	t.f.handoff_sent = true;
	run();
	assert_int_equal(d.action_count, 0);
	assert_int_equal(d.again_us, t.f.now_us + SECOND);
}

static void
test_what_may_have_been_handed_off_is_not_looked_at_in_circles(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULING);
	t.f.handoff_sent = true;
	later(CONFIG_PENDING_TIMEOUT_S);
	run();
	assert_int_equal(d.phase, MIGRATION_SCHEDULING);
	assert_int_equal(d.again_us, t.f.now_us + SECOND);
}

static void
test_a_pod_that_is_no_longer_ready_has_its_time_to_become_so(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULED);
	t.vmim.deadlines.scheduled_s = 0;
	t.target.ready = false;
	run();
	assert_int_equal(d.again_us,
			 TESTFACTS_NOW_US + CONFIG_PENDING_TIMEOUT_S * SECOND);
	t.f.now_us = d.again_us;
	run();
	assert_string_equal(d.rule, "pending-late");
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
		cmocka_unit_test(
			test_of_two_that_are_new_the_one_that_has_begun_goes_on),
		cmocka_unit_test(
			test_a_new_one_that_was_handed_off_gets_no_other_pod),
		cmocka_unit_test(test_of_two_new_ones_the_older_begins),
		cmocka_unit_test(
			test_ranks_put_active_first_and_people_before_the_system),
		cmocka_unit_test(
			test_what_came_before_need_not_be_told_when_what_follows_is),
		cmocka_unit_test(
			test_what_may_have_been_handed_off_gets_no_other_pod),
		cmocka_unit_test(
			test_what_may_have_been_handed_off_is_not_looked_at_in_circles),
		cmocka_unit_test(
			test_a_pod_that_is_no_longer_ready_has_its_time_to_become_so),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
