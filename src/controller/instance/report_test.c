/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/report.h"

#include "api/names.h"
#include "api/text.h"
#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "controller/instance/testinstance.h"
#include "kube/conditions.h"

#define NODE_N1 "'nodeName': 'n1', "
#define PODS(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

/* The patch of an instance that stays in its phase. */
static json_t *
report_of(struct testinstance *t)
{
	const struct instance_report report = { .phase = t->vmi->phase };

	return instance_report(&t->facts, &report);
}

static void
assert_patch(const json_t *patch, const char *member, const char *expected)
{
	AUTO(js_unref) json_t *value = testjson(expected);
	AUTO(free_ptr) char *text = NULL;

	if (json_equal(js_at(patch, member), value))
		return;
	text = js_text(js_at(patch, member));
	fail_msg("%s is %s, not %s", member, text, expected);
}

static void
test_the_hand_over_tells_the_node_all_it_needs(void **state)
{
	const struct instance_report report = { .phase = VMI_SCHEDULED };
	AUTO(js_unref) json_t *patch = NULL;
	struct testinstance t;

	(void)state;
	testinstance_open(&t, "Scheduling", "", "",
			  PODS(TEST_POD("p", "n1", "", TEST_POD_READY)));
	patch = instance_report(&t.facts, &report);
	assert_patch(patch, "metadata",
		     "{'labels': {'kubevirt.io/nodeName': 'n1'}}");
	assert_string_equal(js_str_at(patch, "status.nodeName"), "n1");
	assert_string_equal(js_str_at(patch, "status.migrationTransport"),
			    "Unix");
	assert_string_equal(js_str_at(patch, "status.qosClass"), "Burstable");
	assert_string_equal(
		js_str_at(patch, "status.launcherContainerImageVersion"),
		"launcher:1");
	assert_patch(patch, "status.activePods", "{'p': 'n1'}");
	assert_patch(patch, "status.volumeStatus",
		     "[{'name': 'root', 'target': '', "
		     "'persistentVolumeClaimInfo': {'claimName': 'disk', "
		     "'accessModes': ['ReadWriteMany'], 'volumeMode': "
		     "'Filesystem', 'capacity': {'storage': '0'}, 'requests': "
		     "{'storage': '0'}}}]");
	assert_patch(patch, "status.phaseTransitionTimestamps",
		     "[{'phase': 'Scheduled', 'phaseTransitionTimestamp': "
		     "'1970-01-01T00:16:40Z'}]");
	testinstance_close(&t);
}

static void
test_readiness_is_that_of_the_guest_and_its_pod(void **state)
{
	static const struct {
		const char *phase;
		const char *pods[2];
		const char *status, *reason, *message;
	} cases[] = {
		{ "Running",
		  { NULL },
		  "False",
		  "PodNotExists",
		  "virt-launcher pod has not yet been scheduled" },
		{ "Running",
		  { TEST_POD("p", "n1", "", "'phase': 'Succeeded'") },
		  "False",
		  "PodTerminating",
		  "virt-launcher pod is terminating" },
		{ "Scheduled",
		  { TEST_POD("p", "n1", "", TEST_POD_READY) },
		  "False",
		  "GuestNotRunning",
		  "Guest VM is not reported as running" },
		{ "Running",
		  { TEST_POD("p", "n1", "", TEST_POD_PENDING) },
		  "False",
		  "PodConditionMissing",
		  "virt-launcher pod is missing the Ready condition" },
		{ "Running",
		  { TEST_POD("p", "n1", "", TEST_POD_READY) },
		  "True",
		  "",
		  "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *patch = NULL;
		struct testinstance t;
		const json_t *ready;

		testinstance_open(&t, cases[i].phase, "", NODE_N1,
				  cases[i].pods);
		patch = report_of(&t);
		ready = condition_get(js_arr_at(patch, "status.conditions"),
				      COND_READY);
		assert_string_equal(js_str_at(ready, "status"),
				    cases[i].status);
		assert_string_equal(js_str_at(ready, "reason"),
				    cases[i].reason);
		assert_string_equal(js_str_at(ready, "message"),
				    cases[i].message);
		testinstance_close(&t);
	}
}

#define SAYS_ALL                                                              \
	NODE_N1 "'phaseTransitionTimestamps': [{'phase': 'Running', "         \
		"'phaseTransitionTimestamp': '1970-01-01T00:10:00Z'}], "      \
		"'activePods': {'p': 'n1'}, 'qosClass': 'Burstable', "        \
		"'launcherContainerImageVersion': 'launcher:1', "             \
		"'conditions': [{'type': 'Synchronized', 'status': 'False', " \
		"'reason': 'node'}, {'type': 'Ready', 'status': 'True', "     \
		"'lastTransitionTime': '1970-01-01T00:10:00Z'}], "

static void
test_nothing_is_written_when_all_is_said(void **state)
{
	AUTO(js_unref) json_t *patch = NULL;
	struct testinstance t;

	(void)state;
	testinstance_open(&t, "Running", "", SAYS_ALL,
			  PODS(TEST_POD("p", "n1", "", TEST_POD_READY)));
	patch = report_of(&t);
	if (patch != NULL)
		fail_msg("%s", js_text(patch));
	testinstance_close(&t);
}

static void
test_pods_that_came_and_went_are_listed(void **state)
{
	AUTO(js_unref) json_t *patch = NULL;
	struct testinstance t;

	(void)state;
	testinstance_open(&t, "Running", "",
			  NODE_N1 "'activePods': {'before': 'n1', 'old': "
				  "'n3'}, ",
			  PODS(TEST_POD("p", "n1", "", TEST_POD_READY),
			       TEST_POD("before", "n4", "", TEST_POD_READY),
			       TEST_POD("left", "n3", "", TEST_POD_READY),
			       TEST_POD("waits", "", "", TEST_POD_PENDING)));
	patch = report_of(&t);
	assert_patch(patch, "status.activePods",
		     "{'p': 'n1', 'before': 'n4', 'old': null}");
	testinstance_close(&t);
}

static void
test_a_target_pod_is_listed_from_the_hand_off_on(void **state)
{
	AUTO(js_unref) json_t *before = NULL, *after = NULL;
	struct testinstance t;

	(void)state;
	testinstance_open(&t, "Running", "",
			  NODE_N1 "'activePods': {'p': 'n1'}, ",
			  PODS(TEST_POD("p", "n1", "", TEST_POD_READY),
			       TEST_POD("t", "n2", "", TEST_POD_READY)));
	t.pods[1]->migration_uid = text_new("m1");
	before = report_of(&t);
	assert_null(js_at(before, "status.activePods"));
	testinstance_close(&t);
	/* Whoever handed it off has not listed it. */
	testinstance_open(&t, "Running", "",
			  NODE_N1 "'activePods': {'p': 'n1'}, "
				  "'migrationState': {'migrationUid': 'm1', "
				  "'targetNode': 'n2'}, ",
			  PODS(TEST_POD("p", "n1", "", TEST_POD_READY),
			       TEST_POD("t", "n2", "", TEST_POD_READY)));
	t.pods[1]->migration_uid = text_new("m1");
	after = report_of(&t);
	assert_patch(after, "status.activePods", "{'t': 'n2'}");
	testinstance_close(&t);
}

static void
test_an_old_launcher_is_marked_until_it_is_left(void **state)
{
	AUTO(js_unref) json_t *marked = NULL, *unmarked = NULL;
	struct testinstance t;

	(void)state;
	testinstance_open(&t, "Running", "", SAYS_ALL,
			  PODS(TEST_POD("p", "n1", "", TEST_POD_READY)));
	t.facts.launcher_image = "launcher:2";
	marked = report_of(&t);
	assert_patch(marked, "metadata",
		     "{'labels': {'kubevirt.io/outdatedLauncherImage': ''}}");
	t.vmi->outdated = true;
	t.facts.launcher_image = "launcher:1";
	unmarked = report_of(&t);
	assert_patch(unmarked, "metadata",
		     "{'labels': {'kubevirt.io/outdatedLauncherImage': null}}");
	testinstance_close(&t);
}

static void
test_one_that_has_arrived_is_described_when_its_old_pod_is_gone(void **state)
{
	AUTO(js_unref) json_t *before = NULL, *after = NULL;
	struct testinstance t;

	(void)state;
	testinstance_open(&t, "Running", "",
			  NODE_N1 "'activePods': {'p': 'n1', 'old': 'n2'}, ",
			  PODS(TEST_POD("p", "n1", "", TEST_POD_READY),
			       TEST_POD("old", "n2", "", TEST_POD_READY)));
	before = report_of(&t);
	assert_null(js_at(before, "status.launcherContainerImageVersion"));
	t.facts.pod_count = 1;
	after = report_of(&t);
	assert_string_equal(
		js_str_at(after, "status.launcherContainerImageVersion"),
		"launcher:1");
	assert_patch(after, "status.activePods", "{'old': null}");
	testinstance_close(&t);
}

static void
test_a_pod_without_a_place_is_said_while_it_is_so(void **state)
{
	AUTO(js_unref) json_t *patch = NULL, *after = NULL;
	struct testinstance t;
	const json_t *cond;

	(void)state;
	testinstance_open(
		&t, "Scheduling", "", "",
		PODS(TEST_POD("p", "", "",
			      "'phase': 'Pending', 'conditions': [{'type': "
			      "'PodScheduled', 'status': 'False', 'reason': "
			      "'Unschedulable', 'message': 'full', "
			      "'lastTransitionTime': "
			      "'1970-01-01T00:10:00Z'}]")));
	patch = report_of(&t);
	cond = condition_get(js_arr_at(patch, "status.conditions"),
			     COND_POD_SCHEDULED);
	assert_string_equal(js_str_at(cond, "reason"), "Unschedulable");
	assert_string_equal(js_str_at(cond, "message"), "full");
	conds_done(&t.vmi->conds);
	conds_decode(js_arr_at(patch, "status.conditions"), &t.vmi->conds);
	conds_done(&t.pods[0]->conds);
	after = report_of(&t);
	assert_null(condition_get(js_arr_at(after, "status.conditions"),
				  COND_POD_SCHEDULED));
	testinstance_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_hand_over_tells_the_node_all_it_needs),
		cmocka_unit_test(
			test_readiness_is_that_of_the_guest_and_its_pod),
		cmocka_unit_test(test_nothing_is_written_when_all_is_said),
		cmocka_unit_test(test_pods_that_came_and_went_are_listed),
		cmocka_unit_test(
			test_a_target_pod_is_listed_from_the_hand_off_on),
		cmocka_unit_test(
			test_an_old_launcher_is_marked_until_it_is_left),
		cmocka_unit_test(
			test_one_that_has_arrived_is_described_when_its_old_pod_is_gone),
		cmocka_unit_test(
			test_a_pod_without_a_place_is_said_while_it_is_so),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
