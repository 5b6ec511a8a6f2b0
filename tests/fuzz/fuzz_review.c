/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever a webhook answers becomes one of three outcomes, each with what
 * belongs to it. The first byte says which webhook was asked and with which
 * code it answers, the rest is its answer.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/admit/hook.h"
#include "cluster/admit/review.h"
#include "kube/fetch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct hook *hook, const struct review_answer *answer)
{
	switch (answer->result) {
	case REVIEW_ALLOWED:
		assert(answer->why == NULL);
		assert(answer->patch == NULL || json_is_array(answer->patch));
		assert(hook->mutating || answer->patch == NULL);
		break;
	case REVIEW_DENIED:
		assert(answer->status.code >= 400 && answer->status.code < 600);
		assert(strstr(answer->status.message, hook->name) != NULL);
		break;
	case REVIEW_FAILED:
		assert(answer->why != NULL && answer->why[0] != '\0');
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fetch_header text[] = { { "content-type",
						      "text/plain" } };
	static const int codes[] = { 200, 200, 500, 403 };
	struct review_answer answer = REVIEW_ANSWER_INIT;
	struct hook hook = { .name = (char *)"hook" };
	struct fetch_result result = { .text = "", .cause = "" };
	char *body;

	if (size == 0)
		return 0;
	hook.mutating = data[0] & 1;
	hook.speaks_v1 = data[0] & 2;
	result.code = codes[(data[0] >> 2) & 3];
	result.headers = text;
	result.header_count = data[0] >> 4 & 1;
	body = malloc(size);
	assert(body != NULL);
	memcpy(body, data + 1, size - 1);
	body[size - 1] = '\0';
	result.body = body;
	result.body_len = size - 1;
	review_read(&hook, "u1", &result, &answer);
	check(&hook, &answer);
	review_answer_done(&answer);
	free(body);
	return 0;
}
