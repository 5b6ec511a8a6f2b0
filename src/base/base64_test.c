/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"

static const struct pair {
	const char *bytes;
	const char *std;
	const char *url;
} pairs[] = {
	/* RFC 4648, section 10, and both ends of the alphabets. */
	{ "", "", "" },
	{ "f", "Zg==", "Zg" },
	{ "fo", "Zm8=", "Zm8" },
	{ "foo", "Zm9v", "Zm9v" },
	{ "foob", "Zm9vYg==", "Zm9vYg" },
	{ "fooba", "Zm9vYmE=", "Zm9vYmE" },
	{ "foobar", "Zm9vYmFy", "Zm9vYmFy" },
	{ "\xfb\xff\xbf", "+/+/", "-_-_" },
};

static void
check_decodes(enum base64_kind kind, const char *text, const char *bytes)
{
	AUTO(free_ptr) uint8_t *data = NULL;
	struct err err;
	size_t len = 99;

	assert_int_equal(
		base64_decode(kind, text, strlen(text), &data, &len, &err), 0);
	assert_int_equal(len, strlen(bytes));
	assert_memory_equal(data, bytes, len + 1);
}

static void
test_known_texts_are_made_and_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		size_t len = strlen(pairs[i].bytes);
		AUTO(free_ptr) char *std = NULL;
		AUTO(free_ptr) char *url = NULL;

		std = base64_encode(BASE64_STD, pairs[i].bytes, len);
		url = base64_encode(BASE64_URL, pairs[i].bytes, len);
		assert_string_equal(std, pairs[i].std);
		assert_string_equal(url, pairs[i].url);
		assert_int_equal(base64_encoded_len(BASE64_STD, len),
				 strlen(std));
		assert_int_equal(base64_encoded_len(BASE64_URL, len),
				 strlen(url));
		check_decodes(BASE64_STD, std, pairs[i].bytes);
		check_decodes(BASE64_URL, url, pairs[i].bytes);
	}
}

static void
test_there_is_one_text_for_each_value(void **state)
{
	static const struct {
		enum base64_kind kind;
		const char *text;
	} bad[] = {
		{ BASE64_STD, "Zg" },    { BASE64_STD, "Zg=" },
		{ BASE64_STD, "Zg===" }, { BASE64_STD, "Z===" },
		{ BASE64_STD, "====" },  { BASE64_STD, "Zh==" },
		{ BASE64_STD, "Zm9=" },  { BASE64_STD, "Zg==Zg==" },
		{ BASE64_STD, "Zm 9" },  { BASE64_STD, "Zm9v\n" },
		{ BASE64_STD, "-_-_" },  { BASE64_STD, "Zm\xc3\xa4" },
		{ BASE64_URL, "Zg==" },  { BASE64_URL, "Z" },
		{ BASE64_URL, "Zh" },    { BASE64_URL, "+/+/" },
		{ BASE64_URL, "Zm9vY" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint8_t *data = NULL;
		size_t len = 99;
		struct err err;

		assert_int_equal(base64_decode(bad[i].kind, bad[i].text,
					       strlen(bad[i].text), &data, &len,
					       &err),
				 -1);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_null(data);
		assert_int_equal(len, 99);
	}
}

static void
test_all_bytes_survive(void **state)
{
	uint8_t all[256];

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)i;
	for (size_t len = 0; len < sizeof(all); len++) {
		AUTO(free_ptr) char *text = NULL;
		AUTO(free_ptr) uint8_t *data = NULL;
		struct err err;
		size_t n;

		text = base64_encode(BASE64_URL, all, len);
		assert_int_equal(base64_decode(BASE64_URL, text, strlen(text),
					       &data, &n, &err),
				 0);
		assert_int_equal(n, len);
		assert_memory_equal(data, all, len);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_texts_are_made_and_read),
		cmocka_unit_test(test_there_is_one_text_for_each_value),
		cmocka_unit_test(test_all_bytes_survive),
	};

	return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
