/* SPDX-License-Identifier: Apache-2.0 */
#include "http/chunk.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* More would not fit into 64 bits, and is over any limit long before. */
#define DIGITS_MAX 15

static bool
take_size(struct chunk *c, char byte)
{
	int digit = str_hex_digit(byte);

	if (digit >= 0) {
		c->left = c->left << 4 | (uint64_t)digit;
		return ++c->digits <= DIGITS_MAX;
	}
	if (c->digits == 0)
		return false;
	if (byte == '\r') {
		c->state = CHUNK_SIZE_LF;
		return true;
	}
	c->state = CHUNK_EXTENSION;
	return byte == ';' || byte == ' ' || byte == '\t';
}

/* A byte of what is dropped; a line ends with CR LF and has no other CR, LF. */
static bool
take_waste(struct chunk *c, char byte, enum chunk_state line_end)
{
	if (byte == '\r') {
		c->state = line_end;
		return true;
	}
	return byte != '\n' && byte != '\0' && ++c->waste <= CHUNK_WASTE_MAX;
}

static bool
expect(struct chunk *c, char byte, char wanted, enum chunk_state next)
{
	c->state = next;
	return byte == wanted;
}

static bool
take_size_end(struct chunk *c, char byte)
{
	c->digits = 0;
	return expect(c, byte, '\n', c->left > 0 ? CHUNK_DATA : CHUNK_TRAILER);
}

/* One byte of the framing; false when it cannot stand there. */
static bool
take_byte(struct chunk *c, char byte)
{
	switch (c->state) {
	case CHUNK_SIZE:
		return take_size(c, byte);
	case CHUNK_EXTENSION:
		return take_waste(c, byte, CHUNK_SIZE_LF);
	case CHUNK_SIZE_LF:
		return take_size_end(c, byte);
	case CHUNK_DATA_CR:
		return expect(c, byte, '\r', CHUNK_DATA_LF);
	case CHUNK_DATA_LF:
		return expect(c, byte, '\n', CHUNK_SIZE);
	case CHUNK_TRAILER:
		if (byte == '\r') {
			c->state = CHUNK_END_LF;
			return true;
		}
		c->state = CHUNK_TRAILER_LINE;
		return take_waste(c, byte, CHUNK_TRAILER_LF);
	case CHUNK_TRAILER_LINE:
		return take_waste(c, byte, CHUNK_TRAILER_LF);
	case CHUNK_TRAILER_LF:
		return expect(c, byte, '\n', CHUNK_TRAILER);
	case CHUNK_END_LF:
		return expect(c, byte, '\n', CHUNK_DONE);
	case CHUNK_DATA:
	case CHUNK_DONE:
		break;
	}
	return false;
}

enum chunk_result
chunk_feed(struct chunk *c, const char *data, size_t len, struct buf *out,
	   size_t *ret_used)
{
	size_t pos = 0;

	while (pos < len && c->state != CHUNK_DONE) {
		size_t n;

		if (c->state != CHUNK_DATA) {
			if (!take_byte(c, data[pos]))
				return CHUNK_BAD;
			pos++;
			/* Known before the first of its bytes is here. */
			if (c->left > out->limit - out->len)
				return CHUNK_TOO_LARGE;
			continue;
		}
		n = len - pos < c->left ? len - pos : (size_t)c->left;
		(void)buf_append(out, data + pos, n);
		pos += n;
		c->left -= n;
		if (c->left == 0)
			c->state = CHUNK_DATA_CR;
	}
	*ret_used = pos;
	return c->state == CHUNK_DONE ? CHUNK_COMPLETE : CHUNK_MORE;
}
