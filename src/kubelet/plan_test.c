/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/plan.h"

#include <string.h>

#include "base/array.h"
#include "base/test.h"

#define SECOND INT64_C(1000000)
#define NOW (1000 * SECOND)

/* Letters for containers: n none, s starting, r running, 0 to 9 exited with
 * this code, l lost, t stale. */
struct case_in {
	const char *inits;
	const char *containers;
	enum plan_policy policy;
	unsigned flags;
};

#define GOING 1U
#define REMOVED 2U
#define BARE 4U   /* no sandbox */
#define DRY 8U    /* not prepared */
#define CLEAN 16U /* nothing of networks */

static struct container list[16];
static bool terminated[16];

static void
add(size_t i, char c, bool init)
{
	list[i] = (struct container){ .init = init };
	list[i].now.started_us = NOW - 60 * SECOND;
	list[i].now.finished_us = NOW;
	switch (c) {
	case 's':
		list[i].phase = CONTAINER_STARTING;
		break;
	case 'r':
		list[i].phase = CONTAINER_RUNNING;
		break;
	case 'l':
		list[i].phase = CONTAINER_LOST;
		break;
	case 't':
		list[i].phase = CONTAINER_STALE;
		break;
	case 'n':
		list[i].phase = CONTAINER_NONE;
		break;
	default:
		list[i].phase = CONTAINER_EXITED;
		list[i].now.exit_code = c - '0';
	}
}

static struct plan_in
make(const struct case_in *in)
{
	size_t n = 0;

	memset(terminated, 0, sizeof(terminated));
	for (const char *at = in->inits; *at != '\0'; at++)
		add(n++, *at, true);
	for (const char *at = in->containers; *at != '\0'; at++)
		add(n++, *at, false);
	return (struct plan_in){
		.policy = in->policy,
		.going = (in->flags & GOING) != 0,
		.removed = (in->flags & REMOVED) != 0,
		.prepared = !(in->flags & DRY),
		.sandbox = !(in->flags & BARE),
		.network = !(in->flags & CLEAN),
		.containers = list,
		.terminated = terminated,
		.count = n,
		.now_us = NOW,
		.kill_us = NOW + 10 * SECOND,
		.backoff_ms = 10000,
		.backoff_max_ms = 300000,
	};
}

static void
test_the_next_step_follows_from_what_there_is(void **state)
{
	static const struct {
		struct case_in in;
		enum plan_step step;
		size_t index;
	} cases[] = {
		/* up */
		{ { "", "n", PLAN_ALWAYS, DRY | BARE }, PLAN_PREPARE, 0 },
		{ { "", "n", PLAN_ALWAYS, BARE }, PLAN_SANDBOX, 0 },
		{ { "", "nn", PLAN_ALWAYS, 0 }, PLAN_START, 0 },
		{ { "", "sn", PLAN_ALWAYS, 0 }, PLAN_START, 1 },
		{ { "", "rr", PLAN_ALWAYS, 0 }, PLAN_WAIT, 0 },
		{ { "nn", "n", PLAN_ALWAYS, 0 }, PLAN_START, 0 },
		{ { "rn", "n", PLAN_ALWAYS, 0 }, PLAN_WAIT, 0 },
		{ { "0n", "n", PLAN_ALWAYS, 0 }, PLAN_START, 1 },
		{ { "00", "n", PLAN_ALWAYS, 0 }, PLAN_START, 2 },
		{ { "1n", "n", PLAN_ALWAYS, 0 }, PLAN_START, 0 },
		{ { "1n", "n", PLAN_NEVER, CLEAN }, PLAN_WAIT, 0 },
		/* again, or not */
		{ { "", "0", PLAN_ALWAYS, 0 }, PLAN_START, 0 },
		{ { "", "0r", PLAN_ON_FAILURE, 0 }, PLAN_WAIT, 0 },
		{ { "", "3r", PLAN_ON_FAILURE, 0 }, PLAN_START, 0 },
		{ { "", "3r", PLAN_NEVER, 0 }, PLAN_WAIT, 0 },
		{ { "", "0", PLAN_NEVER, 0 }, PLAN_NET_DOWN, 0 },
		{ { "", "0", PLAN_NEVER, CLEAN }, PLAN_WAIT, 0 },
		/* what a killed monitor left */
		{ { "", "rl", PLAN_ALWAYS, 0 }, PLAN_BURY, 1 },
		{ { "", "rt", PLAN_ALWAYS, 0 }, PLAN_DISCARD, 1 },
		{ { "", "l", PLAN_ALWAYS, GOING }, PLAN_BURY, 0 },
		/* down */
		{ { "", "rr", PLAN_ALWAYS, GOING }, PLAN_TERM, 0 },
		{ { "", "0r", PLAN_ALWAYS, GOING }, PLAN_TERM, 1 },
		{ { "", "s", PLAN_ALWAYS, GOING }, PLAN_WAIT, 0 },
		{ { "", "01", PLAN_ALWAYS, GOING }, PLAN_NET_DOWN, 0 },
		{ { "", "n", PLAN_ALWAYS, GOING | CLEAN }, PLAN_REMOVE, 0 },
		{ { "", "n", PLAN_ALWAYS, GOING | CLEAN | REMOVED },
		  PLAN_FORGET,
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct plan_in in = make(&cases[i].in);
		struct plan plan = plan_next(&in);

		if (plan.step != cases[i].step || plan.index != cases[i].index)
			fail_msg("case %zu '%s' '%s': step %d of %zu", i,
				 cases[i].in.inits, cases[i].in.containers,
				 plan.step, plan.index);
	}
}

static void
test_who_was_asked_to_stop_is_killed_when_the_grace_is_over(void **state)
{
	struct plan_in in =
		make(&(struct case_in){ "", "rr", PLAN_ALWAYS, GOING });
	struct plan plan;

	(void)state;
	terminated[0] = true;
	assert_int_equal(plan_next(&in).step, PLAN_TERM);
	terminated[1] = true;
	plan = plan_next(&in);
	assert_int_equal(plan.step, PLAN_WAIT);
	assert_in_range(plan.wait_ms, 10000, 10001);
	in.now_us = in.kill_us;
	plan = plan_next(&in);
	assert_int_equal(plan.step, PLAN_KILL);
	assert_int_equal(plan.index, 0);
}

static void
test_pauses_grow_to_a_limit_and_are_forgiven(void **state)
{
	struct plan_in in = make(&(struct case_in){ "", "1", PLAN_ALWAYS, 0 });
	static const uint64_t pauses[] = { 0,     10000,  20000,  40000,
					   80000, 160000, 300000, 300000 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(pauses); i++) {
		list[0].attempt = i;
		assert_int_equal(plan_pause_ms(&in, &list[0]), pauses[i]);
	}
	list[0].attempt = 1;
	assert_int_equal(plan_next(&in).step, PLAN_WAIT);
	assert_in_range(plan_next(&in).wait_ms, 10000, 10001);
	in.now_us += 10 * SECOND;
	assert_int_equal(plan_next(&in).step, PLAN_START);
	list[0].now.started_us = NOW - 3600 * SECOND;
	assert_int_equal(plan_pause_ms(&in, &list[0]), 0);
}

static void
test_the_phase_follows_from_the_containers(void **state)
{
	static const struct {
		struct case_in in;
		enum plan_phase phase;
	} cases[] = {
		{ { "", "n", PLAN_ALWAYS, 0 }, PLAN_PENDING },
		{ { "r", "n", PLAN_ALWAYS, 0 }, PLAN_PENDING },
		{ { "", "rn", PLAN_ALWAYS, 0 }, PLAN_RUNNING },
		{ { "", "0", PLAN_ALWAYS, 0 }, PLAN_RUNNING },
		{ { "", "l", PLAN_ALWAYS, 0 }, PLAN_RUNNING },
		{ { "", "0r", PLAN_NEVER, 0 }, PLAN_RUNNING },
		{ { "0", "00", PLAN_NEVER, 0 }, PLAN_SUCCEEDED },
		{ { "", "01", PLAN_NEVER, 0 }, PLAN_FAILED },
		{ { "", "01", PLAN_ON_FAILURE, 0 }, PLAN_RUNNING },
		{ { "2", "n", PLAN_NEVER, 0 }, PLAN_FAILED },
		{ { "2", "n", PLAN_ALWAYS, 0 }, PLAN_PENDING },
		{ { "", "0", PLAN_ALWAYS, GOING }, PLAN_SUCCEEDED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct plan_in in = make(&cases[i].in);

		if (plan_phase(&in) != cases[i].phase)
			fail_msg("case %zu: phase %d", i, plan_phase(&in));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_next_step_follows_from_what_there_is),
		cmocka_unit_test(
			test_who_was_asked_to_stop_is_killed_when_the_grace_is_over),
		cmocka_unit_test(test_pauses_grow_to_a_limit_and_are_forgiven),
		cmocka_unit_test(test_the_phase_follows_from_the_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
