/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Verifies bytes as a token, and decodes them as base64. Nothing that was not
 * signed is accepted, but for the one token in RFC 7515 whose key is used; and
 * there is one text only for what is decoded.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "tls/jwt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* RFC 7515, A.3. */
static const char pem[] =
	"-----BEGIN PUBLIC KEY-----\n"
	"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gH\n"
	"MzV76e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjl\n"
	"rQ==\n"
	"-----END PUBLIC KEY-----\n";
static const char signed_part[] =
	"eyJhbGciOiJFUzI1NiJ9"
	".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9"
	"leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.";

static void
check_base64(enum base64_kind kind, const char *text, size_t len)
{
	uint8_t *bytes = NULL;
	size_t n = 0;
	struct err err;
	char *again;

	if (base64_decode(kind, text, len, &bytes, &n, &err) == -1)
		return;
	assert(bytes[n] == '\0');
	again = base64_encode(kind, bytes, n);
	assert(strlen(again) == len && base64_encoded_len(kind, n) == len);
	assert(memcmp(again, text, len) == 0);
	free(again);
	free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct jwt_key *key;
	char *text = xstrndup((const char *)data, size);
	char *claims = NULL;
	struct err err;

	if (key == NULL) {
		js_init();
		if (jwt_key_new(pem, strlen(pem), "fuzz", &key, &err) == -1)
			abort();
	}
	if (jwt_verify((const struct jwt_key *const *)&key, 1, text, &claims,
		       &err) == 0)
		assert(strncmp(text, signed_part, strlen(signed_part)) == 0);
	free(claims);
	check_base64(BASE64_STD, (const char *)data, size);
	check_base64(BASE64_URL, (const char *)data, size);
	free(text);
	return 0;
}
