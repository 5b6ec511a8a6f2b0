/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_CHAIN_H
#define TLS_CHAIN_H

/*
 * chain - verifying a peer's certificate chain, and remembering the result.
 *
 * A chain that was found good is remembered by the SHA-256 of its leaf, with
 * the span of time in which all its certificates are valid. Within that span
 * the answer cannot change, as the CAs do not change during the life of a
 * context and there is no revocation. The oldest entry makes room.
 *
 * Threading: any thread. Private to src/tls.
 */

#include <stdint.h>

#include <openssl/types.h>

struct tls_chain_cache;

struct tls_chain_cache *tls_chain_cache_new(void);
void tls_chain_cache_free(struct tls_chain_cache *cache);

/*
 * X509_verify_cert(), or what it said last time. Returns 1 for a good chain;
 * otherwise 0 with the error in store. The errors for "signed by someone else"
 * become one.
 */
int tls_chain_verify(struct tls_chain_cache *cache, X509_STORE_CTX *store);

void tls_chain_cache_counts(struct tls_chain_cache *cache, unsigned *ret_full,
			    unsigned *ret_remembered);

/* For tests: what the validity of remembered chains is compared with. */
void tls_chain_cache_set_clock(struct tls_chain_cache *cache,
			       int64_t (*clock)(void));

#endif
