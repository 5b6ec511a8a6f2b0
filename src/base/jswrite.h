/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSWRITE_H
#define BASE_JSWRITE_H

/*
 * jswrite - walks over a JSON value with the members of objects in order, and
 * writes it.
 *
 * The walk is here once, for whoever turns a value into some text. It does not
 * recurse and takes any depth. Threading: any thread, with values of its own.
 */

#include <stddef.h>

#include "base/buf.h"
#include "base/js.h"

/* What js_walk() calls, each with its arg. The value must not be changed. */
struct js_visitor {
	void (*open)(void *arg, const json_t *container);
	/* Before each member's value and each item; n counts from 0. */
	void (*member)(void *arg, const char *key, size_t n);
	void (*item)(void *arg, size_t n);
	void (*scalar)(void *arg, const json_t *value);
	void (*close)(void *arg, const json_t *container);
};

void js_walk(const json_t *value, const struct js_visitor *visitor, void *arg);

/* How js_write() writes: JSON, or a notation that is built alike. */
struct js_style {
	const char *object_open;
	const char *object_close;
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
