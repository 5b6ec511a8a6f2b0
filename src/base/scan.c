/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scan.h"

#include <stdint.h>
#include <string.h>

static const char *
skip_blank(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

/* From the opening quote to behind the closing one; NULL without one. */
static const char *
skip_string(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '"')
			return p + 1;
		if (*p == '\\' && ++p == end)
			break;
	}
	return NULL;
}

/* From the opening bracket to behind the one that closes it. */
static const char *
skip_nested(const char *p, const char *end)
{
	size_t depth = 0;

	while (p < end) {
		switch (*p) {
		case '"':
			p = skip_string(p, end);
			if (p == NULL)
				return NULL;
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (--depth == 0)
				return p + 1;
			break;
		default:
			break;
		}
		p++;
	}
	return NULL;
}

/* Numbers and words end where something of the surrounding value comes. */
static const char *
skip_plain(const char *p, const char *end)
{
	const char *start = p;

	while (p < end && memchr(" \t\n\r,:[]{}\"", *p, 11) == NULL)
		p++;
	return p > start ? p : NULL;
}

static const char *
skip_value(const char *p, const char *end)
{
	if (p >= end)
		return NULL;
	switch (*p) {
	case '"':
		return skip_string(p, end);
	case '{':
	case '[':
		return skip_nested(p, end);
	default:
		return skip_plain(p, end);
	}
}

static bool
start(struct span value, char bracket, struct scan *ret_scan)
{
	const char *end = value.text + value.len;
	const char *p = skip_blank(value.text, end);

	if (p >= end || *p != bracket)
		return false;
	*ret_scan = (struct scan){ .at = p + 1, .end = end };
	return true;
}

bool
scan_object(struct span value, struct scan *ret_scan)
{
	return start(value, '{', ret_scan);
}

bool
scan_array(struct span value, struct scan *ret_scan)
{
	return start(value, '[', ret_scan);
}

/* The value at p, and in scan the place behind it and the comma. */
static bool
take_value(struct scan *scan, const char *p, struct span *ret_value)
{
	const char *after;

	p = skip_blank(p, scan->end);
	after = skip_value(p, scan->end);
	if (after == NULL)
		return false;
	*ret_value = (struct span){ .text = p, .len = (size_t)(after - p) };
	after = skip_blank(after, scan->end);
	if (after < scan->end && *after == ',')
		after++;
	scan->at = after;
	return true;
}

bool
scan_next_member(struct scan *scan, struct span *ret_key,
		 struct span *ret_value)
{
	const char *p = skip_blank(scan->at, scan->end);
	const char *after;

	if (p >= scan->end || *p != '"')
		return false;
	after = skip_string(p, scan->end);
	if (after == NULL)
		return false;
	*ret_key = (struct span){ .text = p, .len = (size_t)(after - p) };
	after = skip_blank(after, scan->end);
	if (after >= scan->end || *after != ':')
		return false;
	return take_value(scan, after + 1, ret_value);
}

bool
scan_next_element(struct scan *scan, struct span *ret_value)
{
	return take_value(scan, scan->at, ret_value);
}

bool
scan_member(struct span value, const char *name, struct span *ret_value)
{
	struct scan scan;
	struct span key;

	if (!scan_object(value, &scan))
		return false;
	while (scan_next_member(&scan, &key, ret_value)) {
		if (scan_is(key, name))
			return true;
	}
	return false;
}

bool
scan_is(struct span value, const char *text)
{
	size_t len = strlen(text);

	return value.len == len + 2 && value.text[0] == '"' &&
	       memcmp(value.text + 1, text, len) == 0;
}

/* Four hexadecimal digits; -1 where they are not there. */
static long
hex4(const char *p, const char *end)
{
	long value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdefABCDEF";
		const char *digit = memchr(digits, p[i], sizeof(digits) - 1);

		if (digit == NULL)
			return -1;
		value = value * 16 + (digit - digits) -
			(digit - digits >= 16 ? 6 : 0);
	}
	return value;
}

static char *
put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		*out++ = (char)c;
		return out;
	}
	if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		*out++ = (char)(0xe0 | c >> 12);
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		*out++ = (char)(0xf0 | c >> 18);
		*out++ = (char)(0x80 | (c >> 12 & 0x3f));
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*out++ = (char)(0x80 | (c & 0x3f));
	return out;
}

/* The character of "\uXXXX", or of two of them for one beyond 16 bits; p is
 * behind the first u and is moved. 0 for a NUL byte and for what is broken. */
static uint32_t
unicode(const char **p, const char *end)
{
	long high = hex4(*p, end), low;

	if (high <= 0 || (high >= 0xdc00 && high <= 0xdfff))
		return 0;
	*p += 4;
	if (high < 0xd800 || high > 0xdbff)
		return (uint32_t)high;
	if (end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return 0;
	low = hex4(*p + 2, end);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*p += 6;
	return 0x10000 + ((uint32_t)(high - 0xd800) << 10) +
	       (uint32_t)(low - 0xdc00);
}

/* What stands behind a backslash; 0 for what may not. */
static uint32_t
escaped(const char **p, const char *end)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c;

	if (*p >= end)
		return 0;
	c = *(*p)++;
	if (c == 'u')
		return unicode(p, end);
	found = memchr(from, c, sizeof(from) - 1);
	return found != NULL ? (uint32_t)to[found - from] : 0;
}

long
scan_string(struct span value, char *out)
{
	const char *p, *end;
	char *start_out = out;

	if (value.len < 2 || value.text[0] != '"' ||
	    value.text[value.len - 1] != '"')
		return -1;
	p = value.text + 1;
	end = value.text + value.len - 1;
	while (p < end) {
		uint32_t c;

		if (*p != '\\') {
			if (*p == '\0')
				return -1;
			*out++ = *p++;
			continue;
		}
		p++;
		c = escaped(&p, end);
		if (c == 0)
			return -1;
		out = put_utf8(out, c);
	}
	*out = '\0';
	return out - start_out;
}
