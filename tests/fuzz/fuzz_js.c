/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is parsed can be read by every getter, printed, and parsed again to an
 * equal value; a parser that takes duplicates differs by these alone.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/js.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_member(const json_t *obj, const char *name)
{
	struct err err;
	const char *text = NULL;
	uint64_t number = 0;
	bool yes = false;
	json_t *value = NULL;

	if (js_get_str(obj, name, &text, &err) == 0)
		assert(text != NULL);
	if (js_get_u64(obj, name, 1, 65535, &number, &err) == 0)
		assert(number >= 1 && number <= 65535);
	if (js_get_bool(obj, name, &yes, &err) == 0)
		assert(js_opt_bool(obj, name, &yes, &err) == 0);
	if (js_get_obj(obj, name, &value, &err) == 0)
		assert(json_is_object(value));
	if (js_opt_arr(obj, name, &value, &err) == 0)
		assert(value == NULL || json_is_array(value) ||
		       json_is_object(value));
}

static void
count(void *arg, const char *path)
{
	size_t *duplicates = arg;

	assert(path != NULL);
	(*duplicates)++;
}

/* Differs from the strict parser by duplicates only. */
static void
check_lenient(const char *text, size_t len, const json_t *strict)
{
	struct err err = { 0 };
	size_t duplicates = 0;
	json_t *value = js_parse_lenient(text, len, count, &duplicates, &err);

	assert((value != NULL && duplicates == 0) == (strict != NULL));
	if (strict != NULL)
		assert(json_equal(value, strict));
	assert(duplicates <= JS_MAX_DUPLICATES);
	json_decref(value);
}

/* Equal values have equal texts. */
static void
check_sorted(const json_t *value)
{
	struct err err;
	size_t len = 0;
	char *text = js_text_sorted(value, &len);
	json_t *again = js_parse(text, len, &err);
	char *same;

	assert(again != NULL && len == strlen(text));
	same = js_text_sorted(again, NULL);
	assert(strcmp(text, same) == 0);
	json_decref(again);
	free(text);
	free(same);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "a", "b", NULL };
	struct err err = { 0 };
	json_t *value = js_parse((const char *)data, size, &err);
	json_t *again;
	char *text;

	check_lenient((const char *)data, size, value);
	if (value == NULL) {
		assert(err.kind == ERR_INVALID && err.text[0] != '\0');
		return 0;
	}
	check_sorted(value);
	read_member(value, "a");
	read_member(value, "a.b");
	(void)js_only(value, names, &err);
	text = js_text(value);
	again = js_parse(text, strlen(text), &err);
	assert(json_equal(value, again));
	json_decref(again);
	json_decref(value);
	free(text);
	return 0;
}
