/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/machine/visit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "api/text.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "controller/instance/memo.h"
#include "controller/machine/machine.h"
#include "kube/obj.h"
#include "kube/worker.h"
#include "tls/digest.h"

#define DIGEST_LEN 32 /* characters of it that are kept */

struct machine_visit {
	TAILQ_ENTRY(machine_visit) entry;
	struct machines *c;
	const char *key; /* the worker's, until worker_end() */
	char *ns, *name, *uid, *version;
	char *instance_uid, *instance_version;
	struct kube_call *call;
	bool failed; /* to be tried again */
	/* As the server had them, once confirmed. */
	json_t *vm_json, *vmi_json;
	/* What is left to do, in this order. */
	enum machine_action action;
	bool paused;
	json_t *patch;
	json_t *vmi_patch;
};

static void next(struct machine_visit *visit);

char *
machine_template_digest(const json_t *vm)
{
	const json_t *spec = js_obj_at(vm, "spec.template.spec");
	char hex[DIGEST_SHA256_HEX_SIZE];
	size_t len;
	AUTO(free_ptr) char *text = js_text_sorted(spec, &len);

	return xstrndup(digest_sha256_hex(text, len, hex), DIGEST_LEN);
}

static log_ref
ref_of(const struct machine_visit *visit, struct log_field ref[5])
{
	ref[0] = (struct log_field){ "kind", api_vms.kind };
	ref[1] = (struct log_field){ "namespace", visit->ns };
	ref[2] = (struct log_field){ "name", visit->name };
	ref[3] = (struct log_field){ "uid", visit->uid };
	ref[4] = (struct log_field){ NULL, NULL };
	return ref;
}

static struct events_ref
subject_of(const struct machine_visit *visit)
{
	return (struct events_ref){
		.api_version = "kubevirt.io/v1",
		.kind = api_vms.kind,
		.ns = visit->ns,
		.name = visit->name,
		.uid = visit->uid,
	};
}

static void
visit_free(struct machine_visit *visit)
{
	TAILQ_REMOVE(&visit->c->visits, visit, entry);
	json_decref(visit->vm_json);
	json_decref(visit->vmi_json);
	json_decref(visit->patch);
	json_decref(visit->vmi_patch);
	free(visit->ns);
	free(visit->name);
	free(visit->uid);
	free(visit->version);
	free(visit->instance_uid);
	free(visit->instance_version);
	free(visit);
}

void
machine_visit_cancel(struct machine_visit *visit)
{
	kube_cancel(visit->call);
	visit_free(visit);
}

static void
end(struct machine_visit *visit)
{
	worker_end(visit->c->worker, visit->key, visit->failed);
	visit_free(visit);
}

static bool
worked(const struct kube_result *result)
{
	return result->status->code == 0;
}

/* A request that did not work is tried again with all that comes after it,
 * from new facts. */
static void
give_up(struct machine_visit *visit, const struct kube_result *result,
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

static void
send(struct machine_visit *visit, const struct kube_request *request,
     kube_done_fn *done)
{
	visit->call =
		kube_send(world_client(visit->c->world), request, done, visit);
}

/* What could not be done is said on the machine, and tried again later. */
static void
report_failure(struct machine_visit *visit, const char *reason,
	       const char *message)
{
	struct machines *c = visit->c;

	(void)memos_failed(c->memos, visit->key, reason, message,
			   world_now_us(c->world));
	worker_add(c->worker, visit->key);
	end(visit);
}

static void
started(const struct kube_result *result, void *arg)
{
	struct machine_visit *visit = arg;
	struct events_ref subject = subject_of(visit);
	AUTO(free_ptr) char *message = NULL;

	visit->call = NULL;
	if (worked(result)) {
		events_emit(visit->c->events, &subject, "Normal",
			    EVENT_SUCCESSFUL_CREATE, MACHINE_STARTED_FORMAT,
			    visit->name);
		memos_succeeded(visit->c->memos, visit->key);
		next(visit);
		return;
	}
	/* It has one name: an earlier request may have come through. */
	if (result->unknown || kube_is_already_exists(result)) {
		give_up(visit, result, "tell whether the instance was created");
		return;
	}
	events_emit(visit->c->events, &subject, "Warning", EVENT_FAILED_CREATE,
		    MACHINE_START_FAILED_FORMAT, result->status->message);
	message = xasprintf("Failure while starting VMI: %s",
			    result->status->message);
	report_failure(visit, EVENT_FAILED_CREATE, message);
}

static void
start(struct machine_visit *visit)
{
	AUTO(free_ptr) char *digest = machine_template_digest(visit->vm_json);
	AUTO(js_unref) json_t *vmi = NULL;
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.resource = &api_vmis,
		.ns = visit->ns,
	};
	struct err err;

	vmi = render_vmi(visit->vm_json, visit->paused, &err);
	if (vmi == NULL) {
		AUTO(free_ptr)
		char *message =
			xasprintf("Failure while starting VMI: %s", err.text);

		report_failure(visit, EVENT_FAILED_CREATE, message);
		return;
	}
	/* Its end is to be seen before it goes. */
	(void)obj_add_finalizer(vmi, FINALIZER_VM);
	(void)obj_add_finalizer(vmi, FINALIZER_VMI);
	(void)obj_set_annotation(vmi, ANNOTATION_VM_TEMPLATE, digest);
	request.body = vmi;
	send(visit, &request, started);
}

static void
stopped(const struct kube_result *result, void *arg)
{
	struct machine_visit *visit = arg;
	struct events_ref subject = subject_of(visit);
	AUTO(free_ptr) char *message = NULL;

	visit->call = NULL;
	if (worked(result)) {
		events_emit(visit->c->events, &subject, "Normal",
			    EVENT_SUCCESSFUL_DELETE, MACHINE_STOPPED_FORMAT,
			    visit->instance_uid);
		memos_succeeded(visit->c->memos, visit->key);
		next(visit);
		return;
	}
	if (kube_is_not_found(result) || kube_is_conflict(result)) {
		give_up(visit, result, "stop the instance");
		return;
	}
	events_emit(visit->c->events, &subject, "Warning", EVENT_FAILED_DELETE,
		    MACHINE_STOP_FAILED_FORMAT, visit->name,
		    result->status->message);
	message = xasprintf("Failure attempting to delete VMI: %s",
			    result->status->message);
	report_failure(visit, EVENT_FAILED_DELETE, message);
}

static void
stop(struct machine_visit *visit)
{
	AUTO(js_unref)
	json_t *options = kube_delete_options(visit->instance_uid, NULL, -1);
	const struct kube_request request = {
		.verb = KUBE_DELETE,
		.resource = &api_vmis,
		.ns = visit->ns,
		.name = visit->name,
		.body = options,
		.repeatable = true,
	};

	send(visit, &request, stopped);
}

static void
written(const struct kube_result *result, void *arg)
{
	struct machine_visit *visit = arg;

	visit->call = NULL;
	if (!worked(result) && !kube_is_not_found(result)) {
		give_up(visit, result, "write the machine");
		return;
	}
	memos_wrote(visit->c->memos, visit->key, visit->version,
		    world_now_us(visit->c->world));
	next(visit);
}

/* A merge patch of the machine, as it was seen. Takes the reference. */
static void
write_machine(struct machine_visit *visit, json_t *patch, const char *sub)
{
	const struct kube_request request = {
		.verb = KUBE_PATCH_MERGE,
		.resource = &api_vms,
		.ns = visit->ns,
		.name = visit->name,
		.subresource = sub,
		.body = patch,
	};

	json_object_set_new(js_make_obj_at(patch, "metadata"),
			    "resourceVersion", json_string(visit->version));
	send(visit, &request, written);
	json_decref(patch);
}

static void
write_finalizer(struct machine_visit *visit, bool add)
{
	AUTO(js_unref) json_t *copy = json_deep_copy(visit->vm_json);
	const json_t *list;

	if (add)
		(void)obj_add_finalizer(copy, FINALIZER_VM);
	else
		(void)obj_remove_finalizer(copy, FINALIZER_VM);
	list = js_arr_at(copy, "metadata.finalizers");
	write_machine(visit,
		      list == NULL
			      ? json_pack("{s:{s:n}}", "metadata", "finalizers")
			      : json_pack("{s:{s:O}}", "metadata", "finalizers",
					  list),
		      NULL);
}

static void
vmi_written(const struct kube_result *result, void *arg)
{
	struct machine_visit *visit = arg;

	visit->call = NULL;
	if (!worked(result) && !kube_is_not_found(result))
		give_up(visit, result, "write the instance");
	else
		next(visit);
}

/* The same of its instance. Takes the reference. */
static void
write_instance(struct machine_visit *visit, json_t *patch)
{
	const struct kube_request request = {
		.verb = KUBE_PATCH_MERGE,
		.resource = &api_vmis,
		.ns = visit->ns,
		.name = visit->name,
		.body = patch,
	};

	json_object_set_new(js_make_obj_at(patch, "metadata"),
			    "resourceVersion",
			    json_string(visit->instance_version));
	send(visit, &request, vmi_written);
	json_decref(patch);
}

static void
adopt(struct machine_visit *visit)
{
	json_t *owners = js_arr_at(visit->vmi_json, "metadata.ownerReferences");
	json_t *list = owners == NULL ? json_array() : json_deep_copy(owners);

	(void)json_array_append_new(
		list, obj_owner_ref(&api_vms, visit->name, visit->uid));
	write_instance(visit, json_pack("{s:{s:o}}", "metadata",
					"ownerReferences", list));
}

static void
set_always(struct machine_visit *visit)
{
	write_machine(visit,
		      js_at(visit->vm_json, "spec.runStrategy") != NULL
			      ? json_pack("{s:{s:s}}", "spec", "runStrategy",
					  run_strategy_name(RUN_ALWAYS))
			      : json_pack("{s:{s:b}}", "spec", "running", true),
		      NULL);
}

static void
act(struct machine_visit *visit)
{
	enum machine_action action = visit->action;

	visit->action = MACHINE_NOTHING;
	switch (action) {
	case MACHINE_START:
		start(visit);
		break;
	case MACHINE_STOP:
		stop(visit);
		break;
	case MACHINE_ADOPT:
		adopt(visit);
		break;
	case MACHINE_SET_ALWAYS:
		set_always(visit);
		break;
	case MACHINE_ADD_FINALIZER:
	case MACHINE_DROP_FINALIZER:
		write_finalizer(visit, action == MACHINE_ADD_FINALIZER);
		break;
	case MACHINE_NOTHING:
	case MACHINE_ACTION_COUNT:
		end(visit);
		break;
	}
}

static void
next(struct machine_visit *visit)
{
	if (visit->action != MACHINE_NOTHING)
		act(visit);
	else if (visit->patch != NULL)
		write_machine(visit, TAKE_PTR(visit->patch), "status");
	else if (visit->vmi_patch != NULL)
		write_instance(visit, TAKE_PTR(visit->vmi_patch));
	else
		end(visit);
}

/* What of the instance changes; NULL for nothing. */
static json_t *
instance_patch(const struct machine_visit *visit,
	       const struct machine_decision *d)
{
	static const char *const wishes[] = {
		ANNOTATION_EVICT,
		ANNOTATION_PREFER_NO_EVICTION,
	};
	const json_t *template = js_obj_at(visit->vm_json, "spec.template");
	AUTO(js_unref) json_t *patch = json_object();

	if (d->release) {
		AUTO(js_unref) json_t *copy = json_deep_copy(visit->vmi_json);
		json_t *list;

		(void)obj_remove_finalizer(copy, FINALIZER_VM);
		list = js_arr_at(copy, "metadata.finalizers");
		json_object_set_new(
			js_make_obj_at(patch, "metadata"), "finalizers",
			list == NULL ? json_null() : json_incref(list));
	}
	if (d->refresh_generation != 0) {
		char text[24];

		(void)snprintf(text, sizeof(text), "%" PRId64,
			       d->refresh_generation);
		(void)obj_set_annotation(patch, ANNOTATION_VM_GENERATION, text);
	}
	for (size_t i = 0; d->refresh_wishes && i < 2; i++) {
		const char *wish = obj_annotation(template, wishes[i]);

		json_object_set_new(
			js_make_obj_at(patch, "metadata.annotations"),
			wishes[i],
			wish == NULL ? json_null() : json_string(wish));
	}
	return json_object_size(patch) == 0 ? NULL : TAKE_PTR(patch);
}

static void
carry_out(struct machine_visit *visit, struct machine_decision *d)
{
	struct machines *c = visit->c;
	struct log_field ref[5];

	if (d->action == MACHINE_NOTHING && !d->fails)
		memos_succeeded(c->memos, visit->key);
	visit->action = d->action;
	visit->paused = d->paused;
	visit->patch = TAKE_PTR(d->patch);
	if (visit->vmi_json != NULL)
		visit->vmi_patch = instance_patch(visit, d);
	if (d->again_us != MACHINE_NEVER) {
		int64_t wait_us = d->again_us - world_now_us(c->world);

		worker_add_after(c->worker, visit->key,
				 wait_us < 0 ? 0
					     : (uint64_t)wait_us / 1000 + 1);
	}
	if (d->action != MACHINE_NOTHING)
		log_info(ref_of(visit, ref), "%s: %s", d->rule,
			 machine_action_name(d->action));
	next(visit);
}

static enum machine_bond
bond_of(const struct vm *vm, const struct vmi *vmi)
{
	if (vmi == NULL)
		return BOND_NONE;
	if (*vmi->meta.owner_uid == '\0')
		return BOND_LOOSE;
	return strcmp(vmi->meta.owner_uid, vm->meta.uid) == 0 ? BOND_OWN
							      : BOND_FOREIGN;
}

/* What claims say about an instance that has not started. */
static void
gather_claims(const struct world *world, struct machine_facts *facts)
{
	const struct vmi *vmi = facts->vmi;

	for (size_t i = 0; vmi != NULL && i < vmi->volume_count; i++) {
		const struct vmi_volume *volume = &vmi->volumes[i];
		const struct pvc *pvc;

		if (*volume->claim == '\0')
			continue;
		pvc = world_get(world, WORLD_PVCS, vmi->meta.ns, volume->claim);
		if (volume->kind == VOLUME_DATA_VOLUME &&
		    (pvc == NULL || !pvc_is_filled(pvc)))
			facts->provisions = true;
		if (pvc != NULL && !pvc->bound)
			facts->unbound = true;
	}
}

static void
gather(struct machines *c, const char *key, const struct vm *vm,
       const struct vmi *vmi, struct machine_facts *facts)
{
	const struct memo_failure *failure = memos_failure(c->memos, key);

	*facts = (struct machine_facts){
		.now_us = world_now_us(c->world),
		.vm = vm,
		.bond = bond_of(vm, vmi),
		.random = random_below(UINT32_MAX),
	};
	if (facts->bond == BOND_OWN || facts->bond == BOND_LOOSE)
		facts->vmi = vmi;
	gather_claims(c->world, facts);
	if (failure != NULL) {
		facts->failure = (struct machine_failure){
			.reason = failure->reason,
			.message = failure->message,
			.retry_us = failure->retry_us,
		};
	}
}

static enum machine_template
compare_templates(const struct machine_visit *visit, const struct vmi *vmi)
{
	AUTO(free_ptr) char *digest = NULL;

	if (vmi == NULL || *vmi->template_digest == '\0')
		return TEMPLATE_UNKNOWN;
	digest = machine_template_digest(visit->vm_json);
	return strcmp(digest, vmi->template_digest) == 0 ? TEMPLATE_SAME
							 : TEMPLATE_CHANGED;
}

/* Machine and instance are known, for certain. */
static void
decide_confirmed(struct machine_visit *visit, const struct vm *vm,
		 const struct vmi *vmi)
{
	struct machine_facts facts;
	struct machine_decision d;
	char *wishes = text_wishes(js_obj_at(visit->vm_json, "spec.template"));

	gather(visit->c, visit->key, vm, vmi, &facts);
	facts.confirmed = true;
	facts.template = compare_templates(visit, facts.vmi);
	facts.wishes = wishes;
	machine_decide(&facts, &d);
	carry_out(visit, &d);
	machine_decision_done(&d);
	text_free(wishes);
}

static void
got_instance(const struct kube_result *result, void *arg)
{
	struct machine_visit *visit = arg;
	AUTO(vm_unref) struct vm *vm = NULL;
	AUTO(vmi_unref) struct vmi *vmi = NULL;
	struct err err;

	visit->call = NULL;
	if (!worked(result) && !kube_is_not_found(result)) {
		give_up(visit, result, "read the instance");
		return;
	}
	vm = vm_decode(visit->vm_json, &err);
	if (worked(result))
		vmi = vmi_decode(result->answer, &err);
	if (vm == NULL || (worked(result) && vmi == NULL)) {
		end(visit); /* logged where it is watched */
		return;
	}
	if (vmi != NULL) {
		visit->vmi_json = json_incref(result->answer);
		visit->instance_uid = xstrdup(vmi->meta.uid);
		visit->instance_version = xstrdup(vmi->meta.version);
	}
	decide_confirmed(visit, vm, vmi);
}

static void
got_machine(const struct kube_result *result, void *arg)
{
	struct machine_visit *visit = arg;
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &api_vmis,
		.ns = visit->ns,
		.name = visit->name,
	};

	visit->call = NULL;
	if (!worked(result) && !kube_is_not_found(result)) {
		give_up(visit, result, "read the machine");
		return;
	}
	/* Gone, or another one: the cache will say so. */
	if (!worked(result) ||
	    strcmp(obj_uid(result->answer), visit->uid) != 0) {
		end(visit);
		return;
	}
	visit->vm_json = json_incref(result->answer);
	free(visit->version);
	visit->version = xstrdup(obj_version(result->answer));
	send(visit, &request, got_instance);
}

static void
confirm(struct machine_visit *visit)
{
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &api_vms,
		.ns = visit->ns,
		.name = visit->name,
	};

	send(visit, &request, got_machine);
}

void
machine_visit_start(struct machines *c, const char *key)
{
	const struct vm *vm = world_get_key(c->world, WORLD_VMS, key);
	const struct vmi *vmi = world_get_key(c->world, WORLD_VMIS, key);
	struct machine_visit *visit;
	struct machine_facts facts;
	struct machine_decision d;

	if (vm == NULL) {
		memos_forget(c->memos, key);
		worker_end(c->worker, key, false);
		return;
	}
	gather(c, key, vm, vmi, &facts);
	if (memos_is_behind(c->memos, key, vm->meta.version, facts.now_us)) {
		worker_add_after(c->worker, key, MEMO_PATIENCE_US / 1000);
		worker_end(c->worker, key, false);
		return;
	}
	machine_decide(&facts, &d);
	visit = xmalloc0(sizeof(*visit));
	TAILQ_INSERT_TAIL(&c->visits, visit, entry);
	visit->c = c;
	visit->key = key;
	visit->ns = xstrdup(vm->meta.ns);
	visit->name = xstrdup(vm->meta.name);
	visit->uid = xstrdup(vm->meta.uid);
	visit->version = xstrdup(vm->meta.version);
	if (d.confirm)
		confirm(visit);
	else
		carry_out(visit, &d);
	machine_decision_done(&d);
}
