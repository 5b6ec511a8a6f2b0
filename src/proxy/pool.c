/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/pool.h"

#include <assert.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

/* Of all pools. */
static atomic_uint_least64_t pipes_size;

struct pool {
	uint8_t *bufs[POOL_KEEP];
	unsigned n_bufs;
	struct pipe_pair pipes[POOL_KEEP];
	unsigned n_pipes;
	unsigned borrowed;
};

struct pool *
pool_new(void)
{
	return xmalloc0(sizeof(struct pool));
}

static void
close_pipe(const struct pipe_pair *pipe)
{
	(void)close(pipe->read_fd);
	(void)close(pipe->write_fd);
	(void)atomic_fetch_sub(&pipes_size, pipe->size);
}

uint64_t
pool_pipes_size(void)
{
	return atomic_load(&pipes_size);
}

void
pool_free(struct pool *pool)
{
	if (pool == NULL)
		return;
	assert(pool->borrowed == 0);
	while (pool->n_bufs > 0)
		free(pool->bufs[--pool->n_bufs]);
	while (pool->n_pipes > 0)
		close_pipe(&pool->pipes[--pool->n_pipes]);
	free(pool);
}

uint8_t *
pool_get_buf(struct pool *pool)
{
	pool->borrowed++;
	if (pool->n_bufs > 0)
		return pool->bufs[--pool->n_bufs];
	return xrealloc(NULL, POOL_BUF_SIZE);
}

void
pool_put_buf(struct pool *pool, uint8_t *buf)
{
	assert(pool->borrowed > 0);
	pool->borrowed--;
	if (pool->n_bufs < POOL_KEEP)
		pool->bufs[pool->n_bufs++] = buf;
	else
		free(buf);
}

/* As large as it may be, or as the kernel lets this user have it. */
static unsigned
size_pipe(int fd)
{
	unsigned want = pool_pipes_size() < POOL_PIPES_LARGE ? POOL_PIPE_SIZE
							     : POOL_PIPE_SMALL;
	int size = -1;

	for (; want >= POOL_PIPE_SMALL && size <= 0; want /= 2)
		size = fcntl(fd, F_SETPIPE_SZ, want);
	if (size <= 0)
		size = fcntl(fd, F_GETPIPE_SZ);
	return size > 0 ? (unsigned)size : 4096;
}

int
pool_get_pipe(struct pool *pool, struct pipe_pair *ret_pipe)
{
	int fds[2];

	if (pool->n_pipes > 0) {
		*ret_pipe = pool->pipes[--pool->n_pipes];
		pool->borrowed++;
		return 0;
	}
	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) == -1)
		return -1;
	pool->borrowed++;
	*ret_pipe = (struct pipe_pair){ .read_fd = fds[0],
					.write_fd = fds[1],
					.size = size_pipe(fds[1]) };
	(void)atomic_fetch_add(&pipes_size, ret_pipe->size);
	return 0;
}

static bool
is_worth_keeping(const struct pool *pool, const struct pipe_pair *pipe)
{
	return pool->n_pipes < POOL_KEEP && pipe->size >= POOL_PIPE_SIZE &&
	       pool_pipes_size() <= POOL_PIPES_LARGE / 2;
}

void
pool_put_pipe(struct pool *pool, struct pipe_pair *pipe, int empty)
{
	assert(pool->borrowed > 0);
	pool->borrowed--;
	if (empty && is_worth_keeping(pool, pipe))
		pool->pipes[pool->n_pipes++] = *pipe;
	else
		close_pipe(pipe);
	*pipe = (struct pipe_pair){ .read_fd = -1, .write_fd = -1 };
}
