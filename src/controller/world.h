/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_WORLD_H
#define CONTROLLER_WORLD_H

/*
 * world - what all controllers share: the API server's objects as they were
 * last seen, and the means to change them.
 *
 * There is one informer per kind, whoever needs it; each object is decoded
 * once, into its view of src/api, and found by name or index. Informers run
 * from the start of the process, so that who takes over the lead begins with
 * full caches.
 *
 * A controller is x_new(world) and x_free(). It exists only while this process
 * leads: it is made when the lead has been won and all informers have synced,
 * and freed when the lead is lost; after that perhaps made anew. It subscribes
 * to the kinds it looks at, has a queue and worker of its own, and decides from
 * what the caches say at that moment, not from what changed. x_free() cancels
 * the calls it has under way, frees its worker and unsubscribes; it is never
 * called from within a callback of the controller. Since writes are refused
 * without the lead, nobody has to ask whether this process leads.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/config.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/storage.h"
#include "api/vm.h"
#include "api/vmi.h"
#include "api/vmim.h"
#include "controller/render/render.h"
#include "kube/events.h"
#include "kube/informer.h"

struct buf;
struct loop;
struct world;

/* The view of each kind stands behind it. */
enum world_kind {
	WORLD_VMS,              /* struct vm */
	WORLD_VMIS,             /* struct vmi */
	WORLD_VMIMS,            /* struct vmim */
	WORLD_PODS,             /* struct pod; launchers only */
	WORLD_NODES,            /* struct node */
	WORLD_KUBEVIRTS,        /* none: see world_config() */
	WORLD_POLICIES,         /* struct policy */
	WORLD_PVCS,             /* struct pvc */
	WORLD_STORAGE_PROFILES, /* struct storage_profile; may not exist */
	WORLD_QUOTAS,           /* none: only that they change */
	WORLD_KIND_COUNT,
};

/* Indexes, by kind. Keys are texts; those of "ns/name" are kube_key()'s. */
enum world_vmi_index {
	VMIS_BY_UID,
	VMIS_BY_NODE,       /* status.nodeName */
	VMIS_BY_EVACUATION, /* status.evacuationNodeName */
	VMIS_BY_CLAIM,      /* "ns/claim" of each volume */
	VMIS_INDEX_COUNT,
};

enum world_vmim_index {
	VMIMS_BY_UID,
	VMIMS_BY_VMI, /* "ns/name" of the machine */
	VMIMS_ACTIVE, /* WORLD_ACTIVE; those that have not ended */
	VMIMS_INDEX_COUNT,
};
#define WORLD_ACTIVE "active"

enum world_pod_index {
	PODS_BY_VMI,       /* UID of the machine */
	PODS_BY_MIGRATION, /* UID of the migration it is the target of */
	PODS_BY_NODE,
	PODS_INDEX_COUNT,
};

struct world_options {
	struct loop *loop;
	struct kube_client *client;   /* borrowed */
	const char *ns;               /* of the KubeVirt object; copied */
	const char *launcher_image;   /* copied */
	const char *launcher_command; /* copied; NULL: RENDER_LAUNCHER */
};

struct world *world_new(const struct world_options *options);
/* No controller is left. NULL is fine. */
void world_free(struct world *world);
/* Begins to list and watch; synced is called once, when all kinds have been
 * listed. */
void world_start(struct world *world, void (*synced)(void *arg), void *arg);
bool world_has_synced(const struct world *world);

struct loop *world_loop(const struct world *world);
struct kube_client *world_client(const struct world *world);
const char *world_ns(const struct world *world);
const char *world_launcher_image(const struct world *world);
int64_t world_now_us(const struct world *world); /* since 1970 */

/*
 * The KubeVirt object, or the defaults; never NULL. One that makes no sense
 * leaves what was there before. The pointers are good until it changes.
 */
const struct kubevirt_config *world_config(const struct world *world);
/* Its spec.configuration; NULL for none. */
const json_t *world_configuration(const struct world *world);

/*
 * Objects. A view is good until the object changes, that is until control goes
 * back to the loop; NULL when there is none, or it cannot be understood (which
 * is logged when it arrives).
 */
const struct cache *world_cache(const struct world *world,
				enum world_kind kind);
/* kind's view of an object of that name; ns may be "". */
const void *world_get(const struct world *world, enum world_kind kind,
		      const char *ns, const char *name);
const void *world_get_key(const struct world *world, enum world_kind kind,
			  const char *key);
/* The first object that an index has for a key. */
const void *world_find(const struct world *world, enum world_kind kind,
		       size_t index, const char *key);
/* All of them, as in cache.h; views that are NULL are left out:
 *
 *	struct cache_walk walk = cache_find(world_cache(w, WORLD_PODS),
 *					    PODS_BY_VMI, uid);
 *	while ((pod = world_next(&walk)) != NULL)
 */
const void *world_next(struct cache_walk *walk);

/*
 * Tells about changes of a kind until world_unsubscribe(). What is there
 * already is told as added before this returns. Views may be NULL in
 * object->view. handler->synced is not called: all has synced already. From
 * within a handler neither this nor world_unsubscribe().
 */
void world_subscribe(struct world *world, enum world_kind kind,
		     const struct informer_handler *handler);
/* All subscriptions that were made with this arg. */
void world_unsubscribe(struct world *world, const void *arg);

/* What pods are rendered with. Good until control goes back to the loop. */
struct world_render {
	struct render_env env;
	const struct world *world;
	const char *ns; /* of the claims */
};
void world_render_env(const struct world *world, const char *ns,
		      struct world_render *ret_render);

/* What events and logs say about an object; borrows from meta. */
struct events_ref world_ref(const struct kube_resource *resource,
			    const struct objmeta *meta);

/* Adds lines to /metrics, until world_remove_metrics() with the same arg. -1
 * when the buffer is full. */
typedef int world_metrics_fn(struct buf *buf, void *arg);
void world_add_metrics(struct world *world, world_metrics_fn *write, void *arg);
void world_remove_metrics(struct world *world, const void *arg);
int world_write_metrics(const struct world *world, struct buf *buf);

#endif
