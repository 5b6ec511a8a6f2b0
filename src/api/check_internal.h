/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_CHECK_INTERNAL_H
#define API_CHECK_INTERNAL_H

/*
 * check_internal - what the checks share.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct status;

#define CHECK_INVALID "FieldValueInvalid"
#define CHECK_REQUIRED "FieldValueRequired"
#define CHECK_NOT_SUPPORTED "FieldValueNotSupported"

/* How many causes there are. */
size_t check_count(const struct status *st);

/* Missing, null, "", {} and [] are the same, as they are to Go. */
bool check_same(const json_t *a, const json_t *b);
/* The same for each member of two objects. */
bool check_same_members(const json_t *a, const json_t *b);

#endif
