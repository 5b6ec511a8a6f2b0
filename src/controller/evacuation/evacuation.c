/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/evacuation/evacuation.h"

#include <stdlib.h>

#include "base/mem.h"
#include "controller/evacuation/update.h"
#include "controller/evacuation/visit.h"
#include "kube/worker.h"

/* KubeVirt's names, odd as one of them is. */
#define EVACUATION_COMPONENT "disruptionbudget-controller"
#define UPDATE_COMPONENT "workload-update-controller"
/*
 * Migrations that are being made at once. Each instance has one at most, and
 * how many of them go on is limited elsewhere; this keeps a drain of thousands
 * from filling the client's queue.
 */
#define EVACUATION_PARALLEL 16

struct choice {
	struct map_node node;
	char *key;
	enum update update;
};

static void
work(const char *key, void *arg)
{
	evacuation_visit_start(arg, key);
}

static void
drop_choice(struct evacuations *c, struct choice *choice)
{
	map_remove(&c->chosen, &choice->node);
	free(choice->key);
	free(choice);
}

enum update
evacuations_take_choice(struct evacuations *c, const char *key)
{
	struct map_node *node = map_get(&c->chosen, key);
	struct choice *choice;
	enum update update;

	if (node == NULL)
		return UPDATE_NONE;
	choice = MAP_ENTRY(node, struct choice, node);
	update = choice->update;
	drop_choice(c, choice);
	return update;
}

void
evacuations_choose(struct evacuations *c, const char *key, enum update update)
{
	struct choice *choice = xmalloc0(sizeof(*choice));

	(void)evacuations_take_choice(c, key);
	choice->key = xstrdup(key);
	choice->update = update;
	map_put(&c->chosen, &choice->node, choice->key);
	worker_add(c->worker, key);
}

static void
vmi_changed(const struct cache_object *object, void *arg)
{
	struct evacuations *c = arg;
	const struct vmi *vmi = object->view;

	if (vmi != NULL && *vmi->node != '\0')
		worker_add(c->worker, object->key);
}

static void
vmi_updated(const struct cache_object *old, const struct cache_object *object,
	    void *arg)
{
	(void)old;
	vmi_changed(object, arg);
}

/* One less of an instance's migrations goes on. */
static void
vmim_deleted(const struct cache_object *object, void *arg)
{
	const struct vmim *vmim = object->view;
	struct evacuations *c = arg;
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

static bool
is_tainted(const struct world *world, const struct cache_object *object)
{
	const struct node *node = object->view;

	return node != NULL &&
	       node_has_taint(
		       node,
		       world_config(world)->migrations.node_drain_taint_key,
		       "NoSchedule");
}

static void
node_added(const struct cache_object *object, void *arg)
{
	struct evacuations *c = arg;
	struct cache_walk walk;
	const struct cache_object *vmi;

	if (!is_tainted(c->world, object))
		return;
	walk = cache_find(world_cache(c->world, WORLD_VMIS), VMIS_BY_NODE,
			  object->name);
	while ((vmi = cache_walk_next(&walk)) != NULL)
		worker_add(c->worker, vmi->key);
}

static void
node_updated(const struct cache_object *old, const struct cache_object *object,
	     void *arg)
{
	struct evacuations *c = arg;

	if (!is_tainted(c->world, old))
		node_added(object, arg);
}

static void
subscribe(struct evacuations *c)
{
	const struct informer_handler vmis = {
		.added = vmi_changed,
		.updated = vmi_updated,
		.arg = c,
	};
	const struct informer_handler vmims = {
		.updated = vmim_updated,
		.deleted = vmim_deleted,
		.arg = c,
	};
	const struct informer_handler nodes = {
		.added = node_added,
		.updated = node_updated,
		.arg = c,
	};

	world_subscribe(c->world, WORLD_VMIS, &vmis);
	world_subscribe(c->world, WORLD_VMIMS, &vmims);
	world_subscribe(c->world, WORLD_NODES, &nodes);
}

struct evacuations *
evacuations_new(struct world *world)
{
	struct evacuations *c = xmalloc0(sizeof(*c));
	const struct worker_config config = {
		.loop = world_loop(world),
		.parallel = EVACUATION_PARALLEL,
		.work = work,
		.arg = c,
	};

	c->world = world;
	TAILQ_INIT(&c->visits);
	c->events = events_new_for(world_client(world), EVACUATION_COMPONENT);
	c->update_events =
		events_new_for(world_client(world), UPDATE_COMPONENT);
	c->worker = worker_new(&config);
	subscribe(c);
	c->updates = updates_new(world, c, c->update_events);
	return c;
}

void
evacuations_free(struct evacuations *c)
{
	struct evacuation_visit *visit;
	struct map_node *node, *next;

	if (c == NULL)
		return;
	updates_free(c->updates);
	world_unsubscribe(c->world, c);
	while ((visit = TAILQ_FIRST(&c->visits)) != NULL)
		evacuation_visit_cancel(visit);
	for (node = map_next(&c->chosen, NULL); node != NULL; node = next) {
		next = map_next(&c->chosen, node);
		drop_choice(c, MAP_ENTRY(node, struct choice, node));
	}
	map_done(&c->chosen);
	worker_free(c->worker);
	events_free(c->events);
	events_free(c->update_events);
	free(c);
}
