/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_NODE_H
#define CLUSTER_AUTH_NODE_H

/*
 * node - what a node may ask for by being one.
 *
 * Its own Node and Lease, the pods bound to it, and what these pods need
 * (nodegraph.h). What it may create or change is limited further by what the
 * object says, in noderestriction.h. Everything else follows the rules of the
 * built-in ClusterRole system:node.
 */

#include <stdbool.h>

struct attributes;
struct node_authz;
struct store;

/* The namespace of the nodes' leases. */
#define NODE_LEASE_NAMESPACE "kube-node-lease"

struct node_authz *node_authz_new(struct store *store);
void node_authz_free(struct node_authz *authz); /* NULL is fine */

/* What a field selector demands; "" where it does not. */
struct node_selected {
	const char *name; /* or the request's own name */
	const char *node; /* spec.nodeName */
};

/*
 * Whether the node may. Otherwise *ret_reason, unless ret_reason is NULL, gets
 * a sentence for the caller to free, or NULL.
 */
bool node_authz_allows(const struct node_authz *authz, const char *node,
		       const struct attributes *attr,
		       const struct node_selected *selected, char **ret_reason);

#endif
