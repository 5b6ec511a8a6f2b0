/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/container.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "api/testjson.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "kubelet/monitor.h"
#include "kubelet/testdir.h"

static void
put_state(unsigned attempt, const char *text)
{
	AUTO(free_ptr) char *path = container_dir(testdir, "c", attempt);
	AUTO(js_unref) json_t *state = testjson(text);
	AUTO(free_ptr) char *json = js_text(state);
	AUTO(close_fd) int fd = -1;
	struct err err;

	assert_int_equal(path_open_dir(path, &fd, &err), 0);
	assert_int_equal(path_write_file_at(fd, MONITOR_STATE, json,
					    strlen(json), 0600, &err),
			 0);
}

/* As a monitor that lives; -1 ends it. */
static int
hold_lock(unsigned attempt)
{
	AUTO(free_ptr) char *path = container_dir(testdir, "c", attempt);
	AUTO(free_ptr) char *lock = xasprintf("%s/" MONITOR_LOCK, path);
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_not_equal(fd, -1);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	return fd;
}

static void
begin(unsigned attempt)
{
	AUTO(js_unref) json_t *config = testjson("{}");
	AUTO(js_unref)
	json_t *monitor =
		testjson("{'imageRef':'i@sha256:0','imageVolumes':{'v':'w'}}");
	struct err err;

	assert_int_equal(
		container_write(testdir, "c", attempt, config, monitor, &err),
		0);
}

static void
test_the_phase_follows_from_state_and_lock(void **state)
{
	struct container c = { .name = xstrdup("c") };
	int lock;

	(void)state;
	container_look(&c, testdir);
	assert_int_equal(c.phase, CONTAINER_NONE);
	begin(0);
	container_look(&c, testdir);
	assert_int_equal(c.phase, CONTAINER_STALE);
	assert_string_equal(c.image_ref, "i@sha256:0");
	lock = hold_lock(0);
	container_look(&c, testdir);
	assert_int_equal(c.phase, CONTAINER_STARTING);
	put_state(0, "{'phase':'running','startedAt':5}");
	container_look(&c, testdir);
	assert_int_equal(c.phase, CONTAINER_RUNNING);
	assert_int_equal(c.now.started_us, 5);
	(void)close(lock);
	container_look(&c, testdir);
	assert_int_equal(c.phase, CONTAINER_LOST);
	container_done(&c);
}

static void
test_a_lost_container_is_given_an_end(void **state)
{
	struct container c = { .name = xstrdup("c") };
	struct err err;

	(void)state;
	begin(0);
	put_state(0, "{'phase':'running','startedAt':5}");
	container_look(&c, testdir);
	assert_int_equal(container_write_lost(testdir, &c, &err), 0);
	container_look(&c, testdir);
	assert_int_equal(c.phase, CONTAINER_EXITED);
	assert_int_equal(c.now.exit_code, 137);
	assert_int_equal(c.now.started_us, 5);
	container_done(&c);
}

static void
test_the_last_start_counts_and_the_one_before_is_known(void **state)
{
	struct container c = { .name = xstrdup("c") };

	(void)state;
	begin(9);
	put_state(9, "{'phase':'exited','exitCode':3,'reason':'Error'}");
	begin(10);
	put_state(10, "{'phase':'exited','exitCode':4,'signal':9}");
	container_look(&c, testdir);
	assert_int_equal(c.attempt, 10);
	assert_int_equal(c.now.exit_code, 4);
	assert_int_equal(c.now.signal, 9);
	assert_true(c.has_before);
	assert_int_equal(c.before.exit_code, 3);
	container_done(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_the_phase_follows_from_state_and_lock,
			testdir_make, testdir_remove),
		cmocka_unit_test_setup_teardown(
			test_a_lost_container_is_given_an_end, testdir_make,
			testdir_remove),
		cmocka_unit_test_setup_teardown(
			test_the_last_start_counts_and_the_one_before_is_known,
			testdir_make, testdir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
