/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/gofmt.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/jswrite.h"
#include "base/mem.h"

/* What Go counts as not printable, of what is likely to come. */
static const struct {
	uint32_t first;
	uint32_t last;
} unprintable[] = {
	{ 0x7f, 0xa0 },     { 0xad, 0xad },        { 0x2000, 0x200f },
	{ 0x2028, 0x202f }, { 0x205f, 0x206f },    { 0x3000, 0x3000 },
	{ 0xd800, 0xf8ff }, { 0xfeff, 0xfeff },    { 0xfff0, 0xfffb },
	{ 0xfffe, 0xffff }, { 0xe0000, 0x10ffff },
};

static bool
is_printable(uint32_t rune)
{
	for (size_t i = 0; i < ARRAY_LEN(unprintable); i++) {
		if (rune >= unprintable[i].first && rune <= unprintable[i].last)
			return false;
	}
	return rune >= ' ';
}

/* Reads one rune of UTF-8; returns its length, 0 when it is malformed. */
static size_t
read_rune(const char *s, uint32_t *ret_rune)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)s[0];
	size_t len = first < 0x80 ? 1 : 0;
	uint32_t rune = first;

	if (first >= 0xc2 && first < 0xe0) {
		len = 2;
		rune = first & 0x1fU;
	} else if (first >= 0xe0 && first < 0xf0) {
		len = 3;
		rune = first & 0x0fU;
	} else if (first >= 0xf0 && first < 0xf5) {
		len = 4;
		rune = first & 0x07U;
	}
	for (size_t i = 1; i < len; i++) {
		unsigned char next = (unsigned char)s[i];

		if ((next & 0xc0U) != 0x80)
			return 0;
		rune = rune << 6 | (next & 0x3fU);
	}
	if (rune < smallest[len] || rune > 0x10ffff)
		return 0;
	*ret_rune = rune;
	return len;
}

static void
append_rune(struct buf *buf, uint32_t rune, const char *s, size_t len)
{
	static const char named[] = "abtnvfr"; /* 7 to 13 */

	if (rune == '"' || rune == '\\')
		(void)buf_printf(buf, "\\%c", (char)rune);
	else if (is_printable(rune))
		(void)buf_append(buf, s, len);
	else if (rune >= '\a' && rune <= '\r')
		(void)buf_printf(buf, "\\%c", named[rune - '\a']);
	else if (rune < 0x80)
		(void)buf_printf(buf, "\\x%02x", rune);
	else if (rune < 0x10000)
		(void)buf_printf(buf, "\\u%04x", rune);
	else
		(void)buf_printf(buf, "\\U%08x", rune);
}

void
gofmt_append_quoted(struct buf *buf, const char *s)
{
	(void)buf_append_str(buf, "\"");
	while (*s != '\0') {
		uint32_t rune = 0;
		size_t len = read_rune(s, &rune);

		if (len == 0) {
			(void)buf_printf(buf, "\\x%02x", (unsigned char)*s);
			len = 1;
		} else {
			append_rune(buf, rune, s, len);
		}
		s += len;
	}
	(void)buf_append_str(buf, "\"");
}

char *
gofmt_quote(const char *s)
{
	struct buf buf = BUF_INIT(BUF_UNLIMITED);

	gofmt_append_quoted(&buf, s);
	return (char *)buf.data;
}

static void
write_quoted(struct buf *buf, const char *s, size_t len)
{
	(void)len; /* names and strings from JSON have no NUL inside */
	gofmt_append_quoted(buf, s);
}

char *
gofmt_value(const json_t *value)
{
	static const struct js_style style = {
		.object_open = "map[string]interface {}{",
		.object_close = "}",
		.array_open = "[]interface {}{",
		.array_close = "}",
		.separator = ", ",
		.null = "interface {}(nil)",
		.string = write_quoted,
	};
	struct buf buf = BUF_INIT(BUF_UNLIMITED);

	if (value == NULL || json_is_null(value))
		return xstrdup("\"null\"");
	js_write(&buf, value, &style);
	return (char *)buf.data;
}

static void
write_raw(struct buf *buf, const char *s, size_t len)
{
	(void)buf_append(buf, s, len);
}

char *
gofmt_plain(const json_t *value)
{
	static const struct js_style style = {
		.object_open = "map[",
		.object_close = "]",
		.array_open = "[",
		.array_close = "]",
		.separator = " ",
		.null = "<nil>",
		.string = write_raw,
	};
	struct buf buf = BUF_INIT(BUF_UNLIMITED);

	js_write(&buf, value, &style);
	return (char *)buf.data;
}

char *
gofmt_strings(const json_t *array)
{
	struct buf buf = BUF_INIT(BUF_UNLIMITED);
	const char *before = "";
	size_t i;
	json_t *item;

	(void)buf_append_str(&buf, "[]string{");
	json_array_foreach(array, i, item)
	{
		if (!json_is_string(item))
			continue;
		(void)buf_append_str(&buf, before);
		gofmt_append_quoted(&buf, json_string_value(item));
		before = ", ";
	}
	(void)buf_append_str(&buf, "}");
	return (char *)buf.data;
}

const char *
gofmt_type(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "bool";
	case JSON_NULL:
		break;
	}
	return "null";
}
