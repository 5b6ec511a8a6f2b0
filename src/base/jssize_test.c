/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jssize.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/test.h"

static void
test_values_bytes_and_depth_are_counted(void **state)
{
	static const struct {
		const char *text;
		struct js_size size;
	} cases[] = {
		{ "5", { .nodes = 1, .bytes = 0, .depth = 0 } },
		{ "\"abc\"", { .nodes = 1, .bytes = 3, .depth = 0 } },
		{ "[]", { .nodes = 1, .bytes = 0, .depth = 1 } },
		{ "{}", { .nodes = 1, .bytes = 0, .depth = 1 } },
		{ "{\"ab\":null}", { .nodes = 2, .bytes = 2, .depth = 1 } },
		{ "[[1,[2]],{\"x\":{\"y\":\"zz\"}},3]",
		  { .nodes = 9, .bytes = 4, .depth = 3 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err;
		AUTO(js_unref)
		json_t *value =
			js_parse(cases[i].text, strlen(cases[i].text), &err);
		struct js_size size = js_size(value);

		assert_int_equal(size.nodes, cases[i].size.nodes);
		assert_int_equal(size.bytes, cases[i].size.bytes);
		assert_int_equal(size.depth, cases[i].size.depth);
	}
}

static void
test_any_depth_is_measured(void **state)
{
	AUTO(js_unref) json_t *value = json_array();

	(void)state;
	for (int i = 0; i < 5000; i++) {
		json_t *outer = json_array();

		(void)json_array_append_new(outer, TAKE_PTR(value));
		value = outer;
	}
	assert_int_equal(js_size(value).depth, 5001);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_bytes_and_depth_are_counted),
		cmocka_unit_test(test_any_depth_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
