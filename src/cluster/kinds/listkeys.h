/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_LISTKEYS_H
#define CLUSTER_KINDS_LISTKEYS_H

/*
 * listkeys - lists in which nothing may occur twice (x-kubernetes-list-type
 * set and map).
 */

#include "base/js.h"

struct causes;

/*
 * Adds a cause for each item that equals an earlier one; keys (an array of
 * names) are the members that count, NULL: the whole item. field is the list's.
 * Takes n log n steps.
 */
void listkeys_check(const json_t *list, const json_t *keys, const char *field,
		    struct causes *causes);

#endif
