/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/visit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "controller/instance/naming.h"
#include "controller/instance/memo.h"
#include "controller/render/podpatch.h"
#include "kube/obj.h"
#include "kube/worker.h"
#include "meta/time.h"

/* A pod to be deleted; texts are the visit's. */
struct removal {
	char *name, *uid;
};

struct instance_visit {
	TAILQ_ENTRY(instance_visit) entry;
	struct instances *c;
	const char *key; /* the worker's, until worker_end() */
	char *ns, *name, *uid, *version;
	enum vmi_phase phase; /* that it was seen in */
	struct kube_call *call;
	bool failed; /* to be tried again */
	/* As the server had them, once confirmed. */
	json_t *vmi_json;
	struct vmi *vmi;
	struct pod *pods[VISIT_PODS_MAX];
	json_t *pod_json[VISIT_PODS_MAX];
	size_t pod_count;
	/* What is left to do, in this order. */
	struct removal removals[INSTANCE_REMOVES_MAX];
	size_t removal_count;
	bool create;
	json_t *pod_patch;
	char *pod_name; /* that it is for */
	json_t *patch;
	const char *event_reason;
	bool event_warning;
	char event_text[INSTANCE_TEXT_SIZE];
};

static void next(struct instance_visit *visit);

static const struct log_field *
ref_of(const struct instance_visit *visit, struct log_field ref[5])
{
	ref[0] = (struct log_field){ "kind", api_vmis.kind };
	ref[1] = (struct log_field){ "namespace", visit->ns };
	ref[2] = (struct log_field){ "name", visit->name };
	ref[3] = (struct log_field){ "uid", visit->uid };
	ref[4] = (struct log_field){ NULL, NULL };
	return ref;
}

static struct events_ref
subject_of(const struct instance_visit *visit)
{
	return (struct events_ref){
		.api_version = "kubevirt.io/v1",
		.kind = api_vmis.kind,
		.ns = visit->ns,
		.name = visit->name,
		.uid = visit->uid,
	};
}

static void
emit(struct instance_visit *visit, const char *type, const char *reason,
     const char *fmt, const char *arg)
{
	struct events_ref subject = subject_of(visit);
	AUTO(free_ptr) char *text = NULL;

	/* The formats are the few of decide.h. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	text = xasprintf(fmt, arg);
#pragma GCC diagnostic pop
	events_emit(visit->c->events, &subject, type, reason, "%s", text);
}

static void
visit_free(struct instance_visit *visit)
{
	TAILQ_REMOVE(&visit->c->visits, visit, entry);
	for (size_t i = 0; i < visit->pod_count; i++) {
		pod_free(visit->pods[i]);
		json_decref(visit->pod_json[i]);
	}
	for (size_t i = 0; i < visit->removal_count; i++) {
		free(visit->removals[i].name);
		free(visit->removals[i].uid);
	}
	vmi_free(visit->vmi);
	json_decref(visit->vmi_json);
	json_decref(visit->pod_patch);
	json_decref(visit->patch);
	free(visit->pod_name);
	free(visit->ns);
	free(visit->name);
	free(visit->uid);
	free(visit->version);
	free(visit);
}

void
instance_visit_cancel(struct instance_visit *visit)
{
	kube_cancel(visit->call);
	visit_free(visit);
}

static void
end(struct instance_visit *visit)
{
	worker_end(visit->c->worker, visit->key, visit->failed);
	visit_free(visit);
}

/* A request that did not work is tried again with all that comes after it,
 * from new facts. */
static void
give_up(struct instance_visit *visit, const struct kube_result *result,
	const char *what)
{
	struct log_field ref[5];

	if (kube_is_conflict(result))
		log_debug(ref_of(visit, ref), "cannot %s, trying again: %s",
			  what, result->status->message);
	else
		log_warning(ref_of(visit, ref), "cannot %s, trying again: %s",
			    what, result->status->message);
	visit->failed = true;
	end(visit);
}

static bool
worked(const struct kube_result *result)
{
	return result->status->code == 0;
}

static void
removed(const struct kube_result *result, void *arg)
{
	struct instance_visit *visit = arg;
	struct removal *removal = &visit->removals[visit->removal_count - 1];

	visit->call = NULL;
	if (worked(result)) {
		emit(visit, "Normal", EVENT_SUCCESSFUL_DELETE,
		     INSTANCE_DELETED_FORMAT, removal->name);
	} else if (!kube_is_not_found(result) && !kube_is_conflict(result)) {
		emit(visit, "Warning", EVENT_FAILED_DELETE,
		     INSTANCE_DELETE_FAILED_FORMAT, removal->name);
		give_up(visit, result, "delete a pod");
		return;
	}
	visit->removal_count--;
	free(removal->name);
	free(removal->uid);
	next(visit);
}

static void
remove_pod(struct instance_visit *visit, const struct removal *removal)
{
	AUTO(js_unref)
	json_t *options = kube_delete_options(removal->uid, NULL, -1);
	const struct kube_request request = {
		.verb = KUBE_DELETE,
		.resource = &kube_pods,
		.ns = visit->ns,
		.name = removal->name,
		.body = options,
		.repeatable = true,
	};

	visit->call = kube_send(world_client(visit->c->world), &request,
				removed, visit);
}

/* Says why there is no pod, on the instance, and tries again later. */
static void
report_failure(struct instance_visit *visit, const char *message)
{
	struct instances *c = visit->c;
	int64_t now_us = world_now_us(c->world);
	const struct memo_failure *failure = memos_failed(
		c->memos, visit->key, EVENT_FAILED_CREATE, message, now_us);

	worker_add_after(c->worker, visit->key,
			 (uint64_t)(failure->retry_us - now_us) / 1000);
	/* The instance is looked at again at once, to say so. */
	worker_add(c->worker, visit->key);
	end(visit);
}

static void
created(const struct kube_result *result, void *arg)
{
	struct instance_visit *visit = arg;
	const char *text = result->status->message;
	AUTO(free_ptr) char *message = NULL;
	struct log_field ref[5];

	visit->call = NULL;
	if (worked(result)) {
		emit(visit, "Normal", EVENT_SUCCESSFUL_CREATE,
		     INSTANCE_CREATED_FORMAT, obj_name(result->answer));
		memos_succeeded(visit->c->memos, visit->key);
		next(visit);
		return;
	}
	if (result->unknown) {
		give_up(visit, result, "tell whether the pod was created");
		return;
	}
	if (kube_is_already_exists(result)) {
		/* By an earlier request, which the next look will show, or
		 * it is somebody else's. */
		memos_next_attempt(visit->c->memos, visit->key);
		give_up(visit, result, "create the pod");
		return;
	}
	log_warning(ref_of(visit, ref), "cannot create the pod: %s", text);
	if (result->status->code == 403 &&
	    strstr(text, "violates PodSecurity") != NULL) {
		message = xasprintf("failed to create pod for vmi %s/%s, it "
				    "needs a privileged namespace to run: %s",
				    visit->ns, visit->name, text);
		emit(visit, "Warning", EVENT_FAILED_CREATE,
		     INSTANCE_RENDER_FAILED_FORMAT, message);
	} else {
		message = xasprintf(INSTANCE_FAILURE_FORMAT, text);
		emit(visit, "Warning", EVENT_FAILED_CREATE,
		     INSTANCE_CREATE_FAILED_FORMAT, text);
	}
	report_failure(visit, message);
}

static void
create_pod(struct instance_visit *visit)
{
	struct instances *c = visit->c;
	AUTO(free_ptr) char *name = NULL;
	AUTO(js_unref) json_t *pod = NULL;
	struct world_render render;
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.resource = &kube_pods,
		.ns = visit->ns,
	};
	struct err err;
	json_t *metadata;

	visit->create = false;
	world_render_env(c->world, visit->ns, &render);
	render.env.random = random_below(UINT32_MAX);
	pod = render_pod(visit->vmi_json, &render.env, &err);
	if (pod == NULL) {
		AUTO(free_ptr)
		char *text = xasprintf(INSTANCE_RENDER_FAILED_FORMAT, err.text);

		emit(visit, "Warning", EVENT_FAILED_CREATE,
		     INSTANCE_RENDER_FAILED_FORMAT, err.text);
		report_failure(visit, text);
		return;
	}
	metadata = js_make_obj_at(pod, "metadata");
	name = naming_derive(js_str_at(metadata, "generateName"), visit->uid,
			     memos_attempt(c->memos, visit->key));
	json_object_del(metadata, "generateName");
	json_object_set_new(metadata, "name", json_string(name));
	request.body = pod;
	visit->call =
		kube_send(world_client(c->world), &request, created, visit);
}

static void
annotated(const struct kube_result *result, void *arg)
{
	struct instance_visit *visit = arg;

	visit->call = NULL;
	if (worked(result) || kube_is_not_found(result))
		next(visit);
	else
		give_up(visit, result, "annotate the pod");
}

static void
annotate_pod(struct instance_visit *visit)
{
	AUTO(js_unref) json_t *patch = TAKE_PTR(visit->pod_patch);
	const struct kube_request request = {
		.verb = KUBE_PATCH_MERGE,
		.resource = &kube_pods,
		.ns = visit->ns,
		.name = visit->pod_name,
		.body = patch,
		.repeatable = true,
	};

	visit->call = kube_send(world_client(visit->c->world), &request,
				annotated, visit);
}

static void
patched(const struct kube_result *result, void *arg)
{
	struct instance_visit *visit = arg;

	visit->call = NULL;
	if (!worked(result) && !kube_is_not_found(result)) {
		give_up(visit, result, "write the instance");
		return;
	}
	memos_wrote(visit->c->memos, visit->key, visit->version,
		    world_now_us(visit->c->world));
	if (visit->event_reason != NULL && worked(result))
		emit(visit, visit->event_warning ? "Warning" : "Normal",
		     visit->event_reason, "%s", visit->event_text);
	next(visit);
}

static void
patch_instance(struct instance_visit *visit)
{
	AUTO(js_unref) json_t *patch = TAKE_PTR(visit->patch);
	const struct kube_request request = {
		.verb = KUBE_PATCH_MERGE,
		.resource = &api_vmis,
		.ns = visit->ns,
		.name = visit->name,
		.body = patch,
	};

	json_object_set_new(js_make_obj_at(patch, "metadata"),
			    "resourceVersion", json_string(visit->version));
	visit->call = kube_send(world_client(visit->c->world), &request,
				patched, visit);
}

static void
next(struct instance_visit *visit)
{
	if (visit->removal_count > 0)
		remove_pod(visit, &visit->removals[visit->removal_count - 1]);
	else if (visit->create && visit->patch == NULL)
		create_pod(visit);
	else if (visit->pod_patch != NULL)
		annotate_pod(visit);
	else if (visit->patch != NULL)
		patch_instance(visit); /* its finalizer before the pod */
	else
		end(visit);
}

/* Finalizers as they are to be, into the patch. */
static void
set_finalizers(struct instance_visit *visit, const struct instance_decision *d)
{
	AUTO(js_unref) json_t *copy = NULL;
	json_t *list;

	if (d->finalize == FINALIZE_NOTHING && !d->drop_vm_finalizer)
		return;
	copy = json_deep_copy(visit->vmi_json);
	if (d->finalize == FINALIZE_ADD)
		(void)obj_add_finalizer(copy, FINALIZER_VMI);
	if (d->finalize == FINALIZE_DROP)
		(void)obj_remove_finalizer(copy, FINALIZER_VMI);
	if (d->drop_vm_finalizer)
		(void)obj_remove_finalizer(copy, FINALIZER_VM);
	list = js_arr_at(copy, "metadata.finalizers");
	if (visit->patch == NULL)
		visit->patch = json_object();
	json_object_set_new(js_make_obj_at(visit->patch, "metadata"),
			    "finalizers",
			    list == NULL ? json_null() : json_incref(list));
}

static void
set_annotation(struct instance_visit *visit, const struct pod *pod)
{
	for (size_t i = 0; i < visit->pod_count; i++) {
		if (visit->pods[i] != pod)
			continue;
		visit->pod_patch = podpatch_descheduler(visit->vmi_json,
							visit->pod_json[i]);
		visit->pod_name = xstrdup(pod->meta.name);
	}
}

/* Takes over a decision; what it points to may go away then. */
static void
carry_out(struct instance_visit *visit, struct instance_decision *d)
{
	struct log_field ref[5];

	for (size_t i = 0; i < d->remove_count; i++) {
		visit->removals[visit->removal_count++] = (struct removal){
			.name = xstrdup(d->remove[i]->meta.name),
			.uid = xstrdup(d->remove[i]->meta.uid),
		};
	}
	visit->create = d->create;
	visit->patch = TAKE_PTR(d->patch);
	set_finalizers(visit, d);
	if (d->annotate != NULL)
		set_annotation(visit, d->annotate);
	visit->event_reason = d->event_reason;
	visit->event_warning = d->event_warning;
	(void)snprintf(visit->event_text, sizeof(visit->event_text), "%s",
		       d->event_text);
	if (d->again_us != INSTANCE_NEVER) {
		int64_t wait_us = d->again_us - world_now_us(visit->c->world);

		worker_add_after(visit->c->worker, visit->key,
				 wait_us < 0 ? 0
					     : (uint64_t)wait_us / 1000 + 1);
	}
	if (visit->create || visit->removal_count > 0 ||
	    d->phase != visit->phase)
		log_info(ref_of(visit, ref), "%s: phase '%s'", d->rule,
			 vmi_phase_name(d->phase));
	next(visit);
}

/* Pods as the server has them. */
static void
listed(const struct kube_result *result, void *arg)
{
	struct instance_visit *visit = arg;
	struct instance_decision d;
	struct instance_gathered facts;
	size_t i;
	json_t *item;

	visit->call = NULL;
	if (!worked(result)) {
		give_up(visit, result, "list the pods");
		return;
	}
	json_array_foreach(js_arr_at(result->answer, "items"), i, item)
	{
		struct err err;
		struct pod *pod;

		if (visit->pod_count == VISIT_PODS_MAX ||
		    !obj_is_controlled_by(item, visit->uid))
			continue;
		pod = pod_decode(item, &err);
		if (pod == NULL)
			continue;
		visit->pods[visit->pod_count] = pod;
		visit->pod_json[visit->pod_count++] = json_incref(item);
	}
	instance_gather(visit->c, visit->key, visit->vmi, &facts);
	for (size_t p = 0; p < visit->pod_count; p++)
		facts.pods[p] = visit->pods[p];
	facts.facts.pod_count = visit->pod_count;
	facts.facts.confirmed = true;
	instance_decide(&facts.facts, &d);
	carry_out(visit, &d);
	instance_decision_done(&d);
}

/* The instance as the server has it. */
static void
got(const struct kube_result *result, void *arg)
{
	struct instance_visit *visit = arg;
	AUTO(free_ptr) char *selector = NULL;
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &kube_pods,
		.ns = visit->ns,
	};
	struct err err;

	visit->call = NULL;
	if (kube_is_not_found(result)) {
		end(visit);
		return;
	}
	if (!worked(result)) {
		give_up(visit, result, "read the instance");
		return;
	}
	visit->vmi = vmi_decode(result->answer, &err);
	if (visit->vmi == NULL ||
	    strcmp(visit->vmi->meta.uid, visit->uid) != 0) {
		/* Another one; the cache will say so. */
		end(visit);
		return;
	}
	visit->vmi_json = json_incref(result->answer);
	free(visit->version);
	visit->version = xstrdup(visit->vmi->meta.version);
	visit->phase = visit->vmi->phase;
	selector = xasprintf(LABEL_CREATED_BY "=%s", visit->uid);
	request.label_selector = selector;
	visit->call = kube_send(world_client(visit->c->world), &request, listed,
				visit);
}

static void
confirm(struct instance_visit *visit)
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

static void
gather_pods(const struct world *world, struct instance_gathered *facts)
{
	const char *uid = facts->facts.vmi->meta.uid;
	struct cache_walk walk =
		cache_find(world_cache(world, WORLD_PODS), PODS_BY_VMI, uid);
	const struct pod *pod;

	while ((pod = world_next(&walk)) != NULL) {
		if (facts->facts.pod_count < VISIT_PODS_MAX &&
		    strcmp(pod->meta.owner_uid, uid) == 0)
			facts->pods[facts->facts.pod_count++] = pod;
	}
}

void
instance_visit_start(struct instances *c, const char *key)
{
	const struct vmi *vmi = world_get_key(c->world, WORLD_VMIS, key);
	struct instance_decision d;
	struct instance_gathered facts;
	struct instance_visit *visit;

	if (vmi == NULL) {
		memos_forget(c->memos, key);
		worker_end(c->worker, key, false);
		return;
	}
	instance_gather(c, key, vmi, &facts);
	if (memos_is_behind(c->memos, key, vmi->meta.version,
			    facts.facts.now_us)) {
		worker_add_after(c->worker, key, MEMO_PATIENCE_US / 1000);
		worker_end(c->worker, key, false);
		return;
	}
	gather_pods(c->world, &facts);
	instance_decide(&facts.facts, &d);
	visit = xmalloc0(sizeof(*visit));
	TAILQ_INSERT_TAIL(&c->visits, visit, entry);
	visit->c = c;
	visit->key = key;
	visit->ns = xstrdup(vmi->meta.ns);
	visit->name = xstrdup(vmi->meta.name);
	visit->uid = xstrdup(vmi->meta.uid);
	visit->version = xstrdup(vmi->meta.version);
	visit->phase = vmi->phase;
	if (d.confirm)
		confirm(visit);
	else
		carry_out(visit, &d);
	instance_decision_done(&d);
}
