/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/yaml_scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define TAG_PREFIX "tag:yaml.org,2002:"
#define DIGITS "0123456789"

enum word {
	WORD_NONE,
	WORD_NULL,
	WORD_TRUE,
	WORD_FALSE,
	WORD_NOT_JSON,
};

static enum word
find_word(const char *text)
{
	static const struct {
		const char *text;
		enum word word;
	} words[] = {
		{ "", WORD_NULL },         { "~", WORD_NULL },
		{ "null", WORD_NULL },     { "Null", WORD_NULL },
		{ "NULL", WORD_NULL },     { "y", WORD_TRUE },
		{ "Y", WORD_TRUE },        { "yes", WORD_TRUE },
		{ "Yes", WORD_TRUE },      { "YES", WORD_TRUE },
		{ "true", WORD_TRUE },     { "True", WORD_TRUE },
		{ "TRUE", WORD_TRUE },     { "on", WORD_TRUE },
		{ "On", WORD_TRUE },       { "ON", WORD_TRUE },
		{ "n", WORD_FALSE },       { "N", WORD_FALSE },
		{ "no", WORD_FALSE },      { "No", WORD_FALSE },
		{ "NO", WORD_FALSE },      { "false", WORD_FALSE },
		{ "False", WORD_FALSE },   { "FALSE", WORD_FALSE },
		{ "off", WORD_FALSE },     { "Off", WORD_FALSE },
		{ "OFF", WORD_FALSE },     { ".nan", WORD_NOT_JSON },
		{ ".NaN", WORD_NOT_JSON }, { ".NAN", WORD_NOT_JSON },
		{ ".inf", WORD_NOT_JSON }, { ".Inf", WORD_NOT_JSON },
		{ ".INF", WORD_NOT_JSON },
	};

	if ((text[0] == '-' || text[0] == '+') && text[1] == '.' &&
	    isalpha((unsigned char)text[2]))
		text++;
	if (strlen(text) > strlen("false"))
		return WORD_NONE;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i].text, text) == 0)
			return words[i].word;
	}
	return WORD_NONE;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool
is_float(const char *s)
{
	size_t whole, fraction = 0;

	if (*s == '-' || *s == '+')
		s++;
	whole = strspn(s, DIGITS);
	s += whole;
	if (*s == '.') {
		fraction = strspn(s + 1, DIGITS);
		s += 1 + fraction;
	}
	if (whole == 0 && fraction == 0)
		return false;
	if (*s == 'e' || *s == 'E') {
		s++;
		if (*s == '-' || *s == '+')
			s++;
		if (!isdigit((unsigned char)*s))
			return false;
		s += strspn(s, DIGITS);
	}
	return *s == '\0';
}

/* Behind what says the base: 0x1f, 0b11, 0o17, 017. */
static const char *
find_base(const char *s, int *ret_base)
{
	*ret_base = 10;
	if (s[0] != '0' || s[1] == '\0')
		return s;
	switch (s[1]) {
	case 'x':
	case 'X':
		*ret_base = 16;
		return s + 2;
	case 'b':
	case 'B':
		*ret_base = 2;
		return s + 2;
	case 'o':
	case 'O':
		*ret_base = 8;
		return s + 2;
	default:
		*ret_base = 8;
		return s + 1;
	}
}

static json_t *
parse_int(const char *s)
{
	bool negative = *s == '-';
	const char *digits;
	unsigned long long value;
	size_t valid;
	int base;

	if (*s == '-' || *s == '+')
		s++;
	digits = find_base(s, &base);
	valid = base == 16   ? strspn(digits, DIGITS "abcdefABCDEF")
		: base == 10 ? strspn(digits, DIGITS)
			     : strspn(digits, base == 8 ? "01234567" : "01");
	if (valid == 0 || digits[valid] != '\0')
		return NULL;
	errno = 0;
	value = strtoull(digits, NULL, base);
	if (errno != 0)
		return NULL;
	if (negative && value <= (unsigned long long)INT64_MAX + 1)
		return json_integer((json_int_t)(0 - value));
	if (negative)
		return NULL;
	if (value <= INT64_MAX)
		return json_integer((json_int_t)value);
	return json_real((double)value);
}

/* A fraction without a fraction is an integer, as it is once it was JSON. */
static json_t *
parse_float(const char *s)
{
	double value;

	if (!is_float(s))
		return NULL;
	value = strtod(s, NULL);
	if (isinf(value))
		return NULL;
	if (floor(value) == value && fabs(value) < 0x1p63)
		return json_integer((json_int_t)value);
	return json_real(value);
}

/* NULL when it is no number. */
static json_t *
parse_number(const char *text)
{
	AUTO(free_ptr) char *bare = NULL;
	size_t len = 0;
	json_t *value;

	if (*text == '.')
		return parse_float(text);
	if (!isdigit((unsigned char)*text) && *text != '-' && *text != '+')
		return NULL;
	bare = xstrdup(text);
	for (const char *p = text; *p != '\0'; p++) {
		if (*p != '_')
			bare[len++] = *p;
	}
	bare[len] = '\0';
	value = parse_int(bare);
	return value != NULL ? value : parse_float(bare);
}

json_t *
yaml_scalar_plain(const char *text, struct err *err)
{
	json_t *number;

	switch (find_word(text)) {
	case WORD_NULL:
		return json_null();
	case WORD_TRUE:
		return json_true();
	case WORD_FALSE:
		return json_false();
	case WORD_NOT_JSON:
		(void)err_set(err, ERR_INVALID,
			      "error converting YAML to JSON: json: "
			      "unsupported value: %s",
			      text);
		return NULL;
	case WORD_NONE:
		break;
	}
	number = parse_number(text);
	return number != NULL ? number : json_string(text);
}

static json_t *
parse_binary(const char *text, struct err *err)
{
	AUTO(free_ptr) uint8_t *data = NULL;
	AUTO(free_ptr) char *bare = xstrdup(text);
	size_t len = 0;
	json_t *value = NULL;

	for (const char *p = text; *p != '\0'; p++) {
		if (!isspace((unsigned char)*p))
			bare[len++] = *p;
	}
	if (base64_decode(BASE64_STD, bare, len, &data, &len, err) == -1)
		return NULL;
	if (memchr(data, '\0', len) == NULL)
		value = json_stringn((const char *)data, len);
	if (value == NULL)
		(void)err_set(err, ERR_INVALID,
			      "error converting YAML to JSON: yaml: !!binary "
			      "value is no text");
	return value;
}

json_t *
yaml_scalar_tagged(const char *tag, const char *text, struct err *err)
{
	const char *name;
	json_t *value;
	bool fits;

	if (!str_has_prefix(tag, TAG_PREFIX))
		return json_string(text);
	name = tag + strlen(TAG_PREFIX);
	if (strcmp(name, "binary") == 0)
		return parse_binary(text, err);
	if (strcmp(name, "int") != 0 && strcmp(name, "float") != 0 &&
	    strcmp(name, "bool") != 0 && strcmp(name, "null") != 0)
		return json_string(text);
	value = yaml_scalar_plain(text, err);
	if (value == NULL)
		return NULL;
	fits = (name[0] == 'i' && json_is_integer(value)) ||
	       (name[0] == 'f' && json_is_number(value)) ||
	       (name[0] == 'b' && json_is_boolean(value)) ||
	       (name[0] == 'n' && json_is_null(value));
	if (fits)
		return value;
	json_decref(value);
	(void)err_set(err, ERR_INVALID,
		      "error converting YAML to JSON: yaml: cannot decode "
		      "!!str `%s` as a !!%s",
		      text, name);
	return NULL;
}

/* 190:20:30, which YAML 1.1 reads as a number to the base of 60. */
static bool
is_base60(const char *s)
{
	if (*s == '-' || *s == '+')
		s++;
	if (!isdigit((unsigned char)*s))
		return false;
	s += strspn(s, DIGITS "_");
	if (*s != ':')
		return false;
	while (*s == ':') {
		size_t n = strspn(s + 1, DIGITS);

		if (n == 0 || n > 2 || (n == 2 && s[1] > '5'))
			return false;
		s += 1 + n;
	}
	if (*s == '.')
		s += 1 + strspn(s + 1, DIGITS "_");
	return *s == '\0';
}

/* One to max digits, then end; returns behind that, NULL if it is otherwise. */
static const char *
skip_digits(const char *s, size_t max, char end)
{
	size_t n = s == NULL ? 0 : strspn(s, DIGITS);

	if (n == 0 || n > max || s[n] != end)
		return NULL;
	return s + n + (end == '\0' ? 0 : 1);
}

/* A date, alone or with a time. Ranges do not matter: quotes never harm. */
static bool
is_timestamp(const char *s)
{
	const char *day;

	if (strspn(s, DIGITS) != 4 || s[4] != '-')
		return false;
	day = skip_digits(s + 5, 2, '-');
	if (day == NULL)
		return false;
	if (skip_digits(day, 2, '\0') != NULL)
		return true;
	s = skip_digits(day, 2, 'T');
	if (s == NULL)
		s = skip_digits(day, 2, 't');
	if (s == NULL)
		s = skip_digits(day, 2, ' ');
	s = skip_digits(s, 2, ':');
	s = skip_digits(s, 2, ':');
	return s != NULL && isdigit((unsigned char)*s);
}

bool
yaml_scalar_needs_quotes(const char *text)
{
	json_t *number;

	if (find_word(text) != WORD_NONE || strcmp(text, "<<") == 0)
		return true;
	number = parse_number(text);
	if (number != NULL) {
		json_decref(number);
		return true;
	}
	return is_base60(text) || is_timestamp(text);
}
