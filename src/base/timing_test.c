/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timing.h"

#include "base/test.h"

static void
test_nothing_has_no_quantiles(void **state)
{
	struct timing t = { 0 };

	(void)state;
	assert_int_equal(timing_quantile(&t, 0.5), 0);
	assert_int_equal(timing_quantile(&t, 1), 0);
}

static void
test_a_single_time_is_every_quantile(void **state)
{
	struct timing t = { 0 };

	(void)state;
	timing_add(&t, 12345);
	assert_int_equal(timing_quantile(&t, 0), 12345);
	assert_int_equal(timing_quantile(&t, 0.99), 12345);
	assert_int_equal(t.sum_us, 12345);
}

static void
test_quantiles_are_at_most_a_quarter_above(void **state)
{
	struct timing t = { 0 };

	(void)state;
	for (uint64_t us = 1; us <= 100000; us++)
		timing_add(&t, us);
	for (unsigned percent = 1; percent <= 100; percent++) {
		uint64_t exact = 1000UL * percent;
		uint64_t got = timing_quantile(&t, percent / 100.0);

		assert_in_range(got, exact, exact + exact / 4 + 1);
	}
	assert_int_equal(t.max_us, 100000);
}

static void
test_small_times_are_exact_and_huge_ones_fit(void **state)
{
	struct timing t = { 0 };

	(void)state;
	for (uint64_t us = 0; us < 8; us++)
		timing_add(&t, us);
	assert_int_equal(timing_quantile(&t, 1.0 / 8), 0);
	assert_int_equal(timing_quantile(&t, 4.0 / 8), 3);
	assert_int_equal(timing_quantile(&t, 5.0 / 8), 4);
	timing_add(&t, UINT64_MAX / 2);
	assert_true(timing_quantile(&t, 1) == UINT64_MAX / 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_has_no_quantiles),
		cmocka_unit_test(test_a_single_time_is_every_quantile),
		cmocka_unit_test(test_quantiles_are_at_most_a_quarter_above),
		cmocka_unit_test(test_small_times_are_exact_and_huge_ones_fit),
	};

	return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
