/* SPDX-License-Identifier: Apache-2.0 */
#include "api/check.h"

#include <stdarg.h>
#include <stdlib.h>

#include "api/check_internal.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/causes.h"

#define STATUS_BAD_REQUEST 400
#define STATUS_UNPROCESSABLE 422

size_t
check_count(const struct status *st)
{
	return json_array_size(js_arr_at(st->details, "causes"));
}

/* A text that was cut may end within a character, which JSON cannot hold. */
static void
scrub(char *text)
{
	AUTO(js_unref) json_t *value = json_string(text);

	if (value != NULL)
		return;
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text >= 0x80)
			*text = '?';
	}
}

int
check_deny(struct status *st, const char *reason, const char *field,
	   const char *fmt, ...)
{
	AUTO(free_ptr) char *text = NULL;
	AUTO(free_ptr) char *where = field == NULL ? NULL : xstrdup(field);
	va_list ap;

	if (check_count(st) >= CAUSES_MAX)
		return -1;
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	scrub(text);
	if (where != NULL)
		scrub(where);
	if (st->code == 0) {
		(void)status_set(st, STATUS_UNPROCESSABLE, "Invalid", "%s",
				 text);
	} else {
		char *both = xasprintf("%s, %s", st->message, text);

		free(st->message);
		st->message = both;
	}
	status_add_cause(st, reason, text, where);
	return -1;
}

int
check_fail(struct status *st, const char *fmt, ...)
{
	AUTO(free_ptr) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	scrub(text);
	return status_set(st, STATUS_BAD_REQUEST, NULL, "%s", text);
}

static bool
is_empty(const json_t *value)
{
	return value == NULL || json_is_null(value) ||
	       (json_is_object(value) && json_object_size(value) == 0) ||
	       (json_is_array(value) && json_array_size(value) == 0) ||
	       (json_is_string(value) && json_string_length(value) == 0);
}

bool
check_same(const json_t *a, const json_t *b)
{
	return (is_empty(a) && is_empty(b)) ||
	       (a != NULL && b != NULL && json_equal(a, b) == 1);
}

/* Whether each member of a is the same in b. */
static bool
is_within(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)a, key, value)
	{
		if (!check_same(value, json_object_get(b, key)))
			return false;
	}
	return true;
}

bool
check_same_members(const json_t *a, const json_t *b)
{
	return is_within(a, b) && is_within(b, a);
}
