/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_POOL_H
#define PROXY_POOL_H

/*
 * pool - buffers and pipes for the streams of one worker.
 *
 * A stream borrows one only while bytes are in flight through it, so that an
 * idle connection costs neither, and the same few stay warm in the cache.
 *
 * Memory per connection is therefore bounded: at most one of either per
 * direction, POOL_BUF_SIZE or POOL_PIPE_SIZE bytes.
 *
 * Threading: a pool belongs to one worker's thread.
 */

#include <stdint.h>

#include "tls/stream.h"

#define POOL_BUF_SIZE TLS_BUF_SIZE

/*
 * A pipe of 64 KiB loses half the gain of splice(2), 256 KiB costs some 8 %
 * more CPU than this, and above it is noise. The kernel lets a user without
 * rights have 64 MiB in pipes: enough for 128 of these at a time; more are
 * smaller.
 */
#define POOL_PIPE_SIZE (512U * 1024)

/* How many unused ones are kept for the next stream. */
#define POOL_KEEP 64

struct pool;

struct pipe_pair {
	int read_fd;
	int write_fd;
	unsigned size;
};

struct pool *pool_new(void);
/* Everything borrowed must have been put back. */
void pool_free(struct pool *pool);

/* POOL_BUF_SIZE bytes, contents undefined. */
uint8_t *pool_get_buf(struct pool *pool);
void pool_put_buf(struct pool *pool, uint8_t *buf);

/* An empty, non-blocking pipe; -1 with errno when there are no descriptors. */
int pool_get_pipe(struct pool *pool, struct pipe_pair *ret_pipe);
/* Takes back an empty pipe, or closes one that still holds bytes. */
void pool_put_pipe(struct pool *pool, struct pipe_pair *pipe, int empty);

#endif
