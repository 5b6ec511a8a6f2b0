/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/decide.h"

#include <string.h>

#include "api/names.h"
#include "base/test.h"
#include "handler/testscene.h"
#include "kube/obj.h"

static void
test_a_pod_that_is_not_seen_yet_fails_nothing(void **state)
{
	struct scene s;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		scene_begin(&s, i == 0 ? "a" : "b", "Running", true);
		s.node.facts.pod = NULL;
		s.node.facts.link = LINK_NONE;
		s.node.facts.status = NULL;
		scene_expect(&s, i == 0 ? "source-waits" : "target-waits",
			     STEP_NONE);
		assert_false(js_bool_at(s.after, STATE "failed", false));
		s.node.pod.phase = POD_FAILED;
		s.node.facts.pod = &s.node.pod;
		scene_expect(&s, i == 0 ? "source-pod-down" : "target-pod-down",
			     STEP_NONE);
		assert_true(js_bool_at(s.after, STATE "failed", false));
		scene_end(&s);
	}
}

static void
test_launchers_of_other_versions_fail_it_as_what_it_is(void **state)
{
	struct scene s;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		scene_begin(&s, i == 0 ? "a" : "b", "Running", true);
		s.node.facts.link = LINK_REFUSED;
		s.node.facts.link_text = "protocol 1 here, 2 there";
		s.node.facts.status = NULL;
		scene_expect(&s, i == 0 ? "source-refused" : "target-refused",
			     STEP_NONE);
		assert_string_equal(scene_text(&s, STATE "failureCode"),
				    "VersionSkew");
		assert_string_equal(scene_text(&s, STATE "failureReason"),
				    "protocol 1 here, 2 there");
		scene_end(&s);
	}
}

static void
test_without_a_proxy_a_migration_waits_and_says_so(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "b", "Running", true);
	(void)testnode_record(&s.node, LAUNCH_TARGET);
	s.node.facts.proxy_up = false;
	scene_expect(&s, "target-listens", STEP_NONE);
	assert_non_null(strstr(scene_text(&s, STATE "targetWaitsFor"), "'b'"));
	assert_string_equal(s.decision.events[0].reason,
			    EVENT_PROXY_UNAVAILABLE);
	assert_true(s.decision.again_us < DECISION_NEVER);
	scene_take_over(&s);
	s.node.facts.proxy_up = true;
	scene_expect(&s, "target-listens", STEP_LISTEN_TARGET);
	s.node.facts.target.uid = TEST_UID;
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_null(js_at(s.after, STATE "targetWaitsFor"));
	scene_end(&s);

	scene_begin(&s, "a", "Running", true);
	s.node.status.state = LAUNCH_RUNNING;
	scene_make_target_ready(&s);
	s.node.facts.proxy_up = false;
	scene_expect(&s, "source-listens", STEP_NONE);
	assert_non_null(strstr(scene_text(&s, STATE "sourceWaitsFor"), "'a'"));
	scene_take_over(&s);
	s.node.facts.proxy_up = true;
	s.node.facts.source.uid = TEST_UID;
	scene_expect(&s, "source-claims", STEP_NONE);
	assert_null(js_at(s.after, STATE "sourceWaitsFor"));
	scene_end(&s);
}

/* A cancel needs no proxy, nor does the end of what was under way. */
static void
test_without_a_proxy_what_has_begun_comes_to_its_end(void **state)
{
	struct launch_record *r;
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", true);
	s.node.status.state = LAUNCH_RUNNING;
	s.node.facts.proxy_up = false;
	scene_make_target_ready(&s);
	scene_set_state(&s, "abortRequested", json_true());
	scene_set_state(&s, "startTimestamp",
			json_string("2026-01-01T00:00:00Z"));
	scene_expect(&s, "source-begins", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "failureCode"), "Canceled");
	scene_end(&s);

	scene_begin(&s, "b", "Running", true);
	s.node.facts.proxy_up = false;
	s.node.facts.target.address = "";
	scene_make_target_ready(&s);
	scene_set_state(&s, "startTimestamp",
			json_string("2026-01-01T00:00:00Z"));
	r = testnode_record(&s.node, LAUNCH_TARGET);
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_string_equal(scene_text(&s, STATE "targetNodeAddress"),
			    "10.0.0.2");
	r->completed = true;
	r->end_us = TEST_NOW;
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "target-takes", STEP_NONE);
	/* The end of it all is for others to see, listener or not. */
	scene_set_state(&s, "completed", json_true());
	scene_expect(&s, "target-over", STEP_NONE);
	assert_null(obj_label(s.after, LABEL_MIGRATION_TARGET_NODE));
	scene_end(&s);
}

static void
test_what_has_begun_is_not_failed_for_another_version(void **state)
{
	struct scene s;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		scene_begin(&s, i == 0 ? "a" : "b", "Running", true);
		scene_set_state(&s, "startTimestamp",
				json_string("2023-11-14T22:13:20Z"));
		s.node.facts.link = LINK_REFUSED;
		s.node.facts.status = NULL;
		scene_expect(&s, i == 0 ? "source-waits" : "target-waits",
			     STEP_NONE);
		scene_end(&s);
	}
}

/* To cut it would make the source run the machine on. */
static void
test_libvirt_can_say_goodbye_to_its_peer(void **state)
{
	struct scene s;

	(void)state;
	(void)scene_begin_transfer(&s);
	/* The target was faster; it has taken the machine, and then says so. */
	testfacts_set(s.machine, "status", "nodeName", json_string("b"));
	scene_expect(&s, "rest-listeners", STEP_STOP_SOURCE);
	assert_true(s.decision.finish);
	scene_set_state(&s, "completed", json_true());
	scene_expect(&s, "rest-listeners", STEP_STOP_SOURCE);
	assert_true(s.decision.finish);
	scene_end(&s);
}

static void
test_a_domain_is_killed_only_when_nobody_can_want_it(void **state)
{
	struct scene s;

	(void)state;
	/* The machine is another node's, after a migration. */
	scene_begin(&s, "c", "Running", false);
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "idle", STEP_NONE);
	/* It is gone. */
	s.node.facts.vmi = NULL;
	s.node.facts.object = NULL;
	testnode_decide(&s.node, &s.decision, "rest-domain", STEP_KILL);
	scene_end(&s);
	/* It has ended. */
	scene_begin(&s, "a", "Failed", false);
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "owner-final", STEP_KILL);
	scene_end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_without_a_proxy_a_migration_waits_and_says_so),
		cmocka_unit_test(
			test_without_a_proxy_what_has_begun_comes_to_its_end),
		cmocka_unit_test(test_a_pod_that_is_not_seen_yet_fails_nothing),
		cmocka_unit_test(
			test_launchers_of_other_versions_fail_it_as_what_it_is),
		cmocka_unit_test(
			test_what_has_begun_is_not_failed_for_another_version),
		cmocka_unit_test(test_libvirt_can_say_goodbye_to_its_peer),
		cmocka_unit_test(
			test_a_domain_is_killed_only_when_nobody_can_want_it),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
