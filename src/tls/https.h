/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_HTTPS_H
#define TLS_HTTPS_H

/*
 * https - TLS of an HTTPS server, on connected sockets.
 *
 * TLS 1.2 and 1.3, ALPN "http/1.1". A client may show a certificate. One that
 * does not verify does not end the handshake: the connection is that of an
 * unknown client then, as Kubernetes does it, and whoever asks for a name
 * refuses it with a proper answer. There are no tickets and no resumption.
 *
 * A context is made from PEM text and never changes. To use new certificates,
 * make a new one and drop the old: connections hold a reference of their own.
 *
 * Threading: a context any thread; a connection one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct tls_https;
struct tls_https_conn;

struct tls_https_pem {
	const char *cert; /* the leaf, then intermediates if any */
	size_t cert_len;
	const char *key; /* unencrypted private key of the leaf */
	size_t key_len;
	const char *client_ca; /* NULL: client certificates are not asked for */
	size_t client_ca_len;
	/* Another authority, which says nothing about names; NULL: none. */
	const char *caller_ca;
	size_t caller_ca_len;
	const char *name; /* of these credentials, for messages */
};

/* On success the caller owns one reference. The text is not kept. */
int tls_https_new(const struct tls_https_pem *pem, struct tls_https **ret,
		  struct err *err);
struct tls_https *tls_https_ref(struct tls_https *ctx);
void tls_https_unref(struct tls_https *ctx); /* NULL is fine */

/* Who showed a certificate that a client CA vouches for. */
struct tls_https_peer {
	/* Its certificate is one of caller_ca, whatever its name is. That of
	 * client_ca need not be meant: the two do not stand for each other. */
	bool is_caller;
	bool verified;              /* else all below is empty */
	const char *common_name;    /* "" when there is none */
	const char **organizations; /* in the certificate's order */
	size_t organization_count;
	int64_t not_after; /* seconds since 1970; of the leaf */
};

enum tls_https_io {
	TLS_HTTPS_OK,
	TLS_HTTPS_WANT_READ,
	TLS_HTTPS_WANT_WRITE,
	TLS_HTTPS_CLOSED, /* the client has ended its direction, or is gone */
	TLS_HTTPS_PLAIN,  /* the client speaks plain HTTP */
	TLS_HTTPS_FAILED, /* err says why */
};

/* A connection on fd, which is non-blocking and stays the caller's. */
struct tls_https_conn *tls_https_conn_new(struct tls_https *ctx, int fd);
void tls_https_conn_free(struct tls_https_conn *conn); /* NULL is fine */

/* To be called, when the socket is ready as wanted, until it is OK. */
enum tls_https_io tls_https_handshake(struct tls_https_conn *conn,
				      struct err *err);

/* After the handshake; valid as long as conn is. */
const struct tls_https_peer *tls_https_peer(const struct tls_https_conn *conn);

/*
 * Read until it wants something: bytes that were received and not yet asked
 * for do not make the socket readable. A write that wants must be repeated
 * with the same bytes, more may follow them; OK may have written a part.
 * Neither raises SIGPIPE.
 */
enum tls_https_io tls_https_read(struct tls_https_conn *conn, void *data,
				 size_t size, size_t *ret_len, struct err *err);
enum tls_https_io tls_https_write(struct tls_https_conn *conn, const void *data,
				  size_t len, size_t *ret_len, struct err *err);

/* Sends close_notify if there is room for it. */
void tls_https_close_notify(struct tls_https_conn *conn);

#endif
