/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_TESTCLIENT_H
#define TLS_TESTCLIENT_H

/*
 * testclient - for tests: a TLS client on a socket that never waits, so that
 * one thread can be client and server in turns.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tls/pki.h"

struct testclient;

struct testclient_config {
	const struct tls_pki_pem *ca;   /* the server's; NULL: any server */
	const struct tls_pki_pem *cert; /* the client's; NULL: none */
	const char *alpn;               /* NULL: none */
	bool tls12;                     /* no newer version */
};

/* On fd, which is non-blocking and stays the caller's. */
struct testclient *testclient_new(int fd,
				  const struct testclient_config *config);
void testclient_free(struct testclient *c); /* NULL is fine */

/*
 * Each does what it can now. The handshake is part of the first that is called
 * often enough. -1 with errno EAGAIN: call again; EPROTO: TLS failed. A read
 * of 0 is the end. A read yields one record at most.
 */
ssize_t testclient_read(struct testclient *c, void *data, size_t size);
ssize_t testclient_write(struct testclient *c, const void *data, size_t len);
int testclient_handshake(struct testclient *c);
/* Sends close_notify. */
void testclient_close_notify(struct testclient *c);

/* "" when none was agreed on. */
const char *testclient_alpn(struct testclient *c, char *buf, size_t size);
const char *testclient_version(const struct testclient *c);
/* The common name of the server's certificate. */
const char *testclient_server(struct testclient *c, char *buf, size_t size);

#endif
