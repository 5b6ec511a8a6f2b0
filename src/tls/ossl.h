/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_OSSL_H
#define TLS_OSSL_H

/*
 * ossl - what every user of OpenSSL in this directory needs: releasing locals,
 * turning its error queue into text. Private to src/tls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/err.h"

static inline void
ossl_bio_free(BIO **p)
{
	BIO_free_all(*p);
}

static inline void
ossl_pkey_free(EVP_PKEY **p)
{
	EVP_PKEY_free(*p);
}

static inline void
ossl_x509_free(X509 **p)
{
	X509_free(*p);
}

static inline void
ossl_names_free(GENERAL_NAMES **p)
{
	GENERAL_NAMES_free(*p);
}

/*
 * ERR_INTERNAL or the like with the oldest entry of the error queue appended to
 * the message; empties the queue. Returns -1.
 */
int ossl_err(struct err *err, enum err_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The oldest error in the queue in words, into buf; empties the queue. Returns
 * buf.
 */
const char *ossl_text(char *buf, size_t size);

/* Empties the error queue, after failures that do not count. */
void ossl_clear(void);

/*
 * For functions that read PEM: never asks on the terminal, an encrypted key is
 * an error.
 */
int ossl_no_passphrase(char *buf, int size, int rwflag, void *arg);

/* A point in time to seconds since 1970; -1 when it cannot be read. */
int ossl_time(const ASN1_TIME *time, int64_t *ret_seconds);

#endif
