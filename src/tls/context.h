/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

/*
 * context - credentials of this node, ready for handshakes.
 *
 * A context is made from PEM text that was read beforehand (so that the files
 * need not be readable any more) and never changes. To use new certificates,
 * make a new one and drop the old: sessions hold a reference of their own, and
 * streams need none, so whatever runs goes on.
 *
 * Both roles speak TLS 1.3 only, with ALPN "ferry/1", and demand and verify the
 * other side's certificate: a chain to one of the CAs given, the extended key
 * usage of the other role, and the validity at the moment of the handshake.
 * There are no tickets and no resumption: every handshake is a full one.
 *
 * The result of verifying a peer's chain is remembered by the fingerprint of
 * its leaf (TLS_CHAIN_CACHE of them), for this context only. Validity is
 * checked each time, and so is the identity.
 *
 * Threading: any thread; the reference count and the cache are safe.
 */

#include <stddef.h>
#include <stdint.h>

struct err;
struct tls_context;

enum tls_role {
	TLS_ROLE_SERVER,
	TLS_ROLE_CLIENT,
	TLS_ROLE_COUNT,
};

#define TLS_ALPN "ferry/1"
#define TLS_CHAIN_CACHE 64
/* The longest PEM text that is looked at, each of the three. */
#define TLS_PEM_MAX (256 * 1024)

struct tls_pem {
	const char *cert; /* the leaf, then intermediates if any */
	size_t cert_len;
	const char *key; /* unencrypted private key of the leaf */
	size_t key_len;
	const char *ca; /* one or more CA certificates */
	size_t ca_len;
	const char *name; /* of these credentials, for messages */
};

/*
 * Makes a context with one reference, the caller's. The text is not kept.
 * Errors (ERR_INVALID) name the credentials and what is wrong with them. An
 * expired certificate is no error here: tls_context_not_after() tells, and the
 * peers will refuse it.
 */
int tls_context_new(enum tls_role role, const struct tls_pem *pem,
		    struct tls_context **ret, struct err *err);

struct tls_context *tls_context_ref(struct tls_context *ctx);
/* NULL is fine. */
void tls_context_unref(struct tls_context *ctx);

enum tls_role tls_context_role(const struct tls_context *ctx);

/* The first URI in the certificate's subject alternative name. */
const char *tls_context_identity(const struct tls_context *ctx);

/* Validity of the own certificate, in seconds since 1970. */
int64_t tls_context_not_before(const struct tls_context *ctx);
int64_t tls_context_not_after(const struct tls_context *ctx);

#endif
