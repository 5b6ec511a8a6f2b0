/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_CONDITIONS_H
#define KUBE_CONDITIONS_H

/*
 * conditions - what the status of an object says in its list of conditions.
 *
 * Works on the JSON array ("status.conditions"). A type is in it once; where
 * somebody else wrote it twice the first counts and the others go with the
 * next change.
 *
 * Threading: any thread, with JSON of its own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct condition {
	const char *type;
	const char *status;  /* "True", "False", "Unknown" */
	const char *reason;  /* NULL or "": none */
	const char *message; /* NULL or "": none */
};

/* Borrowed; NULL when there is none, or list is. */
json_t *condition_get(const json_t *list, const char *type);
/* Its status; "" when there is none. */
const char *condition_status(const json_t *list, const char *type);
bool condition_is_true(const json_t *list, const char *type);
bool condition_is_false(const json_t *list, const char *type);

/*
 * Adds or changes it. lastTransitionTime becomes now_us (microseconds since
 * 1970) when the status changes, and stays as it is otherwise; members that
 * this does not know stay. True when something changed, and so is to be
 * written.
 */
bool condition_set(json_t *list, const struct condition *condition,
		   int64_t now_us);
/* True when it was there. */
bool condition_remove(json_t *list, const char *type);

/* lastTransitionTime in microseconds; 0 when there is none. */
int64_t condition_since_us(const json_t *list, const char *type);

#endif
