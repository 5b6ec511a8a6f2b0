/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/decide.h"

#include <string.h>

#include "api/names.h"
#include "base/test.h"
#include "handler/testscene.h"
#include "kube/obj.h"

static void
test_a_target_prepares_listens_and_tells(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "b", "Running", true);
	s.node.facts.interfaces = NULL;
	scene_expect(&s, "target-network", STEP_NETWORK);
	s.node.facts.interfaces = s.node.interfaces;
	scene_expect(&s, "target-prepares", STEP_PREPARE);
	testnode_record(&s.node, LAUNCH_TARGET);
	scene_expect(&s, "target-listens", STEP_LISTEN_TARGET);
	s.node.facts.target.uid = TEST_UID;
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "targetNodeAddress"),
			    "10.0.0.2");
	assert_int_equal(js_int_at(s.after,
				   STATE "targetDirectMigrationNodePorts.4712",
				   0),
			 49152);
	assert_string_equal(s.decision.events[0].text,
			    "Migration Target is listening at 10.0.0.2, on "
			    "ports: 4711,4712");
	/* A launcher that knows nothing of listening again. */
	assert_null(js_at(s.after, STATE "targetListensAfterBreaks"));
	scene_end(&s);
}

static void
test_a_target_says_that_it_listens_again(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	scene_begin(&s, "b", "Running", true);
	record = testnode_record(&s.node, LAUNCH_TARGET);
	record->watched = true;
	s.node.facts.target.uid = TEST_UID;
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_int_equal(
		js_int_at(s.after, STATE "targetListensAfterBreaks", -1), 0);
	scene_take_over(&s);
	record->mode = LAUNCH_POST_COPY;
	record->breaks = record->listening = 1;
	/* Nobody could come: without a way it is not said. */
	scene_set_state(&s, "startTimestamp",
			json_string("2023-11-14T22:13:19Z"));
	s.node.facts.proxy_up = false;
	s.node.facts.target.uid = "";
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_int_equal(
		js_int_at(s.after, STATE "targetListensAfterBreaks", -1), 0);
	s.node.facts.proxy_up = true;
	scene_expect(&s, "target-listens", STEP_LISTEN_TARGET);
	s.node.facts.target.uid = TEST_UID;
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_int_equal(
		js_int_at(s.after, STATE "targetListensAfterBreaks", -1), 1);
	scene_end(&s);
}

static void
test_a_target_takes_finalizes_completes_and_tidies_up(void **state)
{
	static char pod_uid[] = "pod-uid", pod_image[] = "launcher:2";
	struct launch_record *record;
	struct scene s;

	(void)state;
	scene_begin(&s, "b", "Running", true);
	testfacts_set(s.machine, "status", "evacuationNodeName",
		      json_string("a"));
	testfacts_set(s.machine, "status", "activePods",
		      json_pack("{s:s}", "left-uid", "a"));
	s.node.pod.meta.uid = pod_uid;
	s.node.pod.compute_image = pod_image;
	record = testnode_record(&s.node, LAUNCH_TARGET);
	record->completed = true;
	record->domain_ready_us = record->end_us = TEST_NOW;
	record->progress.downtime_ms = 70;
	record->progress.blackout_ms = 68;
	scene_set_state(&s, "progress", json_pack("{s:i}", "percent", 97));
	s.node.status.state = LAUNCH_RUNNING;
	s.node.facts.target.uid = TEST_UID;
	scene_expect(&s, "target-takes", STEP_NONE);
	assert_int_equal(js_int_at(s.after, STATE "progress.downtimeMs", 0),
			 70);
	assert_int_equal(js_int_at(s.after, STATE "progress.blackoutMs", 0),
			 68);
	assert_int_equal(js_int_at(s.after, STATE "progress.percent", 0), 100);
	assert_string_equal(scene_text(&s, "status.nodeName"), "b");
	assert_string_equal(obj_label(s.after, LABEL_NODE), "b");
	assert_null(js_at(s.after, "status.evacuationNodeName"));
	/* The pod that it left is not listed any more. */
	assert_string_equal(
		scene_text(&s, "status.launcherContainerImageVersion"),
		"launcher:2");
	assert_int_equal(
		json_object_size(js_obj_at(s.after, "status.activePods")), 1);
	assert_string_equal(scene_text(&s, "status.activePods.pod-uid"), "b");
	scene_take_over(&s);
	scene_expect(&s, "target-finalizes", STEP_FINALIZE);
	s.node.facts.finalized = TEST_UID;
	scene_expect(&s, "target-completes", STEP_NONE);
	assert_true(js_bool_at(s.after, STATE "completed", false));
	scene_take_over(&s);
	scene_expect(&s, "target-over", STEP_STOP_TARGET);
	assert_true(s.decision.finish);
	s.node.facts.target.uid = "";
	scene_expect(&s, "target-over", STEP_NONE);
	assert_null(obj_label(s.after, LABEL_MIGRATION_TARGET_NODE));
	scene_take_over(&s);
	scene_expect(&s, "owner-sweeps", STEP_SWEEP);
	scene_end(&s);
}

static void
test_a_failed_target_is_told_to_go(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "b", "Running", true);
	scene_set_state(&s, "failed", json_true());
	scene_set_state(&s, "completed", json_true());
	testnode_record(&s.node, LAUNCH_TARGET);
	s.node.facts.target.uid = TEST_UID;
	scene_expect(&s, "target-over", STEP_STOP_TARGET);
	assert_false(s.decision.finish);
	s.node.facts.target.uid = "";
	scene_expect(&s, "target-over", STEP_CLEANUP);
	s.node.facts.link = LINK_NONE;
	s.node.facts.status = NULL;
	scene_expect(&s, "target-over", STEP_NONE);
	assert_null(obj_label(s.after, LABEL_MIGRATION_TARGET_NODE));
	scene_end(&s);
}

static void
test_a_machine_of_a_newer_launcher_is_refused_before_it_is_sent(void **state)
{
	static const char newer[] =
		"{\"protocolMin\":1,\"protocolMax\":1,\"program\":"
		"\"ferry-launcher\",\"version\":\"2.0.0\",\"libvirt\":"
		"\"11.0.0\",\"qemu\":\"10.1.0\"}";
	struct scene s;

	(void)state;
	scene_begin(&s, "b", "Running", true);
	testfacts_set(s.machine, "metadata.annotations",
		      ANNOTATION_LAUNCHER_VERSIONS, json_string(newer));
	scene_expect(&s, "target-skewed", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "failureCode"), "VersionSkew");
	assert_non_null(
		strstr(scene_text(&s, STATE "failureReason"), "QEMU 10.1.0"));
	assert_non_null(
		strstr(scene_text(&s, STATE "failureReason"), "QEMU 7.2.22"));
	/* Once it is under way it may be here. */
	scene_set_state(&s, "startTimestamp",
			json_string("2026-01-01T00:00:00Z"));
	scene_expect(&s, "target-prepares", STEP_PREPARE);
	scene_end(&s);
}

/* The target, when the source has told that it is left. */
static struct launch_record *
begin_arrival(struct scene *s)
{
	scene_begin(s, "b", "Running", true);
	scene_set_state(s, "startTimestamp",
			json_string("2023-11-14T22:13:20Z"));
	scene_set_state(s, "endTimestamp", json_string("2023-11-14T22:13:20Z"));
	s->node.facts.target.uid = TEST_UID;
	return testnode_record(&s->node, LAUNCH_TARGET);
}

static void
test_a_target_says_when_nothing_has_come(void **state)
{
	struct scene s;

	(void)state;
	(void)begin_arrival(&s);
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_int_equal(s.decision.again_us, TEST_NOW + DECIDE_ARRIVAL_US);
	s.node.facts.now_us = TEST_NOW + DECIDE_ARRIVAL_US;
	scene_expect(&s, "target-missed", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "failureCode"),
			    "NeverArrived");
	/* But not of a machine that is there. */
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "target-tells", STEP_NONE);
	scene_end(&s);
}

static void
test_half_a_machine_whose_other_half_is_lost_is_given_up(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_arrival(&s);
	record->reason = LAUNCH_REASON_POST_COPY_FAILED;
	record->mode = LAUNCH_POST_COPY;
	record->domain_detected = true;
	s.node.status.state = LAUNCH_PAUSED;
	s.node.status.cause = LAUNCH_CAUSE_POST_COPY_FAILED;
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_int_equal(s.decision.again_us, TEST_NOW + DECIDE_HALF_US);
	s.node.facts.now_us = TEST_NOW + DECIDE_HALF_US;
	scene_expect(&s, "target-missed", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "failureCode"),
			    "PostCopyFailed");
	/* As long as the source has not ended its half can be had. */
	json_object_del(js_obj_at(s.machine, "status.migrationState"),
			"endTimestamp");
	s.node.facts.now_us = TEST_NOW + 100 * DECIDE_ARRIVAL_US;
	scene_expect(&s, "target-tells", STEP_NONE);
	scene_end(&s);
}

/* The source says that all of it has gone; who says here that it stands has not
 * heard of the end yet. */
static void
test_what_was_sent_to_its_end_is_not_given_up_at_once(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_arrival(&s);
	record->reason = LAUNCH_REASON_POST_COPY_FAILED;
	record->mode = LAUNCH_POST_COPY;
	record->domain_detected = true;
	s.node.status.state = LAUNCH_RUNNING;
	s.node.status.cause = LAUNCH_CAUSE_POST_COPY_FAILED;
	scene_set_state(&s, "progress", json_pack("{s:i}", "percent", 100));
	s.node.facts.now_us = TEST_NOW + DECIDE_HALF_US;
	scene_expect(&s, "target-tells", STEP_NONE);
	s.node.facts.now_us = TEST_NOW + DECIDE_ARRIVAL_US;
	scene_expect(&s, "target-missed", STEP_NONE);
	/* One that runs, and of which nothing is missing, is never. */
	record->reason = LAUNCH_REASON_NONE;
	s.node.status.cause = LAUNCH_CAUSE_POST_COPY;
	scene_expect(&s, "target-tells", STEP_NONE);
	scene_end(&s);
}

/* The source has ended with its half, and nobody here has noticed. */
static void
test_half_a_machine_does_not_wait_for_ever_for_the_rest(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_arrival(&s);
	record->mode = LAUNCH_POST_COPY;
	record->domain_detected = true;
	record->domain_ready_us = TEST_NOW;
	s.node.status.state = LAUNCH_RUNNING;
	s.node.status.cause = LAUNCH_CAUSE_POST_COPY;
	scene_set_state(&s, "progress", json_pack("{s:i}", "percent", 60));
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_int_equal(s.decision.again_us, TEST_NOW + DECIDE_ARRIVAL_US);
	s.node.facts.now_us = TEST_NOW + DECIDE_ARRIVAL_US;
	scene_expect(&s, "target-missed", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "failureCode"),
			    "PostCopyFailed");
	/* It had it all. */
	record->completed = true;
	scene_expect(&s, "target-takes", STEP_NONE);
	scene_end(&s);
}

/* It ran there and was lost before anybody had heard of it. */
static void
test_a_target_that_lost_it_says_that_it_has_run(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_arrival(&s);
	record->completed = record->failed = true;
	record->reason = LAUNCH_REASON_MACHINE_ENDED;
	record->domain_ready_us = record->end_us = TEST_NOW;
	scene_expect(&s, "target-fails", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "failureCode"),
			    "MachineEnded");
	assert_non_null(js_at(s.after, STATE "targetNodeDomainReadyTimestamp"));
	scene_end(&s);
}

/* Where the source does not know it is the target who says that it failed, and
 * nothing is to be waited for. */
static void
test_a_target_that_lost_it_says_so_when_the_source_waits(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	scene_begin(&s, "b", "Running", true);
	scene_set_state(&s, "startTimestamp",
			json_string("2023-11-14T22:13:00Z"));
	record = testnode_record(&s.node, LAUNCH_TARGET);
	record->completed = record->failed = true;
	record->reason = LAUNCH_REASON_NEVER_ARRIVED;
	record->end_us = TEST_NOW;
	s.node.facts.target.uid = TEST_UID;
	scene_expect(&s, "target-fails", STEP_NONE);
	assert_null(js_at(s.after, STATE "failed"));
	scene_set_state(&s, "endTimestamp",
			json_string("2023-11-14T22:13:19Z"));
	scene_expect(&s, "target-fails", STEP_NONE);
	assert_true(js_bool_at(s.after, STATE "failed", false));
	scene_end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_machine_of_a_newer_launcher_is_refused_before_it_is_sent),
		cmocka_unit_test(test_a_target_prepares_listens_and_tells),
		cmocka_unit_test(test_a_target_says_that_it_listens_again),
		cmocka_unit_test(
			test_a_target_takes_finalizes_completes_and_tidies_up),
		cmocka_unit_test(test_a_failed_target_is_told_to_go),
		cmocka_unit_test(test_a_target_says_when_nothing_has_come),
		cmocka_unit_test(
			test_half_a_machine_whose_other_half_is_lost_is_given_up),
		cmocka_unit_test(
			test_a_target_that_lost_it_says_so_when_the_source_waits),
		cmocka_unit_test(
			test_what_was_sent_to_its_end_is_not_given_up_at_once),
		cmocka_unit_test(
			test_half_a_machine_does_not_wait_for_ever_for_the_rest),
		cmocka_unit_test(
			test_a_target_that_lost_it_says_that_it_has_run),
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
