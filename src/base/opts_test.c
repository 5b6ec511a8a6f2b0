/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"

#define ARGS_MAX 16

/* Where the options of the tests' program go. */
struct values {
	bool flag;
	const char *str;
	struct opts_list list;
	uint64_t number;
	uint64_t ms;
	uint64_t bytes;
	const char *ns;
	bool all;
	int first; /* of the positional arguments */
	const char *positional;
};

/* Parses a command line given as one text, words apart by one blank. */
static int
parse(const char *line, struct values *values, struct err *err)
{
	const struct opt table[] = {
		{ "flag", NULL, "be so", OPT_FLAG, &values->flag, 0, 0 },
		{ "str", "TEXT", "say so", OPT_STR, &values->str, 0, 0 },
		{ "list", "X", "all of it", OPT_LIST, &values->list, 0, 0 },
		{ "number", "N", "so many", OPT_U64, &values->number, 1, 9 },
		{ "ms", "TIME", "so long", OPT_MS, &values->ms, 10, 2000 },
		{ "bytes", "SIZE", "so large", OPT_BYTES, &values->bytes, 0,
		  0 },
		{ "namespace", "NAME", "where", OPT_STR, &values->ns, 0, 0 },
		{ "all-namespaces", NULL, "all", OPT_FLAG, &values->all, 0, 0 },
	};
	const struct opts opts = {
		.program = "prog",
		.args = "FILE",
		.summary = "Does it.",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_min = 1,
		.args_max = 1,
	};
	static char copy[256];
	char *argv[ARGS_MAX + 1] = { NULL };
	char *at = NULL;
	int argc = 0;
	int result;

	/* Static: what was parsed points into it. */
	memset(copy, 0, sizeof(copy));
	memcpy(copy, line, strlen(line));
	for (char *word = strtok_r(copy, " ", &at);
	     word != NULL && argc < ARGS_MAX; word = strtok_r(NULL, " ", &at))
		argv[argc++] = word;
	result = opts_parse(&opts, argc, argv, &values->first, err);
	if (result == 0)
		values->positional = argv[values->first];
	return result;
}

static void
test_values_go_where_the_table_says(void **state)
{
	struct values v = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(parse("prog --flag --str x --list a file --list=b "
			       "--number 9 --ms 2s --bytes 4Ki",
			       &v, &err),
			 0);
	assert_true(v.flag);
	assert_string_equal(v.str, "x");
	assert_int_equal(v.list.count, 2);
	assert_string_equal(v.list.value[0], "a");
	assert_string_equal(v.list.value[1], "b");
	assert_int_equal(v.number, 9);
	assert_int_equal(v.ms, 2000);
	assert_int_equal(v.bytes, 4096);
	assert_string_equal(v.positional, "file");
}

static void
test_options_not_given_keep_their_defaults(void **state)
{
	struct values v = { .str = "kept", .number = 5, .ms = 7, .bytes = 8 };
	struct err err;

	(void)state;
	assert_int_equal(parse("prog file", &v, &err), 0);
	assert_false(v.flag);
	assert_string_equal(v.str, "kept");
	assert_int_equal(v.list.count, 0);
	assert_int_equal(v.number, 5);
	assert_int_equal(v.ms, 7);
	assert_int_equal(v.bytes, 8);
}

static void
test_each_mistake_is_told_in_one_line(void **state)
{
	static const struct {
		const char *line;
		const char *text;
	} cases[] = {
		{ "prog --nope file",
		  "unknown option '--nope'; see prog --help" },
		{ "prog file -x", "unknown option '-x'; see prog --help" },
		{ "prog file --str",
		  "option '--str' needs a value; see prog --help" },
		{ "prog --flag=1 file",
		  "--flag is '1': must be true or false" },
		{ "prog --help=1 file",
		  "option '--help=1' takes no value; see prog --help" },
		{ "prog file -n",
		  "option '-n' needs a value; see prog --help" },
		{ "prog", "FILE is missing; see prog --help" },
		{ "prog one two",
		  "unexpected argument 'two'; see prog --help" },
		{ "prog --number 10 file",
		  "--number '10' is not a number from 1 to 9" },
		{ "prog --ms 3s file", "--ms is '3s': must be 10 to 2000 ms" },
		{ "prog --bytes much file",
		  "--bytes 'much' is not a size such as 512Ki or 10G" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct values v = { 0 };
		struct err err = { 0 };

		assert_int_equal(parse(cases[i].line, &v, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_string_equal(err.text, cases[i].text);
	}
}

static void
test_what_follows_two_dashes_is_no_option(void **state)
{
	struct values v = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(parse("prog -- --flag", &v, &err), 0);
	assert_false(v.flag);
	assert_string_equal(v.positional, "--flag");
}

static void
test_a_flag_may_be_told_what_it_is(void **state)
{
	struct values v = { .all = true };
	struct err err;

	(void)state;
	assert_int_equal(
		parse("prog --flag=true --all-namespaces=false x", &v, &err),
		0);
	assert_true(v.flag);
	assert_false(v.all);
}

static void
test_letters_are_those_of_kubectl(void **state)
{
	static const char *const lines[] = {
		"prog -n ns1 file -A",
		"prog -A -nns1 file",
		"prog file -n=ns1 -A",
		"prog -An ns1 file",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct values v = { 0 };
		struct err err;

		assert_int_equal(parse(lines[i], &v, &err), 0);
		assert_string_equal(v.ns, "ns1");
		assert_true(v.all);
		assert_string_equal(v.positional, "file");
	}
}

static void
test_a_word_is_found_in_the_table(void **state)
{
	static const struct opt table[] = {
		{ "flag", NULL, "be so", OPT_FLAG, NULL, 0, 0 },
		{ "namespace", "NAME", "where", OPT_STR, NULL, 0, 0 },
	};
	static const struct {
		const char *word;
		int row; /* -1: none */
		const char *value;
	} cases[] = {
		{ "--flag", 0, NULL },       { "--namespace", 1, NULL },
		{ "--namespace=a", 1, "a" }, { "--namespace=", 1, "" },
		{ "-n", 1, NULL },           { "-na", 1, "a" },
		{ "-n=a", 1, "a" },          { "--name", -1, NULL },
		{ "-o", -1, NULL },          { "-", -1, NULL },
		{ "--", -1, NULL },          { "flag", -1, NULL },
	};
	const struct opt *row;
	const char *value;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		row = opts_find(table, ARRAY_LEN(table), cases[i].word, &value);
		assert_ptr_equal(
			row, cases[i].row == -1 ? NULL : &table[cases[i].row]);
		if (cases[i].value == NULL)
			assert_null(value);
		else
			assert_string_equal(value, cases[i].value);
	}
}

static void
test_help_is_asked_for_and_has_every_row(void **state)
{
	static const struct opt table[] = {
		{ "flag", NULL, "be so", OPT_FLAG, NULL, 0, 0 },
		{ "a-very-long-name-indeed", "TEXT", "say so", OPT_STR, NULL, 0,
		  0 },
		{ "output", "json", "in which form", OPT_STR, NULL, 0, 0 },
	};
	static const struct opts opts = {
		.program = "prog",
		.args = "FILE",
		.summary = "Does it.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	AUTO(free_ptr) char *text = NULL;
	struct values v = { 0 };
	struct err err;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(parse("prog --help", &v, &err), 1);
	assert_int_equal(parse("prog -h", &v, &err), 1);
	assert_non_null(to);
	opts_help(&opts, to);
	(void)fclose(to);
	assert_string_equal(
		text, "usage: prog [options] FILE\n\nDoes it.\n\noptions:\n"
		      "      --flag                      be so\n"
		      "      --a-very-long-name-indeed TEXT\n"
		      "                                  say so\n"
		      "  -o, --output json               in which form\n"
		      "  -h, --help                      show this text\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_go_where_the_table_says),
		cmocka_unit_test(test_options_not_given_keep_their_defaults),
		cmocka_unit_test(test_each_mistake_is_told_in_one_line),
		cmocka_unit_test(test_what_follows_two_dashes_is_no_option),
		cmocka_unit_test(test_a_flag_may_be_told_what_it_is),
		cmocka_unit_test(test_letters_are_those_of_kubectl),
		cmocka_unit_test(test_a_word_is_found_in_the_table),
		cmocka_unit_test(test_help_is_asked_for_and_has_every_row),
	};

	return cmocka_run_group_tests_name("opts", tests, NULL, NULL);
}
