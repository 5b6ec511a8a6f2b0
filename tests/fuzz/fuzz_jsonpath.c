/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A line with a path, then an object. What is found is inside the object, and
 * the first is the first of all.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "meta/jsonpath.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct found {
	json_t *first;
	size_t count;
};

static bool
note(void *arg, json_t *value)
{
	struct found *found = arg;

	assert(value != NULL);
	if (found->count++ == 0)
		found->first = value;
	return true;
}

static void
check(const struct jsonpath *path, const char *text, size_t len)
{
	struct found found = { .first = NULL };
	struct err err;
	json_t *object = js_parse(text, len, &err);

	if (object == NULL)
		return;
	jsonpath_each(path, object, note, &found);
	assert(jsonpath_first(path, object) == found.first);
	if (jsonpath_is_simple(path))
		assert(found.count <= 1);
	json_decref(object);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = size > 0 ? memchr(text, '\n', size) : NULL;
	size_t len = end == NULL ? size : (size_t)(end - text);
	char *line = xstrndup(text, len);
	struct err err = { 0 };
	struct jsonpath *path = jsonpath_compile(line, &err);

	if (path == NULL)
		assert(err.kind == ERR_INVALID && err.text[0] != '\0');
	else if (end != NULL)
		check(path, end + 1, size - len - 1);
	jsonpath_free(path);
	free(line);
	return 0;
}
