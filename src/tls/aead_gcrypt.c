/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libgcrypt's AES-GCM: it uses VAES and VPCLMULQDQ with AVX2, which OpenSSL
 * does not. A handle serves both directions.
 */

#include "tls/aead_backend.h"

#include <gcrypt.h>

#include "tls/cpu.h"

#define MIN_VERSION "1.10.0"

/* It does not use AVX-512, which OpenSSL does since 3.1. */
static bool
cpu_favours_it(void)
{
	enum tls_cpu_aes aes = tls_cpu_aes();

	return aes == TLS_CPU_AES_AVX2 ||
	       (aes == TLS_CPU_AES_AVX512 && !tls_evp_has_avx512());
}

static void
close_key(void *handle)
{
	gcry_cipher_close(handle);
}

static int
set_key(void *handle, enum tls_suite suite, const uint8_t *key)
{
	return gcry_cipher_setkey(handle, key, tls_suite_key_len(suite)) == 0
		       ? 0
		       : -1;
}

static void *
open_key(enum tls_suite suite, bool seal, const uint8_t *key)
{
	int algo = suite == TLS_SUITE_AES_128_GCM_SHA256 ? GCRY_CIPHER_AES128
							 : GCRY_CIPHER_AES256;
	gcry_cipher_hd_t handle;

	(void)seal;
	if (gcry_cipher_open(&handle, algo, GCRY_CIPHER_MODE_GCM, 0) != 0)
		return NULL;
	if (set_key(handle, suite, key) == -1) {
		gcry_cipher_close(handle);
		return NULL;
	}
	return handle;
}

/*
 * Keys live in ordinary memory, as OpenSSL's do, and are wiped: locked memory
 * would be a small pool with a lock. In FIPS mode the library refuses nonces
 * that it did not make itself. The first key runs the self-test of AES.
 */
static bool
init_library(void)
{
	static const uint8_t key[TLS_KEY_MAX];
	void *handle;

	if (!gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P)) {
		if (gcry_check_version(MIN_VERSION) == NULL)
			return false;
		(void)gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
		(void)gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
	}
	if (gcry_fips_mode_active())
		return false;
	handle = open_key(TLS_SUITE_AES_256_GCM_SHA384, true, key);
	if (handle == NULL)
		return false;
	close_key(handle);
	return true;
}

/* A nonce begins a new record, whatever became of the one before. */
static int
begin(gcry_cipher_hd_t handle, const struct tls_aead_args *a)
{
	if (gcry_cipher_setiv(handle, a->nonce, TLS_IV_LEN) != 0 ||
	    gcry_cipher_authenticate(handle, a->aad, a->aad_len) != 0)
		return -1;
	return 0;
}

/* No input means in place; GCM needs no word about which piece is last. */
static int
seal_record(void *handle, const struct tls_aead_args *a)
{
	if (begin(handle, a) == -1 ||
	    gcry_cipher_encrypt(handle, a->data, a->len, NULL, 0) != 0 ||
	    gcry_cipher_gettag(handle, a->tag, TLS_TAG_LEN) != 0)
		return -1;
	return 0;
}

/* gcry_cipher_checktag() takes the same time wherever the tags differ. */
static int
open_record(void *handle, const struct tls_aead_args *a)
{
	if (begin(handle, a) == -1 ||
	    gcry_cipher_decrypt(handle, a->data, a->len, NULL, 0) != 0 ||
	    gcry_cipher_checktag(handle, a->tag, TLS_TAG_LEN) != 0)
		return -1;
	return 0;
}

const struct tls_aead_backend tls_aead_gcrypt = {
	.name = "libgcrypt",
	.init = init_library,
	.wins = cpu_favours_it,
	.open_key = open_key,
	.set_key = set_key,
	.close_key = close_key,
	.seal = seal_record,
	.open = open_record,
};
