/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/budget.h"

#include "base/test.h"
#include "cluster/control/testjson.h"

static struct budget_result
compute(const char *spec, int64_t pods, int64_t healthy, int64_t scale)
{
	struct budget_facts facts = { pods, healthy, scale };
	json_t *json = testjson("%s", spec);
	struct budget_result r = budget_compute(json, &facts);

	json_decref(json);
	return r;
}

static void
test_a_number_is_kept_available(void **state)
{
	struct budget_result r = compute("{'minAvailable':1}", 2, 2, 0);

	(void)state;
	assert_int_equal(r.expected, 2);
	assert_int_equal(r.desired, 1);
	assert_int_equal(r.allowed, 1);
	assert_int_equal(compute("{'minAvailable':1}", 1, 1, 0).allowed, 0);
	assert_int_equal(compute("{'minAvailable':3}", 2, 2, 0).allowed, 0);
	assert_int_equal(compute("{'minAvailable':0}", 2, 2, 0).allowed, 2);
}

static void
test_a_share_is_rounded_up_of_what_is_wanted(void **state)
{
	struct budget_result r = compute("{'minAvailable':'50%'}", 3, 3, 5);

	(void)state;
	assert_int_equal(r.expected, 5);
	assert_int_equal(r.desired, 3);
	assert_int_equal(r.allowed, 0);
	assert_int_equal(compute("{'minAvailable':'x'}", 3, 3, 5).desired, 0);
}

static void
test_so_many_may_be_missing(void **state)
{
	struct budget_result r = compute("{'maxUnavailable':1}", 3, 3, 3);

	(void)state;
	assert_int_equal(r.desired, 2);
	assert_int_equal(r.allowed, 1);
	/* One that is wanted is missing already. */
	assert_int_equal(compute("{'maxUnavailable':1}", 2, 2, 3).allowed, 0);
	assert_int_equal(compute("{'maxUnavailable':9}", 2, 2, 2).desired, 0);
	assert_int_equal(compute("{'maxUnavailable':'34%'}", 3, 3, 3).desired,
			 1);
}

static void
test_nothing_is_allowed_where_nothing_is_expected(void **state)
{
	(void)state;
	assert_int_equal(compute("{'maxUnavailable':1}", 2, 2, 0).allowed, 0);
	assert_int_equal(compute("{'minAvailable':0}", 0, 0, 0).allowed, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_number_is_kept_available),
		cmocka_unit_test(test_a_share_is_rounded_up_of_what_is_wanted),
		cmocka_unit_test(test_so_many_may_be_missing),
		cmocka_unit_test(
			test_nothing_is_allowed_where_nothing_is_expected),
	};

	return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
