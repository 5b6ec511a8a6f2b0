/* SPDX-License-Identifier: Apache-2.0 */
#include "base/command.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/opts.h"
#include "base/str.h"
#include "base/test.h"

#define ARGS_MAX 16
#define TEXT_SIZE 256

/* What the last command was run with, words apart by one blank. */
static char ran[TEXT_SIZE];

static int
run_it(int argc, char **argv)
{
	static const char *name;
	static const struct opt table[] = {
		{ "namespace", "NAME", "where", OPT_STR, &name, 0, 0 },
	};
	static const struct opts opts = {
		.program = "prog it",
		.summary = "Does it.",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_max = ARGS_MAX,
	};
	int first, status;
	size_t len;

	len = 0;
	for (int i = 0; i < argc; i++)
		len += (size_t)snprintf(ran + len, sizeof(ran) - len, "%s%s",
					i > 0 ? " " : "", argv[i]);
	return command_parse(&opts, argc, argv, &first, &status) ? 0 : status;
}

static int run_inner(int argc, char **argv);

static const struct opt leading[] = {
	{ "namespace", "NAME", "where", OPT_STR, NULL, 0, 0 },
	{ "all-namespaces", NULL, "everywhere", OPT_FLAG, NULL, 0, 0 },
};

static const struct command commands[] = {
	{ "it", run_it, "does it" },
	{ "inner", run_inner, "has commands of its own" },
	{ "secret", run_it, NULL },
};

static const struct program program = {
	.name = "prog",
	.summary = "For tests.",
	.manual = "prog(1)",
	.version = "1",
	.commands = commands,
	.count = ARRAY_LEN(commands),
	.leading = leading,
	.leading_count = ARRAY_LEN(leading),
};

static const struct command inner_commands[] = { { "it", run_it, "it" } };

static const struct program inner_program = {
	.name = "prog inner",
	.summary = "Within.",
	.manual = "prog(1)",
	.version = "1",
	.commands = inner_commands,
	.count = ARRAY_LEN(inner_commands),
};

static int
run_inner(int argc, char **argv)
{
	return command_main(&inner_program, argc, argv);
}

struct words {
	char copy[TEXT_SIZE];
	char *argv[ARGS_MAX + 1];
	int argc;
};

static void
split(struct words *words, const char *line)
{
	char *at = NULL;

	*words = (struct words){ 0 };
	(void)snprintf(words->copy, sizeof(words->copy), "%s", line);
	for (char *word = strtok_r(words->copy, " ", &at);
	     word != NULL && words->argc < ARGS_MAX;
	     word = strtok_r(NULL, " ", &at))
		words->argv[words->argc++] = word;
}

static int
run(const char *line)
{
	struct words words;

	split(&words, line);
	ran[0] = '\0';
	return command_main(&program, words.argc, words.argv);
}

static void
test_options_may_stand_before_the_command(void **state)
{
	(void)state;
	assert_int_equal(run("prog -n a it x"), 0);
	assert_string_equal(ran, "it -n a x");
	assert_int_equal(run("prog --namespace=a it x"), 0);
	assert_string_equal(ran, "it --namespace=a x");
	assert_int_equal(run("prog -n a inner it x"), COMMAND_USAGE);
	assert_int_equal(run("prog inner it -n a x"), 0);
	assert_string_equal(ran, "it -n a x");
}

static void
test_what_is_no_command_is_a_wrong_usage(void **state)
{
	static const char *const lines[] = { "prog",           "prog nope",
					     "prog --nope it", "prog -n",
					     "prog -n a",      "prog inner" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		assert_int_equal(run(lines[i]), COMMAND_USAGE);
		assert_string_equal(ran, "");
	}
}

struct seen {
	char program[TEXT_SIZE];
	char options[TEXT_SIZE];
	int argc;
};

static void
see_program(const struct program *p, int argc, char **argv, void *arg)
{
	struct seen *seen = arg;

	(void)argv;
	(void)snprintf(seen->program, TEXT_SIZE, "%s", p->name);
	seen->argc = argc;
}

static void
see_options(const struct opts *opts, int argc, char **argv, void *arg)
{
	struct seen *seen = arg;

	(void)argv;
	(void)snprintf(seen->options, TEXT_SIZE, "%s", opts->program);
	seen->argc = argc;
}

static void
test_a_line_is_described_without_running_it(void **state)
{
	static const struct {
		const char *line;
		const char *program;
		const char *options;
		int argc;
	} cases[] = {
		{ "prog", "prog", "", 1 },
		{ "prog -n", "prog", "", 2 },
		{ "prog it", "", "prog it", 1 },
		{ "prog -n a it", "", "prog it", 3 },
		{ "prog it --namespace", "", "prog it", 2 },
		{ "prog inner", "prog inner", "", 1 },
		{ "prog inner it x y", "", "prog it", 3 },
		{ "prog nope", "", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct seen seen = { .argc = 0 };
		const struct command_visitor visitor = { see_program,
							 see_options, &seen };
		struct words words;

		split(&words, cases[i].line);
		command_describe(&program, words.argc, words.argv, &visitor);
		assert_string_equal(seen.program, cases[i].program);
		assert_string_equal(seen.options, cases[i].options);
		assert_int_equal(seen.argc, cases[i].argc);
	}
}

static void
test_another_name_is_in_what_is_said(void **state)
{
	struct seen seen = { .argc = 0 };
	const struct command_visitor visitor = { see_program, see_options,
						 &seen };
	struct words words;

	(void)state;
	command_rename(&program, "other prog");
	split(&words, "prog it");
	command_describe(&program, words.argc, words.argv, &visitor);
	command_rename(NULL, NULL);
	assert_string_equal(seen.options, "other prog it");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_may_stand_before_the_command),
		cmocka_unit_test(test_what_is_no_command_is_a_wrong_usage),
		cmocka_unit_test(test_a_line_is_described_without_running_it),
		cmocka_unit_test(test_another_name_is_in_what_is_said),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
