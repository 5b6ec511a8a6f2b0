/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_NODEGRAPH_H
#define CLUSTER_AUTH_NODEGRAPH_H

/*
 * nodegraph - which objects the pods on a node need.
 *
 *	node <- pod <- secret, configmap, claim, service account
 *	node <- pod <- claim <- volume <- secret
 *
 * Kept by following pods and volumes. A pod is read once, when it is bound:
 *what it refers to cannot change afterwards. What a mirror pod refers to does
 *not count, since its node wrote it.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

struct nodegraph;
struct store;

enum nodegraph_type {
	NODEGRAPH_SECRET,
	NODEGRAPH_CONFIG_MAP,
	NODEGRAPH_CLAIM,
	NODEGRAPH_SERVICE_ACCOUNT,
	NODEGRAPH_POD,
	NODEGRAPH_VOLUME,
	NODEGRAPH_TYPE_COUNT,
};

struct nodegraph *nodegraph_new(struct store *store);
void nodegraph_free(struct nodegraph *graph); /* NULL is fine */

/* Whether a pod on the node leads to the object. ns is "" for volumes. */
bool nodegraph_leads(const struct nodegraph *graph, const char *node,
		     enum nodegraph_type type, const char *ns,
		     const char *name);

#endif
