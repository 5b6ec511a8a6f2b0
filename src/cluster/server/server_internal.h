/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_SERVER_INTERNAL_H
#define CLUSTER_SERVER_INTERNAL_H

/* What the parts of the server know of each other; nobody else includes it. */

#include <stdbool.h>
#include <stdint.h>

#include "cluster/server/server.h"

struct call;
struct deletions;
struct logs;
struct watches;

struct server_stats {
	uint64_t started_ms;  /* of the monotonic clock */
	uint64_t by_class[6]; /* answers by their code's first digit */
};

struct watches *server_watches(struct server *server);
struct logs *server_logs(struct server *server);
struct deletions *server_deletions(struct server *server);
const struct server_stats *server_stats(const struct server *server);
/* An answer with this code has gone out. */
void server_count(struct server *server, int code);
bool server_is_draining(const struct server *server);

/* All deletions of collections. Freeing answers those that are not done; it is
 * for the end, when no other call is left. */
struct deletions *deletions_new(void);
void deletions_free(struct deletions *deletions);

/* A call whose user is known and which he may make: does it. */
void resource_run(struct call *call);
/* One for a path that is no resource. */
void path_run(struct call *call);
/* One for a subresource other than status. */
void subresource_run(struct call *call);
/* pods/NAME/eviction */
void eviction_run(struct call *call);

/* Decodes a body that is not the object itself to call->body. -1 with st. */
int subresource_decode(struct call *call, const char *kind);

/*
 * Runs the node restrictions and the admission gates for a body that is not
 * the object itself (a Binding, an Eviction), then finish, or fails the call.
 */
void subresource_admit(struct call *call, void (*finish)(struct call *call));

#endif
