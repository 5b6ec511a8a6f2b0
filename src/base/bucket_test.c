/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bucket.h"

#include "base/test.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

static void
test_a_burst_passes_and_then_the_rate_holds(void **state)
{
	uint64_t now = 77, wait;
	struct bucket b;

	(void)state;
	bucket_init(&b, 10, 3, now);
	for (int i = 0; i < 3; i++)
		assert_true(bucket_take(&b, now, &wait));
	for (int i = 0; i < 5; i++) {
		assert_false(bucket_take(&b, now, &wait));
		assert_in_range(wait, 99999, 100001);
		assert_false(bucket_take(&b, now + 90 * NS_PER_MS, &wait));
		/* Whoever waits as long as told gets it. */
		now += 90 * NS_PER_MS + wait * NS_PER_US;
		assert_true(bucket_take(&b, now, &wait));
	}
}

static void
test_it_never_holds_more_than_the_burst(void **state)
{
	struct bucket b;
	uint64_t wait;

	(void)state;
	bucket_init(&b, 1000, 2, 0);
	assert_true(bucket_take(&b, UINT64_MAX / 2, &wait));
	assert_true(bucket_take(&b, UINT64_MAX / 2, &wait));
	assert_false(bucket_take(&b, UINT64_MAX / 2, &wait));
}

static void
test_what_is_large_passes_and_is_made_up_for(void **state)
{
	struct bucket b;

	(void)state;
	bucket_init(&b, 1000, 1000, 0);
	assert_int_equal(bucket_wait_us(&b, 0), 0);
	bucket_charge(&b, 5000, 0);
	assert_in_range(bucket_wait_us(&b, 0), 4000000, 4002000);
	assert_in_range(bucket_wait_us(&b, 2000 * NS_PER_MS), 2000000, 2002000);
	assert_int_equal(bucket_wait_us(&b, 4002 * NS_PER_MS), 0);
}

static void
test_a_clock_that_stands_gives_nothing(void **state)
{
	struct bucket b;
	uint64_t wait;

	(void)state;
	bucket_init(&b, 1, 1, 5000);
	assert_true(bucket_take(&b, 5000, &wait));
	assert_false(bucket_take(&b, 5000, &wait));
	assert_false(bucket_take(&b, 4000, &wait));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_burst_passes_and_then_the_rate_holds),
		cmocka_unit_test(test_it_never_holds_more_than_the_burst),
		cmocka_unit_test(test_what_is_large_passes_and_is_made_up_for),
		cmocka_unit_test(test_a_clock_that_stands_gives_nothing),
	};

	return cmocka_run_group_tests_name("bucket", tests, NULL, NULL);
}
