/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <string.h>

#include "base/test.h"

static void
test_all_bytes_are_filled_and_differ_each_time(void **state)
{
	uint8_t a[1000] = { 0 };
	uint8_t b[1000] = { 0 };
	uint8_t tail[8] = { 0 };

	(void)state;
	random_bytes(a, sizeof(a));
	random_bytes(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	assert_memory_not_equal(a + sizeof(a) - 8, tail, 8);
	random_bytes(tail, 0);
	assert_int_equal(tail[0], 0);
}

static void
test_numbers_stay_below_the_limit_and_reach_all(void **state)
{
	unsigned seen[27] = { 0 };

	(void)state;
	for (int i = 0; i < 27 * 200; i++) {
		uint32_t n = random_below(27);

		assert_true(n < 27);
		seen[n]++;
	}
	/* Expected 200; below 100 has less chance than a broken machine. */
	for (int i = 0; i < 27; i++)
		assert_true(seen[i] > 100);
	assert_int_equal(random_below(1), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_all_bytes_are_filled_and_differ_each_time),
		cmocka_unit_test(
			test_numbers_stay_below_the_limit_and_reach_all),
	};

	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
