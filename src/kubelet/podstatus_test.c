/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/podstatus.h"

#include "api/testjson.h"
#include "base/cleanup.h"
#include "kube/conditions.h"

#define POD                                                           \
	"{'metadata':{'name':'p','namespace':'n','uid':'u'},'spec':{" \
	"'initContainers':[{'name':'i','image':'init'}],"             \
	"'containers':[{'name':'c','image':'main','volumeMounts':["   \
	"{'name':'v','mountPath':'/v'}]}]},'status':{}}"

static struct container list[2];

static json_t *
make(json_t *pod, enum container_phase init, enum container_phase main_phase,
     const char *waiting)
{
	static const bool terminated[2];
	struct plan_in plan = { .policy = PLAN_ALWAYS,
				.sandbox = true,
				.containers = list,
				.terminated = terminated,
				.count = 2,
				.now_us = 1000000,
				.backoff_ms = 10000,
				.backoff_max_ms = 300000 };
	AUTO(js_unref) json_t *ips = testjson("['10.0.0.5']");

	list[0].phase = init;
	list[1].phase = main_phase;
	return podstatus_make(&(struct podstatus_in){
		.pod = pod,
		.plan = &plan,
		.host_ip = "10.0.0.1",
		.pod_ips = ips,
		.started_us = 500000,
		.waiting_reason = waiting,
		.waiting_message = waiting == NULL ? NULL : "because",
		.waiting_container = waiting == NULL ? NULL : "c",
		.now_us = plan.now_us });
}

static int
setup(void **state)
{
	(void)state;
	memset(list, 0, sizeof(list));
	list[0] = (struct container){ .name = xstrdup("i"), .init = true };
	list[1] = (struct container){ .name = xstrdup("c") };
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	container_done(&list[0]);
	container_done(&list[1]);
	return 0;
}

static const json_t *
first(const json_t *status, const char *name)
{
	return json_array_get(js_arr_at(status, name), 0);
}

static void
test_a_running_pod_is_ready(void **state)
{
	AUTO(js_unref) json_t *pod = testjson(POD);
	AUTO(js_unref) json_t *status = NULL;
	const json_t *conditions;

	(void)state;
	list[1].image_ref = xstrdup("main@sha256:1");
	list[1].volumes = testjson("{'v':'disk@sha256:2'}");
	status = make(pod, CONTAINER_EXITED, CONTAINER_RUNNING, NULL);
	conditions = js_arr_at(status, "conditions");
	assert_string_equal(js_str_at(status, "phase"), "Running");
	assert_string_equal(js_str_at(status, "podIP"), "10.0.0.5");
	assert_true(condition_is_true(conditions, "Ready"));
	assert_true(condition_is_true(conditions, "Initialized"));
	/* Why it was not ready before is taken back. */
	assert_true(json_is_null(
		json_object_get(condition_get(conditions, "Ready"), "reason")));
	assert_string_equal(
		js_str_at(first(status, "containerStatuses"), "imageID"),
		"main@sha256:1");
	assert_string_equal(
		js_str_at(json_array_get(
				  js_arr_at(first(status, "containerStatuses"),
					    "volumeMounts"),
				  0),
			  "volumeStatus.image.imageRef"),
		"disk@sha256:2");
	assert_string_equal(
		js_str_at(first(status, "containerStatuses"), "containerID"),
		"crun://u-c-0");
}

static void
test_what_waits_says_for_what(void **state)
{
	AUTO(js_unref) json_t *pod = testjson(POD);
	AUTO(js_unref)
	json_t *status = make(pod, CONTAINER_RUNNING, CONTAINER_NONE, NULL);

	(void)state;
	assert_string_equal(js_str_at(status, "phase"), "Pending");
	assert_string_equal(js_str_at(first(status, "containerStatuses"),
				      "state.waiting.reason"),
			    "PodInitializing");
	js_unref(&status);
	status = make(pod, CONTAINER_EXITED, CONTAINER_NONE, "ErrImagePull");
	assert_string_equal(js_str_at(first(status, "containerStatuses"),
				      "state.waiting.reason"),
			    "ErrImagePull");
	assert_string_equal(js_str_at(first(status, "containerStatuses"),
				      "state.waiting.message"),
			    "because");
}

static void
test_a_container_that_keeps_failing_says_how_it_failed(void **state)
{
	AUTO(js_unref) json_t *pod = testjson(POD);
	AUTO(js_unref) json_t *status = NULL;

	(void)state;
	list[1].attempt = 2;
	list[1].now.exit_code = 7;
	list[1].now.finished_us = 1000000;
	status = make(pod, CONTAINER_EXITED, CONTAINER_EXITED, NULL);
	assert_string_equal(js_str_at(first(status, "containerStatuses"),
				      "state.waiting.reason"),
			    "CrashLoopBackOff");
	assert_int_equal(js_int_at(first(status, "containerStatuses"),
				   "lastState.terminated.exitCode", 0),
			 7);
	assert_int_equal(js_int_at(first(status, "containerStatuses"),
				   "restartCount", 0),
			 2);
}

static void
test_conditions_of_others_are_not_written(void **state)
{
	AUTO(js_unref) json_t *pod = testjson(POD);
	AUTO(js_unref) json_t *status = NULL;

	(void)state;
	(void)json_object_set_new(
		pod, "status",
		testjson("{'phase':'Failed','startTime':"
			 "'2026-01-01T00:00:00Z','conditions':["
			 "{'type':'DisruptionTarget','status':'True'},"
			 "{'type':'Ready','status':'True','lastTransitionTime':"
			 "'2026-01-02T00:00:00Z'}]}"));
	status = make(pod, CONTAINER_EXITED, CONTAINER_RUNNING, NULL);
	assert_null(condition_get(js_arr_at(status, "conditions"),
				  "DisruptionTarget"));
	/* And what is over stays over. */
	assert_string_equal(js_str_at(status, "phase"), "Failed");
	assert_string_equal(js_str_at(status, "startTime"),
			    "2026-01-01T00:00:00Z");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_running_pod_is_ready,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_waits_says_for_what,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_container_that_keeps_failing_says_how_it_failed,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_conditions_of_others_are_not_written, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
