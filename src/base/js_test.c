/* SPDX-License-Identifier: Apache-2.0 */
#include "base/js.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/testjson.h"

static void
test_exactly_one_value_is_parsed(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"{}x",
		"{} {}",
		"{\"a\":1,\"a\":2}",
		"[1,]",
		"nul",
		"'a'",
		"\"\xff\"",
		"\"a\\u0000b\"",
		"123456789012345678901234567890",
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_null(js_parse(bad[i], strlen(bad[i]), &err));
		assert_int_equal(err.kind, ERR_INVALID);
	}
	{
		AUTO(js_unref) json_t *value = testjson(" [1, {\"b\": null}] ");
		AUTO(free_ptr) char *text = js_text(value);

		assert_string_equal(text, "[1,{\"b\":null}]");
	}
	{
		AUTO(js_unref) json_t *value = testjson("\"x\"");
		AUTO(free_ptr) char *text = js_text(value);

		assert_string_equal(text, "\"x\"");
	}
}

static void
test_a_nul_byte_is_refused_wherever_it_is(void **state)
{
	static const char text[] = "{\"a\":[1 ,\"b\"] }";
	char bad[sizeof(text)];
	struct err err;

	(void)state;
	for (size_t i = 0; i <= strlen(text); i++) {
		memcpy(bad, text, sizeof(text));
		bad[i] = '\0';
		assert_null(js_parse(bad, sizeof(text), &err));
		assert_int_equal(err.kind, ERR_INVALID);
		assert_null(
			js_parse_lenient(bad, sizeof(text), NULL, NULL, &err));
	}
}

static void
test_nesting_is_limited(void **state)
{
	char text[2 * (JS_MAX_DEPTH + 1) + 1];
	struct err err;

	(void)state;
	for (size_t depth = JS_MAX_DEPTH; depth <= JS_MAX_DEPTH + 1; depth++) {
		AUTO(js_unref) json_t *value = NULL;

		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		value = js_parse(text, 2 * depth, &err);
		assert_true((value != NULL) == (depth <= JS_MAX_DEPTH));
	}
	assert_string_equal(err.text, "JSON is nested deeper than 64 levels");
}

static void
test_brackets_in_strings_are_no_nesting(void **state)
{
	char text[3 * JS_MAX_DEPTH] = "\"\\\"";
	AUTO(js_unref) json_t *value = NULL;

	(void)state;
	memset(text + 3, '[', sizeof(text) - 5);
	memcpy(text + sizeof(text) - 2, "\"", 2);
	value = testjson(text);
	assert_int_equal(json_string_length(value), sizeof(text) - 4);
}

static void
test_required_members_are_got(void **state)
{
	AUTO(js_unref)
	json_t *obj = testjson(
		"{\"s\":\"x\",\"n\":7,\"b\":true,\"o\":{\"p\":{\"q\":9}},"
		"\"a\":[1]}");
	struct err err;
	const char *s = NULL;
	uint64_t n = 0;
	bool b = false;
	json_t *o = NULL;
	json_t *a = NULL;

	(void)state;
	assert_int_equal(js_get_str(obj, "s", &s, &err), 0);
	assert_string_equal(s, "x");
	assert_int_equal(js_get_u64(obj, "n", 7, 7, &n, &err), 0);
	assert_int_equal(n, 7);
	assert_int_equal(js_get_bool(obj, "b", &b, &err), 0);
	assert_true(b);
	assert_int_equal(js_get_obj(obj, "o", &o, &err), 0);
	assert_int_equal(json_object_size(o), 1);
	assert_int_equal(js_get_arr(obj, "a", &a, &err), 0);
	assert_int_equal(json_array_size(a), 1);
	assert_int_equal(js_get_u64(obj, "o.p.q", 0, 10, &n, &err), 0);
	assert_int_equal(n, 9);
}

static void
test_missing_and_wrong_members_are_told_apart(void **state)
{
	AUTO(js_unref)
	json_t *obj =
		testjson("{\"s\":1,\"n\":-1,\"f\":1.0,\"z\":null,\"o\":{}}");
	struct err err;
	const char *s = "kept";
	uint64_t n = 42;
	bool b = true;
	json_t *o = NULL;

	(void)state;
	assert_int_equal(js_get_str(obj, "s", &s, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.text, "'s' must be a string, not an integer");
	assert_int_equal(js_get_str(obj, "x", &s, &err), -1);
	assert_string_equal(err.text, "'x' is missing");
	assert_int_equal(js_get_str(obj, "o.x.y", &s, &err), -1);
	assert_string_equal(err.text, "'o.x.y' is missing");
	assert_int_equal(js_get_str(obj, "s.x", &s, &err), -1);
	assert_string_equal(err.text, "what holds 's.x' is not an object");
	assert_int_equal(js_get_u64(obj, "n", 0, 9, &n, &err), -1);
	assert_string_equal(err.text, "'n' must be from 0 to 9, not -1");
	assert_int_equal(js_get_u64(obj, "n", 0, UINT64_MAX, &n, &err), -1);
	assert_int_equal(js_get_u64(obj, "f", 0, 9, &n, &err), -1);
	assert_int_equal(js_get_bool(obj, "s", &b, &err), -1);
	assert_int_equal(js_get_obj(obj, "z", &o, &err), -1);
	assert_string_equal(err.text, "'z' is missing");
	assert_int_equal(js_get_arr(obj, "o", &o, &err), -1);
	assert_int_equal(js_get_str(NULL, "x", &s, &err), -1);
	assert_string_equal(s, "kept");
	assert_int_equal(n, 42);
	assert_true(b);
	assert_null(o);
}

static void
test_optional_members_keep_the_default(void **state)
{
	AUTO(js_unref)
	json_t *obj = testjson("{\"z\":null,\"s\":\"x\",\"n\":5,\"b\":false,"
			       "\"o\":{},\"a\":[]}");
	struct err err;
	const char *s = "default";
	uint64_t n = 42;
	bool b = true;
	json_t *o = NULL;

	(void)state;
	assert_int_equal(js_opt_str(obj, "z", &s, &err), 0);
	assert_int_equal(js_opt_str(obj, "missing", &s, &err), 0);
	assert_string_equal(s, "default");
	assert_int_equal(js_opt_u64(obj, "z", 0, 1, &n, &err), 0);
	assert_int_equal(n, 42);
	assert_int_equal(js_opt_bool(obj, "z", &b, &err), 0);
	assert_true(b);
	assert_int_equal(js_opt_obj(obj, "z", &o, &err), 0);
	assert_int_equal(js_opt_arr(obj, "z", &o, &err), 0);
	assert_null(o);

	assert_int_equal(js_opt_str(obj, "s", &s, &err), 0);
	assert_string_equal(s, "x");
	assert_int_equal(js_opt_u64(obj, "n", 0, 5, &n, &err), 0);
	assert_int_equal(n, 5);
	assert_int_equal(js_opt_u64(obj, "n", 0, 4, &n, &err), -1);
	assert_int_equal(js_opt_bool(obj, "b", &b, &err), 0);
	assert_false(b);
	assert_int_equal(js_opt_bool(obj, "s", &b, &err), -1);
	assert_int_equal(js_opt_obj(obj, "o", &o, &err), 0);
	assert_true(json_is_object(o));
	assert_int_equal(js_opt_arr(obj, "a", &o, &err), 0);
	assert_true(json_is_array(o));
	assert_int_equal(js_opt_arr(obj, "o", &o, &err), -1);
}

static void
test_unknown_members_are_named(void **state)
{
	static const char *const names[] = { "a", "b", NULL };
	AUTO(js_unref) json_t *good = testjson("{\"b\":1}");
	AUTO(js_unref) json_t *bad = testjson("{\"a\":1,\"ab\":2}");
	AUTO(js_unref) json_t *array = testjson("[]");
	struct err err;

	(void)state;
	assert_int_equal(js_only(good, names, &err), 0);
	assert_int_equal(js_only(bad, names, &err), -1);
	assert_string_equal(err.text, "'ab' is not known here");
	assert_int_equal(js_only(array, names, &err), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exactly_one_value_is_parsed),
		cmocka_unit_test(test_a_nul_byte_is_refused_wherever_it_is),
		cmocka_unit_test(test_nesting_is_limited),
		cmocka_unit_test(test_brackets_in_strings_are_no_nesting),
		cmocka_unit_test(test_required_members_are_got),
		cmocka_unit_test(test_missing_and_wrong_members_are_told_apart),
		cmocka_unit_test(test_optional_members_keep_the_default),
		cmocka_unit_test(test_unknown_members_are_named),
	};

	js_init();
	return cmocka_run_group_tests_name("js", tests, NULL, NULL);
}
