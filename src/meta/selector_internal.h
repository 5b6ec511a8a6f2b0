/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_SELECTOR_INTERNAL_H
#define META_SELECTOR_INTERNAL_H

/*
 * selector_internal - what the parser of selectors and the rest share.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct causes;

enum selector_op {
	SELECTOR_IN,
	SELECTOR_NOT_IN,
	SELECTOR_EQUAL,
	SELECTOR_DOUBLE_EQUAL,
	SELECTOR_NOT_EQUAL,
	SELECTOR_GREATER,
	SELECTOR_LESS,
	SELECTOR_EXISTS,
	SELECTOR_NOT_EXISTS,
};

struct requirement {
	char *key;
	enum selector_op op;
	char **values; /* in order, each once */
	size_t count;
	int64_t number; /* of SELECTOR_GREATER and SELECTOR_LESS */
};

struct selector {
	struct requirement *list;
	size_t count;
	bool nothing;
};

/* Appends an empty requirement, to be filled by the caller. */
struct requirement *selector_append(struct selector *sel);
void requirement_add_value(struct requirement *r, const char *value,
			   size_t len);

/* Puts the values in order and adds what is wrong to causes. */
void requirement_finish(struct requirement *r, struct causes *causes);

/* Puts the requirements in order of their keys. */
void selector_sort(struct selector *sel);

#endif
