/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/status.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "meta/causes.h"
#include "meta/gofmt.h"

static const struct gr pods = { .group = "", .resource = "pods" };
static const struct gr vmims = {
	.group = "kubevirt.io",
	.resource = "virtualmachineinstancemigrations",
};

/* The whole answer, in the order in which it goes out. */
static void
expect(struct status *st, const char *text)
{
	AUTO(js_unref) json_t *obj = status_json(st);
	AUTO(free_ptr) char *got = js_text(obj);

	assert_string_equal(got, text);
	status_done(st);
	assert_int_equal(st->code, 0);
	assert_null(st->message);
}

#define HEAD                                                          \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{}," \
	"\"status\":\"Failure\",\"message\":"

static void
test_errors_about_an_object_name_it_in_message_and_details(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(status_not_found(&st, &pods, "x"), -1);
	expect(&st, HEAD "\"pods \\\"x\\\" not found\",\"reason\":\"NotFound\","
			 "\"details\":{\"name\":\"x\",\"kind\":\"pods\"},"
			 "\"code\":404}");
	assert_int_equal(status_already_exists(&st, &vmims, "q1"), -1);
	expect(&st,
	       HEAD "\"virtualmachineinstancemigrations.kubevirt.io \\\"q1\\\" "
		    "already exists\",\"reason\":\"AlreadyExists\","
		    "\"details\":{\"name\":\"q1\",\"group\":\"kubevirt.io\","
		    "\"kind\":\"virtualmachineinstancemigrations\"},"
		    "\"code\":409}");
	assert_int_equal(status_modified(&st, &pods, "p"), -1);
	expect(&st, HEAD "\"Operation cannot be fulfilled on pods \\\"p\\\": "
			 "the object has been modified; please apply your "
			 "changes to the latest version and try again\","
			 "\"reason\":\"Conflict\",\"details\":{\"name\":\"p\","
			 "\"kind\":\"pods\"},\"code\":409}");
}

static void
test_forbidden_has_three_forms(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	(void)status_forbidden(&st, &vmims, "m", "no");
	assert_string_equal(st.message,
			    "virtualmachineinstancemigrations.kubevirt.io "
			    "\"m\" is forbidden: no");
	(void)status_forbidden(&st, &pods, "", "no");
	assert_string_equal(st.message, "pods is forbidden: no");
	(void)status_forbidden(
		&st, NULL, NULL,
		"User \"system:anonymous\" cannot get path \"/apis\"");
	expect(&st, HEAD "\"forbidden: User \\\"system:anonymous\\\" cannot "
			 "get path \\\"/apis\\\"\",\"reason\":\"Forbidden\","
			 "\"details\":{},\"code\":403}");
}

static void
test_errors_in_general_words(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	(void)status_unauthorized(&st);
	expect(&st, HEAD "\"Unauthorized\",\"reason\":\"Unauthorized\","
			 "\"code\":401}");
	(void)status_no_route(&st);
	expect(&st,
	       HEAD "\"the server could not find the requested resource\","
		    "\"reason\":\"NotFound\",\"details\":{},\"code\":404}");
	(void)status_too_large(&st, 3145728);
	expect(&st, HEAD "\"Request entity too large: limit is 3145728\","
			 "\"reason\":\"RequestEntityTooLarge\",\"code\":413}");
	(void)status_method_not_allowed(&st, &vmims, "create");
	assert_string_equal(st.message,
			    "create is not supported on resources of kind "
			    "\"virtualmachineinstancemigrations.kubevirt.io\"");
	(void)status_method_not_allowed(&st, NULL, NULL);
	expect(&st, HEAD "\"the server does not allow this method on the "
			 "requested resource\",\"reason\":\"MethodNotAllowed\","
			 "\"details\":{},\"code\":405}");
	(void)status_unsupported_media(&st, "application/json");
	expect(&st, HEAD "\"the body of the request was in an unknown format - "
			 "accepted media types include: application/json\","
			 "\"reason\":\"UnsupportedMediaType\",\"code\":415}");
	(void)status_rejected(&st);
	assert_int_equal(st.code, 422);
	(void)status_set(&st, 500, NULL, "resourceVersion %s", "x");
	expect(&st, HEAD "\"resourceVersion x\",\"code\":500}");
}

static void
test_what_may_be_tried_again_says_when(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	(void)status_timeout(&st, "Too large resource version: %d, current: %d",
			     9, 6);
	assert_int_equal(st.retry_after, 1);
	status_add_cause(&st, "ResourceVersionTooLarge",
			 "Too large resource version", NULL);
	expect(&st,
	       HEAD "\"Timeout: Too large resource version: 9, current: 6\","
		    "\"reason\":\"Timeout\",\"details\":{"
		    "\"retryAfterSeconds\":1,\"causes\":[{\"reason\":"
		    "\"ResourceVersionTooLarge\",\"message\":"
		    "\"Too large resource version\"}]},\"code\":504}");
	(void)status_too_many(&st, 0, "slow down");
	assert_int_equal(st.retry_after, 0);
	expect(&st, HEAD "\"slow down\",\"reason\":\"TooManyRequests\","
			 "\"details\":{},\"code\":429}");
}

static void
test_an_internal_error_has_its_text_as_cause(void **state)
{
	struct status st = STATUS_INIT;
	struct err err;

	(void)state;
	(void)status_internal(&st, "boom %d", 1);
	expect(&st, HEAD "\"Internal error occurred: boom 1\","
			 "\"reason\":\"InternalError\",\"details\":{\"causes\":"
			 "[{\"message\":\"boom 1\"}]},\"code\":500}");
	(void)err_set(&err, ERR_INTERNAL, "disk");
	assert_int_equal(status_from_err(&st, &err), -1);
	assert_string_equal(st.message, "Internal error occurred: disk");
	(void)err_set(&err, ERR_INVALID, "bad");
	(void)status_from_err(&st, &err);
	assert_int_equal(st.code, 400);
	assert_string_equal(st.reason, "BadRequest");
	status_done(&st);
}

static void
test_an_expired_list_carries_a_new_token(void **state)
{
	struct status st = STATUS_INIT;
	AUTO(js_unref) json_t *obj = NULL;

	(void)state;
	(void)status_expired(&st, "old");
	st.continue_token = xstrdup("abc");
	obj = status_json(&st);
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(obj, "metadata"), "continue")),
		"abc");
	assert_string_equal(st.reason, "Expired");
	assert_int_equal(st.code, 410);
	status_done(&st);
}

static void
test_causes_are_listed_and_equal_ones_named_once(void **state)
{
	static const char *const all[] = { "All", "None", NULL };
	AUTO(causes_done) struct causes c = CAUSES_INIT;
	struct status st = STATUS_INIT;
	AUTO(js_unref) json_t *five = json_integer(5);

	(void)state;
	assert_int_equal(causes_count(&c), 0);
	causes_required(&c, "metadata.name",
			"name or generateName is required");
	(void)status_invalid(&st, "kubevirt.io", "VMIM", "", &c);
	expect(&st, HEAD
	       "\"VMIM.kubevirt.io \\\"\\\" is invalid: metadata.name: "
	       "Required value: name or generateName is required\","
	       "\"reason\":\"Invalid\",\"details\":{\"group\":\"kubevirt.io\","
	       "\"kind\":\"VMIM\",\"causes\":[{\"reason\":"
	       "\"FieldValueRequired\",\"message\":\"Required value: name or "
	       "generateName is required\",\"field\":\"metadata.name\"}]},"
	       "\"code\":422}");
	causes_not_supported(&c, "dryRun", "Foo", all);
	causes_invalid(&c, "spec.n", five, "may not be 5");
	causes_invalid(&c, "spec.n", five, "may not be 5");
	causes_forbidden(&c, "spec", "no");
	causes_too_long(&c, "metadata.annotations", 262144);
	causes_required(&c, "spec", "");
	causes_too_many(&c, "l", 3, 2);
	causes_add(&c, CAUSE_TYPE_INVALID, "t", "\"integer\": %s", "x");
	(void)status_invalid(&st, "", "Pod", "p", &c);
	assert_string_equal(
		st.message,
		"Pod \"p\" is invalid: [metadata.name: Required value: name or "
		"generateName is required, dryRun: Unsupported value: \"Foo\": "
		"supported values: \"All\", \"None\", spec.n: Invalid value: "
		"5: may not be 5, spec: Forbidden: no, metadata.annotations: "
		"Too long: must have at most 262144 bytes, spec: Required "
		"value, l: Too many: 3: must have at most 2 items, t: Invalid "
		"value: \"integer\": x]");
	assert_int_equal(json_array_size(json_object_get(st.details, "causes")),
			 9);
	status_done(&st);
}

static void
test_causes_are_bounded_but_counted(void **state)
{
	AUTO(causes_done) struct causes c = CAUSES_INIT;
	AUTO(causes_done) struct causes both = CAUSES_INIT;

	(void)state;
	for (int i = 0; i < 1000; i++)
		causes_add(&c, CAUSE_INVALID, "f", "%d", i);
	assert_int_equal(causes_count(&c), 1000);
	assert_int_equal(c.len, CAUSES_MAX);
	causes_required(&both, "x", "");
	causes_append(&both, &c);
	assert_int_equal(causes_count(&both), 1001);
	assert_int_equal(both.len, CAUSES_MAX);
}

static void
test_values_are_shown_as_go_shows_them(void **state)
{
	static const struct {
		const char *json;
		const char *text;
	} cases[] = {
		{ "\"a\\\"b\\\\\\n\\u0007\\u0001\"",
		  "\"a\\\"b\\\\\\n\\a\\x01\"" },
		{ "\"\\u00e4\\u00a0\\u200b\"", "\"\303\244\\u00a0\\u200b\"" },
		{ "\"\\ud83d\\ude00\"", "\"\360\237\230\200\"" },
		{ "5", "5" },
		{ "1.5", "1.5" },
		{ "true", "true" },
		{ "null", "\"null\"" },
		{ "{\"b\":null,\"a\":[1,\"x\"]}",
		  "map[string]interface {}{\"a\":[]interface {}{1, \"x\"}, "
		  "\"b\":interface {}(nil)}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err;
		AUTO(js_unref)
		json_t *value =
			js_parse(cases[i].json, strlen(cases[i].json), &err);
		AUTO(free_ptr) char *text = gofmt_value(value);

		assert_string_equal(text, cases[i].text);
	}
	{
		AUTO(free_ptr) char *text = gofmt_quote("\xff\xc3(\x7f");
		AUTO(js_unref) json_t *list = json_pack("[s,i,s]", "a", 1, "b");
		AUTO(free_ptr) char *strings = gofmt_strings(list);

		assert_string_equal(text, "\"\\xff\\xc3(\\x7f\"");
		assert_string_equal(strings, "[]string{\"a\", \"b\"}");
	}
}

static void
test_the_status_of_another_server_is_taken_over(void **state)
{
	static const char text[] =
		"{\"status\":\"Failure\",\"message\":\"no way\",\"reason\":"
		"\"Strange\",\"code\":409,\"details\":{\"name\":\"n\",\"kind\":"
		"7,\"causes\":[{\"reason\":\"r\",\"message\":\"m\",\"field\":"
		"\"f\",\"more\":1},5],\"retryAfterSeconds\":3,\"x\":[]}}";
	struct status st = STATUS_INIT;
	struct err err;
	AUTO(js_unref) json_t *obj = js_parse(text, strlen(text), &err);

	(void)state;
	assert_int_equal(status_from_json(&st, obj, 400), -1);
	assert_int_equal(st.retry_after, 3);
	expect(&st, HEAD "\"no way\",\"reason\":\"Strange\",\"details\":{"
			 "\"name\":\"n\",\"causes\":[{\"reason\":\"r\","
			 "\"message\":\"m\",\"field\":\"f\"},{}],"
			 "\"retryAfterSeconds\":3},\"code\":409}");
	(void)json_object_clear(obj);
	(void)json_object_set_new(obj, "code", json_integer(200));
	(void)status_from_json(&st, obj, 400);
	assert_int_equal(st.code, 400);
	assert_null(st.reason);
	assert_string_equal(st.message, "");
	status_done(&st);
}

static void
test_success_is_a_status_too(void **state)
{
	AUTO(js_unref) json_t *bare = status_success_json(201, NULL);
	AUTO(free_ptr) char *text = js_text(bare);

	(void)state;
	assert_string_equal(text, "{\"kind\":\"Status\",\"apiVersion\":\"v1\","
				  "\"metadata\":{},\"status\":\"Success\","
				  "\"code\":201}");
}

static void
test_a_message_that_is_no_utf8_is_still_told(void **state)
{
	struct status st = STATUS_INIT;
	json_t *json;

	(void)state;
	(void)status_bad_request(&st, "found '%s'", "\xff");
	json = status_json(&st);
	assert_string_equal(json_string_value(json_object_get(json, "message")),
			    "found '\xef\xbf\xbd'");
	json_decref(json);
	status_done(&st);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_errors_about_an_object_name_it_in_message_and_details),
		cmocka_unit_test(test_forbidden_has_three_forms),
		cmocka_unit_test(test_errors_in_general_words),
		cmocka_unit_test(test_what_may_be_tried_again_says_when),
		cmocka_unit_test(test_an_internal_error_has_its_text_as_cause),
		cmocka_unit_test(test_an_expired_list_carries_a_new_token),
		cmocka_unit_test(
			test_causes_are_listed_and_equal_ones_named_once),
		cmocka_unit_test(test_causes_are_bounded_but_counted),
		cmocka_unit_test(test_values_are_shown_as_go_shows_them),
		cmocka_unit_test(
			test_the_status_of_another_server_is_taken_over),
		cmocka_unit_test(test_success_is_a_status_too),
		cmocka_unit_test(test_a_message_that_is_no_utf8_is_still_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
