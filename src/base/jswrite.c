/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jswrite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Where numbers change to an exponent, as in Go and in JavaScript; but whole
 * ones already where they cannot be read as integers any more. */
#define EXPONENT_BELOW 1e-6
#define EXPONENT_FROM 0x1p63
#define INSERTION_SORT_MAX 16

/* A container that is being written. */
struct frame {
	const json_t *value;
	size_t next;
	size_t count;
	size_t keys; /* of an object: where its keys begin */
};

struct walk {
	const struct js_visitor *visitor;
	void *arg;
	struct frame *frames;
	size_t depth, size;
	const char **keys; /* of all objects in frames */
	size_t key_count, key_size;
};

struct writer {
	struct buf *buf;
	const struct js_style *style;
};

const struct js_style js_style_json = {
	.object_open = "{",
	.object_close = "}",
	.array_open = "[",
	.array_close = "]",
	.separator = ",",
	.null = "null",
	.string = js_write_string,
};

/* Digits with a point and an exponent, to digits and zeros alone. */
static const char *
write_whole(const char *digits, int zeros, char text[JS_NUMBER_SIZE])
{
	size_t n = 0;

	for (; *digits != 'e'; digits++) {
		if (*digits != '.')
			text[n++] = *digits;
	}
	for (; zeros > 0; zeros--)
		text[n++] = '0';
	text[n] = '\0';
	return text;
}

const char *
js_number_text(double number, char text[JS_NUMBER_SIZE])
{
	double size = fabs(number);
	char digits[JS_NUMBER_SIZE];
	char *exponent;
	int decimals = -1; /* behind the first digit */

	if (number == 0.0) /* or -0.0 */
		return memcpy(text, "0", sizeof("0"));
	do {
		(void)snprintf(digits, sizeof(digits), "%.*e", ++decimals,
			       number);
	} while (decimals < 16 && strtod(digits, NULL) != number);
	exponent = strchr(digits, 'e');
	if (size >= EXPONENT_BELOW && size < EXPONENT_FROM) {
		decimals -= (int)strtol(exponent + 1, NULL, 10);
		if (decimals <= 0)
			return write_whole(digits, -decimals, text);
		(void)snprintf(text, JS_NUMBER_SIZE, "%.*f", decimals, number);
		return text;
	}
	/* 1e-07 is written 1e-7, and 1e+21 stays. */
	if (exponent[2] == '0')
		memmove(exponent + 2, exponent + 3, strlen(exponent + 2));
	memcpy(text, digits, sizeof(digits));
	return text;
}

/* How many bytes at s can be copied as they are. */
static size_t
plain_run(const char *s, size_t len)
{
	size_t i = 0;

	while (i < len) {
		unsigned char c = (unsigned char)s[i];

		if (c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' ||
		    c == '&')
			break;
		/* U+2028 and U+2029, which are lines to JavaScript */
		if (c == 0xe2 && i + 2 < len &&
		    (unsigned char)s[i + 1] == 0x80 &&
		    ((unsigned char)s[i + 2] | 1U) == 0xa9)
			break;
		i++;
	}
	return i;
}

static size_t
write_escape(struct buf *buf, const char *s)
{
	unsigned char c = (unsigned char)s[0];

	if (c == '"' || c == '\\')
		(void)buf_append(buf, c == '"' ? "\\\"" : "\\\\", 2);
	else if (c == '\n')
		(void)buf_append(buf, "\\n", 2);
	else if (c == '\t')
		(void)buf_append(buf, "\\t", 2);
	else if (c == '\r')
		(void)buf_append(buf, "\\r", 2);
	else if (c < 0x80)
		(void)buf_printf(buf, "\\u%04x", c);
	else
		(void)buf_printf(buf, "\\u202%c",
				 (unsigned char)s[2] == 0xa8 ? '8' : '9');
	return c < 0x80 ? 1 : 3;
}

void
js_write_string(struct buf *buf, const char *s, size_t len)
{
	size_t i = 0;

	(void)buf_append(buf, "\"", 1);
	while (i < len) {
		size_t run = plain_run(s + i, len - i);

		(void)buf_append(buf, s + i, run);
		i += run;
		if (i < len)
			i += write_escape(buf, s + i);
	}
	(void)buf_append(buf, "\"", 1);
}

static int
compare_keys(const void *a, const void *b)
{
	const char *const *left = a;
	const char *const *right = b;

	return strcmp(*left, *right);
}

/* Objects that were written before are in order already, and most of the
 * others are small. */
static void
sort_keys(const char **keys, size_t n)
{
	if (n > INSERTION_SORT_MAX) {
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
		qsort(keys, n, sizeof(keys[0]), compare_keys);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		const char *key = keys[i];
		size_t at = i;

		for (; at > 0 && strcmp(keys[at - 1], key) > 0; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

static void
collect_keys(struct walk *w, struct frame *frame)
{
	const char *key;
	json_t *member;

	frame->count = json_object_size(frame->value);
	frame->keys = w->key_count;
	if (w->keys == NULL || w->key_count + frame->count > w->key_size) {
		w->key_size = (w->key_count + frame->count) * 2;
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
		w->keys = xrealloc(w->keys, w->key_size * sizeof(w->keys[0]));
	}
	/* The macro casts const away, as jansson's interface wants it. */
	json_object_foreach((json_t *)(uintptr_t)frame->value, key, member)
		w->keys[w->key_count++] = key;
	if (frame->count > 1)
		sort_keys(w->keys + frame->keys, frame->count);
}

static void
open_container(struct walk *w, const json_t *value)
{
	struct frame *frame;

	if (w->depth == w->size) {
		w->size = w->size * 2 + 16;
		w->frames = xrealloc(w->frames, w->size * sizeof(*w->frames));
	}
	frame = &w->frames[w->depth++];
	*frame = (struct frame){ .value = value };
	w->visitor->open(w->arg, value);
	if (json_is_object(value))
		collect_keys(w, frame);
	else
		frame->count = json_array_size(value);
}

static void
close_container(struct walk *w)
{
	struct frame *frame = &w->frames[--w->depth];

	if (json_is_object(frame->value))
		w->key_count = frame->keys;
	w->visitor->close(w->arg, frame->value);
}

static const json_t *
next_value(struct walk *w, struct frame *frame)
{
	size_t i = frame->next++;
	const char *key;

	if (!json_is_object(frame->value)) {
		w->visitor->item(w->arg, i);
		return json_array_get(frame->value, i);
	}
	key = w->keys[frame->keys + i];
	w->visitor->member(w->arg, key, i);
	return json_object_get(frame->value, key);
}

void
js_walk(const json_t *value, const struct js_visitor *visitor, void *arg)
{
	struct walk w = { .visitor = visitor, .arg = arg };
	const json_t *at = value;

	for (;;) {
		if (json_is_object(at) || json_is_array(at))
			open_container(&w, at);
		else
			visitor->scalar(arg, at);
		while (w.depth > 0 && w.frames[w.depth - 1].next ==
					      w.frames[w.depth - 1].count)
			close_container(&w);
		if (w.depth == 0)
			break;
		at = next_value(&w, &w.frames[w.depth - 1]);
	}
	free(w.frames);
	free(w.keys);
}

static void
write_open(void *arg, const json_t *container)
{
	struct writer *w = arg;

	(void)buf_append_str(w->buf, json_is_object(container)
					     ? w->style->object_open
					     : w->style->array_open);
}

static void
write_close(void *arg, const json_t *container)
{
	struct writer *w = arg;

	(void)buf_append_str(w->buf, json_is_object(container)
					     ? w->style->object_close
					     : w->style->array_close);
}

static void
write_item(void *arg, size_t n)
{
	struct writer *w = arg;

	if (n > 0)
		(void)buf_append_str(w->buf, w->style->separator);
}

static void
write_member(void *arg, const char *key, size_t n)
{
	struct writer *w = arg;

	write_item(w, n);
	w->style->string(w->buf, key, strlen(key));
	(void)buf_append(w->buf, ":", 1);
}

static void
write_scalar(void *arg, const json_t *value)
{
	struct writer *w = arg;
	char number[JS_NUMBER_SIZE];

	switch (json_typeof(value)) {
	case JSON_STRING:
		w->style->string(w->buf, json_string_value(value),
				 json_string_length(value));
		break;
	case JSON_INTEGER:
		(void)buf_printf(w->buf, "%lld", json_integer_value(value));
		break;
	case JSON_REAL:
		(void)buf_append_str(
			w->buf, js_number_text(json_real_value(value), number));
		break;
	case JSON_TRUE:
		(void)buf_append(w->buf, "true", 4);
		break;
	case JSON_FALSE:
		(void)buf_append(w->buf, "false", 5);
		break;
	case JSON_OBJECT:
	case JSON_ARRAY:
	case JSON_NULL:
	default:
		(void)buf_append_str(w->buf, w->style->null);
		break;
	}
}

void
js_write(struct buf *buf, const json_t *value, const struct js_style *style)
{
	static const struct js_visitor visitor = {
		.open = write_open,
		.member = write_member,
		.item = write_item,
		.scalar = write_scalar,
		.close = write_close,
	};
	struct writer w = { .buf = buf, .style = style };

	js_walk(value, &visitor, &w);
}
