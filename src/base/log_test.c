/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/test.h"

static int saved_stderr = -1;

/* From here to capture_end() what goes to stderr goes to a file instead. */
static void
capture_begin(void)
{
	AUTO(close_fd) int fd = memfd_create("log", MFD_CLOEXEC);

	assert_int_not_equal(fd, -1);
	/* Unlike a real file, a memfd has no lock on its position. */
	assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	saved_stderr = dup(STDERR_FILENO);
	assert_int_not_equal(saved_stderr, -1);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
}

/* The caller frees what was captured. */
static char *
capture_end(void)
{
	off_t len = lseek(STDERR_FILENO, 0, SEEK_END);
	char *text = xmalloc0((size_t)len + 1);

	if (pread(STDERR_FILENO, text, (size_t)len, 0) != len)
		text[0] = '\0';
	(void)dup2(saved_stderr, STDERR_FILENO);
	close_fd(&saved_stderr);
	return text;
}

static json_t *
parse(const char *line)
{
	struct err err = { 0 };
	json_t *obj = js_parse(line, strlen(line), &err);

	if (obj == NULL)
		fail_msg("%s in %s", err.text, line);
	return obj;
}

static void
assert_member(const json_t *obj, const char *name, const char *expected)
{
	struct err err = { 0 };
	const char *value = NULL;

	if (js_get_str(obj, name, &value, &err) == -1)
		fail_msg("%s", err.text);
	assert_string_equal(value, expected);
}

static void
assert_matches(const char *text, const char *pattern)
{
	regex_t regex;
	int result;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED), 0);
	result = regexec(&regex, text, 0, NULL, 0);
	regfree(&regex);
	if (result != 0)
		fail_msg("'%s' does not match '%s'", text, pattern);
}

static void
test_a_json_line_has_kubevirts_keys_in_order(void **state)
{
	static const struct log_field ref[] = {
		{ "namespace", "default" },
		{ "uid", NULL },
		{ "name", "vm1-a" },
		{ NULL, NULL },
	};
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	log_init("controller", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
	capture_begin();
	log_write(LOG_LEVEL_INFO, "../src/x/reconcile.c", 118, ref,
		  "phase %s -> %s", "A", "B");
	text = capture_end();
	assert_matches(text,
		       "^\\{\"level\":\"info\",\"timestamp\":\"[0-9]{4}-"
		       "[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}"
		       "Z\",\"pos\":\"reconcile\\.c:118\",\"component\":"
		       "\"controller\",\"namespace\":\"default\",\"name\":"
		       "\"vm1-a\",\"msg\":\"phase A -> B\"\\}\n$");
}

static void
test_whatever_a_peer_sends_the_line_stays_json(void **state)
{
	static const struct {
		const char *sent;
		const char *logged;
	} cases[] = {
		{ "a\"b\\c", "a\"b\\c" },
		{ "a\nb\r\tc\x01\x1f\x7f", "a\nb\r\tc\x01\x1f\x7f" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xa2",
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xa2" },
		/* A lone byte, overlong, surrogate, too high, cut short. */
		{ "a\xff"
		  "b",
		  "a\xef\xbf\xbd"
		  "b" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf4\x90\x80\x80",
		  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "", "" },
	};

	(void)state;
	log_init("test", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct log_field ref[] = {
			{ "peer", cases[i].sent },
			{ NULL, NULL },
		};
		AUTO(free_ptr) char *text = NULL;
		AUTO(js_unref) json_t *obj = NULL;

		capture_begin();
		log_error(ref, "got '%s'", cases[i].sent);
		text = capture_end();
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
		obj = parse(text);
		assert_member(obj, "peer", cases[i].logged);
	}
}

static void
test_a_long_line_is_cut_and_stays_json(void **state)
{
	static const char *const fillers[] = { "a", "\x01", "\xff", "\"",
					       "\xe2\x82\xac" };

	(void)state;
	log_init("test", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
	for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
		char value[10000] = "";
		struct log_field ref[] = {
			{ "one", value },
			{ "two", value },
			{ NULL, NULL },
		};
		AUTO(free_ptr) char *text = NULL;
		AUTO(js_unref) json_t *obj = NULL;

		while (strlen(value) + 4 < sizeof(value))
			(void)strncat(value, fillers[i],
				      sizeof(value) - strlen(value) - 1);
		capture_begin();
		log_error(ref, "%s", value);
		text = capture_end();
		assert_in_range(strlen(text), PIPE_BUF / 2, PIPE_BUF);
		obj = parse(text);
		assert_member(obj, "level", "error");
		assert_true(json_string_length(json_object_get(obj, "msg")) >
			    100);
	}
}

static void
test_lines_below_the_level_are_left_out(void **state)
{
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	log_init("test", LOG_LEVEL_WARNING, LOG_FORMAT_JSON);
	assert_false(log_enabled(LOG_LEVEL_INFO));
	assert_true(log_enabled(LOG_LEVEL_WARNING));
	capture_begin();
	log_debug(NULL, "one");
	log_info(NULL, "two");
	log_warning(NULL, "three");
	text = capture_end();
	assert_null(strstr(text, "two"));
	assert_non_null(strstr(text, "three"));
}

static void
test_a_line_for_people_has_no_colour_in_a_file(void **state)
{
	static const struct log_field ref[] = {
		{ "key", "vm1" },
		{ "peer", "evil\033[2J\nline\xc2\x9b" },
		{ NULL, NULL },
	};
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	log_init("test", LOG_LEVEL_INFO, LOG_FORMAT_HUMAN);
	capture_begin();
	log_warning(ref, "hello");
	text = capture_end();
	assert_matches(text, "^[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} warning "
			     "hello  key=vm1 peer=evil\\\\u001b\\[2J\\\\nline"
			     "\\\\u009b\n$");
}

static void
test_logging_keeps_errno(void **state)
{
	AUTO(free_ptr) char *text = NULL;
	AUTO(close_fd) int full = -1;
	int after;

	(void)state;
	log_init("test", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
	capture_begin();
	errno = ENOENT;
	log_info(NULL, "failed: %m");
	after = errno;
	text = capture_end();
	assert_int_equal(after, ENOENT);
	assert_non_null(strstr(text, "failed: No such file or directory"));

	/* Also when the line cannot be written. */
	saved_stderr = dup(STDERR_FILENO);
	full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(dup2(full, STDERR_FILENO), STDERR_FILENO);
	errno = ENOENT;
	log_info(NULL, "lost");
	after = errno;
	(void)dup2(saved_stderr, STDERR_FILENO);
	close_fd(&saved_stderr);
	assert_int_equal(after, ENOENT);
}

static void
test_names_of_levels_and_formats(void **state)
{
	enum log_level level = LOG_LEVEL_COUNT;
	enum log_format format = LOG_FORMAT_COUNT;

	(void)state;
	assert_int_equal(log_level_from_name("warning", &level), 0);
	assert_int_equal(level, LOG_LEVEL_WARNING);
	assert_int_equal(log_level_from_name("loud", &level), -1);
	assert_int_equal(level, LOG_LEVEL_WARNING);
	assert_int_equal(log_format_from_name("json", &format), 0);
	assert_int_equal(format, LOG_FORMAT_JSON);
	assert_int_equal(log_format_from_name("", &format), -1);
}

#define THREADS 4
#define LINES 200

static void *
log_lines(void *arg)
{
	for (int i = 0; i < LINES; i++)
		log_info(NULL, "%s", (const char *)arg);
	return NULL;
}

static void
test_lines_of_threads_do_not_mix(void **state)
{
	static char texts[THREADS][100];
	pthread_t threads[THREADS];
	AUTO(free_ptr) char *text = NULL;
	char *at = NULL;
	int lines = 0;

	(void)state;
	log_init("test", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
	capture_begin();
	for (int i = 0; i < THREADS; i++) {
		memset(texts[i], 'a' + i, sizeof(texts[i]) - 1);
		(void)pthread_create(&threads[i], NULL, log_lines, texts[i]);
	}
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	text = capture_end();
	for (char *line = strtok_r(text, "\n", &at); line != NULL;
	     line = strtok_r(NULL, "\n", &at)) {
		AUTO(js_unref) json_t *obj = parse(line);
		const char *msg =
			json_string_value(json_object_get(obj, "msg"));

		assert_non_null(msg);
		assert_in_range(msg[0], 'a', 'a' + THREADS - 1);
		assert_string_equal(msg, texts[msg[0] - 'a']);
		lines++;
	}
	assert_int_equal(lines, THREADS * LINES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_json_line_has_kubevirts_keys_in_order),
		cmocka_unit_test(
			test_whatever_a_peer_sends_the_line_stays_json),
		cmocka_unit_test(test_a_long_line_is_cut_and_stays_json),
		cmocka_unit_test(test_lines_below_the_level_are_left_out),
		cmocka_unit_test(
			test_a_line_for_people_has_no_colour_in_a_file),
		cmocka_unit_test(test_logging_keeps_errno),
		cmocka_unit_test(test_names_of_levels_and_formats),
		cmocka_unit_test(test_lines_of_threads_do_not_mix),
	};

	js_init();
	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
