/* SPDX-License-Identifier: Apache-2.0 */
#include "base/js.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/jsdup.h"
#include "base/jswrite.h"
#include "base/mem.h"
#include "base/str.h"

void
js_init(void)
{
	json_set_alloc_funcs(xmalloc0, free);
	json_object_seed(0);
}

void
js_unref(json_t **value)
{
	json_decref(*value);
	*value = NULL;
}

/*
 * The deepest nesting of brackets outside strings. Known before the parser
 * runs, which recurses.
 */
static size_t
depth_of(const char *text, size_t len)
{
	bool in_string = false;
	size_t depth = 0;
	size_t deepest = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (in_string)
			continue;
		else if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && depth > 0)
			depth--;
		if (depth > deepest)
			deepest = depth;
	}
	return deepest;
}

/* What jansson would let pass. It skips a NUL byte behind a number. */
static int
check_text(const char *text, size_t len, struct err *err)
{
	const char *nul = len > 0 ? memchr(text, '\0', len) : NULL;

	if (nul != NULL)
		return err_set(err, ERR_INVALID,
			       "JSON is malformed at byte %zu: NUL byte",
			       (size_t)(nul - text));
	if (depth_of(text, len) > JS_MAX_DEPTH)
		return err_set(err, ERR_INVALID,
			       "JSON is nested deeper than %d levels",
			       JS_MAX_DEPTH);
	return 0;
}

static void
malformed(const json_error_t *error, struct err *err)
{
	(void)err_set(err, ERR_INVALID, "JSON is malformed at byte %d: %s",
		      error->position, error->text);
}

json_t *
js_parse(const char *text, size_t len, struct err *err)
{
	json_error_t error;
	json_t *value;

	if (check_text(text, len, err) == -1)
		return NULL;
	value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
			   &error);
	if (value == NULL)
		malformed(&error, err);
	return value;
}

json_t *
js_parse_lenient(const char *text, size_t len,
		 void (*duplicate)(void *arg, const char *path), void *arg,
		 struct err *err)
{
	json_error_t error;
	json_t *value;

	if (check_text(text, len, err) == -1)
		return NULL;
	/* Hardly any text has duplicates: one pass shows that it has none. */
	value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
			   &error);
	if (value != NULL)
		return value;
	value = json_loadb(text, len, JSON_DECODE_ANY, &error);
	if (value == NULL)
		malformed(&error, err);
	else if (duplicate != NULL)
		jsdup_find(text, len, JS_MAX_DUPLICATES, duplicate, arg);
	return value;
}

char *
js_text(const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	/* jansson's own strings are valid, so only memory can be missing. */
	if (text == NULL)
		abort();
	return text;
}

char *
js_text_sorted(const json_t *value, size_t *ret_len)
{
	struct buf buf = BUF_INIT(BUF_UNLIMITED);

	js_write(&buf, value, &js_style_json);
	if (ret_len != NULL)
		*ret_len = buf.len;
	return (char *)buf.data;
}

static const char *
type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "unknown";
}

static int
wrong_type(const char *name, const char *wanted, const json_t *value,
	   struct err *err)
{
	return err_set(err, ERR_INVALID, "'%s' must be %s, not %s", name,
		       wanted, type_name(value));
}

/* *ret_value is NULL when the member, or one on the way to it, is missing or
 * null. */
static int
find(const json_t *obj, const char *name, json_t **ret_value, struct err *err)
{
	const json_t *at = obj;
	const char *part = name;

	for (;;) {
		size_t len = strcspn(part, ".");
		json_t *value;

		if (!json_is_object(at))
			return err_set(err, ERR_INVALID,
				       "what holds '%s' is not an object",
				       name);
		value = json_object_getn(at, part, len);
		if (value == NULL || json_is_null(value)) {
			*ret_value = NULL;
			return 0;
		}
		if (part[len] == '\0') {
			*ret_value = value;
			return 0;
		}
		at = value;
		part += len + 1;
	}
}

static int
missing(const char *name, struct err *err)
{
	return err_set(err, ERR_INVALID, "'%s' is missing", name);
}

/*
 * Each of these converts a member that is there. The getters below add what to
 * do when it is not.
 */
static int
to_str(const json_t *value, const char *name, const char **ret_value,
       struct err *err)
{
	if (!json_is_string(value))
		return wrong_type(name, "a string", value, err);
	*ret_value = json_string_value(value);
	return 0;
}

static int
to_bool(const json_t *value, const char *name, bool *ret_value, struct err *err)
{
	if (!json_is_boolean(value))
		return wrong_type(name, "a boolean", value, err);
	*ret_value = json_is_true(value);
	return 0;
}

struct range {
	uint64_t min;
	uint64_t max;
};

static int
to_u64(const json_t *value, const char *name, struct range range,
       uint64_t *ret_value, struct err *err)
{
	json_int_t number;

	if (!json_is_integer(value))
		return wrong_type(name, "an integer", value, err);
	number = json_integer_value(value);
	if (number < 0 || (uint64_t)number < range.min ||
	    (uint64_t)number > range.max)
		return err_set(err, ERR_INVALID,
			       "'%s' must be from %llu to %llu, not %lld", name,
			       (unsigned long long)range.min,
			       (unsigned long long)range.max, number);
	*ret_value = (uint64_t)number;
	return 0;
}

static int
to_obj(json_t *value, const char *name, json_t **ret_value, struct err *err)
{
	if (!json_is_object(value))
		return wrong_type(name, "an object", value, err);
	*ret_value = value;
	return 0;
}

static int
to_arr(json_t *value, const char *name, json_t **ret_value, struct err *err)
{
	if (!json_is_array(value))
		return wrong_type(name, "an array", value, err);
	*ret_value = value;
	return 0;
}

int
js_get_str(const json_t *obj, const char *name, const char **ret_value,
	   struct err *err)
{
	json_t *value;

	if (find(obj, name, &value, err) == -1)
		return -1;
	if (value == NULL)
		return missing(name, err);
	return to_str(value, name, ret_value, err);
}

int
js_get_u64(const json_t *obj, const char *name, uint64_t min, uint64_t max,
	   uint64_t *ret_value, struct err *err)
{
	json_t *value;

	if (find(obj, name, &value, err) == -1)
		return -1;
	if (value == NULL)
		return missing(name, err);
	return to_u64(value, name, (struct range){ min, max }, ret_value, err);
}

int
js_get_bool(const json_t *obj, const char *name, bool *ret_value,
	    struct err *err)
{
	json_t *value;

	if (find(obj, name, &value, err) == -1)
		return -1;
	if (value == NULL)
		return missing(name, err);
	return to_bool(value, name, ret_value, err);
}

int
js_get_obj(const json_t *obj, const char *name, json_t **ret_value,
	   struct err *err)
{
	json_t *value;

	if (find(obj, name, &value, err) == -1)
		return -1;
	if (value == NULL)
		return missing(name, err);
	return to_obj(value, name, ret_value, err);
}

int
js_get_arr(const json_t *obj, const char *name, json_t **ret_value,
	   struct err *err)
{
	json_t *value;

	if (find(obj, name, &value, err) == -1)
		return -1;
	if (value == NULL)
		return missing(name, err);
	return to_arr(value, name, ret_value, err);
}

int
js_opt_str(const json_t *obj, const char *name, const char **ret_value,
	   struct err *err)
{
	json_t *value;

	if (find(obj, name, &value, err) == -1)
		return -1;
	return value == NULL ? 0 : to_str(value, name, ret_value, err);
}

int
js_opt_u64(const json_t *obj, const char *name, uint64_t min, uint64_t max,
	   uint64_t *ret_value, struct err *err)
{
	json_t *value;

	if (find(obj, name, &value, err) == -1)
		return -1;
	if (value == NULL)
		return 0;
	return to_u64(value, name, (struct range){ min, max }, ret_value, err);
}

int
js_opt_bool(const json_t *obj, const char *name, bool *ret_value,
	    struct err *err)
{
	json_t *value;

	if (find(obj, name, &value, err) == -1)
		return -1;
	return value == NULL ? 0 : to_bool(value, name, ret_value, err);
}

int
js_opt_obj(const json_t *obj, const char *name, json_t **ret_value,
	   struct err *err)
{
	json_t *value;

	if (find(obj, name, &value, err) == -1)
		return -1;
	return value == NULL ? 0 : to_obj(value, name, ret_value, err);
}

int
js_opt_arr(const json_t *obj, const char *name, json_t **ret_value,
	   struct err *err)
{
	json_t *value;

	if (find(obj, name, &value, err) == -1)
		return -1;
	return value == NULL ? 0 : to_arr(value, name, ret_value, err);
}

static bool
is_listed(const char *name, const char *const *names)
{
	for (; *names != NULL; names++) {
		if (str_equal(name, *names))
			return true;
	}
	return false;
}

int
js_only(const json_t *obj, const char *const *names, struct err *err)
{
	/* jansson's iterator wants a json_t *, which it does not change. */
	json_t *object = (json_t *)obj;

	if (!json_is_object(obj))
		return err_set(err, ERR_INVALID, "not an object");
	for (void *it = json_object_iter(object); it != NULL;
	     it = json_object_iter_next(object, it)) {
		const char *name = json_object_iter_key(it);

		if (!is_listed(name, names))
			return err_set(err, ERR_INVALID,
				       "'%s' is not known here", name);
	}
	return 0;
}
