/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "ctl/table.h"

static void
test_what_would_steer_a_terminal_is_replaced(void **state)
{
	static const struct {
		const char *text;
		bool lines;
		const char *clean;
	} cases[] = {
		{ "plain", false, "plain" },
		{ "\033]0;mine\007", false, "?]0;mine?" },
		{ "a\nb", false, "a?b" },
		{ "a\nb\r", true, "a\nb?" },
		{ "\x7f", false, "?" },
		{ "\xc2\x9b"
		  "31m",
		  false, "??31m" },
		{ "gr\xc3\xbc\xc3\x9f", false, "gr\xc3\xbc\xc3\x9f" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr) char *text = xstrdup(cases[i].text);

		assert_string_equal(screen_clean(text, cases[i].lines),
				    cases[i].clean);
	}
}

static void
test_a_line_is_cut_between_characters(void **state)
{
	(void)state;
	assert_int_equal(screen_fit("abc", 2), 2);
	assert_int_equal(screen_fit("abc", 3), 3);
	assert_int_equal(screen_fit("abc", 9), 3);
	assert_int_equal(screen_fit("abc\ndef", 9), 3);
	assert_int_equal(screen_fit("\xc3\xbc\xc3\xbc", 1), 2);
	assert_int_equal(screen_fit("abc", 0), 0);
}

static void
test_a_text_is_broken_between_words(void **state)
{
	(void)state;
	assert_int_equal(screen_break("ab cd", 5), 5);
	assert_int_equal(screen_break("ab cd", 4), 2);
	assert_int_equal(screen_break("ab cd", 2), 2);
	assert_int_equal(screen_break("\xc3\xbc\xc3\xbc cd", 3), 4);
	/* A word that is too long is cut. */
	assert_int_equal(screen_break("abcdef", 4), 4);
	assert_int_equal(screen_break("", 4), 0);
}

static char *
text_of(const struct table *table, size_t rows)
{
	struct buf out = BUF_INIT(BUF_UNLIMITED);

	table_write(table, rows, &out);
	(void)buf_append(&out, "", 1);
	return (char *)out.data;
}

static void
test_columns_are_as_wide_as_what_is_in_them(void **state)
{
	AUTO(table_unref)
	struct table *table =
		table_new((const char *const[]){ "A", "LONG", "NOTE" }, 3);
	AUTO(free_ptr) char *all = NULL;
	AUTO(free_ptr) char *some = NULL;

	(void)state;
	table_add(table, (const char *const[]){ "abc", "", "" });
	table_add(table, (const char *const[]){ "\xc3\xbc", "x", "y\033" });
	table_add(table, (const char *const[]){ "d", "e", "f" });
	assert_int_equal(table_lines(table), 3);
	all = text_of(table, 3);
	assert_string_equal(all, "A    LONG  NOTE\n"
				 "abc  -\n"
				 "\xc3\xbc    x     y?\n"
				 "d    e     f\n");
	some = text_of(table, 2);
	assert_string_equal(some, "A    LONG  NOTE\n"
				  "abc  -\n"
				  "... 2 more\n");
}

static void
test_the_last_column_may_stand_below(void **state)
{
	AUTO(table_unref)
	struct table *table =
		table_new((const char *const[]){ "A", "LONG", "NOTE" }, 3);
	AUTO(free_ptr) char *all = NULL;
	AUTO(free_ptr) char *some = NULL;

	(void)state;
	table_add(table, (const char *const[]){ "abc", "", "why it waits" });
	table_add(table, (const char *const[]){ "d", "e", "" });
	table_add(table, (const char *const[]){ "f", "g", "h" });
	assert_int_equal(table_width(table), 3 + 2 + 4 + 2 + 12);
	table_put_last_below(table);
	assert_int_equal(table_width(table), 3 + 2 + 4);
	assert_int_equal(table_lines(table), 5);
	all = text_of(table, 5);
	assert_string_equal(all, "A    LONG\n"
				 "abc  -\n"
				 "    why it waits\n"
				 "d    e\n"
				 "f    g\n"
				 "    h\n");
	/* A row is there with all of its lines, or not at all. */
	some = text_of(table, 4);
	assert_string_equal(some, "A    LONG\n"
				  "abc  -\n"
				  "    why it waits\n"
				  "d    e\n"
				  "... 1 more\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_would_steer_a_terminal_is_replaced),
		cmocka_unit_test(test_a_line_is_cut_between_characters),
		cmocka_unit_test(test_a_text_is_broken_between_words),
		cmocka_unit_test(test_columns_are_as_wide_as_what_is_in_them),
		cmocka_unit_test(test_the_last_column_may_stand_below),
	};

	return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}
