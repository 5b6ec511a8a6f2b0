/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/test.h"

static void
test_null_equals_null_only(void **state)
{
	(void)state;
	assert_true(str_equal(NULL, NULL));
	assert_false(str_equal(NULL, ""));
	assert_false(str_equal("", NULL));
	assert_true(str_equal("a", "a"));
	assert_false(str_equal("a", "ab"));
}

static void
test_prefixes_and_suffixes(void **state)
{
	(void)state;
	assert_true(str_has_prefix("ferry-proxy", "ferry"));
	assert_true(str_has_prefix("ferry", ""));
	assert_false(str_has_prefix("fer", "ferry"));
	assert_true(str_has_suffix("a.sock", ".sock"));
	assert_true(str_has_suffix("a", ""));
	assert_false(str_has_suffix("sock", ".sock"));
}

static void
test_numbers_are_taken_whole_or_not_at_all(void **state)
{
	static const char *const bad[] = {
		"",    " 1",  "1 ", "+1",
		"-1",  "0x1", "1a", "18446744073709551616",
		"1e3", "1.0",
	};
	struct err err;
	uint64_t value = 42;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(
			str_to_u64(bad[i], "--n", 0, UINT64_MAX, &value, &err),
			-1);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.text, "--n"));
		assert_int_equal(value, 42);
	}
	assert_int_equal(str_to_u64("18446744073709551615", "n", 0, UINT64_MAX,
				    &value, &err),
			 0);
	assert_true(value == UINT64_MAX);
	assert_int_equal(str_to_u64("007", "n", 0, 10, &value, &err), 0);
	assert_int_equal(value, 7);
}

static void
test_numbers_stay_within_their_range(void **state)
{
	struct err err;
	uint64_t value = 0;

	(void)state;
	assert_int_equal(str_to_u64("1", "n", 1, 65535, &value, &err), 0);
	assert_int_equal(str_to_u64("65535", "n", 1, 65535, &value, &err), 0);
	assert_int_equal(str_to_u64("0", "n", 1, 65535, &value, &err), -1);
	assert_int_equal(str_to_u64("65536", "n", 1, 65535, &value, &err), -1);
	assert_string_equal(err.text,
			    "n '65536' is not a number from 1 to 65535");
}

static void
test_sizes_have_decimal_and_binary_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "17", 17 },
		{ "3K", 3000 },
		{ "3Ki", 3072 },
		{ "2M", 2000000 },
		{ "2Mi", 2097152 },
		{ "1G", 1000000000 },
		{ "1Gi", 1073741824 },
		{ "1T", UINT64_C(1000000000000) },
		{ "16777215Ti", UINT64_C(18446742974197923840) },
	};
	static const char *const bad[] = {
		"", "K", "1k", "1KB", "1 K", "-1", "1.5G", "16777216Ti", "1Kii",
	};
	struct err err;
	uint64_t bytes = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(
			str_to_bytes(good[i].text, "size", &bytes, &err), 0);
		assert_true(bytes == good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(str_to_bytes(bad[i], "size", &bytes, &err),
				 -1);
}

static void
test_times_are_seconds_without_a_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} good[] = {
		{ "10", 10000 },  { "10s", 10000 },  { "250ms", 250 },
		{ "2m", 120000 }, { "1h", 3600000 }, { "0", 0 },
	};
	static const char *const bad[] = {
		"", "s", "1d", "10 s", "-1s", "18446744073709551615s",
	};
	struct err err;
	uint64_t ms = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(str_to_ms(good[i].text, "time", &ms, &err), 0);
		assert_true(ms == good[i].ms);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(str_to_ms(bad[i], "time", &ms, &err), -1);
}

static void
test_a_name_can_be_part_of_a_file_name(void **state)
{
	(void)state;
	assert_true(str_is_name("vm1-a.B_9", 9));
	assert_false(str_is_name("vm1-a.B_9", 8));
	assert_false(str_is_name("", 8));
	assert_false(str_is_name(".", 8));
	assert_false(str_is_name("..", 8));
	assert_false(str_is_name(".x", 8));
	assert_false(str_is_name("-x", 8));
	assert_false(str_is_name("a/b", 8));
	assert_false(str_is_name("a b", 8));
	assert_false(str_is_name("a\n", 8));
	assert_false(str_is_name("\xc3\xa9", 8));
}

static void
test_sizes_are_written_for_people(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 12, "12 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 1536, "1.5 KiB" },
		{ 17 * 1024 + 100, "17 KiB" },
		{ 1048575, "1 MiB" },
		{ UINT64_C(1610612736), "1.5 GiB" },
		{ UINT64_C(1023) << 30, "1023 GiB" },
		{ UINT64_MAX, "16 EiB" },
	};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(
			str_from_bytes(cases[i].bytes, buf, sizeof(buf)),
			cases[i].text);
}

static void
test_hex_digits_have_values_and_nothing_else_has(void **state)
{
	(void)state;
	assert_int_equal(str_hex_digit('0'), 0);
	assert_int_equal(str_hex_digit('9'), 9);
	assert_int_equal(str_hex_digit('a'), 10);
	assert_int_equal(str_hex_digit('F'), 15);
	assert_int_equal(str_hex_digit('g'), -1);
	assert_int_equal(str_hex_digit('\0'), -1);
	assert_int_equal(str_hex_digit((char)0xff), -1);
}

static void
test_what_is_no_utf8_is_replaced(void **state)
{
	static const struct {
		const char *text;
		const char *copy;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\xa2",
		  "\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\xa2" },
		{ "a\xffz", "a\xef\xbf\xbdz" },
		{ "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *copy = str_to_utf8(cases[i].text);

		assert_string_equal(copy, cases[i].copy);
		free(copy);
	}
	assert_int_equal(str_utf8_len("\xf4\x90\x80\x80"), 0);
	assert_int_equal(str_utf8_len("\xf4\x8f\xbf\xbf"), 4);
}

static void
test_lower_case_is_ascii_only(void **state)
{
	char *copy = str_lower("VirtualMachine-\xc3\x84Z@[`{09");

	(void)state;
	assert_string_equal(copy, "virtualmachine-\xc3\x84z@[`{09");
	free(copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lower_case_is_ascii_only),
		cmocka_unit_test(test_null_equals_null_only),
		cmocka_unit_test(test_prefixes_and_suffixes),
		cmocka_unit_test(test_numbers_are_taken_whole_or_not_at_all),
		cmocka_unit_test(test_numbers_stay_within_their_range),
		cmocka_unit_test(test_sizes_have_decimal_and_binary_units),
		cmocka_unit_test(test_times_are_seconds_without_a_unit),
		cmocka_unit_test(test_a_name_can_be_part_of_a_file_name),
		cmocka_unit_test(test_sizes_are_written_for_people),
		cmocka_unit_test(
			test_hex_digits_have_values_and_nothing_else_has),
		cmocka_unit_test(test_what_is_no_utf8_is_replaced),
	};

	return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
