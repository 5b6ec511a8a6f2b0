/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/test.h"

static void
test_contents_grow_and_end_with_nul(void **state)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(10000);
	char expected[3001] = "";

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		assert_int_equal(buf_append_str(&buf, "abc"), 0);
		memcpy(expected + i * 3, "abc", 4);
		assert_int_equal(buf.data[buf.len], '\0');
	}
	assert_int_equal(buf.len, 3000);
	assert_string_equal((char *)buf.data, expected);
}

static void
test_the_limit_holds_and_leaves_the_contents(void **state)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(5);

	(void)state;
	assert_int_equal(buf_append_str(&buf, "abcd"), 0);
	assert_int_equal(buf_append_str(&buf, "ef"), -1);
	assert_int_equal(buf_printf(&buf, "%d", 12), -1);
	assert_null(buf_reserve(&buf, 2));
	assert_null(buf_reserve(&buf, SIZE_MAX));
	assert_string_equal((char *)buf.data, "abcd");
	assert_int_equal(buf_append_str(&buf, "e"), 0);
	assert_int_equal(buf_append(&buf, "", 0), 0);
	assert_string_equal((char *)buf.data, "abcde");
	assert_true(buf.size <= 6);
}

static void
test_printing_appends(void **state)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(1000);

	(void)state;
	assert_int_equal(buf_printf(&buf, "%s=%d", "a", 1), 0);
	assert_int_equal(buf_printf(&buf, "%200s", "x"), 0);
	assert_int_equal(buf.len, 203);
	assert_memory_equal(buf.data, "a=1   ", 6);
	assert_int_equal(buf.data[202], 'x');
}

static void
test_reserved_bytes_count_when_committed(void **state)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(1000);
	uint8_t *to = buf_reserve(&buf, 100);

	(void)state;
	assert_non_null(to);
	assert_int_equal(buf.len, 0);
	memcpy(to, "hello", 5);
	buf_commit(&buf, 5);
	assert_int_equal(buf.len, 5);
	assert_string_equal((char *)buf.data, "hello");
}

static void
test_consuming_drops_from_the_front(void **state)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(10);

	(void)state;
	buf_consume(&buf, 0);
	assert_int_equal(buf_append_str(&buf, "abcdefghij"), 0);
	buf_consume(&buf, 4);
	assert_string_equal((char *)buf.data, "efghij");
	assert_int_equal(buf_append_str(&buf, "klmn"), 0);
	assert_string_equal((char *)buf.data, "efghijklmn");
	buf_consume(&buf, 10);
	assert_int_equal(buf.len, 0);
	assert_string_equal((char *)buf.data, "");
}

static void
test_a_cleared_or_freed_buffer_can_be_used_again(void **state)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(10);

	(void)state;
	buf_clear(&buf);
	assert_int_equal(buf_append_str(&buf, "abc"), 0);
	buf_clear(&buf);
	assert_int_equal(buf.len, 0);
	assert_string_equal((char *)buf.data, "");
	assert_int_equal(buf_append_str(&buf, "d"), 0);
	buf_done(&buf);
	assert_null(buf.data);
	assert_int_equal(buf_append_str(&buf, "0123456789"), 0);
	assert_int_equal(buf_append_str(&buf, "x"), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents_grow_and_end_with_nul),
		cmocka_unit_test(test_the_limit_holds_and_leaves_the_contents),
		cmocka_unit_test(test_printing_appends),
		cmocka_unit_test(test_reserved_bytes_count_when_committed),
		cmocka_unit_test(test_consuming_drops_from_the_front),
		cmocka_unit_test(
			test_a_cleared_or_freed_buffer_can_be_used_again),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
