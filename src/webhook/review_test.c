/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/review.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "meta/status.h"

#define HEAD                                       \
	"{\"apiVersion\":\"admission.k8s.io/v1\"," \
	"\"kind\":\"AdmissionReview\",\"request\":"

static const char question[] =
	HEAD "{\"uid\":\"u1\",\"operation\":\"UPDATE\",\"dryRun\":true,"
	     "\"resource\":{\"group\":\"g\",\"resource\":\"r\"},"
	     "\"subResource\":\"s\",\"namespace\":\"n\",\"name\":\"x\","
	     "\"userInfo\":{\"username\":\"anna\",\"extra\":{\"a/b\":[\"c\"],"
	     "\"odd\":7}},"
	     "\"object\":{\"a\":1},\"oldObject\":{\"a\":2}}}";

static void
test_a_question_is_taken_apart(void **state)
{
	AUTO(review_done) struct review review = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(
		review_decode(question, strlen(question), &review, &err), 0);
	assert_string_equal(review.uid, "u1");
	assert_int_equal(review.operation, REVIEW_UPDATE);
	assert_true(review.dry_run);
	assert_string_equal(review.group, "g");
	assert_string_equal(review.resource, "r");
	assert_string_equal(review.subresource, "s");
	assert_string_equal(review.ns, "n");
	assert_string_equal(review.name, "x");
	assert_string_equal(review.user, "anna");
	assert_string_equal(review_extra(&review, "a/b"), "c");
	assert_string_equal(review_extra(&review, "odd"), "");
	assert_string_equal(review_extra(&review, "none"), "");
	assert_int_equal(js_int_at(review.object, "a", 0), 1);
	assert_int_equal(js_int_at(review.old_object, "a", 0), 2);
}

static void
test_what_is_missing_is_empty(void **state)
{
	static const char text[] =
		HEAD "{\"uid\":\"u\",\"operation\":\"CREATE\",\"object\":[],"
		     "\"userInfo\":null,\"dryRun\":\"yes\"}}";
	AUTO(review_done) struct review review = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(review_decode(text, strlen(text), &review, &err), 0);
	assert_string_equal(review.user, "");
	assert_false(review.dry_run);
	assert_null(review.object);
	assert_null(review.old_object);
	assert_string_equal(review_extra(&review, "x"), "");
}

static void
test_what_is_no_question_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"apiVersion\":\"admission.k8s.io/v1beta1\","
		"\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u\"}}",
		HEAD "null}",
		HEAD "{\"uid\":\"\",\"operation\":\"CREATE\"}}",
		HEAD "{\"uid\":7,\"operation\":\"CREATE\"}}",
		HEAD "{\"uid\":\"u\"}}",
		HEAD "{\"uid\":\"u\",\"operation\":\"create\"}}",
		HEAD "{\"uid\":\"u\",\"uid\":\"v\",\"operation\":\"CREATE\"}}",
	};
	AUTO(free_ptr) char *uid = xcalloc(REVIEW_UID_MAX + 2, 1);
	AUTO(free_ptr) char *long_one = NULL;
	struct review review = { 0 };
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(review_decode(texts[i], strlen(texts[i]),
					       &review, &err),
				 -1);
	memset(uid, 'x', REVIEW_UID_MAX + 1);
	long_one = xasprintf(HEAD "{\"uid\":\"%s\",\"operation\":\"CREATE\"}}",
			     uid);
	assert_int_equal(
		review_decode(long_one, strlen(long_one), &review, &err), -1);
	assert_null(review.root);
}

static void
test_answers_carry_the_uid_and_what_was_decided(void **state)
{
	const struct review review = { .uid = "u1" };
	AUTO(js_unref) json_t *ops = json_pack("[{s:s}]", "op", "x");
	AUTO(js_unref) json_t *empty = json_array();
	AUTO(js_unref) json_t *patched = review_allow(&review, ops);
	AUTO(js_unref) json_t *plain = review_allow(&review, empty);
	AUTO(status_done) struct status st = STATUS_INIT;
	AUTO(js_unref) json_t *denied = NULL;
	AUTO(free_ptr) uint8_t *text = NULL;
	const char *coded = js_str_at(patched, "response.patch");
	struct err err;
	size_t len;

	(void)state;
	assert_string_equal(js_str_at(plain, "response.uid"), "u1");
	assert_true(js_bool_at(plain, "response.allowed", false));
	assert_null(js_at(plain, "response.patch"));
	assert_string_equal(js_str_at(patched, "response.patchType"),
			    "JSONPatch");
	assert_int_equal(base64_decode(BASE64_STD, coded, strlen(coded), &text,
				       &len, &err),
			 0);
	assert_string_equal((char *)text, "[{\"op\":\"x\"}]");
	(void)status_set(&st, 429, NULL, "no");
	denied = review_deny(&review, &st);
	assert_false(js_bool_at(denied, "response.allowed", true));
	assert_int_equal(js_int_at(denied, "response.status.code", 0), 429);
	assert_string_equal(js_str_at(denied, "response.status.message"), "no");
	assert_string_equal(js_str_at(denied, "kind"), "AdmissionReview");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_question_is_taken_apart),
		cmocka_unit_test(test_what_is_missing_is_empty),
		cmocka_unit_test(test_what_is_no_question_is_refused),
		cmocka_unit_test(
			test_answers_carry_the_uid_and_what_was_decided),
	};

	js_init();
	return cmocka_run_group_tests_name("review", tests, NULL, NULL);
}
