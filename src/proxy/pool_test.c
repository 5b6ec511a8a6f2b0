/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/pool.h"

#include "base/array.h"
#include "base/test.h"

/* So many large ones there are, and some more. */
#define LARGE (POOL_PIPES_LARGE / POOL_PIPE_SIZE)
#define MORE 8

static void
borrow(struct pool *pool, struct pipe_pair *pipes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pool_get_pipe(pool, &pipes[i]), 0);
}

static void
put_back(struct pool *pool, struct pipe_pair *pipes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pool_put_pipe(pool, &pipes[i], 1);
}

static void
test_pipes_beyond_the_large_ones_are_small(void **state)
{
	struct pool *pool = pool_new(), *other = pool_new();
	struct pipe_pair pipes[LARGE + MORE];

	(void)state;
	/* It does not matter to which pool they belong. */
	borrow(pool, pipes, LARGE / 2);
	borrow(other, pipes + LARGE / 2, LARGE / 2 + MORE);
	for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
		assert_int_equal(pipes[i].size,
				 i < LARGE ? POOL_PIPE_SIZE : POOL_PIPE_SMALL);
	assert_int_equal(pool_pipes_size(),
			 POOL_PIPES_LARGE + MORE * POOL_PIPE_SMALL);
	put_back(pool, pipes, LARGE / 2);
	put_back(other, pipes + LARGE / 2, LARGE / 2 + MORE);
	pool_free(pool);
	pool_free(other);
	assert_int_equal(pool_pipes_size(), 0);
}

static void
test_what_a_pool_keeps_leaves_large_pipes_for_others(void **state)
{
	struct pool *pool = pool_new(), *other = pool_new();
	struct pipe_pair pipes[LARGE + MORE], pipe;

	(void)state;
	borrow(pool, pipes, LARGE + MORE);
	put_back(pool, pipes, LARGE + MORE);
	assert_in_range(pool_pipes_size(), POOL_PIPE_SIZE,
			POOL_PIPES_LARGE / 2);
	borrow(other, &pipe, 1);
	assert_int_equal(pipe.size, POOL_PIPE_SIZE);
	put_back(other, &pipe, 1);
	pool_free(other);
	pool_free(pool);
	assert_int_equal(pool_pipes_size(), 0);
}

static void
test_a_pipe_with_bytes_in_it_is_not_used_again(void **state)
{
	struct pool *pool = pool_new();
	struct pipe_pair pipe;

	(void)state;
	borrow(pool, &pipe, 1);
	pool_put_pipe(pool, &pipe, 1);
	assert_int_equal(pipe.read_fd, -1);
	assert_int_equal(pool_pipes_size(), POOL_PIPE_SIZE); /* kept */
	borrow(pool, &pipe, 1);
	assert_int_equal(pool_pipes_size(), POOL_PIPE_SIZE); /* that one */
	pool_put_pipe(pool, &pipe, 0);
	assert_int_equal(pool_pipes_size(), 0);
	pool_free(pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipes_beyond_the_large_ones_are_small),
		cmocka_unit_test(
			test_what_a_pool_keeps_leaves_large_pipes_for_others),
		cmocka_unit_test(
			test_a_pipe_with_bytes_in_it_is_not_used_again),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
