/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/err.h"
#include "http/internal.h"

bool
input_has_room(const struct conn *c)
{
	if (c->state == CONN_READING && (c->in_body || c->out.len == 0))
		return true;
	return (c->state == CONN_READING || c->state == CONN_ANSWERING) &&
	       c->in.len - c->in_used < HTTP_INPUT_MAX;
}

static void
dispatch(struct conn *c)
{
	struct http_server *s = c->server;
	struct request *req = c->req;

	c->in_body = false;
	c->state = CONN_ANSWERING;
	server_set_queue(c, NULL);
	req->pub.body = (const char *)req->body.data;
	req->pub.body_len = req->body.len;
	s->stats.requests++;
	s->stats.answering++;
	s->handle(&req->pub, s->arg);
}

/* The API answers this one itself; what follows cannot be told from it. */
static void
dispatch_too_large(struct conn *c)
{
	buf_done(&c->req->body);
	c->req->pub.too_large = true;
	c->req->close = true;
	dispatch(c);
}

/* Takes what is there of the body; false when more must come first. */
static bool
take_body(struct conn *c)
{
	const char *data = (const char *)c->in.data + c->in_used;
	size_t len = c->in.len - c->in_used;
	size_t used = 0;

	if (!c->chunked) {
		used = len < c->body_left ? len : (size_t)c->body_left;
		(void)buf_append(&c->req->body, data, used);
		c->in_used += used;
		c->body_left -= used;
		if (c->body_left > 0)
			return false;
		dispatch(c);
		return true;
	}
	switch (chunk_feed(&c->chunk, data, len, &c->req->body, &used)) {
	case CHUNK_MORE:
		c->in_used += used;
		return false;
	case CHUNK_COMPLETE:
		c->in_used += used;
		dispatch(c);
		return true;
	case CHUNK_TOO_LARGE:
		dispatch_too_large(c);
		return true;
	case CHUNK_BAD:
		break;
	}
	reply_refuse(c, 400);
	return false;
}

static bool
take_request(struct conn *c, const struct head *head)
{
	c->chunked = head->chunked;
	c->body_left = head->length;
	c->chunk = (struct chunk){ 0 };
	if (head->length > c->server->limits.body_bytes) {
		dispatch_too_large(c);
		return true;
	}
	if (!head->chunked && head->length == 0) {
		dispatch(c);
		return true;
	}
	c->in_body = true;
	/* Not when it did not wait for that. */
	if (head->expects && c->in.len == c->in_used)
		reply_continue(c);
	return true;
}

/* Takes a head off the input; false when more must come first. */
static bool
take_head(struct conn *c)
{
	const char *data = (const char *)c->in.data + c->in_used;
	size_t len = c->in.len - c->in_used;
	size_t max = c->server->limits.header_bytes;
	size_t n = len > 0 ? head_end(data, len, &c->scanned) : 0;
	struct head head;
	int code;

	if (n > max || (n == 0 && len > max)) {
		reply_refuse(c, 431);
		return false;
	}
	if (n == 0)
		return false;
	c->scanned = 0;
	c->in_used += n;
	c->req = request_new(c, data, n, &head, &code);
	if (c->req == NULL) {
		reply_refuse(c, code);
		return false;
	}
	return take_request(c, &head);
}

/* Handles as many whole requests as are here. */
static void
process(struct conn *c)
{
	while (c->state == CONN_READING) {
		if (c->in_body) {
			if (!take_body(c))
				return;
			continue;
		}
		if (c->out.len > 0)
			return;
		if (c->turn++ == HTTP_TURN_REQUESTS) {
			c->put_off = true;
			server_kick(c, true);
			return;
		}
		if (!take_head(c))
			return;
	}
}

/* The client has ended its direction, or broke the protocol. */
static void
end_of_input(struct conn *c)
{
	/* Someone who closes behind the question still gets the answer. */
	if (c->state == CONN_READING && !c->in_body && c->out.len > 0)
		c->state = CONN_CLOSING;
	else
		conn_break(c, false);
}

/* Reads a piece; false when there is none now. */
static bool
read_piece(struct conn *c)
{
	struct err err;
	uint8_t *room;
	size_t len;

	if (c->in_used > 0) {
		buf_consume(&c->in, c->in_used);
		c->in_used = 0;
	}
	room = buf_reserve(&c->in, INPUT_PIECE);
	assert(room != NULL);
	c->read_wants_write = false;
	switch (tls_https_read(c->tls, room, INPUT_PIECE, &len, &err)) {
	case TLS_HTTPS_OK:
		buf_commit(&c->in, len);
		return true;
	case TLS_HTTPS_WANT_WRITE:
		c->read_wants_write = true;
		return false;
	case TLS_HTTPS_WANT_READ:
		c->stuffed = false;
		return false;
	case TLS_HTTPS_CLOSED:
	case TLS_HTTPS_PLAIN:
	case TLS_HTTPS_FAILED:
		break;
	}
	end_of_input(c);
	return false;
}

void
input_read(struct conn *c)
{
	c->turn = 0;
	c->put_off = false;
	process(c);
	while (!c->put_off && input_has_room(c) && read_piece(c))
		process(c);
}
