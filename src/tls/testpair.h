/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_TESTPAIR_H
#define TLS_TESTPAIR_H

/*
 * testpair - for tests: a CA, contexts made from it, and two sessions that talk
 * to each other over memory. A failure to set up ends the test.
 */

#include "tls/context.h"
#include "tls/pki.h"
#include "tls/session.h"

/* A CA named name and valid today. */
void testpair_ca(const char *name, struct tls_pki_pem *ret);

/* A node's certificate from ca, valid for a day unless validity is given. */
void testpair_node(const struct tls_pki_pem *ca, const char *node,
		   const struct tls_pki_validity *validity,
		   struct tls_pki_pem *ret);

/* A context from a node's credentials that trusts ca. */
struct tls_context *testpair_context(enum tls_role role,
				     const struct tls_pki_pem *node,
				     const struct tls_pki_pem *ca);

/*
 * One side of a connection. After a handshake either stream is set, or failure,
 * or neither while input is awaited.
 */
struct testpair_side {
	struct tls_session *session;
	enum tls_engine engine;
	enum tls_progress progress;
	struct tls_stream *stream;
	struct tls_failure failure;
	uint8_t left[TLS_SESSION_LEFT_MAX];
	size_t left_len;
};

struct testpair {
	struct testpair_side client;
	struct testpair_side server;
	size_t chunk; /* bytes per step; 0: all there is */
};

/* The URI of a node in the tests' own domain. */
const char *testpair_uri(const char *node, char buf[TLS_IDENTITY_SIZE]);

/*
 * Lets both sides talk until neither has anything to say, and turns sessions
 * that are done into streams. Bytes behind the handshake are in left.
 */
void testpair_run(struct testpair *pair);

/* Two good nodes "a" (client) and "b" (server), connected. */
void testpair_connect(struct testpair *pair, enum tls_engine client,
		      enum tls_engine server);

void testpair_done(struct testpair *pair);

#endif
