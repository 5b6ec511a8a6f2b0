/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_DIGEST_H
#define TLS_DIGEST_H

/*
 * digest - SHA-256 of bytes, for names of contents (ETags, key ids).
 *
 * Threading: any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_SHA256_LEN 32
#define DIGEST_SHA256_HEX_SIZE 65 /* including the NUL */

void digest_sha256(const void *data, size_t len,
		   uint8_t ret[DIGEST_SHA256_LEN]);

/* The same in small hexadecimal digits; returns ret. */
const char *digest_sha256_hex(const void *data, size_t len,
			      char ret[DIGEST_SHA256_HEX_SIZE]);

/* Whether two secrets are equal, in a time that does not tell where not. */
bool digest_equal(const void *a, const void *b, size_t len);

#endif
