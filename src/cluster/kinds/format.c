/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/format.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "meta/names.h"
#include "meta/quantity.h"
#include "meta/time.h"

static const char *const names[] = {
	[FORMAT_ANY] = "",
	[FORMAT_INT32] = "int32",
	[FORMAT_INT64] = "int64",
	[FORMAT_BYTE] = "byte",
	[FORMAT_CIDR] = "cidr",
	[FORMAT_DATE] = "date",
	[FORMAT_DATE_TIME] = "date-time",
	[FORMAT_DURATION] = "duration",
	[FORMAT_EMAIL] = "email",
	[FORMAT_HOSTNAME] = "hostname",
	[FORMAT_IPV4] = "ipv4",
	[FORMAT_IPV6] = "ipv6",
	[FORMAT_MAC] = "mac",
	[FORMAT_QUANTITY] = "quantity",
	[FORMAT_URI] = "uri",
	[FORMAT_UUID] = "uuid",
};
static_assert(ARRAY_LEN(names) == FORMAT_COUNT, "one name per format");

enum format
format_from_name(const char *name)
{
	for (size_t i = 0; name != NULL && i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0)
			return (enum format)i;
	}
	return FORMAT_ANY;
}

const char *
format_name(enum format format)
{
	return names[format];
}

static bool
is_base64(const char *s)
{
	size_t len = strlen(s), digits = len;

	while (digits > 0 && len - digits < 2 && s[digits - 1] == '=')
		digits--;
	for (size_t i = 0; i < digits; i++) {
		if (!isalnum((unsigned char)s[i]) && s[i] != '+' && s[i] != '/')
			return false;
	}
	return len % 4 == 0;
}

static bool
is_address(int family, const char *s)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(family, s, address) == 1;
}

static bool
is_cidr(const char *s)
{
	const char *slash = strchr(s, '/');
	char address[64];
	bool v6 = strchr(s, ':') != NULL;
	struct err err;
	uint64_t bits;

	if (slash == NULL || (size_t)(slash - s) >= sizeof(address))
		return false;
	memcpy(address, s, (size_t)(slash - s));
	address[slash - s] = '\0';
	return is_address(v6 ? AF_INET6 : AF_INET, address) &&
	       str_to_u64(slash + 1, "prefix", 0, v6 ? 128 : 32, &bits, &err) ==
		       0;
}

/* The text against a mask: 'x' is a hexadecimal digit, 'd' a decimal one. */
static bool
fits_mask(const char *s, const char *mask)
{
	for (; *mask != '\0'; mask++, s++) {
		if (*mask == 'x'   ? !isxdigit((unsigned char)*s)
		    : *mask == 'd' ? !isdigit((unsigned char)*s)
				   : *s != *mask)
			return false;
	}
	return *s == '\0';
}

static bool
is_date(const char *s)
{
	char text[32];
	struct err err;
	int64_t us;

	if (!fits_mask(s, "dddd-dd-dd"))
		return false;
	(void)snprintf(text, sizeof(text), "%sT00:00:00Z", s);
	return time_parse(text, &us, &err) == 0;
}

/* Go's durations: "1h30m", "-1.5s", "0". */
static bool
is_duration(const char *s)
{
	static const char *const units[] = { "ns", "us", "µs", "μs",
					     "ms", "s",  "m",  "h" };

	if (*s == '-' || *s == '+')
		s++;
	if (strcmp(s, "0") == 0)
		return true;
	if (*s == '\0')
		return false;
	while (*s != '\0') {
		size_t digits = strspn(s, "0123456789."), i;

		if (digits == 0)
			return false;
		s += digits;
		for (i = 0; i < ARRAY_LEN(units); i++) {
			size_t len = strlen(units[i]);

			/* "m" must not take the beginning of "ms". */
			if (strncmp(s, units[i], len) == 0) {
				s += len;
				break;
			}
		}
		if (i == ARRAY_LEN(units))
			return false;
	}
	return true;
}

static bool
is_email(const char *s)
{
	const char *at = strrchr(s, '@');

	return at != NULL && at != s && strpbrk(s, " \t\r\n") == NULL &&
	       name_ok(NAME_DNS1123_SUBDOMAIN, at + 1);
}

static bool
is_uri(const char *s)
{
	size_t scheme = strspn(s, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

	if (strpbrk(s, " \t\r\n") != NULL)
		return false;
	return *s == '/' || (scheme > 0 && s[scheme] == ':');
}

static bool
matches_text(enum format format, const char *s)
{
	struct quantity q;
	struct err err;
	int64_t us;

	switch (format) {
	case FORMAT_BYTE:
		return is_base64(s);
	case FORMAT_CIDR:
		return is_cidr(s);
	case FORMAT_DATE:
		return is_date(s);
	case FORMAT_DATE_TIME:
		return time_parse(s, &us, &err) == 0;
	case FORMAT_DURATION:
		return is_duration(s);
	case FORMAT_EMAIL:
		return is_email(s);
	case FORMAT_HOSTNAME:
		return name_ok(NAME_DNS1123_SUBDOMAIN, s);
	case FORMAT_IPV4:
		return is_address(AF_INET, s);
	case FORMAT_IPV6:
		return is_address(AF_INET6, s);
	case FORMAT_MAC:
		return fits_mask(s, "xx:xx:xx:xx:xx:xx") ||
		       fits_mask(s, "xx-xx-xx-xx-xx-xx");
	case FORMAT_QUANTITY:
		return quantity_parse(s, &q, &err) == 0;
	case FORMAT_URI:
		return is_uri(s);
	case FORMAT_UUID:
		return fits_mask(s, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
	case FORMAT_ANY:
	case FORMAT_INT32:
	case FORMAT_INT64:
	case FORMAT_COUNT:
		break;
	}
	return true;
}

bool
format_matches(enum format format, const json_t *value)
{
	double number;

	if (json_is_string(value))
		return matches_text(format, json_string_value(value));
	if (!json_is_number(value))
		return true;
	number = json_number_value(value);
	if (format == FORMAT_INT32)
		return number >= INT32_MIN && number <= INT32_MAX;
	if (format == FORMAT_INT64)
		return json_is_integer(value) ||
		       (number >= -0x1p63 && number < 0x1p63);
	return true;
}
