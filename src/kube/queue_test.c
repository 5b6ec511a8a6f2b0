/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/queue.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

static struct queue *q;

static int
setup(void **state)
{
	(void)state;
	q = queue_new(NULL);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	queue_free(q);
	return 0;
}

static void
add(const char *key, uint64_t delay_ms, uint64_t now_ms)
{
	queue_put(q, &(struct queue_add){ .key = key, .delay_ms = delay_ms },
		  now_ms);
}

static void
add_to(const char *key, const char *group, int priority)
{
	queue_put(q,
		  &(struct queue_add){
			  .key = key, .group = group, .priority = priority },
		  1);
}

static void
expect(const char *keys)
{
	char all[512] = "";
	const char *key;

	while ((key = queue_take(q, 1)) != NULL) {
		size_t len = strlen(all);

		(void)snprintf(all + len, sizeof(all) - len, "%s ", key);
		queue_end(q, key, false, 1);
	}
	assert_string_equal(all, keys);
}

static void
test_things_come_once_and_in_order(void **state)
{
	(void)state;
	add("a", 0, 1);
	add("b", 0, 1);
	add("a", 0, 1);
	assert_int_equal(queue_waiting(q), 2);
	assert_string_equal(queue_take(q, 1), "a");
	assert_string_equal(queue_take(q, 1), "b");
	assert_null(queue_take(q, 1));
	queue_end(q, "a", false, 1);
	queue_end(q, "b", false, 1);
	assert_null(queue_take(q, 1000));
	assert_int_equal(queue_stats(q)->merged, 1);
	assert_int_equal(queue_stats(q)->taken, 2);
}

static void
test_what_is_added_during_the_work_comes_again_after_it(void **state)
{
	(void)state;
	add("a", 0, 1);
	assert_string_equal(queue_take(q, 1), "a");
	add("a", 0, 1);
	assert_null(queue_take(q, 1));
	assert_int_equal(queue_working(q), 1);
	queue_end(q, "a", false, 1);
	assert_string_equal(queue_take(q, 1), "a");
	queue_end(q, "a", false, 1);
	assert_null(queue_take(q, 1));
}

static void
test_a_time_is_waited_for_and_the_earliest_counts(void **state)
{
	(void)state;
	add("a", 100, 0);
	add("b", 50, 0);
	add("a", 70, 0);
	add("a", 200, 0);
	assert_int_equal(queue_due(q), 50);
	assert_null(queue_take(q, 49));
	assert_string_equal(queue_take(q, 50), "b");
	assert_null(queue_take(q, 69));
	assert_string_equal(queue_take(q, 70), "a");
	assert_true(queue_due(q) == QUEUE_NEVER);
	add("b", 15, 75);
	queue_end(q, "b", false, 80);
	assert_int_equal(queue_due(q), 90);
	add("b", 0, 80);
	assert_int_equal(queue_due(q), 0);
	assert_string_equal(queue_take(q, 80), "b");
}

static uint64_t
fail_once(uint64_t now)
{
	assert_string_equal(queue_take(q, now), "a");
	queue_end(q, "a", true, now);
	assert_null(queue_take(q, now));
	return queue_due(q);
}

static void
test_the_pause_after_failures_doubles_up_to_a_limit(void **state)
{
	uint64_t now = 1000;
	uint64_t pause = QUEUE_PAUSE_MIN_MS;

	(void)state;
	add("a", 0, now);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t due = fail_once(now);

		assert_int_equal(due - now, pause);
		assert_int_equal(queue_failures(q, "a"), i + 1);
		pause = pause * 2 < QUEUE_PAUSE_MAX_MS ? pause * 2
						       : QUEUE_PAUSE_MAX_MS;
		now = due;
	}
	/* Success ends that. */
	assert_string_equal(queue_take(q, now), "a");
	queue_end(q, "a", false, now);
	assert_int_equal(queue_failures(q, "a"), 0);
	add("a", 0, now);
	assert_int_equal(fail_once(now) - now, QUEUE_PAUSE_MIN_MS);
}

static void
test_a_failure_waits_even_if_it_was_added_meanwhile(void **state)
{
	(void)state;
	add("a", 0, 10);
	(void)queue_take(q, 10);
	add("a", 0, 10);
	queue_end(q, "a", true, 10);
	assert_null(queue_take(q, 10));
	assert_int_equal(queue_due(q), 10 + QUEUE_PAUSE_MIN_MS);
}

static void
test_the_pauses_can_be_chosen(void **state)
{
	struct queue_options options = { .pause_min_ms = 1000,
					 .pause_max_ms = 1500 };

	(void)state;
	queue_free(q);
	q = queue_new(&options);
	add("a", 0, 0);
	assert_int_equal(fail_once(0), 1000);
	assert_int_equal(fail_once(1000), 2500);
}

static void
test_the_end_of_what_was_never_taken_is_ignored(void **state)
{
	(void)state;
	queue_end(q, "a", true, 1);
	add("a", 0, 1);
	queue_end(q, "a", true, 1);
	assert_string_equal(queue_take(q, 1), "a");
}

static void
test_higher_priorities_come_first(void **state)
{
	(void)state;
	add_to("low", NULL, -5);
	add_to("usual", NULL, 0);
	add_to("high", NULL, 1000);
	add_to("usual2", NULL, 0);
	expect("high usual usual2 low ");
}

static void
test_a_thing_that_waits_is_raised_and_never_lowered(void **state)
{
	(void)state;
	add_to("a", NULL, 0);
	add_to("b", NULL, 5);
	add_to("c", NULL, 5);
	add_to("a", NULL, 10);
	add_to("b", NULL, 1);
	expect("a b c ");
	/* What was is forgotten with the thing. */
	add_to("a", NULL, 0);
	add_to("b", NULL, 1);
	expect("b a ");
}

static void
test_groups_take_turns(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		char key[8];

		(void)snprintf(key, sizeof(key), "x%d", i);
		add_to(key, "x", 0);
	}
	add_to("y0", "y", 0);
	add_to("y1", "y", 0);
	add_to("z0", "z", 0);
	expect("x0 y0 z0 x1 y1 x2 x3 ");
}

static void
test_who_comes_again_and_again_does_not_overtake(void **state)
{
	const char *key;

	(void)state;
	add_to("x", "x", 0);
	add_to("y", "y", 0);
	for (int i = 0; i < 10; i++) {
		key = queue_take(q, 1);
		assert_string_equal(key, i % 2 == 0 ? "x" : "y");
		add_to(key, key, 0);
		queue_end(q, key, false, 1);
	}
}

static void
test_what_fails_keeps_its_priority_and_group(void **state)
{
	(void)state;
	add_to("a", "x", 7);
	assert_string_equal(queue_take(q, 1), "a");
	queue_end(q, "a", true, 1);
	queue_put(q, &(struct queue_add){ .key = "b", .priority = 6 }, 100);
	assert_string_equal(queue_take(q, 100), "a");
	assert_string_equal(queue_take(q, 100), "b");
}

static void
test_a_thing_can_change_its_group(void **state)
{
	(void)state;
	add_to("x0", "x", 0);
	add_to("x1", "x", 0);
	add_to("x2", "x", 0);
	add_to("x2", "y", 0);
	expect("x0 x2 x1 ");
}

static void
test_the_wait_of_what_is_due_is_measured(void **state)
{
	(void)state;
	add("a", 100, 0);
	add("b", 0, 90);
	assert_int_equal(queue_stats(q)->delayed, 1);
	assert_int_equal(queue_stats(q)->ready, 1);
	(void)queue_take(q, 150);
	(void)queue_take(q, 150);
	assert_int_equal(queue_stats(q)->waited.count, 2);
	assert_int_equal(queue_stats(q)->waited.max_us, 60000);
	assert_int_equal(queue_stats(q)->waited.sum_us, 110000);
}

/* Against a note of what should be there. */
static void
test_nothing_is_lost_or_doubled_in_a_long_life(void **state)
{
	unsigned seed = 1;
	bool wanted[50] = { 0 };
	bool working[50] = { 0 };
	uint64_t now = 1;
	size_t left = 0;
	char key[8];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		unsigned n, what;
		const char *taken;

		seed = seed * 1103515245U + 12345U;
		n = (seed >> 16) % 50;
		what = (seed >> 8) % 4;
		(void)snprintf(key, sizeof(key), "%u", n);
		now += what == 0;
		if (what < 2) {
			queue_put(q,
				  &(struct queue_add){
					  .key = key,
					  .group = n % 3 == 0 ? "g" : NULL,
					  .priority = (int)(n % 4),
					  .delay_ms = seed % 3 },
				  now);
			wanted[n] = true;
		} else if (what == 2) {
			taken = queue_take(q, now);
			if (taken == NULL)
				continue;
			n = (unsigned)(taken[0] - '0');
			if (taken[1] != '\0')
				n = n * 10 + (unsigned)(taken[1] - '0');
			assert_true(wanted[n]);
			assert_false(working[n]);
			working[n] = true;
			wanted[n] = false;
		} else if (working[n]) {
			bool failed = (seed >> 20) % 5 == 0;

			queue_end(q, key, failed, now);
			working[n] = false;
			wanted[n] |= failed;
		}
	}
	for (unsigned n = 0; n < 50; n++) {
		(void)snprintf(key, sizeof(key), "%u", n);
		queue_end(q, key, false, now);
	}
	now += QUEUE_PAUSE_MAX_MS;
	while (queue_take(q, now) != NULL)
		;
	assert_int_equal(queue_waiting(q), 0);
	for (unsigned n = 0; n < 50; n++)
		left += wanted[n];
	assert_int_equal(queue_working(q), left);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_things_come_once_and_in_order),
		TEST(test_what_is_added_during_the_work_comes_again_after_it),
		TEST(test_a_time_is_waited_for_and_the_earliest_counts),
		TEST(test_the_pause_after_failures_doubles_up_to_a_limit),
		TEST(test_a_failure_waits_even_if_it_was_added_meanwhile),
		TEST(test_the_pauses_can_be_chosen),
		TEST(test_the_end_of_what_was_never_taken_is_ignored),
		TEST(test_higher_priorities_come_first),
		TEST(test_a_thing_that_waits_is_raised_and_never_lowered),
		TEST(test_groups_take_turns),
		TEST(test_who_comes_again_and_again_does_not_overtake),
		TEST(test_what_fails_keeps_its_priority_and_group),
		TEST(test_a_thing_can_change_its_group),
		TEST(test_the_wait_of_what_is_due_is_measured),
		TEST(test_nothing_is_lost_or_doubled_in_a_long_life),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
