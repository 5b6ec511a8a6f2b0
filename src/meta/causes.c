/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/causes.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "meta/gofmt.h"

static const struct {
	const char *text;
	const char *reason;
} types[] = {
	[CAUSE_REQUIRED] = { "Required value", "FieldValueRequired" },
	[CAUSE_INVALID] = { "Invalid value", "FieldValueInvalid" },
	[CAUSE_TYPE_INVALID] = { "Invalid value", "FieldValueTypeInvalid" },
	[CAUSE_NOT_SUPPORTED] = { "Unsupported value",
				  "FieldValueNotSupported" },
	[CAUSE_DUPLICATE] = { "Duplicate value", "FieldValueDuplicate" },
	[CAUSE_FORBIDDEN] = { "Forbidden", "FieldValueForbidden" },
	[CAUSE_TOO_LONG] = { "Too long", "FieldValueTooLong" },
	[CAUSE_TOO_MANY] = { "Too many", "FieldValueTooMany" },
	[CAUSE_NOT_FOUND] = { "Not found", "FieldValueNotFound" },
	[CAUSE_INTERNAL] = { "Internal error", "InternalError" },
};

_Static_assert(ARRAY_LEN(types) == CAUSE_TYPE_COUNT, "a row per type");

void
causes_done(struct causes *c)
{
	for (size_t i = 0; i < c->len; i++) {
		free(c->list[i].field);
		free(c->list[i].body);
	}
	free(c->list);
	*c = CAUSES_INIT;
}

size_t
causes_count(const struct causes *c)
{
	return c->total;
}

const char *
causes_reason(enum cause_type type)
{
	return types[type].reason;
}

/* Takes body. */
static void
add(struct causes *c, enum cause_type type, const char *field, char *body)
{
	if (c->total++ >= CAUSES_MAX) {
		free(body);
		return;
	}
	c->list = xrealloc(c->list, (c->len + 1) * sizeof(c->list[0]));
	c->list[c->len++] = (struct cause){
		.type = type,
		.field = xstrdup(field),
		.body = body,
	};
}

void
causes_add_value(struct causes *c, enum cause_type type, const char *field,
		 const char *value_text, const char *message)
{
	const char *colon = message[0] == '\0' ? "" : ": ";

	add(c, type, field,
	    xasprintf("%s: %s%s%s", types[type].text, value_text, colon,
		      message));
}

static void
add_plain(struct causes *c, enum cause_type type, const char *field,
	  const char *message)
{
	const char *colon = message[0] == '\0' ? "" : ": ";

	add(c, type, field,
	    xasprintf("%s%s%s", types[type].text, colon, message));
}

void
causes_add(struct causes *c, enum cause_type type, const char *field,
	   const char *fmt, ...)
{
	AUTO(free_ptr) char *message = NULL;
	va_list ap;

	va_start(ap, fmt);
	message = xvasprintf(fmt, ap);
	va_end(ap);
	add_plain(c, type, field, message);
}

void
causes_required(struct causes *c, const char *field, const char *message)
{
	add_plain(c, CAUSE_REQUIRED, field, message);
}

void
causes_forbidden(struct causes *c, const char *field, const char *message)
{
	add_plain(c, CAUSE_FORBIDDEN, field, message);
}

void
causes_invalid(struct causes *c, const char *field, const json_t *value,
	       const char *message)
{
	AUTO(free_ptr) char *text = gofmt_value(value);

	causes_add_value(c, CAUSE_INVALID, field, text, message);
}

void
causes_invalid_str(struct causes *c, const char *field, const char *value,
		   const char *message)
{
	AUTO(free_ptr) char *text = gofmt_quote(value);

	causes_add_value(c, CAUSE_INVALID, field, text, message);
}

void
causes_not_supported(struct causes *c, const char *field, const char *value,
		     const char *const *supported)
{
	AUTO(free_ptr) char *text = gofmt_quote(value);
	AUTO(buf_done) struct buf message = BUF_INIT(BUF_UNLIMITED);

	(void)buf_append_str(&message, "");
	for (size_t i = 0; supported[i] != NULL; i++) {
		(void)buf_append_str(&message,
				     i == 0 ? "supported values: " : ", ");
		gofmt_append_quoted(&message, supported[i]);
	}
	causes_add_value(c, CAUSE_NOT_SUPPORTED, field, text,
			 (const char *)message.data);
}

void
causes_duplicate(struct causes *c, const char *field, const json_t *value)
{
	AUTO(free_ptr) char *text = gofmt_value(value);

	causes_add_value(c, CAUSE_DUPLICATE, field, text, "");
}

void
causes_not_found(struct causes *c, const char *field, const char *value)
{
	AUTO(free_ptr) char *text = gofmt_quote(value);

	causes_add_value(c, CAUSE_NOT_FOUND, field, text, "");
}

void
causes_too_long(struct causes *c, const char *field, size_t max)
{
	causes_add(c, CAUSE_TOO_LONG, field, "must have at most %zu bytes",
		   max);
}

void
causes_too_many(struct causes *c, const char *field, size_t is, size_t max)
{
	causes_add(c, CAUSE_TOO_MANY, field, "%zu: must have at most %zu items",
		   is, max);
}

void
causes_append(struct causes *c, const struct causes *from)
{
	for (size_t i = 0; i < from->len; i++)
		add(c, from->list[i].type, from->list[i].field,
		    xstrdup(from->list[i].body));
	c->total += from->total - from->len;
}

char *
causes_text(const struct causes *c)
{
	/* CAUSES_MAX bounds both the messages and the look for equal ones. */
	char *texts[CAUSES_MAX];
	struct buf joined = BUF_INIT(BUF_UNLIMITED);
	size_t count = 0;

	for (size_t i = 0; i < c->len; i++) {
		char *text =
			xasprintf("%s: %s", c->list[i].field, c->list[i].body);
		size_t seen = 0;

		while (seen < count && strcmp(texts[seen], text) != 0)
			seen++;
		if (seen < count)
			free(text);
		else
			texts[count++] = text;
	}
	(void)buf_append_str(&joined, count > 1 ? "[" : "");
	for (size_t i = 0; i < count; i++) {
		(void)buf_append_str(&joined, i > 0 ? ", " : "");
		(void)buf_append_str(&joined, texts[i]);
		free(texts[i]);
	}
	(void)buf_append_str(&joined, count > 1 ? "]" : "");
	return (char *)joined.data;
}
