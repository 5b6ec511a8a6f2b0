/* SPDX-License-Identifier: Apache-2.0 */
#include "api/release.h"

#include "base/array.h"
#include "base/test.h"

static void
test_the_first_two_numbers_decide(void **state)
{
	static const struct {
		const char *target, *source;
		bool older;
	} cases[] = {
		{ "7.1.9", "7.2.0", true },   { "7.2.0", "7.2.22", false },
		{ "7.10.0", "7.9.0", false }, { "6.2", "7.0", true },
		{ "8.0.0", "7.2.0", false },  { "", "7.2.0", false },
		{ "7.2.0", "", false },       { "x.y", "7.2.0", false },
		{ "7", "7.2.0", false },      { "70000.1", "70000.2", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(
			release_is_older(cases[i].target, cases[i].source),
			cases[i].older);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_two_numbers_decide),
	};

	return cmocka_run_group_tests_name("release", tests, NULL, NULL);
}
