/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_JSONPATH_H
#define META_JSONPATH_H

/*
 * jsonpath - the paths of printer columns and of a few places in CRDs:
 * .spec.x, ['a.b/c'], [0], [-1], [1:3], [*], .*, ['a','b'] and
 * [?(@.type=="Ready")].status. The path may stand in braces and may begin with
 * $. Recursion (..) and text around the braces are not supported.
 *
 * A path has at most JSONPATH_MAX_STEPS steps, so finding its values takes time
 * proportional to the part of the value that it names.
 *
 * Threading: any thread may use a compiled path; it does not change.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct err;
struct jsonpath;

#define JSONPATH_MAX_BYTES 4096
#define JSONPATH_MAX_STEPS 64

/* NULL when it is malformed; the error says where. */
struct jsonpath *jsonpath_compile(const char *text, struct err *err);
void jsonpath_free(struct jsonpath *path);      /* NULL is fine */
void jsonpath_unref(struct jsonpath **pointer); /* for AUTO() */

/* The first value in order of the document, borrowed; NULL when there is
 * none. */
json_t *jsonpath_first(const struct jsonpath *path, const json_t *root);

/* Each value in order, until fn returns false. */
void jsonpath_each(const struct jsonpath *path, const json_t *root,
		   bool (*fn)(void *arg, json_t *value), void *arg);

/*
 * Whether it is made of names alone, and then which: for selectable fields and
 * the scale subresource, where nothing else is allowed.
 */
bool jsonpath_is_simple(const struct jsonpath *path);

#endif
