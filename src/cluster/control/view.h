/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_VIEW_H
#define CLUSTER_CONTROL_VIEW_H

/*
 * view - the cluster as the controllers see it: nodes with the pods on them,
 * volumes, claims and classes, found by name and linked to each other.
 *
 * Holds no more than what it was told with the view_set...() functions, so
 * that everything built on it can be tried without a server. A pod counts for
 * its node while it is bound (or assumed to be) and has not finished.
 *
 * Whatever is returned is lent until the next change of the view.
 */

#include <stddef.h>

#include "base/js.h"
#include "base/map.h"
#include "cluster/control/model.h"

struct terms;

struct view {
	struct map pods;  /* "namespace/name" */
	struct map nodes; /* also those only pods speak of */
	struct map namespaces;
	struct map claims; /* "namespace/name"; also unknown ones */
	struct map volumes;
	struct map classes; /* also unknown ones */
	struct node **list; /* the known nodes, in no order */
	size_t count;
	size_t size;
	struct terms *terms;
};

struct view *view_new(void);
void view_free(struct view *view); /* NULL is fine */

/*
 * Each replaces what was there. An assumption about a pod stays until its
 * object is bound, gone, or another one.
 */
struct pod *view_set_pod(struct view *view, const json_t *obj, uint64_t rv);
struct node *view_set_node(struct view *view, const json_t *obj);
struct volume *view_set_volume(struct view *view, const json_t *obj);
struct claim *view_set_claim(struct view *view, const json_t *obj);
void view_set_class(struct view *view, const json_t *obj);
void view_set_namespace(struct view *view, const json_t *obj);

/* Each does nothing when there is none. */
void view_remove_pod(struct view *view, const char *key);
void view_remove_node(struct view *view, const char *name);
void view_remove_volume(struct view *view, const char *name);
void view_remove_claim(struct view *view, const char *key);
void view_remove_class(struct view *view, const char *name);
void view_remove_namespace(struct view *view, const char *name);

/* As view_set_pod() and view_remove_pod(), but the pod that was there (or
 * NULL) is not freed: it goes to the caller, for pod_free(). */
struct pod *view_swap_pod(struct view *view, const json_t *obj, uint64_t rv,
			  struct pod **ret_old);
struct pod *view_take_pod(struct view *view, const char *key);

/* NULL if there is none, or it is not known. */
struct pod *view_pod(const struct view *view, const char *key);
struct node *view_node(const struct view *view, const char *name);
struct volume *view_volume(const struct view *view, const char *name);
struct claim *view_claim(const struct view *view, const char *ns,
			 const char *name);
/* Also one that is not known, as its volumes need none: NULL only when nothing
 * speaks of it. */
struct storage_class *view_class(const struct view *view, const char *name);

/* The volume counts as reserved for the claim, until its object is set again.
 */
void view_reserve(struct volume *volume, const struct claim *claim);

/* The pod counts for the node although it is not bound yet; and not any more.
 * The node must be known. */
void view_assume(struct view *view, struct pod *pod, struct node *node);
void view_forget(struct view *view, struct pod *pod);

#endif
