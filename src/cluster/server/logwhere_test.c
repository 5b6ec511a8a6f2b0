/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/server/logwhere.h"

#include "base/cleanup.h"
#include "base/testjson.h"
#include "cluster/server/query.h"
#include "meta/status.h"

#define ONE                                                   \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"}," \
	"\"spec\":{\"containers\":[{\"name\":\"c\"}]}}"
#define SEVERAL                                               \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"}," \
	"\"spec\":{\"initContainers\":[{\"name\":\"i\"}],"    \
	"\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]," \
	"\"ephemeralContainers\":[{\"name\":\"e\"}]}}"
#define NODE                                                          \
	"{\"metadata\":{\"name\":\"n1\"},\"status\":{\"addresses\":[" \
	"{\"type\":\"Hostname\",\"address\":\"n1\"},"                 \
	"{\"type\":\"InternalIP\",\"address\":\"192.0.2.1\"}]}}"

static int
options(const char *raw, const char *pod_text, struct log_where *where,
	struct status *st)
{
	AUTO(js_unref) json_t *pod = testjson(pod_text);
	struct query query;
	int r;

	assert_int_equal(query_parse(raw, &query, st), 0);
	r = log_where_options(&query, pod, where, st);
	query_done(&query);
	return r;
}

static void
expect_url(const char *raw, const char *pod_text, const char *node_text,
	   const char *url)
{
	AUTO(log_where_done) struct log_where where = { 0 };
	AUTO(js_unref) json_t *pod = testjson(pod_text);
	AUTO(js_unref) json_t *node = testjson(node_text);
	struct status st = STATUS_INIT;

	assert_int_equal(options(raw, pod_text, &where, &st), 0);
	assert_int_equal(log_where_node(node, pod, &where, &st), 0);
	assert_string_equal(where.url, url);
}

static void
expect_refusal(const char *raw, const char *pod_text, int code,
	       const char *message)
{
	AUTO(log_where_done) struct log_where where = { 0 };
	AUTO(status_done) struct status st = STATUS_INIT;

	assert_int_equal(options(raw, pod_text, &where, &st), -1);
	assert_int_equal(st.code, code);
	assert_string_equal(st.message, message);
}

static void
test_the_only_container_needs_no_name(void **state)
{
	(void)state;
	expect_url("", ONE, NODE,
		   "https://192.0.2.1:10250/containerLogs/n/p/c");
	expect_url("container=e&pretty=true", SEVERAL, NODE,
		   "https://192.0.2.1:10250/containerLogs/n/p/e");
}

static void
test_options_are_passed_on_in_their_canonical_form(void **state)
{
	(void)state;
	expect_url("timestamps=1&follow=true&previous=false&tailLines=007"
		   "&limitBytes=1&sinceTime=2026-11-16T04:48:24.5%2B01:00",
		   ONE, NODE,
		   "https://192.0.2.1:10250/containerLogs/n/p/c?follow=true"
		   "&timestamps=true&sinceTime=2026-11-16T03%3A48%3A24Z"
		   "&tailLines=7&limitBytes=1");
	expect_url("previous=true&sinceSeconds=5&tailLines=0&limitBytes=", ONE,
		   NODE,
		   "https://192.0.2.1:10250/containerLogs/n/p/c?previous=true"
		   "&sinceSeconds=5&tailLines=0");
}

static void
test_the_kubelet_is_where_its_node_says(void **state)
{
	(void)state;
	expect_url("", ONE,
		   "{\"status\":{\"addresses\":[{\"type\":\"InternalIP\","
		   "\"address\":\"2001:db8::1\"}],\"daemonEndpoints\":{"
		   "\"kubeletEndpoint\":{\"Port\":4711}}}}",
		   "https://[2001:db8::1]:4711/containerLogs/n/p/c");
	expect_url("", ONE,
		   "{\"status\":{\"addresses\":[{\"type\":\"Hostname\","
		   "\"address\":\"n1.example\"}],\"daemonEndpoints\":{"
		   "\"kubeletEndpoint\":{\"Port\":70000}}}}",
		   "https://n1.example:10250/containerLogs/n/p/c");
}

static void
test_a_node_without_a_usable_address_is_an_error(void **state)
{
	static const char *const nodes[] = {
		"{\"metadata\":{\"name\":\"n1\"}}",
		"{\"metadata\":{\"name\":\"n1\"},\"status\":{\"addresses\":[{"
		"\"type\":\"InternalIP\",\"address\":\"1.2.3.4/x?y\"}]}}",
		"{\"metadata\":{\"name\":\"n1\"},\"status\":{\"addresses\":[{"
		"\"type\":\"InternalIP\",\"address\":\"me@1.2.3.4\"}]}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		AUTO(log_where_done) struct log_where where = { 0 };
		AUTO(status_done) struct status st = STATUS_INIT;
		AUTO(js_unref) json_t *pod = testjson(ONE);
		AUTO(js_unref) json_t *node = testjson(nodes[i]);

		assert_int_equal(options("", ONE, &where, &st), 0);
		assert_int_equal(log_where_node(node, pod, &where, &st), -1);
		assert_int_equal(st.code, 500);
	}
}

static void
test_wrong_containers_are_refused_in_kubernetes_words(void **state)
{
	(void)state;
	expect_refusal("", SEVERAL, 400,
		       "a container name must be specified for pod p, choose "
		       "one of: [i a b e]");
	expect_refusal("container=x", ONE, 400,
		       "container x is not valid for pod p");
}

static void
test_wrong_options_are_refused_in_kubernetes_words(void **state)
{
	(void)state;
	expect_refusal("tailLines=-1", ONE, 422,
		       "PodLogOptions \"p\" is invalid: tailLines: Invalid "
		       "value: -1: must be greater than or equal to 0");
	expect_refusal("limitBytes=0", ONE, 422,
		       "PodLogOptions \"p\" is invalid: limitBytes: Invalid "
		       "value: 0: must be greater than 0");
	expect_refusal("sinceSeconds=3&sinceTime=2026-11-16T03:48:24Z", ONE,
		       422,
		       "PodLogOptions \"p\" is invalid: : Forbidden: at most "
		       "one of `sinceTime` or `sinceSeconds` may be specified");
	expect_refusal("tailLines=x", ONE, 400,
		       "strconv.ParseInt: parsing \"x\": invalid syntax");
	expect_refusal("tailLines=99999999999999999999", ONE, 400,
		       "strconv.ParseInt: parsing \"99999999999999999999\": "
		       "value out of range");
}

static void
test_who_answers_is_verified_unless_the_client_says_otherwise(void **state)
{
	AUTO(log_where_done) struct log_where strict = { 0 };
	AUTO(log_where_done) struct log_where lax = { 0 };
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(options("", ONE, &strict, &st), 0);
	assert_false(strict.insecure);
	assert_int_equal(
		options("insecureSkipTLSVerifyBackend=true", ONE, &lax, &st),
		0);
	assert_true(lax.insecure);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_only_container_needs_no_name),
		cmocka_unit_test(
			test_options_are_passed_on_in_their_canonical_form),
		cmocka_unit_test(test_the_kubelet_is_where_its_node_says),
		cmocka_unit_test(
			test_a_node_without_a_usable_address_is_an_error),
		cmocka_unit_test(
			test_wrong_containers_are_refused_in_kubernetes_words),
		cmocka_unit_test(
			test_wrong_options_are_refused_in_kubernetes_words),
		cmocka_unit_test(
			test_who_answers_is_verified_unless_the_client_says_otherwise),
	};

	return cmocka_run_group_tests_name("logwhere", tests, NULL, NULL);
}
