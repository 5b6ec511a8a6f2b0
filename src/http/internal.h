/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_INTERNAL_H
#define HTTP_INTERNAL_H

/*
 * internal - what the files of the server share: server.c (listening, all
 * connections), conn.c (one connection), input.c (what comes in), request.c,
 * reply.c (what goes out). Private to src/http.
 *
 * DOC: a connection
 *
 *	HANDSHAKE --> READING <--------------------+
 *	                 | a whole request is here | the answer is complete
 *	                 v                         |
 *	             ANSWERING --------------------+
 *	                 | no further request      |
 *	                 v                         |
 *	              CLOSING (output is sent) --> LINGERING (input is dropped)
 *
 * From every state it may become BROKEN, when the socket fails, and is freed
 * from the loop soon after. The next request is not looked at before the
 * answer to the last one has been taken by the socket, so that a client that
 * asks and never reads cannot make output pile up.
 *
 * What a handler calls never frees a connection and never calls back: it marks
 * the connection and kicks the server, whose timer does the rest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "http/chunk.h"
#include "http/head.h"
#include "http/outq.h"
#include "http/server.h"
#include "tls/https.h"

struct loop;
struct loop_io;
struct loop_timer;

/* The least time between two rounds of sending what streams have gathered. */
#define HTTP_PACE_US 4000
/* Gathered bytes that do not wait for the round. */
#define HTTP_FLUSH_BYTES (2 * OUTQ_BLOCK)
/* After the last answer: for the client to read it and close. */
#define HTTP_LINGER_MS 2000
#define HTTP_LINGER_BYTES (32UL * 1024 * 1024)
/* When the server drains: for a client that has just come to ask. */
#define HTTP_NEWCOMER_MS 5000
/* A handshake that takes longer makes room for newcomers. */
#define HTTP_SHAKING_MS 1000
/* Requests of one connection that are handled before others get their turn. */
#define HTTP_TURN_REQUESTS 16

struct request {
	struct http_request pub; /* first: handlers have this */
	struct conn *conn;       /* lives as long as the request */
	struct buf body;
	bool head_only; /* the answer to HEAD has no body */
	bool http10;
	bool close; /* no further request on this connection */
	bool streaming;
	void (*on_close)(struct http_request *req, void *arg);
	void *on_close_arg;
	void (*on_drain)(struct http_request *req, void *arg);
	void *on_drain_arg;
	size_t drain_below;
	/* Then the headers, then the text they point to. */
};

enum conn_state {
	CONN_HANDSHAKE,
	CONN_READING,
	CONN_ANSWERING,
	CONN_CLOSING,
	CONN_LINGERING,
	CONN_BROKEN,
};

/* What the connection's timer is running for. */
enum conn_wait {
	CONN_WAIT_NOTHING,
	CONN_WAIT_HANDSHAKE,
	CONN_WAIT_FIRST, /* request */
	CONN_WAIT_NEXT,  /* request */
	CONN_WAIT_HEAD,
	CONN_WAIT_BODY,
	CONN_WAIT_TAKER, /* for the client to read */
	CONN_WAIT_LINGER,
};

TAILQ_HEAD(conn_queue, conn);
LIST_HEAD(conn_list, conn);

struct conn {
	struct http_server *server;
	LIST_ENTRY(conn) all;
	TAILQ_ENTRY(conn) waiting;
	struct conn_queue *queue;  /* of those that wait for their client */
	TAILQ_ENTRY(conn) pending; /* while is_pending: for the kick */
	bool is_pending;

	enum conn_state state;
	bool stuffed;          /* there may be input, but no room for it */
	bool blocked;          /* there is output, but no room for it */
	bool read_wants_write; /* TLS has to say something first */
	bool write_wants_read;
	bool reset;    /* BROKEN on purpose: end it with a reset */
	bool served;   /* had a request before */
	bool put_off;  /* has input, and a kick coming for it */
	unsigned turn; /* requests since others had theirs */
	/* Someone above on the stack uses it: it is not freed. */
	unsigned busy;

	uint64_t accepted_ms;
	int fd; /* -1: only kept for its request, the server may be gone */
	struct loop_io *io;
	struct loop_timer *timer;
	enum conn_wait wait;
	uint64_t progress_ms; /* when the client last took something */
	struct tls_https_conn *tls;
	char remote[64];

	struct buf in;
	size_t in_used;      /* bytes at the start that are done with */
	size_t scanned;      /* behind in_used, without the end of a head */
	struct request *req; /* being read, or being answered */
	bool in_body;
	bool chunked;
	uint64_t body_left;
	struct chunk chunk;

	struct outq out;
	size_t lingered; /* bytes */
};

struct http_server {
	struct loop *loop;
	struct tls_https *tls;
	struct http_limits limits;
	void (*handle)(struct http_request *req, void *arg);
	void *arg;

	int listen_fd;
	struct loop_io *listen_io;
	struct loop_timer *accept_timer; /* runs while accepting rests */
	bool full;

	struct conn_list conns;
	struct conn_queue idle;    /* between requests, the longest first */
	struct conn_queue shaking; /* in handshakes, the oldest first */
	struct conn_queue pending;
	struct loop_timer *kick;
	bool kick_now;     /* the kick is due at once, not at the next round */
	uint64_t round_ns; /* when streams were last sent */
	struct outq_pool pool;

	bool draining;
	struct loop_timer *newcomers; /* how long they may take to ask */
	void (*drained)(void *arg);
	void *drained_arg;

	struct http_stats stats;
	int64_t date_second;
	char date[40]; /* "Date: ...\r\n" of that second */
};

/* server.c */

/* Has conn looked at by conn_run(): at once, or with the next round. */
void server_kick(struct conn *conn, bool now);
/* Puts conn at the end of a queue, unless it is there; NULL: none. */
void server_set_queue(struct conn *conn, struct conn_queue *queue);
/* Takes conn out of all lists. */
void server_forget(struct conn *conn);

/* conn.c */

/* Takes fd. */
void conn_new(struct http_server *server, int fd, const char *remote);
/* What a kick is for: sends, reads on, tells who waits, or frees. */
void conn_run(struct conn *conn);
/*
 * Ends it now. The handler of a request is told, and keeps the request; the
 * memory goes with it.
 */
void conn_cut(struct conn *conn, bool reset);
/* Frees what conn_cut() kept for its request. */
void conn_release(struct conn *conn);

/*
 * The rest may be called by handlers. None of it calls back or frees; a failure
 * makes the connection BROKEN.
 */

/* Sends what it can, unless it waits for room. */
void conn_flush(struct conn *conn);
/* The answer is complete in the output, the request has gone. */
void conn_answered(struct conn *conn, bool close);
void conn_break(struct conn *conn, bool reset);

/* input.c */

/* What one read takes at most. */
#define INPUT_PIECE ((size_t)16384)

/* Whether more input can be taken now. */
bool input_has_room(const struct conn *conn);
/*
 * Reads what there is and has whole requests handled. Only from the loop, with
 * conn busy: handlers are called.
 */
void input_read(struct conn *conn);

/* request.c */

/*
 * A request from the text of its head, with what it says about the body in
 * *ret_head; NULL and *ret_code when it is to be refused.
 */
struct request *request_new(struct conn *conn, const char *text, size_t len,
			    struct head *ret_head, int *ret_code);
void request_free(struct request *req);

/* reply.c */

/* An answer of the server itself, such as "400 Bad Request", and the end. */
void reply_refuse(struct conn *conn, int code);
void reply_continue(struct conn *conn);

#endif
