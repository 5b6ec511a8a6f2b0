/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_GRAPH_H
#define CLUSTER_AUTH_GRAPH_H

/*
 * graph - which objects the pods on a node need.
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

struct graph;
struct store;

enum graph_type {
	GRAPH_SECRET,
	GRAPH_CONFIG_MAP,
	GRAPH_CLAIM,
	GRAPH_SERVICE_ACCOUNT,
	GRAPH_POD,
	GRAPH_VOLUME,
	GRAPH_TYPE_COUNT,
};

struct graph *nodegraph_new(struct store *store);
void nodegraph_free(struct graph *graph); /* NULL is fine */

/* Whether a pod on the node leads to the object. ns is "" for volumes. */
bool nodegraph_leads(const struct graph *graph, const char *node,
		     enum graph_type type, const char *ns, const char *name);

#endif
