/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"

/* A directory with: file "f" ("hello"), directory "d" with a file "g", links
 * "link" to f, "dlink" to d and "out" to "..", a FIFO "fifo". */
struct world {
	char path[64];
	int fd;
};

static void
put_file(int dir_fd, const char *name, const char *text)
{
	AUTO(close_fd)
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int
set_up(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	(void)snprintf(w->path, sizeof(w->path), "/tmp/path_test.XXXXXX");
	assert_non_null(mkdtemp(w->path));
	w->fd = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_not_equal(w->fd, -1);
	put_file(w->fd, "f", "hello");
	assert_int_equal(mkdirat(w->fd, "d", 0700), 0);
	put_file(w->fd, "d/g", "below");
	assert_int_equal(symlinkat("f", w->fd, "link"), 0);
	assert_int_equal(symlinkat("d", w->fd, "dlink"), 0);
	assert_int_equal(symlinkat("..", w->fd, "out"), 0);
	assert_int_equal(mkfifoat(w->fd, "fifo", 0600), 0);
	*state = w;
	return 0;
}

static int
tear_down(void **state)
{
	static const char *const names[] = { "f",   "d/g",  "link", "dlink",
					     "out", "fifo", "new" };
	struct world *w = *state;
	int result;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unlinkat(w->fd, names[i], 0);
	(void)unlinkat(w->fd, "d", AT_REMOVEDIR);
	(void)close(w->fd);
	/* Fails when a test left something behind. */
	result = rmdir(w->path);
	free(w);
	return result;
}

static char *
below(const struct world *w, const char *name)
{
	return xasprintf("%s/%s", w->path, name);
}

static void
test_directories_are_opened_but_not_through_links(void **state)
{
	static const struct {
		const char *name;
		int result;
		enum err_kind kind;
	} cases[] = {
		{ "d", 0, ERR_INTERNAL },      { "dlink", -1, ERR_DENIED },
		{ "out", -1, ERR_DENIED },     { "f", -1, ERR_INVALID },
		{ "none", -1, ERR_NOT_FOUND },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr) char *path = below(*state, cases[i].name);
		AUTO(close_fd) int fd = -1;
		struct err err = { 0 };

		assert_int_equal(path_open_dir(path, &fd, &err),
				 cases[i].result);
		assert_true((fd == -1) == (cases[i].result == -1));
		assert_int_equal(err.kind, cases[i].kind);
		if (fd != -1)
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
}

static void
test_nothing_outside_the_directory_is_reached(void **state)
{
	static const struct {
		const char *name;
		int result;
		enum err_kind kind;
	} cases[] = {
		{ "f", 0, ERR_INTERNAL },
		{ "d/g", 0, ERR_INTERNAL },
		{ "d/../f", 0, ERR_INTERNAL },
		{ "link", -1, ERR_DENIED },
		{ "dlink/g", -1, ERR_DENIED },
		{ "..", -1, ERR_DENIED },
		{ "../etc/passwd", -1, ERR_DENIED },
		{ "/etc/passwd", -1, ERR_DENIED },
		{ "none", -1, ERR_NOT_FOUND },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(close_fd) int fd = -1;
		struct err err = { 0 };

		assert_int_equal(path_open_at(w->fd, cases[i].name, O_RDONLY,
					      0600, &fd, &err),
				 cases[i].result);
		assert_true((fd == -1) == (cases[i].result == -1));
		assert_int_equal(err.kind, cases[i].kind);
	}
}

static void
test_even_o_path_with_o_nofollow_yields_no_link(void **state)
{
	struct world *w = *state;
	AUTO(close_fd) int fd = -1;
	struct err err;

	assert_int_equal(
		path_open_at(w->fd, "link", O_PATH | O_NOFOLLOW, 0, &fd, &err),
		-1);
	assert_int_equal(err.kind, ERR_DENIED);
}

static void
test_files_are_read_whole_through_links_too(void **state)
{
	static const char *const names[] = { "f", "link" };
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO(free_ptr) char *path = below(*state, names[i]);
		AUTO(free_ptr) char *data = NULL;
		size_t len = 0;

		assert_int_equal(path_read_file(path, 5, &data, &len, &err), 0);
		assert_int_equal(len, 5);
		assert_string_equal(data, "hello");
	}
}

static void
test_what_is_too_large_or_no_file_is_refused(void **state)
{
	static const struct {
		const char *name;
		enum err_kind kind;
	} cases[] = {
		{ "f", ERR_LIMIT },
		{ "fifo", ERR_INVALID },
		{ "d", ERR_INVALID },
		{ "none", ERR_NOT_FOUND },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr) char *path = below(*state, cases[i].name);
		char *data = NULL;
		size_t len = 42;
		struct err err;

		assert_int_equal(path_read_file(path, 4, &data, &len, &err),
				 -1);
		assert_int_equal(err.kind, cases[i].kind);
		assert_null(data);
		assert_int_equal(len, 42);
	}
}

static void
test_a_file_that_does_not_tell_its_size_is_limited_too(void **state)
{
	AUTO(free_ptr) char *data = NULL;
	size_t len = 0;
	struct err err;

	(void)state;
	assert_int_equal(
		path_read_file("/proc/self/status", 100000, &data, &len, &err),
		0);
	assert_true(len > 100);
	assert_int_equal(strlen(data), len);
	free_ptr(&data);
	assert_int_equal(
		path_read_file("/proc/self/status", 100, &data, &len, &err),
		-1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

static void
test_a_descriptor_is_read_from_the_start(void **state)
{
	struct world *w = *state;
	AUTO(close_fd) int fd = openat(w->fd, "f", O_RDONLY | O_CLOEXEC);
	struct err err;

	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	for (int i = 0; i < 2; i++) {
		AUTO(free_ptr) char *data = NULL;
		size_t len = 0;

		assert_int_equal(path_read_fd(fd, "f", 9, &data, &len, &err),
				 0);
		assert_string_equal(data, "hello");
	}
}

static unsigned
count_entries(const struct world *w)
{
	DIR *dir = opendir(w->path);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	(void)closedir(dir);
	return count;
}

static void
test_writing_replaces_the_file_with_exactly_this_mode(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr) char *path = below(w, "f");
	AUTO(free_ptr) char *data = NULL;
	AUTO(close_fd) int old = openat(w->fd, "f", O_RDONLY | O_CLOEXEC);
	unsigned entries = count_entries(w);
	mode_t mask = umask(077);
	size_t len = 0;
	struct stat st;
	struct err err;

	assert_int_equal(
		path_write_file_at(w->fd, "f", "new text", 8, 0644, &err), 0);
	(void)umask(mask);
	assert_int_equal(path_read_file(path, 100, &data, &len, &err), 0);
	assert_string_equal(data, "new text");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(count_entries(w), entries);

	/* Who has the old file open still reads the old text. */
	free_ptr(&data);
	assert_int_equal(path_read_fd(old, "f", 9, &data, &len, &err), 0);
	assert_string_equal(data, "hello");
}

static void
test_writing_works_below_a_directory_opened_with_o_path(void **state)
{
	struct world *w = *state;
	AUTO(close_fd) int dir = -1;
	AUTO(close_fd) int fd = -1;
	struct err err;

	assert_int_equal(path_open_dir(w->path, &dir, &err), 0);
	assert_int_equal(path_write_file_at(dir, "new", "", 0, 0600, &err), 0);
	assert_int_equal(path_open_at(dir, "new", O_RDONLY, 0, &fd, &err), 0);
}

static void
test_a_failed_write_leaves_nothing_behind(void **state)
{
	static const char *const names[] = { "", ".", "..", "d/h", "d" };
	struct world *w = *state;
	unsigned entries = count_entries(w);
	struct err err;

	/* The last is a directory, which rename() does not replace. */
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(
			path_write_file_at(w->fd, names[i], "x", 1, 0600, &err),
			-1);
	assert_int_equal(count_entries(w), entries);
}

static void
test_a_full_disk_leaves_the_old_file(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr) char *path = below(w, "f");
	AUTO(free_ptr) char *data = NULL;
	unsigned entries = count_entries(w);
	struct rlimit old;
	struct rlimit tight;
	size_t len = 0;
	struct err err;
	int result;

	/* Stands in for it: no file may have more than four bytes. */
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	tight = old;
	tight.rlim_cur = 4;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	result = path_write_file_at(w->fd, "f", "too long", 8, 0600, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(result, -1);
	assert_int_equal(count_entries(w), entries);
	assert_int_equal(path_read_file(path, 100, &data, &len, &err), 0);
	assert_string_equal(data, "hello");
}

static void
test_paths_are_split(void **state)
{
	static const struct {
		const char *path;
		const char *dir;
		const char *name;
	} cases[] = {
		{ "/a/b/c", "/a/b", "c" }, { "/c", "/", "c" },
		{ "//c", "/", "c" },       { "/a//c", "/a", "c" },
		{ "c", NULL, NULL },       { "a/c", NULL, NULL },
		{ "", NULL, NULL },        { "/", NULL, NULL },
		{ "/a/", NULL, NULL },     { "/a/.", NULL, NULL },
		{ "/a/..", NULL, NULL },   { "/a/...", "/a", "..." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr) char *dir = NULL;
		const char *name = NULL;
		struct err err = { 0 };
		int result = path_split(cases[i].path, &dir, &name, &err);

		assert_int_equal(result, cases[i].dir != NULL ? 0 : -1);
		assert_true(str_equal(dir, cases[i].dir));
		assert_true(str_equal(name, cases[i].name));
		if (result == -1)
			assert_int_equal(err.kind, ERR_INVALID);
	}
}

static void
test_a_tree_is_removed_but_not_what_links_in_it_lead_to(void **state)
{
	const struct world *w = *state;
	AUTO(free_ptr) char *tree = below(w, "new");
	struct err err = { 0 };

	assert_int_equal(mkdirat(w->fd, "new", 0700), 0);
	assert_int_equal(mkdirat(w->fd, "new/deep", 0700), 0);
	put_file(w->fd, "new/deep/file", "text");
	assert_int_equal(symlinkat("../../d", w->fd, "new/deep/away"), 0);
	assert_int_equal(symlinkat("../f", w->fd, "new/file"), 0);
	assert_int_equal(path_remove_tree(tree, &err), 0);
	assert_int_equal(faccessat(w->fd, "new", F_OK, 0), -1);
	assert_int_equal(faccessat(w->fd, "d/g", F_OK, 0), 0);
	assert_int_equal(faccessat(w->fd, "f", F_OK, 0), 0);
	assert_int_equal(path_remove_tree(tree, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_directories_are_opened_but_not_through_links),
		CASE(test_nothing_outside_the_directory_is_reached),
		CASE(test_even_o_path_with_o_nofollow_yields_no_link),
		CASE(test_files_are_read_whole_through_links_too),
		CASE(test_what_is_too_large_or_no_file_is_refused),
		CASE(test_a_file_that_does_not_tell_its_size_is_limited_too),
		CASE(test_a_descriptor_is_read_from_the_start),
		CASE(test_writing_replaces_the_file_with_exactly_this_mode),
		CASE(test_writing_works_below_a_directory_opened_with_o_path),
		CASE(test_a_failed_write_leaves_nothing_behind),
		CASE(test_a_full_disk_leaves_the_old_file),
		CASE(test_paths_are_split),
		CASE(test_a_tree_is_removed_but_not_what_links_in_it_lead_to),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
