/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

/*
 * base64 - bytes as text (RFC 4648), in the usual alphabet with padding and in
 * the one for URLs without.
 *
 * Decoding is strict: no blanks or line ends, right padding (none for URLs),
 * and no stray bits at the end, so that there is one text for each value.
 */

#include <stddef.h>
#include <stdint.h>

struct err;

enum base64_kind {
	BASE64_STD, /* + and /, padded with = */
	BASE64_URL, /* - and _, no padding */
};

/* The length of the text of len bytes, without a NUL. */
size_t base64_encoded_len(enum base64_kind kind, size_t len);

/* The caller owns the text. */
char *base64_encode(enum base64_kind kind, const void *data, size_t len);

/*
 * Decodes text of len characters; the caller owns *ret_data, which has a NUL
 * behind it that does not count. ERR_INVALID tells where the text is wrong.
 */
int base64_decode(enum base64_kind kind, const char *text, size_t len,
		  uint8_t **ret_data, size_t *ret_len, struct err *err);

#endif
