/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/monitor.h"

#include "base/array.h"
#include "base/test.h"

#define S 1000U /* a second */
#define MIB (1024UL * 1024)

static const struct monitor_limits strict = { .completion_ms = 100 * S,
					      .progress_ms = 30 * S };

static struct monitor_sample
at(uint64_t seconds, uint64_t remaining_mib)
{
	return (struct monitor_sample){
		.elapsed_ms = seconds * S,
		.remaining = remaining_mib * MIB,
		.known = true,
		.memory = true,
	};
}

/* Feeds a sample each second with this remainder; the last action. */
static enum monitor_action
run(struct monitor *m, const struct monitor_limits *limits, uint64_t from,
    uint64_t to, uint64_t (*remaining)(uint64_t second))
{
	enum monitor_action action = MONITOR_NOTHING;

	for (uint64_t s = from; s <= to; s++) {
		struct monitor_sample sample = at(s, remaining(s));

		action = monitor_step(m, limits, &sample);
		if (action != MONITOR_NOTHING)
			break;
	}
	return action;
}

static uint64_t
shrinking(uint64_t second)
{
	return 10000 - second;
}

/* Down and up again, never below 50: lower than the sample before it in most
 * seconds. */
static uint64_t
sawtooth(uint64_t second)
{
	return 50 + (9 - second % 10) * 10;
}

static uint64_t
constant(uint64_t second)
{
	(void)second;
	return 100;
}

static void
test_progress_keeps_it_going_until_the_completion_timeout(void **state)
{
	struct monitor m = { 0 };

	(void)state;
	assert_int_equal(run(&m, &strict, 0, 100, shrinking), MONITOR_NOTHING);
	assert_int_equal(run(&m, &strict, 101, 101, shrinking),
			 MONITOR_ABORT_COMPLETION);
}

static void
test_up_and_down_is_no_progress(void **state)
{
	struct monitor m = { 0 };

	(void)state;
	assert_int_equal(run(&m, &strict, 0, 39, sawtooth), MONITOR_NOTHING);
	assert_int_equal(run(&m, &strict, 40, 41, sawtooth),
			 MONITOR_ABORT_PROGRESS);
}

static void
test_standing_still_is_found_from_the_first_sample_on(void **state)
{
	struct monitor m = { 0 };

	(void)state;
	assert_int_equal(run(&m, &strict, 0, 30, constant), MONITOR_NOTHING);
	assert_int_equal(run(&m, &strict, 31, 31, constant),
			 MONITOR_ABORT_PROGRESS);
}

static void
test_a_target_that_never_answers_is_no_progress(void **state)
{
	struct monitor m = { 0 };
	struct monitor_sample sample = { .elapsed_ms = 30 * S };

	(void)state;
	assert_int_equal(monitor_step(&m, &strict, &sample), MONITOR_NOTHING);
	sample.elapsed_ms = 31 * S;
	assert_int_equal(monitor_step(&m, &strict, &sample),
			 MONITOR_ABORT_PROGRESS);
}

static void
test_memory_behind_the_disks_starts_anew(void **state)
{
	struct monitor m = { 0 };
	struct monitor_sample disks = at(20, 1);

	(void)state;
	disks.memory = false;
	assert_int_equal(monitor_step(&m, &strict, &disks), MONITOR_NOTHING);
	/* Much more remains now than ever before. */
	assert_int_equal(run(&m, &strict, 21, 51, constant), MONITOR_NOTHING);
	assert_int_equal(run(&m, &strict, 52, 52, constant),
			 MONITOR_ABORT_PROGRESS);
}

static void
test_limits_of_zero_are_none(void **state)
{
	const struct monitor_limits none = { 0 };
	struct monitor m = { 0 };

	(void)state;
	assert_int_equal(run(&m, &none, 0, 100000, constant), MONITOR_NOTHING);
}

static void
test_post_copy_is_never_stopped(void **state)
{
	struct monitor m = { 0 };
	struct monitor_sample sample = at(1000000, 100);

	(void)state;
	sample.post_copy = true;
	for (unsigned bits = 0; bits < 4; bits++) {
		struct monitor_limits limits = { .completion_ms = 1,
						 .progress_ms = 1,
						 .post_copy = bits & 1,
						 .disruption = bits & 2 };

		assert_int_equal(monitor_step(&m, &limits, &sample),
				 MONITOR_NOTHING);
	}
}

/* Each combination of what is allowed, at either limit. */
static void
test_what_is_allowed_is_done_instead_of_aborting(void **state)
{
	static const struct {
		bool post_copy, disruption;
		enum monitor_action late, stalled;
	} table[] = {
		{ false, false, MONITOR_ABORT_COMPLETION,
		  MONITOR_ABORT_PROGRESS },
		{ true, false, MONITOR_ABORT_COMPLETION,
		  MONITOR_ABORT_PROGRESS },
		{ false, true, MONITOR_PAUSE, MONITOR_PAUSE },
		{ true, true, MONITOR_POST_COPY, MONITOR_POST_COPY },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct monitor_limits limits = strict;
		struct monitor late = { 0 }, stalled = { 0 };

		limits.post_copy = table[i].post_copy;
		limits.disruption = table[i].disruption;
		assert_int_equal(run(&late, &limits, 0, 101, shrinking),
				 table[i].late);
		assert_int_equal(run(&stalled, &limits, 0, 31, constant),
				 table[i].stalled);
	}
}

static void
test_a_switch_is_asked_for_until_it_has_happened(void **state)
{
	struct monitor_limits limits = strict;
	struct monitor m = { 0 };
	struct monitor_sample sample;

	(void)state;
	limits.post_copy = limits.disruption = true;
	for (uint64_t s = 101; s <= 161; s++) {
		sample = at(s, 10);
		assert_int_equal(monitor_step(&m, &limits, &sample),
				 MONITOR_POST_COPY);
	}
	sample = at(162, 10);
	assert_int_equal(monitor_step(&m, &limits, &sample),
			 MONITOR_ABORT_COMPLETION);
}

static void
test_a_paused_guest_has_the_same_time_once_more(void **state)
{
	struct monitor_limits limits = strict;
	struct monitor m = { 0 };

	(void)state;
	limits.disruption = true;
	assert_int_equal(run(&m, &limits, 0, 101, shrinking), MONITOR_PAUSE);
	assert_int_equal(run(&m, &limits, 102, 201, shrinking),
			 MONITOR_NOTHING);
	assert_int_equal(run(&m, &limits, 202, 202, shrinking),
			 MONITOR_ABORT_COMPLETION);
}

static void
test_a_paused_guest_that_makes_no_progress_is_given_up(void **state)
{
	struct monitor_limits limits = strict;
	struct monitor m = { 0 };

	(void)state;
	limits.disruption = true;
	assert_int_equal(run(&m, &limits, 0, 31, constant), MONITOR_PAUSE);
	assert_int_equal(run(&m, &limits, 32, 61, constant), MONITOR_NOTHING);
	assert_int_equal(run(&m, &limits, 62, 62, constant),
			 MONITOR_ABORT_PROGRESS);
}

static void
test_a_guest_that_stands_is_near_its_end_by_numbers(void **state)
{
	(void)state;
	/* 100 MiB/s: QEMU stops a guest for the last 30 MiB, and the numbers
	 * may be a moment old. */
	assert_true(monitor_is_near_end(0, 100 * MIB, 0));
	assert_true(monitor_is_near_end(100 * MIB, 100 * MIB, 0));
	assert_false(monitor_is_near_end(200 * MIB, 100 * MIB, 0));
	/* It may be stopped for longer. */
	assert_true(monitor_is_near_end(200 * MIB, 100 * MIB, 2000));
	/* A stream that is stuck. */
	assert_false(monitor_is_near_end(200 * MIB, 0, 0));
	assert_true(monitor_is_near_end(MIB, 0, 0));
	assert_false(monitor_is_near_end(UINT64_MAX, MIB, UINT32_MAX));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_progress_keeps_it_going_until_the_completion_timeout),
		cmocka_unit_test(test_up_and_down_is_no_progress),
		cmocka_unit_test(
			test_standing_still_is_found_from_the_first_sample_on),
		cmocka_unit_test(
			test_a_target_that_never_answers_is_no_progress),
		cmocka_unit_test(test_memory_behind_the_disks_starts_anew),
		cmocka_unit_test(test_limits_of_zero_are_none),
		cmocka_unit_test(test_post_copy_is_never_stopped),
		cmocka_unit_test(
			test_what_is_allowed_is_done_instead_of_aborting),
		cmocka_unit_test(
			test_a_switch_is_asked_for_until_it_has_happened),
		cmocka_unit_test(
			test_a_paused_guest_has_the_same_time_once_more),
		cmocka_unit_test(
			test_a_paused_guest_that_makes_no_progress_is_given_up),
		cmocka_unit_test(
			test_a_guest_that_stands_is_near_its_end_by_numbers),
	};

	return cmocka_run_group_tests_name("monitor", tests, NULL, NULL);
}
