/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_SIZE 64

int
buf_append(struct buf *buf, const void *data, size_t len)
{
	uint8_t *to = buf_reserve(buf, len);

	if (to == NULL)
		return -1;
	if (len > 0)
		memcpy(to, data, len);
	buf_commit(buf, len);
	return 0;
}

int
buf_append_str(struct buf *buf, const char *s)
{
	return buf_append(buf, s, strlen(s));
}

int
buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list ap;
	uint8_t *to;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		return -1;
	to = buf_reserve(buf, (size_t)len);
	if (to == NULL)
		return -1;

	va_start(ap, fmt);
	(void)vsnprintf((char *)to, (size_t)len + 1, fmt, ap);
	va_end(ap);
	buf_commit(buf, (size_t)len);
	return 0;
}

uint8_t *
buf_reserve(struct buf *buf, size_t len)
{
	size_t need;

	assert(buf->limit < SIZE_MAX);
	if (len > buf->limit - buf->len)
		return NULL;
	need = buf->len + len + 1;
	if (need > buf->size) {
		size_t size = buf->size > 0 ? buf->size : FIRST_SIZE;

		while (size < need)
			size = size <= SIZE_MAX / 2 ? size * 2 : need;
		if (size > buf->limit + 1)
			size = buf->limit + 1;
		buf->data = xrealloc(buf->data, size);
		buf->size = size;
		buf->data[buf->len] = '\0';
	}
	return buf->data + buf->len;
}

void
buf_commit(struct buf *buf, size_t len)
{
	assert(len < buf->size - buf->len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void
buf_consume(struct buf *buf, size_t len)
{
	assert(len <= buf->len);
	if (len == 0)
		return;
	buf->len -= len;
	/* One more for the NUL behind the contents. */
	memmove(buf->data, buf->data + len, buf->len + 1);
}

void
buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data != NULL)
		buf->data[0] = '\0';
}

void
buf_done(struct buf *buf)
{
	free(buf->data);
	buf->data = NULL;
	buf->len = 0;
	buf->size = 0;
}
