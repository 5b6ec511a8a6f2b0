/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_SUITE_H
#define TLS_SUITE_H

/*
 * suite - the TLS 1.3 cipher suites the record layer knows, and the key
 * schedule of RFC 8446, 7.2 and 7.3, from a traffic secret on. Private to
 * src/tls.
 */

#include <stddef.h>
#include <stdint.h>

enum tls_suite {
	TLS_SUITE_AES_128_GCM_SHA256,
	TLS_SUITE_AES_256_GCM_SHA384,
	TLS_SUITE_COUNT,
};

#define TLS_SECRET_MAX 48
#define TLS_KEY_MAX 32
#define TLS_IV_LEN 12
#define TLS_TAG_LEN 16

const char *tls_suite_name(enum tls_suite suite);
size_t tls_suite_key_len(enum tls_suite suite);
size_t tls_suite_secret_len(enum tls_suite suite);

/* From the number in the handshake, 0x1301 and so on; -1 when not known. */
int tls_suite_from_id(unsigned id, enum tls_suite *ret_suite);

/*
 * HKDF-Expand-Label(secret, label, "", out_len) with the suite's hash. out_len
 * is at most the length of that hash, which all uses here keep to.
 */
int tls_suite_expand(enum tls_suite suite, const uint8_t *secret,
		     const char *label, uint8_t *out, size_t out_len);

#endif
