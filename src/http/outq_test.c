/* SPDX-License-Identifier: Apache-2.0 */
#include "http/outq.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/test.h"

static void
test_small_pieces_share_a_block(void **state)
{
	struct outq_pool pool = { 0 };
	struct outq q = { .pool = &pool };
	size_t len = 0;

	(void)state;
	assert_null(outq_peek(&q, &len));
	for (int i = 0; i < 1000; i++)
		outq_append_str(&q, "0123456789");
	assert_int_equal(q.len, 10000);
	assert_memory_equal(outq_peek(&q, &len), "01234567890", 11);
	assert_int_equal(len, 10000);
	outq_consume(&q, 9999);
	assert_memory_equal(outq_peek(&q, &len), "9", 1);
	assert_int_equal(len, 1);
	outq_consume(&q, 1);
	assert_null(outq_peek(&q, &len));
	assert_int_equal(pool.count, 1);
	outq_pool_done(&pool);
}

static void
test_bytes_come_out_as_they_went_in(void **state)
{
	struct outq_pool pool = { 0 };
	struct outq q = { .pool = &pool };
	uint32_t in = 0;
	uint32_t out = 0;

	(void)state;
	/* Numbers in pieces of changing size, taken in other sizes. */
	for (unsigned i = 0; i < 2000; i++) {
		size_t count = i % 97 == 0 ? 9000 : i % 13;
		uint32_t *piece = xcalloc(count + 1, sizeof(*piece));
		size_t len;

		for (size_t k = 0; k < count; k++)
			piece[k] = in++;
		if (i % 2) {
			outq_append(&q, piece, count * 4);
			free(piece);
		} else {
			outq_append_taking(&q, (char *)piece, count * 4);
		}
		for (unsigned k = 0; k < i % 5; k++) {
			const char *p = outq_peek(&q, &len);
			uint32_t value;

			if (p == NULL)
				break;
			assert_true(len >= 4 && len <= OUTQ_BLOCK);
			memcpy(&value, p, 4);
			assert_int_equal(value, out);
			out += (uint32_t)(len / 4);
			outq_consume(&q, len / 4 * 4);
		}
		assert_int_equal(q.len, (size_t)(in - out) * 4);
	}
	outq_done(&q);
	assert_int_equal(q.len, 0);
	outq_pool_done(&pool);
}

static void
test_the_pool_keeps_only_some(void **state)
{
	struct outq_pool pool = { 0 };
	struct outq q = { .pool = &pool };
	char *big = xmalloc0(300 * OUTQ_BLOCK);

	(void)state;
	outq_append(&q, big, 300 * OUTQ_BLOCK);
	outq_done(&q);
	assert_true(pool.count > 0 && pool.count < 100);
	outq_pool_done(&pool);
	assert_int_equal(pool.count, 0);
	free(big);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_pieces_share_a_block),
		cmocka_unit_test(test_bytes_come_out_as_they_went_in),
		cmocka_unit_test(test_the_pool_keeps_only_some),
	};

	return cmocka_run_group_tests_name("outq", tests, NULL, NULL);
}
