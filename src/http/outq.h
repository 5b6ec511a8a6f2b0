/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_OUTQ_H
#define HTTP_OUTQ_H

/*
 * outq - bytes on their way out, in blocks the size of a TLS record.
 *
 * Small pieces share a block, so that they share a record and a system call.
 * Blocks come from a pool that keeps a few for the next one.
 */

#include <stddef.h>

/* The payload of a full TLS record. */
#define OUTQ_BLOCK 16384

struct outq_block;

struct outq_pool {
	struct outq_block *free;
	unsigned count;
};

void outq_pool_done(struct outq_pool *pool);

struct outq {
	struct outq_pool *pool;
	struct outq_block *first;
	struct outq_block *last;
	size_t len;
};

void outq_append(struct outq *q, const void *data, size_t len);
void outq_append_str(struct outq *q, const char *s);
/* Without a copy; data is from malloc() and is freed when it was consumed. */
void outq_append_taking(struct outq *q, char *data, size_t len);

/* The bytes to send next, a record at most; NULL when there are none. */
const char *outq_peek(const struct outq *q, size_t *ret_len);
void outq_consume(struct outq *q, size_t len);
/* Drops everything. */
void outq_done(struct outq *q);

#endif
