/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/evacuation/update.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"
#include "controller/evacuation/evacuation.h"
#include "controller/evacuation/plan.h"
#include "controller/world.h"
#include "kube/obj.h"
#include "kube/worker.h"

#define UPDATE_KEY "plan" /* the only thing in the queue */

/* An instance that is to be updated. */
struct entry {
	struct map_node node;
	char *key;
};

/* A request that is under way. */
struct deed {
	TAILQ_ENTRY(deed) entry;
	struct updates *u;
	enum plan_verdict verdict;
	char *ns, *name, *uid; /* of the instance */
	struct kube_call *call;
};

struct updates {
	struct world *world;
	struct evacuations *evacuations;
	struct events *events;
	struct worker *worker;
	struct map entries;
	TAILQ_HEAD(, deed) deeds;
	struct kube_call *count_call;
	int64_t last_batch_us;
};

static void
plan_later(struct updates *u)
{
	worker_add_after(u->worker, UPDATE_KEY, UPDATE_PAUSE_MS);
}

static void
drop_entry(struct updates *u, const char *key)
{
	struct map_node *node = map_get(&u->entries, key);
	struct entry *entry;

	if (node == NULL)
		return;
	entry = MAP_ENTRY(node, struct entry, node);
	map_remove(&u->entries, node);
	free(entry->key);
	free(entry);
	plan_later(u);
}

static void
vmi_changed(const struct cache_object *object, void *arg)
{
	struct updates *u = arg;
	const struct vmi *vmi = object->view;
	struct entry *entry;

	if (vmi == NULL || vmi->phase != VMI_RUNNING ||
	    objmeta_is_deleting(&vmi->meta) ||
	    update_of(vmi, world_launcher_image(u->world)) == UPDATE_NONE) {
		drop_entry(u, object->key);
		return;
	}
	if (map_get(&u->entries, object->key) != NULL)
		return;
	entry = xmalloc0(sizeof(*entry));
	entry->key = xstrdup(object->key);
	map_put(&u->entries, &entry->node, entry->key);
	plan_later(u);
}

static void
vmi_updated(const struct cache_object *old, const struct cache_object *object,
	    void *arg)
{
	(void)old;
	vmi_changed(object, arg);
}

static void
vmi_deleted(const struct cache_object *object, void *arg)
{
	drop_entry(arg, object->key);
}

/* Strategy, or a count that somebody else wrote. */
static void
config_changed(const struct cache_object *object, void *arg)
{
	(void)object;
	plan_later(arg);
}

static void
config_updated(const struct cache_object *old,
	       const struct cache_object *object, void *arg)
{
	(void)old;
	config_changed(object, arg);
}

static void
deed_free(struct deed *deed)
{
	TAILQ_REMOVE(&deed->u->deeds, deed, entry);
	free(deed->ns);
	free(deed->name);
	free(deed->uid);
	free(deed);
}

static void
done(const struct kube_result *result, void *arg)
{
	struct deed *deed = arg;
	const struct events_ref subject = {
		.api_version = "kubevirt.io/v1",
		.kind = api_vmis.kind,
		.ns = deed->ns,
		.name = deed->name,
		.uid = deed->uid,
	};
	const char *text = result->status->message;
	bool worked = result->status->code == 0 || kube_is_not_found(result);

	if (deed->verdict == PLAN_EVICT && worked) {
		events_emit(deed->u->events, &subject, "Normal",
			    "SuccessfulEvict",
			    "Initiated eviction of VMI as part of automated "
			    "workload update");
	} else if (deed->verdict == PLAN_EVICT) {
		events_emit(deed->u->events, &subject, "Warning", "FailedEvict",
			    "Error deleting VMI during automated workload "
			    "update: %s",
			    text);
	} else if (worked) {
		events_emit(deed->u->events, &subject, "Normal",
			    "SuccessfulChangeAbortion",
			    "Aborted change for vmi: %s", deed->name);
	} else {
		events_emit(deed->u->events, &subject, "Normal",
			    "FailedChangeAbortion",
			    "Failed to abort change for vmi: %s: %s",
			    deed->name, text);
	}
	deed_free(deed);
}

static void
send(struct updates *u, const struct vmi *vmi, enum plan_verdict verdict,
     const struct kube_request *request)
{
	struct deed *deed = xmalloc0(sizeof(*deed));

	TAILQ_INSERT_TAIL(&u->deeds, deed, entry);
	deed->u = u;
	deed->verdict = verdict;
	deed->ns = xstrdup(vmi->meta.ns);
	deed->name = xstrdup(vmi->meta.name);
	deed->uid = xstrdup(vmi->meta.uid);
	deed->call = kube_send(world_client(u->world), request, done, deed);
}

/* Its pod goes, as if somebody had drained the node; what becomes of the
 * instance is as its eviction strategy says. */
static void
evict(struct updates *u, const struct vmi *vmi)
{
	struct cache_walk walk = cache_find(world_cache(u->world, WORLD_PODS),
					    PODS_BY_VMI, vmi->meta.uid);
	const struct pod *pod;

	while ((pod = world_next(&walk)) != NULL) {
		AUTO(js_unref) json_t *body = NULL;
		struct kube_request request = {
			.verb = KUBE_CREATE,
			.resource = &kube_pods,
			.ns = pod->meta.ns,
			.name = pod->meta.name,
			.subresource = "eviction",
		};

		if (pod_is_down(pod) || strcmp(pod->node, vmi->node) != 0)
			continue;
		body = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion",
				 "policy/v1", "kind", "Eviction", "metadata",
				 "name", pod->meta.name, "namespace",
				 pod->meta.ns);
		request.body = body;
		send(u, vmi, PLAN_EVICT, &request);
		return;
	}
}

static void
abort_update(struct updates *u, const struct vmi *vmi)
{
	char key[KUBE_KEY_MAX];
	struct cache_walk walk =
		cache_find(world_cache(u->world, WORLD_VMIMS), VMIMS_BY_VMI,
			   kube_key(vmi->meta.ns, vmi->meta.name, key));
	const struct vmim *vmim;

	while ((vmim = world_next(&walk)) != NULL) {
		AUTO(js_unref) json_t *options = NULL;
		struct kube_request request = {
			.verb = KUBE_DELETE,
			.resource = &api_vmims,
			.ns = vmim->meta.ns,
			.name = vmim->meta.name,
		};

		if (vmim_is_final(vmim) || !vmim->workload_update ||
		    objmeta_is_deleting(&vmim->meta))
			continue;
		options = kube_delete_options(vmim->meta.uid, NULL, -1);
		request.body = options;
		send(u, vmi, PLAN_ABORT, &request);
	}
}

static void
counted(const struct kube_result *result, void *arg)
{
	struct updates *u = arg;

	u->count_call = NULL;
	if (result->status->code != 0)
		plan_later(u);
}

static void
report_count(struct updates *u, size_t outdated)
{
	const struct kubevirt_config *config = world_config(u->world);
	AUTO(js_unref) json_t *patch = NULL;
	struct kube_request request = {
		.verb = KUBE_PATCH_MERGE,
		.resource = &api_kubevirts,
		.ns = config->meta.ns,
		.name = config->meta.name,
		.subresource = "status",
		.repeatable = true,
	};

	if (config->meta.name == NULL || u->count_call != NULL ||
	    config->outdated == (int64_t)outdated)
		return;
	patch = json_pack("{s:{s:I}}", "status",
			  "outdatedVirtualMachineInstanceWorkloads",
			  (json_int_t)outdated);
	request.body = patch;
	u->count_call = kube_send(world_client(u->world), &request, counted, u);
}

static void
gather_one(struct updates *u, const char *key, struct plan_candidate *c)
{
	struct cache_walk walk = cache_find(world_cache(u->world, WORLD_VMIMS),
					    VMIMS_BY_VMI, key);
	const struct vmim *vmim;

	c->update = update_of(c->vmi, world_launcher_image(u->world));
	while ((vmim = world_next(&walk)) != NULL) {
		if (vmim_is_final(vmim))
			continue;
		c->has_migration = true;
		c->has_update |= vmim->workload_update &&
				 !objmeta_is_deleting(&vmim->meta);
	}
	c->claimed = vmi_is_migrating(c->vmi, world_now_us(u->world)) ||
		     *c->vmi->evacuation_node != '\0';
}

/* Those to be updated, and those that have a migration for it and need it no
 * more; to be freed. */
static struct plan_candidate *
gather(struct updates *u, struct plan_facts *facts)
{
	const struct cache *vmims = world_cache(u->world, WORLD_VMIMS);
	size_t most = u->entries.count +
		      cache_count_of(vmims, VMIMS_ACTIVE, WORLD_ACTIVE);
	struct plan_candidate *list = xcalloc(most + 1, sizeof(*list));
	struct cache_walk walk = cache_find(vmims, VMIMS_ACTIVE, WORLD_ACTIVE);
	const struct map_node *node = NULL;
	const struct vmim *vmim;

	while ((node = map_next(&u->entries, node)) != NULL) {
		list[facts->count].vmi =
			world_get_key(u->world, WORLD_VMIS, node->key);
		if (list[facts->count].vmi != NULL)
			gather_one(u, node->key, &list[facts->count++]);
	}
	while ((vmim = world_next(&walk)) != NULL) {
		char key[KUBE_KEY_MAX];

		facts->running += migration_phase_is_running(vmim->phase);
		(void)kube_key(vmim->meta.ns, vmim->vmi_name, key);
		if (!vmim->workload_update || map_get(&u->entries, key) != NULL)
			continue;
		list[facts->count].vmi =
			world_get_key(u->world, WORLD_VMIS, key);
		if (list[facts->count].vmi != NULL)
			gather_one(u, key, &list[facts->count++]);
	}
	return list;
}

/* So that those that cannot be moved do not keep the others waiting. */
static void
shuffle(struct plan_candidate *list, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = random_below((uint32_t)i);
		struct plan_candidate kept = list[i - 1];

		list[i - 1] = list[other];
		list[other] = kept;
	}
}

static void
carry_out(struct updates *u, const struct plan_candidate *c,
	  enum plan_verdict verdict)
{
	char key[KUBE_KEY_MAX];

	switch (verdict) {
	case PLAN_WAIT:
		break;
	case PLAN_MIGRATE:
		evacuations_choose(
			u->evacuations,
			kube_key(c->vmi->meta.ns, c->vmi->meta.name, key),
			c->update);
		break;
	case PLAN_EVICT:
		evict(u, c->vmi);
		break;
	case PLAN_ABORT:
		abort_update(u, c->vmi);
		break;
	}
}

static void
work(const char *key, void *arg)
{
	struct updates *u = arg;
	struct plan_facts facts = {
		.now_us = world_now_us(u->world),
		.config = world_config(u->world),
		.last_batch_us = u->last_batch_us,
	};
	AUTO(free_ptr) struct plan_candidate *list = gather(u, &facts);
	AUTO(free_ptr) enum plan_verdict *verdicts = NULL;
	struct plan plan;

	shuffle(list, facts.count);
	verdicts = xcalloc(facts.count + 1, sizeof(*verdicts));
	facts.candidates = list;
	plan_make(&facts, verdicts, &plan);
	if (plan.evicts)
		u->last_batch_us = facts.now_us;
	for (size_t i = 0; i < facts.count; i++)
		carry_out(u, &list[i], verdicts[i]);
	report_count(u, plan.outdated);
	if (plan.unfinished)
		plan_later(u);
	worker_end(u->worker, key, false);
}

struct updates *
updates_new(struct world *world, struct evacuations *evacuations,
	    struct events *events)
{
	struct updates *u = xmalloc0(sizeof(*u));
	const struct worker_config config = {
		.loop = world_loop(world),
		.parallel = 1,
		.work = work,
		.arg = u,
	};
	const struct informer_handler vmis = {
		.added = vmi_changed,
		.updated = vmi_updated,
		.deleted = vmi_deleted,
		.arg = u,
	};
	const struct informer_handler kubevirts = {
		.added = config_changed,
		.updated = config_updated,
		.deleted = config_changed,
		.arg = u,
	};

	u->world = world;
	u->evacuations = evacuations;
	u->events = events;
	TAILQ_INIT(&u->deeds);
	u->worker = worker_new(&config);
	world_subscribe(world, WORLD_VMIS, &vmis);
	world_subscribe(world, WORLD_KUBEVIRTS, &kubevirts);
	plan_later(u);
	return u;
}

void
updates_free(struct updates *u)
{
	struct deed *deed, *after;
	struct map_node *node, *next;

	if (u == NULL)
		return;
	world_unsubscribe(u->world, u);
	for (deed = TAILQ_FIRST(&u->deeds); deed != NULL; deed = after) {
		after = TAILQ_NEXT(deed, entry);
		kube_cancel(deed->call);
		deed_free(deed);
	}
	kube_cancel(u->count_call);
	worker_free(u->worker);
	for (node = map_next(&u->entries, NULL); node != NULL; node = next) {
		struct entry *entry = MAP_ENTRY(node, struct entry, node);

		next = map_next(&u->entries, node);
		map_remove(&u->entries, node);
		free(entry->key);
		free(entry);
	}
	map_done(&u->entries);
	free(u);
}
