/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/names.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "meta/causes.h"

#define GENERATED_CHARS "bcdfghjklmnpqrstvwxz2456789"
#define GENERATED_LEN 5
#define GENERATED_BASE_MAX (NAME_LABEL_MAX - GENERATED_LEN)

#define QUALIFIED_FMT "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define LABEL_FMT "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define QUALIFIED_TEXT                                                   \
	"must consist of alphanumeric characters, '-', '_' or '.', and " \
	"must start and end with an alphanumeric character (e.g. "       \
	"'MyName',  or 'my.name',  or '123-abc', regex used for "        \
	"validation is '" QUALIFIED_FMT "')"

static bool
is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool
is_alnum(char c)
{
	return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

/* Runs of is_end() and the characters of inner, beginning and ending with the
 * former; at least one. */
static bool
is_word(const char *s, size_t len, bool (*is_end)(char), const char *inner)
{
	if (len == 0 || !is_end(s[0]) || !is_end(s[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_end(s[i]) && strchr(inner, s[i]) == NULL)
			return false;
	}
	return true;
}

static bool
is_label(const char *s, size_t len)
{
	return is_word(s, len, is_lower_or_digit, "-");
}

static bool
is_subdomain(const char *s, size_t len)
{
	while (len > 0) {
		size_t part = strcspn(s, ".");

		if (part > len)
			part = len;
		if (!is_label(s, part))
			return false;
		if (part == len)
			return true;
		s += part + 1;
		len -= part + 1;
	}
	return false;
}

static bool
is_qualified_part(const char *s, size_t len)
{
	return is_word(s, len, is_alnum, "-_.");
}

static bool
is_config_key(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!is_alnum(s[i]) && strchr("-._", s[i]) == NULL)
			return false;
	}
	return len > 0;
}

static void __attribute__((format(printf, 2, 3)))
fault(struct name_faults *faults, const char *fmt, ...)
{
	char *text = faults->text[faults->count];
	va_list ap;

	assert(faults->count < ARRAY_LEN(faults->text));
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(faults->text[0]), fmt, ap);
	va_end(ap);
	faults->count++;
}

static void
check_length(size_t len, size_t max, const char *part,
	     struct name_faults *faults)
{
	if (len > max)
		fault(faults, "%smust be no more than %zu characters", part,
		      max);
}

static void
check_subdomain(const char *s, size_t len, const char *part,
		struct name_faults *faults)
{
	check_length(len, NAME_SUBDOMAIN_MAX, part, faults);
	if (!is_subdomain(s, len)) {
		fault(faults,
		      "%sa lowercase RFC 1123 subdomain must consist of lower "
		      "case alphanumeric characters, '-' or '.', and must "
		      "start and end with an alphanumeric character (e.g. "
		      "'example.com', regex used for validation is "
		      "'" LABEL_FMT "(\\." LABEL_FMT ")*')",
		      part);
	}
}

static void
check_label(const char *s, size_t len, struct name_faults *faults)
{
	check_length(len, NAME_LABEL_MAX, "", faults);
	if (!is_label(s, len)) {
		fault(faults,
		      "a lowercase RFC 1123 label must consist of lower case "
		      "alphanumeric characters or '-', and must start and end "
		      "with an alphanumeric character (e.g. 'my-name',  or "
		      "'123-abc', regex used for validation is '" LABEL_FMT
		      "')");
	}
}

static void
check_dns1035(const char *s, size_t len, struct name_faults *faults)
{
	check_length(len, NAME_LABEL_MAX, "", faults);
	if (!is_label(s, len) || (s[0] >= '0' && s[0] <= '9')) {
		fault(faults,
		      "a DNS-1035 label must consist of lower case "
		      "alphanumeric characters or '-', start with an "
		      "alphabetic character, and end with an alphanumeric "
		      "character (e.g. 'my-name',  or 'abc-123', regex used "
		      "for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
	}
}

static void
check_qualified(const char *s, size_t len, struct name_faults *faults)
{
	const char *slash = memchr(s, '/', len);
	const char *name = slash == NULL ? s : slash + 1;
	size_t name_len = len - (size_t)(name - s);

	if (memchr(name, '/', name_len) != NULL) {
		fault(faults,
		      "a qualified name " QUALIFIED_TEXT
		      " with an optional DNS subdomain prefix and '/' (e.g. "
		      "'example.com/MyName')");
		return;
	}
	if (slash == s)
		fault(faults, "prefix part must be non-empty");
	else if (slash != NULL)
		check_subdomain(s, (size_t)(slash - s), "prefix part ", faults);
	if (name_len == 0)
		fault(faults, "name part must be non-empty");
	check_length(name_len, NAME_QUALIFIED_MAX, "name part ", faults);
	if (!is_qualified_part(name, name_len))
		fault(faults, "name part " QUALIFIED_TEXT);
}

static void
check_label_value(const char *s, size_t len, struct name_faults *faults)
{
	check_length(len, NAME_LABEL_MAX, "", faults);
	if (len > 0 && !is_qualified_part(s, len)) {
		fault(faults,
		      "a valid label must be an empty string or consist of "
		      "alphanumeric characters, '-', '_' or '.', and must "
		      "start and end with an alphanumeric character (e.g. "
		      "'MyValue',  or 'my_value',  or '12345', regex used for "
		      "validation is '(" QUALIFIED_FMT ")?')");
	}
}

static void
check_path_segment(const char *s, size_t len, struct name_faults *faults)
{
	(void)len;
	if (strcmp(s, ".") == 0 || strcmp(s, "..") == 0) {
		fault(faults, "may not be '%s'", s);
		return;
	}
	if (strchr(s, '/') != NULL)
		fault(faults, "may not contain '/'");
	if (strchr(s, '%') != NULL)
		fault(faults, "may not contain '%%'");
}

static void
check_config_key(const char *s, size_t len, struct name_faults *faults)
{
	check_length(len, NAME_SUBDOMAIN_MAX, "", faults);
	if (!is_config_key(s, len)) {
		fault(faults,
		      "a valid config key must consist of alphanumeric "
		      "characters, '-', '_' or '.' (e.g. 'key.name',  or "
		      "'KEY_NAME',  or 'key-name', regex used for validation "
		      "is '[-._a-zA-Z0-9]+')");
	}
	if (strcmp(s, ".") == 0 || strcmp(s, "..") == 0)
		fault(faults, "must not be '%s'", s);
	else if (str_has_prefix(s, ".."))
		fault(faults, "must not start with '..'");
}

void
name_check(enum name_rule rule, const char *value,
	   struct name_faults *ret_faults)
{
	size_t len = strlen(value);

	ret_faults->count = 0;
	switch (rule) {
	case NAME_DNS1123_LABEL:
		check_label(value, len, ret_faults);
		break;
	case NAME_DNS1123_SUBDOMAIN:
		check_subdomain(value, len, "", ret_faults);
		break;
	case NAME_DNS1035_LABEL:
		check_dns1035(value, len, ret_faults);
		break;
	case NAME_QUALIFIED:
		check_qualified(value, len, ret_faults);
		break;
	case NAME_LABEL_VALUE:
		check_label_value(value, len, ret_faults);
		break;
	case NAME_PATH_SEGMENT:
		check_path_segment(value, len, ret_faults);
		break;
	case NAME_CONFIG_KEY:
		check_config_key(value, len, ret_faults);
		break;
	case NAME_RULE_COUNT:
		break;
	}
}

bool
name_ok(enum name_rule rule, const char *value)
{
	struct name_faults faults;

	name_check(rule, value, &faults);
	return faults.count == 0;
}

/* value is checked and shown is what the message shows. */
static void
check_shown(enum name_rule rule, const char *value, const char *shown,
	    const char *field, struct causes *causes)
{
	struct name_faults faults;

	name_check(rule, value, &faults);
	for (size_t i = 0; i < faults.count; i++)
		causes_invalid_str(causes, field, shown, faults.text[i]);
}

void
name_check_field(enum name_rule rule, const char *value, const char *field,
		 struct causes *causes)
{
	check_shown(rule, value, value, field, causes);
}

void
name_check_prefix(enum name_rule rule, const char *prefix, const char *field,
		  struct causes *causes)
{
	AUTO(free_ptr) char *masked = xstrdup(prefix);
	size_t len = strlen(masked);

	if (rule == NAME_PATH_SEGMENT) {
		struct name_faults faults;

		/* "." may begin a name that is none of the two special ones. */
		name_check(rule, strspn(prefix, ".") == len ? "" : prefix,
			   &faults);
		for (size_t i = 0; i < faults.count; i++)
			causes_invalid_str(causes, field, prefix,
					   faults.text[i]);
		return;
	}
	if (len > 1 && masked[len - 1] == '-') {
		masked[len - 2] = 'a';
		masked[len - 1] = '\0';
	}
	check_shown(rule, masked, prefix, field, causes);
}

void
name_check_labels(const json_t *labels, const char *field,
		  struct causes *causes)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)labels, key, value)
	{
		name_check_field(NAME_QUALIFIED, key, field, causes);
		if (json_is_string(value))
			name_check_field(NAME_LABEL_VALUE,
					 json_string_value(value), field,
					 causes);
	}
}

void
name_check_annotations(const json_t *annotations, const char *field,
		       struct causes *causes)
{
	size_t total = 0;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)annotations, key, value)
	{
		AUTO(free_ptr) char *lower = xstrdup(key);

		for (char *p = lower; *p != '\0'; p++)
			*p = (char)tolower((unsigned char)*p);
		check_shown(NAME_QUALIFIED, lower, key, field, causes);
		total += strlen(key) + json_string_length(value);
	}
	if (total > NAME_ANNOTATIONS_MAX_BYTES)
		causes_too_long(causes, field, NAME_ANNOTATIONS_MAX_BYTES);
}

char *
name_generate(const char *base)
{
	char suffix[GENERATED_LEN + 1] = "";

	for (size_t i = 0; i < GENERATED_LEN; i++)
		suffix[i] = GENERATED_CHARS[random_below(
			sizeof(GENERATED_CHARS) - 1)];
	return xasprintf("%.*s%s", GENERATED_BASE_MAX, base, suffix);
}

char *
name_uuid(char buf[NAME_UUID_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t bytes[16];
	char *to = buf;

	random_bytes(bytes, sizeof(bytes));
	bytes[6] = (bytes[6] & 0x0fU) | 0x40U; /* version 4 */
	bytes[8] = (bytes[8] & 0x3fU) | 0x80U; /* the usual variant */
	for (size_t i = 0; i < sizeof(bytes); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = hex[bytes[i] >> 4];
		*to++ = hex[bytes[i] & 0x0fU];
	}
	*to = '\0';
	return buf;
}
