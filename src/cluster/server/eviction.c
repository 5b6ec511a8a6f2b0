/* SPDX-License-Identifier: Apache-2.0 */

/*
 * eviction - asking for a pod to go, if the disruption budgets allow it.
 *
 * A budget's status says how many pods may go now; the controller keeps it. An
 * eviction takes one off at once, in the same turn as the pod's deletion, so
 * that two evictions cannot both use the last one.
 */

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/body.h"
#include "cluster/server/call.h"
#include "cluster/server/objmeta.h"
#include "cluster/server/server_internal.h"
#include "cluster/server/write.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/selector.h"
#include "meta/time.h"

static int
decode(struct call *call)
{
	const json_t *options;
	const char *name;

	if (subresource_decode(call, "Eviction") == -1)
		return -1;
	name = objmeta_str(call->body, "name");
	if (*name != '\0' && !str_equal(name, call->info.name))
		return status_bad_request(&call->st,
					  "name in URL does not match name in "
					  "Eviction object");
	options = json_object_get(call->body, "deleteOptions");
	if (query_delete_options(&call->query, options, &call->delete_,
				 &call->st) == -1)
		return -1;
	call->write.dry_run = call->delete_.dry_run;
	return 0;
}

/* Pods that do not run, or not any more, are missed by nobody. */
static bool
is_free_to_go(const json_t *pod)
{
	const char *phase = json_string_value(
		json_object_get(json_object_get(pod, "status"), "phase"));

	return objmeta_deleting(pod) || str_equal(phase, "Succeeded") ||
	       str_equal(phase, "Failed") || str_equal(phase, "Pending");
}

static bool
covers(const json_t *budget, const struct object *pod)
{
	struct status st = STATUS_INIT;
	struct selector *selector = selector_from_json(
		json_object_get(json_object_get(budget, "spec"), "selector"),
		&st);
	bool matches = selector != NULL &&
		       selector_matches_labels(selector, pod->labels,
					       pod->label_count);

	selector_free(selector);
	status_done(&st);
	return matches;
}

static int
refuse(struct call *call, const json_t *budget)
{
	const json_t *status = json_object_get(budget, "status");
	char *why = xasprintf(
		"The disruption budget %s needs %lld healthy pods and has "
		"%lld currently",
		objmeta_str(budget, "name"),
		(long long)json_integer_value(
			json_object_get(status, "desiredHealthy")),
		(long long)json_integer_value(
			json_object_get(status, "currentHealthy")));

	(void)status_too_many(&call->st, 0,
			      "Cannot evict pod as it would violate the pod's "
			      "disruption budget.");
	status_add_cause(&call->st, "DisruptionBudget", why, NULL);
	free(why);
	return -1;
}

static int
not_seen_yet(struct call *call, const json_t *budget)
{
	char *why = xasprintf("The disruption budget %s is still being "
			      "processed by the server.",
			      objmeta_str(budget, "name"));

	(void)status_too_many(&call->st, 10,
			      "Cannot evict pod as it would violate the pod's "
			      "disruption budget.");
	status_add_cause(&call->st, "DisruptionBudget", why, NULL);
	free(why);
	return -1;
}

/* Takes one off what the budget allows, and notes for whom. */
static void
charge(struct call *call, struct object *stored, json_t *budget)
{
	struct store *store = call->parts->store;
	uint64_t rv = store_next_rv(store);
	json_t *status = json_object_get(budget, "status");
	json_t *disrupted = json_object_get(status, "disruptedPods");
	json_int_t allowed = json_integer_value(
		json_object_get(status, "disruptionsAllowed"));
	char now[TIME_TEXT_SIZE];
	char *text;
	size_t len;

	if (!json_is_object(disrupted)) {
		disrupted = json_object();
		json_object_set_new(status, "disruptedPods", disrupted);
	}
	json_object_set_new(disrupted, call->info.name,
			    json_string(time_now_text(now)));
	json_object_set_new(status, "disruptionsAllowed",
			    json_integer(allowed - 1));
	objmeta_set_rv(budget, rv);
	text = js_text_sorted(budget, &len);
	store_put(stored->collection,
		  object_new(stored->collection, rv, text, len));
}

/* The budget in the way, if any: refused, or charged for this pod. */
static int
ask_budget(struct call *call, struct object *stored, json_t *budget)
{
	const json_t *status = json_object_get(budget, "status");
	const json_t *generation = json_object_get(
		json_object_get(budget, "metadata"), "generation");

	if (json_integer_value(json_object_get(status, "observedGeneration")) <
	    json_integer_value(generation))
		return not_seen_yet(call, budget);
	if (json_integer_value(json_object_get(status, "disruptionsAllowed")) <=
	    0)
		return refuse(call, budget);
	if (!call->write.dry_run)
		charge(call, stored, budget);
	return 0;
}

static int
ask_budgets(struct call *call)
{
	struct collection *budgets = store_collection(
		call->parts->store, "policy", "poddisruptionbudgets");
	struct object **objects, *found = NULL;
	size_t n =
		store_list(budgets, call->info.namespace_, NULL, 0, &objects);
	json_t *budget = NULL;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		json_t *json = object_json(objects[i]);

		if (!covers(json, call->old)) {
			json_decref(json);
		} else if (budget == NULL) {
			budget = json;
			found = objects[i];
		} else {
			json_decref(json);
			r = status_internal(
				&call->st,
				"This pod has more than one "
				"PodDisruptionBudget, which the eviction "
				"subresource does not support.");
		}
	}
	if (r == 0 && budget != NULL)
		r = ask_budget(call, found, budget);
	json_decref(budget);
	objects_unref(objects, n);
	return r;
}

static void
deleted(int code, const json_t *answer, void *arg)
{
	struct call *call = arg;

	if (code < 400)
		call_reply_success(call, 201, NULL, NULL);
	else
		call_reply_plain(call, code, answer);
}

/* The deletion is a call of its own, by the same user. */
static void
delete_pod(struct call *parent)
{
	struct call *call = call_child(parent, VERB_DELETE, deleted, parent);
	json_t *options = json_object_get(parent->body, "deleteOptions");

	call->body = options == NULL ? json_object() : json_deep_copy(options);
	if (parent->write.dry_run)
		json_object_set_new(call->body, "dryRun",
				    json_pack("[s]", "All"));
	delete_run(call);
}

static void
finish(struct call *call)
{
	if (write_find(call) == -1 ||
	    (!is_free_to_go(call->old_json) && ask_budgets(call) == -1))
		call_fail(call);
	else
		delete_pod(call);
}

void
eviction_run(struct call *call)
{
	if (decode(call) == -1 || write_find(call) == -1)
		call_fail(call);
	else
		subresource_admit(call, finish);
}
