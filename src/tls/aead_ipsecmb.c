/* SPDX-License-Identifier: Apache-2.0 */

/*
 * AES-GCM of intel-ipsec-mb: it uses VAES and VPCLMULQDQ with AVX-512. Its
 * functions for one record know nothing of the library's manager, which is
 * only asked for them: any thread may call them.
 */

#include "tls/aead_backend.h"

#include <stdlib.h>

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include "tls/cpu.h"

/* As the instructions want it. */
#define KEY_ALIGN 64

struct algorithm {
	aes_gcm_pre_t expand;
	aes_gcm_enc_dec_t seal, open;
};

/* By suite. Written by init_library(), then only read. */
static struct algorithm algorithms[TLS_SUITE_COUNT];

struct handle {
	struct gcm_key_data key;
	struct gcm_context_data record; /* of use within one call */
	const struct algorithm *algorithm;
};

/* A library that has failed its own test must not get a key. */
static bool
take_functions(const IMB_MGR *manager)
{
	if (manager->features & IMB_FEATURE_SELF_TEST &&
	    !(manager->features & IMB_FEATURE_SELF_TEST_PASS))
		return false;
	algorithms[TLS_SUITE_AES_128_GCM_SHA256] = (struct algorithm){
		.expand = manager->gcm128_pre,
		.seal = manager->gcm128_enc,
		.open = manager->gcm128_dec,
	};
	algorithms[TLS_SUITE_AES_256_GCM_SHA384] = (struct algorithm){
		.expand = manager->gcm256_pre,
		.seal = manager->gcm256_enc,
		.open = manager->gcm256_dec,
	};
	return true;
}

static bool
init_library(void)
{
	IMB_MGR *manager = alloc_mb_mgr(0);
	IMB_ARCH arch = IMB_ARCH_NONE;
	bool usable;

	if (manager == NULL)
		return false;
	init_mb_mgr_auto(manager, &arch);
	usable = arch != IMB_ARCH_NONE && imb_get_errno(manager) == 0 &&
		 take_functions(manager);
	free_mb_mgr(manager);
	return usable;
}

static bool
cpu_favours_it(void)
{
	return tls_cpu_aes() == TLS_CPU_AES_AVX512 && !tls_evp_has_avx512();
}

static int
set_key(void *arg, enum tls_suite suite, const uint8_t *key)
{
	struct handle *handle = arg;

	handle->algorithm = &algorithms[suite];
	handle->algorithm->expand(key, &handle->key);
	return 0;
}

static void *
open_key(enum tls_suite suite, bool seal, const uint8_t *key)
{
	void *handle;

	(void)seal;
	if (posix_memalign(&handle, KEY_ALIGN, sizeof(struct handle)) != 0)
		return NULL;
	(void)set_key(handle, suite, key);
	return handle;
}

static void
close_key(void *handle)
{
	OPENSSL_cleanse(handle, sizeof(struct handle));
	free(handle);
}

/* The library would do nothing without a buffer, and not tell. */
static int
transform(struct handle *h, aes_gcm_enc_dec_t function,
	  const struct tls_aead_args *a, uint8_t *ret_tag)
{
	if (a->data == NULL || a->nonce == NULL || a->aad == NULL ||
	    ret_tag == NULL)
		return -1;
	function(&h->key, &h->record, a->data, a->data, a->len, a->nonce,
		 a->aad, a->aad_len, ret_tag, TLS_TAG_LEN);
	return 0;
}

static int
seal_record(void *arg, const struct tls_aead_args *a)
{
	struct handle *handle = arg;

	return transform(handle, handle->algorithm->seal, a, a->tag);
}

/* The library makes the tag that it should be; to compare is ours. */
static int
open_record(void *arg, const struct tls_aead_args *a)
{
	struct handle *handle = arg;
	uint8_t tag[TLS_TAG_LEN];

	if (transform(handle, handle->algorithm->open, a, tag) == -1)
		return -1;
	return CRYPTO_memcmp(tag, a->tag, sizeof(tag)) == 0 ? 0 : -1;
}

const struct tls_aead_backend tls_aead_ipsecmb = {
	.name = "intel-ipsec-mb",
	.init = init_library,
	.wins = cpu_favours_it,
	.open_key = open_key,
	.set_key = set_key,
	.close_key = close_key,
	.seal = seal_record,
	.open = open_record,
};
