/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_AMOUNT_H
#define META_AMOUNT_H

/*
 * amount - quantities as they stand in objects, and what a pod asks for.
 *
 * Threading: any thread, with values of its own.
 */

#include <stdbool.h>

#include "base/js.h"
#include "meta/quantity.h"

/* A quantity is a string, or a whole number. False for anything else, then
 * *ret_q is zero. */
bool amount_of(const json_t *value, struct quantity *ret_q);

/* The same of a member of a list of resources; NULL for list is fine. */
bool amount_in(const json_t *list, const char *resource,
	       struct quantity *ret_q);

/*
 * What a pod as a whole requests of a resource, or is limited to: list is
 * "requests" or "limits". The sum of the containers or what the init
 * containers need at one time, whichever is more, and the overhead. False, and
 * zero, when no container speaks of the resource.
 */
bool amount_of_pod(const json_t *pod, const char *list, const char *resource,
		   struct quantity *ret_q);

#endif
