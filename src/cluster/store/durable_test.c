/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/store/teststore.h"

/* Files of the process stop growing: every write that needs room fails, in the
 * kernel, until the limit is lifted. */
static void
limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
lift_limit(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
assert_pods(struct world *w, const char *text)
{
	struct object **objects;
	size_t count = store_list(w->pods, NULL, NULL, 0, &objects);

	assert_list(objects, count, text);
}

static void
test_what_cannot_be_written_is_taken_back(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	struct subscription *s = world_subscribe(w, w->pods, 0, &tape);

	world_put(w, w->pods, "a", "kept", "1");
	world_put(w, w->pods, "a", "gone", "2");
	assert_int_equal(world_settle(w), 0);
	assert_tape(&tape, "ADDED a/kept=1@1 ADDED a/gone=2@2 ");

	limit_files(1);
	world_put(w, w->pods, "a", "new", "3");
	world_put(w, w->pods, "a", "new", "4");
	world_put(w, w->pods, "a", "kept", "5");
	world_remove(w, w->pods, "a", "gone");
	world_remove(w, w->pods, "a", "kept");
	world_put(w, w->pods, "a", "kept", "8");
	world_put(w, w->pods, "a", "brief", "9");
	world_remove(w, w->pods, "a", "brief");
	assert_pods(w, "a/kept=8 a/new=4");
	assert_int_equal(world_settle(w), -1);
	lift_limit();

	assert_int_equal(w->err.kind, ERR_INTERNAL);
	assert_non_null(strstr(w->err.text, w->dir));
	assert_pods(w, "a/gone=2 a/kept=1");
	assert_int_equal(store_count(w->pods, "a"), 2);
	assert_null(store_by_uid(w->store, "uid-a-new"));
	assert_value(store_by_uid(w->store, "uid-a-gone"), "2");
	assert_int_equal(store_rv(w->store), 2);
	assert_tape(&tape, "");

	/* As if nothing had been. */
	world_put(w, w->pods, "a", "new", "3");
	assert_int_equal(world_settle(w), 0);
	assert_tape(&tape, "ADDED a/new=3@3 ");
	unsubscribe(s);
	world_reopen(w);
	assert_pods(w, "a/gone=2 a/kept=1 a/new=3");
	assert_int_equal(store_rv(w->store), 3);
}

struct answers {
	struct world *w;
	int failed;
	int succeeded;
};

static void
count_answer(const struct err *err, void *arg)
{
	struct answers *a = arg;

	if (err != NULL)
		a->failed++;
	else
		a->succeeded++;
}

/* Who hears of the failure tries again at once. */
static void
try_again(const struct err *err, void *arg)
{
	struct answers *a = arg;

	count_answer(err, a);
	if (err == NULL)
		return;
	lift_limit();
	world_put(a->w, a->w->pods, "a", "again", "1");
	store_when_durable(a->w->store, count_answer, a);
}

static void
test_everyone_who_waits_hears_of_the_failure(void **state)
{
	struct world *w = *state;
	struct answers a = { .w = w };

	world_put(w, w->pods, "a", "x", "1");
	assert_int_equal(world_settle(w), 0);
	limit_files(1);
	world_put(w, w->pods, "a", "y", "2");
	store_when_durable(w->store, try_again, &a);
	for (int i = 0; i < 10; i++) {
		world_put(w, w->pods, "a", "z", "3");
		store_when_durable(w->store, count_answer, &a);
	}
	assert_int_equal(world_settle(w), -1);
	assert_int_equal(a.failed, 11);
	assert_int_equal(a.succeeded, 0);
	assert_int_equal(world_settle(w), 0);
	assert_int_equal(a.succeeded, 1);
	assert_pods(w, "a/again=1 a/x=1");
	world_reopen(w);
	assert_pods(w, "a/again=1 a/x=1");
}

static void
test_flush_waits_and_reports(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	struct subscription *s = world_subscribe(w, w->pods, 0, &tape);
	struct err err;

	assert_int_equal(store_flush(w->store, &err), 0);
	world_put(w, w->pods, "a", "x", "1");
	assert_int_equal(store_flush(w->store, &err), 0);
	assert_int_equal(store_durable_rv(w->store), 1);
	assert_tape(&tape, "ADDED a/x=1@1 ");
	limit_files(1);
	world_put(w, w->pods, "a", "x", "2");
	assert_int_equal(store_flush(w->store, &err), -1);
	lift_limit();
	assert_int_equal(err.kind, ERR_INTERNAL);
	assert_pods(w, "a/x=1");
	unsubscribe(s);
}

/* Enough writes that the committer is busy with them for a while. */
#define MANY 2000

static void
put_many(struct world *w, const char *value)
{
	char name[16];

	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "n%04d", i);
		world_put(w, w->pods, "many", name, value);
	}
}

static void
test_writes_during_a_commit_go_into_the_next(void **state)
{
	struct world *w = *state;
	struct answers a = { .w = w };

	world_close(w);
	w->config.history_events = 2;
	world_open(w);
	world_put(w, w->pods, "a", "x", "1");
	store_when_durable(w->store, count_answer, &a);
	loop_poll(w->loop);
	/* The history cannot be cut to two as long as these are pending. */
	put_many(w, "1");
	while (a.succeeded == 0)
		loop_poll(w->loop);
	assert_int_equal(store_count(w->pods, NULL), MANY + 1);
	assert_int_equal(world_settle(w), 0);
	assert_int_equal(store_oldest_rv(w->store), MANY - 1);
	world_reopen(w);
	assert_int_equal(store_count(w->pods, "many"), MANY);
}

static void
test_writes_during_a_failing_commit_fail_with_it(void **state)
{
	struct world *w = *state;
	struct answers a = { .w = w };

	world_put(w, w->pods, "a", "x", "1");
	assert_int_equal(world_settle(w), 0);
	limit_files(1);
	put_many(w, "2");
	store_when_durable(w->store, count_answer, &a);
	loop_poll(w->loop);
	put_many(w, "3");
	store_when_durable(w->store, count_answer, &a);
	assert_int_equal(world_settle(w), -1);
	lift_limit();
	assert_int_equal(a.failed, 2);
	world_put(w, w->pods, "a", "y", "4");
	assert_int_equal(world_settle(w), 0);
	assert_pods(w, "a/x=1 a/y=4");
	world_reopen(w);
	assert_pods(w, "a/x=1 a/y=4");
}

static void
test_what_was_taken_back_leaves_the_history_in_order(void **state)
{
	struct world *w = *state;

	world_close(w);
	w->config.history_events = 2;
	world_open(w);
	world_put(w, w->pods, "a", "x", "1");
	assert_int_equal(world_settle(w), 0);
	limit_files(1);
	world_put(w, w->pods, "a", "x", "2");
	assert_int_equal(world_settle(w), -1);
	lift_limit();
	/* The first write of x leaves the history. */
	world_put(w, w->pods, "a", "y", "2");
	world_put(w, w->pods, "a", "y", "3");
	assert_int_equal(world_settle(w), 0);
	world_put(w, w->pods, "a", "x", "4");
	assert_int_equal(world_settle(w), 0);
	assert_value(store_get_at(w->pods, "a", "x", 3), "1");
	assert_value(store_get_at(w->pods, "a", "x", 4), "4");
}

/* A file system of its own with room for little; only this process sees it. */
static int
set_up_small_disk(void **state)
{
	struct world *w;

	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(world_set_up(state), 0);
	w = *state;
	world_close(w);
	assert_int_equal(unlink(world_path(w, STORE_FILE)), 0);
	assert_int_equal(mount("tmpfs", w->dir, "tmpfs", 0, "size=4m"), 0);
	world_open(w);
	return 0;
}

static int
tear_down_small_disk(void **state)
{
	struct world *w = *state;

	world_close(w);
	assert_int_equal(umount(w->dir), 0);
	return world_tear_down(state);
}

static char *
large_value(char c)
{
	size_t len = 100000;
	char *value = xmalloc0(len + 1);

	memset(value, c, len);
	return value;
}

/* Everything up to the failure is there, in memory and on disk. */
static void
assert_filled(struct world *w, int count, const char *value)
{
	char name[16];

	assert_int_equal(store_count(w->pods, NULL), count);
	for (int i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		assert_value(store_get(w->pods, "a", name), value);
	}
}

static int
fill(struct world *w, const char *value)
{
	char name[16];

	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		world_put(w, w->pods, "a", name, value);
		if (world_settle(w) == -1)
			return i;
	}
	fail_msg("the disk has no end");
	return -1;
}

static void
test_a_full_disk_refuses_writes_and_nothing_else(void **state)
{
	struct world *w = *state;
	char *value = large_value('v');
	char ballast[200000] = { 0 };
	int fd, count;

	fd = open(world_path(w, "ballast"), O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, ballast, sizeof(ballast)), sizeof(ballast));
	(void)close(fd);

	count = fill(w, value);
	assert_true(count > 5);
	assert_int_equal(w->err.kind, ERR_LIMIT);
	assert_filled(w, count, value);
	for (int i = 0; i < 20; i++) {
		world_put(w, w->pods, "b", "x", value);
		assert_int_equal(world_settle(w), -1);
	}
	assert_filled(w, count, value);

	/* Also for one who starts while it is full. */
	world_reopen(w);
	assert_filled(w, count, value);

	assert_int_equal(unlink(world_path(w, "ballast")), 0);
	world_put(w, w->nodes, "", "small", "1");
	assert_int_equal(world_settle(w), 0);
	world_reopen(w);
	assert_filled(w, count, value);
	assert_value(store_get(w->nodes, "", "small"), "1");
	free(value);
}

/* In the child: writes, and tells each revision once it is durable. */
struct storm {
	struct world *w;
	int pipe;
	uint32_t seed;
};

static void storm_write(struct storm *storm);

static void
storm_durable(const struct err *err, void *arg)
{
	struct storm *storm = arg;
	uint64_t rv = store_durable_rv(storm->w->store);

	if (err != NULL || write(storm->pipe, &rv, sizeof(rv)) != sizeof(rv))
		_exit(1);
	storm_write(storm);
}

static void
storm_write(struct storm *storm)
{
	char name[16], value[16];

	/* The value is the revision, so that the state shows the history. */
	(void)snprintf(name, sizeof(name), "n%u",
		       world_random(&storm->seed, 50));
	(void)snprintf(value, sizeof(value), "%d",
		       (int)store_next_rv(storm->w->store));
	world_put(storm->w, storm->w->pods, "a", name, value);
	store_when_durable(storm->w->store, storm_durable, storm);
}

static void
run_storm(struct world *w, int pipe, uint32_t seed)
{
	struct storm storms[8];

	world_open(w);
	for (size_t i = 0; i < 8; i++) {
		storms[i] = (struct storm){ w, pipe, seed + (uint32_t)i };
		storm_write(&storms[i]);
	}
	loop_run(w->loop);
	_exit(1);
}

/* Kills a child in the middle of writing; returns the last revision of which it
 * said that it is durable. */
static uint64_t
kill_in_a_storm(struct world *w, uint32_t seed)
{
	uint64_t rv, last = 0;
	int pipes[2], status;
	pid_t pid;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0)
		run_storm(w, pipes[1], seed);
	(void)close(pipes[1]);
	for (uint32_t i = 0; i < 50 + seed * 37; i++) {
		assert_int_equal(read(pipes[0], &rv, sizeof(rv)), sizeof(rv));
		last = rv > last ? rv : last;
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(pipes[0], &rv, sizeof(rv)) == sizeof(rv))
		last = rv > last ? rv : last;
	(void)close(pipes[0]);
	return last;
}

/* Every revision once, and the objects as the last ones left them. */
static void
check_event(const struct event *event, void *arg)
{
	uint64_t *expected = arg;
	char value[16];

	assert_int_equal(event->rv, (*expected)++);
	(void)snprintf(value, sizeof(value), "%d", (int)event->rv);
	assert_value(event->object, value);
}

static void
test_what_was_acknowledged_survives_being_killed(void **state)
{
	struct world *w = *state;

	world_close(w);
	for (uint32_t round = 0; round < 5; round++) {
		uint64_t last = kill_in_a_storm(w, round), expected = 1;
		struct subscription *s;
		bool too_old;

		world_open(w);
		assert_true(store_rv(w->store) >= last);
		s = subscribe(w->store, w->pods, 0, check_event, &expected,
			      &too_old);
		assert_int_equal(expected, store_rv(w->store) + 1);
		unsubscribe(s);
		world_close(w);
	}
	world_open(w);
}

/* Runs SQL on the file of a closed store. */
static int
run_sql(struct world *w, const char *sql)
{
	sqlite3_stmt *stmt;
	sqlite3 *sqlite;
	int value = 0;

	assert_int_equal(sqlite3_open(world_path(w, STORE_FILE), &sqlite), 0);
	assert_int_equal(sqlite3_prepare_v2(sqlite, sql, -1, &stmt, NULL), 0);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int(stmt, 0);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(sqlite);
	return value;
}

static void
test_the_file_keeps_only_what_the_history_needs(void **state)
{
	struct world *w = *state;

	world_close(w);
	w->config.history_events = 10;
	world_open(w);
	for (int i = 0; i < 1000; i++) {
		world_put(w, w->pods, "a", "x", "1");
		world_put(w, w->pods, "a", "y", "2");
		world_remove(w, w->pods, "a", "y");
		if (i % 100 == 0)
			assert_int_equal(world_settle(w), 0);
	}
	world_close(w);
	/* 10 writes and what the first of them replaced. */
	assert_in_range(run_sql(w, "SELECT count(*) FROM log"), 10, 12);
	/* Written when rows go away: new objects make none superfluous. */
	assert_in_range(run_sql(w, "SELECT oldest FROM mark"), 2985, 2990);
	world_open(w);
	assert_int_equal(store_rv(w->store), 3000);
}

static void
assert_refused(struct world *w, enum err_kind kind, const char *text)
{
	struct err err;

	assert_null(store_open(&w->config, &err));
	assert_int_equal(err.kind, kind);
	if (strstr(err.text, text) == NULL)
		fail_msg("'%s' has no '%s'", err.text, text);
}

static void
test_a_file_that_is_no_store_is_refused(void **state)
{
	struct world *w = *state;
	FILE *file;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "a", "y", "2");
	world_close(w);
	(void)run_sql(w, "UPDATE log SET text = 'x' WHERE rv = 2");
	assert_refused(w, ERR_INVALID, "revision 2 is damaged");
	(void)run_sql(w, "DELETE FROM log WHERE rv = 2");
	(void)run_sql(w, "PRAGMA user_version = 2");
	assert_refused(w, ERR_INVALID, "has the format 2");
	(void)run_sql(w, "PRAGMA user_version = 1");
	(void)run_sql(w, "PRAGMA application_id = 1");
	assert_refused(w, ERR_INVALID, "is not a store");
	file = fopen(world_path(w, STORE_FILE), "w");
	for (int i = 0; i < 1000; i++)
		assert_true(fputs("not a database ", file) >= 0);
	(void)fclose(file);
	assert_refused(w, ERR_INVALID, "not a database");
	assert_int_equal(unlink(world_path(w, STORE_FILE)), 0);
	w->config.dir = "/nonexistent";
	assert_refused(w, ERR_NOT_FOUND, "/nonexistent");
	w->config.dir = w->dir;
	world_open(w);
}

static void
test_another_process_is_refused(void **state)
{
	struct world *w = *state;
	int status;
	pid_t pid;

	world_close(w);
	{
		int ready[2], end[2];
		char byte;

		assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
		assert_int_equal(pipe2(end, O_CLOEXEC), 0);
		pid = fork();
		assert_int_not_equal(pid, -1);
		if (pid == 0) {
			world_open(w);
			(void)close(end[1]);
			if (write(ready[1], "r", 1) != 1)
				_exit(1);
			(void)!read(end[0], &byte, 1);
			_exit(0);
		}
		assert_int_equal(read(ready[0], &byte, 1), 1);
		assert_refused(w, ERR_CONFLICT, "in use by another process");
		(void)close(end[0]);
		(void)close(end[1]);
		(void)close(ready[0]);
		(void)close(ready[1]);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	world_open(w);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_cannot_be_written_is_taken_back),
		TEST(test_everyone_who_waits_hears_of_the_failure),
		TEST(test_flush_waits_and_reports),
		TEST(test_writes_during_a_commit_go_into_the_next),
		TEST(test_writes_during_a_failing_commit_fail_with_it),
		TEST(test_what_was_taken_back_leaves_the_history_in_order),
		cmocka_unit_test_setup_teardown(
			test_a_full_disk_refuses_writes_and_nothing_else,
			set_up_small_disk, tear_down_small_disk),
		TEST(test_what_was_acknowledged_survives_being_killed),
		TEST(test_the_file_keeps_only_what_the_history_needs),
		TEST(test_a_file_that_is_no_store_is_refused),
		TEST(test_another_process_is_refused),
	};

	(void)signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests_name("durable", tests, NULL, NULL);
}
