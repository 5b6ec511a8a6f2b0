/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_GRAPH_H
#define CLUSTER_CONTROL_GRAPH_H

/*
 * graph - which object depends on which, by uid.
 *
 * Only objects with owners are in it, with a link for each ownerReference; an
 * owner is no more than the uid its dependents speak of. So the memory follows
 * the number of references, and every step costs as much as it changes.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct graph;

struct graph *graph_new(void);
void graph_free(struct graph *graph); /* NULL is fine */

/* The object's ownerReferences are these (NULL or empty: it has none). Returns
 * whether that is news. */
bool graph_set(struct graph *graph, const char *uid, const json_t *owners);
void graph_remove(struct graph *graph, const char *uid);

/*
 * Calls fn for each dependent of the owner, with whether it blocks a foreground
 * deletion; until fn returns false. fn must not change the graph.
 */
void graph_dependents(const struct graph *graph, const char *owner,
		      bool (*fn)(const char *uid, bool blocks, void *arg),
		      void *arg);
bool graph_has_dependents(const struct graph *graph, const char *owner);

/* The same for the owners of an object. */
void graph_owners(const struct graph *graph, const char *uid,
		  bool (*fn)(const char *owner, bool blocks, void *arg),
		  void *arg);

#endif
