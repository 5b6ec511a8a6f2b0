/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

static const char *const alphabets[] = {
	[BASE64_STD] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		       "abcdefghijklmnopqrstuvwxyz0123456789+/",
	[BASE64_URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		       "abcdefghijklmnopqrstuvwxyz0123456789-_",
};

size_t
base64_encoded_len(enum base64_kind kind, size_t len)
{
	static const size_t tail[] = { 0, 2, 3 };

	if (kind == BASE64_STD)
		return (len + 2) / 3 * 4;
	return len / 3 * 4 + tail[len % 3];
}

char *
base64_encode(enum base64_kind kind, const void *data, size_t len)
{
	const char *alphabet = alphabets[kind];
	const uint8_t *in = data;
	size_t out_len = base64_encoded_len(kind, len);
	char *text = xmalloc0(out_len + 1);
	char *out = text;

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t bits = (uint32_t)in[i] << 16;

		if (left > 1)
			bits |= (uint32_t)in[i + 1] << 8;
		if (left > 2)
			bits |= in[i + 2];
		*out++ = alphabet[bits >> 18];
		*out++ = alphabet[bits >> 12 & 63];
		if (left > 1)
			*out++ = alphabet[bits >> 6 & 63];
		if (left > 2)
			*out++ = alphabet[bits & 63];
	}
	while (out < text + out_len)
		*out++ = '=';
	return text;
}

static int
value_of(enum base64_kind kind, char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == alphabets[kind][62])
		return 62;
	if (c == alphabets[kind][63])
		return 63;
	return -1;
}

/* Takes the padding off len; -1 when the length cannot be right. */
static int
strip_padding(enum base64_kind kind, const char *text, size_t *len)
{
	if (kind == BASE64_STD) {
		if (*len % 4 != 0)
			return -1;
		for (int i = 0; i < 2 && *len > 0 && text[*len - 1] == '='; i++)
			(*len)--;
	}
	return *len % 4 == 1 ? -1 : 0;
}

int
base64_decode(enum base64_kind kind, const char *text, size_t len,
	      uint8_t **ret_data, size_t *ret_len, struct err *err)
{
	AUTO(free_ptr) uint8_t *data = NULL;
	uint32_t bits = 0;
	unsigned have = 0;
	size_t n = 0;

	if (strip_padding(kind, text, &len) == -1)
		return err_set(err, ERR_INVALID, "base64 of wrong length");
	data = xmalloc0(len / 4 * 3 + 3);
	for (size_t i = 0; i < len; i++) {
		int value = value_of(kind, text[i]);

		if (value == -1)
			return err_set(err, ERR_INVALID,
				       "illegal base64 data at input byte %zu",
				       i);
		bits = bits << 6 | (uint32_t)value;
		have += 6;
		if (have >= 8) {
			have -= 8;
			data[n++] = (uint8_t)(bits >> have);
		}
	}
	if ((bits & ((1U << have) - 1)) != 0)
		return err_set(err, ERR_INVALID,
			       "illegal base64 data at input byte %zu",
			       len - 1);
	*ret_len = n;
	*ret_data = TAKE_PTR(data);
	return 0;
}
