/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsat.h"

#include "base/cleanup.h"
#include "base/testjson.h"

static void
test_a_path_leads_to_what_is_there_and_of_the_right_type(void **state)
{
	AUTO(js_unref)
	json_t *obj =
		testjson("{\"spec\":{\"n\":5,\"s\":\"x\",\"b\":true,\"z\":null,"
			 "\"a\":[],\"o\":{}}}");

	(void)state;
	assert_int_equal(js_int_at(obj, "spec.n", 1), 5);
	assert_string_equal(js_str_at(obj, "spec.s"), "x");
	assert_true(js_bool_at(obj, "spec.b", false));
	assert_non_null(js_arr_at(obj, "spec.a"));
	assert_non_null(js_obj_at(obj, "spec.o"));
	assert_non_null(js_at(obj, "spec"));
}

static void
test_what_is_missing_null_or_of_another_type_is_the_default(void **state)
{
	AUTO(js_unref)
	json_t *obj = testjson("{\"spec\":{\"n\":5,\"s\":\"x\",\"z\":null}}");

	(void)state;
	assert_int_equal(js_int_at(obj, "spec.s", 7), 7);
	assert_int_equal(js_int_at(obj, "spec.none", 7), 7);
	assert_string_equal(js_str_at(obj, "spec.n"), "");
	assert_string_equal(js_str_at(obj, "spec.s.deeper"), "");
	assert_true(js_bool_at(obj, "spec.n", true));
	assert_null(js_at(obj, "spec.z"));
	assert_null(js_obj_at(obj, "spec.s"));
	assert_null(js_arr_at(obj, "spec"));
	assert_null(js_at(NULL, "spec"));
	assert_null(js_at(obj, ""));
}

static void
test_an_element_is_found_by_one_of_its_strings(void **state)
{
	AUTO(js_unref)
	json_t *list = testjson(
		"[1,{\"name\":5},{\"name\":\"a\",\"v\":1},{\"name\":\"b\"}]");

	(void)state;
	assert_int_equal(js_int_at(js_find(list, "name", "a"), "v", 0), 1);
	assert_null(js_find(list, "name", "c"));
	assert_null(js_find(NULL, "name", "a"));
}

static void
test_objects_are_made_on_the_way(void **state)
{
	AUTO(js_unref) json_t *obj = testjson("{\"a\":{\"k\":1},\"x\":5}");

	(void)state;
	assert_int_equal(json_object_size(js_make_obj_at(obj, "a")), 1);
	(void)json_object_set_new(js_make_obj_at(obj, "a.b.c"), "d",
				  json_true());
	assert_true(js_bool_at(obj, "a.b.c.d", false));
	assert_int_equal(js_int_at(obj, "a.k", 0), 1);
	assert_non_null(js_make_obj_at(obj, "x.y"));
	assert_non_null(js_obj_at(obj, "x.y"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_path_leads_to_what_is_there_and_of_the_right_type),
		cmocka_unit_test(
			test_what_is_missing_null_or_of_another_type_is_the_default),
		cmocka_unit_test(
			test_an_element_is_found_by_one_of_its_strings),
		cmocka_unit_test(test_objects_are_made_on_the_way),
	};

	return cmocka_run_group_tests_name("jsat", tests, NULL, NULL);
}
