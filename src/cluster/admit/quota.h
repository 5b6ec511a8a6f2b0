/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_QUOTA_H
#define CLUSTER_ADMIT_QUOTA_H

/*
 * quota - ResourceQuota: what a namespace uses, and what it may.
 *
 * Usage is counted once when a quota appears or its spec changes, from the
 * objects of its namespace, and from then on follows the events of the store;
 * a request never counts objects. The store reports a write only once it is on
 * disk. Until then quota_charge()'s reservation stands for it: it ends with
 * the event of the same resource version, or with the news that the write was
 * lost. So the sum of usage and reservations is exact at any moment.
 *
 * What is counted, as Kubernetes does: "count/RESOURCE[.GROUP]" for every
 * namespaced kind; pods, services, secrets, configmaps, resourcequotas and
 * persistentvolumeclaims by their bare name; requests and limits of pods that
 * have not ended, services' node ports and load balancers, claims' storage in
 * total and by class. Scopes apply to pods.
 *
 * Usage goes into the quota's status a moment later, and at most ten times a
 * second for one quota.
 *
 * Threading: only from the loop's thread.
 */

#include <stddef.h>
#include <stdint.h>

struct admission_request;
struct loop;
struct quota;
struct registry;
struct status;
struct store;

struct quota *quota_new(struct loop *loop, struct store *store,
			struct registry *registry);
void quota_free(struct quota *quota);

/*
 * Refuses with 403 what would exceed a quota of the request's namespace, else
 * reserves it under rv unless it is a dry run. Requests for a subresource, and
 * operations that cannot add usage, pass.
 */
int quota_charge(struct quota *quota, const struct admission_request *req,
		 uint64_t rv, struct status *st);
/* Gives back what was reserved under rv, if anything. */
void quota_release(struct quota *quota, uint64_t rv);

/* Writes every status that waits for its turn now; for tests and before the
 * store closes. */
void quota_flush(struct quota *quota);

/* How many quotas are followed. */
size_t quota_count(const struct quota *quota);

#endif
