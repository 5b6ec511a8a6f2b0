/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_CONTEXT_PRIV_H
#define TLS_CONTEXT_PRIV_H

/*
 * context_priv - what a session needs of its context. Private to src/tls.
 */

#include <stdbool.h>

#include <openssl/types.h>

#include "tls/chain.h"
#include "tls/context.h"

/* A new SSL for one handshake, tied to arg; NULL when out of memory. */
SSL *tls_context_new_ssl(struct tls_context *ctx, void *arg);
/* arg again, from within a callback; NULL after tls_context_untie(). */
void *tls_context_arg(const SSL *ssl);
void tls_context_untie(SSL *ssl);

bool tls_context_has_alpn(const struct tls_context *ctx);
struct tls_chain_cache *tls_context_chain_cache(struct tls_context *ctx);

/*
 * What libssl calls during a handshake; session.c has them, since they judge
 * for one session.
 */
struct tls_context_hooks {
	int (*verify)(X509_STORE_CTX *store, void *unused);
	void (*keylog)(const SSL *ssl, const char *line);
	int (*client_hello)(SSL *ssl, int *ret_alert, void *unused);
	int (*alpn)(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
		    const unsigned char *offered, unsigned offered_len,
		    void *unused);
};
extern const struct tls_context_hooks tls_session_hooks;

#endif
