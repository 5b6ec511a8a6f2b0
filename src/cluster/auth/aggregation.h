/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_AGGREGATION_H
#define CLUSTER_AUTH_AGGREGATION_H

/*
 * aggregation - ClusterRoles whose rules are gathered from others.
 *
 * A controller: a ClusterRole with an aggregationRule gets the rules of all
 * others that its selectors match, in the order of their names. It is worked
 * out anew some time after any ClusterRole has changed, once for a burst of
 * changes, and written only when it differs.
 *
 * Threading: only from the loop's thread.
 */

struct aggregation;
struct loop;
struct store;

/* Works out the roles that are on disk before it returns. */
struct aggregation *aggregation_new(struct store *store, struct loop *loop);
void aggregation_free(struct aggregation *aggregation);

#endif
