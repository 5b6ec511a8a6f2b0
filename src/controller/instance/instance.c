/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/instance.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/instance/visit.h"
#include "controller/instance/memo.h"
#include "controller/instance/nodes.h"
#include "kube/worker.h"

#define INSTANCE_COMPONENT "virtualmachine-controller"
#define INSTANCE_PARALLEL 32 /* that are worked on at once */

static void
work(const char *key, void *arg)
{
	instance_visit_start(arg, key);
}

static void
vmi_changed(const struct cache_object *object, void *arg)
{
	struct instances *c = arg;

	worker_add(c->worker, object->key);
}

static void
vmi_updated(const struct cache_object *old, const struct cache_object *object,
	    void *arg)
{
	(void)old;
	vmi_changed(object, arg);
}

/* All that an index of instances has for a key. */
static void
add_found(struct instances *c, enum world_vmi_index index, const char *key)
{
	struct cache_walk walk =
		cache_find(world_cache(c->world, WORLD_VMIS), index, key);
	const struct cache_object *object;

	while ((object = cache_walk_next(&walk)) != NULL)
		worker_add(c->worker, object->key);
}

static void
pod_changed(const struct cache_object *object, void *arg)
{
	const struct pod *pod = object->view;

	if (pod != NULL)
		add_found(arg, VMIS_BY_UID, pod->vmi_uid);
}

static void
pod_updated(const struct cache_object *old, const struct cache_object *object,
	    void *arg)
{
	(void)old;
	pod_changed(object, arg);
}

static void
claim_added(const struct cache_object *object, void *arg)
{
	add_found(arg, VMIS_BY_CLAIM, object->key);
}

/* Of what changes about a claim only this lets a pod be made. */
static void
claim_updated(const struct cache_object *old, const struct cache_object *object,
	      void *arg)
{
	const struct pvc *before = old->view, *pvc = object->view;

	if (pvc != NULL &&
	    (before == NULL || pvc_is_filled(before) != pvc_is_filled(pvc)))
		claim_added(object, arg);
}

static void
node_deleted(const struct cache_object *object, void *arg)
{
	add_found(arg, VMIS_BY_NODE, object->name);
}

static void
node_silent(const char *node, void *arg)
{
	add_found(arg, VMIS_BY_NODE, node);
}

/* A final instance waits for its machine no longer. */
static void
vm_deleted(const struct cache_object *object, void *arg)
{
	struct instances *c = arg;

	worker_add(c->worker, object->key);
}

/* A new instance waits until migrations of the one before it have ended. */
static void
vmim_deleted(const struct cache_object *object, void *arg)
{
	const struct vmim *vmim = object->view;
	struct instances *c = arg;
	char key[KUBE_KEY_MAX];

	if (vmim != NULL)
		worker_add(c->worker,
			   kube_key(vmim->meta.ns, vmim->vmi_name, key));
}

static void
vmim_updated(const struct cache_object *old, const struct cache_object *object,
	     void *arg)
{
	const struct vmim *vmim = object->view;

	(void)old;
	if (vmim != NULL && vmim_is_final(vmim))
		vmim_deleted(object, arg);
}

static void
subscribe(struct instances *c)
{
	const struct {
		enum world_kind kind;
		struct informer_handler handler;
	} all[] = {
		{ WORLD_VMIS,
		  { .added = vmi_changed,
		    .updated = vmi_updated,
		    .deleted = vmi_changed } },
		{ WORLD_PODS,
		  { .added = pod_changed,
		    .updated = pod_updated,
		    .deleted = pod_changed } },
		{ WORLD_PVCS,
		  { .added = claim_added, .updated = claim_updated } },
		{ WORLD_NODES, { .deleted = node_deleted } },
		{ WORLD_VMS, { .deleted = vm_deleted } },
		{ WORLD_VMIMS,
		  { .updated = vmim_updated, .deleted = vmim_deleted } },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct informer_handler handler = all[i].handler;

		handler.arg = c;
		world_subscribe(c->world, all[i].kind, &handler);
	}
}

struct instances *
instances_new(struct world *world)
{
	struct instances *c = xmalloc0(sizeof(*c));
	const struct worker_config config = {
		.loop = world_loop(world),
		.parallel = INSTANCE_PARALLEL,
		.work = work,
		.arg = c,
	};

	c->world = world;
	TAILQ_INIT(&c->visits);
	c->memos = memos_new();
	c->events = events_new_for(world_client(world), INSTANCE_COMPONENT);
	c->worker = worker_new(&config);
	subscribe(c);
	c->nodes = nodes_new(world, node_silent, c);
	return c;
}

void
instances_free(struct instances *c)
{
	struct instance_visit *visit;

	if (c == NULL)
		return;
	nodes_free(c->nodes);
	world_unsubscribe(c->world, c);
	while ((visit = TAILQ_FIRST(&c->visits)) != NULL)
		instance_visit_cancel(visit);
	worker_free(c->worker);
	events_free(c->events);
	memos_free(c->memos);
	free(c);
}
