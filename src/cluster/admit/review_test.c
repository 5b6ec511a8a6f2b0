/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/review.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/admit/hook.h"
#include "cluster/admit/testadmit.h"
#include "kube/fetch.h"

static struct hook hook = { .name = (char *)"hh.example.com",
			    .mutating = true,
			    .speaks_v1 = true };

/* ' stands for " in the body. */
static void
read_body(const char *body, int code, struct review_answer *ret_answer)
{
	static const struct fetch_header text[] = { { "content-type",
						      "text/plain" } };
	AUTO(free_ptr) char *copy = xstrdup(body);
	struct fetch_result result = {
		.error = FETCH_OK,
		.text = "",
		.cause = "",
		.code = code,
		.headers = text,
		.header_count = code >= 500 && *body != '\0' ? 1 : 0,
		.body = copy,
		.body_len = strlen(copy),
	};

	for (char *c = copy; *c != '\0'; c++) {
		if (*c == '\'')
			*c = '"';
	}
	*ret_answer = REVIEW_ANSWER_INIT;
	review_read(&hook, "u1", &result, ret_answer);
}

#define REVIEW(response)                                                \
	"{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview'," \
	"'response':" response "}"

static void
test_an_answer_that_cannot_be_used_says_why(void **state)
{
	static const struct {
		const char *body;
		int code;
		const char *why;
	} rows[] = {
		{ "", 500,
		  "failed to call webhook: an error on the server "
		  "(\"unknown\") has prevented the request from succeeding" },
		{ " boom\n", 500,
		  "failed to call webhook: an error on the server (\"boom\") "
		  "has prevented the request from succeeding" },
		{ "", 404,
		  "failed to call webhook: the server could not find the "
		  "requested resource" },
		{ "{'kind':'Status','message':'not today'}", 503,
		  "failed to call webhook: not today" },
		{ "", 302,
		  "failed to call webhook: the server responded with the "
		  "status code 302 but did not return more information" },
		{ "junk", 200,
		  "failed to call webhook: couldn't get version/kind; json "
		  "parse error: invalid character 'j' looking for beginning "
		  "of value" },
		{ "", 200,
		  "failed to call webhook: couldn't get version/kind; json "
		  "parse error: unexpected end of JSON input" },
		{ REVIEW("null"), 200,
		  "received invalid webhook response: webhook response was "
		  "absent" },
		{ REVIEW("{'uid':'u2','allowed':true}"), 200,
		  "received invalid webhook response: expected "
		  "response.uid=\"u1\", got \"u2\"" },
		{ "{'apiVersion':'admission.k8s.io/v1beta1','kind':"
		  "'AdmissionReview','response':{'uid':'u1'}}",
		  200,
		  "received invalid webhook response: expected webhook "
		  "response of admission.k8s.io/v1, Kind=AdmissionReview, got "
		  "admission.k8s.io/v1beta1, Kind=AdmissionReview" },
		{ REVIEW("{'uid':'u1','allowed':true,'patch':'W10='}"), 200,
		  "received invalid webhook response: webhook returned "
		  "response.patch but not response.patchType" },
		{ REVIEW("{'uid':'u1','allowed':true,"
			 "'patchType':'JSONPatch'}"),
		  200,
		  "received invalid webhook response: webhook returned "
		  "response.patchType but not response.patch" },
		{ REVIEW("{'uid':'u1','allowed':true,'patch':'W10=',"
			 "'patchType':'Merge'}"),
		  200, "unsupported patch type \"Merge\"" },
		{ REVIEW("{'uid':'u1','allowed':true,'patch':'e30=',"
			 "'patchType':'JSONPatch'}"),
		  200,
		  "received undecodable patch in webhook response: not a list "
		  "of operations" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct review_answer answer;

		read_body(rows[i].body, rows[i].code, &answer);
		assert_int_equal(answer.result, REVIEW_FAILED);
		assert_string_equal(answer.why, rows[i].why);
		review_answer_done(&answer);
	}
}

static void
test_a_denial_keeps_what_the_webhook_says(void **state)
{
	struct review_answer answer;

	(void)state;
	read_body(REVIEW("{'uid':'u1','allowed':false,'status':{'code':409,"
			 "'reason':'Conflict','message':'no way',"
			 "'details':{'causes':[{'field':'spec.x'}]}}}"),
		  200, &answer);
	assert_int_equal(answer.result, REVIEW_DENIED);
	assert_int_equal(answer.status.code, 409);
	assert_string_equal(answer.status.reason, "Conflict");
	assert_string_equal(
		answer.status.message,
		"admission webhook \"hh.example.com\" denied the request: "
		"no way");
	assert_int_equal(
		json_array_size(js_arr_at(answer.status.details, "causes")), 1);
	review_answer_done(&answer);
}

static void
test_a_denial_without_words_is_a_bad_request(void **state)
{
	struct review_answer answer;

	(void)state;
	read_body(REVIEW("{'uid':'u1'}"), 200, &answer);
	assert_int_equal(answer.result, REVIEW_DENIED);
	assert_int_equal(answer.status.code, 400);
	assert_null(answer.status.reason);
	assert_string_equal(
		answer.status.message,
		"admission webhook \"hh.example.com\" denied the request "
		"without explanation");
	review_answer_done(&answer);
}

static void
test_patch_and_warnings_are_handed_on(void **state)
{
	struct review_answer answer;

	(void)state;
	/* [{"op":"remove","path":"/a"}] */
	read_body(REVIEW("{'uid':'u1','allowed':true,'patchType':'JSONPatch',"
			 "'patch':'W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0=',"
			 "'warnings':['careful now']}"),
		  200, &answer);
	assert_int_equal(answer.result, REVIEW_ALLOWED);
	assert_string_equal(js_str_at(json_array_get(answer.patch, 0), "op"),
			    "remove");
	assert_string_equal(
		json_string_value(json_array_get(answer.warnings, 0)),
		"careful now");
	review_answer_done(&answer);
}

static void
test_a_validating_webhook_must_not_patch(void **state)
{
	struct review_answer answer;

	(void)state;
	hook.mutating = false;
	read_body(REVIEW("{'uid':'u1','allowed':true,'patch':'W10='}"), 200,
		  &answer);
	hook.mutating = true;
	assert_int_equal(answer.result, REVIEW_FAILED);
	assert_string_equal(answer.why,
			    "received invalid webhook response: validating "
			    "webhook may not return response.patch");
	review_answer_done(&answer);
}

static void
test_an_old_webhook_need_not_repeat_the_uid(void **state)
{
	struct review_answer answer;

	(void)state;
	hook.speaks_v1 = false;
	read_body("{'response':{'allowed':true,'patch':'W10='}}", 200, &answer);
	hook.speaks_v1 = true;
	assert_int_equal(answer.result, REVIEW_ALLOWED);
	review_answer_done(&answer);
}

static void
test_the_question_has_all_that_kubernetes_sends(void **state)
{
	struct world *w = *state;
	struct admission_request req =
		world_create(w, "", "configmaps",
			     "{'apiVersion':'v1','kind':'ConfigMap',"
			     "'metadata':{'name':'m','namespace':'w'}}");
	char uid[NAME_UUID_SIZE];
	AUTO(js_unref)
	json_t *review = review_new(&hook, &req, req.version, uid);
	AUTO(js_unref)
	json_t *expected = world_parse(
		"{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview',"
		"'request':{'dryRun':false,"
		"'kind':{'group':'','version':'v1','kind':'ConfigMap'},"
		"'name':'m','namespace':'w',"
		"'object':{'apiVersion':'v1','kind':'ConfigMap','metadata':"
		"{'name':'m','namespace':'w'}},'oldObject':null,"
		"'operation':'CREATE','options':{'kind':'CreateOptions',"
		"'apiVersion':'meta.k8s.io/v1'},"
		"'requestKind':{'group':'','version':'v1',"
		"'kind':'ConfigMap'},'requestResource':{'group':'',"
		"'version':'v1','resource':'configmaps'},"
		"'resource':{'group':'','version':'v1',"
		"'resource':'configmaps'},"
		"'userInfo':{'username':'tester','groups':['testers',"
		"'system:authenticated']}}}");
	AUTO(free_ptr) char *is = NULL;
	AUTO(free_ptr) char *should = js_text_sorted(expected, NULL);

	assert_string_equal(js_str_at(review, "request.uid"), uid);
	(void)json_object_del(js_obj_at(review, "request"), "uid");
	is = js_text_sorted(review, NULL);
	assert_string_equal(is, should);
	world_request_done(&req);
}

static void
test_a_subresource_brings_its_own_kind(void **state)
{
	struct world *w = *state;
	struct admission_request req =
		world_create(w, "", "pods",
			     "{'apiVersion':'policy/v1','kind':'Eviction',"
			     "'metadata':{'name':'p','namespace':'w'}}");
	char uid[NAME_UUID_SIZE];
	AUTO(js_unref) json_t *review = NULL;

	req.subresource = "eviction";
	review = review_new(&hook, &req, req.version, uid);
	assert_string_equal(js_str_at(review, "request.kind.group"), "policy");
	assert_string_equal(js_str_at(review, "request.kind.kind"), "Eviction");
	assert_string_equal(js_str_at(review, "request.resource.resource"),
			    "pods");
	assert_string_equal(js_str_at(review, "request.subResource"),
			    "eviction");
	assert_string_equal(js_str_at(review, "request.requestSubResource"),
			    "eviction");
	world_request_done(&req);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_that_cannot_be_used_says_why),
		cmocka_unit_test(test_a_denial_keeps_what_the_webhook_says),
		cmocka_unit_test(test_a_denial_without_words_is_a_bad_request),
		cmocka_unit_test(test_patch_and_warnings_are_handed_on),
		cmocka_unit_test(test_a_validating_webhook_must_not_patch),
		cmocka_unit_test(test_an_old_webhook_need_not_repeat_the_uid),
		cmocka_unit_test_setup_teardown(
			test_the_question_has_all_that_kubernetes_sends,
			world_set_up, world_tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_subresource_brings_its_own_kind, world_set_up,
			world_tear_down),
	};

	return cmocka_run_group_tests_name("review", tests, NULL, NULL);
}
