/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/imagename.h"

#include <string.h>

#include "base/test.h"

static void
test_a_name_goes_there_and_back(void **state)
{
	static const char *const names[][2] = {
		{ "ferry/guest:demo", "ferry%2Fguest%3Ademo" },
		{ "a.b-c_D9", "a.b-c_D9" },
		{ "100%", "100%25" },
		{ "h.example:5000/x@sha256:ab",
		  "h.example%3A5000%2Fx%40sha256%3Aab" },
	};
	char escaped[IMAGENAME_ESCAPED_MAX], name[IMAGENAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(imagename_escape(names[i][0], escaped), 0);
		assert_string_equal(escaped, names[i][1]);
		imagename_unescape(escaped, name);
		assert_string_equal(name, names[i][0]);
	}
}

static void
test_what_leads_out_of_the_directory_is_no_name(void **state)
{
	static const char *const names[] = { "",    ".",   "..",      ".new-x",
					     "a b", "a\n", "\xc3\xa4" };
	char longer[IMAGENAME_MAX + 2], escaped[IMAGENAME_ESCAPED_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(imagename_escape(names[i], escaped), -1);
	memset(longer, '/', sizeof(longer));
	longer[IMAGENAME_MAX + 1] = '\0';
	assert_int_equal(imagename_escape(longer, escaped), -1);
	longer[IMAGENAME_MAX] = '\0';
	assert_int_equal(imagename_escape(longer, escaped), 0);
	assert_int_equal(strlen(escaped), 3 * IMAGENAME_MAX);
}

static void
test_a_directory_of_somebody_else_has_some_name(void **state)
{
	char name[IMAGENAME_MAX + 1], longer[2 * IMAGENAME_MAX];

	(void)state;
	imagename_unescape("a%", name);
	assert_string_equal(name, "a%");
	imagename_unescape("a%2", name);
	assert_string_equal(name, "a%2");
	imagename_unescape("a%zz", name);
	assert_string_equal(name, "a%zz");
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	imagename_unescape(longer, name);
	assert_int_equal(strlen(name), IMAGENAME_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_goes_there_and_back),
		cmocka_unit_test(
			test_what_leads_out_of_the_directory_is_no_name),
		cmocka_unit_test(
			test_a_directory_of_somebody_else_has_some_name),
	};

	return cmocka_run_group_tests_name("imagename", tests, NULL, NULL);
}
