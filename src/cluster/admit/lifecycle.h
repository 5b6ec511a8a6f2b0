/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_LIFECYCLE_H
#define CLUSTER_ADMIT_LIFECYCLE_H

/*
 * lifecycle - nothing is made in a namespace that is not there or is about to
 * go, and three namespaces do not go at all.
 *
 * Threading: only from the loop's thread.
 */

struct admission_request;
struct status;
struct store;

/* 0, or -1 with 404 (no such namespace) or 403. */
int lifecycle_check(struct store *store, const struct admission_request *req,
		    struct status *st);

#endif
