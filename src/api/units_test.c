/* SPDX-License-Identifier: Apache-2.0 */
#include "api/units.h"

#include "base/err.h"
#include "base/test.h"

static uint64_t
mib_of(const char *text)
{
	struct quantity quantity;
	struct err err;

	assert_int_equal(quantity_parse(text, &quantity, &err), 0);
	return units_bandwidth_mib(&quantity);
}

static void
test_no_bandwidth_is_no_limit(void **state)
{
	(void)state;
	assert_int_equal(mib_of("0"), 0);
	assert_int_equal(mib_of("0Mi"), 0);
	assert_int_equal(mib_of("-5Mi"), 0);
}

static void
test_little_bandwidth_is_one_and_never_none(void **state)
{
	(void)state;
	assert_int_equal(mib_of("1"), 1);
	assert_int_equal(mib_of("1m"), 1);
	assert_int_equal(mib_of("1048575"), 1);
	assert_int_equal(mib_of("1Mi"), 1);
}

static void
test_bandwidth_is_rounded_with_halves_up(void **state)
{
	(void)state;
	assert_int_equal(mib_of("1572863"), 1);
	assert_int_equal(mib_of("1572864"), 2);
	assert_int_equal(mib_of("64Mi"), 64);
	assert_int_equal(mib_of("1G"), 954);
	assert_int_equal(mib_of("8Ei"), INT64_MAX / (1024 * 1024) + 1);
}

static void
test_time_is_counted_by_begun_decimal_gigabytes(void **state)
{
	(void)state;
	assert_int_equal(units_completion_timeout_s(150, 0), 0);
	assert_int_equal(units_completion_timeout_s(150, 1), 150);
	assert_int_equal(units_completion_timeout_s(150, 1000000000), 150);
	assert_int_equal(units_completion_timeout_s(150, 1000000001), 300);
	/* One GiB is more than one of them. */
	assert_int_equal(units_completion_timeout_s(150, 1ULL << 30), 300);
	assert_int_equal(units_completion_timeout_s(20, 64ULL << 30), 1380);
}

static void
test_no_timeout_stays_none_and_none_overflows(void **state)
{
	(void)state;
	assert_int_equal(units_completion_timeout_s(0, 1ULL << 40), 0);
	assert_int_equal(units_completion_timeout_s(-1, 1ULL << 40), 0);
	assert_true(units_completion_timeout_s(INT64_MAX, 2000000000) ==
		    INT64_MAX);
}

static void
test_the_pause_doubles_up_to_a_limit(void **state)
{
	static const int64_t pauses[] = { 0, 20, 40, 80, 160, 320, 320, 320 };

	(void)state;
	for (unsigned i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++)
		assert_int_equal(units_backoff_s(i), pauses[i]);
	assert_int_equal(units_backoff_s(UINT32_MAX), UNITS_BACKOFF_MAX_S);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_bandwidth_is_no_limit),
		cmocka_unit_test(test_little_bandwidth_is_one_and_never_none),
		cmocka_unit_test(test_bandwidth_is_rounded_with_halves_up),
		cmocka_unit_test(
			test_time_is_counted_by_begun_decimal_gigabytes),
		cmocka_unit_test(test_no_timeout_stays_none_and_none_overflows),
		cmocka_unit_test(test_the_pause_doubles_up_to_a_limit),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
