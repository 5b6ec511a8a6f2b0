/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

static void
test_setting_an_error_returns_minus_one(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(err_set(&err, ERR_LIMIT, "%d of %s", 7, "x"), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_string_equal(err.text, "7 of x");
}

static void
test_errno_gives_the_description_and_the_kind(void **state)
{
	static const struct {
		int number;
		enum err_kind kind;
		const char *text;
	} cases[] = {
		{ ENOENT, ERR_NOT_FOUND, "x: No such file or directory" },
		{ EACCES, ERR_DENIED, "x: Permission denied" },
		{ ECONNREFUSED, ERR_REFUSED, "x: Connection refused" },
		{ ETIMEDOUT, ERR_TIMEOUT, "x: Connection timed out" },
		{ EADDRINUSE, ERR_EXISTS, "x: Address already in use" },
		{ EMFILE, ERR_LIMIT, "x: Too many open files" },
		{ EIO, ERR_INTERNAL, "x: Input/output error" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err;

		errno = cases[i].number;
		assert_int_equal(err_errno(&err, "x"), -1);
		assert_int_equal(err.kind, cases[i].kind);
		assert_string_equal(err.text, cases[i].text);
	}
}

static void
test_a_prefix_goes_before_the_text_and_keeps_the_kind(void **state)
{
	struct err err;

	(void)state;
	(void)err_set(&err, ERR_TIMEOUT, "no answer");
	assert_int_equal(err_prefix(&err, "peer '%s'", "node2"), -1);
	assert_int_equal(err.kind, ERR_TIMEOUT);
	assert_string_equal(err.text, "peer 'node2': no answer");
}

static void
test_long_texts_are_cut_and_terminated(void **state)
{
	struct err err;
	char text[2 * sizeof(err.text)];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';

	(void)err_set(&err, ERR_INVALID, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	errno = EIO;
	(void)err_errno(&err, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	(void)err_prefix(&err, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	(void)err_prefix(&err, "b");
	assert_memory_equal(err.text, "b: aaa", 6);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void
test_each_kind_has_its_own_name(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ERR_KIND_COUNT; i++) {
		const char *name = err_kind_name((enum err_kind)i);

		assert_non_null(name);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(
				name, err_kind_name((enum err_kind)j));
	}
	assert_string_equal(err_kind_name(ERR_KIND_COUNT), "Unknown");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setting_an_error_returns_minus_one),
		cmocka_unit_test(test_errno_gives_the_description_and_the_kind),
		cmocka_unit_test(
			test_a_prefix_goes_before_the_text_and_keeps_the_kind),
		cmocka_unit_test(test_long_texts_are_cut_and_terminated),
		cmocka_unit_test(test_each_kind_has_its_own_name),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
