/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libgcrypt's AES-GCM: it uses VAES and VPCLMULQDQ with AVX2, where OpenSSL
 * 3.0 wants AVX-512. A handle serves both directions.
 */

#include "tls/aead_backend.h"

#include <gcrypt.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define MIN_VERSION "1.10.0"

/*
 * With AVX-512 OpenSSL uses both extensions itself. clang 14 does not know
 * their names; the compiler's test for AVX2 includes that the kernel saves the
 * wide registers, which cpuid's leaf 7 does not say.
 */
static bool
cpu_favours_it(void)
{
#if defined(__x86_64__)
	const unsigned vaes = 1U << 9, vpclmulqdq = 1U << 10;
	unsigned a, b, c, d;

	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") &&
	       !__builtin_cpu_supports("avx512f") &&
	       __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & vaes) &&
	       (c & vpclmulqdq);
#else
	return false;
#endif
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
