/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/obj.h"
#include "meta/time.h"

static char empty[1];

char *
text_new(const char *s)
{
	return s == NULL || s[0] == '\0' ? empty : xstrdup(s);
}

void
text_free(char *s)
{
	if (s != empty)
		free(s);
}

char *
text_at(const json_t *obj, const char *path)
{
	return text_new(js_str_at(obj, path));
}

char *
text_label(const json_t *object, const char *key)
{
	return text_new(obj_label(object, key));
}

char *
text_annotation(const json_t *object, const char *key)
{
	return text_new(obj_annotation(object, key));
}

size_t
text_index(const char *const *names, size_t count, const char *s)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], s) == 0)
			return i;
	}
	return count;
}

int64_t
text_time_at(const json_t *obj, const char *path)
{
	struct err err;
	int64_t us;

	if (time_parse(js_str_at(obj, path), &us, &err) == -1)
		return 0;
	return us;
}

int
text_quantity(const json_t *value, const char *what,
	      struct quantity *ret_quantity, struct err *err)
{
	char number[32];
	const char *text = number;

	if (json_is_string(value)) {
		text = json_string_value(value);
	} else if (json_is_integer(value)) {
		(void)snprintf(number, sizeof(number), "%lld",
			       (long long)json_integer_value(value));
	} else {
		return err_set(err, ERR_INVALID, "%s is no quantity", what);
	}
	if (quantity_parse(text, ret_quantity, err) == -1)
		return err_prefix(err, "%s", what);
	return 0;
}

uint64_t
text_bytes(const json_t *value)
{
	struct quantity quantity;
	struct err err;

	if (value == NULL || text_quantity(value, "", &quantity, &err) == -1)
		return 0;
	return quantity_sign(&quantity) < 0
		       ? 0
		       : (uint64_t)quantity_value(&quantity);
}

int64_t
text_number(const json_t *object, const char *annotation, uint64_t max,
	    int64_t otherwise)
{
	const char *text = obj_annotation(object, annotation);
	struct err err;
	uint64_t value;

	if (text == NULL ||
	    str_to_u64(text, annotation, 0, max, &value, &err) == -1)
		return otherwise;
	return (int64_t)value;
}

int64_t
text_seconds(const json_t *object, const char *annotation, int64_t otherwise)
{
	return text_number(object, annotation, INT32_MAX, otherwise);
}

int64_t
text_moment(const json_t *object, const char *annotation)
{
	const char *text = obj_annotation(object, annotation);
	struct err err;
	int64_t us;

	return text == NULL || time_parse(text, &us, &err) == -1 ? 0 : us;
}

char *
text_wishes(const json_t *object)
{
	const char *evict = obj_annotation(object, ANNOTATION_EVICT);
	const char *stay =
		obj_annotation(object, ANNOTATION_PREFER_NO_EVICTION);

	if (evict == NULL && stay == NULL)
		return empty;
	return xasprintf("%s%s,%s%s", evict == NULL ? "" : "evict=",
			 evict == NULL ? "" : evict,
			 stay == NULL ? "" : "stay=", stay == NULL ? "" : stay);
}

json_t *
text_obj_at(const json_t *obj, const char *path)
{
	json_t *found = js_obj_at(obj, path);

	return json_object_size(found) == 0 ? NULL : json_incref(found);
}
