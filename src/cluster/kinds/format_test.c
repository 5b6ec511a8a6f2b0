/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/format.h"

#include "base/array.h"
#include "base/js.h"
#include "base/test.h"

static const struct {
	const char *format, *text;
	bool matches;
} cases[] = {
	{ "byte", "aGVsbG8=", true },
	{ "byte", "", true },
	{ "byte", "a", false },
	{ "byte", "a===", false },
	{ "byte", "%GVs", false },
	{ "cidr", "10.0.0.0/8", true },
	{ "cidr", "fd00::/64", true },
	{ "cidr", "10.0.0.0", false },
	{ "cidr", "10.0.0.0/33", false },
	{ "date", "2026-11-16", true },
	{ "date", "2026-13-16", false },
	{ "date-time", "2026-11-16T03:48:24Z", true },
	{ "date-time", "2026-11-16T03:48:24.5+02:00", true },
	{ "date-time", "2026-11-16", false },
	{ "duration", "1h30m", true },
	{ "duration", "-1.5s", true },
	{ "duration", "0", true },
	{ "duration", "250ms", true },
	{ "duration", "5", false },
	{ "duration", "", false },
	{ "duration", "1x", false },
	{ "email", "a@example.com", true },
	{ "email", "example.com", false },
	{ "hostname", "example.com", true },
	{ "hostname", "-a", false },
	{ "ipv4", "10.0.0.1", true },
	{ "ipv4", "10.0.0.256", false },
	{ "ipv6", "fd00::1", true },
	{ "ipv6", "10.0.0.1", false },
	{ "mac", "02:00:00:00:00:0f", true },
	{ "mac", "02:00:00:00:00", false },
	{ "uri", "https://example.com/x", true },
	{ "uri", "not a uri", false },
	{ "uuid", "5d307ca9-b3ef-428c-8861-06e72d69f223", true },
	{ "uuid", "5d307ca9", false },
	{ "quantity", "1.5Gi", true },
	{ "quantity", "1.5X", false },
	{ "no-such-format", "anything", true },
};

static void
test_texts_are_checked_by_their_format(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *value = json_string(cases[i].text);
		enum format format = format_from_name(cases[i].format);

		if (format_matches(format, value) != cases[i].matches)
			fail_msg("%s: '%s'", cases[i].format, cases[i].text);
		json_decref(value);
	}
}

static void
test_numbers_are_checked_by_their_size(void **state)
{
	json_t *small = json_integer(2147483647);
	json_t *large = json_integer(2147483648);
	json_t *real = json_real(1e19);

	(void)state;
	assert_true(format_matches(FORMAT_INT32, small));
	assert_false(format_matches(FORMAT_INT32, large));
	assert_true(format_matches(FORMAT_INT64, large));
	assert_false(format_matches(FORMAT_INT64, real));
	json_decref(small);
	json_decref(large);
	json_decref(real);
}

static void
test_every_format_is_found_by_its_name(void **state)
{
	(void)state;
	for (int i = FORMAT_ANY; i < FORMAT_COUNT; i++)
		assert_int_equal(format_from_name(format_name(i)), i);
	assert_int_equal(format_from_name(NULL), FORMAT_ANY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_are_checked_by_their_format),
		cmocka_unit_test(test_numbers_are_checked_by_their_size),
		cmocka_unit_test(test_every_format_is_found_by_its_name),
	};

	js_init();
	return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
