/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/decide.h"

#include <string.h>

#include "api/names.h"
#include "api/testjson.h"
#include "handler/testfacts.h"
#include "kube/conditions.h"
#include "kube/obj.h"

/* What a case begins with and ends in; the object is what is decided about. */
struct scene {
	struct testnode node;
	struct decision decision;
	json_t *machine, *after;
};

static void
scene_begin(struct scene *s, const char *node, const char *phase,
	    bool migrating)
{
	memset(s, 0, sizeof(*s));
	testnode_init(&s->node, node);
	s->machine = testfacts_machine(phase, migrating);
}

static void
scene_expect(struct scene *s, const char *rule, enum step step)
{
	json_decref(s->after);
	decision_done(&s->decision);
	testnode_see(&s->node, s->machine);
	testnode_decide(&s->node, &s->decision, rule, step);
	s->after = testnode_after(&s->node, &s->decision);
}

static void
scene_end(struct scene *s)
{
	decision_done(&s->decision);
	json_decref(s->machine);
	json_decref(s->after);
	testnode_done(&s->node);
}

static void
set_state(struct scene *s, const char *name, json_t *value)
{
	testfacts_set(s->machine, "status.migrationState", name, value);
}

static const char *
after_text(const struct scene *s, const char *path)
{
	return js_str_at(s->after, path);
}

#define STATE "status.migrationState."

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
	assert_string_equal(after_text(&s, "status.phase"), "Scheduled");
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "owner-runs", STEP_NONE);
	assert_string_equal(after_text(&s, "status.phase"), "Running");
	assert_string_equal(after_text(&s, "status.migrationMethod"),
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
	json_decref(s.machine);
	s.machine = json_deep_copy(s.after);
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
		assert_string_equal(after_text(&s, "status.phase"),
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
	s.node.pod.phase = POD_FAILED;
	s.node.facts.link = LINK_NONE;
	s.node.facts.status = NULL;
	scene_expect(&s, "owner-pod-down", STEP_NONE);
	assert_string_equal(after_text(&s, "status.phase"), "Failed");
	scene_end(&s);
}

static void
test_a_pod_that_ended_by_itself_is_for_the_controller(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", false);
	s.node.pod.phase = POD_SUCCEEDED;
	s.node.facts.link = LINK_NONE;
	s.node.facts.status = NULL;
	scene_expect(&s, "owner-waits", STEP_NONE);
	assert_string_equal(after_text(&s, "status.phase"), "Running");
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
	assert_string_equal(after_text(&s, "status.phase"), "Running");
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
	json_decref(s.machine);
	s.machine = json_deep_copy(s.after);
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
	assert_string_equal(after_text(&s, STATE "targetNodeAddress"),
			    "10.0.0.2");
	assert_int_equal(js_int_at(s.after,
				   STATE "targetDirectMigrationNodePorts.4712",
				   0),
			 49152);
	assert_string_equal(s.decision.events[0].text,
			    "Migration Target is listening at 10.0.0.2, on "
			    "ports: 4711,4712");
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
	set_state(&s, "progress", json_pack("{s:i}", "percent", 97));
	s.node.status.state = LAUNCH_RUNNING;
	s.node.facts.target.uid = TEST_UID;
	scene_expect(&s, "target-takes", STEP_NONE);
	assert_int_equal(js_int_at(s.after, STATE "progress.downtimeMs", 0),
			 70);
	assert_int_equal(js_int_at(s.after, STATE "progress.blackoutMs", 0),
			 68);
	assert_int_equal(js_int_at(s.after, STATE "progress.percent", 0), 100);
	assert_string_equal(after_text(&s, "status.nodeName"), "b");
	assert_string_equal(obj_label(s.after, LABEL_NODE), "b");
	assert_null(js_at(s.after, "status.evacuationNodeName"));
	/* The pod that it left is not listed any more. */
	assert_string_equal(
		after_text(&s, "status.launcherContainerImageVersion"),
		"launcher:2");
	assert_int_equal(
		json_object_size(js_obj_at(s.after, "status.activePods")), 1);
	assert_string_equal(after_text(&s, "status.activePods.pod-uid"), "b");
	json_decref(s.machine);
	s.machine = json_deep_copy(s.after);
	scene_expect(&s, "target-finalizes", STEP_FINALIZE);
	s.node.facts.finalized = TEST_UID;
	scene_expect(&s, "target-completes", STEP_NONE);
	assert_true(js_bool_at(s.after, STATE "completed", false));
	json_decref(s.machine);
	s.machine = json_deep_copy(s.after);
	scene_expect(&s, "target-over", STEP_STOP_TARGET);
	assert_true(s.decision.finish);
	s.node.facts.target.uid = "";
	scene_expect(&s, "target-over", STEP_NONE);
	assert_null(obj_label(s.after, LABEL_MIGRATION_TARGET_NODE));
	json_decref(s.machine);
	s.machine = json_deep_copy(s.after);
	scene_expect(&s, "owner-sweeps", STEP_SWEEP);
	scene_end(&s);
}

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
			set_state(&s, "startTimestamp",
				  json_string("2026-01-01T00:00:00Z"));
		s.node.status.state = ends[i % 2];
		scene_expect(&s, "source-stopped", STEP_NONE);
		assert_true(js_bool_at(s.after, STATE "failed", false));
		assert_string_equal(after_text(&s, STATE "failureCode"),
				    "MachineEnded");
		scene_end(&s);
	}
}

static void
test_a_failed_target_is_told_to_go(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "b", "Running", true);
	set_state(&s, "failed", json_true());
	set_state(&s, "completed", json_true());
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
		assert_string_equal(after_text(&s, STATE "failureCode"),
				    "VersionSkew");
		assert_string_equal(after_text(&s, STATE "failureReason"),
				    "protocol 1 here, 2 there");
		scene_end(&s);
	}
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
	assert_string_equal(after_text(&s, STATE "failureCode"), "VersionSkew");
	assert_non_null(
		strstr(after_text(&s, STATE "failureReason"), "QEMU 10.1.0"));
	assert_non_null(
		strstr(after_text(&s, STATE "failureReason"), "QEMU 7.2.22"));
	/* Once it is under way it may be here. */
	set_state(&s, "startTimestamp", json_string("2026-01-01T00:00:00Z"));
	scene_expect(&s, "target-prepares", STEP_PREPARE);
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

static void
make_target_ready(struct scene *s)
{
	set_state(s, "targetNodeAddress", json_string("10.0.0.2"));
	set_state(s, "targetDirectMigrationNodePorts",
		  json_pack("{s:i, s:i}", "4711", 0, "4712", 49152));
}

static void
test_a_source_does_not_begin_where_the_targets_ports_make_no_sense(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "a", "Running", true);
	s.node.status.state = LAUNCH_RUNNING;
	make_target_ready(&s);
	set_state(&s, "targetDirectMigrationNodePorts",
		  json_pack("{s:i}", "none", 0));
	scene_expect(&s, "source-puzzled", STEP_NONE);
	assert_string_equal(
		js_str_at(s.after, "status.migrationState.sourceWaitsFor"),
		"the ports that the target node listens on make no sense");
	make_target_ready(&s);
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
	make_target_ready(&s);
	scene_expect(&s, "source-listens", STEP_LISTEN_SOURCE);
	s.node.facts.source.uid = TEST_UID;
	scene_expect(&s, "source-claims", STEP_NONE);
	/* Onto the object as it was seen, and no other. */
	patch = wishes_patch(&s.decision.wishes, s.machine);
	assert_string_equal(js_str_at(json_array_get(patch, 1), "path"),
			    "/metadata/resourceVersion");
	json_decref(patch);
	json_decref(s.machine);
	s.machine = json_deep_copy(s.after);
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
	make_target_ready(&s);
	set_state(&s, "abortRequested", json_true());
	s.node.facts.source.uid = TEST_UID;
	scene_expect(&s, "source-unstarted", STEP_STOP_SOURCE);
	s.node.facts.source.uid = "";
	scene_expect(&s, "source-unstarted", STEP_NONE);
	/* The start was written, and the handler died before it was made. */
	set_state(&s, "startTimestamp", json_string("2026-01-01T00:00:00Z"));
	s.node.facts.source.uid = TEST_UID;
	scene_expect(&s, "source-begins", STEP_NONE);
	assert_string_equal(after_text(&s, STATE "failureCode"), "Canceled");
	scene_end(&s);
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
	assert_non_null(strstr(after_text(&s, STATE "targetWaitsFor"), "'b'"));
	assert_string_equal(s.decision.events[0].reason,
			    EVENT_PROXY_UNAVAILABLE);
	assert_true(s.decision.again_us < DECISION_NEVER);
	json_decref(s.machine);
	s.machine = json_deep_copy(s.after);
	s.node.facts.proxy_up = true;
	scene_expect(&s, "target-listens", STEP_LISTEN_TARGET);
	s.node.facts.target.uid = TEST_UID;
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_null(js_at(s.after, STATE "targetWaitsFor"));
	scene_end(&s);

	scene_begin(&s, "a", "Running", true);
	s.node.status.state = LAUNCH_RUNNING;
	make_target_ready(&s);
	s.node.facts.proxy_up = false;
	scene_expect(&s, "source-listens", STEP_NONE);
	assert_non_null(strstr(after_text(&s, STATE "sourceWaitsFor"), "'a'"));
	json_decref(s.machine);
	s.machine = json_deep_copy(s.after);
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
	make_target_ready(&s);
	set_state(&s, "abortRequested", json_true());
	set_state(&s, "startTimestamp", json_string("2026-01-01T00:00:00Z"));
	scene_expect(&s, "source-begins", STEP_NONE);
	assert_string_equal(after_text(&s, STATE "failureCode"), "Canceled");
	scene_end(&s);

	scene_begin(&s, "b", "Running", true);
	s.node.facts.proxy_up = false;
	s.node.facts.target.address = "";
	make_target_ready(&s);
	set_state(&s, "startTimestamp", json_string("2026-01-01T00:00:00Z"));
	r = testnode_record(&s.node, LAUNCH_TARGET);
	scene_expect(&s, "target-tells", STEP_NONE);
	assert_string_equal(after_text(&s, STATE "targetNodeAddress"),
			    "10.0.0.2");
	r->completed = true;
	r->end_us = TEST_NOW;
	s.node.status.state = LAUNCH_RUNNING;
	scene_expect(&s, "target-takes", STEP_NONE);
	/* The end of it all is for others to see, listener or not. */
	set_state(&s, "completed", json_true());
	scene_expect(&s, "target-over", STEP_NONE);
	assert_null(obj_label(s.after, LABEL_MIGRATION_TARGET_NODE));
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

static struct launch_record *
begin_transfer(struct scene *s)
{
	scene_begin(s, "a", "Running", true);
	make_target_ready(s);
	set_state(s, "startTimestamp", json_string("2026-01-01T00:00:00Z"));
	s->node.facts.source.uid = TEST_UID;
	s->node.status.state = LAUNCH_RUNNING;
	return testnode_record(&s->node, LAUNCH_SOURCE);
}

static void
test_a_transfer_shows_its_progress(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_transfer(&s);
	record->mode = LAUNCH_POST_COPY;
	record->progress.percent = 42;
	scene_expect(&s, "source-runs", STEP_NONE);
	assert_string_equal(after_text(&s, STATE "mode"), "PostCopy");
	assert_int_equal(js_int_at(s.after, STATE "progress.percent", 0), 42);
	scene_end(&s);
}

static void
test_half_a_machine_that_ends_is_not_waited_for_without_end(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_transfer(&s);
	s.node.status.state = LAUNCH_CRASHED;
	scene_expect(&s, "source-runs", STEP_NONE);
	record->mode = LAUNCH_POST_COPY;
	scene_expect(&s, "source-halved", STEP_NONE);
	assert_true(json_is_string(js_at(s.after, STATE "endTimestamp")));
	/* The target may have it all, and has its time to say so. */
	json_decref(s.machine);
	s.machine = json_deep_copy(s.after);
	scene_expect(&s, "source-halved", STEP_NONE);
	assert_false(js_bool_at(s.after, STATE "failed", false));
	s.node.facts.now_us += DECIDE_ARRIVAL_US;
	scene_expect(&s, "source-halved", STEP_NONE);
	assert_string_equal(after_text(&s, STATE "failureCode"),
			    "MachineEnded");
	scene_end(&s);
}

static void
test_an_abort_is_passed_on_and_cuts_what_does_not_end(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_transfer(&s);
	set_state(&s, "abortRequested", json_true());
	scene_expect(&s, "source-aborts", STEP_CANCEL);
	record->abort = LAUNCH_ABORTING;
	scene_expect(&s, "source-aborts", STEP_NONE);
	assert_string_equal(after_text(&s, STATE "abortStatus"), "Aborting");
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
	assert_string_equal(after_text(&s, STATE "abortStatus"), "Succeeded");
	assert_string_equal(after_text(&s, STATE "failureCode"), "Canceled");
	scene_end(&s);
}

static const char *
paused_reason(const struct scene *s)
{
	return js_str_at(js_find(js_arr_at(s->after, "status.conditions"),
				 "type", COND_PAUSED),
			 "reason");
}

/* What was written is seen. */
static void
take_over(struct scene *s)
{
	json_decref(s->machine);
	s->machine = json_deep_copy(s->after);
}

static void
test_a_broken_post_copy_is_taken_up_again_and_never_given_up(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_transfer(&s);
	record->mode = LAUNCH_POST_COPY;
	record->reason = LAUNCH_REASON_POST_COPY_FAILED;
	record->end_us = TEST_NOW;
	s.node.status.state = LAUNCH_PAUSED;
	s.node.status.cause = LAUNCH_CAUSE_POST_COPY_FAILED;
	scene_expect(&s, "source-recovers", STEP_RECOVER);
	assert_false(js_bool_at(s.after, STATE "failed", false));
	assert_string_equal(paused_reason(&s), "PostCopyFailed");
	take_over(&s);
	/* While that is tried there is nothing else to do, and it stands. */
	record->reason = LAUNCH_REASON_NONE;
	scene_expect(&s, "source-runs", STEP_NONE);
	assert_string_equal(paused_reason(&s), "PostCopyFailed");
	record->reason = LAUNCH_REASON_POST_COPY_FAILED;
	s.node.facts.now_us = TEST_NOW + 100 * DECIDE_RECOVERY_US;
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

static void
test_a_source_that_gave_the_machine_away_does_not_give_it_up(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_transfer(&s);
	s.node.status.state = LAUNCH_STOPPED;
	s.node.status.cause = LAUNCH_CAUSE_MIGRATED;
	record->completed = true;
	record->end_us = TEST_NOW;
	/* However long the target says nothing: it may run there. */
	s.node.facts.now_us = TEST_NOW + 10 * DECIDE_ARRIVAL_US;
	scene_expect(&s, "source-awaits", STEP_NONE);
	assert_true(after_text(&s, STATE "endTimestamp")[0] != '\0');
	assert_false(js_bool_at(s.after, STATE "failed", false));
	/* The launcher ends, and so does its pod. */
	s.node.pod.phase = POD_SUCCEEDED;
	s.node.facts.link = LINK_NONE;
	s.node.facts.status = NULL;
	scene_expect(&s, "source-pod-down", STEP_NONE);
	assert_true(after_text(&s, STATE "endTimestamp")[0] != '\0');
	assert_false(js_bool_at(s.after, STATE "failed", false));
	scene_end(&s);
}

/* The target, when the source has told that it is left. */
static struct launch_record *
begin_arrival(struct scene *s)
{
	scene_begin(s, "b", "Running", true);
	set_state(s, "startTimestamp", json_string("2023-11-14T22:13:20Z"));
	set_state(s, "endTimestamp", json_string("2023-11-14T22:13:20Z"));
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
	assert_string_equal(after_text(&s, STATE "failureCode"),
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
	s.node.facts.now_us = TEST_NOW + DECIDE_RECOVERY_US;
	scene_expect(&s, "target-missed", STEP_NONE);
	assert_string_equal(after_text(&s, STATE "failureCode"),
			    "PostCopyFailed");
	scene_end(&s);
}

static void
test_what_has_begun_is_not_failed_for_another_version(void **state)
{
	struct scene s;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		scene_begin(&s, i == 0 ? "a" : "b", "Running", true);
		set_state(&s, "startTimestamp",
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
	(void)begin_transfer(&s);
	/* The target was faster; it has taken the machine, and then says so. */
	testfacts_set(s.machine, "status", "nodeName", json_string("b"));
	scene_expect(&s, "rest-listeners", STEP_STOP_SOURCE);
	assert_true(s.decision.finish);
	set_state(&s, "completed", json_true());
	scene_expect(&s, "rest-listeners", STEP_STOP_SOURCE);
	assert_true(s.decision.finish);
	scene_end(&s);
}

static void
test_what_was_not_confirmed_waits_for_the_target(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_transfer(&s);
	record->reason = LAUNCH_REASON_UNCONFIRMED;
	record->end_us = TEST_NOW;
	s.node.status.state = LAUNCH_PAUSED;
	scene_expect(&s, "source-unconfirmed", STEP_NONE);
	assert_non_null(js_at(s.after, STATE "endTimestamp"));
	assert_false(js_bool_at(s.after, STATE "failed", false));
	/* An abort does not make it known. */
	set_state(&s, "abortRequested", json_true());
	scene_expect(&s, "source-unconfirmed", STEP_NONE);
	/* The target has given it up. */
	set_state(&s, "failed", json_true());
	set_state(&s, "completed", json_true());
	scene_expect(&s, "source-over", STEP_STOP_SOURCE);
	s.node.facts.source.uid = "";
	scene_expect(&s, "source-past", STEP_CANCEL);
	/* What has run on there must not run on from here. */
	set_state(&s, "targetNodeDomainReadyTimestamp",
		  json_string("2023-11-14T22:13:19Z"));
	scene_expect(&s, "source-past", STEP_KILL);
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
	set_state(&s, "startTimestamp", json_string("2023-11-14T22:13:00Z"));
	record = testnode_record(&s.node, LAUNCH_TARGET);
	record->completed = record->failed = true;
	record->reason = LAUNCH_REASON_NEVER_ARRIVED;
	record->end_us = TEST_NOW;
	s.node.facts.target.uid = TEST_UID;
	scene_expect(&s, "target-fails", STEP_NONE);
	assert_null(js_at(s.after, STATE "failed"));
	set_state(&s, "endTimestamp", json_string("2023-11-14T22:13:19Z"));
	scene_expect(&s, "target-fails", STEP_NONE);
	assert_true(js_bool_at(s.after, STATE "failed", false));
	scene_end(&s);
}

static void
test_a_connection_that_breaks_is_explained_by_the_proxy(void **state)
{
	static char broke[] = "The connection to the target broke";
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_transfer(&s);
	record->completed = record->failed = true;
	record->reason = LAUNCH_REASON_CONNECTION_LOST;
	record->message = broke;
	scene_expect(&s, "source-blames", STEP_BLAME);
	s.node.facts.blame_uid = TEST_UID;
	s.node.facts.blame_code = "WrongNode";
	s.node.facts.blame_text = "peer is 'c', expected 'b'";
	scene_expect(&s, "source-fails", STEP_NONE);
	assert_string_equal(after_text(&s, STATE "failureCode"),
			    "ConnectionLost");
	assert_string_equal(after_text(&s, STATE "failureReason"),
			    "The connection to the target broke; ferry-proxy: "
			    "WrongNode: peer is 'c', expected 'b'");
	scene_end(&s);
}

static void
test_sockets_of_a_killed_proxy_are_removed_once(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_transfer(&s);
	set_state(&s, "failed", json_true());
	set_state(&s, "completed", json_true());
	record->completed = record->failed = true;
	s.node.facts.source.uid = "";
	scene_expect(&s, "owner-sweeps", STEP_SWEEP);
	s.node.facts.swept = TEST_UID;
	scene_expect(&s, "owner-tells", STEP_NONE);
	scene_end(&s);
}

/* The target was lost in post-copy: what stands here is half a machine. */
static void
test_half_a_machine_whose_other_half_is_lost_is_killed(void **state)
{
	struct launch_record *record;
	struct scene s;

	(void)state;
	record = begin_transfer(&s);
	record->mode = LAUNCH_POST_COPY;
	record->abort = LAUNCH_ABORT_FAILED;
	s.node.status.state = LAUNCH_PAUSED;
	s.node.status.cause = LAUNCH_CAUSE_POST_COPY;
	set_state(&s, "failed", json_true());
	set_state(&s, "completed", json_true());
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
	assert_string_equal(after_text(&s, "status.phase"), "Failed");
	scene_end(&s);
}

static void
test_a_failure_of_the_controller_reaches_the_launcher(void **state)
{
	struct scene s;

	(void)state;
	(void)begin_transfer(&s);
	set_state(&s, "failed", json_true());
	set_state(&s, "completed", json_true());
	scene_expect(&s, "source-over", STEP_STOP_SOURCE);
	s.node.facts.source.uid = "";
	scene_expect(&s, "source-past", STEP_CANCEL);
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
			test_a_scheduled_machine_gets_its_network_then_starts_then_runs),
		cmocka_unit_test(
			test_a_running_machine_without_a_domain_is_not_started_twice),
		cmocka_unit_test(test_nothing_is_written_that_is_there_already),
		cmocka_unit_test(test_a_machine_says_what_it_runs_with),
		cmocka_unit_test(
			test_a_machine_of_a_newer_launcher_is_refused_before_it_is_sent),
		cmocka_unit_test(
			test_the_network_of_a_machine_is_looked_at_now_and_then),
		cmocka_unit_test(
			test_without_a_proxy_a_migration_waits_and_says_so),
		cmocka_unit_test(
			test_without_a_proxy_what_has_begun_comes_to_its_end),
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
		cmocka_unit_test(test_a_target_prepares_listens_and_tells),
		cmocka_unit_test(
			test_a_target_takes_finalizes_completes_and_tidies_up),
		cmocka_unit_test(
			test_a_machine_that_ends_before_it_leaves_is_not_waited_for),
		cmocka_unit_test(test_a_failed_target_is_told_to_go),
		cmocka_unit_test(test_a_pod_that_is_not_seen_yet_fails_nothing),
		cmocka_unit_test(
			test_launchers_of_other_versions_fail_it_as_what_it_is),
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
			test_a_source_that_gave_the_machine_away_does_not_give_it_up),
		cmocka_unit_test(test_a_target_says_when_nothing_has_come),
		cmocka_unit_test(
			test_half_a_machine_whose_other_half_is_lost_is_given_up),
		cmocka_unit_test(
			test_what_has_begun_is_not_failed_for_another_version),
		cmocka_unit_test(
			test_half_a_machine_whose_other_half_is_lost_is_killed),
		cmocka_unit_test(
			test_a_failure_of_the_controller_reaches_the_launcher),
		cmocka_unit_test(
			test_a_connection_that_breaks_is_explained_by_the_proxy),
		cmocka_unit_test(
			test_sockets_of_a_killed_proxy_are_removed_once),
		cmocka_unit_test(test_libvirt_can_say_goodbye_to_its_peer),
		cmocka_unit_test(
			test_what_was_not_confirmed_waits_for_the_target),
		cmocka_unit_test(
			test_a_target_that_lost_it_says_so_when_the_source_waits),
		cmocka_unit_test(
			test_a_domain_is_killed_only_when_nobody_can_want_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
