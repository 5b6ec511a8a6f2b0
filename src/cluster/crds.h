/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CRDS_H
#define CLUSTER_CRDS_H

/*
 * crds - CustomResourceDefinitions: from the store into the registry.
 *
 * Follows the stored ones, so that a kind is served from the moment its
 * definition is durable. Those that come with the program are stored at the
 * start; what an older program wrote is brought up to date, and what somebody
 * else has changed since is left as it is.
 */

struct crds;
struct err;
struct registry;
struct store;

/* NULL on failure: a bundled definition is wrong, or cannot be written. */
struct crds *crds_new(struct store *store, struct registry *registry,
		      struct err *err);
void crds_free(struct crds *crds); /* NULL is fine */

#endif
