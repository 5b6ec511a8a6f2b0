/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_CHUNK_H
#define HTTP_CHUNK_H

/*
 * chunk - takes the framing off a chunked body (RFC 9112, section 7.1).
 *
 * Extensions and trailers are read and dropped, CHUNK_WASTE_MAX bytes of them
 * in a whole body. Pure but for the memory of the output.
 */

#include <stddef.h>
#include <stdint.h>

struct buf;

#define CHUNK_WASTE_MAX (64 * 1024)

enum chunk_state {
	CHUNK_SIZE,      /* hexadecimal digits */
	CHUNK_EXTENSION, /* up to the line's end */
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	CHUNK_TRAILER, /* at the start of a line */
	CHUNK_TRAILER_LINE,
	CHUNK_TRAILER_LF,
	CHUNK_END_LF,
	CHUNK_DONE,
};

struct chunk {
	enum chunk_state state;
	unsigned digits;
	uint64_t left;
	size_t waste;
};

enum chunk_result {
	CHUNK_MORE, /* all input was taken */
	CHUNK_COMPLETE,
	CHUNK_BAD,
	CHUNK_TOO_LARGE, /* beyond out's limit */
};

/*
 * Takes input and appends the body to out. A zeroed struct chunk is one at the
 * start. *ret_used is how much of the input belonged to the body; what follows
 * is the next request's.
 */
enum chunk_result chunk_feed(struct chunk *c, const char *data, size_t len,
			     struct buf *out, size_t *ret_used);

#endif
