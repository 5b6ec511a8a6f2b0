/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/testforger.h"

#include <stdlib.h>
#include <string.h>

const struct tls_secrets testforger_secrets = {
	.client = { 0x9e, 0x40, 0x64, 0x6c, 0xe7, 0x9a, 0x7f, 0x9d,
		    0xc0, 0x5a, 0xf8, 0x88, 0x9b, 0xce, 0x65, 0x52,
		    0x87, 0x5a, 0xfa, 0x0b, 0x06, 0xdf, 0x00, 0x87,
		    0xf7, 0x92, 0xeb, 0xb7, 0xc1, 0x75, 0x04, 0xa5 },
	.server = { 0xa1, 0x1a, 0xf9, 0xf0, 0x55, 0x31, 0xf8, 0x56,
		    0xad, 0x47, 0x11, 0x6b, 0x45, 0xa9, 0x50, 0x32,
		    0x82, 0x04, 0xb4, 0xf4, 0x4b, 0xfb, 0x6b, 0x3a,
		    0x4b, 0x4f, 0x1f, 0x3f, 0xcb, 0x63, 0x16, 0x43 },
};

static void
must(int result)
{
	if (result == -1)
		abort();
}

static void
set_key(struct testforger *f)
{
	uint8_t key[TLS_KEY_MAX];

	must(tls_suite_expand(TESTFORGER_SUITE, f->secret, "key", key, 16));
	must(tls_suite_expand(TESTFORGER_SUITE, f->secret, "iv", f->iv,
			      TLS_IV_LEN));
	tls_aead_free(f->aead);
	f->aead = tls_aead_new(TESTFORGER_SUITE, true, key);
	must(f->aead != NULL ? 0 : -1);
	f->seq = 0;
}

void
testforger_init(struct testforger *f, const uint8_t *secret)
{
	*f = (struct testforger){ 0 };
	memcpy(f->secret, secret, sizeof(f->secret));
	set_key(f);
}

void
testforger_done(struct testforger *f)
{
	tls_aead_free(f->aead);
	*f = (struct testforger){ 0 };
}

void
testforger_update(struct testforger *f)
{
	uint8_t next[TLS_SECRET_MAX] = { 0 };

	must(tls_suite_expand(TESTFORGER_SUITE, f->secret, "traffic upd", next,
			      32));
	memcpy(f->secret, next, sizeof(next));
	set_key(f);
}

size_t
testforger_seal(struct testforger *f, const void *inner, size_t len,
		uint8_t *out)
{
	size_t body = len + TLS_TAG_LEN;
	uint8_t nonce[TLS_IV_LEN];
	struct tls_aead_args args = {
		.nonce = nonce,
		.aad = out,
		.aad_len = TLS_RECORD_HEADER,
		.data = out + TLS_RECORD_HEADER,
		.len = len,
		.tag = out + TLS_RECORD_HEADER + len,
	};

	memcpy(out,
	       (uint8_t[]){ 23, 3, 3, (uint8_t)(body >> 8), (uint8_t)body },
	       TLS_RECORD_HEADER);
	memmove(out + TLS_RECORD_HEADER, inner, len);
	memcpy(nonce, f->iv, sizeof(nonce));
	for (unsigned i = 0; i < 8; i++)
		nonce[TLS_IV_LEN - 1 - i] ^= (uint8_t)(f->seq >> (8 * i));
	f->seq++;
	must(tls_aead_seal(f->aead, &args));
	return TLS_RECORD_HEADER + body;
}
