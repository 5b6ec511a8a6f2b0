/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/queue.h"

#include <stdio.h>

#include "base/test.h"

static void
test_things_come_once_and_in_order(void **state)
{
	struct queue *q = queue_new();

	(void)state;
	queue_add(q, "a", 0);
	queue_add(q, "b", 0);
	queue_add(q, "a", 0);
	assert_int_equal(queue_waiting(q), 2);
	assert_string_equal(queue_take(q, 1), "a");
	assert_string_equal(queue_take(q, 1), "b");
	assert_null(queue_take(q, 1));
	queue_end(q, "a", false, 1);
	queue_end(q, "b", false, 1);
	assert_null(queue_take(q, 1000));
	queue_free(q);
}

static void
test_what_is_added_during_the_work_comes_again_after_it(void **state)
{
	struct queue *q = queue_new();

	(void)state;
	queue_add(q, "a", 0);
	assert_string_equal(queue_take(q, 1), "a");
	queue_add(q, "a", 0);
	assert_null(queue_take(q, 1));
	assert_int_equal(queue_working(q), 1);
	queue_end(q, "a", false, 1);
	assert_string_equal(queue_take(q, 1), "a");
	queue_end(q, "a", false, 1);
	assert_null(queue_take(q, 1));
	queue_free(q);
}

static void
test_a_time_is_waited_for_and_the_earliest_counts(void **state)
{
	struct queue *q = queue_new();

	(void)state;
	queue_add(q, "a", 100);
	queue_add(q, "b", 50);
	queue_add(q, "a", 70);
	queue_add(q, "a", 200);
	assert_int_equal(queue_due(q), 50);
	assert_null(queue_take(q, 49));
	assert_string_equal(queue_take(q, 50), "b");
	assert_null(queue_take(q, 69));
	assert_string_equal(queue_take(q, 70), "a");
	assert_true(queue_due(q) == QUEUE_NEVER);
	queue_add(q, "b", 90);
	queue_end(q, "b", false, 80);
	assert_int_equal(queue_due(q), 90);
	queue_add(q, "b", 0);
	assert_string_equal(queue_take(q, 80), "b");
	queue_free(q);
}

static uint64_t
fail_once(struct queue *q, uint64_t now)
{
	assert_string_equal(queue_take(q, now), "a");
	queue_end(q, "a", true, now);
	assert_null(queue_take(q, now));
	return queue_due(q);
}

static void
test_the_pause_after_failures_doubles_up_to_a_limit(void **state)
{
	struct queue *q = queue_new();
	uint64_t now = 1000;
	uint64_t pause = QUEUE_PAUSE_MIN_MS;

	(void)state;
	queue_add(q, "a", 0);
	for (int i = 0; i < 20; i++) {
		uint64_t due = fail_once(q, now);

		assert_int_equal(due - now, pause);
		pause = pause * 2 < QUEUE_PAUSE_MAX_MS ? pause * 2
						       : QUEUE_PAUSE_MAX_MS;
		now = due;
	}
	/* Success ends that. */
	assert_string_equal(queue_take(q, now), "a");
	queue_end(q, "a", false, now);
	queue_add(q, "a", 0);
	assert_int_equal(fail_once(q, now) - now, QUEUE_PAUSE_MIN_MS);
	queue_free(q);
}

static void
test_a_failure_waits_even_if_it_was_added_meanwhile(void **state)
{
	struct queue *q = queue_new();

	(void)state;
	queue_add(q, "a", 0);
	(void)queue_take(q, 10);
	queue_add(q, "a", 0);
	queue_end(q, "a", true, 10);
	assert_null(queue_take(q, 10));
	assert_int_equal(queue_due(q), 10 + QUEUE_PAUSE_MIN_MS);
	queue_free(q);
}

static void
test_the_end_of_what_was_never_taken_is_ignored(void **state)
{
	struct queue *q = queue_new();

	(void)state;
	queue_end(q, "a", true, 1);
	queue_add(q, "a", 0);
	queue_end(q, "a", true, 1);
	assert_string_equal(queue_take(q, 1), "a");
	queue_free(q);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_things_come_once_and_in_order),
		cmocka_unit_test(
			test_what_is_added_during_the_work_comes_again_after_it),
		cmocka_unit_test(
			test_a_time_is_waited_for_and_the_earliest_counts),
		cmocka_unit_test(
			test_the_pause_after_failures_doubles_up_to_a_limit),
		cmocka_unit_test(
			test_a_failure_waits_even_if_it_was_added_meanwhile),
		cmocka_unit_test(
			test_the_end_of_what_was_never_taken_is_ignored),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
