/* SPDX-License-Identifier: Apache-2.0 */
#include "base/daemon.h"

#include <signal.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/test.h"

#define LONG_US (600UL * 1000 * 1000)

struct program {
	struct loop *loop;
	unsigned stops;
	bool answers; /* stop is done at once */
	bool again;   /* stop is told a second time */
};

static void
tell(void *arg)
{
	(void)arg;
	(void)raise(SIGTERM);
}

static void
stop(void *arg, void (*done)(void *done_arg), void *done_arg)
{
	struct program *p = arg;

	p->stops++;
	if (p->again)
		loop_post(p->loop, tell, NULL);
	if (p->answers)
		done(done_arg);
}

static void
run(struct program *p, uint64_t deadline_us)
{
	const struct daemon_config config = {
		.loop = p->loop = loop_new(),
		.ready = tell,
		.stop = stop,
		.arg = p,
		.deadline_us = deadline_us,
	};

	daemon_run(&config);
	loop_free(p->loop);
	assert_int_equal(p->stops, 1);
}

static void
test_it_ends_when_all_is_finished(void **state)
{
	struct program p = { .answers = true };

	(void)state;
	run(&p, LONG_US);
}

static void
test_a_second_signal_ends_it_at_once(void **state)
{
	struct program p = { .again = true };

	(void)state;
	run(&p, LONG_US);
}

static void
test_it_does_not_wait_for_ever(void **state)
{
	struct program p = { 0 };

	(void)state;
	run(&p, 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_ends_when_all_is_finished),
		cmocka_unit_test(test_a_second_signal_ends_it_at_once),
		cmocka_unit_test(test_it_does_not_wait_for_ever),
	};

	log_init("test", LOG_LEVEL_ERROR, LOG_FORMAT_JSON);
	return cmocka_run_group_tests_name("daemon", tests, NULL, NULL);
}
