/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/decide.h"

#include "api/names.h"
#include "api/testjson.h"
#include "api/text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "controller/instance/report.h"
#include "controller/instance/testinstance.h"
#include "kube/conditions.h"

#define DELETED "'deletionTimestamp': '1970-01-01T00:16:00Z', "
#define DOWN(phase)                                                        \
	"'phase': '" phase "', 'containerStatuses': [{'name': 'compute', " \
	"'state': {'terminated': {'finishedAt': '1970-01-01T00:16:30Z'}}}]"
#define LONG_DOWN(phase)                                                   \
	"'phase': '" phase "', 'containerStatuses': [{'name': 'compute', " \
	"'state': {'terminated': {'finishedAt': '1970-01-01T00:10:30Z'}}}]"
#define NODE_N1 "'nodeName': 'n1', "
#define SINCE(phase, time)                                \
	"'phaseTransitionTimestamps': [{'phase': '" phase \
	"', 'phaseTransitionTimestamp': '1970-01-01T" time "Z'}], "

#define PODS(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static const char *
reason_of(const struct instance_decision *d, const char *type)
{
	return js_str_at(
		condition_get(js_arr_at(d->patch, "status.conditions"), type),
		"reason");
}

/* What each phase leads to, and why. */
static const struct {
	const char *phase, *metadata, *status;
	const char *pods[3];
	const char *rule;
	enum vmi_phase to;
	bool from_absence;
} phases[] = {
	{ "", "", "", { NULL }, "create", VMI_UNSET, true },
	{ "Pending", "", "", { NULL }, "create", VMI_PENDING, true },
	{ "", DELETED, "", { NULL }, "deleted-before", VMI_FAILED, true },
	{ "",
	  "",
	  "",
	  { TEST_POD("p", "", "", TEST_POD_PENDING) },
	  "pod-exists",
	  VMI_SCHEDULING,
	  false },
	{ "Pending",
	  DELETED,
	  "",
	  { TEST_POD("p", "", "", TEST_POD_PENDING) },
	  "pod-exists",
	  VMI_SCHEDULING,
	  false },
	{ "Scheduling", "", "", { NULL }, "pod-gone", VMI_FAILED, true },
	{ "Scheduling",
	  "",
	  "",
	  { TEST_POD("p", "n1", "", TEST_POD_PENDING) },
	  "pod-starts",
	  VMI_SCHEDULING,
	  false },
	{ "Scheduling",
	  "",
	  "",
	  { TEST_POD("p", "n1", "", TEST_POD_READY) },
	  "pod-ready",
	  VMI_SCHEDULED,
	  false },
	{ "Scheduling",
	  DELETED,
	  "",
	  { TEST_POD("p", "n1", "", TEST_POD_READY) },
	  "pod-starts",
	  VMI_SCHEDULING,
	  false },
	{ "Scheduling",
	  "",
	  "",
	  { TEST_POD("p", "n1", DELETED, TEST_POD_READY) },
	  "pod-ended",
	  VMI_FAILED,
	  false },
	{ "Scheduling",
	  "",
	  "",
	  { TEST_POD("p", "n1", "", DOWN("Succeeded")) },
	  "pod-ended",
	  VMI_FAILED,
	  false },
	{ "Scheduled", "", NODE_N1, { NULL }, "pod-gone", VMI_FAILED, true },
	{ "Running", "", NODE_N1, { NULL }, "pod-gone", VMI_FAILED, true },
	/* A pod elsewhere is not the one it runs in. */
	{ "Running",
	  "",
	  NODE_N1,
	  { TEST_POD("p", "n2", "", TEST_POD_READY) },
	  "pod-gone",
	  VMI_FAILED,
	  true },
	{ "Running",
	  "",
	  NODE_N1,
	  { TEST_POD("p", "n1", "", TEST_POD_READY) },
	  "pod-runs",
	  VMI_RUNNING,
	  false },
	/* The node gets its time to say what became of it. */
	{ "Running",
	  "",
	  NODE_N1,
	  { TEST_POD("p", "n1", "", DOWN("Failed")) },
	  "pod-ends",
	  VMI_RUNNING,
	  false },
	{ "Running",
	  "",
	  NODE_N1,
	  { TEST_POD("p", "n1", "", LONG_DOWN("Failed")) },
	  "pod-ended",
	  VMI_FAILED,
	  false },
	{ "Scheduled",
	  "",
	  NODE_N1,
	  { TEST_POD("p", "n1", "", LONG_DOWN("Succeeded")) },
	  "pod-ended",
	  VMI_SUCCEEDED,
	  false },
	{ "Failed", "", NODE_N1, { NULL }, "as-it-is", VMI_FAILED, true },
	{ "WaitingForSync",
	  "",
	  "",
	  { NULL },
	  "as-it-is",
	  VMI_WAITING_FOR_SYNC,
	  false },
	{ "WaitingForSync",
	  DELETED,
	  "",
	  { NULL },
	  "deleted-before",
	  VMI_FAILED,
	  true },
};

static void
test_the_phase_follows_from_the_pod(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
		struct testinstance t;
		struct instance_decision d;

		testinstance_open(&t, phases[i].phase, phases[i].metadata,
				  phases[i].status, phases[i].pods);
		instance_decide(&t.facts, &d);
		assert_string_equal(d.rule, phases[i].rule);
		assert_int_equal(d.phase, phases[i].to);
		assert_false(d.confirm);
		instance_decision_done(&d);
		/* What a late cache would explain is looked at again. */
		t.facts.confirmed = false;
		instance_decide(&t.facts, &d);
		assert_int_equal(d.confirm, phases[i].from_absence);
		if (d.confirm) {
			assert_false(d.create);
			assert_null(d.patch);
			assert_int_equal(d.remove_count, 0);
		}
		instance_decision_done(&d);
		testinstance_close(&t);
	}
}

static void
test_a_new_instance_gets_one_pod_and_says_so_when_it_is_there(void **state)
{
	struct testinstance t;
	struct instance_decision d;

	(void)state;
	testinstance_open(&t, "", "", "", NULL);
	instance_decide(&t.facts, &d);
	assert_true(d.create);
	assert_null(d.patch);
	assert_int_equal(d.finalize, FINALIZE_NOTHING);
	instance_decision_done(&d);
	t.vmi->has_finalizer = false;
	instance_decide(&t.facts, &d);
	assert_true(d.create);
	assert_int_equal(d.finalize, FINALIZE_ADD);
	instance_decision_done(&d);
	testinstance_close(&t);

	testinstance_open(&t, "", "", "",
			  PODS(TEST_POD("p", "", "", TEST_POD_PENDING)));
	instance_decide(&t.facts, &d);
	assert_false(d.create);
	assert_string_equal(js_str_at(d.patch, "status.phase"), "Scheduling");
	assert_int_equal(json_array_size(js_arr_at(
				 d.patch, "status.phaseTransitionTimestamps")),
			 2);
	instance_decision_done(&d);
	testinstance_close(&t);
}

static void
test_what_hinders_the_pod_is_said(void **state)
{
	struct testinstance t;
	struct instance_decision d;

	(void)state;
	testinstance_open(&t, "", "", "", NULL);
	t.claims[0].pvc = NULL;
	instance_decide(&t.facts, &d);
	assert_false(d.create);
	assert_int_equal(d.phase, VMI_PENDING);
	assert_string_equal(reason_of(&d, COND_SYNCHRONIZED),
			    "FailedPvcNotFound");
	assert_string_equal(reason_of(&d, COND_POD_SCHEDULED), "Unschedulable");
	assert_string_equal(d.event_reason, "FailedPvcNotFound");
	assert_string_equal(
		d.event_text,
		"failed to render launch manifest: didn't find PVC disk");
	instance_decision_done(&d);

	t.vmi->volumes[0].kind = VOLUME_DATA_VOLUME;
	instance_decide(&t.facts, &d);
	assert_false(d.create);
	assert_null(d.event_reason);
	assert_string_equal(reason_of(&d, COND_SYNCHRONIZED), "");
	assert_string_equal(reason_of(&d, COND_DATA_VOLUMES), "NotAllDVsReady");
	instance_decision_done(&d);

	t.claims[0].pvc = t.pvc;
	t.pvc->filling = text_new("Running");
	instance_decide(&t.facts, &d);
	assert_false(d.create);
	assert_string_equal(reason_of(&d, COND_DATA_VOLUMES), "NotAllDVsReady");
	instance_decision_done(&d);
	text_free(t.pvc->filling);
	t.pvc->filling = text_new("");
	t.facts.migrates = true;
	instance_decide(&t.facts, &d);
	assert_false(d.create);
	assert_string_equal(reason_of(&d, COND_SYNCHRONIZED), "FailedCreate");
	instance_decision_done(&d);

	t.facts.migrates = false;
	t.facts.failure = (struct instance_failure){ "FailedCreate", "no",
						     TEST_NOW_US + 7 };
	instance_decide(&t.facts, &d);
	assert_false(d.create);
	assert_int_equal(d.again_us, TEST_NOW_US + 7);
	assert_string_equal(reason_of(&d, COND_SYNCHRONIZED), "FailedCreate");
	instance_decision_done(&d);
	t.facts.failure.retry_us = TEST_NOW_US;
	instance_decide(&t.facts, &d);
	assert_true(d.create);
	assert_null(d.patch);
	instance_decision_done(&d);
	testinstance_close(&t);
}

static void
test_an_image_that_cannot_be_had_is_said(void **state)
{
	struct testinstance t;
	struct instance_decision d;

	(void)state;
	testinstance_open(
		&t, "Scheduling", "", "",
		PODS(TEST_POD("p", "n1", "",
			      "'phase': 'Pending', 'containerStatuses': "
			      "[{'name': 'compute', 'state': {'waiting': "
			      "{'reason': 'ImagePullBackOff', 'message': "
			      "'m'}}}]")));
	instance_decide(&t.facts, &d);
	assert_string_equal(reason_of(&d, COND_SYNCHRONIZED),
			    "ImagePullBackOff");
	instance_decision_done(&d);
	testinstance_close(&t);
}

static void
test_pods_go_with_their_instance(void **state)
{
	struct testinstance t;
	struct instance_decision d;

	(void)state;
	testinstance_open(&t, "Running", DELETED, NODE_N1,
			  PODS(TEST_POD("a", "n1", "", TEST_POD_READY),
			       TEST_POD("b", "n2", "", TEST_POD_PENDING),
			       TEST_POD("c", "n1", DELETED, TEST_POD_READY),
			       TEST_POD("d", "n1", "", DOWN("Failed"))));
	t.facts.confirmed = false;
	instance_decide(&t.facts, &d);
	assert_false(d.confirm);
	assert_int_equal(d.remove_count, 3);
	assert_int_equal(d.finalize, FINALIZE_NOTHING);
	instance_decision_done(&d);
	testinstance_close(&t);
}

static void
test_no_pod_outlives_the_end_of_its_instance_for_long(void **state)
{
	struct testinstance t;
	struct instance_decision d;

	(void)state;
	testinstance_open(&t, "Failed", "", NODE_N1 SINCE("Failed", "00:16:30"),
			  PODS(TEST_POD("a", "n1", "", TEST_POD_READY),
			       TEST_POD("b", "n1", "", DOWN("Failed"))));
	instance_decide(&t.facts, &d);
	assert_int_equal(d.remove_count, 0);
	assert_int_equal(d.again_us, (16 * 60 + 30 + 60) * INT64_C(1000000));
	instance_decision_done(&d);
	t.facts.now_us = d.again_us;
	instance_decide(&t.facts, &d);
	assert_int_equal(d.remove_count, 1);
	assert_string_equal(d.remove[0]->meta.name, "a");
	instance_decision_done(&d);
	testinstance_close(&t);
}

static void
test_finalizers_stay_until_no_pod_is_left(void **state)
{
	struct testinstance t;
	struct instance_decision d;

	(void)state;
	testinstance_open(&t, "Failed", DELETED, NODE_N1,
			  PODS(TEST_POD("a", "n1", DELETED, DOWN("Failed"))));
	t.vmi->has_vm_finalizer = true;
	t.facts.has_owner = true;
	instance_decide(&t.facts, &d);
	assert_int_equal(d.finalize, FINALIZE_NOTHING);
	assert_false(d.drop_vm_finalizer);
	instance_decision_done(&d);
	t.facts.has_owner = false;
	instance_decide(&t.facts, &d);
	assert_int_equal(d.finalize, FINALIZE_NOTHING);
	assert_true(d.drop_vm_finalizer);
	instance_decision_done(&d);
	t.facts.pod_count = 0;
	instance_decide(&t.facts, &d);
	assert_int_equal(d.finalize, FINALIZE_DROP);
	instance_decision_done(&d);
	testinstance_close(&t);
}

/* From its start to its end: the nodes have it in hand. */
static void
test_an_instance_on_its_way_is_left_to_the_nodes(void **state)
{
	static const struct {
		const char *state;
		enum vmi_phase to;
	} cases[] = {
		{ "'migrationState': {'migrationUid': 'm', 'targetNode': "
		  "'n2', 'startTimestamp': '2026-08-01T00:00:00Z'}, ",
		  VMI_RUNNING },
		/* It was in the pod that is gone. */
		{ "'migrationState': {'migrationUid': 'm', 'targetNode': "
		  "'n2'}, ",
		  VMI_FAILED },
		{ "'migrationState': {'migrationUid': 'm', 'targetNode': "
		  "'n2', 'failed': true}, ",
		  VMI_FAILED },
		{ "'migrationState': {'migrationUid': 'm', 'targetNode': "
		  "'n2', 'completed': true}, ",
		  VMI_FAILED },
		{ "'migrationState': {'migrationUid': 'x', 'targetNode': "
		  "'n2'}, ",
		  VMI_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr)
		char *status = xasprintf(NODE_N1 "%s", cases[i].state);
		struct testinstance t;
		struct instance_decision d;

		testinstance_open(
			&t, "Running", "", status,
			PODS(TEST_POD("t", "n2", "", TEST_POD_READY)));
		t.pods[0]->migration_uid = text_new("m");
		instance_decide(&t.facts, &d);
		assert_int_equal(d.phase, cases[i].to);
		instance_decision_done(&d);
		testinstance_close(&t);
	}
}

static void
test_machines_of_lost_nodes_are_given_up_by_name(void **state)
{
	struct testinstance t;
	struct instance_decision d;

	(void)state;
	testinstance_open(&t, "Running", "", NODE_N1,
			  PODS(TEST_POD("p", "n1", "", DOWN("Failed"))));
	t.facts.node = NULL;
	instance_decide(&t.facts, &d);
	assert_int_equal(d.phase, VMI_FAILED);
	assert_string_equal(js_str_at(d.patch, "status.reason"),
			    "NodeUnresponsive");
	assert_string_equal(d.event_text,
			    "virt-handler on node n1 is not responsive, "
			    "marking VMI as failed");
	instance_decision_done(&d);
	/* As long as the pod may run, so may the machine. */
	t.pods[0]->phase = POD_RUNNING;
	instance_decide(&t.facts, &d);
	assert_int_equal(d.phase, VMI_RUNNING);
	instance_decision_done(&d);
	t.pods[0]->phase = POD_FAILED;
	t.facts.node = t.node;
	t.node->heartbeat_us = TEST_NOW_US - 301 * INT64_C(1000000);
	instance_decide(&t.facts, &d);
	assert_int_equal(d.phase, VMI_FAILED);
	instance_decision_done(&d);
	testinstance_close(&t);
}

static void
test_signs_for_the_descheduler_are_kept_on_the_pod(void **state)
{
	struct testinstance t;
	struct instance_decision d;

	(void)state;
	testinstance_open(&t, "Running", "",
			  NODE_N1 "'evacuationNodeName': 'n1', ",
			  PODS(TEST_POD("p", "n1", "", TEST_POD_READY)));
	instance_decide(&t.facts, &d);
	assert_ptr_equal(d.annotate, t.pods[0]);
	assert_string_equal(reason_of(&d, COND_EVICTION_REQUESTED),
			    "EvictionRequested");
	instance_decision_done(&d);
	t.facts.confirmed = false;
	instance_decide(&t.facts, &d);
	assert_true(d.confirm);
	instance_decision_done(&d);
	t.pods[0]->evicting = true;
	instance_decide(&t.facts, &d);
	assert_null(d.annotate);
	assert_false(d.confirm);
	instance_decision_done(&d);
	testinstance_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_phase_follows_from_the_pod),
		cmocka_unit_test(
			test_a_new_instance_gets_one_pod_and_says_so_when_it_is_there),
		cmocka_unit_test(test_what_hinders_the_pod_is_said),
		cmocka_unit_test(test_an_image_that_cannot_be_had_is_said),
		cmocka_unit_test(test_pods_go_with_their_instance),
		cmocka_unit_test(
			test_no_pod_outlives_the_end_of_its_instance_for_long),
		cmocka_unit_test(test_finalizers_stay_until_no_pod_is_left),
		cmocka_unit_test(
			test_an_instance_on_its_way_is_left_to_the_nodes),
		cmocka_unit_test(
			test_machines_of_lost_nodes_are_given_up_by_name),
		cmocka_unit_test(
			test_signs_for_the_descheduler_are_kept_on_the_pod),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
