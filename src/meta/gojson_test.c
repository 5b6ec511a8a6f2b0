/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/gojson.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/js.h"
#include "base/test.h"

static void
test_it_says_what_go_says(void **state)
{
	static const struct {
		const char *text, *fault;
	} cases[] = {
		{ "", "unexpected end of JSON input" },
		{ "{\"bad json", "unexpected end of JSON input" },
		{ "{\"a\":[1,", "unexpected end of JSON input" },
		{ "nope", "invalid character 'o' in literal null (expecting "
			  "'u')" },
		{ "{]", "invalid character ']' looking for beginning of object "
			"key string" },
		{ "{\"a\" 1}", "invalid character '1' after object key" },
		{ "{\"a\":1 \"b\"}", "invalid character '\"' after object "
				     "key:value pair" },
		{ "[1 2]", "invalid character '2' after array element" },
		{ "{\"a\":}", "invalid character '}' looking for beginning of "
			      "value" },
		{ "{} x", "invalid character 'x' after top-level value" },
		{ "[01]", "invalid character '1' after array element" },
		{ "[1.x]", "invalid character 'x' after decimal point in "
			   "numeric literal" },
		{ "[-]", "invalid character ']' in numeric literal" },
		{ "\"\\q\"", "invalid character 'q' in string escape code" },
		{ "\"\\u00x\"", "invalid character 'x' in \\u hexadecimal "
				"character escape" },
		{ "\"a\nb\"", "invalid character '\\n' in string literal" },
		{ "'a'", "invalid character '\\'' looking for beginning of "
			 "value" },
		{ "\xc3\xa4", "invalid character '\xc3\x83' looking for "
			      "beginning of value" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *fault =
			gojson_fault(cases[i].text, strlen(cases[i].text));

		assert_non_null(fault);
		assert_string_equal(fault, cases[i].fault);
		free(fault);
	}
}

static void
test_json_has_no_fault(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		" null ",
		"-0.5e+10",
		"\"\\u00e4\\n\"",
		"{\"a\":[1,{\"b\":true},[]],\"c\":false}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_null(gojson_fault(texts[i], strlen(texts[i])));
}

static void
test_too_deep_is_left_to_others(void **state)
{
	char text[JS_MAX_DEPTH + 1];

	(void)state;
	memset(text, '[', sizeof(text));
	assert_null(gojson_fault(text, sizeof(text)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_says_what_go_says),
		cmocka_unit_test(test_json_has_no_fault),
		cmocka_unit_test(test_too_deep_is_left_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
