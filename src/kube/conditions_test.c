/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/conditions.h"

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/test.h"

#define SECOND INT64_C(1000000)
#define NOW (INT64_C(1700000000) * SECOND)

static const struct condition ready = { "Ready", "True", "Up", "it runs" };

static void
test_what_is_set_can_be_read(void **state)
{
	AUTO(js_unref) json_t *list = json_array();

	(void)state;
	assert_string_equal(condition_status(list, "Ready"), "");
	assert_false(condition_is_false(list, "Ready"));
	assert_true(condition_set(list, &ready, NOW));
	assert_true(condition_is_true(list, "Ready"));
	assert_false(condition_is_true(list, "Other"));
	assert_string_equal(js_str_at(condition_get(list, "Ready"), "reason"),
			    "Up");
	assert_true(condition_since_us(list, "Ready") == NOW);
	assert_true(condition_since_us(list, "Other") == 0);
	assert_null(condition_get(NULL, "Ready"));
}

static void
test_nothing_new_changes_nothing(void **state)
{
	AUTO(js_unref) json_t *list = json_array();
	AUTO(js_unref) json_t *before = NULL;

	(void)state;
	(void)condition_set(list, &ready, NOW);
	before = json_deep_copy(list);
	assert_false(condition_set(list, &ready, NOW + SECOND));
	assert_true(json_equal(list, before));
}

static void
test_the_time_moves_with_the_status_only(void **state)
{
	AUTO(js_unref) json_t *list = json_array();
	struct condition c = ready;

	(void)state;
	(void)condition_set(list, &ready, NOW);
	c.message = "it runs well";
	assert_true(condition_set(list, &c, NOW + SECOND));
	assert_true(condition_since_us(list, "Ready") == NOW);
	c.status = "False";
	assert_true(condition_set(list, &c, NOW + 2 * SECOND));
	assert_true(condition_since_us(list, "Ready") == NOW + 2 * SECOND);
	assert_int_equal(json_array_size(list), 1);
}

static void
test_empty_texts_are_left_out_and_strangers_stay(void **state)
{
	AUTO(js_unref) json_t *list = json_array();
	struct condition c = { .type = "Ready", .status = "True" };
	json_t *condition;

	(void)state;
	(void)condition_set(list, &ready, NOW);
	condition = condition_get(list, "Ready");
	(void)json_object_set_new(condition, "observedGeneration",
				  json_integer(3));
	assert_true(condition_set(list, &c, NOW));
	assert_null(js_at(condition, "reason"));
	assert_null(js_at(condition, "message"));
	assert_int_equal(js_int_at(condition, "observedGeneration", 0), 3);
}

static void
test_a_type_that_is_there_twice_is_put_right(void **state)
{
	AUTO(js_unref)
	json_t *list =
		json_pack("[{s:s,s:s},{s:s,s:s},{s:s,s:s}]", "type", "Ready",
			  "status", "False", "type", "Other", "status", "True",
			  "type", "Ready", "status", "True");

	(void)state;
	assert_true(condition_is_false(list, "Ready"));
	assert_true(condition_set(list, &ready, NOW));
	assert_int_equal(json_array_size(list), 2);
	assert_true(condition_is_true(list, "Ready"));
	assert_true(condition_is_true(list, "Other"));
}

static void
test_what_is_removed_is_gone(void **state)
{
	AUTO(js_unref) json_t *list = json_array();

	(void)state;
	(void)condition_set(list, &ready, NOW);
	assert_true(condition_remove(list, "Ready"));
	assert_false(condition_remove(list, "Ready"));
	assert_int_equal(json_array_size(list), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_set_can_be_read),
		cmocka_unit_test(test_nothing_new_changes_nothing),
		cmocka_unit_test(test_the_time_moves_with_the_status_only),
		cmocka_unit_test(
			test_empty_texts_are_left_out_and_strangers_stay),
		cmocka_unit_test(test_a_type_that_is_there_twice_is_put_right),
		cmocka_unit_test(test_what_is_removed_is_gone),
	};

	js_init();
	return cmocka_run_group_tests_name("conditions", tests, NULL, NULL);
}
