/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_JWT_H
#define TLS_JWT_H

/*
 * jwt - signed tokens (RFC 7519) in the compact form of RFC 7515.
 *
 * A key is P-256 (ES256) or RSA of 2048 bits and more (RS256); the kind of key
 * decides the algorithm, never the token. The key id is what Kubernetes uses:
 * base64url of the SHA-256 of the public key. Claims are text here: what they
 * mean, the validity included, is for the caller to judge.
 *
 * Threading: any thread; a key never changes.
 */

#include <stddef.h>

struct err;
struct jwt_key;

/* The longest token and the longest claims that are looked at. */
#define JWT_TOKEN_MAX (64 * 1024)
#define JWT_CLAIMS_MAX (32 * 1024)

/*
 * From PEM, a private key (signs and verifies), a public key or a certificate
 * (verify only). The text is not kept. ERR_INVALID names name.
 */
int jwt_key_new(const char *pem, size_t len, const char *name,
		struct jwt_key **ret, struct err *err);
void jwt_key_free(struct jwt_key *key); /* NULL is fine */

const char *jwt_key_id(const struct jwt_key *key);
const char *jwt_key_algorithm(const struct jwt_key *key); /* "ES256", "RS256" */

/* Signs the JSON text; the caller owns *ret_token. */
int jwt_sign(const struct jwt_key *key, const char *claims, char **ret_token,
	     struct err *err);

/*
 * Verifies with the key that the token's header names, with any of the keys
 * when it names none. On success the caller owns the JSON text *ret_claims,
 * which may still be no JSON. ERR_INVALID: it is no token; ERR_DENIED: its key
 * is not known, or the signature is not that key's.
 */
int jwt_verify(const struct jwt_key *const *keys, size_t count,
	       const char *token, char **ret_claims, struct err *err);

#endif
