/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/machine/report.h"

#include "api/names.h"
#include "api/testjson.h"
#include "api/text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "controller/machine/testmachine.h"
#include "kube/conditions.h"

#define DELETED "'deletionTimestamp': '1970-01-01T00:16:00Z', "
#define COND(type, status, reason)                               \
	"'conditions': [{'type': '" type "', 'status': '" status \
	"', 'reason': '" reason "'}], "
#define FAILED_ONCE                                                        \
	"'startFailure': {'consecutiveFailCount': 1, 'lastFailedVMIUID': " \
	"'u', 'retryAfterTimestamp': '1970-01-01T00:17:00Z'}, "
#define RAN                                                   \
	"'phaseTransitionTimestamps': [{'phase': 'Running', " \
	"'phaseTransitionTimestamp': '1970-01-01T00:10:00Z'}], "

static void
test_each_state_has_a_word(void **state)
{
	static const struct {
		struct testmachine_case with;
		const char *word;
	} cases[] = {
		{ { .strategy = "Always" }, "Stopped" },
		{ { .strategy = "Always",
		    .metadata = DELETED,
		    .phase = "Running" },
		  "Terminating" },
		{ { .strategy = "Always",
		    .phase = "Running",
		    .vmi_metadata = DELETED },
		  "Stopping" },
		{ { .strategy = "Always",
		    .phase = "Running",
		    .vmi_status =
			    "'migrationState': {'migrationUid': 'x', "
			    "'startTimestamp': '1970-01-01T00:16:00Z'}, " },
		  "Migrating" },
		{ { .strategy = "Always",
		    .phase = "Running",
		    .vmi_status = COND("Paused", "True", "PausedByUser") },
		  "Paused" },
		{ { .strategy = "Always", .phase = "Running" }, "Running" },
		{ { .strategy = "Always",
		    .phase = "Pending",
		    .vmi_status = COND("Synchronized", "False",
				       "FailedPvcNotFound") },
		  "ErrorPvcNotFound" },
		{ { .strategy = "Always",
		    .phase = "Scheduling",
		    .vmi_status =
			    COND("PodScheduled", "False", "Unschedulable") },
		  "ErrorUnschedulable" },
		{ { .strategy = "Always",
		    .phase = "Scheduling",
		    .vmi_status =
			    COND("Synchronized", "False", "ErrImagePull") },
		  "ErrImagePull" },
		{ { .strategy = "Always",
		    .phase = "Scheduling",
		    .vmi_status =
			    COND("Synchronized", "False", "ImagePullBackOff") },
		  "ImagePullBackOff" },
		{ { .strategy = "Always", .phase = "" }, "Starting" },
		{ { .strategy = "Always", .phase = "Pending" }, "Starting" },
		{ { .strategy = "Always", .phase = "Scheduling" }, "Starting" },
		{ { .strategy = "Always", .phase = "Scheduled" }, "Starting" },
		{ { .strategy = "Always", .status = FAILED_ONCE },
		  "CrashLoopBackOff" },
		{ { .strategy = "Always", .phase = "Failed" },
		  "CrashLoopBackOff" },
		{ { .strategy = "Always",
		    .status = FAILED_ONCE,
		    .phase = "Scheduling" },
		  "Starting" },
		{ { .strategy = "Manual", .status = FAILED_ONCE }, "Stopped" },
		{ { .strategy = "Always",
		    .phase = "Failed",
		    .vmi_status = RAN },
		  "Stopped" },
		{ { .strategy = "Once",
		    .phase = "Succeeded",
		    .vmi_status = RAN },
		  "Stopped" },
		{ { .strategy = "WaitAsReceiver" }, "WaitingForReceiver" },
		{ { .strategy = "Always", .phase = "Unknown" }, "Unknown" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct testmachine t;

		testmachine_open(&t, &cases[i].with);
		assert_string_equal(machine_printable(&t.facts), cases[i].word);
		testmachine_close(&t);
	}
}

static void
test_claims_that_are_not_there_yet_have_words(void **state)
{
	static const struct testmachine_case with = { .strategy = "Always",
						      .phase = "Pending" };
	struct testmachine t;

	(void)state;
	testmachine_open(&t, &with);
	t.facts.unbound = true;
	assert_string_equal(machine_printable(&t.facts),
			    "WaitingForVolumeBinding");
	t.facts.provisions = true;
	assert_string_equal(machine_printable(&t.facts), "Provisioning");
	testmachine_close(&t);
}

static json_t *
report_of(struct testmachine *t)
{
	const struct machine_report report = { .trouble = NULL };

	return machine_report(&t->facts, &report);
}

static void
test_conditions_are_those_of_the_instance(void **state)
{
	static const struct testmachine_case with = {
		.strategy = "Always",
		.status = "'conditions': [{'type': 'Paused', 'status': "
			  "'True'}, {'type': 'Failure', 'status': 'True'}], ",
		.phase = "Running",
		.vmi_status = "'conditions': [{'type': 'Ready', 'status': "
			      "'True', 'lastTransitionTime': "
			      "'1970-01-01T00:10:00Z'}, {'type': "
			      "'LiveMigratable', 'status': 'False', 'reason': "
			      "'r', 'message': 'm'}], ",
	};
	AUTO(js_unref) json_t *patch = NULL;
	struct testmachine t;
	const json_t *conds;

	(void)state;
	testmachine_open(&t, &with);
	patch = report_of(&t);
	conds = js_arr_at(patch, "status.conditions");
	assert_int_equal(json_array_size(conds), 2);
	assert_true(condition_is_true(conds, "Ready"));
	assert_true(condition_is_false(conds, "LiveMigratable"));
	assert_int_equal(condition_since_us(conds, "Ready"),
			 600 * INT64_C(1000000));
	assert_true(js_bool_at(patch, "status.ready", false));
	assert_true(js_bool_at(patch, "status.created", false));
	assert_string_equal(js_str_at(patch, "status.runStrategy"), "Always");
	assert_int_equal(js_int_at(patch, "status.observedGeneration", 0), 1);
	assert_int_equal(js_int_at(patch, "status.desiredGeneration", 0), 1);
	testmachine_close(&t);
}

static void
test_without_an_instance_it_is_not_ready(void **state)
{
	static const struct testmachine_case with = { .strategy = "Halted" };
	AUTO(js_unref) json_t *patch = NULL;
	struct testmachine t;
	const json_t *ready;

	(void)state;
	testmachine_open(&t, &with);
	patch = report_of(&t);
	ready = condition_get(js_arr_at(patch, "status.conditions"), "Ready");
	assert_string_equal(js_str_at(ready, "reason"), "VMINotExists");
	/* Until it was started once, nobody follows the strategy. */
	assert_null(js_at(patch, "status.runStrategy"));
	testmachine_close(&t);
}

static void
test_nothing_is_written_when_all_is_said(void **state)
{
	static const struct testmachine_case with = {
		.strategy = "Always",
		.status = "'created': true, 'ready': true, 'printableStatus': "
			  "'Running', 'runStrategy': 'Always', "
			  "'observedGeneration': 1, 'desiredGeneration': 1, "
			  "'conditions': [{'type': 'Ready', 'status': 'True', "
			  "'lastTransitionTime': '1970-01-01T00:10:00Z'}], ",
		.phase = "Running",
		.vmi_status = "'conditions': [{'type': 'Ready', 'status': "
			      "'True', 'lastTransitionTime': "
			      "'1970-01-01T00:10:00Z'}], ",
	};
	AUTO(js_unref) json_t *patch = NULL;
	struct testmachine t;

	(void)state;
	testmachine_open(&t, &with);
	patch = report_of(&t);
	assert_null(patch);
	testmachine_close(&t);
}

static void
test_requests_that_were_met_go(void **state)
{
	static const struct {
		struct testmachine_case with;
		const char *left; /* NULL: unchanged */
	} cases[] = {
		{ { .strategy = "Manual",
		    .status = "'stateChangeRequests': [{'action': 'Stop', "
			      "'uid': 'v'}, {'action': 'Start'}], ",
		    .phase = "Running" },
		  NULL },
		{ { .strategy = "Manual",
		    .status = "'stateChangeRequests': [{'action': 'Stop', "
			      "'uid': 'gone'}, {'action': 'Start'}], ",
		    .phase = "Running" },
		  "null" },
		{ { .strategy = "Manual",
		    .status = "'stateChangeRequests': [{'action': 'Stop', "
			      "'uid': 'v'}, {'action': 'Start', 'data': "
			      "{'paused': 'true'}}], " },
		  "[{'action': 'Start', 'data': {'paused': 'true'}}]" },
		{ { .strategy = "Always",
		    .status = "'stateChangeRequests': [{'action': 'Start'}], ",
		    .phase = "Failed" },
		  NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *patch = NULL;
		struct testmachine t;
		const json_t *list;

		testmachine_open(&t, &cases[i].with);
		patch = report_of(&t);
		list = json_object_get(js_obj_at(patch, "status"),
				       "stateChangeRequests");
		if (cases[i].left == NULL) {
			assert_null(list);
		} else if (strcmp(cases[i].left, "null") == 0) {
			assert_true(json_is_null(list));
		} else {
			AUTO(js_unref) json_t *left = testjson(cases[i].left);

			assert_true(json_equal(list, left));
		}
		testmachine_close(&t);
	}
}

static void
test_starts_that_fail_are_counted_and_a_run_ends_that(void **state)
{
	static const struct testmachine_case again = { .strategy = "Always",
						       .status = FAILED_ONCE,
						       .phase = "Failed" };
	static const struct testmachine_case ran = { .strategy = "Always",
						     .status = FAILED_ONCE,
						     .phase = "Running" };
	AUTO(js_unref) json_t *counted = NULL, *same = NULL, *cleared = NULL;
	struct testmachine t;

	(void)state;
	testmachine_open(&t, &again);
	counted = report_of(&t);
	assert_int_equal(js_int_at(counted,
				   "status.startFailure.consecutiveFailCount",
				   0),
			 2);
	assert_string_equal(
		js_str_at(counted, "status.startFailure.lastFailedVMIUID"),
		"v");
	assert_string_equal(
		js_str_at(counted, "status.startFailure.retryAfterTimestamp"),
		"1970-01-01T00:17:20Z");
	/* Each only once. */
	text_free(t.vm->failed_uid);
	t.vm->failed_uid = text_new("v");
	same = report_of(&t);
	assert_null(js_at(same, "status.startFailure"));
	testmachine_close(&t);
	testmachine_open(&t, &ran);
	cleared = report_of(&t);
	assert_true(json_is_null(
		json_object_get(js_obj_at(cleared, "status"), "startFailure")));
	testmachine_close(&t);
}

static void
test_the_pause_grows_with_the_square_of_failures(void **state)
{
	(void)state;
	assert_int_equal(machine_backoff_s(0, 0), 10);
	assert_int_equal(machine_backoff_s(1, 0), 10);
	assert_int_equal(machine_backoff_s(1, 5), 15);
	assert_int_equal(machine_backoff_s(2, 0), 40);
	assert_int_equal(machine_backoff_s(3, 0), 90);
	assert_int_equal(machine_backoff_s(6, 0), 300);
	assert_int_equal(machine_backoff_s(UINT32_MAX, UINT32_MAX), 300);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_state_has_a_word),
		cmocka_unit_test(test_claims_that_are_not_there_yet_have_words),
		cmocka_unit_test(test_conditions_are_those_of_the_instance),
		cmocka_unit_test(test_without_an_instance_it_is_not_ready),
		cmocka_unit_test(test_nothing_is_written_when_all_is_said),
		cmocka_unit_test(test_requests_that_were_met_go),
		cmocka_unit_test(
			test_starts_that_fail_are_counted_and_a_run_ends_that),
		cmocka_unit_test(
			test_the_pause_grows_with_the_square_of_failures),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
