/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/children.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/test.h"

#define PATIENCE_MS 60000

struct fixture {
	struct loop *loop;
	struct children *children;
	int status;
	const char *const *argv;
	uint64_t timeout_ms;
	int rc;
	struct err err;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	log_init("test", LOG_LEVEL_ERROR, LOG_FORMAT_JSON);
	f->loop = loop_new();
	f->children = children_new(f->loop);
	f->timeout_ms = PATIENCE_MS;
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	children_free(f->children);
	loop_free(f->loop);
	free(f);
	return 0;
}

static void
ended(void *arg, int status)
{
	struct fixture *f = arg;

	f->status = status;
	loop_stop(f->loop);
}

static void
stop(void *arg)
{
	loop_stop(arg);
}

static void *
run(void *arg)
{
	struct fixture *f = arg;

	f->rc = children_run(f->children, f->argv, "GREETING=hi", f->timeout_ms,
			     &f->err);
	loop_post(f->loop, stop, f->loop);
	return NULL;
}

static void
run_in_thread(struct fixture *f)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run, f), 0);
	loop_run(f->loop);
	(void)pthread_join(thread, NULL);
}

static void
test_the_end_of_a_program_is_told(void **state)
{
	static const char *const argv[] = { "sh", "-c", "exit 3", NULL };
	struct fixture *f = *state;
	pid_t pid;

	assert_int_equal(
		children_start(f->children, argv, ended, f, &pid, &f->err), 0);
	loop_run(f->loop);
	assert_true(WIFEXITED(f->status));
	assert_int_equal(WEXITSTATUS(f->status), 3);
}

static void
test_a_program_that_is_not_there_is_an_error(void **state)
{
	static const char *const argv[] = { "no-such-program", NULL };
	struct fixture *f = *state;
	pid_t pid;

	assert_int_equal(
		children_start(f->children, argv, ended, f, &pid, &f->err), -1);
	assert_int_equal(f->err.kind, ERR_NOT_FOUND);
}

static void
test_a_run_ends_well_with_what_it_was_given(void **state)
{
	static const char *const argv[] = { "sh", "-c", "test $GREETING = hi",
					    NULL };
	struct fixture *f = *state;

	f->argv = argv;
	run_in_thread(f);
	assert_int_equal(f->rc, 0);
}

static void
test_a_run_that_fails_says_why(void **state)
{
	static const char *const argv[] = { "sh", "-c",
					    "echo bad luck >&2; exit 1", NULL };
	struct fixture *f = *state;

	f->argv = argv;
	run_in_thread(f);
	assert_int_equal(f->rc, -1);
	assert_non_null(strstr(f->err.text, "bad luck"));
}

static void
test_a_run_that_is_late_is_killed(void **state)
{
	static const char *const argv[] = { "sleep", "3600", NULL };
	struct fixture *f = *state;

	f->argv = argv;
	f->timeout_ms = 20;
	run_in_thread(f);
	assert_int_equal(f->rc, -1);
	assert_int_equal(f->err.kind, ERR_TIMEOUT);
}

static void
test_orphans_are_reaped(void **state)
{
	/* The grandchild outlives its parent, says so, and ends. */
	static const char *const argv[] = { "sh", "-c",
					    "(read x </dev/null; :) & exit 0",
					    NULL };
	struct fixture *f = *state;
	uint64_t deadline = loop_now_ms() + PATIENCE_MS;

	f->argv = argv;
	run_in_thread(f);
	assert_int_equal(f->rc, 0);
	while (waitpid(-1, NULL, WNOHANG | __WALL) == 0) {
		assert_true(loop_now_ms() < deadline);
		loop_poll(f->loop);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_the_end_of_a_program_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_program_that_is_not_there_is_an_error, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_run_ends_well_with_what_it_was_given, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_a_run_that_fails_says_why,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_run_that_is_late_is_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_orphans_are_reaped, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("children", tests, NULL, NULL);
}
