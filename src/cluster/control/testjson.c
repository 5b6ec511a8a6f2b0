/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/testjson.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/test.h"

json_t *
testjson(const char *fmt, ...)
{
	char *text = NULL;
	struct err err;
	json_t *json;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	assert_int_not_equal(len, -1);
	for (char *at = text; *at != '\0'; at++) {
		if (*at == '\'')
			*at = '"';
	}
	json = js_parse(text, (size_t)len, &err);
	if (json == NULL)
		fail_msg("%s in %s", err.text, text);
	free(text);
	return json;
}
