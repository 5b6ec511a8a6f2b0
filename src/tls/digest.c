/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/digest.h"

#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

void
digest_sha256(const void *data, size_t len, uint8_t ret[DIGEST_SHA256_LEN])
{
	/* Fails for want of memory only. */
	if (EVP_Digest(data, len, ret, NULL, EVP_sha256(), NULL) != 1)
		abort();
}

const char *
digest_sha256_hex(const void *data, size_t len,
		  char ret[DIGEST_SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[DIGEST_SHA256_LEN];
	char *out = ret;

	digest_sha256(data, len, digest);
	for (size_t i = 0; i < sizeof(digest); i++) {
		*out++ = digits[digest[i] >> 4];
		*out++ = digits[digest[i] & 15];
	}
	*out = '\0';
	return ret;
}

bool
digest_equal(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}
