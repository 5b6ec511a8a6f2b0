/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TESTJSON_H
#define BASE_TESTJSON_H

/*
 * testjson - JSON that is written in tests; a text that is none fails them.
 */

#include <string.h>

#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/test.h"

/* A new reference. */
static inline json_t *
testjson_plain(const char *text)
{
	struct err err = { .text = "" };
	json_t *value = js_parse(text, strlen(text), &err);

	if (value == NULL)
		fail_msg("%s in %s", err.text, text);
	return value;
}

/* The same, of a text with ' for ". */
static inline json_t *
testjson(const char *text)
{
	char *copy = xstrdup(text);
	json_t *value;

	for (char *at = copy; *at != '\0'; at++) {
		if (*at == '\'')
			*at = '"';
	}
	value = testjson_plain(copy);
	free_ptr(&copy);
	return value;
}

#endif
