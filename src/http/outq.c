/* SPDX-License-Identifier: Apache-2.0 */
#include "http/outq.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define POOL_MAX 64 /* 1 MiB */

struct outq_block {
	struct outq_block *next;
	char *data; /* room, or what was taken */
	size_t start;
	size_t end;
	size_t size; /* 0: taken, cannot grow and is freed */
	char room[];
};

static struct outq_block *
block_new(struct outq_pool *pool)
{
	struct outq_block *b = pool->free;

	if (b != NULL) {
		pool->free = b->next;
		pool->count--;
	} else {
		/* Not zeroed: a block is written before it is read. */
		b = xrealloc(NULL, sizeof(*b) + OUTQ_BLOCK);
	}
	b->next = NULL;
	b->data = b->room;
	b->start = 0;
	b->end = 0;
	b->size = OUTQ_BLOCK;
	return b;
}

static void
block_free(struct outq_pool *pool, struct outq_block *b)
{
	if (b->size == 0)
		free(b->data);
	if (b->size == 0 || pool->count == POOL_MAX) {
		free(b);
		return;
	}
	b->next = pool->free;
	pool->free = b;
	pool->count++;
}

void
outq_pool_done(struct outq_pool *pool)
{
	while (pool->free != NULL) {
		struct outq_block *b = pool->free;

		pool->free = b->next;
		free(b);
	}
	pool->count = 0;
}

static void
push(struct outq *q, struct outq_block *b)
{
	if (q->last != NULL)
		q->last->next = b;
	else
		q->first = b;
	q->last = b;
}

void
outq_append(struct outq *q, const void *data, size_t len)
{
	const char *p = data;

	q->len += len;
	while (len > 0) {
		struct outq_block *b = q->last;
		size_t n;

		if (b == NULL || b->end >= b->size) {
			b = block_new(q->pool);
			push(q, b);
		}
		n = b->size - b->end < len ? b->size - b->end : len;
		memcpy(b->data + b->end, p, n);
		b->end += n;
		p += n;
		len -= n;
	}
}

void
outq_append_str(struct outq *q, const char *s)
{
	outq_append(q, s, strlen(s));
}

void
outq_append_taking(struct outq *q, char *data, size_t len)
{
	struct outq_block *b;

	/* What fits beside what is there is better in the same record. */
	if (len <= OUTQ_BLOCK) {
		outq_append(q, data, len);
		free(data);
		return;
	}
	b = xmalloc0(sizeof(*b));
	b->data = data;
	b->end = len;
	push(q, b);
	q->len += len;
}

const char *
outq_peek(const struct outq *q, size_t *ret_len)
{
	const struct outq_block *b = q->first;
	size_t len;

	if (b == NULL)
		return NULL;
	len = b->end - b->start;
	*ret_len = len < OUTQ_BLOCK ? len : OUTQ_BLOCK;
	return b->data + b->start;
}

void
outq_consume(struct outq *q, size_t len)
{
	assert(len <= q->len);
	q->len -= len;
	while (len > 0) {
		struct outq_block *b = q->first;
		size_t n;

		assert(b != NULL);
		n = b->end - b->start < len ? b->end - b->start : len;
		b->start += n;
		len -= n;
		if (b->start < b->end)
			continue;
		q->first = b->next;
		if (q->first == NULL)
			q->last = NULL;
		block_free(q->pool, b);
	}
}

void
outq_done(struct outq *q)
{
	outq_consume(q, q->len);
}
