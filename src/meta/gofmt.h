/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_GOFMT_H
#define META_GOFMT_H

/*
 * gofmt - values inside messages, written as Kubernetes' messages have them.
 *
 * Threading: any thread.
 */

#include "base/buf.h"
#include "base/js.h"

/* "x", with quotes and escapes; to be freed. */
char *gofmt_quote(const char *s);
void gofmt_append_quoted(struct buf *buf, const char *s);

/*
 * A value: "x" with quotes, 5, 1.5, true, "null" with quotes, and containers as
 * map[string]interface {}{"a":1} and []interface {}{"x"}. To be freed.
 */
char *gofmt_value(const json_t *value);

/* A value without any quotes: x, 5, <nil>, map[a:1 b:x], [x y]. To be freed. */
char *gofmt_plain(const json_t *value);

/* "object", "array", "string", "number", "bool" or "null". */
const char *gofmt_type(const json_t *value);

/* []string{"a", "b"}; items that are no strings are left out. To be freed. */
char *gofmt_strings(const json_t *array);

#endif
