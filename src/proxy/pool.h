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
 * Threading: a pool belongs to one worker's thread. That all pools of a process
 * share one count of their pipes needs no care.
 */

#include <stdint.h>

#include "tls/stream.h"

#define POOL_BUF_SIZE TLS_BUF_SIZE

/*
 * A pipe of 64 KiB loses half the gain of splice(2), 256 KiB costs some 8 %
 * more CPU than this, and above it is noise.
 *
 * The kernel lets a user without rights have 64 MiB in pipes
 * (fs.pipe-user-pages-soft). Who has used them up gets pipes of 8 KiB, with
 * which a stream is six times slower. So all pipes of the process, whatever
 * the pool, are counted: of the first POOL_PIPES_LARGE bytes each is large, and
 * those beyond are POOL_PIPE_SMALL.
 */
#define POOL_PIPE_SIZE (512U * 1024)
#define POOL_PIPE_SMALL (64U * 1024)
#define POOL_PIPES_LARGE (32UL * 1024 * 1024)

/*
 * How many unused ones are kept for the next stream. Pipes are kept only if
 * they are large and all pipes take at most half of POOL_PIPES_LARGE: what one
 * pool keeps, the others cannot have.
 */
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

/* Bytes in all pipes of the process, kept or borrowed. Any thread. */
uint64_t pool_pipes_size(void);

#endif
