/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/testjson.h"
#include "cluster/server/pod.h"
#include "cluster/server/query.h"
#include "cluster/server/strategy.h"
#include "meta/causes.h"

static void
test_a_pods_class_follows_from_its_resources(void **state)
{
	static const struct {
		const char *pod;
		const char *qos;
	} cases[] = {
		{ "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}",
		  "BestEffort" },
		{ "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{"
		  "\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}",
		  "Guaranteed" },
		{ "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{"
		  "\"cpu\":\"1\"}}}]}}",
		  "Burstable" },
		{ "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{"
		  "\"cpu\":\"1\",\"memory\":\"1Gi\"}}},{\"name\":\"b\"}]}}",
		  "Burstable" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *pod = testjson(cases[i].pod);

		assert_string_equal(pod_qos_class(pod), cases[i].qos);
		json_decref(pod);
	}
}

static void
test_what_is_limited_is_requested(void **state)
{
	json_t *pod = testjson("{\"spec\":{\"containers\":[{\"resources\":{"
			       "\"limits\":{\"cpu\":\"2\"}}}]}}");
	const json_t *container;

	(void)state;
	pod_prepare_create(pod);
	container = json_array_get(
		json_object_get(json_object_get(pod, "spec"), "containers"), 0);
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(json_object_get(container, "resources"),
					"requests"),
			"cpu")),
		"2");
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(pod, "status"), "phase")),
			    "Pending");
	json_decref(pod);
}

static void
test_an_image_that_may_have_changed_is_pulled(void **state)
{
	static const struct {
		const char *image;
		const char *policy;
	} cases[] = {
		{ "busybox", "Always" },
		{ "busybox:latest", "Always" },
		{ "registry:5000/busybox", "Always" },
		{ "registry:5000/busybox:1.36", "IfNotPresent" },
		{ "busybox@sha256:0123", "IfNotPresent" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *pod = json_pack("{s:{s:[{s:s}]}}", "spec", "containers",
					"image", cases[i].image);

		pod_prepare_create(pod);
		assert_string_equal(
			json_string_value(json_object_get(
				json_array_get(
					json_object_get(
						json_object_get(pod, "spec"),
						"containers"),
					0),
				"imagePullPolicy")),
			cases[i].policy);
		json_decref(pod);
	}
}

static void
test_only_a_pod_that_runs_is_given_time(void **state)
{
	const struct delete_options none = { .has_grace = false };
	const struct delete_options five = { .has_grace = true, .grace_s = 5 };
	json_t *bound = testjson("{\"spec\":{\"nodeName\":\"n\","
				 "\"terminationGracePeriodSeconds\":7}}");
	json_t *unbound = testjson("{\"spec\":{}}");
	json_t *done = testjson("{\"spec\":{\"nodeName\":\"n\"},\"status\":{"
				"\"phase\":\"Failed\"}}");
	json_t *plain = testjson("{\"spec\":{\"nodeName\":\"n\"}}");

	(void)state;
	assert_int_equal(pod_grace(bound, &none), 7);
	assert_int_equal(pod_grace(bound, &five), 5);
	assert_int_equal(pod_grace(unbound, &five), 0);
	assert_int_equal(pod_grace(done, &five), 0);
	assert_int_equal(pod_grace(plain, &none), POD_GRACE_DEFAULT_S);
	json_decref(bound);
	json_decref(unbound);
	json_decref(done);
	json_decref(plain);
}

static size_t
faults_of_update(const char *was, const char *is)
{
	const struct strategy_env env = { NULL };
	struct causes causes = CAUSES_INIT;
	json_t *old = testjson(was), *object = testjson(is);
	size_t n;

	pod_validate(&env, object, old, &causes);
	n = causes_count(&causes);
	causes_done(&causes);
	json_decref(old);
	json_decref(object);
	return n;
}

static void
test_little_of_a_pods_spec_may_change(void **state)
{
	static const char pod[] = "{\"spec\":{\"containers\":[{\"name\":\"c\","
				  "\"image\":\"a\"}]}}";

	(void)state;
	assert_int_equal(faults_of_update(pod, pod), 0);
	assert_int_equal(
		faults_of_update(pod, "{\"spec\":{\"containers\":[{\"name\":"
				      "\"c\",\"image\":\"b\"}]}}"),
		0);
	assert_int_equal(faults_of_update(pod,
					  "{\"spec\":{\"nodeName\":\"n\","
					  "\"containers\":[{\"name\":\"c\","
					  "\"image\":\"a\"}]}}"),
			 1);
	assert_int_equal(faults_of_update(pod,
					  "{\"spec\":{\"tolerations\":[{}],"
					  "\"containers\":[{\"name\":\"c\","
					  "\"image\":\"a\"}]}}"),
			 0);
	assert_int_equal(
		faults_of_update("{\"spec\":{\"tolerations\":[{}],"
				 "\"containers\":[{\"name\":\"c\"}]}}",
				 "{\"spec\":{\"containers\":[{\"name\":"
				 "\"c\"}]}}"),
		1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pods_class_follows_from_its_resources),
		cmocka_unit_test(test_what_is_limited_is_requested),
		cmocka_unit_test(test_an_image_that_may_have_changed_is_pulled),
		cmocka_unit_test(test_only_a_pod_that_runs_is_given_time),
		cmocka_unit_test(test_little_of_a_pods_spec_may_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
