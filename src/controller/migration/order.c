/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/order.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "controller/migration/hindsight.h"
#include "controller/render/podpatch.h"
#include "controller/render/render.h"
#include "controller/render/vmipatch.h"
#include "kube/obj.h"
#include "meta/names.h"
#include "meta/time.h"

#define OBSERVED_VERSION "v1" /* of the migrations' API */
#define SUFFIX_LEN 8

void
order_done(struct order *order)
{
	free(order->ns);
	free(order->name);
	json_decref(order->body);
	*order = (struct order){ .body = NULL };
}

/* FNV-1a. */
static uint64_t
hash(const char *text)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return h;
}

const char *
order_pod_name(const char *base, const char *uid, char name[ORDER_POD_NAME_MAX])
{
	/* As Kubernetes' own: no vowels, so that no words come out. */
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	char suffix[SUFFIX_LEN + 1] = "";
	uint64_t h = hash(uid);

	for (size_t i = 0; i < SUFFIX_LEN; i++) {
		suffix[i] = letters[h % (sizeof(letters) - 1)];
		h /= sizeof(letters) - 1;
	}
	(void)snprintf(name, ORDER_POD_NAME_MAX, "%.*s%s",
		       NAME_LABEL_MAX - SUFFIX_LEN, base, suffix);
	return name;
}

static void
set_request(struct order *order, enum kube_verb verb,
	    const struct kube_resource *resource, const struct objmeta *meta)
{
	order->request.verb = verb;
	order->request.resource = resource;
	order->ns = xstrdup(meta->ns);
	order->name = xstrdup(meta->name);
	order->request.ns = order->ns;
	order->request.name = order->name;
	order->request.body = order->body;
}

/* Those that are there, and ours. */
static json_t *
finalizers_with_ours(const json_t *object)
{
	const json_t *old = js_arr_at(object, "metadata.finalizers");
	json_t *list = old == NULL ? json_array()
				   : json_copy((json_t *)(uintptr_t)old);

	if (!obj_has_finalizer(object, FINALIZER_MIGRATION))
		(void)json_array_append_new(list,
					    json_string(FINALIZER_MIGRATION));
	return list;
}

/* With the version that was read: a list is replaced as a whole. */
static int
make_stamp(const struct order_context *c, const struct action *action,
	   struct order *order, struct err *err)
{
	const json_t *object = c->reading->vmim_json;

	(void)action;
	(void)err;
	order->body = json_pack(
		"{s:{s:s, s:o, s:{s:s}, s:{s:s, s:s}}}", "metadata",
		"resourceVersion", obj_version(object), "finalizers",
		finalizers_with_ours(object), "labels", LABEL_VMI_NAME,
		c->facts->vmim->vmi_name, "annotations",
		ANNOTATION_LATEST_VERSION, OBSERVED_VERSION,
		ANNOTATION_STORAGE_VERSION, OBSERVED_VERSION);
	set_request(order, KUBE_PATCH_MERGE, &api_vmims, &c->facts->vmim->meta);
	return 0;
}

/* As far as rendering looks at it; NULL when it is gone. */
static json_t *
node_json(const struct world *world, const char *name)
{
	const struct node *node = world_get(world, WORLD_NODES, "", name);

	if (node == NULL)
		return NULL;
	return json_pack("{s:{s:s, s:O*}}", "metadata", "name", node->meta.name,
			 "labels", node->labels);
}

static int
make_pod(const struct order_context *c, const struct action *action,
	 struct order *order, struct err *err)
{
	const struct facts *f = c->facts;
	AUTO(js_unref) json_t *node = node_json(c->world, f->source_pod->node);
	const struct render_migration migration = {
		.uid = f->vmim->meta.uid,
		.name = f->vmim->meta.name,
		.added_node_selector = f->vmim->added_node_selector,
		.source_pod =
			reading_pod_json(c->reading, f->source_pod->meta.name),
		.source_node = node,
	};
	struct world_render render;
	char name[ORDER_POD_NAME_MAX];
	json_t *meta;

	(void)action;
	if (migration.source_pod == NULL)
		return err_set(err, ERR_CONFLICT, "the source pod is gone");
	world_render_env(c->world, f->vmi->meta.ns, &render);
	render.env.random = (uint32_t)hash(f->vmim->meta.uid);
	order->body = render_target_pod(c->reading->vmi_json, &render.env,
					&migration, err);
	if (order->body == NULL)
		return -1;
	meta = js_obj_at(order->body, "metadata");
	(void)json_object_set_new(
		meta, "name",
		json_string(order_pod_name(js_str_at(meta, "generateName"),
					   f->vmim->meta.uid, name)));
	(void)json_object_del(meta, "generateName");
	set_request(order, KUBE_CREATE, &kube_pods, &f->vmi->meta);
	order->request.name = NULL;
	return 0;
}

/* The policy that applies now, and what follows from it. */
static json_t *
resolve_policy(const struct order_context *c, const char **ret_name)
{
	const struct cache *cache = world_cache(c->world, WORLD_POLICIES);
	const struct policy **policies =
		xcalloc(cache_count(cache) + 1, sizeof(struct policy *));
	struct cache_walk walk = cache_all(cache);
	const struct policy *policy;
	struct migration_config resolved;
	size_t count = 0;
	json_t *json;

	while ((policy = world_next(&walk)) != NULL)
		policies[count++] = policy;
	policy = policy_match(
		policies, count, js_obj_at(c->ns, "metadata.labels"),
		js_obj_at(c->reading->vmi_json, "metadata.labels"));
	policy_resolve(policy, &world_config(c->world)->migrations, &resolved);
	json = migration_config_json(&resolved);
	migration_config_done(&resolved);
	*ret_name = policy == NULL ? "" : policy->meta.name;
	free(policies);
	return json;
}

/* What the machine's container has of something; NULL for nothing. */
static const char *
amount_of(const json_t *pod, const char *list, const char *what)
{
	const json_t *compute = js_find(js_arr_at(pod, "spec.containers"),
					"name", RENDER_COMPUTE);
	char path[64];
	const char *amount;

	(void)snprintf(path, sizeof(path), "resources.%s.%s", list, what);
	amount = js_str_at(compute, path);
	return *amount == '\0' ? NULL : amount;
}

static int
make_handoff(const struct order_context *c, const struct action *action,
	     struct order *order, struct err *err)
{
	const struct facts *f = c->facts;
	const struct conds *conds = &f->vmi->conds;
	const json_t *pod =
		reading_pod_json(c->reading, action->pod->meta.name);
	const char *policy_name;
	AUTO(js_unref)
	json_t *configuration = resolve_policy(c, &policy_name);
	struct handoff handoff = {
		.state = js_obj_at(c->reading->vmi_json,
				   "status.migrationState"),
		.labels = js_obj_at(c->reading->vmi_json, "metadata.labels"),
		.active_pods =
			js_obj_at(c->reading->vmi_json, "status.activePods"),
		.migration_uid = f->vmim->meta.uid,
		.source_node = f->vmi->node,
		.source_pod = f->source_pod->meta.name,
		.target_node = action->pod->node,
		.target_pod = action->pod->meta.name,
		.target_pod_uid = action->pod->meta.uid,
		.policy_name = policy_name,
		.configuration = configuration,
		.memory_overhead_bytes = action->pod->memory_overhead_bytes,
	};

	(void)err;
	if (conds_find(conds, COND_HOT_VCPU) != NULL)
		handoff.cpu_limits = amount_of(pod, "limits", "cpu");
	if (conds_find(conds, COND_HOT_MEMORY) != NULL)
		handoff.memory_requests = amount_of(pod, "requests", "memory");
	order->body = vmipatch_handoff(&handoff);
	set_request(order, KUBE_PATCH_JSON, &api_vmis, &f->vmi->meta);
	return 0;
}

static int
make_left(const struct order_context *c, const struct action *action,
	  struct order *order, struct err *err)
{
	char now[TIME_TEXT_SIZE];

	(void)action;
	(void)err;
	order->body = vmipatch_left(c->facts->vmim->meta.uid,
				    c->facts->vmi->meta.version,
				    time_text(c->facts->now_us, now));
	set_request(order, KUBE_PATCH_JSON, &api_vmis, &c->facts->vmi->meta);
	order->request.repeatable = true;
	return 0;
}

static int
make_abort(const struct order_context *c, const struct action *action,
	   struct order *order, struct err *err)
{
	(void)action;
	(void)err;
	order->body = vmipatch_abort(c->facts->vmim->meta.uid);
	set_request(order, KUBE_PATCH_JSON, &api_vmis, &c->facts->vmi->meta);
	order->request.repeatable = true;
	return 0;
}

static int
make_failure(const struct order_context *c, const struct action *action,
	     struct order *order, struct err *err)
{
	const struct migration_state *state = facts_state(c->facts);
	char now[TIME_TEXT_SIZE];
	const struct failure failure = {
		.migration_uid = c->facts->vmim->meta.uid,
		.version = c->facts->vmi->meta.version,
		.reason = action->text,
		.now = time_text(c->facts->now_us, now),
		.has_start = state->start_us != 0,
		.has_end = state->end_us != 0,
	};

	(void)err;
	order->body = vmipatch_fail(&failure);
	set_request(order, KUBE_PATCH_JSON, &api_vmis, &c->facts->vmi->meta);
	order->request.repeatable = true;
	return 0;
}

static int
make_mark(const struct order_context *c, const struct action *action,
	  struct order *order, struct err *err)
{
	const struct migration_state *state = facts_state(c->facts);
	char when[TIME_TEXT_SIZE];

	(void)err;
	order->body =
		podpatch_target_ready(time_text(state->domain_ready_us, when));
	set_request(order, KUBE_PATCH_MERGE, &kube_pods, &action->pod->meta);
	order->request.repeatable = true;
	return 0;
}

void
order_delete_pod(const struct pod *pod, struct order *ret_order)
{
	*ret_order = (struct order){
		.body = kube_delete_options(pod->meta.uid, NULL, -1),
	};
	set_request(ret_order, KUBE_DELETE, &kube_pods, &pod->meta);
	ret_order->request.repeatable = true;
}

static int
make_deletion(const struct order_context *c, const struct action *action,
	      struct order *order, struct err *err)
{
	(void)c;
	(void)err;
	order_delete_pod(action->pod, order);
	return 0;
}

static int (*const makers[])(const struct order_context *c,
			     const struct action *action, struct order *order,
			     struct err *err) = {
	[ACTION_STAMP] = make_stamp,     [ACTION_CREATE_TARGET] = make_pod,
	[ACTION_HANDOFF] = make_handoff, [ACTION_TELL_LEFT] = make_left,
	[ACTION_ABORT] = make_abort,     [ACTION_FAIL_STATE] = make_failure,
	[ACTION_MARK_READY] = make_mark, [ACTION_DELETE_POD] = make_deletion,
};
_Static_assert(ARRAY_LEN(makers) == ACTION_COUNT, "each action has a maker");

int
order_make(const struct order_context *context, const struct action *action,
	   struct order *ret_order, struct err *err)
{
	*ret_order = (struct order){ .body = NULL };
	return makers[action->kind](context, action, ret_order, err);
}

static json_t *
phase_times(const struct facts *f, const struct decision *d,
	    const struct note *note)
{
	json_t *list = json_array();
	int64_t since_us[MIGRATION_PHASE_COUNT];
	char text[TIME_TEXT_SIZE];

	memcpy(since_us, f->vmim->phase_since_us, sizeof(since_us));
	for (size_t i = 0; i < d->passed_count; i++) {
		enum migration_phase phase = d->passed[i];

		since_us[phase] = note->entered_us[phase] != 0
					  ? note->entered_us[phase]
					  : f->now_us;
	}
	for (enum migration_phase p = MIGRATION_WAITING_FOR_SYNC;
	     p < MIGRATION_PHASE_COUNT; p++) {
		if (since_us[p] == 0)
			continue;
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s}", "phase",
					migration_phase_name(p),
					"phaseTransitionTimestamp",
					time_text(since_us[p], text)));
	}
	return list;
}

static json_t *
cond_list(const struct facts *f, const struct decision *d)
{
	json_t *list = conds_json(&f->vmim->conds);

	for (size_t i = 0; i < d->cond_count; i++) {
		const struct decision_cond *cond = &d->conds[i];
		const struct condition set = { .type = cond->type,
					       .status = "True",
					       .reason = cond->reason,
					       .message = cond->message };
		char since[TIME_TEXT_SIZE];

		if (cond->remove) {
			(void)condition_remove(list, cond->type);
			continue;
		}
		(void)condition_set(list, &set, cond->since_us);
		(void)json_object_set_new(
			condition_get(list, cond->type), "lastTransitionTime",
			json_string(time_text(cond->since_us, since)));
	}
	return list;
}

/* Of one that goes on it is all that KubeVirt's has; the whole is copied at the
 * end. NULL: it is said already, or nobody knows. */
static json_t *
source_of(const struct facts *f, const struct decision *d)
{
	if (d->phase < MIGRATION_SCHEDULING || d->phase > MIGRATION_RUNNING ||
	    f->vmim->source_pod[0] != '\0' || f->source_pod == NULL)
		return NULL;
	return json_string(f->source_pod->meta.name);
}

void
order_status(const struct facts *facts, const struct decision *decision,
	     const struct note *note, json_t *progress, struct order *ret_order)
{
	const struct vmim *vmim = facts->vmim;
	const struct migration_state *state = facts_state(facts);
	json_t *status = json_object(), *copy = NULL;
	struct err err;

	if (decision->passed_count != 0) {
		(void)json_object_set_new(
			status, "phase",
			json_string(migration_phase_name(decision->phase)));
		(void)json_object_set_new(status, "phaseTransitionTimestamps",
					  phase_times(facts, decision, note));
	}
	if (decision->cond_count != 0)
		(void)json_object_set_new(status, "conditions",
					  cond_list(facts, decision));
	if (decision->copy_state && state != NULL)
		copy = js_parse(state->text, strlen(state->text), &err);
	else
		copy = json_pack("{s:o*, s:O*}", "sourcePod",
				 source_of(facts, decision), "progress",
				 progress);
	if (json_object_size(copy) == 0) {
		json_decref(copy);
		copy = NULL;
	}
	if (copy != NULL) {
		hindsight_add(copy);
		(void)json_object_set_new(status, "migrationState", copy);
	}
	*ret_order = (struct order){
		.body = json_pack("{s:{s:s}, s:o}", "metadata",
				  "resourceVersion", vmim->meta.version,
				  "status", status),
	};
	set_request(ret_order, KUBE_PATCH_MERGE, &api_vmims, &vmim->meta);
	ret_order->request.subresource = "status";
}

/* By its place, so that others can change the rest meanwhile; and of this one
 * only, not of another that has got its name. */
void
order_drop_finalizer(const struct reading *reading, struct order *ret_order)
{
	const json_t *list =
		js_arr_at(reading->vmim_json, "metadata.finalizers");
	char path[64];
	size_t i;
	json_t *item;

	*ret_order = (struct order){ .body = NULL };
	json_array_foreach(list, i, item)
	{
		if (!json_is_string(item) ||
		    strcmp(json_string_value(item), FINALIZER_MIGRATION) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "/metadata/finalizers/%zu",
			       i);
		ret_order->body = json_pack(
			"[{s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s}]", "op",
			"test", "path", "/metadata/uid", "value",
			reading->vmim->meta.uid, "op", "test", "path", path,
			"value", FINALIZER_MIGRATION, "op", "remove", "path",
			path);
		break;
	}
	/* It has gone meanwhile: there is nothing to ask for. */
	if (ret_order->body == NULL)
		return;
	set_request(ret_order, KUBE_PATCH_JSON, &api_vmims,
		    &reading->vmim->meta);
	ret_order->request.repeatable = true;
}

void
order_delete_migration(const struct facts *facts, struct order *ret_order)
{
	*ret_order = (struct order){
		.body = kube_delete_options(facts->vmim->meta.uid, NULL, -1),
	};
	set_request(ret_order, KUBE_DELETE, &api_vmims, &facts->vmim->meta);
	ret_order->request.repeatable = true;
}

void
order_look(const char *ns, const char *name, struct order *ret_order)
{
	*ret_order = (struct order){ .body = NULL };
	set_request(ret_order, KUBE_GET, &kube_pods,
		    &(const struct objmeta){ .ns = (char *)(uintptr_t)ns,
					     .name = (char *)(uintptr_t)name });
}
