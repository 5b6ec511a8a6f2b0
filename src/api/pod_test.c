/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pod.h"

#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"

static struct pod *
pod_of(const char *text)
{
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };
	struct pod *pod = pod_decode(object, &err);

	assert_string_equal(err.text, "");
	return pod;
}

static void
test_a_target_pod_says_what_it_is_for(void **state)
{
	AUTO(pod_unref)
	struct pod *pod = pod_of(
		"{'metadata': {'name': 'p', 'labels': {'kubevirt.io': "
		"'virt-launcher', 'kubevirt.io/created-by': 'v', "
		"'kubevirt.io/migrationJobUID': 'm'}, 'annotations': "
		"{'kubevirt.io/domain': 'vm1', "
		"'kubevirt.io/migrationJobName': 'mig', "
		"'kubevirt.io/memory-overhead-bytes': '250Mi', "
		"'descheduler.alpha.kubernetes.io/eviction-in-progress': "
		"'true'}}, 'spec': {'nodeName': 'n1', 'containers': "
		"[{'name': 'compute', 'image': 'i'}]}, 'status': {'phase': "
		"'Running', 'podIP': '10.0.0.1'}}");

	(void)state;
	assert_true(pod->launcher && pod->evicting);
	assert_false(pod->hotplug);
	assert_string_equal(pod->vmi_uid, "v");
	assert_string_equal(pod->vmi_name, "vm1");
	assert_string_equal(pod->migration_uid, "m");
	assert_string_equal(pod->migration_name, "mig");
	assert_int_equal(pod->memory_overhead_bytes, 250 << 20);
	assert_string_equal(pod->node, "n1");
	assert_string_equal(pod->compute_image, "i");
	assert_string_equal(pod->ip, "10.0.0.1");
	assert_int_equal(pod->phase, POD_RUNNING);
	assert_false(pod_is_down(pod));
}

static void
test_the_guests_container_need_only_run_and_the_others_be_ready(void **state)
{
	static const struct {
		const char *statuses;
		bool ready;
	} cases[] = {
		{ "[]", false },
		{ "[{'name': 'compute', 'ready': false, 'state': {'running': "
		  "{}}}]",
		  true },
		{ "[{'name': 'compute', 'ready': true, 'state': {'waiting': "
		  "{}}}]",
		  false },
		{ "[{'name': 'compute', 'state': {'running': {}}}, {'name': "
		  "'volumedisk', 'ready': false, 'state': {'running': {}}}]",
		  false },
		{ "[{'name': 'compute', 'state': {'running': {}}}, {'name': "
		  "'istio-proxy', 'ready': false, 'state': {'running': {}}}, "
		  "{'name': 'volumedisk', 'ready': true}]",
		  true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref)
		json_t *object = testjson("{'metadata': {'name': 'p'}}");
		struct err err;
		struct pod *pod;

		(void)json_object_set_new(
			object, "status",
			json_pack("{s:o}", "containerStatuses",
				  testjson(cases[i].statuses)));
		pod = pod_decode(object, &err);
		assert_int_equal(pod->ready, cases[i].ready);
		pod_free(pod);
		/* Not any more. */
		(void)json_object_set_new(json_object_get(object, "metadata"),
					  "deletionTimestamp",
					  json_string("2026-01-01T00:00:00Z"));
		pod = pod_decode(object, &err);
		assert_false(pod->ready);
		pod_free(pod);
	}
}

static void
test_a_pod_without_a_place_is_unschedulable(void **state)
{
	AUTO(pod_unref)
	struct pod *stuck = pod_of(
		"{'metadata': {'name': 'p'}, 'status': {'phase': 'Pending', "
		"'conditions': [{'type': 'PodScheduled', 'status': 'False', "
		"'reason': 'Unschedulable'}]}}");
	AUTO(pod_unref)
	struct pod *gated = pod_of(
		"{'metadata': {'name': 'p'}, 'status': {'phase': 'Pending', "
		"'conditions': [{'type': 'PodScheduled', 'status': 'False', "
		"'reason': 'SchedulingGated'}]}}");

	(void)state;
	assert_true(stuck->unschedulable);
	assert_false(gated->unschedulable);
}

static void
test_phases_end_a_pod(void **state)
{
	AUTO(pod_unref)
	struct pod *pod = pod_of("{'metadata': {'name': 'p'}, 'status': "
				 "{'phase': 'Failed', 'reason': 'Evicted'}}");

	(void)state;
	assert_true(pod_is_down(pod));
	assert_string_equal(pod->reason, "Evicted");
	assert_string_equal(pod_phase_name(pod->phase), "Failed");
}

static void
test_what_a_pod_waits_for_and_when_it_ended_is_decoded(void **state)
{
	AUTO(pod_unref)
	struct pod *pod = pod_of(
		"{'metadata': {'name': 'p', 'annotations': "
		"{'kubevirt.io/migrationTransportUnix': 'true', "
		"'descheduler.alpha.kubernetes.io/prefer-no-eviction': ''}}, "
		"'status': {'qosClass': 'Guaranteed', 'conditions': [{'type': "
		"'Initialized', 'status': 'True'}, {'type': 'Ready', "
		"'status': 'False', 'reason': 'r'}], 'containerStatuses': "
		"[{'name': 'a', 'state': {'terminated': {'finishedAt': "
		"'1970-01-01T00:00:05Z'}}}, {'name': 'compute', 'state': "
		"{'waiting': {'reason': 'ErrImagePull', 'message': 'm'}}}]}}");

	(void)state;
	assert_true(pod->unix_transport);
	assert_string_equal(pod->wishes, ",stay=");
	assert_string_equal(pod->qos_class, "Guaranteed");
	assert_int_equal(pod->conds.len, 1);
	assert_true(conds_is_false(&pod->conds, "Ready"));
	assert_string_equal(pod->waiting_reason, "ErrImagePull");
	assert_string_equal(pod->waiting_message, "m");
	assert_int_equal(pod->ended_us, 5000000);
}

static void
test_why_a_container_failed_is_decoded(void **state)
{
	AUTO(pod_unref)
	struct pod *said = pod_of(
		"{'metadata': {'name': 'p'}, 'status': {'phase': 'Failed', "
		"'initContainerStatuses': [{'name': 'i', 'state': "
		"{'terminated': {'exitCode': 0, 'reason': 'Completed'}}}], "
		"'containerStatuses': [{'name': 'compute', 'state': "
		"{'terminated': {'exitCode': 128, 'reason': 'StartError', "
		"'message': 'no such program'}}}]}}");
	AUTO(pod_unref)
	struct pod *silent = pod_of(
		"{'metadata': {'name': 'p'}, 'status': {'phase': 'Failed', "
		"'containerStatuses': [{'name': 'compute', 'state': "
		"{'terminated': {'exitCode': 137, 'reason': 'OOMKilled'}}}]}}");
	AUTO(pod_unref)
	struct pod *well = pod_of(
		"{'metadata': {'name': 'p'}, 'status': {'phase': 'Succeeded', "
		"'containerStatuses': [{'name': 'compute', 'state': "
		"{'terminated': {'exitCode': 0, 'message': 'bye'}}}]}}");

	(void)state;
	assert_string_equal(said->ended_text, "no such program");
	assert_string_equal(silent->ended_text, "OOMKilled");
	assert_string_equal(well->ended_text, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_target_pod_says_what_it_is_for),
		cmocka_unit_test(
			test_the_guests_container_need_only_run_and_the_others_be_ready),
		cmocka_unit_test(test_a_pod_without_a_place_is_unschedulable),
		cmocka_unit_test(test_phases_end_a_pod),
		cmocka_unit_test(
			test_what_a_pod_waits_for_and_when_it_ended_is_decoded),
		cmocka_unit_test(test_why_a_container_failed_is_decoded),
	};

	return cmocka_run_group_tests_name("pod", tests, NULL, NULL);
}
