/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jswrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"

static void
check(const char *text, const char *expected)
{
	struct err err;
	AUTO(js_unref) json_t *value = js_parse(text, strlen(text), &err);
	AUTO(free_ptr) char *got = NULL;
	size_t len = 0;

	assert_non_null(value);
	got = js_text_sorted(value, &len);
	assert_string_equal(got, expected);
	assert_int_equal(len, strlen(expected));
}

static void
test_members_come_in_order_of_their_names(void **state)
{
	(void)state;
	check("{\"b\":1,\"a\":{\"d\":[],\"c\":{}},\"B\":null}",
	      "{\"B\":null,\"a\":{\"c\":{},\"d\":[]},\"b\":1}");
	check("[3, [2, {\"z\": 1, \"y\": [true, false]}], \"x\"]",
	      "[3,[2,{\"y\":[true,false],\"z\":1}],\"x\"]");
	check("{\"a.b\":1,\"a\":2,\"a-b\":3}", "{\"a\":2,\"a-b\":3,\"a.b\":1}");
	check("7", "7");
}

static void
test_large_objects_are_sorted_too(void **state)
{
	AUTO(js_unref) json_t *value = json_object();
	AUTO(free_ptr) char *got = NULL;
	AUTO(buf_done) struct buf want = BUF_INIT(1 << 16);
	char key[16];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(key, sizeof(key), "%03d", i * 7 % 1000);
		(void)json_object_set_new(value, key, json_integer(1));
	}
	(void)buf_append_str(&want, "{");
	for (int i = 0; i < 1000; i++)
		(void)buf_printf(&want, "%s\"%03d\":1", i > 0 ? "," : "", i);
	(void)buf_append_str(&want, "}");
	got = js_text_sorted(value, NULL);
	assert_string_equal(got, (const char *)want.data);
}

static void
test_strings_are_escaped_as_kubernetes_does(void **state)
{
	(void)state;
	check("\"a<b>&c/\\u00e4\"", "\"a\\u003cb\\u003e\\u0026c/\303\244\"");
	check("\"\\\"\\\\\\n\\r\\t\\u0001\\b\"",
	      "\"\\\"\\\\\\n\\r\\t\\u0001\\u0008\"");
	check("\"\\u2028x\\u2029\\u2027\"", "\"\\u2028x\\u2029\342\200\247\"");
	check("{\"<\":\"\"}", "{\"\\u003c\":\"\"}");
}

static void
test_numbers_have_no_more_digits_than_needed(void **state)
{
	static const struct {
		double number;
		const char *text;
	} cases[] = {
		{ 0.1, "0.1" },
		{ 1.0, "1" },
		{ 0.0, "0" },
		{ -2.5, "-2.5" },
		{ -0.0, "0" },
		{ 1e18, "1000000000000000000" },
		{ 1e20, "1e+20" },
		{ 1e21, "1e+21" },
		{ 1e-6, "0.000001" },
		{ 1e-7, "1e-7" },
		{ 1.5e-9, "1.5e-9" },
		{ 123456789.125, "123456789.125" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 5e-324, "5e-324" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" },
		{ 1234567890123456789.0, "1234567890123456800" },
		{ 0.00001234, "0.00001234" },
	};
	char text[JS_NUMBER_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(js_number_text(cases[i].number, text),
				    cases[i].text);
}

static void
test_any_depth_is_written(void **state)
{
	AUTO(js_unref) json_t *value = json_array();
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		json_t *outer = json_array();

		(void)json_array_append_new(outer, TAKE_PTR(value));
		value = outer;
	}
	text = js_text_sorted(value, NULL);
	assert_int_equal(strlen(text), 2 * 5001);
}

struct found {
	struct buf paths;
	size_t count;
};

static void
note(void *arg, const char *path)
{
	struct found *found = arg;

	found->count++;
	(void)buf_printf(&found->paths, "%s;", path);
}

static void
check_duplicates(const char *text, const char *value_text, const char *paths)
{
	struct found found = { .paths = BUF_INIT(1 << 16) };
	struct err err;
	AUTO(js_unref)
	json_t *value =
		js_parse_lenient(text, strlen(text), note, &found, &err);
	AUTO(free_ptr) char *got = NULL;

	assert_non_null(value);
	got = js_text_sorted(value, NULL);
	assert_string_equal(got, value_text);
	assert_string_equal(
		found.count == 0 ? "" : (const char *)found.paths.data, paths);
	buf_done(&found.paths);
}

static void
test_the_last_of_equal_names_counts_and_each_is_reported(void **state)
{
	(void)state;
	check_duplicates("{\"a\":1}", "{\"a\":1}", "");
	check_duplicates("{\"a\":1,\"a\":2,\"a\":3}", "{\"a\":3}", "a;");
	check_duplicates("{\"s\":{\"v\":1,\"w\":[],\"v\":2},\"s2\":{\"v\":1}}",
			 "{\"s\":{\"v\":2,\"w\":[]},\"s2\":{\"v\":1}}", "s.v;");
	check_duplicates("[{\"a\":1},{\"b\":[0,{\"c\":1,\"\\u0063\":2}]}]",
			 "[{\"a\":1},{\"b\":[0,{\"c\":2}]}]", "[1].b[1].c;");
	check_duplicates(
		"{\"x\":\"{\\\"a\\\":\",\"y\":{\"x\":1},\"x\":[],\"y\":{}}",
		"{\"x\":[],\"y\":{}}", "x;y;");
	check_duplicates("{\"l\":[{\"k\":1,\"k\":1},{\"k\":1,\"k\":1}]}",
			 "{\"l\":[{\"k\":1},{\"k\":1}]}", "l[0].k;l[1].k;");
}

static void
test_reports_of_duplicates_are_bounded(void **state)
{
	struct found found = { .paths = BUF_INIT(1 << 16) };
	AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);
	struct err err;
	AUTO(js_unref) json_t *value = NULL;

	(void)state;
	(void)buf_append_str(&text, "{");
	for (int i = 0; i < 200; i++)
		(void)buf_printf(&text, "\"%d\":1,\"%d\":2,", i, i);
	(void)buf_append_str(&text, "\"end\":0}");
	value = js_parse_lenient((const char *)text.data, text.len, note,
				 &found, &err);
	assert_non_null(value);
	assert_int_equal(json_object_size(value), 201);
	assert_int_equal(found.count, JS_MAX_DUPLICATES);
	buf_done(&found.paths);
}

static void
test_lenient_is_still_json(void **state)
{
	static const char *const bad[] = { "{\"a\":1,\"a\":}", "{} {}", "",
					   "[1,]" };
	char deep[2 * (JS_MAX_DEPTH + 1)];
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_null(js_parse_lenient(bad[i], strlen(bad[i]), NULL, NULL,
					     &err));
	memset(deep, '[', sizeof(deep) / 2);
	memset(deep + sizeof(deep) / 2, ']', sizeof(deep) / 2);
	assert_null(js_parse_lenient(deep, sizeof(deep), NULL, NULL, &err));
	assert_int_equal(err.kind, ERR_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_come_in_order_of_their_names),
		cmocka_unit_test(test_large_objects_are_sorted_too),
		cmocka_unit_test(test_strings_are_escaped_as_kubernetes_does),
		cmocka_unit_test(test_numbers_have_no_more_digits_than_needed),
		cmocka_unit_test(test_any_depth_is_written),
		cmocka_unit_test(
			test_the_last_of_equal_names_counts_and_each_is_reported),
		cmocka_unit_test(test_reports_of_duplicates_are_bounded),
		cmocka_unit_test(test_lenient_is_still_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
