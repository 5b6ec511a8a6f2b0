/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/gojson.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/js.h"
#include "base/mem.h"

enum want {
	WANT_VALUE,
	WANT_ELEMENT_OR_END, /* behind "[" */
	WANT_KEY_OR_END,     /* behind "{" */
	WANT_KEY,
	WANT_COLON,
	WANT_COMMA_OR_END,
	WANT_NOTHING, /* behind the value */
};

struct scanner {
	const char *p, *end;
	enum want want;
	bool in_object[JS_MAX_DEPTH];
	size_t depth;
	char *fault;
};

/* Always false, for brevity. */
static bool
ended(struct scanner *s)
{
	s->fault = xstrdup("unexpected end of JSON input");
	return false;
}

/* How the decoder shows a character that it did not expect. */
static void
show(unsigned char c, char text[8])
{
	static const char escaped[] = "\n\r\t\\'";
	static const char letters[] = "nrt\\'";
	const char *at = c == '\0' ? NULL : strchr(escaped, c);

	if (at != NULL) {
		(void)snprintf(text, 8, "\\%c", letters[at - escaped]);
	} else if (c < ' ' || c == 0x7f) {
		(void)snprintf(text, 8, "\\x%02x", c);
	} else if (c < 0x80) {
		(void)snprintf(text, 8, "%c", c);
	} else {
		/* It looks at bytes, and shows them as Latin-1. */
		(void)snprintf(text, 8, "%c%c", 0xc0 | c >> 6,
			       0x80 | (c & 0x3f));
	}
}

static bool
wrong(struct scanner *s, const char *where)
{
	char text[8];

	show((unsigned char)*s->p, text);
	s->fault = xasprintf("invalid character '%s' %s", text, where);
	return false;
}

static bool
skip_string(struct scanner *s)
{
	for (s->p++; s->p < s->end && *s->p != '"'; s->p++) {
		if ((unsigned char)*s->p < ' ')
			return wrong(s, "in string literal");
		if (*s->p != '\\')
			continue;
		if (++s->p == s->end)
			return ended(s);
		if (*s->p == '\0' || strchr("\"\\/bfnrtu", *s->p) == NULL)
			return wrong(s, "in string escape code");
		if (*s->p != 'u')
			continue;
		for (int i = 0; i < 4; i++) {
			if (++s->p == s->end)
				return ended(s);
			if (!isxdigit((unsigned char)*s->p))
				return wrong(s, "in \\u hexadecimal character "
						"escape");
		}
	}
	if (s->p == s->end)
		return ended(s);
	s->p++;
	return true;
}

static bool
skip_digits(struct scanner *s, const char *where)
{
	if (s->p == s->end)
		return ended(s);
	if (!isdigit((unsigned char)*s->p))
		return wrong(s, where);
	while (s->p < s->end && isdigit((unsigned char)*s->p))
		s->p++;
	return true;
}

static bool
skip_number(struct scanner *s)
{
	if (*s->p == '-')
		s->p++;
	if (s->p < s->end && *s->p == '0')
		s->p++; /* whatever follows, the number is over */
	else if (!skip_digits(s, "in numeric literal"))
		return false;
	if (s->p < s->end && *s->p == '.') {
		s->p++;
		if (!skip_digits(s, "after decimal point in numeric literal"))
			return false;
	}
	if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		return skip_digits(s, "in exponent of numeric literal");
	}
	return true;
}

static bool
skip_literal(struct scanner *s, const char *word)
{
	for (size_t i = 0; word[i] != '\0'; i++, s->p++) {
		char where[64];

		if (s->p == s->end)
			return ended(s);
		if (*s->p == word[i])
			continue;
		(void)snprintf(where, sizeof(where),
			       "in literal %s (expecting '%c')", word, word[i]);
		return wrong(s, where);
	}
	return true;
}

static void
after_value(struct scanner *s)
{
	s->want = s->depth == 0 ? WANT_NOTHING : WANT_COMMA_OR_END;
}

static bool
open(struct scanner *s, bool object)
{
	if (s->depth == JS_MAX_DEPTH)
		return false;
	s->in_object[s->depth++] = object;
	s->want = object ? WANT_KEY_OR_END : WANT_ELEMENT_OR_END;
	s->p++;
	return true;
}

static bool
skip_value(struct scanner *s)
{
	bool ok;

	switch (*s->p) {
	case '{':
		return open(s, true);
	case '[':
		return open(s, false);
	case '"':
		ok = skip_string(s);
		break;
	case 't':
		ok = skip_literal(s, "true");
		break;
	case 'f':
		ok = skip_literal(s, "false");
		break;
	case 'n':
		ok = skip_literal(s, "null");
		break;
	default:
		if (*s->p != '-' && !isdigit((unsigned char)*s->p))
			return wrong(s, "looking for beginning of value");
		ok = skip_number(s);
	}
	after_value(s);
	return ok;
}

static bool
close_or_go_on(struct scanner *s)
{
	bool object = s->in_object[s->depth - 1];

	if (*s->p == ',') {
		s->want = object ? WANT_KEY : WANT_VALUE;
	} else if (*s->p == (object ? '}' : ']')) {
		s->depth--;
		after_value(s);
	} else {
		return wrong(s, object ? "after object key:value pair"
				       : "after array element");
	}
	s->p++;
	return true;
}

static bool
skip_key(struct scanner *s)
{
	if (*s->p != '"')
		return wrong(s, "looking for beginning of object key string");
	s->want = WANT_COLON;
	return skip_string(s);
}

/* At something that is no space. */
static bool
step(struct scanner *s)
{
	switch (s->want) {
	case WANT_VALUE:
		return skip_value(s);
	case WANT_ELEMENT_OR_END:
		return *s->p == ']' ? close_or_go_on(s) : skip_value(s);
	case WANT_KEY_OR_END:
		return *s->p == '}' ? close_or_go_on(s) : skip_key(s);
	case WANT_KEY:
		return skip_key(s);
	case WANT_COLON:
		if (*s->p != ':')
			return wrong(s, "after object key");
		s->p++;
		s->want = WANT_VALUE;
		return true;
	case WANT_COMMA_OR_END:
		return close_or_go_on(s);
	case WANT_NOTHING:
		break;
	}
	return wrong(s, "after top-level value");
}

char *
gojson_fault(const char *text, size_t len)
{
	struct scanner s = { .p = text, .end = text + len };

	for (;;) {
		while (s.p < s.end && (*s.p == ' ' || *s.p == '\t' ||
				       *s.p == '\r' || *s.p == '\n'))
			s.p++;
		if (s.p == s.end) {
			if (s.want != WANT_NOTHING)
				(void)ended(&s);
			return s.fault;
		}
		if (!step(&s))
			return s.fault;
	}
}
