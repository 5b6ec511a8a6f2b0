/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"

static bool
matches(const char *pattern, const char *text)
{
	struct err err;
	struct pattern *compiled = pattern_compile(pattern, &err);
	bool found;

	if (compiled == NULL)
		fail_msg("%s: %s", pattern, err.text);
	found = pattern_matches(compiled, text, strlen(text));
	pattern_free(compiled);
	return found;
}

static void
test_patterns_of_definitions_mean_what_they_mean_to_go(void **state)
{
	(void)state;
	assert_true(matches("b", "abc"));
	assert_false(matches("^b$", "abc"));
	assert_true(matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-b"));
	assert_true(matches("^(?P<year>\\d{4})-(?:0[1-9]|1[0-2])$", "2026-11"));
	assert_true(matches("^\\p{Lu}", "Ä"));
	assert_true(matches("(?i)^abc$", "ABC"));
	/* The end is the end, not before a last newline. */
	assert_false(matches("^a$", "a\n"));
	assert_true(matches("^[[:alpha:]]+$", "abc"));
	assert_true(matches("^[\\]a(?=]+$", "](?=a"));
}

static void
test_what_go_does_not_know_is_refused(void **state)
{
	static const char *const foreign[] = {
		"a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(a)\\1", "(?>a)",
		"a(",     "[a",     "a**",     "(?P=x)",  "(*UTF)", "(?R)",
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		struct pattern *pattern = pattern_compile(foreign[i], &err);

		if (pattern != NULL)
			fail_msg("%s", foreign[i]);
	}
}

static void
test_a_pattern_that_would_take_for_ever_gives_up(void **state)
{
	char text[64];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[sizeof(text) - 2] = 'b';
	assert_false(matches("^(a+)+$", text));
	assert_false(matches("^(a|aa)+$", text));
}

static void
test_a_very_long_pattern_is_refused(void **state)
{
	char *text = xmalloc0(PATTERN_MAX_BYTES + 2);
	struct err err;

	(void)state;
	memset(text, 'a', PATTERN_MAX_BYTES + 1);
	assert_null(pattern_compile(text, &err));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_patterns_of_definitions_mean_what_they_mean_to_go),
		cmocka_unit_test(test_what_go_does_not_know_is_refused),
		cmocka_unit_test(
			test_a_pattern_that_would_take_for_ever_gives_up),
		cmocka_unit_test(test_a_very_long_pattern_is_refused),
	};

	return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
