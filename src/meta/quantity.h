/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_QUANTITY_H
#define META_QUANTITY_H

/*
 * quantity - amounts of resources: "100m", "1.5Gi", "12e6".
 *
 * Exact: a whole number of billionths, kept with the family of suffixes it was
 * written in. What is finer is rounded away from zero when parsed, as
 * Kubernetes does. The largest magnitude is about 1.7e29; larger ones, which
 * Kubernetes would take and then fail to add up, are refused. A number with a
 * binary suffix is capped at 2^63-1, as there.
 *
 * Threading: any thread; values, nothing to free.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum quantity_format {
	QUANTITY_DECIMAL_SI,  /* n u m "" k M G T P E */
	QUANTITY_BINARY_SI,   /* Ki Mi Gi Ti Pi Ei */
	QUANTITY_DECIMAL_EXP, /* e3 */
};

struct quantity {
	__int128 nano;
	enum quantity_format format;
};

#define QUANTITY_ZERO ((struct quantity){ .nano = 0 })
#define QUANTITY_TEXT_SIZE 64

/* err's text is what Kubernetes says about a quantity it cannot read. */
int quantity_parse(const char *text, struct quantity *ret_q, struct err *err);

/* The canonical form; returns buf, which must have QUANTITY_TEXT_SIZE. */
const char *quantity_text(const struct quantity *q, char *buf, size_t size);

/*
 * What the API gives back for a quantity it was given: mostly the canonical
 * form, but a few texts stay as they came (1.500), as in Kubernetes. buf must
 * have QUANTITY_TEXT_SIZE.
 */
int quantity_normalise(const char *text, char *buf, size_t size,
		       struct err *err);

struct quantity quantity_from_int(int64_t value, enum quantity_format format);
struct quantity quantity_from_milli(int64_t milli, enum quantity_format format);

/* The result has a's format, or b's where a is zero. Stops at the largest
 * magnitude instead of wrapping around. */
struct quantity quantity_add(struct quantity a, struct quantity b);
struct quantity quantity_sub(struct quantity a, struct quantity b);
struct quantity quantity_neg(struct quantity a);
int quantity_cmp(const struct quantity *a, const struct quantity *b);
bool quantity_is_zero(const struct quantity *q);
int quantity_sign(const struct quantity *q); /* -1, 0, 1 */

/* In whole units and in thousandths, rounded away from zero, and at the ends
 * of int64_t where it does not fit. */
int64_t quantity_value(const struct quantity *q);
int64_t quantity_milli(const struct quantity *q);

#endif
