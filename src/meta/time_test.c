/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/time.h"

#include "base/array.h"
#include "base/err.h"
#include "base/test.h"

static void
test_times_are_written_and_read(void **state)
{
	static const struct {
		int64_t us;
		const char *text;
		const char *micro;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z" },
		{ 1763264904123456, "2025-11-16T03:48:24Z",
		  "2025-11-16T03:48:24.123456Z" },
		{ 951782400000000, "2000-02-29T00:00:00Z",
		  "2000-02-29T00:00:00.000000Z" },
		{ -1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z" },
		{ -62135596800000000, "0001-01-01T00:00:00Z",
		  "0001-01-01T00:00:00.000000Z" },
	};
	char buf[TIME_TEXT_SIZE];
	struct err err;
	int64_t us;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_string_equal(time_text(cases[i].us, buf), cases[i].text);
		assert_string_equal(time_text_micro(cases[i].us, buf),
				    cases[i].micro);
		assert_int_equal(time_parse(buf, &us, &err), 0);
		assert_true(us == cases[i].us);
	}
}

static void
test_every_form_of_rfc_3339_is_read(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} cases[] = {
		{ "2025-11-16T03:48:24Z", 1763264904000000 },
		{ "2025-11-16T04:48:24+01:00", 1763264904000000 },
		{ "2025-11-15T22:18:24-05:30", 1763264904000000 },
		{ "2025-11-16T03:48:24.5Z", 1763264904500000 },
		{ "2025-11-16T03:48:24.123456789Z", 1763264904123456 },
	};
	static const char *const bad[] = {
		"",
		"2025-11-16",
		"2025-11-16 03:48:24Z",
		"2025-11-16T03:48:24",
		"2025-11-16T03:48Z",
		"2025-11-16T03:48:24.Z",
		"2025-11-16T03:48:24z",
		"2025-11-16T03:48:24Zx",
		"2025-13-16T03:48:24Z",
		"2025-02-29T03:48:24Z",
		"2025-11-00T03:48:24Z",
		"2025-11-16T24:00:00Z",
		"2025-11-16T03:60:24Z",
		"2025-11-16T03:48:60Z",
		"2025-11-16T03:48:24+1:00",
		"25-11-16T03:48:24Z",
	};
	struct err err;
	int64_t us;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(time_parse(cases[i].text, &us, &err), 0);
		assert_true(us == cases[i].us);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (time_parse(bad[i], &us, &err) == 0)
			fail_msg("'%s' should not be a time", bad[i]);
	}
}

#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (INT64_C(24) * HOUR)

static void
test_ages_are_those_of_kubectl(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = {
		{ -2, "<invalid>" },
		{ -1, "0s" },
		{ 0, "0s" },
		{ 45, "45s" },
		{ 119, "119s" },
		{ 120, "2m" },
		{ 126, "2m6s" },
		{ 10 * MINUTE - 1, "9m59s" },
		{ 10 * MINUTE + 5, "10m" },
		{ 3 * HOUR - 1, "179m" },
		{ 3 * HOUR, "3h" },
		{ 3 * HOUR + 10 * MINUTE, "3h10m" },
		{ 8 * HOUR - 1, "7h59m" },
		{ 8 * HOUR + 30 * MINUTE, "8h" },
		{ 2 * DAY - 1, "47h" },
		{ 2 * DAY, "2d" },
		{ 3 * DAY + 4 * HOUR, "3d4h" },
		{ 8 * DAY - 1, "7d23h" },
		{ 8 * DAY + HOUR, "8d" },
		{ 2 * 365 * DAY - 1, "729d" },
		{ 2 * 365 * DAY, "2y" },
		{ 2 * 365 * DAY + DAY, "2y1d" },
		{ 8 * 365 * DAY - 1, "7y364d" },
		{ 8 * 365 * DAY, "8y" },
		{ 20 * 365 * DAY + 9 * DAY, "20y" },
	};
	char buf[TIME_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(
			time_human(cases[i].seconds * TIME_US_PER_SECOND, buf),
			cases[i].text);
	assert_string_equal(time_human(-1999999, buf), "0s");
}

static void
test_the_age_of_a_time_is_counted_from_now(void **state)
{
	char buf[TIME_TEXT_SIZE];
	char now[TIME_TEXT_SIZE];

	(void)state;
	assert_string_equal(
		time_age("1970-01-01T00:00:00Z", 126 * TIME_US_PER_SECOND, buf),
		"2m6s");
	assert_string_equal(time_age(NULL, 0, buf), "<unknown>");
	assert_string_equal(time_age("", 0, buf), "<unknown>");
	assert_string_equal(time_age("yesterday", 0, buf), "<invalid>");
	/* The text is cut to the second. */
	assert_string_equal(
		time_age(time_now_text(now), time_now_us() - 1000000, buf),
		"0s");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_are_written_and_read),
		cmocka_unit_test(test_every_form_of_rfc_3339_is_read),
		cmocka_unit_test(test_ages_are_those_of_kubectl),
		cmocka_unit_test(test_the_age_of_a_time_is_counted_from_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
