/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/decide.h"

#include "api/names.h"
#include "base/array.h"
#include "base/test.h"
#include "base/testjson.h"
#include "handler/testscene.h"

static void
test_a_machine_that_ends_before_it_leaves_is_not_waited_for(void **state)
{
	static const enum launch_state ends[] = { LAUNCH_STOPPED,
						  LAUNCH_CRASHED };
	struct scene s;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		scene_begin(&s, "a", "Running", true);
		if (i >= 2)
			scene_set_state(&s, "startTimestamp",
					json_string("2026-01-01T00:00:00Z"));
		s.node.status.state = ends[i % 2];
		scene_expect(&s, "source-stopped", STEP_NONE);
		assert_true(js_bool_at(s.after, STATE "failed", false));
		assert_string_equal(scene_text(&s, STATE "failureCode"),
				    "MachineEnded");
		scene_end(&s);
	}
}

static void
test_a_source_does_not_begin_where_the_targets_ports_make_no_sense(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", true);
	s.node.status.state = LAUNCH_RUNNING;
	scene_make_target_ready(&s);
	scene_set_state(&s, "targetDirectMigrationNodePorts",
			json_pack("{s:i}", "none", 0));
	scene_expect(&s, "source-puzzled", STEP_NONE);
	assert_string_equal(
		scene_text(&s, STATE "sourceWaitsFor"),
		"the ports that the target node listens on make no sense");
	scene_make_target_ready(&s);
	scene_expect(&s, "source-listens", STEP_LISTEN_SOURCE);
	scene_end(&s);
}

static void
test_a_source_waits_listens_claims_and_begins(void **state)
{
	struct scene s;
	json_t *patch;

	(void)state;
	scene_begin(&s, "a", "Running", true);
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "source-listens", STEP_NONE);
	scene_make_target_ready(&s);
	scene_expect(&s, "source-listens", STEP_LISTEN_SOURCE);
	s.node.facts.source.uid = TEST_UID;
	scene_expect(&s, "source-claims", STEP_NONE);
	/* Onto the object as it was seen, and no other. */
	patch = wishes_patch(&s.decision.wishes, s.machine);
	assert_string_equal(js_str_at(json_array_get(patch, 1), "path"),
			    "/metadata/resourceVersion");
	json_decref(patch);
	scene_take_over(&s);
	scene_expect(&s, "source-begins", STEP_MIGRATE);
	scene_end(&s);
}

static void
test_a_source_that_is_canceled_before_it_began_does_not(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", true);
	s.node.status.state = LAUNCH_RUNNING;
	scene_make_target_ready(&s);
	scene_set_state(&s, "abortRequested", json_true());
	s.node.facts.source.uid = TEST_UID;
	scene_expect(&s, "source-unstarted", STEP_STOP_SOURCE);
	s.node.facts.source.uid = "";
	scene_expect(&s, "source-unstarted", STEP_NONE);
	/* The start was written, and the handler died before it was made. */
	scene_set_state(&s, "startTimestamp",
			json_string("2026-01-01T00:00:00Z"));
	s.node.facts.source.uid = TEST_UID;
	scene_expect(&s, "source-begins", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "failureCode"), "Canceled");
	scene_end(&s);
}

static void
test_a_transfer_shows_its_progress(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	record->mode = LAUNCH_POST_COPY;
	record->progress.percent = 42;
	scene_expect(&s, "source-runs", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "mode"), "PostCopy");
	assert_int_equal(js_int_at(s.after, STATE "progress.percent", 0), 42);
	scene_end(&s);
}

static void
test_half_a_machine_that_ends_is_not_waited_for_without_end(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	s.node.status.state = LAUNCH_CRASHED;
	scene_expect(&s, "source-runs", STEP_NONE);
	record->mode = LAUNCH_POST_COPY;
	scene_expect(&s, "source-halved", STEP_NONE);
	assert_true(json_is_string(js_at(s.after, STATE "endTimestamp")));
	/* The target may have it all, and has its time to say so. */
	scene_take_over(&s);
	scene_expect(&s, "source-halved", STEP_NONE);
	assert_false(js_bool_at(s.after, STATE "failed", false));
	s.node.facts.now_us += DECIDE_ARRIVAL_US;
	scene_expect(&s, "source-halved", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "failureCode"),
			    "MachineEnded");
	scene_end(&s);
}

static void
test_an_abort_is_passed_on_and_cuts_what_does_not_end(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	scene_set_state(&s, "abortRequested", json_true());
	scene_expect(&s, "source-aborts", STEP_CANCEL);
	record->abort = LAUNCH_ABORTING;
	scene_expect(&s, "source-aborts", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "abortStatus"), "Aborting");
	record->cut_streams = true;
	scene_expect(&s, "source-aborts", STEP_STOP_SOURCE);
	/* A guest that is on both nodes needs the way between them. */
	record->mode = LAUNCH_POST_COPY;
	scene_expect(&s, "source-aborts", STEP_NONE);
	record->completed = record->failed = true;
	record->abort = LAUNCH_ABORT_SUCCEEDED;
	record->reason = LAUNCH_REASON_CANCELED;
	record->end_us = TEST_NOW;
	scene_expect(&s, "source-fails", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "abortStatus"), "Succeeded");
	assert_string_equal(scene_text(&s, STATE "failureCode"), "Canceled");
	scene_end(&s);
}

static const char *
paused_reason(const struct scene *s)
{
	return js_str_at(js_find(js_arr_at(s->after, "status.conditions"),
				 "type", COND_PAUSED),
			 "reason");
}

static void
test_a_broken_post_copy_is_taken_up_again_and_never_given_up(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	record->mode = LAUNCH_POST_COPY;
	record->reason = LAUNCH_REASON_POST_COPY_FAILED;
	record->end_us = TEST_NOW;
	s.node.status.state = LAUNCH_PAUSED;
	s.node.status.cause = LAUNCH_CAUSE_POST_COPY_FAILED;
	scene_expect(&s, "source-recovers", STEP_RECOVER);
	assert_false(js_bool_at(s.after, STATE "failed", false));
	assert_string_equal(paused_reason(&s), "PostCopyFailed");
	scene_take_over(&s);
	/* While that is tried there is nothing else to do, and it stands. */
	record->reason = LAUNCH_REASON_NONE;
	scene_expect(&s, "source-runs", STEP_NONE);
	assert_string_equal(paused_reason(&s), "PostCopyFailed");
	record->reason = LAUNCH_REASON_POST_COPY_FAILED;
	s.node.facts.now_us = TEST_NOW + 100 * DECIDE_ARRIVAL_US;
	scene_expect(&s, "source-recovers", STEP_RECOVER);
	/* Nothing can be taken up without a way. */
	s.node.facts.proxy_up = false;
	scene_expect(&s, "source-recovers", STEP_NONE);
	s.node.facts.proxy_up = true;
	/* It goes on. */
	record->reason = LAUNCH_REASON_NONE;
	s.node.status.cause = LAUNCH_CAUSE_POST_COPY;
	scene_expect(&s, "source-runs", STEP_NONE);
	assert_string_equal(paused_reason(&s), "");
	scene_end(&s);
}

/* QEMU on the target has to listen first, and again after each break. */
static void
test_a_broken_post_copy_waits_for_the_target_to_listen(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	record->mode = LAUNCH_POST_COPY;
	record->reason = LAUNCH_REASON_POST_COPY_FAILED;
	record->end_us = TEST_NOW;
	record->watched = true;
	s.node.status.state = LAUNCH_PAUSED;
	s.node.status.cause = LAUNCH_CAUSE_POST_COPY_FAILED;
	/* A target that knows nothing of it: libvirt asks there. */
	scene_expect(&s, "source-recovers", STEP_RECOVER);
	assert_false(s.decision.listening);
	/* QEMU here has noticed nothing, and may not have to. */
	scene_set_state(&s, "targetListensAfterBreaks", json_integer(0));
	scene_expect(&s, "source-recovers", STEP_NONE);
	record->breaks = 1;
	scene_expect(&s, "source-recovers", STEP_NONE);
	assert_true(s.decision.again_us < DECISION_NEVER);
	assert_string_equal(paused_reason(&s), "PostCopyFailed");
	scene_set_state(&s, "targetListensAfterBreaks", json_integer(1));
	scene_expect(&s, "source-recovers", STEP_RECOVER);
	assert_true(s.decision.listening);
	/* That word is of the break before. */
	record->mended = 1;
	record->breaks = 2;
	scene_expect(&s, "source-recovers", STEP_NONE);
	scene_set_state(&s, "targetListensAfterBreaks", json_integer(2));
	scene_expect(&s, "source-recovers", STEP_RECOVER);
	scene_take_over(&s);
	/* It goes on, which libvirt does not notice. */
	record->reason = LAUNCH_REASON_NONE;
	record->mended = 2;
	scene_expect(&s, "source-runs", STEP_NONE);
	assert_string_equal(paused_reason(&s), "");
	/* A machine that has no second monitor. */
	*record = (struct launch_record){
		.uid = record->uid,
		.message = record->message,
		.role = LAUNCH_SOURCE,
		.mode = LAUNCH_POST_COPY,
		.reason = LAUNCH_REASON_POST_COPY_FAILED,
	};
	scene_expect(&s, "source-recovers", STEP_RECOVER);
	assert_false(s.decision.listening);
	scene_end(&s);
}

static void
test_a_source_that_gave_the_machine_away_does_not_give_it_up(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	s.node.status.state = LAUNCH_STOPPED;
	s.node.status.cause = LAUNCH_CAUSE_MIGRATED;
	record->completed = true;
	record->end_us = TEST_NOW;
	/* However long the target says nothing: it may run there. */
	s.node.facts.now_us = TEST_NOW + 10 * DECIDE_ARRIVAL_US;
	scene_expect(&s, "source-awaits", STEP_NONE);
	assert_true(scene_text(&s, STATE "endTimestamp")[0] != '\0');
	assert_false(js_bool_at(s.after, STATE "failed", false));
	/* The launcher ends, and so does its pod. */
	scene_end_pod(&s, POD_SUCCEEDED);
	scene_expect(&s, "source-pod-down", STEP_NONE);
	assert_true(scene_text(&s, STATE "endTimestamp")[0] != '\0');
	assert_false(js_bool_at(s.after, STATE "failed", false));
	scene_end(&s);
}

/* libvirtd was away for so long that nobody has seen what became of it. */
static void
test_a_half_that_was_not_seen_has_not_left(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	record->mode = LAUNCH_POST_COPY;
	record->reason = LAUNCH_REASON_UNCONFIRMED;
	record->end_us = TEST_NOW;
	s.node.status.state = LAUNCH_PAUSED;
	scene_expect(&s, "source-unconfirmed", STEP_NONE);
	assert_null(js_at(s.after, STATE "endTimestamp"));
	assert_true(s.decision.again_us < DECISION_NEVER);
	/* It is back, and so is its half. */
	record->reason = LAUNCH_REASON_POST_COPY_FAILED;
	scene_expect(&s, "source-recovers", STEP_RECOVER);
	assert_null(js_at(s.after, STATE "endTimestamp"));
	scene_end(&s);
}

static void
test_what_was_not_confirmed_waits_for_the_target(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	record->reason = LAUNCH_REASON_UNCONFIRMED;
	record->end_us = TEST_NOW;
	s.node.status.state = LAUNCH_PAUSED;
	scene_expect(&s, "source-unconfirmed", STEP_NONE);
	assert_non_null(js_at(s.after, STATE "endTimestamp"));
	assert_false(js_bool_at(s.after, STATE "failed", false));
	/* An abort does not make it known. */
	scene_set_state(&s, "abortRequested", json_true());
	scene_expect(&s, "source-unconfirmed", STEP_NONE);
	/* The target has given it up. */
	scene_set_state(&s, "failed", json_true());
	scene_set_state(&s, "completed", json_true());
	scene_expect(&s, "source-over", STEP_STOP_SOURCE);
	s.node.facts.source.uid = "";
	scene_expect(&s, "source-past", STEP_CANCEL);
	/* What has run on there must not run on from here. */
	scene_set_state(&s, "targetNodeDomainReadyTimestamp",
			json_string("2023-11-14T22:13:19Z"));
	scene_expect(&s, "source-past", STEP_KILL);
	scene_end(&s);
}

/* With a disk that both nodes write to. */
static void
share_disk(json_t *machine)
{
	testfacts_set(machine, "spec.domain.devices", "disks",
		      testjson("[{'name': 'data', 'disk': {}}]"));
	testfacts_set(machine, "spec", "volumes",
		      testjson("[{'name': 'data', 'persistentVolumeClaim': "
			       "{'claimName': 'data'}}]"));
}

static void
test_what_may_have_run_elsewhere_is_taken_back_without_shared_disks_only(
	void **state)
{
	/* NULL: the controller's word, with which there is none. */
	static const struct {
		const char *code;
		bool shared;
		enum step step;
	} cases[] = {
		{ "NeverArrived", false, STEP_CANCEL },
		{ "NeverArrived", true, STEP_CANCEL },
		{ "TargetPodEnded", false, STEP_CANCEL },
		{ "TargetPodEnded", true, STEP_KILL },
		{ "MachineEnded", true, STEP_KILL },
		{ NULL, false, STEP_CANCEL },
		{ NULL, true, STEP_KILL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct launch_record *record;
		struct scene s;

		record = scene_begin_transfer(&s);
		record->reason = LAUNCH_REASON_UNCONFIRMED;
		record->end_us = TEST_NOW;
		s.node.status.state = LAUNCH_PAUSED;
		s.node.facts.source.uid = "";
		if (cases[i].shared)
			share_disk(s.machine);
		scene_set_state(&s, "endTimestamp",
				json_string("2023-11-14T22:13:20Z"));
		scene_set_state(&s, "failed", json_true());
		scene_set_state(&s, "completed", json_true());
		if (cases[i].code != NULL)
			scene_set_state(&s, "failureCode",
					json_string(cases[i].code));
		scene_expect(&s, "source-past", cases[i].step);
		scene_end(&s);
	}
}

static void
test_disks_that_go_along_or_are_only_read_are_not_shared(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	record->reason = LAUNCH_REASON_UNCONFIRMED;
	s.node.status.state = LAUNCH_PAUSED;
	s.node.facts.source.uid = "";
	scene_set_state(&s, "failed", json_true());
	scene_set_state(&s, "completed", json_true());
	share_disk(s.machine);
	scene_expect(&s, "source-past", STEP_KILL);
	/* It is copied. */
	testfacts_set(s.machine, "status", "migratedVolumes",
		      testjson("[{'volumeName': 'data'}]"));
	scene_expect(&s, "source-past", STEP_CANCEL);
	json_object_del(js_obj_at(s.machine, "status"), "migratedVolumes");
	testfacts_set(s.machine, "spec.domain.devices", "disks",
		      testjson("[{'name': 'data', 'disk': {'readonly': "
			       "true}}]"));
	scene_expect(&s, "source-past", STEP_CANCEL);
	scene_end(&s);
}

static void
test_a_connection_that_breaks_is_explained_by_the_proxy(void **state)
{
	static char broke[] = "The connection to the target broke";
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	record->completed = record->failed = true;
	record->reason = LAUNCH_REASON_CONNECTION_LOST;
	record->message = broke;
	scene_expect(&s, "source-blames", STEP_BLAME);
	s.node.facts.blame_uid = TEST_UID;
	s.node.facts.blame_code = "WrongNode";
	s.node.facts.blame_text = "peer is 'c', expected 'b'";
	scene_expect(&s, "source-fails", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "failureCode"),
			    "ConnectionLost");
	assert_string_equal(scene_text(&s, STATE "failureReason"),
			    "The connection to the target broke; ferry-proxy: "
			    "WrongNode: peer is 'c', expected 'b'");
	scene_end(&s);
}

/* The target was lost in post-copy: what stands here is half a machine. */
static void
test_half_a_machine_whose_other_half_is_lost_is_killed(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = scene_begin_transfer(&s);
	record->mode = LAUNCH_POST_COPY;
	record->abort = LAUNCH_ABORT_FAILED;
	s.node.status.state = LAUNCH_PAUSED;
	s.node.status.cause = LAUNCH_CAUSE_POST_COPY;
	scene_set_state(&s, "failed", json_true());
	scene_set_state(&s, "completed", json_true());
	scene_expect(&s, "source-over", STEP_STOP_SOURCE);
	s.node.facts.source.uid = "";
	s.node.facts.swept = TEST_UID;
	/* Perhaps it is not half a machine after all. */
	scene_expect(&s, "owner-tells", STEP_NONE);
	assert_int_equal(s.decision.again_us, TEST_NOW + DECIDE_RETRY_US);
	record->reason = LAUNCH_REASON_POST_COPY_FAILED;
	scene_expect(&s, "source-past", STEP_KILL);
	record->abort = LAUNCH_ABORT_NONE;
	scene_expect(&s, "source-past", STEP_KILL);
	/* Then its machine has ended, and not by its own will. */
	record->completed = record->failed = true;
	record->reason = LAUNCH_REASON_MACHINE_ENDED;
	s.node.status.state = LAUNCH_CRASHED;
	s.node.status.cause = LAUNCH_CAUSE_KILLED;
	scene_expect(&s, "owner-stopped", STEP_NONE);
	assert_string_equal(scene_text(&s, "status.phase"), "Failed");
	scene_end(&s);
}

static void
test_a_failure_of_the_controller_reaches_the_launcher(void **state)
{
	struct scene s;

	(void)state;
	(void)scene_begin_transfer(&s);
	scene_set_state(&s, "failed", json_true());
	scene_set_state(&s, "completed", json_true());
	scene_expect(&s, "source-over", STEP_STOP_SOURCE);
	s.node.facts.source.uid = "";
	scene_expect(&s, "source-past", STEP_CANCEL);
	scene_end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_machine_that_ends_before_it_leaves_is_not_waited_for),
		cmocka_unit_test(
			test_a_source_does_not_begin_where_the_targets_ports_make_no_sense),
		cmocka_unit_test(test_a_source_waits_listens_claims_and_begins),
		cmocka_unit_test(
			test_a_source_that_is_canceled_before_it_began_does_not),
		cmocka_unit_test(test_a_transfer_shows_its_progress),
		cmocka_unit_test(
			test_half_a_machine_that_ends_is_not_waited_for_without_end),
		cmocka_unit_test(
			test_an_abort_is_passed_on_and_cuts_what_does_not_end),
		cmocka_unit_test(
			test_a_broken_post_copy_is_taken_up_again_and_never_given_up),
		cmocka_unit_test(
			test_a_broken_post_copy_waits_for_the_target_to_listen),
		cmocka_unit_test(
			test_a_source_that_gave_the_machine_away_does_not_give_it_up),
		cmocka_unit_test(
			test_half_a_machine_whose_other_half_is_lost_is_killed),
		cmocka_unit_test(
			test_a_failure_of_the_controller_reaches_the_launcher),
		cmocka_unit_test(
			test_a_connection_that_breaks_is_explained_by_the_proxy),
		cmocka_unit_test(
			test_what_was_not_confirmed_waits_for_the_target),
		cmocka_unit_test(test_a_half_that_was_not_seen_has_not_left),
		cmocka_unit_test(
			test_what_may_have_run_elsewhere_is_taken_back_without_shared_disks_only),
		cmocka_unit_test(
			test_disks_that_go_along_or_are_only_read_are_not_shared),
	};

	return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
