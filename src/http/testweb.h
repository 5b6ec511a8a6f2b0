/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_TESTWEB_H
#define HTTP_TESTWEB_H

/*
 * testweb - for tests: a server and its clients in one thread, taking turns.
 * A failure, or nothing happening for long, ends the test.
 *
 * The server knows these paths; whatever has too_large set gets 413 "big".
 *
 *	/hello   "hello"
 *	/echo    method, path, query and body, with blanks between
 *	/peer    name and groups of the client's certificate
 *	/split   an answer with headers that try to be two
 *	/empty   204
 *	/large   a megabyte, copied; /taken: the same, taken
 *	/hold    the request is put into held[], not answered
 *	/stream  the same, and an answer begun
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/loop.h"
#include "http/server.h"
#include "tls/pki.h"
#include "tls/testclient.h"

#define TESTWEB_LARGE (1024 * 1024)
#define TESTWEB_HELD 256

struct testweb {
	struct loop *loop;
	struct http_server *server;
	struct tls_https *tls;
	uint16_t port;
	struct tls_pki_pem ca;
	struct tls_pki_pem cert;

	unsigned handled;
	struct http_request *held[TESTWEB_HELD]; /* NULL: let go */
	unsigned held_count;
	unsigned gone; /* calls of http_on_close() */
	bool let_go;   /* whether those cut the request at once */
	unsigned drained;
};

/* With certificates of its own; limits as given. */
void testweb_start(struct testweb *web, const struct http_limits *limits);
void testweb_stop(struct testweb *web);

/* A certificate from the web's CA, for a server unless user is given. */
void testweb_cert(struct testweb *web, const char *user,
		  const char *const *groups, struct tls_pki_pem *ret);
/* Made from cert; the caller's. */
struct tls_https *testweb_tls(const struct testweb *web,
			      const struct tls_pki_pem *cert);

/* One turn of the server. */
void testweb_turn(struct testweb *web);
/* Turns until *counter is at least value. */
void testweb_until(struct testweb *web, const unsigned *counter,
		   unsigned value);
/* Turns for that long, at the least. */
void testweb_spend(struct testweb *web, unsigned ms);

struct testweb_client {
	struct testweb *web;
	int fd;
	struct testclient *tls;
	struct buf in;    /* what was received, and not taken by expect() */
	unsigned records; /* received */
	bool eof;
	bool failed;
};

/* Connects; the handshake comes with the first use. */
void testweb_connect(struct testweb *web, struct testweb_client *c,
		     const struct testclient_config *config);
void testweb_disconnect(struct testweb_client *c);

/* Sends all of it, the server taking its turns meanwhile. */
void testweb_send(struct testweb_client *c, const char *text);
/* Sends what can be sent now; how much that was, or 0. */
size_t testweb_send_some(struct testweb_client *c, const void *data,
			 size_t len);
/* Receives what there is now; false when there was nothing. */
bool testweb_receive(struct testweb_client *c);
/* Receives until text is there, and drops everything up to its end. */
void testweb_expect(struct testweb_client *c, const char *text);
/* Receives until the connection ends, as it should or not. */
void testweb_expect_end(struct testweb_client *c);

/* "GET path HTTP/1.1" with a Host, sent. */
void testweb_get(struct testweb_client *c, const char *path);

#endif
