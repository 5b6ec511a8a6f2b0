/* SPDX-License-Identifier: Apache-2.0 */
#include "api/conds.h"

#include "api/testjson.h"
#include "base/cleanup.h"
#include "meta/time.h"

static void
test_conditions_are_found_by_type_and_the_first_counts(void **state)
{
	AUTO(js_unref)
	json_t *array = testjson(
		"[{'type': 'A', 'status': 'True', 'reason': 'R'}, {'type': "
		"'A', 'status': 'False'}, {'type': 'B', 'status': 'False', "
		"'lastTransitionTime': '1970-01-01T00:00:03Z'}, {'type': "
		"'C', 'status': 'maybe'}, {'status': 'True'}, 7]");
	AUTO(conds_done) struct conds conds;

	(void)state;
	conds_decode(array, &conds);
	assert_int_equal(conds.len, 3);
	assert_true(conds_is_true(&conds, "A"));
	assert_false(conds_is_false(&conds, "A"));
	assert_true(conds_is_false(&conds, "B"));
	assert_int_equal(conds_find(&conds, "B")->since_us,
			 3 * TIME_US_PER_SECOND);
	assert_int_equal(conds_find(&conds, "C")->status, COND_UNKNOWN);
	assert_null(conds_find(&conds, "D"));
	assert_false(conds_is_true(&conds, "D") || conds_is_false(&conds, "D"));
}

static void
test_conditions_are_written_as_they_were_read(void **state)
{
	AUTO(js_unref)
	json_t *array = testjson(
		"[{'type': 'A', 'status': 'True', 'reason': 'R', 'message': "
		"'M', 'lastProbeTime': null, 'lastTransitionTime': "
		"'2026-11-16T03:48:24Z'}, {'type': 'B', 'status': 'Unknown', "
		"'lastProbeTime': null, 'lastTransitionTime': null}]");
	AUTO(js_unref) json_t *back = NULL;
	AUTO(conds_done) struct conds conds;

	(void)state;
	conds_decode(array, &conds);
	back = conds_json(&conds);
	assert_true(json_equal(array, back));
}

static void
test_none_are_none(void **state)
{
	AUTO(js_unref) json_t *back = NULL;
	AUTO(conds_done) struct conds conds;

	(void)state;
	conds_decode(NULL, &conds);
	assert_null(conds_find(&conds, "A"));
	back = conds_json(&conds);
	assert_int_equal(json_array_size(back), 0);
}

static void
test_of_a_flood_only_some_are_kept(void **state)
{
	AUTO(js_unref) json_t *array = json_array();
	AUTO(conds_done) struct conds conds;

	(void)state;
	for (json_int_t i = 0; i < 1000; i++)
		(void)json_array_append_new(
			array, json_pack("{s:o}", "type",
					 json_sprintf("T%d", (int)i)));
	conds_decode(array, &conds);
	assert_int_equal(conds.len, CONDS_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_conditions_are_found_by_type_and_the_first_counts),
		cmocka_unit_test(test_conditions_are_written_as_they_were_read),
		cmocka_unit_test(test_none_are_none),
		cmocka_unit_test(test_of_a_flood_only_some_are_kept),
	};

	return cmocka_run_group_tests_name("conds", tests, NULL, NULL);
}
