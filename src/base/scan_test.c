/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/test.h"

static struct span
span(const char *text)
{
	return (struct span){ .text = text, .len = strlen(text) };
}

static void
expect(struct span value, const char *text)
{
	assert_int_equal(value.len, strlen(text));
	assert_memory_equal(value.text, text, value.len);
}

static void
test_a_member_is_found_behind_others_of_every_kind(void **state)
{
	struct span text = span(
		"{\"a\":{\"x\":[1,{\"b\":0}]},\"s\":\"}\\\"b\\\\\",\"n\":-1."
		"5e3,"
		"\"t\":true,\"z\":null,\"e\":[],\"b\":{\"c\":[2]},\"l\":1}");
	struct span value;

	(void)state;
	assert_true(scan_member(text, "b", &value));
	expect(value, "{\"c\":[2]}");
	assert_true(scan_member(text, "n", &value));
	expect(value, "-1.5e3");
	assert_true(scan_member(text, "z", &value));
	expect(value, "null");
	assert_true(scan_member(text, "s", &value));
	expect(value, "\"}\\\"b\\\\\"");
	assert_true(scan_member(text, "l", &value));
	expect(value, "1");
}

static void
test_what_is_not_there_is_not_found(void **state)
{
	struct span value;

	(void)state;
	assert_false(scan_member(span("{\"a\":{\"b\":1}}"), "b", &value));
	assert_false(
		scan_member(span("{\"ab\":1,\"a\\u0062\":1}"), "a", &value));
	assert_false(scan_member(span("{}"), "a", &value));
	assert_false(scan_member(span("[\"a\"]"), "a", &value));
	assert_false(scan_member(span("\"a\""), "a", &value));
	assert_false(scan_member(span(""), "a", &value));
}

static void
test_blanks_do_not_matter(void **state)
{
	struct span text = span(" {\n \"a\" : [ 1 , \"b\" ] ,\t\"c\" :\r2 } ");
	struct span value;
	struct scan scan;

	(void)state;
	assert_true(scan_member(text, "c", &value));
	expect(value, "2");
	assert_true(scan_member(text, "a", &value));
	assert_true(scan_array(value, &scan));
	assert_true(scan_next_element(&scan, &value));
	expect(value, "1");
	assert_true(scan_next_element(&scan, &value));
	expect(value, "\"b\"");
	assert_false(scan_next_element(&scan, &value));
}

static void
test_members_come_in_order(void **state)
{
	struct span key, value;
	struct scan scan;

	(void)state;
	assert_true(scan_object(span("{\"k\":1,\"l\":{}}"), &scan));
	assert_true(scan_next_member(&scan, &key, &value));
	assert_true(scan_is(key, "k"));
	assert_true(scan_next_member(&scan, &key, &value));
	assert_true(scan_is(key, "l"));
	expect(value, "{}");
	assert_false(scan_next_member(&scan, &key, &value));
	assert_false(scan_object(span("[]"), &scan));
	assert_true(scan_array(span("[]"), &scan));
	assert_false(scan_next_element(&scan, &value));
}

static void
expect_content(const char *json, const char *text)
{
	char *out = xmalloc0(strlen(json));

	assert_int_equal(scan_string(span(json), out), strlen(text));
	assert_string_equal(out, text);
	free(out);
}

static void
test_strings_lose_their_quotes_and_escapes(void **state)
{
	(void)state;
	expect_content("\"\"", "");
	expect_content("\"plain\"", "plain");
	expect_content("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
	expect_content("\"\\u0041\\u00e9\\u20ac\\uD83D\\ude00\"",
		       "A\u00e9\u20ac\U0001F600");
	expect_content("\"\u20ac\"", "\u20ac");
}

static void
test_broken_strings_are_refused(void **state)
{
	static const char *const broken[] = {
		"1",           "\"",
		"\"a",         "\"\\x\"",
		"\"\\u00g0\"", "\"\\u12\"",
		"\"\\ud800\"", "\"\\ud800\\u0041\"",
		"\"\\udc00\"", "\"\\u0000\"",
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		assert_int_equal(scan_string(span(broken[i]), out), -1);
	assert_int_equal(scan_string((struct span){ "", 0 }, out), -1);
	assert_int_equal(scan_string((struct span){ "\"a\0b\"", 5 }, out), -1);
}

/* Each prefix of a text in memory of just its size: ASan sees what is read
 * beyond it. */
static void
test_text_that_is_cut_off_is_not_read_beyond_its_end(void **state)
{
	static const char whole[] = "{\"a\":{\"x\":[1,\"\\\"\",{\"b\":0}]},"
				    "\"u\":\"\\ud83d\\ude00\","
				    "\"m\":true}";

	(void)state;
	for (size_t len = 0; len < sizeof(whole) - 1; len++) {
		char *text = xmalloc0(len + 1), out[sizeof(whole)];
		struct span key, value, cut;
		struct scan scan;

		text = xrealloc(text, len > 0 ? len : 1);
		memcpy(text, whole, len);
		cut = (struct span){ .text = text, .len = len };
		assert_false(scan_member(cut, "none", &value));
		if (scan_object(cut, &scan)) {
			while (scan_next_member(&scan, &key, &value))
				(void)scan_string(value, out);
		}
		free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_member_is_found_behind_others_of_every_kind),
		cmocka_unit_test(test_what_is_not_there_is_not_found),
		cmocka_unit_test(test_blanks_do_not_matter),
		cmocka_unit_test(test_members_come_in_order),
		cmocka_unit_test(test_strings_lose_their_quotes_and_escapes),
		cmocka_unit_test(test_broken_strings_are_refused),
		cmocka_unit_test(
			test_text_that_is_cut_off_is_not_read_beyond_its_end),
	};

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
