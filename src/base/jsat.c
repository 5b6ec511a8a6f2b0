/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsat.h"

#include <string.h>

#include "base/str.h"

json_t *
js_at(const json_t *obj, const char *path)
{
	json_t *at = NULL;

	for (;;) {
		size_t len = strcspn(path, ".");

		at = json_object_getn(obj, path, len);
		if (at == NULL || path[len] == '\0')
			break;
		obj = at;
		path += len + 1;
	}
	return json_is_null(at) ? NULL : at;
}

json_t *
js_obj_at(const json_t *obj, const char *path)
{
	json_t *at = js_at(obj, path);

	return json_is_object(at) ? at : NULL;
}

json_t *
js_arr_at(const json_t *obj, const char *path)
{
	json_t *at = js_at(obj, path);

	return json_is_array(at) ? at : NULL;
}

const char *
js_str_at(const json_t *obj, const char *path)
{
	const char *s = json_string_value(js_at(obj, path));

	return s != NULL ? s : "";
}

int64_t
js_int_at(const json_t *obj, const char *path, int64_t otherwise)
{
	const json_t *at = js_at(obj, path);

	return json_is_integer(at) ? json_integer_value(at) : otherwise;
}

bool
js_bool_at(const json_t *obj, const char *path, bool otherwise)
{
	const json_t *at = js_at(obj, path);

	return json_is_boolean(at) ? json_is_true(at) : otherwise;
}

json_t *
js_find(const json_t *array, const char *key, const char *value)
{
	json_t *item;
	size_t i;

	json_array_foreach(array, i, item)
	{
		if (str_equal(json_string_value(json_object_get(item, key)),
			      value))
			return item;
	}
	return NULL;
}

json_t *
js_make_obj_at(json_t *obj, const char *path)
{
	for (;;) {
		size_t len = strcspn(path, ".");
		json_t *at = json_object_getn(obj, path, len);

		if (!json_is_object(at)) {
			at = json_object();
			(void)json_object_setn_new(obj, path, len, at);
		}
		if (path[len] == '\0')
			return at;
		obj = at;
		path += len + 1;
	}
}
