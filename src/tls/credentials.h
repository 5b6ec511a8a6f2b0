/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_CREDENTIALS_H
#define TLS_CREDENTIALS_H

/*
 * credentials - PEM text into an SSL_CTX, with errors that name the fault.
 * Private to src/tls.
 */

#include <openssl/types.h>

#include "tls/context.h"

struct err;

/*
 * Gives ssl_ctx the certificate, its chain, the key and the trusted CAs. The
 * leaf stays owned by ssl_ctx.
 */
int tls_credentials_load(SSL_CTX *ssl_ctx, enum tls_role role,
			 const struct tls_pem *pem, struct err *err);

/* The same without the CAs, and the CAs alone. */
int tls_credentials_load_own(SSL_CTX *ssl_ctx, enum tls_role role,
			     const struct tls_pem *pem, struct err *err);
int tls_credentials_load_ca(SSL_CTX *ssl_ctx, const struct tls_pem *pem,
			    struct err *err);
/* The CAs into a store. */
int tls_credentials_load_store(X509_STORE *store, const struct tls_pem *pem,
			       struct err *err);

#endif
