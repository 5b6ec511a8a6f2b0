/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSAT_H
#define BASE_JSAT_H

/*
 * jsat - short ways into JSON that has been checked already.
 *
 * For objects that passed their schema, where js.h's getters would only repeat
 * its complaints: what is missing, null or of another type is NULL, "" or the
 * given default. A path is names with dots between them; a name that has a dot
 * in itself (a label's) is reached with json_object_get().
 *
 * Threading: as js.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

/* Borrowed; NULL when it is missing or null. */
json_t *js_at(const json_t *obj, const char *path);
/* The same of one type only. */
json_t *js_obj_at(const json_t *obj, const char *path);
json_t *js_arr_at(const json_t *obj, const char *path);
/* Owned by obj; "" when it is no string. */
const char *js_str_at(const json_t *obj, const char *path);
int64_t js_int_at(const json_t *obj, const char *path, int64_t otherwise);
bool js_bool_at(const json_t *obj, const char *path, bool otherwise);

/* The first object of an array whose member key is the string value; NULL. */
json_t *js_find(const json_t *array, const char *key, const char *value);

/* The object at path, made with all on the way to it where there is none.
 * Whatever of another type is in the way is replaced. Borrowed. */
json_t *js_make_obj_at(json_t *obj, const char *path);

#endif
