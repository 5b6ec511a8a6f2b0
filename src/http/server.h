/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

/*
 * server - an HTTPS server, HTTP/1.1 with keep-alive and chunked streams.
 *
 * A handler is called when a whole request is there. It answers with
 * http_reply(), or with http_stream_begin(), any number of http_stream_write()
 * and http_stream_end(); from within the handler, or at any time later. The
 * requests of one connection are handled one after the other.
 *
 * A request belongs to its handler until that has answered or cut it: it stays
 * valid even when the client is gone, and answering it is then without effect.
 * http_on_close() tells when that happens.
 *
 * What is wrong on the level of HTTP never reaches the handler: the server
 * answers 400, 408, 417, 431, 501 or 505 itself and closes. A body over the
 * limit does reach it, as a request without body with too_large set, so that
 * the answer has the API's form; the connection is closed after it.
 *
 * Memory per connection is bounded: the head and the body by the limits, input
 * behind the request being answered by a buffer of HTTP_INPUT_MAX, beyond which
 * the socket is not read, and a stream is cut off. Output is not: who writes a
 * stream must look at http_stream_backlog(). A client that takes nothing for
 * limits.write_ms is cut off.
 *
 * Small writes to streams are gathered and sent together, at the end of the
 * loop's turn or a few milliseconds later when there are many.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tls/https.h"

struct err;
struct http_server;
struct loop;

/* Unread input that is kept while a request is being answered. */
#define HTTP_INPUT_MAX (64 * 1024)
#define HTTP_HEADERS_MAX 256 /* lines in a request */

struct http_header {
	const char *name;
	const char *value;
};

/* What a handler sees. The texts live as long as the request. */
struct http_request {
	const char *method; /* "GET"; case matters */
	const char *path;   /* raw, before the '?'; begins with '/' or is "*" */
	const char *query;  /* raw, behind the '?'; "" when there is none */
	const struct http_header *headers; /* as they came */
	size_t header_count;
	const char *body; /* followed by a NUL; NULL when there is none */
	size_t body_len;
	bool too_large; /* the body was over the limit and is not here */
	/* Verified certificates only, checked for expiry now; never NULL. */
	const struct tls_https_peer *peer;
	const char *remote; /* "192.0.2.1:4711", "[2001:db8::1]:4711" */
	void *data;         /* the handler's own; NULL at first */
};

/* A value of 0 stands for the default. */
struct http_limits {
	unsigned connections;  /* 4096; beyond, the longest idle one goes */
	size_t header_bytes;   /* 128 KiB, request line and headers */
	size_t body_bytes;     /* 3 MiB + 64 KiB */
	unsigned handshake_ms; /* 10 s */
	unsigned header_ms;    /* 20 s from its first byte */
	unsigned body_ms;      /* 60 s from the end of the headers */
	unsigned idle_ms;      /* 180 s between requests */
	unsigned write_ms;     /* 60 s without the client taking anything */
};

struct http_config {
	struct loop *loop;
	int listen_fd; /* non-blocking and listening */
	struct tls_https *tls;
	struct http_limits limits;
	void (*handle)(struct http_request *req, void *arg);
	void *arg;
};

/*
 * Serves from now on. The server owns listen_fd, on failure too, and holds a
 * reference to tls.
 */
struct http_server *http_server_new(const struct http_config *config);

/*
 * Cuts all connections, telling http_on_close(). Requests that were not
 * answered stay valid for their handlers. Not from within a callback of the
 * server, except for the one of http_server_drain(). NULL is fine.
 */
void http_server_free(struct http_server *server);

/* New connections use tls; others keep what they have. */
void http_server_set_tls(struct http_server *server, struct tls_https *tls);

/* Closes the listening socket. */
void http_server_stop_listening(struct http_server *server);

/*
 * Stops listening, closes idle connections at once and each other one after
 * the answer it is waiting for; done is called, once and not from within, when
 * none is left. A connection that has had no request yet is not idle: its
 * client has just come and would take the end for a failure. It has one
 * request, if that comes within five seconds (header_ms, if that is less).
 * Streams are for their writers to end.
 */
void http_server_drain(struct http_server *server, void (*done)(void *arg),
		       void *arg);

struct http_stats {
	unsigned connections; /* now */
	unsigned answering;   /* now: requests with a handler */
	uint64_t accepted;
	uint64_t evicted; /* idle ones that made room for others */
	uint64_t requests;
	uint64_t refused;    /* requests the server answered by itself */
	uint64_t tls_failed; /* handshakes */
	uint64_t sent_bytes; /* before encryption */
};

const struct http_stats *http_server_stats(const struct http_server *server);

/* The first header of that name, without regard to case; NULL if none. */
const char *http_header(const struct http_request *req, const char *name);

/*
 * Answers and gives the request away. Headers and body are copied; the server
 * adds Content-Length, Date and, where needed, Connection. The answer to HEAD
 * has the length but not the body. Header values must not have line ends; one
 * that does is left out.
 */
void http_reply(struct http_request *req, int code,
		const struct http_header *headers, size_t count,
		const void *body, size_t len);

/*
 * The same with a body that was allocated with malloc() and is not copied; it
 * is freed when it has been sent.
 */
void http_reply_taking(struct http_request *req, int code,
		       const struct http_header *headers, size_t count,
		       char *body, size_t len);

/*
 * Starts an answer of unknown length; its head is sent even without a write.
 * The request's own body is freed: the answer may last for hours.
 */
void http_stream_begin(struct http_request *req, int code,
		       const struct http_header *headers, size_t count);
/* Appends; never fails, never calls back. */
void http_stream_write(struct http_request *req, const void *data, size_t len);
/* Bytes that were written and have not been taken by the socket. */
size_t http_stream_backlog(const struct http_request *req);
/*
 * Calls fn once, from the loop and not from within, when the backlog has come
 * down to below or less. Never called when the client goes first. NULL
 * withdraws it.
 */
void http_stream_on_drain(struct http_request *req, size_t below,
			  void (*fn)(struct http_request *req, void *arg),
			  void *arg);
/* Ends the answer and gives the request away. */
void http_stream_end(struct http_request *req);
/*
 * Cuts the connection, so that what was sent cannot be taken for a whole
 * answer, and gives the request away. Also for a request that was never
 * answered, and for one whose client is gone.
 */
void http_stream_abort(struct http_request *req);

/*
 * Calls fn once when the client is gone before the answer ends, soon after the
 * kernel knows. The request stays the handler's: fn, or someone later, must
 * give it away by one of the functions that do. Not called for what the
 * handler itself cuts. NULL withdraws it.
 */
void http_on_close(struct http_request *req,
		   void (*fn)(struct http_request *req, void *arg), void *arg);
/* Whether the client is known to be gone. */
bool http_is_gone(const struct http_request *req);

#endif
