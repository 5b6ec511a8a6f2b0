/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What can be decoded is an object of a kind, and its text can be parsed; what
 * cannot is the client's fault. The input is an object, and once more what
 * follows its first byte as the contents of a kind chosen by this byte.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "meta/proto.h"
#include "meta/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
decode(const uint8_t *data, size_t size)
{
	struct status st = STATUS_INIT;
	json_t *obj = NULL;
	json_t *again;
	struct err err;
	char *text;

	if (proto_decode(data, size, &obj, &st) == -1) {
		assert(st.code == 400 || st.code == 415);
		assert(st.message != NULL && obj == NULL);
		status_done(&st);
		return;
	}
	assert(proto_is(data, size));
	assert(json_is_string(json_object_get(obj, "kind")));
	assert(json_is_string(json_object_get(obj, "apiVersion")));
	text = js_text(obj);
	again = js_parse(text, strlen(text), &err);
	assert(json_equal(obj, again));
	json_decref(again);
	json_decref(obj);
	free(text);
}

static void
decode_as(const char *head, size_t head_len, const uint8_t *data, size_t size)
{
	uint8_t *all = xmalloc0(head_len + 2 + size);

	memcpy(all, head, head_len);
	all[head_len] = 2 << 3 | 2; /* raw */
	all[head_len + 1] = (uint8_t)size;
	memcpy(all + head_len + 2, data, size);
	decode(all, head_len + 2 + size);
	free(all);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct head {
		const char *data;
		size_t len;
	} heads[] = {
#define HEAD(text) { text, sizeof(text) - 1 }
		HEAD("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod"),
		HEAD("k8s\0\x0a\x0a\x0a\x02v1\x12\x04Node"),
		HEAD("k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
		     "ConfigMap"),
		HEAD("k8s\0\x0a\x16\x0a\x02v1\x12\x10PersistentVolume"),
		HEAD("k8s\0\x0a\x1f\x0a\x16"
		     "coordination.k8s.io/v1\x12\x05Lease"),
		HEAD("k8s\0\x0a\x20\x0a\x09policy/v1\x12\x13"
		     "PodDisruptionBudget"),
		HEAD("k8s\0\x0a\x2e\x0a\x17"
		     "authorization.k8s.io/v1\x12\x13SubjectAccessReview"),
#undef HEAD
	};

	decode(data, size);
	if (size > 0 && size < 128) {
		const struct head *head = &heads[data[0] % ARRAY_LEN(heads)];

		decode_as(head->data, head->len, data + 1, size - 1);
	}
	return 0;
}
