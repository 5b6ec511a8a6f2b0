/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/limit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/loop.h"
#include "base/test.h"

#define RATE (64ULL << 20)
#define RUN_NS 400000000ULL

static void
wait_us(uint64_t us)
{
	struct timespec ts = { .tv_nsec = (long)(us * 1000) };

	(void)nanosleep(&ts, NULL);
}

struct taker {
	struct limit *limit;
	uint64_t until_ns;
	_Atomic uint64_t taken;
};

static void *
take_all(void *arg)
{
	struct taker *taker = arg;

	while (loop_now_ns() < taker->until_ns) {
		uint64_t us = 0;
		uint64_t n = limit_take(taker->limit, 262144, &us);

		if (n == 0)
			wait_us(us > 5000 ? 5000 : us);
		taker->taken += n;
	}
	return NULL;
}

static void
test_several_takers_together_stay_below_the_rate(void **state)
{
	struct taker taker = { .limit = limit_new(RATE) };
	uint64_t start = loop_now_ns();
	pthread_t threads[4];
	double allowed;

	(void)state;
	taker.until_ns = start + RUN_NS;
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, take_all, &taker), 0);
	for (int i = 0; i < 4; i++)
		(void)pthread_join(threads[i], NULL);
	/* It starts empty, so the burst is not on top. */
	allowed = (double)RATE * (double)(loop_now_ns() - start) / 1e9;
	assert_true((double)taker.taken <= allowed);
	assert_true(taker.taken > 0);
	limit_unref(taker.limit);
}

static void
test_no_rate_is_no_limit(void **state)
{
	struct limit *limit = limit_new(0);
	uint64_t us = 0;

	(void)state;
	assert_int_equal(limit_take(limit, 1ULL << 40, &us), 1ULL << 40);
	limit_charge(limit, 1ULL << 40);
	assert_int_equal(limit_take(limit, 1, &us), 1);
	limit_unref(limit);
}

static void
test_what_is_given_back_can_be_taken(void **state)
{
	struct limit *limit = limit_new(1000000);
	uint64_t us = 0, taken = 0;

	(void)state;
	while (taken == 0) {
		taken = limit_take(limit, 1000, &us);
		if (taken == 0)
			wait_us(us);
	}
	limit_give_back(limit, taken);
	assert_int_equal(limit_take(limit, taken, &us), taken);
	limit_unref(limit);
}

static void
test_urgent_bytes_are_paid_by_later_ones(void **state)
{
	struct limit *limit = limit_new(1000000);
	uint64_t us = 0;

	(void)state;
	limit_charge(limit, 500000);
	assert_int_equal(limit_take(limit, 1000, &us), 0);
	/* Half a second's worth, less what the test itself took. */
	assert_in_range(us, 1000, 600000);
	limit_set_rate(limit, 0);
	assert_int_equal(limit_take(limit, 1000, &us), 1000);
	limit_unref(limit);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_several_takers_together_stay_below_the_rate),
		cmocka_unit_test(test_no_rate_is_no_limit),
		cmocka_unit_test(test_what_is_given_back_can_be_taken),
		cmocka_unit_test(test_urgent_bytes_are_paid_by_later_ones),
	};

	return cmocka_run_group_tests_name("limit", tests, NULL, NULL);
}
