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

/* Whether the node is one that the required node affinity asks for. */
bool podneeds_is_affine(const json_t *pod, const json_t *node);

/* All that is requested, as the members of an object; a new reference. */
json_t *podneeds_resources(const json_t *pod);

/* Of a list as in "allocatable" or "hard"; 0 for what is not there. */
struct quantity podneeds_amount(const json_t *list, const char *resource);

/* It has not ended, and takes what it requests. */
bool podneeds_is_live(const json_t *pod);

#endif
