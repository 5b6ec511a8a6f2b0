/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/suite.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/array.h"

static const struct {
	unsigned id;
	const char *name;
	size_t key_len;
	size_t secret_len;
	const EVP_MD *(*hash)(void);
} suites[] = {
	[TLS_SUITE_AES_128_GCM_SHA256] = { 0x1301, "TLS_AES_128_GCM_SHA256", 16,
					   32, EVP_sha256 },
	[TLS_SUITE_AES_256_GCM_SHA384] = { 0x1302, "TLS_AES_256_GCM_SHA384", 32,
					   48, EVP_sha384 },
};
static_assert(ARRAY_LEN(suites) == TLS_SUITE_COUNT, "a suite has no row");

const char *
tls_suite_name(enum tls_suite suite)
{
	return suites[suite].name;
}

size_t
tls_suite_key_len(enum tls_suite suite)
{
	return suites[suite].key_len;
}

size_t
tls_suite_secret_len(enum tls_suite suite)
{
	return suites[suite].secret_len;
}

int
tls_suite_from_id(unsigned id, enum tls_suite *ret_suite)
{
	for (size_t i = 0; i < ARRAY_LEN(suites); i++) {
		if (suites[i].id == id) {
			*ret_suite = (enum tls_suite)i;
			return 0;
		}
	}
	return -1;
}

int
tls_suite_expand(enum tls_suite suite, const uint8_t *secret, const char *label,
		 uint8_t *out, size_t out_len)
{
	uint8_t block[EVP_MAX_MD_SIZE];
	uint8_t info[64];
	size_t label_len = strlen(label);
	size_t n = 0;
	int ret = -1;

	assert(out_len <= suites[suite].secret_len);
	assert(label_len + 11 <= sizeof(info));
	/* struct HkdfLabel, then HKDF's block number: one block is enough. */
	info[n++] = (uint8_t)(out_len >> 8);
	info[n++] = (uint8_t)out_len;
	info[n++] = (uint8_t)(6 + label_len);
	memcpy(info + n, "tls13 ", 6);
	n += 6;
	memcpy(info + n, label, label_len);
	n += label_len;
	info[n++] = 0;
	info[n++] = 1;
	if (HMAC(suites[suite].hash(), secret, (int)suites[suite].secret_len,
		 info, n, block, NULL) != NULL) {
		memcpy(out, block, out_len);
		ret = 0;
	}
	OPENSSL_cleanse(block, sizeof(block));
	return ret;
}
