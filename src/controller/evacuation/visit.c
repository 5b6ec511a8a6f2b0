/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/evacuation/visit.h"

#include <stdlib.h>
#include <string.h>

#include "api/defaults.h"
#include "api/kinds.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/instance/naming.h"
#include "kube/obj.h"
#include "kube/worker.h"
#include "meta/names.h"

#define VISIT_VMIMS_MAX 64 /* of one instance that are looked at */

struct evacuation_visit {
	TAILQ_ENTRY(evacuation_visit) entry;
	struct evacuations *c;
	const char *key; /* the worker's, until worker_end() */
	char *ns, *name, *uid;
	enum update update;
	struct kube_call *call;
	bool failed;
	/* As the server had them, once confirmed. */
	struct vmi *vmi;
	struct vmim *vmims[VISIT_VMIMS_MAX];
	size_t vmim_count;
	enum evacuation_kind kind; /* of what is being created */
};

static void
visit_free(struct evacuation_visit *visit)
{
	TAILQ_REMOVE(&visit->c->visits, visit, entry);
	for (size_t i = 0; i < visit->vmim_count; i++)
		vmim_free(visit->vmims[i]);
	vmi_free(visit->vmi);
	free(visit->ns);
	free(visit->name);
	free(visit->uid);
	free(visit);
}

void
evacuation_visit_cancel(struct evacuation_visit *visit)
{
	kube_cancel(visit->call);
	visit_free(visit);
}

static void
end(struct evacuation_visit *visit)
{
	worker_end(visit->c->worker, visit->key, visit->failed);
	visit_free(visit);
}

static bool
worked(const struct kube_result *result)
{
	return result->status->code == 0;
}

static void
give_up(struct evacuation_visit *visit, const struct kube_result *result,
	const char *what)
{
	const struct log_field ref[] = {
		{ "kind", api_vmis.kind },
		{ "namespace", visit->ns },
		{ "name", visit->name },
		{ "uid", visit->uid },
		{ NULL, NULL },
	};

	log_warning(ref, "cannot %s, trying again: %s", what,
		    result->status->message);
	visit->failed = true;
	end(visit);
}

static void
emit(struct evacuation_visit *visit, enum evacuation_kind kind,
     const char *type, const char *reason, const char *text)
{
	const struct events_ref subject = {
		.api_version = "kubevirt.io/v1",
		.kind = api_vmis.kind,
		.ns = visit->ns,
		.name = visit->name,
		.uid = visit->uid,
	};

	events_emit(kind == EVACUATION_UPDATE ? visit->c->update_events
					      : visit->c->events,
		    &subject, type, reason, "%s", text);
}

static void
created(const struct kube_result *result, void *arg)
{
	struct evacuation_visit *visit = arg;
	const char *why = visit->kind == EVACUATION_UPDATE
				  ? " for automated workload update"
				  : "";
	AUTO(free_ptr) char *text = NULL;

	visit->call = NULL;
	if (worked(result)) {
		text = xasprintf("Created Migration %s%s",
				 obj_name(result->answer), why);
		emit(visit, visit->kind, "Normal", EVENT_SUCCESSFUL_CREATE,
		     text);
		end(visit);
		return;
	}
	/* An earlier request may have come through: the next look tells. */
	if (!result->unknown && !kube_is_already_exists(result)) {
		text = xasprintf("Error creating a Migration%s: %s", why,
				 result->status->message);
		emit(visit, visit->kind, "Warning", EVENT_FAILED_CREATE, text);
	}
	give_up(visit, result, "create a migration");
}

/* The migration, as admission leaves it. A new reference. */
static json_t *
render(const struct evacuation_visit *visit,
       const struct evacuation_decision *d)
{
	const char *priority = migration_priority_name(d->priority);
	bool leaves = d->create == EVACUATION_LEAVE;
	AUTO(js_unref)
	json_t *subject = json_pack("{s:{s:s, s:s}}", "metadata", "name",
				    visit->name, "namespace", visit->ns);
	AUTO(free_ptr)
	char *seed = xasprintf("%s/%s", visit->uid, d->seed);
	AUTO(free_ptr)
	char *name = naming_derive(
		leaves ? PREFIX_EVACUATION : PREFIX_WORKLOAD_UPDATE, seed, 0);
	json_t *vmim = render_evacuation(subject, visit->vmi->node, priority);

	json_object_del(js_obj_at(vmim, "metadata"), "generateName");
	json_object_set_new(js_obj_at(vmim, "metadata"), "name",
			    json_string(name));
	if (!leaves) {
		(void)obj_set_annotation(vmim, ANNOTATION_EVACUATION, NULL);
		(void)obj_set_annotation(vmim, ANNOTATION_WORKLOAD_UPDATE, "");
		if (conds_is_true(&visit->vmi->conds, COND_VOLUMES_CHANGE)) {
			bool fits = strlen(visit->name) <= NAME_LABEL_MAX;

			(void)obj_set_label(vmim, LABEL_VOLUME_UPDATE,
					    fits ? visit->name : visit->uid);
		}
	}
	vmim_set_defaults(vmim);
	return vmim;
}

static void
create(struct evacuation_visit *visit, const struct evacuation_decision *d)
{
	AUTO(js_unref) json_t *vmim = render(visit, d);
	const struct kube_request request = {
		.verb = KUBE_CREATE,
		.resource = &api_vmims,
		.ns = visit->ns,
		.body = vmim,
	};

	visit->kind = d->create;
	visit->call = kube_send(world_client(visit->c->world), &request,
				created, visit);
}

static unsigned
live_pods(const struct world *world, const char *uid)
{
	struct cache_walk walk =
		cache_find(world_cache(world, WORLD_PODS), PODS_BY_VMI, uid);
	const struct pod *pod;
	unsigned count = 0;

	while ((pod = world_next(&walk)) != NULL)
		count += !pod_is_down(pod);
	return count;
}

static void
gather(const struct evacuation_visit *visit, const struct vmi *vmi,
       const struct vmim *const *vmims, struct evacuation_facts *ret_facts)
{
	const struct world *world = visit->c->world;

	*ret_facts = (struct evacuation_facts){
		.now_us = world_now_us(world),
		.config = world_config(world),
		.vmi = vmi,
		.node = *vmi->node == '\0'
				? NULL
				: world_get(world, WORLD_NODES, "", vmi->node),
		.vmims = vmims,
		.live_pods = live_pods(world, vmi->meta.uid),
		.update = visit->update,
	};
}

static void
settle(struct evacuation_visit *visit, const struct evacuation_decision *d)
{
	struct evacuations *c = visit->c;

	if (d->complain)
		emit(visit, EVACUATION_LEAVE, "Normal", EVENT_FAILED_CREATE,
		     "VirtualMachineInstance is not migrateable");
	if (d->again_us != EVACUATION_NEVER) {
		int64_t wait_us = d->again_us - world_now_us(c->world);

		worker_add_after(c->worker, visit->key,
				 wait_us < 0 ? 0
					     : (uint64_t)wait_us / 1000 + 1);
	}
	if (d->create != EVACUATION_NOTHING)
		create(visit, d);
	else
		end(visit);
}

static void
listed(const struct kube_result *result, void *arg)
{
	struct evacuation_visit *visit = arg;
	struct evacuation_facts facts;
	struct evacuation_decision d;
	size_t i;
	json_t *item;

	visit->call = NULL;
	if (!worked(result)) {
		give_up(visit, result, "list the migrations");
		return;
	}
	json_array_foreach(js_arr_at(result->answer, "items"), i, item)
	{
		struct err err;
		struct vmim *vmim;

		if (visit->vmim_count == VISIT_VMIMS_MAX ||
		    strcmp(js_str_at(item, "spec.vmiName"), visit->name) != 0)
			continue;
		vmim = vmim_decode(item, &err);
		if (vmim != NULL)
			visit->vmims[visit->vmim_count++] = vmim;
	}
	gather(visit, visit->vmi, (const struct vmim *const *)visit->vmims,
	       &facts);
	facts.vmim_count = visit->vmim_count;
	facts.confirmed = true;
	evacuation_decide(&facts, &d);
	settle(visit, &d);
}

static void
got(const struct kube_result *result, void *arg)
{
	struct evacuation_visit *visit = arg;
	AUTO(free_ptr) char *selector = NULL;
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &api_vmims,
		.ns = visit->ns,
	};
	struct err err;

	visit->call = NULL;
	if (!worked(result) && !kube_is_not_found(result)) {
		give_up(visit, result, "read the instance");
		return;
	}
	if (worked(result))
		visit->vmi = vmi_decode(result->answer, &err);
	if (visit->vmi == NULL ||
	    strcmp(visit->vmi->meta.uid, visit->uid) != 0) {
		end(visit);
		return;
	}
	/* A name that is too long to be a label is not one. */
	if (strlen(visit->name) <= NAME_LABEL_MAX) {
		selector = xasprintf(LABEL_VMI_NAME "=%s", visit->name);
		request.label_selector = selector;
	}
	visit->call = kube_send(world_client(visit->c->world), &request, listed,
				visit);
}

static void
confirm(struct evacuation_visit *visit)
{
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &api_vmis,
		.ns = visit->ns,
		.name = visit->name,
	};

	visit->call =
		kube_send(world_client(visit->c->world), &request, got, visit);
}

void
evacuation_visit_start(struct evacuations *c, const char *key)
{
	const struct vmi *vmi = world_get_key(c->world, WORLD_VMIS, key);
	enum update update = evacuations_take_choice(c, key);
	const struct vmim *vmims[VISIT_VMIMS_MAX];
	struct evacuation_facts facts;
	struct evacuation_decision d;
	struct evacuation_visit *visit;
	struct cache_walk walk;
	const struct vmim *vmim;

	if (vmi == NULL) {
		worker_end(c->worker, key, false);
		return;
	}
	visit = xmalloc0(sizeof(*visit));
	TAILQ_INSERT_TAIL(&c->visits, visit, entry);
	visit->c = c;
	visit->key = key;
	visit->update = update;
	gather(visit, vmi, vmims, &facts);
	walk = cache_find(world_cache(c->world, WORLD_VMIMS), VMIMS_BY_VMI,
			  key);
	while ((vmim = world_next(&walk)) != NULL) {
		if (facts.vmim_count < VISIT_VMIMS_MAX)
			vmims[facts.vmim_count++] = vmim;
	}
	evacuation_decide(&facts, &d);
	visit->ns = xstrdup(vmi->meta.ns);
	visit->name = xstrdup(vmi->meta.name);
	visit->uid = xstrdup(vmi->meta.uid);
	if (d.confirm)
		confirm(visit);
	else
		settle(visit, &d);
}
