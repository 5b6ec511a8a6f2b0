/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_PODNEEDS_H
#define CTL_PODNEEDS_H

/*
 * podneeds - what a pod asks of a node and of a quota, as the scheduler counts
 * it. Threading: any thread.
 */

#include <stdbool.h>

#include "base/js.h"
#include "meta/quantity.h"

/* Of "requests" or "limits": the sum of its containers, or its largest init
 * container. */
struct quantity podneeds_sum(const json_t *pod, const char *which,
			     const char *resource);

/* Whether a taint keeps the pod away. */
bool podneeds_tolerates(const json_t *pod, const json_t *taint);

/* Whether the node has what nodeSelector and the required affinity ask for; if
 * not, *ret_why is a sentence to be freed. */
bool podneeds_selects(const json_t *pod, const json_t *node, char **ret_why);

#endif
