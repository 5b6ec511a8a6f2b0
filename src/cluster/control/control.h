/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_H
#define CLUSTER_CONTROL_H

/*
 * control - the controllers that live in the server's process: what
 * kube-scheduler and kube-controller-manager do for a cluster of this kind.
 *
 * They learn from the store's events and write through client_request(), so
 * that what they do passes admission like anybody's request. Each works by
 * itself: from what can be read again it decides what is to be done, and does
 * it again with a growing pause when that failed. Nothing of theirs is stored
 * but the objects themselves; after a restart they begin from those.
 *
 * Threading: only from the loop's thread.
 */

#include <stdint.h>

struct control;
struct loop;
struct registry;
struct server;
struct store;

#define CONTROL_NODE_GRACE_MS (40U * 1000)
#define CONTROL_EVENT_TTL_MS (60U * 60 * 1000)

struct control_config {
	struct loop *loop;
	struct store *store;
	struct registry *registry;
	struct server *server; /* for client_request() */
	/* For the ConfigMap kube-root-ca.crt of each namespace; NULL: there is
	 * none. Copied. */
	const char *root_ca_pem;
	/* A node whose Lease has not been renewed for so long is not ready. 0:
	 * CONTROL_NODE_GRACE_MS. */
	uint64_t node_grace_ms;
	/* Events that have not changed for so long go. 0:
	 * CONTROL_EVENT_TTL_MS. */
	uint64_t event_ttl_ms;
};

/*
 * Starts all controllers: they read the store and write their first requests
 * from the loop, not from inside this call. Everything in config must outlive
 * the result.
 */
struct control *control_new(const struct control_config *config);

/* Stops them; answers to requests in flight are dropped. NULL is fine. */
void control_free(struct control *control);

#endif
