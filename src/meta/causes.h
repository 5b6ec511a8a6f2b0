/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_CAUSES_H
#define META_CAUSES_H

/*
 * causes - what is wrong with an object, field by field.
 *
 * A check takes a struct causes and adds to it; none added means that all is
 * well. status_invalid() makes the answer of them. Fields are paths as
 * Kubernetes writes them: spec.containers[0].name, metadata.labels[a.b/c].
 *
 * At most CAUSES_MAX are kept: a hostile object of a million wrong members
 * gets an answer of bounded size. Further ones only count.
 *
 * Threading: any thread, but a list belongs to one at a time.
 */

#include <stddef.h>

#include "base/js.h"

#define CAUSES_MAX 100

enum cause_type {
	CAUSE_REQUIRED,
	CAUSE_INVALID,
	CAUSE_TYPE_INVALID,
	CAUSE_NOT_SUPPORTED,
	CAUSE_DUPLICATE,
	CAUSE_FORBIDDEN,
	CAUSE_TOO_LONG,
	CAUSE_TOO_MANY,
	CAUSE_NOT_FOUND,
	CAUSE_INTERNAL,
	CAUSE_TYPE_COUNT,
};

struct cause {
	enum cause_type type;
	char *field;
	char *body; /* "Invalid value: "x": must be y" */
};

struct causes {
	struct cause *list;
	size_t len;   /* in list */
	size_t total; /* added, those beyond CAUSES_MAX too */
};

#define CAUSES_INIT ((struct causes){ .list = NULL })

/* Frees the contents; c is then as CAUSES_INIT. Also for AUTO(). */
void causes_done(struct causes *c);

size_t causes_count(const struct causes *c);

/* "FieldValueInvalid" and so on, as in details.causes[].reason. */
const char *causes_reason(enum cause_type type);

/* "TYPE: message", with no value in between. */
void causes_add(struct causes *c, enum cause_type type, const char *field,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* "TYPE: value: message"; value_text as it shall be read, quoted or not. An
 * empty message leaves its colon out. */
void causes_add_value(struct causes *c, enum cause_type type, const char *field,
		      const char *value_text, const char *message);

/* message may be "". */
void causes_required(struct causes *c, const char *field, const char *message);
void causes_forbidden(struct causes *c, const char *field, const char *message);
/* The value as Go prints it: "x" with quotes, 5, true, map[...]{...}. */
void causes_invalid(struct causes *c, const char *field, const json_t *value,
		    const char *message);
void causes_invalid_str(struct causes *c, const char *field, const char *value,
			const char *message);
/* supported ends with NULL. */
void causes_not_supported(struct causes *c, const char *field,
			  const char *value, const char *const *supported);
void causes_duplicate(struct causes *c, const char *field, const json_t *value);
void causes_not_found(struct causes *c, const char *field, const char *value);
/* "must have at most MAX bytes" and "must have at most MAX items". */
void causes_too_long(struct causes *c, const char *field, size_t max);
void causes_too_many(struct causes *c, const char *field, size_t is,
		     size_t max);

/* All of from behind those of c. */
void causes_append(struct causes *c, const struct causes *from);

/*
 * "FIELD: BODY", and for several "[F1: B1, F2: B2]", equal ones once. To be
 * freed by the caller.
 */
char *causes_text(const struct causes *c);

#endif
