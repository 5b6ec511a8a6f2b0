/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the other node says first: whatever arrives, a message that is taken
 * means one thing only, and what comes out of it is fit for file names, logs
 * and terminals.
 */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "proxy/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_request(const uint8_t *data, size_t size)
{
	struct hello_request request;
	uint8_t again[HELLO_MAX];
	struct err err;

	if (hello_request_decode(data, size, &request, &err) == -1) {
		assert(err.kind == ERR_INVALID);
		return;
	}
	assert(request.channel < CHANNEL_COUNT);
	assert(channel_check_key(request.key, &err) == 0);
	/* There is one way to say it. */
	assert(hello_request_encode(&request, again) == size);
	assert(memcmp(again, data, size) == 0);
}

static void
check_answer(const uint8_t *data, size_t size)
{
	struct failure failure, same;
	uint8_t again[HELLO_MAX];
	struct err err;
	size_t len;

	if (hello_answer_decode(data, size, &failure, &err) == -1) {
		assert(err.kind == ERR_INVALID);
		return;
	}
	assert(failure.reason < REASON_COUNT);
	assert((failure.reason == REASON_NONE) == (data[3] == 1));
	for (const char *p = failure.text; *p != '\0'; p++)
		assert(*p >= 0x20 && *p < 0x7f);
	/* Passing it on loses nothing. */
	len = hello_answer_encode(&failure, again);
	assert(len <= HELLO_MAX);
	assert(hello_answer_decode(again, len, &same, &err) == 0);
	assert(same.reason == failure.reason);
	assert(strcmp(same.text, failure.text) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_request(data, size);
	check_answer(data, size);
	return 0;
}
