/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"
#include "http/internal.h"

static const struct tls_https_peer nobody = { .common_name = "" };

static const struct tls_https_peer *
peer_now(const struct conn *conn)
{
	const struct tls_https_peer *peer = tls_https_peer(conn->tls);

	/* A connection may outlive the certificate it was made with. */
	if (peer->verified && peer->not_after < (int64_t)time(NULL))
		return &nobody;
	return peer;
}

struct request *
request_new(struct conn *conn, const char *text, size_t len,
	    struct head *ret_head, int *ret_code)
{
	size_t lines = head_count_lines(text, len);
	struct request *req;
	struct http_header *headers;
	char *copy;

	/* One piece of memory: the request, its headers, their text. */
	req = xmalloc0(sizeof(*req) + lines * sizeof(*headers) + len);
	headers = (struct http_header *)(req + 1);
	copy = (char *)(headers + lines);
	memcpy(copy, text, len);
	*ret_code = head_parse(copy, len, headers, ret_head);
	if (*ret_code != 0) {
		free(req);
		return NULL;
	}
	req->conn = conn;
	req->body = BUF_INIT(conn->server->limits.body_bytes);
	req->head_only = str_equal(ret_head->method, "HEAD");
	req->http10 = ret_head->http10;
	req->close = ret_head->close;
	req->pub.method = ret_head->method;
	req->pub.path = ret_head->path;
	req->pub.query = ret_head->query;
	req->pub.headers = headers;
	req->pub.header_count = ret_head->header_count;
	req->pub.peer = peer_now(conn);
	req->pub.remote = conn->remote;
	return req;
}

void
request_free(struct request *req)
{
	if (req == NULL)
		return;
	buf_done(&req->body);
	free(req);
}

const char *
http_header(const struct http_request *req, const char *name)
{
	for (size_t i = 0; i < req->header_count; i++) {
		if (strcasecmp(req->headers[i].name, name) == 0)
			return req->headers[i].value;
	}
	return NULL;
}

void
http_on_close(struct http_request *req,
	      void (*fn)(struct http_request *req, void *arg), void *arg)
{
	struct request *r = (struct request *)req;

	r->on_close = fn;
	r->on_close_arg = arg;
}

bool
http_is_gone(const struct http_request *req)
{
	const struct request *r = (const struct request *)req;

	return r->conn->state == CONN_BROKEN;
}
