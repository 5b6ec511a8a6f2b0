/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/hello.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

#define REQUEST_FIXED 23U /* up to and including the key's length */
#define ANSWER_FIXED 5U   /* up to and including the code's length */

/* Printable ASCII only: the text ends up in logs and terminals. */
static void
copy_text(char *to, size_t size, const uint8_t *from, size_t len)
{
	if (len >= size)
		len = size - 1;
	for (size_t i = 0; i < len; i++)
		to[i] = from[i] >= 0x20 && from[i] < 0x7f ? (char)from[i] : '?';
	to[len] = '\0';
}

static void
put_u64(uint8_t *to, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		to[i] = (uint8_t)(value >> (56 - 8 * i));
}

static uint64_t
get_u64(const uint8_t *from)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | from[i];
	return value;
}

size_t
hello_request_encode(const struct hello_request *request,
		     uint8_t ret_data[HELLO_MAX])
{
	uint16_t port = channel_port(request->channel);
	size_t key_len = strlen(request->key);
	uint8_t *p = ret_data;

	*p++ = 'F';
	*p++ = 'Q';
	*p++ = HELLO_VERSION;
	*p++ = request->plain ? 1 : 0;
	*p++ = (uint8_t)(port >> 8);
	*p++ = (uint8_t)port;
	put_u64(p, request->run);
	put_u64(p + 8, request->number);
	p += 16;
	*p++ = (uint8_t)key_len;
	memcpy(p, request->key, key_len);
	return REQUEST_FIXED + key_len;
}

static int
check_start(const uint8_t *data, size_t len, char kind, size_t least,
	    struct err *err)
{
	if (len < least || data[0] != 'F' || data[1] != (uint8_t)kind)
		return err_set(err, ERR_INVALID,
			       "the peer's message is not one of ferry/1");
	if (data[2] != HELLO_VERSION)
		return err_set(err, ERR_INVALID,
			       "the peer speaks version %u, this is %u",
			       data[2], HELLO_VERSION);
	if (data[3] > 1)
		return err_set(err, ERR_INVALID,
			       "the peer's message has a bad flag");
	return 0;
}

int
hello_request_decode(const uint8_t *data, size_t len,
		     struct hello_request *ret_request, struct err *err)
{
	struct hello_request request = { 0 };
	size_t key_len;

	if (check_start(data, len, 'Q', REQUEST_FIXED, err) == -1)
		return -1;
	request.plain = data[3] == 1;
	if (channel_from_port((uint64_t)data[4] << 8 | data[5],
			      &request.channel, err) == -1)
		return -1;
	request.run = get_u64(data + 6);
	request.number = get_u64(data + 14);
	key_len = data[REQUEST_FIXED - 1];
	if (key_len > CHANNEL_KEY_MAX || len != REQUEST_FIXED + key_len)
		return err_set(err, ERR_INVALID,
			       "the peer's request has a wrong length");
	memcpy(request.key, data + REQUEST_FIXED, key_len);
	if (strlen(request.key) != key_len ||
	    channel_check_key(request.key, err) == -1)
		return err_set(err, ERR_INVALID,
			       "the peer's request has a malformed key");
	*ret_request = request;
	return 0;
}

size_t
hello_answer_encode(const struct failure *failure, uint8_t ret_data[HELLO_MAX])
{
	const char *code = reason_name(failure->reason);
	size_t code_len = strlen(code), text_len = strlen(failure->text);
	bool ok = failure->reason == REASON_NONE;
	uint8_t *p = ret_data;

	if (ok)
		code_len = text_len = 0;
	*p++ = 'F';
	*p++ = 'A';
	*p++ = HELLO_VERSION;
	*p++ = ok ? 1 : 0;
	*p++ = (uint8_t)code_len;
	memcpy(p, code, code_len);
	p += code_len;
	*p++ = (uint8_t)text_len;
	memcpy(p, failure->text, text_len);
	return (size_t)(p - ret_data) + text_len;
}

int
hello_answer_decode(const uint8_t *data, size_t len,
		    struct failure *ret_failure, struct err *err)
{
	struct failure failure = { 0 };
	char code[64];
	size_t code_len, text_len;

	if (check_start(data, len, 'A', ANSWER_FIXED + 1, err) == -1)
		return -1;
	code_len = data[4];
	if (len < ANSWER_FIXED + code_len + 1)
		return err_set(err, ERR_INVALID, "the peer's answer is short");
	text_len = data[ANSWER_FIXED + code_len];
	if (len != ANSWER_FIXED + code_len + 1 + text_len)
		return err_set(err, ERR_INVALID,
			       "the peer's answer has a wrong length");
	if (data[3] == 1) {
		*ret_failure = failure;
		return 0;
	}
	copy_text(code, sizeof(code), data + ANSWER_FIXED, code_len);
	copy_text(failure.text, sizeof(failure.text),
		  data + ANSWER_FIXED + code_len + 1, text_len);
	failure.reason = reason_from_name(code);
	if (failure.reason == REASON_COUNT || failure.reason == REASON_NONE)
		failure_set(&failure, REASON_PEER_REFUSED, "%s (code '%s')",
			    "the peer refused", code);
	*ret_failure = failure;
	return 0;
}
