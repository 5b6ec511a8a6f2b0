/* SPDX-License-Identifier: Apache-2.0 */
#include "http/chunk.h"

#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/test.h"

/* Feeds text in pieces of step bytes; tells what was left behind its end. */
static enum chunk_result
feed(const char *text, size_t step, struct buf *out, size_t *ret_left)
{
	struct chunk c = { 0 };
	size_t len = strlen(text);
	size_t pos = 0;

	while (pos < len) {
		size_t n = len - pos < step ? len - pos : step;
		size_t used = 0;
		enum chunk_result r = chunk_feed(&c, text + pos, n, out, &used);

		if (r == CHUNK_MORE)
			assert_int_equal(used, n);
		pos += used;
		if (r != CHUNK_MORE) {
			*ret_left = len - pos;
			return r;
		}
	}
	*ret_left = 0;
	return CHUNK_MORE;
}

static void
test_chunks_are_joined_however_they_come(void **state)
{
	static const char text[] = "4\r\nWiki\r\n006;ext=\"x\"\r\npedia \r\n"
				   "E \r\nin \r\n\r\nchunks.\r\n0\r\n"
				   "Trailer: x\r\nOther: y\r\n\r\nGET /";

	(void)state;
	for (size_t step = 1; step < sizeof(text); step++) {
		struct buf out = BUF_INIT(100);
		size_t left;

		assert_int_equal(feed(text, step, &out, &left), CHUNK_COMPLETE);
		assert_int_equal(left, 5);
		assert_string_equal((char *)out.data,
				    "Wikipedia in \r\n\r\nchunks.");
		buf_done(&out);
	}
}

static void
test_bad_framing_is_seen(void **state)
{
	static const char *const bad[] = {
		"\r\n",       "g\r\n",       "-1\r\n",
		"+1\r\n",     "0x1\r\n",     ";a\r\n",
		"1\n",        "1\ra",        "1\r\nab",
		"1\r\na\n",   "1\r\na\rb",   "0000000000000000\r\n",
		"1;a\nb\r\n", "0\r\nA: b\n", "0\r\n\ra",
		"0\r\nA\r\r", "1 2\ra",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct buf out = BUF_INIT(100);
		size_t left;

		if (feed(bad[i], 1, &out, &left) != CHUNK_BAD)
			fail_msg("%zu", i);
		assert_int_equal(feed(bad[i], 100, &out, &left), CHUNK_BAD);
		buf_done(&out);
	}
}

static void
test_the_limit_holds_before_the_bytes_are_there(void **state)
{
	struct buf out = BUF_INIT(10);
	size_t left;

	(void)state;
	assert_int_equal(feed("5\r\n12345\r\n6\r", 1, &out, &left),
			 CHUNK_TOO_LARGE);
	assert_int_equal(out.len, 5);
	buf_clear(&out);
	assert_int_equal(
		feed("5\r\n12345\r\n5\r\n12345\r\n0\r\n\r\n", 7, &out, &left),
		CHUNK_COMPLETE);
	assert_int_equal(out.len, 10);
	buf_clear(&out);
	assert_int_equal(feed("fffffffffffffff\r\n", 99, &out, &left),
			 CHUNK_TOO_LARGE);
	buf_done(&out);
}

static void
test_what_is_dropped_is_limited_too(void **state)
{
	static char text[CHUNK_WASTE_MAX + 100];
	struct buf out = BUF_INIT(10);
	size_t left;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "1;", 2);
	assert_int_equal(feed(text, 1000, &out, &left), CHUNK_BAD);
	memcpy(text, "0\r\n", 3);
	assert_int_equal(feed(text, 1000, &out, &left), CHUNK_BAD);
	buf_done(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunks_are_joined_however_they_come),
		cmocka_unit_test(test_bad_framing_is_seen),
		cmocka_unit_test(
			test_the_limit_holds_before_the_bytes_are_there),
		cmocka_unit_test(test_what_is_dropped_is_limited_too),
	};

	return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
