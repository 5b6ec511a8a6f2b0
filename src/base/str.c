/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

struct unit {
	const char *suffix;
	uint64_t factor;
};

#define KIB ((uint64_t)1024)

static const struct unit byte_units[] = {
	{ "", 1 },
	{ "K", UINT64_C(1000) },
	{ "M", UINT64_C(1000000) },
	{ "G", UINT64_C(1000000000) },
	{ "T", UINT64_C(1000000000000) },
	{ "Ki", KIB },
	{ "Mi", KIB *KIB },
	{ "Gi", KIB *KIB *KIB },
	{ "Ti", KIB *KIB *KIB *KIB },
};

static const struct unit time_units[] = {
	{ "", 1000 },       { "ms", 1 },          { "s", 1000 },
	{ "m", 60 * 1000 }, { "h", 3600 * 1000 },
};

bool
str_equal(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

bool
str_has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool
str_has_suffix(const char *s, const char *suffix)
{
	size_t len = strlen(s);
	size_t suffix_len = strlen(suffix);

	return len >= suffix_len && strcmp(s + len - suffix_len, suffix) == 0;
}

/*
 * Reads the digits s begins with and returns what follows them; NULL when
 * there are none or the number does not fit.
 */
static const char *
read_digits(const char *s, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (unsigned)(*s - '0'), &value))
			return NULL;
	}
	*ret_value = value;
	return s;
}

int
str_to_u64(const char *s, const char *what, uint64_t min, uint64_t max,
	   uint64_t *ret_value, struct err *err)
{
	uint64_t value = 0;
	const char *rest = read_digits(s, &value);

	if (rest == NULL || *rest != '\0' || value < min || value > max)
		return err_set(err, ERR_INVALID,
			       "%s '%s' is not a number from %llu to %llu",
			       what, s, (unsigned long long)min,
			       (unsigned long long)max);
	*ret_value = value;
	return 0;
}

/* A number with one of the units; -1 when it is not that. */
static int
read_with_unit(const char *s, const struct unit *units, size_t count,
	       uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *rest = read_digits(s, &value);

	if (rest == NULL)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (!str_equal(rest, units[i].suffix))
			continue;
		if (__builtin_mul_overflow(value, units[i].factor, &value))
			return -1;
		*ret_value = value;
		return 0;
	}
	return -1;
}

int
str_to_bytes(const char *s, const char *what, uint64_t *ret_bytes,
	     struct err *err)
{
	if (read_with_unit(s, byte_units, ARRAY_LEN(byte_units), ret_bytes) ==
	    -1)
		return err_set(err, ERR_INVALID,
			       "%s '%s' is not a size such as 512Ki or 10G",
			       what, s);
	return 0;
}

int
str_to_ms(const char *s, const char *what, uint64_t *ret_ms, struct err *err)
{
	if (read_with_unit(s, time_units, ARRAY_LEN(time_units), ret_ms) == -1)
		return err_set(err, ERR_INVALID,
			       "%s '%s' is not a time such as 250ms or 10s",
			       what, s);
	return 0;
}

static bool
is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool
str_is_name(const char *s, size_t max)
{
	size_t len = strnlen(s, max + 1);

	if (len == 0 || len > max || s[0] == '.' || s[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_name_char(s[i]))
			return false;
	}
	return true;
}

size_t
str_utf8_len(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;

	/* A NUL is no continuation byte: nothing behind it is read. */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	}
	return len;
}

char *
str_to_utf8(const char *s)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char *copy = xmalloc0(strlen(s) * strlen(replacement) + 1);
	char *end = copy;

	while (*s != '\0') {
		size_t len = str_utf8_len(s);

		if (len == 0) {
			end = stpcpy(end, replacement);
			s++;
		} else {
			memcpy(end, s, len);
			end += len;
			s += len;
		}
	}
	*end = '\0';
	return copy;
}

const char *
str_from_bytes(uint64_t bytes, char *buf, size_t size)
{
	static const char *const units[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB",
	};
	size_t unit = 0;
	uint64_t factor = 1;
	uint64_t tenths;

	/* The next unit as soon as this one would be shown as 1024. */
	while (unit + 1 < ARRAY_LEN(units) &&
	       bytes / factor >=
		       KIB - (factor > 1 && bytes % factor >= factor / 2)) {
		factor *= KIB;
		unit++;
	}

	/* In two steps, so that nothing overflows near the top of the range. */
	tenths = bytes / factor * 10 +
		 (bytes % factor * 10 + factor / 2) / factor;
	if (tenths < 100 && tenths % 10 != 0)
		(void)snprintf(buf, size, "%u.%u %s", (unsigned)(tenths / 10),
			       (unsigned)(tenths % 10), units[unit]);
	else
		(void)snprintf(buf, size, "%u %s",
			       (unsigned)((tenths + 5) / 10), units[unit]);
	return buf;
}

char *
str_lower(const char *s)
{
	char *copy = xstrdup(s);

	for (char *p = copy; *p != '\0'; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	return copy;
}

int
str_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}
