/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/test.h"
#include "cluster/store/teststore.h"

/* A world with a second directory to restore to, and a file between. */
struct backup {
	struct world *w;
	struct world *other; /* its store is not there at first */
	char file[128];
};

static int
set_up(void **state)
{
	struct backup *b = xmalloc0(sizeof(*b));

	assert_int_equal(world_set_up((void **)&b->w), 0);
	assert_int_equal(world_set_up((void **)&b->other), 0);
	world_close(b->other);
	assert_int_equal(unlink(world_path(b->other, STORE_FILE)), 0);
	(void)snprintf(b->file, sizeof(b->file), "%s/backup", b->w->dir);
	*state = b;
	return 0;
}

static int
tear_down(void **state)
{
	struct backup *b = *state;

	(void)world_tear_down((void **)&b->w);
	(void)world_tear_down((void **)&b->other);
	free(b);
	return 0;
}

static void
backup(struct backup *b)
{
	struct err err;

	if (store_backup(b->w->dir, b->file, &err) == -1)
		fail_msg("%s", err.text);
}

static void
restore(struct backup *b)
{
	struct err err;

	if (store_restore(b->other->dir, b->file, &err) == -1)
		fail_msg("%s", err.text);
}

static void
assert_pods(struct world *w, const char *text)
{
	struct object **objects;
	size_t count = store_list(w->pods, NULL, NULL, 0, &objects);

	assert_list(objects, count, text);
}

static bool
exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void
test_a_backup_of_a_store_in_use_can_be_restored(void **state)
{
	struct backup *b = *state;
	struct world *w = b->w;
	struct stat st;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "a", "y", "2");
	world_put(w, w->pods, "a", "x", "3");
	world_remove(w, w->pods, "a", "y");
	world_put(w, w->pods, "a", "z", "5");
	assert_int_equal(world_settle(w), 0);
	backup(b);
	world_put(w, w->pods, "a", "x", "later");
	assert_int_equal(world_settle(w), 0);
	assert_int_equal(stat(b->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);

	restore(b);
	world_open(b->other);
	assert_pods(b->other, "a/x=3 a/z=5");
	assert_pods(w, "a/x=later a/z=5");
	world_put(b->other, b->other->pods, "a", "x", "4");
	world_reopen(b->other);
	assert_pods(b->other, "a/x=4 a/z=5");
}

static void
test_clients_of_a_restored_store_must_list_again(void **state)
{
	struct backup *b = *state;
	struct world *w = b->w;
	struct subscription *s;
	struct tape tape = TAPE_INIT;
	bool too_old = false;
	uint64_t rv;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "a", "x", "2");
	assert_int_equal(world_settle(w), 0);
	backup(b);
	restore(b);
	world_open(b->other);
	rv = store_rv(b->other->store);
	assert_true(rv > 1000000);
	assert_int_equal(store_oldest_rv(b->other->store), rv);
	/* A revision that the lost store may have reached. */
	s = subscribe(b->other->store, NULL, 1000, tape_event, &tape, &too_old);
	assert_null(s);
	assert_true(too_old);
	s = world_subscribe(b->other, NULL, rv, &tape);
	world_put(b->other, b->other->pods, "a", "x", "3");
	assert_int_equal(store_get(b->other->pods, "a", "x")->rv, rv + 1);
	assert_int_equal(world_settle(b->other), 0);
	assert_tape(&tape, "MODIFIED a/x=3@1000000003(2) ");
	unsubscribe(s);
}

static void
test_a_backup_needs_nobody_to_have_the_store_open(void **state)
{
	struct backup *b = *state;

	world_put(b->w, b->w->pods, "a", "x", "1");
	world_close(b->w);
	backup(b);
	restore(b);
	world_open(b->other);
	assert_pods(b->other, "a/x=1");
}

static void
test_a_backup_replaces_an_older_one(void **state)
{
	struct backup *b = *state;

	world_put(b->w, b->w->pods, "a", "x", "1");
	assert_int_equal(world_settle(b->w), 0);
	backup(b);
	world_put(b->w, b->w->pods, "a", "x", "2");
	assert_int_equal(world_settle(b->w), 0);
	backup(b);
	restore(b);
	world_open(b->other);
	assert_pods(b->other, "a/x=2");
}

static void
test_a_failed_backup_leaves_the_older_one(void **state)
{
	struct backup *b = *state;
	struct err err;

	world_put(b->w, b->w->pods, "a", "x", "1");
	assert_int_equal(world_settle(b->w), 0);
	backup(b);
	assert_int_equal(store_backup("/nonexistent", b->file, &err), -1);
	assert_non_null(strstr(err.text, "/nonexistent"));
	restore(b);
	world_open(b->other);
	assert_pods(b->other, "a/x=1");
	assert_int_equal(store_backup(b->w->dir, "/nonexistent/backup", &err),
			 -1);
	assert_non_null(strstr(err.text, "/nonexistent/backup"));
}

static void
test_a_store_is_no_place_for_its_backup(void **state)
{
	struct backup *b = *state;
	struct err err;

	world_put(b->w, b->w->pods, "a", "x", "1");
	assert_int_equal(world_settle(b->w), 0);
	assert_int_equal(symlink(world_path(b->w, STORE_FILE), b->file), 0);
	assert_int_equal(store_backup(b->w->dir, b->file, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(
		store_backup(b->w->dir, world_path(b->w, STORE_FILE), &err),
		-1);
	assert_int_equal(err.kind, ERR_INVALID);
	world_reopen(b->w);
	assert_pods(b->w, "a/x=1");
}

static void
assert_not_restored(struct backup *b, enum err_kind kind, const char *text)
{
	struct err err;

	assert_int_equal(store_restore(b->other->dir, b->file, &err), -1);
	assert_int_equal(err.kind, kind);
	if (strstr(err.text, text) == NULL)
		fail_msg("'%s' has no '%s'", err.text, text);
}

static void
test_a_store_is_not_overwritten(void **state)
{
	struct backup *b = *state;

	world_put(b->w, b->w->pods, "a", "x", "1");
	backup(b);
	world_open(b->other);
	world_put(b->other, b->other->pods, "a", "x", "other");
	assert_not_restored(b, ERR_CONFLICT, "in use");
	world_close(b->other);
	assert_not_restored(b, ERR_EXISTS, "exists");
	world_open(b->other);
	assert_pods(b->other, "a/x=other");
}

/* Cuts a file, or writes into it. */
static void
damage(const char *path, off_t at, const char *bytes)
{
	int fd = open(path, O_RDWR);

	assert_int_not_equal(fd, -1);
	if (bytes == NULL)
		assert_int_equal(ftruncate(fd, at), 0);
	else
		assert_int_equal(pwrite(fd, bytes, strlen(bytes), at),
				 strlen(bytes));
	(void)close(fd);
}

static void
test_what_is_no_backup_is_not_restored(void **state)
{
	struct backup *b = *state;
	char name[16];

	assert_not_restored(b, ERR_INTERNAL, "unable to open");
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		world_put(b->w, b->w->pods, "a", name, "1");
	}
	assert_int_equal(world_settle(b->w), 0);
	backup(b);
	damage(b->file, 60000, NULL);
	assert_not_restored(b, ERR_INVALID, b->file);
	backup(b);
	damage(b->file, 50000,
	       "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz");
	damage(b->file, 16384 * 3, "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz");
	assert_not_restored(b, ERR_INVALID, b->file);
	damage(b->file, 0, "something else");
	assert_not_restored(b, ERR_INVALID, b->file);
	damage(b->file, 0, NULL);
	assert_not_restored(b, ERR_INVALID, "is empty");
	assert_false(exists(world_path(b->other, STORE_FILE)));
	assert_false(exists(world_path(b->other, STORE_FILE ".tmp")));
}

static void
test_restoring_leaves_the_backup_as_it_is(void **state)
{
	struct backup *b = *state;
	char *before, *after, path[160];
	size_t len, len_after;
	struct err err;

	world_put(b->w, b->w->pods, "a", "x", "1");
	assert_int_equal(world_settle(b->w), 0);
	backup(b);
	assert_int_equal(chmod(b->file, 0400), 0);
	assert_int_equal(path_read_file(b->file, 1 << 20, &before, &len, &err),
			 0);
	restore(b);
	assert_int_equal(
		path_read_file(b->file, 1 << 20, &after, &len_after, &err), 0);
	assert_int_equal(len, len_after);
	assert_memory_equal(before, after, len);
	(void)snprintf(path, sizeof(path), "%s-wal", b->file);
	assert_false(exists(path));
	free(before);
	free(after);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_backup_of_a_store_in_use_can_be_restored),
		TEST(test_clients_of_a_restored_store_must_list_again),
		TEST(test_a_backup_needs_nobody_to_have_the_store_open),
		TEST(test_a_backup_replaces_an_older_one),
		TEST(test_a_failed_backup_leaves_the_older_one),
		TEST(test_a_store_is_no_place_for_its_backup),
		TEST(test_a_store_is_not_overwritten),
		TEST(test_what_is_no_backup_is_not_restored),
		TEST(test_restoring_leaves_the_backup_as_it_is),
	};

	return cmocka_run_group_tests_name("backup", tests, NULL, NULL);
}
