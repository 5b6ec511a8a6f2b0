/* SPDX-License-Identifier: Apache-2.0 */

/*
 * OpenSSL's AES-GCM. The key is set once; a record costs an initialisation
 * with the nonce only.
 */

#include "tls/aead_backend.h"

#include <assert.h>
#include <limits.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

bool
tls_evp_has_avx512(void)
{
	return OPENSSL_version_major() > 3 || OPENSSL_version_minor() > 0;
}

static bool
always(void)
{
	return true;
}

static void *
open_key(enum tls_suite suite, bool seal, const uint8_t *key)
{
	const EVP_CIPHER *cipher = suite == TLS_SUITE_AES_128_GCM_SHA256
					   ? EVP_aes_128_gcm()
					   : EVP_aes_256_gcm();
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

	if (ctx == NULL)
		return NULL;
	if (EVP_CipherInit_ex(ctx, cipher, NULL, key, NULL, seal) != 1) {
		EVP_CIPHER_CTX_free(ctx);
		return NULL;
	}
	assert(EVP_CIPHER_CTX_get_iv_length(ctx) == TLS_IV_LEN);
	return ctx;
}

static int
set_key(void *handle, enum tls_suite suite, const uint8_t *key)
{
	(void)suite;
	return EVP_CipherInit_ex(handle, NULL, NULL, key, NULL, -1) == 1 ? 0
									 : -1;
}

static void
close_key(void *handle)
{
	EVP_CIPHER_CTX_free(handle);
}

/* Everything up to the tag, which differs between the directions. */
static int
transform(EVP_CIPHER_CTX *ctx, const struct tls_aead_args *a)
{
	int n;

	assert(a->len <= INT_MAX && a->aad_len <= INT_MAX);
	if (EVP_CipherInit_ex(ctx, NULL, NULL, NULL, a->nonce, -1) != 1 ||
	    EVP_CipherUpdate(ctx, NULL, &n, a->aad, (int)a->aad_len) != 1 ||
	    EVP_CipherUpdate(ctx, a->data, &n, a->data, (int)a->len) != 1)
		return -1;
	return n == (int)a->len ? 0 : -1;
}

static int
seal_record(void *handle, const struct tls_aead_args *a)
{
	EVP_CIPHER_CTX *ctx = handle;
	int n;

	if (transform(ctx, a) == -1 ||
	    EVP_CipherFinal_ex(ctx, a->data + a->len, &n) != 1 ||
	    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TLS_TAG_LEN,
				a->tag) != 1)
		return -1;
	return 0;
}

static int
open_record(void *handle, const struct tls_aead_args *a)
{
	EVP_CIPHER_CTX *ctx = handle;
	int n;

	if (transform(ctx, a) == -1 ||
	    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TLS_TAG_LEN,
				a->tag) != 1 ||
	    EVP_CipherFinal_ex(ctx, a->data + a->len, &n) != 1)
		return -1;
	return 0;
}

const struct tls_aead_backend tls_aead_evp = {
	.name = "evp",
	.init = always,
	.wins = always,
	.open_key = open_key,
	.set_key = set_key,
	.close_key = close_key,
	.seal = seal_record,
	.open = open_record,
};
