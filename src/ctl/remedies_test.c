/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/remedies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/test.h"
#include "launchrpc/protocol.h"

#define TEXT_MAX (1024UL * 1024)

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
		cmocka_unit_test(test_every_remedy_has_an_entry_in_the_runbook),
		cmocka_unit_test(
			test_names_are_filled_in_and_unknown_ones_stay_visible),
		cmocka_unit_test(test_steps_are_listed_with_their_commands),
		cmocka_unit_test(test_an_unknown_code_is_no_remedy),
	};

	js_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
