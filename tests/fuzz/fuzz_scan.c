/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the parser accepts, scanning finds the same in: every member, its name
 * and its value. What the parser refuses can be scanned without harm.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parses a value of any kind, which the parser takes in an array only. */
static json_t *
parse_value(struct span value)
{
	char *text = xasprintf("[%.*s]", (int)value.len, value.text);
	json_t *array, *found;
	struct err err;

	array = js_parse(text, strlen(text), &err);
	assert(array != NULL && json_array_size(array) == 1);
	found = json_incref(json_array_get(array, 0));
	json_decref(array);
	free(text);
	return found;
}

static void
compare_member(const json_t *object, struct span key, struct span value)
{
	char *name = xmalloc0(key.len);
	json_t *found = parse_value(value), *expected = NULL;

	/* A name with a NUL byte inside is found, but has no C string. */
	if (scan_string(key, name) != -1) {
		expected = json_object_get(object, name);
		assert(json_equal(found, expected));
	}
	if (json_is_string(found)) {
		char *text = xmalloc0(value.len);

		assert(scan_string(value, text) == -1 ||
		       strcmp(text, json_string_value(found)) == 0);
		free(text);
	}
	json_decref(found);
	free(name);
}

static void
compare_object(const json_t *object, struct span text)
{
	struct span key, value;
	struct scan scan;
	size_t count = 0;

	assert(scan_object(text, &scan));
	while (scan_next_member(&scan, &key, &value)) {
		compare_member(object, key, value);
		count++;
	}
	assert(count == json_object_size(object));
}

static void
compare_array(const json_t *array, struct span text)
{
	struct span value;
	struct scan scan;
	size_t count = 0;

	assert(scan_array(text, &scan));
	while (scan_next_element(&scan, &value)) {
		json_t *found = parse_value(value);

		assert(json_equal(found, json_array_get(array, count++)));
		json_decref(found);
	}
	assert(count == json_array_size(array));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = { .text = (const char *)data, .len = size };
	struct span key, value;
	struct scan scan;
	struct err err;
	json_t *json = js_parse(text.text, size, &err);

	if (json_is_object(json)) {
		compare_object(json, text);
	} else if (json_is_array(json)) {
		compare_array(json, text);
	} else if (scan_object(text, &scan)) {
		while (scan_next_member(&scan, &key, &value)) {
			char *content = xmalloc0(value.len + 1);

			(void)scan_string(value, content);
			free(content);
		}
	} else if (scan_array(text, &scan)) {
		while (scan_next_element(&scan, &value))
			(void)scan_is(value, "a");
	}
	(void)scan_member(text, "metadata", &value);
	json_decref(json);
	return 0;
}
