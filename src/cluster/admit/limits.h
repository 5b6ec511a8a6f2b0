/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_LIMITS_H
#define CLUSTER_ADMIT_LIMITS_H

/*
 * limits - LimitRange: defaults and bounds for the containers, pods and claims
 * of a namespace.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"

struct admission_request;
struct status;
struct store;

/* What a new LimitRange leaves unsaid: a default limit is the maximum, a
 * default request the default limit or else the minimum. */
void limits_complete(json_t *limit_range);

/* Gives the containers of a new pod the defaults of all LimitRanges of its
 * namespace, and says so in an annotation. */
void limits_default(struct store *store, const struct admission_request *req);

/* Holds a new pod, or a claim, to the bounds: 0, or -1 with 403. */
int limits_check(struct store *store, const struct admission_request *req,
		 struct status *st);

#endif
