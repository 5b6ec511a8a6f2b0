/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/test.h"
#include "ctl/netlock.h"

#define SHORT_MS 60
#define LONG_MS 60000

static char path[] = "/tmp/netlock-XXXXXX";

static int
set_up(void **state)
{
	(void)state;
	(void)strcpy(path, "/tmp/netlock-XXXXXX");
	(void)close(mkstemp(path));
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static void
test_one_has_it_and_others_are_told_who(void **state)
{
	int held, other = -1;
	char who[32];
	struct err err;

	(void)state;
	assert_int_equal(netlock_take(path, SHORT_MS, &held, &err), 0);
	assert_int_equal(netlock_take(path, SHORT_MS, &other, &err), -1);
	assert_int_equal(err.kind, ERR_TIMEOUT);
	assert_int_equal(other, -1);
	(void)snprintf(who, sizeof(who), "process %d ", (int)getpid());
	assert_non_null(strstr(err.text, who));
	assert_non_null(strstr(err.text, path));
	close_fd(&held);
	assert_int_equal(netlock_take(path, SHORT_MS, &other, &err), 0);
	close_fd(&other);
}

/* Has the lock when the pipe has said so, until it is killed. */
static pid_t
start_holder(void)
{
	int ready[2], fd;
	struct err err;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (netlock_take(path, LONG_MS, &fd, &err) == 0)
			(void)!write(ready[1], "x", 1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return pid;
}

static void
test_it_goes_with_its_holder(void **state)
{
	pid_t pid = start_holder();
	struct err err;
	int fd;

	(void)state;
	assert_int_equal(netlock_take(path, SHORT_MS, &fd, &err), -1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(netlock_take(path, LONG_MS, &fd, &err), 0);
	close_fd(&fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
test_what_is_no_file_is_named(void **state)
{
	struct err err;
	int fd;

	(void)state;
	assert_int_equal(netlock_take("/none/such", SHORT_MS, &fd, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, "/none/such"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_has_it_and_others_are_told_who),
		TEST(test_it_goes_with_its_holder),
		TEST(test_what_is_no_file_is_named),
	};

	return cmocka_run_group_tests_name("netlock", tests, NULL, NULL);
}
