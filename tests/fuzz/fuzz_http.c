/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Feeds bytes to the parsers of the HTTP server as a connection would: the
 * first byte says in which pieces. Heads are found and taken apart, bodies
 * follow, then the next request. Whatever is sent, nothing is read beyond the
 * input, what is accepted is what it says it is, and the limit of a body holds.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "http/chunk.h"
#include "http/head.h"

#define BODY_MAX 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_text(const char *text, const char *start, size_t len)
{
	assert(text >= start && text < start + len);
	assert(strlen(text) < len);
	assert(strpbrk(text, "\r\n") == NULL);
}

static void
check_head(const struct head *head, const char *start, size_t len)
{
	check_text(head->method, start, len);
	assert(*head->method != '\0');
	assert(*head->path == '/' || strcmp(head->path, "*") == 0);
	assert(strpbrk(head->path, " ?#") == NULL);
	assert(strpbrk(head->query, " #") == NULL);
	assert(head->header_count <= HTTP_HEADERS_MAX);
	assert(!head->chunked || head->length == 0);
	for (size_t i = 0; i < head->header_count; i++) {
		check_text(head->headers[i].name, start, len);
		check_text(head->headers[i].value, start, len);
		assert(*head->headers[i].name != '\0');
		assert(strpbrk(head->headers[i].name, " \t:") == NULL);
		(void)head_list_has(head->headers[i].value, "close");
	}
}

/* A head of exactly that length, in memory of exactly that length. */
static int
parse(const char *text, size_t len, struct head *ret)
{
	struct http_header *headers =
		xcalloc(head_count_lines(text, len), sizeof(*headers));
	char *copy = xmalloc0(len);
	int code;

	memcpy(copy, text, len);
	code = head_parse(copy, len, headers, ret);
	assert(code == 0 || (code >= 400 && code < 600));
	if (code == 0)
		check_head(ret, copy, len);
	free(copy);
	free(headers);
	return code;
}

/* How much of data is the body; 0 when it is refused or not complete. */
static size_t
take_chunks(const char *data, size_t len, size_t piece)
{
	struct buf body = BUF_INIT(BODY_MAX);
	enum chunk_result result = CHUNK_MORE;
	struct chunk chunk = { 0 };
	size_t pos = 0;

	while (result == CHUNK_MORE && pos < len) {
		size_t n = len - pos < piece ? len - pos : piece;
		size_t used = 0;

		result = chunk_feed(&chunk, data + pos, n, &body, &used);
		assert(used <= n);
		assert(result != CHUNK_MORE || used == n);
		assert(body.len <= BODY_MAX && body.len <= len);
		pos += used;
	}
	buf_done(&body);
	return result == CHUNK_COMPLETE ? pos : 0;
}

/* The length of the request at the start of data; 0 when there is none. */
static size_t
take_request(const char *data, size_t len, size_t piece)
{
	struct head head;
	size_t scanned = 0;
	size_t seen = 0;
	size_t end = 0;
	size_t body = 0;

	while (end == 0 && seen < len) {
		seen = len - seen < piece ? len : seen + piece;
		end = head_end(data, seen, &scanned);
		assert(end <= seen);
	}
	if (end == 0 || parse(data, end, &head) != 0)
		return 0;
	if (head.chunked) {
		body = take_chunks(data + end, len - end, piece);
		return body > 0 ? end + body : 0;
	}
	return head.length <= len - end ? end + (size_t)head.length : 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	size_t used;

	if (size < 1)
		return 0;
	size--;
	while ((used = take_request(text, size, data[0] + 1U)) > 0) {
		text += used;
		size -= used;
	}
	return 0;
}
