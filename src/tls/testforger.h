/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_TESTFORGER_H
#define TLS_TESTFORGER_H

/*
 * testforger - for tests: a peer that holds the right keys, but whose every
 * record is chosen by the test.
 */

#include "tls/aead.h"
#include "tls/engine.h"

#define TESTFORGER_SUITE TLS_SUITE_AES_128_GCM_SHA256

/* RFC 8448, section 3: application traffic secrets. */
extern const struct tls_secrets testforger_secrets;

struct testforger {
	struct tls_aead *aead;
	uint8_t secret[TLS_SECRET_MAX];
	uint8_t iv[TLS_IV_LEN];
	uint64_t seq;
};

void testforger_init(struct testforger *f, const uint8_t *secret);
void testforger_done(struct testforger *f);

/* Changes to the next key, as after a KeyUpdate. */
void testforger_update(struct testforger *f);

/*
 * Seals inner (content, type and padding, all as given) to out; returns the
 * length of the record.
 */
size_t testforger_seal(struct testforger *f, const void *inner, size_t len,
		       uint8_t *out);

#endif
