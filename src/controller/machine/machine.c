/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/machine/machine.h"

#include <stdlib.h>

#include "base/mem.h"
#include "controller/instance/memo.h"
#include "controller/machine/visit.h"
#include "kube/worker.h"

#define MACHINE_COMPONENT "virtualmachine-controller"
#define MACHINE_PARALLEL 32 /* that are worked on at once */

static void
work(const char *key, void *arg)
{
	machine_visit_start(arg, key);
}

/* A machine and its instance have the same name. */
static void
changed(const struct cache_object *object, void *arg)
{
	struct machines *c = arg;

	worker_add(c->worker, object->key);
}

static void
updated(const struct cache_object *old, const struct cache_object *object,
	void *arg)
{
	(void)old;
	changed(object, arg);
}

static void
claim_changed(const struct cache_object *object, void *arg)
{
	struct machines *c = arg;
	struct cache_walk walk = cache_find(world_cache(c->world, WORLD_VMIS),
					    VMIS_BY_CLAIM, object->key);
	const struct cache_object *vmi;

	while ((vmi = cache_walk_next(&walk)) != NULL)
		worker_add(c->worker, vmi->key);
}

static void
claim_updated(const struct cache_object *old, const struct cache_object *object,
	      void *arg)
{
	(void)old;
	claim_changed(object, arg);
}

struct machines *
machines_new(struct world *world)
{
	struct machines *c = xmalloc0(sizeof(*c));
	const struct worker_config config = {
		.loop = world_loop(world),
		.parallel = MACHINE_PARALLEL,
		.work = work,
		.arg = c,
	};
	const struct informer_handler handler = {
		.added = changed,
		.updated = updated,
		.deleted = changed,
		.arg = c,
	};
	const struct informer_handler claims = {
		.added = claim_changed,
		.updated = claim_updated,
		.arg = c,
	};

	c->world = world;
	TAILQ_INIT(&c->visits);
	c->memos = memos_new();
	c->events = events_new_for(world_client(world), MACHINE_COMPONENT);
	c->worker = worker_new(&config);
	world_subscribe(world, WORLD_VMS, &handler);
	world_subscribe(world, WORLD_VMIS, &handler);
	world_subscribe(world, WORLD_PVCS, &claims);
	return c;
}

void
machines_free(struct machines *c)
{
	struct machine_visit *visit;

	if (c == NULL)
		return;
	world_unsubscribe(c->world, c);
	while ((visit = TAILQ_FIRST(&c->visits)) != NULL)
		machine_visit_cancel(visit);
	worker_free(c->worker);
	events_free(c->events);
	memos_free(c->memos);
	free(c);
}
