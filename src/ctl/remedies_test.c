/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/remedies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/path.h"
#include "base/str.h"
#include "base/test.h"
#include "ctl/command.h"
#include "launchrpc/protocol.h"

#define TEXT_MAX (1024UL * 1024)
#define WORDS_MAX 32
#define OWN "ferryctl "

/* A file of the sources; to be freed. */
static char *
read_source(const char *name)
{
	AUTO(free_ptr) char *path = xasprintf(CTL_SOURCES "/%s", name);
	char *text;
	size_t len;
	struct err err;

	if (path_read_file(path, TEXT_MAX, &text, &len, &err) == -1)
		fail_msg("%s", err.text);
	return text;
}

/* Each code that stands in quotes behind begin in a file has a remedy, but for
 * the one that says that there is nothing; returns how many there are. */
static size_t
check_codes(const char *file, const char *begin, enum remedy_of of)
{
	AUTO(free_ptr) char *text = read_source(file);
	const char *at = text;
	size_t count = 0;

	while ((at = strstr(at, begin)) != NULL) {
		const char *open = strchr(at, '"'), *line = strchr(at, '\n');
		AUTO(free_ptr) char *code = NULL;

		at += strlen(begin);
		if (open == NULL || line == NULL || open > line)
			continue;
		code = xstrndup(open + 1, strcspn(open + 1, "\""));
		if (str_equal(code, "None"))
			continue;
		count++;
		if (remedy_find(of, code) == NULL)
			fail_msg("no remedy for %s of %s", code, file);
	}
	return count;
}

static void
test_every_reason_to_wait_has_a_remedy(void **state)
{
	(void)state;
	assert_true(check_codes("src/api/names.h", "#define WAITING_",
				REMEDY_WAITING) >= 17);
}

static void
test_every_rung_of_the_ladder_has_a_remedy(void **state)
{
	(void)state;
	assert_true(check_codes("src/controller/migration/ladder.h",
				"#define FAILURE_", REMEDY_FAILURE) >= 19);
}

static void
test_every_reason_of_a_launcher_has_a_remedy(void **state)
{
	(void)state;
	for (int i = 0; i < LAUNCH_REASON_COUNT; i++) {
		const char *code = launch_reason_name((enum launch_reason)i);

		if (code[0] != '\0' && remedy_find(REMEDY_NODE, code) == NULL)
			fail_msg("no remedy for %s", code);
	}
}

static void
test_every_code_of_a_handler_has_a_remedy(void **state)
{
	(void)state;
	assert_true(check_codes("src/handler/source.c", "decide_failure(f, d, ",
				REMEDY_NODE) >= 3);
	assert_true(check_codes("src/handler/target.c", "decide_failure(f, d, ",
				REMEDY_NODE) >= 2);
}

static void
test_every_reason_not_to_be_migratable_has_a_remedy(void **state)
{
	(void)state;
	assert_true(check_codes("src/api/names.h", "_NOT_MIGRATABLE",
				REMEDY_MACHINE) >= 2);
	assert_true(check_codes("src/handler/migratable.c", "devices_hinder, ",
				REMEDY_MACHINE) == 1);
	assert_true(check_codes("src/handler/migratable.c", "cpu_hinders, ",
				REMEDY_MACHINE) == 1);
}

static void
test_every_trouble_of_a_machine_has_a_remedy(void **state)
{
	(void)state;
	assert_int_equal(check_codes("src/controller/instance/decide.h",
				     "#define REASON_PVC_", REMEDY_MACHINE),
			 1);
	assert_int_equal(check_codes("src/controller/instance/decide.h",
				     "#define REASON_ERR_IMAGE",
				     REMEDY_MACHINE),
			 1);
	assert_int_equal(check_codes("src/controller/instance/decide.h",
				     "#define REASON_IMAGE_", REMEDY_MACHINE),
			 1);
	assert_int_equal(check_codes("src/api/names.h",
				     "#define EVENT_FAILED_CREATE",
				     REMEDY_MACHINE),
			 1);
	assert_int_equal(
		check_codes("src/handler/owner.c", "\"Paused", REMEDY_MACHINE),
		3);
	assert_int_equal(check_codes("src/handler/source.c", "#define PAUSED_",
				     REMEDY_MACHINE),
			 1);
}

static void
test_every_event_to_know_of_has_a_remedy(void **state)
{
	(void)state;
	assert_int_equal(check_codes("src/handler/network/network.h",
				     "#define NETWORK_EVENT_", REMEDY_EVENT),
			 1);
}

static void
test_every_reason_of_a_proxy_has_a_remedy(void **state)
{
	(void)state;
	assert_true(check_codes("src/tls/reason.c", "\t[TLS_REASON_",
				REMEDY_PROXY) >= 18);
	assert_true(check_codes("src/proxy/reason.c", "\t[REASON_",
				REMEDY_PROXY) >= 17);
}

static void
test_every_remedy_says_what_to_check_and_to_do(void **state)
{
	const struct remedy *remedy;

	(void)state;
	for (size_t i = 0; (remedy = remedy_at(i)) != NULL; i++) {
		assert_non_null(remedy->meaning);
		assert_non_null(remedy->check[0].what);
		assert_non_null(remedy->fix[0].what);
		assert_ptr_equal(remedy_find(remedy->of, remedy->code), remedy);
	}
}

/* A command that is to be typed. */
struct typed {
	const char *line;
	bool understood;
};

static void
lacks_a_command(const struct program *program, int argc, char **argv, void *arg)
{
	const struct typed *typed = arg;

	(void)argc;
	(void)argv;
	fail_msg("%s: no command of %s is named", typed->line, program->name);
}

/* Whether a word is one of "vm|vmi|vmim NAME"; what has no choice of words
 * takes any. */
static bool
is_offered(const char *choice, const char *word)
{
	size_t len = strcspn(choice, " ");
	AUTO(free_ptr) char *words = xstrndup(choice, len);
	char *rest = words, *each;

	if (memchr(choice, '|', len) == NULL)
		return true;
	while ((each = strsep(&rest, "|[]")) != NULL) {
		if (each[0] != '\0' && str_equal(each, word))
			return true;
	}
	return false;
}

/* As the command itself would read them. */
static void
reads(const struct opts *opts, int argc, char **argv, void *arg)
{
	struct typed *typed = arg;
	struct err err;
	int first;

	if (opts_parse(opts, argc, argv, &first, &err) != 0)
		fail_msg("%s: %s", typed->line, err.text);
	/* One word alone is the name, where the choice may be left out. */
	if (opts->args != NULL && first < argc &&
	    !(opts->args[0] == '[' && argc - first == 1) &&
	    !is_offered(opts->args, argv[first]))
		fail_msg("%s: '%s' is none of %s", typed->line, argv[first],
			 opts->args);
	typed->understood = true;
}

/* Returns whether it is one of ferryctl's. */
static bool
check_typed(const char *command)
{
	static const struct remedy_names names = { "ns",     "vm",     "vmim",
						   "source", "target", "pod" };
	AUTO(free_ptr) char *line = remedy_fill(command, &names);
	AUTO(free_ptr) char *copy = xstrdup(line);
	struct typed typed = { .line = line };
	const struct command_visitor visitor = { lacks_a_command, reads,
						 &typed };
	char *words[WORDS_MAX + 1] = { NULL };
	char *rest = copy;
	int count = 0;

	if (!str_has_prefix(line, OWN))
		return false;
	/* What a shell would do with these is nothing. */
	assert_null(strpbrk(line, "'\"\\$*|;&<>"));
	while (rest != NULL && count < WORDS_MAX)
		words[count++] = strsep(&rest, " ");
	assert_null(rest);
	command_describe(&ctl_program, count, words, &visitor);
	if (!typed.understood)
		fail_msg("%s: there is no such command", line);
	return true;
}

static size_t
check_steps(const struct remedy_step steps[REMEDY_STEPS])
{
	size_t count = 0;

	for (size_t i = 0; i < REMEDY_STEPS && steps[i].what != NULL; i++) {
		if (steps[i].command != NULL && check_typed(steps[i].command))
			count++;
	}
	return count;
}

static void
test_every_command_to_type_is_understood(void **state)
{
	const struct remedy *remedy;
	size_t count = 0;

	(void)state;
	for (size_t i = 0; (remedy = remedy_at(i)) != NULL; i++)
		count += check_steps(remedy->check) + check_steps(remedy->fix);
	assert_true(count >= 100);
}

/* With the migration goes its target pod: it cannot be asked any more. */
static void
test_after_a_failure_nobody_is_sent_to_the_target_pod(void **state)
{
	const struct remedy *remedy;

	(void)state;
	for (size_t i = 0; (remedy = remedy_at(i)) != NULL; i++) {
		if (remedy->of != REMEDY_FAILURE && remedy->of != REMEDY_NODE)
			continue;
		for (size_t k = 0; k < REMEDY_STEPS; k++) {
			const char *command = remedy->check[k].command;

			if (command != NULL && strstr(command, "{pod}") != NULL)
				fail_msg("%s: %s", remedy->code, command);
		}
	}
}

static void
test_every_remedy_has_an_entry_in_the_runbook(void **state)
{
	AUTO(free_ptr) char *runbook = read_source("docs/operations.md");
	const struct remedy *remedy;

	(void)state;
	for (size_t i = 0; (remedy = remedy_at(i)) != NULL; i++) {
		AUTO(free_ptr)
		char *anchor = xasprintf("<a id=\"%s\"></a>", remedy->entry);

		if (strstr(runbook, anchor) == NULL)
			fail_msg("no entry %s", remedy->entry);
	}
}

static void
test_names_are_filled_in_and_unknown_ones_stay_visible(void **state)
{
	struct remedy_names names = { .ns = "prod", .vm = "db", .pod = "" };
	AUTO(free_ptr)
	char *text = remedy_fill("x -n {ns} {vm} {pod} '{.items[*]}' {target}",
				 &names);

	(void)state;
	assert_string_equal(text, "x -n prod db TARGET_POD '{.items[*]}' "
				  "TARGET_NODE");
}

static void
test_steps_are_listed_with_their_commands(void **state)
{
	const struct remedy *remedy =
		remedy_find(REMEDY_WAITING, "ResourceQuota");
	struct remedy_names names = { .ns = "prod" };
	AUTO(js_unref)
	json_t *steps = remedy_steps_json(remedy->check, &names);

	(void)state;
	assert_int_equal(json_array_size(steps), 1);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(steps, 0), "command")),
			    "kubectl describe resourcequota -n prod");
}

static void
test_an_unknown_code_is_no_remedy(void **state)
{
	(void)state;
	assert_null(remedy_find(REMEDY_WAITING, "MachineGone"));
	assert_null(remedy_find(REMEDY_FAILURE, ""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_reason_to_wait_has_a_remedy),
		cmocka_unit_test(test_every_rung_of_the_ladder_has_a_remedy),
		cmocka_unit_test(test_every_reason_of_a_launcher_has_a_remedy),
		cmocka_unit_test(test_every_code_of_a_handler_has_a_remedy),
		cmocka_unit_test(
			test_every_reason_not_to_be_migratable_has_a_remedy),
		cmocka_unit_test(test_every_trouble_of_a_machine_has_a_remedy),
		cmocka_unit_test(test_every_event_to_know_of_has_a_remedy),
		cmocka_unit_test(test_every_reason_of_a_proxy_has_a_remedy),
		cmocka_unit_test(
			test_every_remedy_says_what_to_check_and_to_do),
		cmocka_unit_test(test_every_command_to_type_is_understood),
		cmocka_unit_test(
			test_after_a_failure_nobody_is_sent_to_the_target_pod),
		cmocka_unit_test(test_every_remedy_has_an_entry_in_the_runbook),
		cmocka_unit_test(
			test_names_are_filled_in_and_unknown_ones_stay_visible),
		cmocka_unit_test(test_steps_are_listed_with_their_commands),
		cmocka_unit_test(test_an_unknown_code_is_no_remedy),
	};

	js_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
