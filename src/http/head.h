/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

/*
 * head - the request line and the headers of a request (RFC 9112), strictly.
 *
 * What two programs could read in two ways is refused: bare line ends, folded
 * lines, blanks before a colon, two lengths, a length beside a chunked body.
 * Pure: no I/O, no memory of its own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/server.h"

/*
 * The length of the head at the start of data, its empty line included; 0 when
 * its end is not there yet. *scanned, 0 at first, saves looking twice at what
 * was seen in an earlier call.
 */
size_t head_end(const char *data, size_t len, size_t *scanned);

/* How many headers a head of that length has at most, for head_parse(). */
size_t head_count_lines(const char *text, size_t len);

struct head {
	const char *method;
	const char *path;
	const char *query;
	struct http_header *headers;
	size_t header_count;
	bool http10;
	bool close;   /* the client wants no further request after this */
	bool expects; /* it waits for "100 Continue" */
	bool chunked; /* the length follows from the body itself */
	uint64_t length;
};

/*
 * Takes text apart in place; it becomes several texts, each ended by a NUL,
 * and ret points into it. headers has room for head_count_lines(). Returns 0,
 * or the status to refuse it with: 400, 417, 431, 501 or 505.
 */
int head_parse(char *text, size_t len, struct http_header *headers,
	       struct head *ret);

/*
 * Whether a list of words ("keep-alive, Upgrade") has the word, without regard
 * to case.
 */
bool head_list_has(const char *list, const char *word);

#endif
