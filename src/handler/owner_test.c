/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/decide.h"

#include "api/names.h"
#include "base/test.h"
#include "handler/testscene.h"
#include "kube/conditions.h"
#include "kube/obj.h"

static void
test_a_scheduled_machine_gets_its_network_then_starts_then_runs(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Scheduled", false);
	s.node.facts.interfaces = NULL;
	scene_expect(&s, "owner-network", STEP_NETWORK);
	s.node.facts.interfaces = s.node.interfaces;
	scene_expect(&s, "owner-starts", STEP_SYNC);
	s.node.status.state = LAUNCH_STARTING;
	scene_expect(&s, "owner-runs", STEP_NONE);
	assert_string_equal(scene_text(&s, "status.phase"), "Scheduled");
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "owner-runs", STEP_NONE);
	assert_string_equal(scene_text(&s, "status.phase"), "Running");
	assert_string_equal(scene_text(&s, "status.migrationMethod"),
			    "LiveMigration");
	assert_true(condition_is_true(js_at(s.after, "status.conditions"),
				      COND_LIVE_MIGRATABLE));
	assert_string_equal(s.decision.events[0].reason, "Started");
	scene_end(&s);
}

static void
test_a_running_machine_without_a_domain_is_not_started_twice(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	scene_expect(&s, "owner-starts", STEP_NONE);
	assert_true(s.decision.again_us < DECISION_NEVER);
	scene_end(&s);
}

static void
test_nothing_is_written_that_is_there_already(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "owner-tells", STEP_NONE);
	scene_take_over(&s);
	scene_expect(&s, "owner-tells", STEP_NONE);
	assert_null(wishes_patch(&s.decision.wishes, s.machine));
	scene_end(&s);
}

static void
test_the_end_of_a_domain_is_the_end_of_its_machine(void **state)
{
	static const struct {
		enum launch_state state;
		enum launch_cause cause;
		const char *phase;
	} cases[] = {
		{ LAUNCH_STOPPED, LAUNCH_CAUSE_GUEST, "Succeeded" },
		{ LAUNCH_STOPPED, LAUNCH_CAUSE_REQUEST, "Succeeded" },
		{ LAUNCH_STOPPED, LAUNCH_CAUSE_START_FAILED, "Failed" },
		{ LAUNCH_CRASHED, LAUNCH_CAUSE_QEMU_GONE, "Failed" },
		{ LAUNCH_CRASHED, LAUNCH_CAUSE_CRASHED, "Failed" },
	};
	struct scene s;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scene_begin(&s, "a", "Running", false);
		s.node.status.state = cases[i].state;
		s.node.status.cause = cases[i].cause;
		scene_expect(&s, "owner-stopped", STEP_NONE);
		assert_string_equal(scene_text(&s, "status.phase"),
				    cases[i].phase);
		scene_end(&s);
	}
}

static void
test_the_failure_of_its_pod_is_that_of_a_machine(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	scene_end_pod(&s, POD_FAILED);
	scene_expect(&s, "owner-pod-down", STEP_NONE);
	assert_string_equal(scene_text(&s, "status.phase"), "Failed");
	scene_end(&s);
}

static void
test_a_pod_that_ended_by_itself_is_for_the_controller(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	scene_end_pod(&s, POD_SUCCEEDED);
	scene_expect(&s, "owner-waits", STEP_NONE);
	assert_string_equal(scene_text(&s, "status.phase"), "Running");
	scene_end(&s);
}

static void
test_a_domain_that_went_elsewhere_is_no_end(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	s.node.status.state = LAUNCH_STOPPED;
	s.node.status.cause = LAUNCH_CAUSE_MIGRATED;
	scene_expect(&s, "owner-left", STEP_NONE);
	assert_string_equal(scene_text(&s, "status.phase"), "Running");
	scene_end(&s);
}

static void
test_a_deleted_machine_is_shut_down_within_its_grace(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	testfacts_set(s.machine, "metadata", "deletionTimestamp",
		      json_string("2026-01-01T00:00:00Z"));
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "owner-deleted", STEP_SHUTDOWN);
	assert_int_equal(s.decision.grace_s, 30);
	/* Not again and again, for as long as it does not show. */
	s.node.facts.shutdown_us = TEST_NOW;
	scene_expect(&s, "owner-deleted", STEP_NONE);
	assert_int_equal(s.decision.again_us, TEST_NOW + DECIDE_SHUTDOWN_US);
	s.node.facts.now_us = TEST_NOW + DECIDE_SHUTDOWN_US;
	scene_expect(&s, "owner-deleted", STEP_SHUTDOWN);
	s.node.status.state = LAUNCH_SHUTTING_DOWN;
	scene_expect(&s, "owner-deleted", STEP_NONE);
	s.node.status.state = LAUNCH_RUNNING;
	testfacts_set(s.machine, "spec", "terminationGracePeriodSeconds",
		      json_integer(0));
	scene_expect(&s, "owner-deleted", STEP_KILL);
	scene_end(&s);
}

static void
test_a_request_to_pause_is_answered_once(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	obj_set_annotation(s.machine, ANNOTATION_PAUSE_REQUESTED, "true");
	obj_set_annotation(s.machine, ANNOTATION_PAUSE_ID, "7");
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "owner-pauses", STEP_PAUSE);
	s.node.status.state = LAUNCH_PAUSED;
	s.node.status.cause = LAUNCH_CAUSE_USER;
	scene_expect(&s, "owner-pauses", STEP_NONE);
	assert_string_equal(obj_annotation(s.after, ANNOTATION_PAUSE_ANSWERED),
			    "7");
	assert_true(condition_is_true(js_at(s.after, "status.conditions"),
				      COND_PAUSED));
	scene_take_over(&s);
	scene_expect(&s, "owner-tells", STEP_NONE);
	scene_end(&s);
}

static void
test_a_pause_that_fails_is_answered_with_why(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	obj_set_annotation(s.machine, ANNOTATION_PAUSE_REQUESTED, "true");
	obj_set_annotation(s.machine, ANNOTATION_PAUSE_ID, "7");
	s.node.status.state = LAUNCH_RUNNING;
	s.node.facts.pause_failure = "no such domain";
	scene_expect(&s, "owner-pauses", STEP_NONE);
	assert_string_equal(obj_annotation(s.after, ANNOTATION_PAUSE_FAILURE),
			    "no such domain");
	scene_end(&s);
}

static void
test_a_machine_says_what_it_runs_with(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "owner-tells", STEP_NONE);
	assert_string_equal(
		obj_annotation(s.after, ANNOTATION_LAUNCHER_VERSIONS),
		"{\"libvirt\":\"9.0.0\",\"program\":\"ferry-launcher\","
		"\"protocolMax\":1,\"protocolMin\":1,\"qemu\":\"7.2.22\","
		"\"version\":\"1.0.0\"}");
	scene_end(&s);
}

static void
test_the_network_of_a_machine_is_looked_at_now_and_then(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "owner-tells", STEP_NONE);
	assert_int_equal(s.decision.again_us, TEST_NOW + DECIDE_MEND_US);
	s.node.facts.now_us = TEST_NOW + DECIDE_MEND_US;
	scene_expect(&s, "owner-mends", STEP_NETWORK);
	/* Whatever becomes of that, the rest is told. */
	assert_true(condition_is_true(js_at(s.after, "status.conditions"),
				      COND_LIVE_MIGRATABLE));
	scene_end(&s);
}

/* What could not be stopped while there was no way to the proxy. */
static void
test_a_machine_at_rest_has_no_listeners(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	s.node.status.state = LAUNCH_RUNNING;
	s.node.facts.target.uid = "?";
	s.node.facts.source.uid = "?";
	scene_expect(&s, "owner-hushes", STEP_STOP_TARGET);
	s.node.facts.target.uid = "";
	scene_expect(&s, "owner-hushes", STEP_STOP_SOURCE);
	s.node.facts.source.uid = "";
	scene_expect(&s, "owner-tells", STEP_NONE);
	scene_end(&s);
}

static void
test_sockets_of_a_killed_proxy_are_removed_once(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	scene_set_state(&s, "failed", json_true());
	scene_set_state(&s, "completed", json_true());
	record->completed = record->failed = true;
	s.node.facts.source.uid = "";
	scene_expect(&s, "owner-sweeps", STEP_SWEEP);
	s.node.facts.swept = TEST_UID;
	scene_expect(&s, "owner-tells", STEP_NONE);
	scene_end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_scheduled_machine_gets_its_network_then_starts_then_runs),
		cmocka_unit_test(
			test_a_running_machine_without_a_domain_is_not_started_twice),
		cmocka_unit_test(test_nothing_is_written_that_is_there_already),
		cmocka_unit_test(test_a_machine_says_what_it_runs_with),
		cmocka_unit_test(
			test_the_network_of_a_machine_is_looked_at_now_and_then),
		cmocka_unit_test(test_a_machine_at_rest_has_no_listeners),
		cmocka_unit_test(
			test_the_end_of_a_domain_is_the_end_of_its_machine),
		cmocka_unit_test(
			test_the_failure_of_its_pod_is_that_of_a_machine),
		cmocka_unit_test(
			test_a_pod_that_ended_by_itself_is_for_the_controller),
		cmocka_unit_test(test_a_domain_that_went_elsewhere_is_no_end),
		cmocka_unit_test(
			test_a_deleted_machine_is_shut_down_within_its_grace),
		cmocka_unit_test(test_a_request_to_pause_is_answered_once),
		cmocka_unit_test(test_a_pause_that_fails_is_answered_with_why),
		cmocka_unit_test(
			test_sockets_of_a_killed_proxy_are_removed_once),
	};

	return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
