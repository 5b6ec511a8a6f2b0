/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSWRITE_H
#define BASE_JSWRITE_H

/*
 * jswrite - JSON values as text with the members of objects in order.
 *
 * The walk over a value is here once; a style says how the pieces look, so
 * that other notations than JSON can use it. It does not recurse and takes any
 * depth. Threading: any thread, with values of its own.
 */

#include <stddef.h>

#include "base/buf.h"
#include "base/js.h"

struct js_style {
	const char *object_open; /* closed by "}" */
	const char *array_open;
	const char *array_close;
	const char *separator; /* between members and items */
	const char *null;
	void (*string)(struct buf *buf, const char *s, size_t len);
};

/* As Kubernetes writes JSON. */
extern const struct js_style js_style_json;

/* Appends the value; cut where the buffer's limit is reached. */
void js_write(struct buf *buf, const json_t *value,
	      const struct js_style *style);

/* A string with its quotes, <, > and & escaped. */
void js_write_string(struct buf *buf, const char *s, size_t len);

/* The shortest decimal that reads back as the same number, without a fraction
 * or an exponent where it needs none. Returns text. */
#define JS_NUMBER_SIZE 40
const char *js_number_text(double number, char text[JS_NUMBER_SIZE]);

#endif
