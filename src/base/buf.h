/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

/*
 * buf - a byte string that grows up to a limit.
 *
 * The limit is given when it is made; appending beyond it fails and leaves the
 * contents as they were, so what a peer sends cannot make the program grow.
 * The contents are followed by a NUL byte that does not count; data is NULL
 * until something was appended or reserved.
 */

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len;
	size_t size;  /* allocated */
	size_t limit; /* len never exceeds this */
};

#define BUF_INIT(max) ((struct buf){ .limit = (max) })
/* For what is bounded by what it is made of. */
#define BUF_UNLIMITED (SIZE_MAX - 1)

/* -1 when the limit would be passed. */
int buf_append(struct buf *buf, const void *data, size_t len);
int buf_append_str(struct buf *buf, const char *s);
int buf_printf(struct buf *buf, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Makes room for len more bytes and returns where they go, NULL at the limit;
 * buf_commit() then counts those that were written. */
uint8_t *buf_reserve(struct buf *buf, size_t len);
void buf_commit(struct buf *buf, size_t len);
/* Drops len bytes from the front. */
void buf_consume(struct buf *buf, size_t len);
void buf_clear(struct buf *buf); /* keeps the memory */
void buf_done(struct buf *buf);  /* frees the contents; buf may be reused */

#endif
