/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/flight.h"

#include "base/test.h"
#include "virt/job.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t
eta(uint64_t remaining, uint64_t rate, uint64_t dirty_rate)
{
	const struct virt_progress job = { .total = 1024 * MIB,
					   .remaining = remaining,
					   .rate = rate,
					   .dirty_rate = dirty_rate };
	struct launch_progress progress;

	flight_progress(&job, &progress);
	return progress.eta_seconds;
}

static void
test_how_long_it_takes_follows_from_both_rates(void **state)
{
	(void)state;
	assert_int_equal(eta(100 * MIB, 20 * MIB, 10 * MIB), 10);
	assert_int_equal(eta(101 * MIB, 20 * MIB, 10 * MIB), 11);
}

static void
test_less_than_a_second_is_not_unknown(void **state)
{
	(void)state;
	assert_int_equal(eta(10 * MIB, 100 * MIB, 0), 1);
	/* What is left is to change over. */
	assert_int_equal(eta(0, 100 * MIB, 0), 1);
}

static void
test_what_does_not_get_less_has_no_end(void **state)
{
	(void)state;
	assert_int_equal(eta(10 * MIB, 0, 0), 0);
	assert_int_equal(eta(10 * MIB, 5 * MIB, 5 * MIB), 0);
	assert_int_equal(eta(10 * MIB, 5 * MIB, 6 * MIB), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_how_long_it_takes_follows_from_both_rates),
		cmocka_unit_test(test_less_than_a_second_is_not_unknown),
		cmocka_unit_test(test_what_does_not_get_less_has_no_end),
	};

	return cmocka_run_group_tests_name("flight", tests, NULL, NULL);
}
