/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/quantity.h"

#include "base/array.h"
#include "base/err.h"
#include "base/test.h"

static struct quantity
parse(const char *text)
{
	struct quantity q;
	struct err err;

	if (quantity_parse(text, &q, &err) == -1)
		fail_msg("'%s': %s", text, err.text);
	return q;
}

static void
check_text(const char *text, const char *canonical)
{
	struct quantity q = parse(text);
	char buf[QUANTITY_TEXT_SIZE];

	assert_string_equal(quantity_text(&q, buf, sizeof(buf)), canonical);
}

static void
test_every_form_has_its_canonical_text(void **state)
{
	static const char *const cases[][2] = {
		{ "0", "0" },
		{ "0n", "0" },
		{ "0Gi", "0" },
		{ "-0", "0" },
		{ "1", "1" },
		{ "+1", "1" },
		{ "007", "7" },
		{ "1000", "1k" },
		{ "1.5", "1500m" },
		{ "0.5", "500m" },
		{ ".001", "1m" },
		{ "1.", "1" },
		{ "1.G", "1G" },
		{ "100m", "100m" },
		{ "1000m", "1" },
		{ "1500u", "1500u" },
		{ "0.0005k", "500m" },
		{ "100.035k", "100035" },
		{ "7.123456M", "7123456" },
		{ "10.035M", "10035k" },
		{ "1E", "1E" },
		{ "12E", "12E" },
		{ "1000E", "1e21" },
		{ "1Ki", "1Ki" },
		{ "1024Ki", "1Mi" },
		{ "1.5Gi", "1536Mi" },
		{ "0.5Mi", "512Ki" },
		{ "1000Mi", "1000Mi" },
		{ "100.035Ki", "102435840m" },
		{ "0.05Gi", "53687091200m" },
		{ "0.5Ki", "512" },
		{ "1e3", "1e3" },
		{ "1E6", "1e6" },
		{ "12e6", "12e6" },
		{ "1e4", "10e3" },
		{ "1.2e3", "1200" },
		{ "1E-3", "1e-3" },
		{ "1e0", "1" },
		{ "-1.5Gi", "-1536Mi" },
		{ "-100m", "-100m" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "18446744073709551616", "18446744073709551616" },
		{ ".", "0" },
		{ "-", "0" },
		{ "m", "0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_text(cases[i][0], cases[i][1]);
}

static void
test_what_is_finer_than_nano_is_rounded_up(void **state)
{
	(void)state;
	check_text("3.001n", "4n");
	check_text("0.9n", "1n");
	check_text("0.0000000001", "1n");
	check_text("0.00000012345", "124n");
	check_text("1.1E-9", "2e-9");
	check_text("1e-1000", "1e-9");
	check_text("-0.1n", "-1n");
	check_text("0.000000000001Ki", "2n");
	check_text("0e-99999999999999", "0");
}

static void
test_binary_numbers_are_capped_and_decimal_ones_refused(void **state)
{
	struct quantity q;
	struct err err;

	(void)state;
	check_text("9Ei", "9223372036854775807");
	check_text("9223372036854775807Ki", "9223372036854775807");
	check_text("-9Ei", "-9223372036854775807");
	check_text("99999999999999999999999999999999999999999999999Ei",
		   "9223372036854775807");
	check_text("100000000000000000000000000000", "100e27");
	assert_int_equal(quantity_parse("1e30", &q, &err), -1);
	assert_string_equal(err.text, "quantity is too large");
	assert_int_equal(quantity_parse("1e99999999999999999999", &q, &err),
			 -1);
	assert_int_equal(
		quantity_parse("170141183460469231731687303715884105728", &q,
			       &err),
		-1);
}

static void
test_long_fractions_are_exact(void **state)
{
	struct quantity q =
		parse("1.000000000931322574615478515625Gi"); /* 1Gi + 1 */

	(void)state;
	assert_int_equal(quantity_value(&q), 1073741825);
	q = parse("1.0000000009313225746154785156250000000000000001Gi");
	assert_true(q.nano == (__int128)1073741825 * 1000000000 + 1);
}

static void
test_other_texts_are_refused_in_the_words_of_kubernetes(void **state)
{
	static const char *const wrong_form[] = {
		"",     " 1",  "1 ",   "1.1.M", "1+1.0M", "0.1am",
		"aoeu", "1m ", "0x10", "1,5",   "1e3.5",  "1e+-3",
	};
	static const char *const wrong_suffix[] = {
		"0.1mi", ".5i",  "1i", "-3.01i", "-3.01e-",
		"1e",    "1Kii", "1K", "1m3",    "--1",
	};
	struct quantity q;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong_form); i++) {
		assert_int_equal(quantity_parse(wrong_form[i], &q, &err), -1);
		assert_string_equal(
			err.text,
			"quantities must match the regular expression '^([+-]?"
			"[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
	}
	for (size_t i = 0; i < ARRAY_LEN(wrong_suffix); i++) {
		assert_int_equal(quantity_parse(wrong_suffix[i], &q, &err), -1);
		assert_string_equal(err.text,
				    "unable to parse quantity's suffix");
	}
}

static void
check_sum(const char *a, const char *b, const char *sum, const char *difference)
{
	struct quantity left = parse(a);
	struct quantity right = parse(b);
	struct quantity q = quantity_add(left, right);
	char buf[QUANTITY_TEXT_SIZE];

	assert_string_equal(quantity_text(&q, buf, sizeof(buf)), sum);
	q = quantity_sub(left, right);
	assert_string_equal(quantity_text(&q, buf, sizeof(buf)), difference);
}

static void
test_sums_are_exact_and_keep_the_form(void **state)
{
	(void)state;
	check_sum("100m", "900m", "1", "-800m");
	check_sum("1Gi", "1", "1073741825", "1073741823");
	check_sum("1Gi", "512Mi", "1536Mi", "512Mi");
	check_sum("0", "1Gi", "1Gi", "-1Gi");
	check_sum("1Gi", "0", "1Gi", "1Gi");
	check_sum("1", "1Gi", "1073741825", "-1073741823");
	check_sum("4Ei", "4Ei", "8Ei", "0");
	check_sum("0.1", "0.2", "300m", "-100m");
	check_sum("-1", "-2", "-3", "1");
	check_sum("100000000000000000000000000000",
		  "100000000000000000000000000000",
		  "170141183460469231731687303715884105727n", "0");
}

static void
test_values_are_compared_and_rounded_away_from_zero(void **state)
{
	struct quantity a = parse("1.1");
	struct quantity b = parse("-1.1");
	struct quantity huge = parse("100E");
	struct quantity half = parse("0.1m");

	(void)state;
	assert_int_equal(quantity_value(&a), 2);
	assert_int_equal(quantity_value(&b), -2);
	assert_int_equal(quantity_milli(&a), 1100);
	assert_int_equal(quantity_milli(&half), 1);
	assert_true(quantity_value(&huge) == INT64_MAX);
	assert_int_equal(quantity_cmp(&a, &b), 1);
	assert_int_equal(quantity_cmp(&b, &a), -1);
	assert_int_equal(quantity_cmp(&a, &a), 0);
	assert_int_equal(quantity_sign(&b), -1);
	assert_false(quantity_is_zero(&a));
	huge = quantity_neg(huge);
	assert_true(quantity_value(&huge) == INT64_MIN);
	a = quantity_from_milli(1500, QUANTITY_DECIMAL_SI);
	b = parse("1.5");
	assert_int_equal(quantity_cmp(&a, &b), 0);
	a = quantity_from_int(3, QUANTITY_DECIMAL_SI);
	assert_int_equal(quantity_value(&a), 3);
}

static void
test_texts_come_back_as_from_kubernetes(void **state)
{
	static const char *const cases[][2] = {
		{ "0.5", "500m" },
		{ "1.500", "1.500" },
		{ "1.5", "1500m" },
		{ "+1", "+1" },
		{ "1000m", "1" },
		{ "1024Mi", "1Gi" },
		{ "1000Mi", "1000Mi" },
		{ "100Mi", "100Mi" },
		{ "64Mi", "64Mi" },
		{ "1E3", "1E3" },
		{ "0.000", "0" },
		{ "1.2345", "1234500u" },
		{ "2000", "2k" },
		{ "12345678901234567890", "12345678901234567890" },
	};
	char buf[QUANTITY_TEXT_SIZE];
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(
			quantity_normalise(cases[i][0], buf, sizeof(buf), &err),
			0);
		assert_string_equal(buf, cases[i][1]);
	}
	assert_int_equal(quantity_normalise("x", buf, sizeof(buf), &err), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form_has_its_canonical_text),
		cmocka_unit_test(test_what_is_finer_than_nano_is_rounded_up),
		cmocka_unit_test(
			test_binary_numbers_are_capped_and_decimal_ones_refused),
		cmocka_unit_test(test_long_fractions_are_exact),
		cmocka_unit_test(
			test_other_texts_are_refused_in_the_words_of_kubernetes),
		cmocka_unit_test(test_sums_are_exact_and_keep_the_form),
		cmocka_unit_test(
			test_values_are_compared_and_rounded_away_from_zero),
		cmocka_unit_test(test_texts_come_back_as_from_kubernetes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
