/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_PKI_H
#define TLS_PKI_H

/*
 * pki - a small certificate authority: for nodes, for a cluster's server and
 * its users, for tests.
 *
 * ECDSA P-256 throughout. Nothing is written to disk.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tls/identity.h"

struct err;

struct tls_pki_pem {
	char *cert; /* NUL-terminated; cert_len without it */
	size_t cert_len;
	char *key;
	size_t key_len;
};

/* Wipes the key and frees both; pem may be reused. */
void tls_pki_pem_done(struct tls_pki_pem *pem);

/* In seconds since 1970; both ends count as valid. */
struct tls_pki_validity {
	int64_t not_before;
	int64_t not_after;
};

/* Of the first certificate in a text of PEM; ERR_INVALID when there is none. */
int tls_pki_read_validity(const char *pem, size_t len,
			  struct tls_pki_validity *ret, struct err *err);

/* From an hour ago (clocks differ) until that many days from now. */
struct tls_pki_validity tls_pki_days(unsigned days);

/* What the certificate may be used for; 0 means both. */
enum tls_pki_usage {
	TLS_PKI_SERVER = 1,
	TLS_PKI_CLIENT = 2,
};

struct tls_pki_node {
	const char *node; /* bare name or URI, see tls_identity_uri() */
	struct tls_pki_validity validity;
	unsigned usage;
};

#define TLS_PKI_NAME_MAX 300 /* characters of each name in a subject */

/*
 * A server by its names, or a user as Kubernetes reads it: the common name is
 * the user, the organizations are its groups.
 */
struct tls_pki_subject {
	const char *common_name;          /* never empty */
	const char *const *organizations; /* ended by NULL; NULL: none */
	const char *const *names; /* DNS or IP; ended by NULL; NULL: none */
	struct tls_pki_validity validity;
	unsigned usage;
};

/* On success the caller owns what *ret holds; on failure it is untouched. */
int tls_pki_make_ca(const char *common_name,
		    const struct tls_pki_validity *validity,
		    struct tls_pki_pem *ret, struct err *err);
int tls_pki_make_node(const struct tls_pki_pem *ca,
		      const struct tls_pki_node *node, struct tls_pki_pem *ret,
		      struct err *err);
int tls_pki_make_cert(const struct tls_pki_pem *ca,
		      const struct tls_pki_subject *subject,
		      struct tls_pki_pem *ret, struct err *err);

/* A key without a certificate, for signing tokens; ret->cert stays NULL. */
int tls_pki_make_key(struct tls_pki_pem *ret, struct err *err);

#endif
