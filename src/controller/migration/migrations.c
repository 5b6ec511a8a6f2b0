/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/migrations.h"

#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"
#include "controller/migration/adoption.h"
#include "controller/migration/internal.h"
#include "controller/migration/orphan.h"
#include "controller/migration/rank.h"
#include "controller/migration/run.h"
#include "controller/migration/runstate.h"

#define COMPONENT "virtualmachine-controller"

struct slot_limits
migrations_limits(const struct migrations *m)
{
	const struct kubevirt_config *config = world_config(m->world);

	return (struct slot_limits){
		.cluster = config->migrations.parallel_cluster,
		.outbound = config->migrations.parallel_outbound,
		.inbound = config->parallel_inbound,
	};
}

/* As much as rank.h looks at. */
static void
rough_facts(const struct migrations *m, const struct vmim *vmim,
	    struct facts *ret_facts)
{
	const struct note *note;
	char key[KUBE_KEY_MAX];

	(void)kube_key(vmim->meta.ns, vmim->meta.name, key);
	note = notes_find(&m->notes, key);
	*ret_facts = (struct facts){
		.vmim = vmim,
		.vmi = world_get(m->world, WORLD_VMIS, vmim->meta.ns,
				 vmim->vmi_name),
		.target_pod = world_find(m->world, WORLD_PODS,
					 PODS_BY_MIGRATION, vmim->meta.uid),
		.create_sent = note != NULL && note->create_sent,
	};
}

static void
put(struct migrations *m, const struct facts *facts, const char *key,
    int64_t delay_us)
{
	const struct queue_add add = {
		.key = key,
		.group = rank_group(facts),
		.priority = rank_priority(facts),
		.delay_ms =
			delay_us <= 0 ? 0 : (uint64_t)(delay_us + 999) / 1000,
	};

	worker_put(m->worker, &add);
}

static void
queue(struct migrations *m, const struct vmim *vmim)
{
	struct facts facts;
	struct note *note;
	char key[KUBE_KEY_MAX];

	if (m->worker == NULL)
		return;
	rough_facts(m, vmim, &facts);
	note = notes_find(&m->notes,
			  kube_key(vmim->meta.ns, vmim->meta.name, key));
	if (note != NULL && note->queued_ns == 0)
		note->queued_ns = loop_now_ns();
	put(m, &facts, key, 0);
}

void
migrations_queue(struct migrations *m, const char *key)
{
	const struct vmim *vmim = world_get_key(m->world, WORLD_VMIMS, key);

	if (vmim != NULL)
		queue(m, vmim);
}

void
migrations_queue_after(struct migrations *m, const struct facts *facts,
		       const char *key, int64_t delay_us)
{
	put(m, facts, key, delay_us);
}

/* Nothing is to be done about those that have ended and been settled; with
 * one exception, see gc.h. */
static bool
is_open(const struct vmim *vmim)
{
	return !vmim_is_final(vmim) || vmim->has_finalizer;
}

static void
queue_machine(struct migrations *m, const char *ns, const char *vmi_name,
	      bool all)
{
	char key[KUBE_KEY_MAX];
	struct cache_walk walk =
		cache_find(world_cache(m->world, WORLD_VMIMS), VMIMS_BY_VMI,
			   kube_key(ns, vmi_name, key));
	const struct vmim *vmim;

	while ((vmim = world_next(&walk)) != NULL) {
		if (all || is_open(vmim))
			queue(m, vmim);
	}
}

void
migrations_queue_machine(struct migrations *m, const char *ns,
			 const char *vmi_name)
{
	queue_machine(m, ns, vmi_name, false);
}

/* Slots. */

struct waking {
	struct migrations *m;
	struct slot_limits limits;
	const char *uid, *node;
};

static bool
source_has_slot(const char *node, void *arg)
{
	const struct waking *w = arg;

	return slots_outbound(w->m->slots, node) < w->limits.outbound;
}

/* The slot is its own from now on: who comes later does not get it. */
static void
source_taken(const struct parked *parked, void *arg)
{
	struct waking *w = arg;
	const struct queue_add add = {
		.key = parked->key,
		.group = parked->node,
		.priority = RANK_ACTIVE,
	};

	if (slots_take(w->m->slots, parked->uid, parked->node, &w->limits) ==
	    SLOT_HELD)
		worker_put(w->m->worker, &add);
}

static bool
target_has_slot(const char *node, void *arg)
{
	const struct waking *w = arg;

	return w->limits.inbound == 0 ||
	       slots_inbound(w->m->slots, node) < w->limits.inbound;
}

static void
target_taken(const struct parked *parked, void *arg)
{
	struct waking *w = arg;

	(void)slots_take_inbound(w->m->slots, parked->uid, parked->node,
				 &w->limits);
	migrations_queue(w->m, parked->key);
}

void
migrations_wake(struct migrations *m)
{
	struct waking waking = { .m = m, .limits = migrations_limits(m) };
	const struct parking_taker outbound = { source_has_slot, source_taken,
						&waking };
	const struct parking_taker inbound = { target_has_slot, target_taken,
					       &waking };

	if (m->worker == NULL)
		return;
	while (slots_used(m->slots) < waking.limits.cluster &&
	       parking_take(m->outbound, &outbound))
		continue;
	while (parking_take(m->inbound, &inbound))
		continue;
}

void
migrations_release(struct migrations *m, const char *uid)
{
	size_t before = slots_used(m->slots);

	slots_release(m->slots, uid);
	if (slots_used(m->slots) != before)
		migrations_wake(m);
}

/* What changes. */

static void
vmim_added(const struct cache_object *object, void *arg)
{
	if (object->view != NULL)
		queue(arg, object->view);
}

static void
vmim_updated(const struct cache_object *old, const struct cache_object *object,
	     void *arg)
{
	const struct vmim *before = old->view, *vmim = object->view;

	vmim_added(object, arg);
	/* Those that waited for its end, and those that are too many now. */
	if (vmim != NULL && vmim_is_final(vmim) &&
	    (before == NULL || !vmim_is_final(before)))
		queue_machine(arg, vmim->meta.ns, vmim->vmi_name, true);
}

static bool
is_running(const struct migrations *m, const char *key)
{
	const struct run *run;

	TAILQ_FOREACH(run, &m->runs, entry)
	{
		if (strcmp(run->key, key) == 0)
			return true;
	}
	return false;
}

static void
vmim_deleted(const struct cache_object *object, void *arg)
{
	struct migrations *m = arg;
	const struct vmim *vmim = object->view;
	struct cache_walk walk;
	const struct pod *pod;

	parking_drop(m->outbound, object->key);
	parking_drop(m->inbound, object->key);
	/* A run in between finds out by itself. */
	if (!is_running(m, object->key)) {
		notes_drop(&m->notes, object->key);
		migrations_release(m, object->uid);
	}
	if (vmim != NULL)
		queue_machine(m, vmim->meta.ns, vmim->vmi_name, false);
	walk = cache_find(world_cache(m->world, WORLD_PODS), PODS_BY_MIGRATION,
			  object->uid);
	while ((pod = world_next(&walk)) != NULL)
		orphan_queue(m, pod);
}

static void
vmi_changed(const struct cache_object *object, void *arg)
{
	queue_machine(arg, object->ns, object->name, false);
}

/* Migrations of a machine go with it, those that ended too. */
static void
vmi_deleted(const struct cache_object *object, void *arg)
{
	queue_machine(arg, object->ns, object->name, true);
}

static void
vmi_updated(const struct cache_object *old, const struct cache_object *object,
	    void *arg)
{
	(void)old;
	vmi_changed(object, arg);
}

static void
pod_changed(const struct cache_object *object, void *arg)
{
	struct migrations *m = arg;
	const struct pod *pod = object->view;
	const struct vmim *vmim;
	const struct vmi *vmi;

	if (pod == NULL)
		return;
	if (pod->migration_uid[0] != '\0') {
		vmim = world_find(m->world, WORLD_VMIMS, VMIMS_BY_UID,
				  pod->migration_uid);
		if (vmim != NULL)
			queue(m, vmim);
		else
			orphan_queue(m, pod);
	}
	vmi = world_find(m->world, WORLD_VMIS, VMIS_BY_UID, pod->vmi_uid);
	if (vmi != NULL)
		queue_machine(m, vmi->meta.ns, vmi->meta.name, false);
}

static void
pod_updated(const struct cache_object *old, const struct cache_object *object,
	    void *arg)
{
	(void)old;
	pod_changed(object, arg);
}

static void
forget_pod(struct pod **noted, const char *uid)
{
	if (*noted != NULL && strcmp((*noted)->meta.uid, uid) == 0)
		pod_unref(noted);
}

static void
pod_deleted(const struct cache_object *object, void *arg)
{
	struct migrations *m = arg;
	const struct pod *pod = object->view;
	const struct vmim *vmim;
	struct note *note = NULL;
	char key[KUBE_KEY_MAX];

	if (pod == NULL)
		return;
	vmim = world_find(m->world, WORLD_VMIMS, VMIMS_BY_UID,
			  pod->migration_uid);
	if (vmim != NULL)
		note = notes_find(&m->notes, kube_key(vmim->meta.ns,
						      vmim->meta.name, key));
	/* What an answer said about it does not hold any more. */
	if (note != NULL)
		forget_pod(&note->target, object->uid);
	pod_changed(object, arg);
}

static void
quota_changed(const struct cache_object *object, void *arg)
{
	struct migrations *m = arg;
	size_t len = strlen(object->ns);

	m->quota_changes++;
	for (struct map_node *node = map_next(&m->notes.by_key, NULL);
	     node != NULL; node = map_next(&m->notes.by_key, node)) {
		struct note *note = MAP_ENTRY(node, struct note, in_notes);

		if (note->quota_text == NULL ||
		    strncmp(note->key, object->ns, len) != 0 ||
		    note->key[len] != '/')
			continue;
		note_set_quota(note, NULL, 0);
		migrations_queue(m, note->key);
	}
}

static void
quota_updated(const struct cache_object *old, const struct cache_object *object,
	      void *arg)
{
	(void)old;
	quota_changed(object, arg);
}

/* Limits, deadlines and texts may all be others now. */
static void
config_changed(const struct cache_object *object, void *arg)
{
	struct migrations *m = arg;
	struct cache_walk walk = cache_find(world_cache(m->world, WORLD_VMIMS),
					    VMIMS_ACTIVE, WORLD_ACTIVE);
	const struct vmim *vmim;

	(void)object;
	migrations_wake(m);
	while ((vmim = world_next(&walk)) != NULL)
		queue(m, vmim);
}

static void
config_updated(const struct cache_object *old,
	       const struct cache_object *object, void *arg)
{
	(void)old;
	config_changed(object, arg);
}

static void
subscribe(struct migrations *m)
{
	static const struct {
		enum world_kind kind;
		struct informer_handler handler;
	} handlers[] = {
		{ WORLD_VMIMS,
		  { .added = vmim_added,
		    .updated = vmim_updated,
		    .deleted = vmim_deleted } },
		{ WORLD_VMIS,
		  { .updated = vmi_updated, .deleted = vmi_deleted } },
		{ WORLD_PODS,
		  { .added = pod_changed,
		    .updated = pod_updated,
		    .deleted = pod_deleted } },
		{ WORLD_QUOTAS,
		  { .updated = quota_updated, .deleted = quota_changed } },
		{ WORLD_KUBEVIRTS,
		  { .added = config_changed,
		    .updated = config_updated,
		    .deleted = config_changed } },
	};

	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		struct informer_handler handler = handlers[i].handler;

		handler.arg = m;
		world_subscribe(m->world, handlers[i].kind, &handler);
	}
}

static void
work(const char *key, void *arg)
{
	struct migrations *m = arg;

	if (key[0] == MIGRATIONS_POD_KEY)
		orphan_start(m, key);
	else
		run_start(m, key);
}

/* The slots are known: work can begin, with all that is there. */
static void
on_adopted(void *arg)
{
	struct migrations *m = arg;
	const struct worker_config config = {
		.loop = world_loop(m->world),
		.parallel = MIGRATIONS_PARALLEL,
		.work = work,
		.arg = m,
	};

	m->adoption = NULL;
	m->worker = worker_new(&config);
	subscribe(m);
}

struct migrations *
migrations_new(struct world *world)
{
	struct migrations *m = xmalloc0(sizeof(*m));

	m->world = world;
	m->events = events_new_for(world_client(world), COMPONENT);
	m->slots = slots_new();
	m->outbound = parking_new();
	m->inbound = parking_new();
	TAILQ_INIT(&m->runs);
	TAILQ_INIT(&m->orphans);
	world_add_metrics(world, tally_write, m);
	m->adoption = adoption_start(world, m->slots, on_adopted, m);
	return m;
}

void
migrations_free(struct migrations *m)
{
	if (m == NULL)
		return;
	world_unsubscribe(m->world, m);
	world_remove_metrics(m->world, m);
	adoption_free(m->adoption);
	while (!TAILQ_EMPTY(&m->runs))
		run_free(TAILQ_FIRST(&m->runs));
	while (!TAILQ_EMPTY(&m->orphans))
		orphan_free(TAILQ_FIRST(&m->orphans));
	worker_free(m->worker);
	notes_done(&m->notes);
	parking_free(m->outbound);
	parking_free(m->inbound);
	slots_free(m->slots);
	events_free(m->events);
	free(m);
}
