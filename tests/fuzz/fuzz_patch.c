/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A line for the target, one for the patch and one for the schema. Whatever the
 * patch is, the other values stay as they are, the result is no deeper than
 * allowed, and a merge patch applied twice is as good as once.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/js.h"
#include "base/jssize.h"
#include "meta/patch.h"
#include "meta/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	TARGET,
	PATCH,
	SCHEMA,
	LINES
};

static int
read_lines(const char *text, size_t len, json_t *values[LINES])
{
	struct err err;

	for (size_t i = 0; i < LINES; i++) {
		const char *end = memchr(text, '\n', len);
		size_t line = end == NULL ? len : (size_t)(end - text);

		values[i] =
			line == 0 ? json_null() : js_parse(text, line, &err);
		if (values[i] == NULL)
			return -1;
		text += line;
		len -= line;
		if (end != NULL) {
			text++;
			len--;
		}
	}
	return 0;
}

static void
check(json_t *result, struct status *st, json_t *const values[LINES],
      json_t *const copies[LINES])
{
	for (size_t i = 0; i < LINES; i++)
		assert(json_equal(values[i], copies[i]));
	if (result == NULL) {
		assert(st->code >= 400 && st->message != NULL);
		return;
	}
	assert(js_size(result).depth <= JS_MAX_DEPTH);
	json_decref(result);
}

static void
check_twice(json_t *const values[LINES])
{
	struct status st = STATUS_INIT;
	json_t *once = patch_merge(values[TARGET], values[PATCH], &st);
	json_t *twice;

	if (once != NULL) {
		twice = patch_merge(once, values[PATCH], &st);
		assert(json_equal(once, twice));
		json_decref(twice);
	}
	json_decref(once);
	status_done(&st);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *values[LINES] = { NULL };
	json_t *copies[LINES] = { NULL };
	struct status st = STATUS_INIT;

	if (size > 0 && read_lines((const char *)data, size, values) == 0) {
		for (size_t i = 0; i < LINES; i++)
			copies[i] = json_deep_copy(values[i]);
		check(patch_json(values[TARGET], values[PATCH], &st), &st,
		      values, copies);
		check(patch_merge(values[TARGET], values[PATCH], &st), &st,
		      values, copies);
		check(patch_strategic(values[TARGET], values[PATCH],
				      values[SCHEMA], &st),
		      &st, values, copies);
		check_twice(values);
	}
	for (size_t i = 0; i < LINES; i++) {
		json_decref(values[i]);
		json_decref(copies[i]);
	}
	status_done(&st);
	return 0;
}
