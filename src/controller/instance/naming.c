/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/naming.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "meta/names.h"
#include "tls/digest.h"

#define SUFFIX_LEN 5

char *
naming_derive(const char *base, const char *seed, unsigned attempt)
{
	/* Those of the server: nothing that reads as a word. */
	static const char chars[] = "bcdfghjklmnpqrstvwxz2456789";
	AUTO(free_ptr) char *text = xasprintf("%s/%u", seed, attempt);
	uint8_t digest[DIGEST_SHA256_LEN];
	char suffix[SUFFIX_LEN + 1] = "";

	digest_sha256(text, strlen(text), digest);
	for (size_t i = 0; i < SUFFIX_LEN; i++)
		suffix[i] = chars[digest[i] % (sizeof(chars) - 1)];
	return xasprintf("%.*s%s", NAME_LABEL_MAX - SUFFIX_LEN, base, suffix);
}
