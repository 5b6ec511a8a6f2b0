/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_DIG_H
#define CLUSTER_CONTROL_DIG_H

/*
 * dig - short ways into objects that come from the store.
 *
 * What is stored has passed its schema, so these do not complain: what is
 * missing, null or of another type is NULL, "" or the given default. A path
 * is names with dots between them; a name that has a dot in itself (a label's)
 * is reached with json_object_get().
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

json_t *dig(const json_t *obj, const char *path);
const char *dig_str(const json_t *obj, const char *path); /* or "" */
int64_t dig_int(const json_t *obj, const char *path, int64_t otherwise);
bool dig_bool(const json_t *obj, const char *path);

/* The element of an array of objects whose member `key` is `value`. */
json_t *dig_find(const json_t *array, const char *key, const char *value);

#endif
