/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/deadlines.h"

#include <stdlib.h>

#include "base/test.h"

static void
expect(struct deadlines *d, uint64_t now, const char *name)
{
	char *taken = deadlines_take(d, now);

	if (name == NULL)
		assert_null(taken);
	else
		assert_string_equal(taken, name);
	free(taken);
}

static void
test_the_first_to_run_out_comes_first(void **state)
{
	struct deadlines d = { 0 };

	(void)state;
	assert_true(deadlines_next(&d) == DEADLINES_NEVER);
	deadlines_set(&d, "late", 30);
	deadlines_set(&d, "early", 10);
	assert_int_equal(deadlines_next(&d), 10);
	expect(&d, 9, NULL);
	expect(&d, 30, "early");
	expect(&d, 30, "late");
	expect(&d, 30, NULL);
	deadlines_done(&d);
}

static void
test_a_deadline_moves_both_ways(void **state)
{
	struct deadlines d = { 0 };

	(void)state;
	deadlines_set(&d, "a", 10);
	deadlines_set(&d, "a", 50);
	expect(&d, 49, NULL);
	deadlines_set(&d, "a", 20);
	expect(&d, 20, "a");
	assert_false(deadlines_has(&d, "a"));
	deadlines_done(&d);
}

static void
test_the_removed_never_comes(void **state)
{
	struct deadlines d = { 0 };

	(void)state;
	deadlines_set(&d, "a", 10);
	deadlines_set(&d, "b", 11);
	deadlines_remove(&d, "a");
	deadlines_remove(&d, "a");
	assert_true(deadlines_has(&d, "b"));
	expect(&d, 100, "b");
	expect(&d, 100, NULL);
	deadlines_done(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_to_run_out_comes_first),
		cmocka_unit_test(test_a_deadline_moves_both_ways),
		cmocka_unit_test(test_the_removed_never_comes),
	};

	return cmocka_run_group_tests_name("deadlines", tests, NULL, NULL);
}
