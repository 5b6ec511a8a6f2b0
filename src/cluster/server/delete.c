/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/body.h"
#include "cluster/server/call.h"
#include "cluster/server/gates.h"
#include "cluster/server/objmeta.h"
#include "cluster/server/server.h"
#include "cluster/server/strategy.h"
#include "cluster/server/write.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

#define FINALIZER_FOREGROUND "foregroundDeletion"
#define FINALIZER_ORPHAN "orphan"

static int
check_preconditions(struct call *call)
{
	const struct delete_options *options = &call->delete_;
	struct gr gr = { call->kind->group, call->kind->kind };
	char rv[24];
	char *why = NULL;

	(void)snprintf(rv, sizeof(rv), "%" PRIu64, call->old->rv);
	if (options->uid != NULL && !str_equal(options->uid, call->old->uid)) {
		why = xasprintf("the UID in the precondition (%s) does not "
				"match the UID in record (%s). The object "
				"might have been deleted and then recreated",
				options->uid, call->old->uid);
	} else if (options->rv != NULL && !str_equal(options->rv, rv)) {
		why = xasprintf("the ResourceVersion in the precondition (%s) "
				"does not match the ResourceVersion in record "
				"(%s). The object might have been modified",
				options->rv, rv);
	}
	if (why == NULL)
		return 0;
	(void)status_conflict(&call->st, &gr, call->info.name, why);
	free(why);
	return -1;
}

/* The finalizers by which the garbage collector takes part. */
static void
set_propagation(struct call *call, json_t *object)
{
	switch (call->delete_.propagation) {
	case PROPAGATION_DEFAULT:
		break;
	case PROPAGATION_BACKGROUND:
		(void)objmeta_remove_finalizer(object, FINALIZER_FOREGROUND);
		(void)objmeta_remove_finalizer(object, FINALIZER_ORPHAN);
		break;
	case PROPAGATION_FOREGROUND:
		(void)objmeta_remove_finalizer(object, FINALIZER_ORPHAN);
		(void)objmeta_add_finalizer(object, FINALIZER_FOREGROUND);
		break;
	case PROPAGATION_ORPHAN:
		(void)objmeta_remove_finalizer(object, FINALIZER_FOREGROUND);
		(void)objmeta_add_finalizer(object, FINALIZER_ORPHAN);
		break;
	}
}

/* A namespace stays until the controller has emptied it. */
static bool
is_kept_by_spec(const struct call *call, const json_t *object)
{
	return str_equal(call->kind->plural, "namespaces") &&
	       *call->kind->group == '\0' &&
	       json_array_size(json_object_get(json_object_get(object, "spec"),
					       "finalizers")) > 0;
}

static void
send_status(struct call *call)
{
	call_reply_success(call, 200, call->old->name, call->old->uid);
}

static void
reply_removed(struct call *call)
{
	if (strategy_for(call->kind)->delete_returns_object)
		write_reply_json(call, 200);
	else
		call_when_durable(call, send_status);
}

static void
remove_now(struct call *call)
{
	json_t *shown;

	if (call->write.dry_run) {
		reply_removed(call);
		return;
	}
	shown = json_deep_copy(call->object);
	write_remove(call, call->object);
	json_decref(call->object);
	call->object = shown;
	reply_removed(call);
}

/* Marks it and leaves it to those who have to clean up. */
static void
mark(struct call *call, int64_t grace_s)
{
	struct object *object;

	if (!objmeta_deleting(call->object))
		objmeta_bump_generation(call->object);
	objmeta_set_deleting(call->object, grace_s);
	if (is_kept_by_spec(call, call->object))
		json_object_set_new(json_object_get(call->object, "status"),
				    "phase", json_string("Terminating"));
	if (call->write.dry_run) {
		write_reply_json(call, 200);
		return;
	}
	object = write_seal(call, call->object,
			    store_next_rv(call->parts->store));
	if (object == NULL) {
		call_fail(call);
		return;
	}
	call->result = object_ref(object);
	call->code = 200;
	store_put(call->kind->collection, object);
	write_reply(call);
}

static int64_t
grace_of(const struct call *call)
{
	const struct strategy *strategy = strategy_for(call->kind);

	return strategy->grace == NULL
		       ? 0
		       : strategy->grace(call->object, &call->delete_);
}

/* Being deleted already, and nothing would be different. */
static bool
changes_nothing(const struct call *call, int64_t grace_s)
{
	const json_t *before =
		json_object_get(json_object_get(call->old_json, "metadata"),
				"deletionGracePeriodSeconds");

	return objmeta_deleting(call->old_json) &&
	       json_integer_value(before) <= grace_s &&
	       json_equal(call->object, call->old_json);
}

static void
finish(struct call *call)
{
	bool kept;
	int64_t grace_s;

	if (store_get(call->kind->collection, call->info.namespace_,
		      call->info.name) != call->old) {
		delete_object(call);
		return;
	}
	call->object = json_deep_copy(call->old_json);
	if (strategy_for(call->kind)->prepare_delete != NULL &&
	    !objmeta_deleting(call->object))
		strategy_for(call->kind)->prepare_delete(call->object);
	set_propagation(call, call->object);
	grace_s = grace_of(call);
	kept = objmeta_finalizers(call->object) > 0 ||
	       is_kept_by_spec(call, call->object);
	if ((kept || grace_s > 0) && changes_nothing(call, grace_s)) {
		call->result = object_ref(call->old);
		call->code = 200;
		write_reply(call);
	} else if (kept || grace_s > 0) {
		mark(call, grace_s);
	} else {
		if (strategy_for(call->kind)->grace != NULL)
			objmeta_set_deleting(call->object, 0);
		remove_now(call);
	}
}

void
delete_object(struct call *call)
{
	const struct strategy *strategy = strategy_for(call->kind);

	if (write_find(call) == -1 || check_preconditions(call) == -1 ||
	    gates_check_node(call, NULL, call->old_json) == -1 ||
	    (strategy->check_delete != NULL &&
	     strategy->check_delete(call->old_json, &call->st) == -1))
		call_fail(call);
	else
		gates_pass(call, &(struct gates){ .op = ADMISSION_DELETE,
						  .finish = finish });
}

/* The options stay in call->body: what was read of them points there. */
int
delete_read_options(struct call *call)
{
	json_t *options;

	if (body_decode_options(call, &options) == -1)
		return -1;
	json_decref(call->body);
	call->body = options;
	if (query_delete_options(&call->query, options, &call->delete_,
				 &call->st) == -1)
		return -1;
	call->write.dry_run = call->delete_.dry_run;
	return 0;
}

void
delete_run(struct call *call)
{
	if (delete_read_options(call) == -1)
		call_fail(call);
	else
		delete_object(call);
}
