/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "http/internal.h"

static const struct {
	int code;
	const char *text;
} reasons[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 410, "Gone" },
	{ 412, "Precondition Failed" },
	{ 413, "Request Entity Too Large" },
	{ 415, "Unsupported Media Type" },
	{ 417, "Expectation Failed" },
	{ 422, "Unprocessable Entity" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
	{ 507, "Insufficient Storage" },
};

static const char *
reason_of(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (reasons[i].code == code)
			return reasons[i].text;
	}
	return "Status";
}

static void
put_status(struct conn *conn, int code)
{
	char line[80];

	(void)snprintf(line, sizeof(line), "HTTP/1.1 %d %s\r\n", code,
		       reason_of(code));
	outq_append_str(&conn->out, line);
}

static void
put_date(struct conn *conn)
{
	struct http_server *s = conn->server;
	time_t now = time(NULL);
	struct tm tm;

	if (s->date_second != (int64_t)now) {
		(void)gmtime_r(&now, &tm);
		(void)strftime(s->date, sizeof(s->date),
			       "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
		s->date_second = (int64_t)now;
	}
	outq_append_str(&conn->out, s->date);
}

/* Text that would begin a line of its own could pretend to be anything. */
static bool
is_line(const char *s)
{
	return strpbrk(s, "\r\n") == NULL;
}

static void
put_headers(struct conn *conn, const struct http_header *headers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct http_header *h = &headers[i];

		if (!is_line(h->name) || !is_line(h->value))
			continue;
		outq_append_str(&conn->out, h->name);
		outq_append(&conn->out, ": ", 2);
		outq_append_str(&conn->out, h->value);
		outq_append(&conn->out, "\r\n", 2);
	}
}

/* These have no body, and say nothing about its length. */
static bool
is_bodiless(int code)
{
	return code == 204 || code == 304;
}

static void
put_head(struct request *req, int code, const struct http_header *headers,
	 size_t count)
{
	struct conn *conn = req->conn;

	if (conn->server->draining)
		req->close = true;
	put_status(conn, code);
	put_date(conn);
	put_headers(conn, headers, count);
	if (req->close)
		outq_append_str(&conn->out, "Connection: close\r\n");
	else if (req->http10)
		outq_append_str(&conn->out, "Connection: keep-alive\r\n");
}

static void
put_length(struct conn *conn, size_t len)
{
	char line[48];

	(void)snprintf(line, sizeof(line), "Content-Length: %zu\r\n\r\n", len);
	outq_append_str(&conn->out, line);
}

/* Takes the request from its connection; what is left is the connection's. */
static void
finish(struct request *req)
{
	struct conn *conn = req->conn;
	bool close = req->close;

	conn->req = NULL;
	request_free(req);
	if (conn->state == CONN_BROKEN)
		conn_release(conn);
	else
		conn_answered(conn, close);
}

void
http_reply_taking(struct http_request *req, int code,
		  const struct http_header *headers, size_t count, char *body,
		  size_t len)
{
	struct request *r = (struct request *)req;
	struct conn *conn = r->conn;

	if (conn->state == CONN_BROKEN) {
		free(body);
		finish(r);
		return;
	}
	put_head(r, code, headers, count);
	if (is_bodiless(code))
		outq_append(&conn->out, "\r\n", 2);
	else
		put_length(conn, len);
	if (is_bodiless(code) || r->head_only)
		free(body);
	else
		outq_append_taking(&conn->out, body, len);
	finish(r);
}

void
http_reply(struct http_request *req, int code,
	   const struct http_header *headers, size_t count, const void *body,
	   size_t len)
{
	struct request *r = (struct request *)req;
	struct conn *conn = r->conn;

	if (conn->state != CONN_BROKEN) {
		put_head(r, code, headers, count);
		if (is_bodiless(code))
			outq_append(&conn->out, "\r\n", 2);
		else
			put_length(conn, len);
		if (!is_bodiless(code) && !r->head_only)
			outq_append(&conn->out, body, len);
	}
	finish(r);
}

void
http_stream_begin(struct http_request *req, int code,
		  const struct http_header *headers, size_t count)
{
	struct request *r = (struct request *)req;
	struct conn *conn = r->conn;

	r->streaming = true;
	/* It is not needed while the answer goes on, maybe for hours. */
	buf_done(&r->body);
	r->pub.body = NULL;
	r->pub.body_len = 0;
	if (conn->state == CONN_BROKEN)
		return;
	/* HTTP/1.0 knows no chunks: the end is the end of the connection. */
	if (r->http10)
		r->close = true;
	put_head(r, code, headers, count);
	if (!r->http10)
		outq_append_str(&conn->out, "Transfer-Encoding: chunked\r\n");
	outq_append(&conn->out, "\r\n", 2);
	server_kick(conn, false);
}

void
http_stream_write(struct http_request *req, const void *data, size_t len)
{
	struct request *r = (struct request *)req;
	struct conn *conn = r->conn;
	char size[24];

	if (conn->state == CONN_BROKEN || r->head_only || len == 0)
		return;
	if (r->http10) {
		outq_append(&conn->out, data, len);
	} else {
		int n = snprintf(size, sizeof(size), "%zx\r\n", len);

		outq_append(&conn->out, size, (size_t)n);
		outq_append(&conn->out, data, len);
		outq_append(&conn->out, "\r\n", 2);
	}
	if (conn->blocked)
		return;
	if (conn->out.len >= HTTP_FLUSH_BYTES)
		conn_flush(conn);
	else
		server_kick(conn, false);
}

size_t
http_stream_backlog(const struct http_request *req)
{
	const struct request *r = (const struct request *)req;

	return r->conn->out.len;
}

void
http_stream_on_drain(struct http_request *req, size_t below,
		     void (*fn)(struct http_request *req, void *arg), void *arg)
{
	struct request *r = (struct request *)req;

	r->on_drain = fn;
	r->on_drain_arg = arg;
	r->drain_below = below;
	if (fn != NULL && r->conn->state != CONN_BROKEN &&
	    r->conn->out.len <= below)
		server_kick(r->conn, true);
}

void
http_stream_end(struct http_request *req)
{
	struct request *r = (struct request *)req;
	struct conn *conn = r->conn;

	if (conn->state != CONN_BROKEN && !r->http10 && !r->head_only)
		outq_append_str(&conn->out, "0\r\n\r\n");
	finish(r);
}

void
http_stream_abort(struct http_request *req)
{
	struct request *r = (struct request *)req;
	struct conn *conn = r->conn;

	if (conn->state != CONN_BROKEN)
		conn_break(conn, true);
	finish(r);
}

void
reply_refuse(struct conn *conn, int code)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%d %s", code, reason_of(code));
	conn->server->stats.refused++;
	put_status(conn, code);
	put_date(conn);
	outq_append_str(&conn->out,
			"Content-Type: text/plain; charset=utf-8\r\n"
			"Connection: close\r\n");
	put_length(conn, strlen(text));
	outq_append_str(&conn->out, text);
	request_free(conn->req);
	conn->req = NULL;
	conn_answered(conn, true);
}

void
reply_continue(struct conn *conn)
{
	outq_append_str(&conn->out, "HTTP/1.1 100 Continue\r\n\r\n");
	conn_flush(conn);
}
