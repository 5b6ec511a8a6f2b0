/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORE_FOLLOW_H
#define CLUSTER_STORE_FOLLOW_H

/*
 * follow - a resource from its present state onwards.
 *
 * For whoever keeps something of his own from what is stored. The present state
 * is the durable one; every change comes once it is durable too. Both end with
 * unsubscribe().
 */

#include "cluster/store/store.h"

typedef void follow_fn(const struct event *event, void *arg);

/* Calls fn with EVENT_ADDED for each object that is there, in order and before
 * this returns, then with each change. */
struct subscription *follow(struct store *store, const char *group,
			    const char *resource, follow_fn *fn, void *arg);

/* Changes only; c NULL: of all resources. */
struct subscription *follow_changes(struct store *store, struct collection *c,
				    follow_fn *fn, void *arg);

#endif
