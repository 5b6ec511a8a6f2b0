/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_TESTAPI_H
#define KUBE_TESTAPI_H

/*
 * testapi - for tests: an API server that says what it is told, by HTTPS, and a
 * loop that it shares with its clients.
 *
 * Requests are answered in the order of their arrival, each by the next step of
 * the script; there must be one. A step with an expectation fails the test when
 * the request is another.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "http/server.h"
#include "tls/pki.h"

struct kube_client;
struct kube_client_options;
struct kube_config;

#define TESTAPI_REQUESTS 256
#define TESTAPI_STEPS 256

enum testapi_kind {
	TESTAPI_REPLY,
	TESTAPI_CUT,    /* the connection ends without an answer */
	TESTAPI_HOLD,   /* no answer */
	TESTAPI_STREAM, /* the body is the beginning of a stream */
};

struct testapi_step {
	/* "GET /path?query", or how that begins; NULL: anything. */
	const char *expect;
	enum testapi_kind kind;
	int code; /* 0: 200 */
	const char *body;
	const char *retry_after; /* the header; NULL: none */
};

struct testapi {
	struct loop *loop;
	struct loop_timer *tick;
	struct http_server *server;
	struct tls_https *tls;
	struct tls_pki_pem ca;
	struct tls_pki_pem cert;
	uint16_t port;

	struct testapi_step steps[TESTAPI_STEPS];
	unsigned step_count;
	unsigned handled;
	char *requests[TESTAPI_REQUESTS]; /* "METHOD path?query" */
	char *bodies[TESTAPI_REQUESTS];   /* "" where there was none */
	char *tokens[TESTAPI_REQUESTS];   /* the Authorization header, or "" */
	struct http_request *held;        /* the last that was held */
	struct http_request *stream;      /* the last that was begun */
	unsigned gone; /* held ones and streams whose clients left */
	bool (*condition)(void *arg);
	void *condition_arg;
	bool met;
	uint64_t waiting_since_ms;
};

void testapi_start(struct testapi *api);
void testapi_stop(struct testapi *api);

/* Appends to the script. */
void testapi_say(struct testapi *api, struct testapi_step step);

/* Stops listening, and starts again on the same port. */
void testapi_close(struct testapi *api);
void testapi_reopen(struct testapi *api);

/* Answers the request that was held last. */
void testapi_answer(struct testapi *api, const char *body);

/* On the stream that was begun last. */
void testapi_stream(struct testapi *api, const char *text);
void testapi_end_stream(struct testapi *api);
void testapi_cut_stream(struct testapi *api);

/* Runs the loop until it holds; what takes too long fails the test. */
void testapi_until(struct testapi *api, bool (*condition)(void *arg),
		   void *arg);
/* The same until *counter is at least value. */
void testapi_until_count(struct testapi *api, const unsigned *counter,
			 unsigned value);
/* Runs the loop for that long. */
void testapi_spend(struct testapi *api, unsigned ms);

/* How to reach it; the caller's. */
struct kube_config *testapi_config(const struct testapi *api);
/* A client with these options, of which loop and config are filled in; NULL:
 * the usual ones. */
struct kube_client *testapi_client(struct testapi *api,
				   const struct kube_client_options *options);

#endif
