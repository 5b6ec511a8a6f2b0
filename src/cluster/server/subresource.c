/* SPDX-License-Identifier: Apache-2.0 */

/* subresource - binding, token, finalize, log: what is no part of an object. */

#include <stdlib.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/auth/tokens.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/body.h"
#include "cluster/server/call.h"
#include "cluster/server/gates.h"
#include "cluster/server/log.h"
#include "cluster/server/objmeta.h"
#include "cluster/server/server_internal.h"
#include "cluster/server/write.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/time.h"

static int
take_body(struct call *call)
{
	json_decref(call->body);
	call->body = json_incref(call->admit.object);
	return 0;
}

void
subresource_admit(struct call *call, void (*finish)(struct call *call))
{
	if (gates_check_node(call, call->body, NULL) == -1)
		call_fail(call);
	else
		gates_pass(call, &(struct gates){ .op = ADMISSION_CREATE,
						  .object = call->body,
						  .check = take_body,
						  .finish = finish });
}

int
subresource_decode(struct call *call, const char *kind)
{
	struct strict_errors errors = { 0 };
	json_t *body = NULL;
	int r = body_decode(call, kind, &errors, &body);

	strict_errors_done(&errors);
	if (r == -1)
		return -1;
	json_decref(call->body);
	call->body = body;
	return objmeta_check_types(body, kind, &call->st);
}

static void
send_created(struct call *call)
{
	call_reply_success(call, 201, NULL, NULL);
}

static int
already_bound(struct call *call, const char *node)
{
	struct gr gr = { "", "pods/binding" };
	char *why = xasprintf("pod %s is already assigned to node \"%s\"",
			      call->info.name, node);

	(void)status_conflict(&call->st, &gr, call->info.name, why);
	free(why);
	return -1;
}

/* Replaces the condition of this type, or adds it. */
static void
set_scheduled(json_t *pod)
{
	json_t *status = json_object_get(pod, "status");
	json_t *conditions, *condition;
	char now[TIME_TEXT_SIZE];
	size_t i;

	if (!json_is_object(status)) {
		status = json_object();
		json_object_set_new(pod, "status", status);
	}
	conditions = json_object_get(status, "conditions");
	if (!json_is_array(conditions)) {
		conditions = json_array();
		json_object_set_new(status, "conditions", conditions);
	}
	json_array_foreach(conditions, i, condition) if (
		str_equal(json_string_value(json_object_get(condition, "type")),
			  "PodScheduled"))
	{
		json_array_remove(conditions, i);
		break;
	}
	json_array_append_new(conditions,
			      json_pack("{s:s, s:s, s:n, s:s}", "type",
					"PodScheduled", "status", "True",
					"lastProbeTime", "lastTransitionTime",
					time_now_text(now)));
}

static int
bind_pod(struct call *call, const char *node)
{
	json_t *pod = call->object = json_deep_copy(call->old_json);
	json_t *spec = json_object_get(pod, "spec");
	const char *bound =
		json_string_value(json_object_get(spec, "nodeName"));
	struct object *object;

	if (bound != NULL && *bound != '\0')
		return already_bound(call, bound);
	if (call->old->deleting)
		return already_bound(call, "");
	json_object_set_new(spec, "nodeName", json_string(node));
	set_scheduled(pod);
	if (call->write.dry_run)
		return 0;
	object = write_seal(call, pod, store_next_rv(call->parts->store));
	if (object == NULL)
		return -1;
	store_put(call->kind->collection, object);
	return 0;
}

/* The node that the binding names; NULL with st. */
static const char *
target_of(struct call *call)
{
	const char *node = json_string_value(
		json_object_get(json_object_get(call->body, "target"), "name"));

	if (node != NULL && *node != '\0')
		return node;
	(void)status_set(&call->st, 422, "Invalid",
			 "Binding \"%s\" is invalid: target.name: "
			 "Required value",
			 call->info.name);
	return NULL;
}

/* Whether the pod is the one that the binding is for. */
static int
check_pod(struct call *call)
{
	const char *uid = objmeta_str(call->body, "uid");
	struct gr gr = { "", "pods/binding" };
	char *why;

	if (*uid == '\0' || str_equal(uid, call->old->uid))
		return 0;
	why = xasprintf("Precondition failed: UID in precondition: %s, UID in "
			"object meta: %s",
			uid, call->old->uid);
	(void)status_conflict(&call->st, &gr, call->info.name, why);
	free(why);
	return -1;
}

/* A webhook may have changed the binding, and somebody else the pod. */
static void
finish_binding(struct call *call)
{
	const char *node = target_of(call);

	if (node == NULL || write_find(call) == -1 || check_pod(call) == -1 ||
	    bind_pod(call, node) == -1)
		call_fail(call);
	else
		call_when_durable(call, send_created);
}

static void
binding_run(struct call *call)
{
	if (query_write_options(&call->query, "CreateOptions", &call->write,
				&call->st) == -1 ||
	    subresource_decode(call, "Binding") == -1 ||
	    write_find(call) == -1 || target_of(call) == NULL)
		call_fail(call);
	else
		subresource_admit(call, finish_binding);
}

static void
token_run(struct call *call)
{
	json_t *answer;

	if (subresource_decode(call, "TokenRequest") == -1 ||
	    gates_check_node(call, call->body, NULL) == -1 ||
	    tokens_request(call->parts->tokens, call->info.namespace_,
			   call->info.name, call->body, &answer,
			   &call->st) == -1) {
		call_fail(call);
		return;
	}
	call_reply_plain(call, 201, answer);
	json_decref(answer);
}

/* Whether nothing holds a namespace any more. */
static bool
is_released(const json_t *ns)
{
	return objmeta_deleting(ns) && objmeta_finalizers(ns) == 0 &&
	       json_array_size(json_object_get(json_object_get(ns, "spec"),
					       "finalizers")) == 0;
}

static int
store_finalized(struct call *call)
{
	struct object *object;

	if (is_released(call->object)) {
		json_t *shown = json_deep_copy(call->object);

		write_remove(call, call->object);
		json_decref(call->object);
		call->object = shown;
		return 0;
	}
	object = write_seal(call, call->object,
			    store_next_rv(call->parts->store));
	if (object == NULL)
		return -1;
	store_put(call->kind->collection, object);
	return 0;
}

/* namespaces/NAME/finalize: sets spec.finalizers, and nothing else. */
static void
finalize_run(struct call *call)
{
	const char *rv;
	struct gr gr = call_gr(call);
	json_t *finalizers;

	call->info.namespace_ = "";
	if (query_write_options(&call->query, "UpdateOptions", &call->write,
				&call->st) == -1 ||
	    subresource_decode(call, "Namespace") == -1 ||
	    write_find(call) == -1) {
		call_fail(call);
		return;
	}
	rv = objmeta_str(call->body, "resourceVersion");
	if (*rv != '\0' && strtoull(rv, NULL, 10) != call->old->rv) {
		(void)status_modified(&call->st, &gr, call->info.name);
		call_fail(call);
		return;
	}
	call->object = json_deep_copy(call->old_json);
	finalizers = json_object_get(json_object_get(call->body, "spec"),
				     "finalizers");
	if (json_array_size(finalizers) > 0)
		json_object_set(json_object_get(call->object, "spec"),
				"finalizers", finalizers);
	else
		json_object_del(json_object_get(call->object, "spec"),
				"finalizers");
	if (!call->write.dry_run && store_finalized(call) == -1)
		call_fail(call);
	else
		write_reply_json(call, 200);
}

static const struct {
	const char *group;
	const char *plural;
	const char *name;
	unsigned verb;
	void (*run)(struct call *call);
} subresources[] = {
	{ "", "pods", "binding", VERB_CREATE, binding_run },
	{ "", "pods", "eviction", VERB_CREATE, eviction_run },
	{ "", "pods", "log", VERB_GET, log_run },
	{ "", "serviceaccounts", "token", VERB_CREATE, token_run },
	{ "", "namespaces", "finalize", VERB_UPDATE, finalize_run },
};

void
subresource_run(struct call *call)
{
	struct gr gr = call_gr(call);

	for (size_t i = 0; i < ARRAY_LEN(subresources); i++) {
		if (!str_equal(call->kind->group, subresources[i].group) ||
		    !str_equal(call->kind->plural, subresources[i].plural) ||
		    !str_equal(call->info.subresource, subresources[i].name))
			continue;
		if (call->info.verb == subresources[i].verb) {
			subresources[i].run(call);
			return;
		}
		(void)status_method_not_allowed(&call->st, NULL, NULL);
		call_fail(call);
		return;
	}
	if (call->kind->builtin)
		(void)status_no_route(&call->st);
	else
		(void)status_not_found(&call->st, &gr, call->info.name);
	call_fail(call);
}
