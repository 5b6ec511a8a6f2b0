/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/dig.h"

#include <string.h>

json_t *
dig(const json_t *obj, const char *path)
{
	const json_t *at = obj;

	while (at != NULL && *path != '\0') {
		size_t len = strcspn(path, ".");

		at = json_object_getn(at, path, len);
		path += len;
		if (*path == '.')
			path++;
	}
	return json_is_null(at) ? NULL : (json_t *)(uintptr_t)at;
}

const char *
dig_str(const json_t *obj, const char *path)
{
	const char *text = json_string_value(dig(obj, path));

	return text == NULL ? "" : text;
}

int64_t
dig_int(const json_t *obj, const char *path, int64_t otherwise)
{
	const json_t *value = dig(obj, path);

	return json_is_integer(value) ? (int64_t)json_integer_value(value)
				      : otherwise;
}

bool
dig_bool(const json_t *obj, const char *path)
{
	return json_is_true(dig(obj, path));
}

json_t *
dig_find(const json_t *array, const char *key, const char *value)
{
	size_t i;
	json_t *each;

	json_array_foreach(array, i, each)
	{
		if (strcmp(dig_str(each, key), value) == 0)
			return each;
	}
	return NULL;
}
