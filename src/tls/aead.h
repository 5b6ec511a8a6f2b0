/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_AEAD_H
#define TLS_AEAD_H

/*
 * aead - AES-GCM in place, one key and one direction per object. Private to
 * src/tls.
 *
 * The work is OpenSSL's, or another library's where that is faster and
 * tls_init() was called. An object stays with what it was made with.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tls/suite.h"

struct tls_aead;

/* NULL when the library refuses, which a sane host never sees. */
struct tls_aead *tls_aead_new(enum tls_suite suite, bool seal,
			      const uint8_t *key);
int tls_aead_set_key(struct tls_aead *aead, const uint8_t *key);
/* Wipes the key. NULL is fine. */
void tls_aead_free(struct tls_aead *aead);

struct tls_aead_args {
	const uint8_t *nonce; /* TLS_IV_LEN */
	const uint8_t *aad;
	size_t aad_len;
	uint8_t *data; /* encrypted or decrypted in place */
	size_t len;
	uint8_t *tag; /* TLS_TAG_LEN; written by seal, compared by open */
};

int tls_aead_seal(struct tls_aead *aead, const struct tls_aead_args *args);
/*
 * -1 when the tag does not fit; it is compared in constant time. The data is
 * garbage then and must not be looked at.
 */
int tls_aead_open(struct tls_aead *aead, const struct tls_aead_args *args);

#endif
