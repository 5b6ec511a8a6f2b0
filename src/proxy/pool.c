/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/pool.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

/* The kernel allows an unprivileged user only so many pages in pipes. */
#define PIPE_SIZE_LEAST (64U * 1024)

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

/* As large as the kernel lets this user have it; any size works. */
static unsigned
grow_pipe(int fd)
{
	int size = -1;

	for (unsigned want = POOL_PIPE_SIZE; want >= PIPE_SIZE_LEAST;
	     want /= 2) {
		size = fcntl(fd, F_SETPIPE_SZ, want);
		if (size > 0)
			return (unsigned)size;
	}
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
					.size = grow_pipe(fds[1]) };
	return 0;
}

void
pool_put_pipe(struct pool *pool, struct pipe_pair *pipe, int empty)
{
	assert(pool->borrowed > 0);
	pool->borrowed--;
	if (empty && pool->n_pipes < POOL_KEEP)
		pool->pipes[pool->n_pipes++] = *pipe;
	else
		close_pipe(pipe);
	*pipe = (struct pipe_pair){ .read_fd = -1, .write_fd = -1 };
}
