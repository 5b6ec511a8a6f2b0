/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/amounts.h"

#include <string.h>

#include "base/test.h"
#include "cluster/control/testjson.h"

static void
of_pod(struct amounts *a, const char *spec)
{
	json_t *pod = testjson("{'spec':%s}", spec);

	amounts_of_pod(a, pod);
	json_decref(pod);
}

static void
test_requests_of_containers_add_up(void **state)
{
	struct amounts a;

	(void)state;
	of_pod(&a,
	       "{'containers':["
	       "{'resources':{'requests':{'cpu':'100m','memory':'1Ki'}}},"
	       "{'resources':{'requests':{'cpu':'1','x.io/gpu':'2'}}},{}]}");
	assert_int_equal(amounts_get(&a, "cpu"), 1100);
	assert_int_equal(amounts_get(&a, "memory"), 1024);
	assert_int_equal(amounts_get(&a, "x.io/gpu"), 2);
	assert_int_equal(amounts_get(&a, "nothing"), 0);
	amounts_done(&a);
}

static void
test_the_largest_init_container_counts_where_it_is_more(void **state)
{
	struct amounts a;

	(void)state;
	of_pod(&a, "{'containers':[{'resources':{'requests':"
		   "{'cpu':'200m','memory':'10'}}}],"
		   "'initContainers':[{'resources':{'requests':"
		   "{'cpu':'500m'}}},{'resources':{'requests':"
		   "{'cpu':'300m','memory':'5'}}}],"
		   "'overhead':{'cpu':'50m'}}");
	assert_int_equal(amounts_get(&a, "cpu"), 550);
	assert_int_equal(amounts_get(&a, "memory"), 10);
	amounts_done(&a);
}

static void
test_a_limit_without_a_request_is_one(void **state)
{
	struct amounts a;

	(void)state;
	of_pod(&a, "{'containers':[{'resources':{'limits':"
		   "{'cpu':'2','memory':'7'},'requests':{'cpu':'1'}}}]}");
	assert_int_equal(amounts_get(&a, "cpu"), 1000);
	assert_int_equal(amounts_get(&a, "memory"), 7);
	amounts_done(&a);
}

static void
test_parts_are_rounded_up_and_nonsense_is_nothing(void **state)
{
	struct amounts a = { 0 };
	json_t *list = testjson("{'cpu':'0.0001','memory':'1.5',"
				"'a':'abc','b':'-4','c':3,'d':true}");

	(void)state;
	amounts_add_json(&a, list);
	assert_int_equal(amounts_get(&a, "cpu"), 1);
	assert_int_equal(amounts_get(&a, "memory"), 2);
	assert_int_equal(amounts_get(&a, "a"), 0);
	assert_int_equal(amounts_get(&a, "b"), 0);
	assert_int_equal(amounts_get(&a, "c"), 3);
	assert_int_equal(amounts_get(&a, "d"), 0);
	amounts_done(&a);
	json_decref(list);
}

static void
test_sums_stop_at_the_ends(void **state)
{
	struct amounts a = { 0 };

	(void)state;
	amounts_add(&a, "x", INT64_MAX);
	amounts_add(&a, "x", 5);
	assert_true(amounts_get(&a, "x") == INT64_MAX);
	amounts_done(&a);
}

static void
test_what_was_added_can_be_taken_back(void **state)
{
	struct amounts a = { 0 };
	struct amounts b = { 0 };

	(void)state;
	amounts_add(&a, "m", 5);
	amounts_add(&b, "z", 1);
	amounts_add(&b, "m", 3);
	amounts_add(&b, "a", 2);
	amounts_add_all(&a, &b, 1);
	assert_int_equal(amounts_get(&a, "m"), 8);
	amounts_add_all(&a, &b, -1);
	assert_int_equal(amounts_get(&a, "m"), 5);
	assert_int_equal(amounts_get(&a, "a"), 0);
	assert_int_equal(a.len, 3);
	assert_string_equal(a.list[0].name, "a");
	amounts_done(&a);
	amounts_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_of_containers_add_up),
		cmocka_unit_test(
			test_the_largest_init_container_counts_where_it_is_more),
		cmocka_unit_test(test_a_limit_without_a_request_is_one),
		cmocka_unit_test(
			test_parts_are_rounded_up_and_nonsense_is_nothing),
		cmocka_unit_test(test_sums_stop_at_the_ends),
		cmocka_unit_test(test_what_was_added_can_be_taken_back),
	};

	return cmocka_run_group_tests_name("amounts", tests, NULL, NULL);
}
