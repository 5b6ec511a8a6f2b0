/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/logfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/test.h"
#include "kubelet/logread.h"
#include "kubelet/removal.h"

static char dir[64];
static int dir_fd;

static int
setup(void **state)
{
	struct err err;

	(void)state;
	(void)strcpy(dir, "/tmp/logfile-test-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	return path_open_dir(dir, &dir_fd, &err);
}

static int
teardown(void **state)
{
	struct err err;

	(void)state;
	(void)close(dir_fd);
	return removal_run(dir, &err);
}

static struct logfile *
open_log(size_t max)
{
	struct logfile *log;
	struct err err;

	assert_int_equal(logfile_open(dir_fd, max, &log, &err), 0);
	return log;
}

/* All that can be read now; to be freed. */
static char *
read_on(struct logread *read)
{
	struct buf out = BUF_INIT(1 << 20);
	bool over;

	while (logread_more(read, &out, &over))
		continue;
	(void)buf_append(&out, "", 1);
	return (char *)out.data;
}

static void
assert_reads(const struct logread_options *options, const char *expected)
{
	struct logread *read = logread_new(options);
	AUTO(free_ptr) char *text = read_on(read);

	logread_free(read);
	assert_string_equal(text, expected);
}

static void
write_text(struct logfile *log, const char *text)
{
	logfile_write(log, LOGFILE_STDOUT, text, strlen(text));
}

#define ALL .dir = dir, .tail = -1, .limit_bytes = -1

static void
test_what_is_written_is_read_again(void **state)
{
	struct logfile *log = open_log(1 << 20);

	(void)state;
	write_text(log, "one\ntw");
	write_text(log, "o\n\n");
	logfile_write(log, LOGFILE_STDERR, "err\n", 4);
	write_text(log, "no end");
	logfile_free(log);
	assert_reads(&(struct logread_options){ ALL },
		     "one\ntwo\n\nerr\nno end");
	assert_reads(&(struct logread_options){ .dir = dir,
						.tail = 2,
						.limit_bytes = -1 },
		     "err\nno end");
	assert_reads(&(struct logread_options){ .dir = dir,
						.tail = 100,
						.limit_bytes = -1 },
		     "one\ntwo\n\nerr\nno end");
	assert_reads(&(struct logread_options){ .dir = dir,
						.tail = 0,
						.limit_bytes = -1 },
		     "");
	assert_reads(&(struct logread_options){ .dir = dir,
						.tail = -1,
						.limit_bytes = 5 },
		     "one\nt");
	assert_reads(&(struct logread_options){ ALL, .since_ns = INT64_MAX },
		     "");
}

static void
test_a_long_line_is_whole_again_when_read(void **state)
{
	struct logfile *log = open_log(1 << 20);
	size_t len = LOGFILE_LINE_MAX * 2 + 10;
	AUTO(free_ptr) char *line = xmalloc0(len + 2);

	(void)state;
	memset(line, 'x', len);
	line[len] = '\n';
	write_text(log, line);
	logfile_free(log);
	assert_reads(&(struct logread_options){ ALL }, line);
}

static void
test_a_full_file_is_kept_until_the_next_is(void **state)
{
	struct logfile *log = open_log(100);
	struct logread *read;
	AUTO(free_ptr) char *first = NULL;
	AUTO(free_ptr) char *then = NULL;

	(void)state;
	write_text(log, "a\nb\n");
	read = logread_new(&(struct logread_options){ ALL });
	first = read_on(read);
	assert_string_equal(first, "a\nb\n");
	/* A reader goes on over the change of files. */
	write_text(log, "c\nd\ne\n");
	then = read_on(read);
	assert_string_equal(then, "c\nd\ne\n");
	logread_free(read);
	assert_reads(&(struct logread_options){ ALL }, "a\nb\nc\nd\ne\n");
	assert_reads(&(struct logread_options){ .dir = dir,
						.tail = 4,
						.limit_bytes = -1 },
		     "b\nc\nd\ne\n");
	logfile_free(log);
}

static void
test_lines_that_are_not_ours_are_not_parsed(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   "2026-11-16T14:00:00.1Z",
					   "2026-11-16T14:00:00.1Z out F x",
					   "x stdout F y",
					   "2026-11-16T14:00:00.1Z stdout X y",
					   "2026-11-16T14:00:00.1Z stdout F" };
	struct logfile_line line;
	const char *good = "2026-11-16T14:00:00.123456789Z stderr P a b";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(logfile_parse(bad[i], strlen(bad[i]), &line));
	assert_true(logfile_parse(good, strlen(good), &line));
	assert_int_equal(line.stream, LOGFILE_STDERR);
	assert_false(line.whole);
	assert_int_equal(line.at_ns % 1000000000, 123456789);
	assert_int_equal(line.len, 3);
	assert_memory_equal(line.text, "a b", 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_what_is_written_is_read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_long_line_is_whole_again_when_read, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_full_file_is_kept_until_the_next_is, setup,
			teardown),
		cmocka_unit_test(test_lines_that_are_not_ours_are_not_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
