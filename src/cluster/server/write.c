/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/auth/escalation.h"
#include "cluster/auth/noderestriction.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/schema.h"
#include "cluster/server/body.h"
#include "cluster/server/call.h"
#include "cluster/server/objmeta.h"
#include "cluster/server/server.h"
#include "cluster/server/stored.h"
#include "cluster/server/strategy.h"
#include "cluster/server/write.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/causes.h"

/* A call between two steps of its admission. */
struct admitting {
	struct call *call;
	void (*finish)(struct call *call);
};

int
write_check_types(struct call *call, const json_t *object)
{
	char *wrong;

	if (objmeta_check_types(object, call->kind->kind, &call->st) == -1)
		return -1;
	if (!call->kind->builtin)
		return 0;
	wrong = schema_check_types(call->version->schema, call->kind->kind,
				   object);
	if (wrong == NULL)
		return 0;
	(void)status_bad_request(
		&call->st, "%s in version \"%s\" cannot be handled as a %s: %s",
		call->kind->kind, call->version->name, call->kind->kind, wrong);
	free(wrong);
	return -1;
}

void
write_shape(struct call *call, json_t *object, struct strict_errors *errors)
{
	const struct schema *schema = call->version->schema;
	struct unknown unknown = { 0 };

	if (schema == NULL)
		return;
	schema_prune(schema, object, errors == NULL ? NULL : &unknown);
	/* Custom kinds report by path, built-in ones as they stand. */
	if (!call->kind->builtin)
		unknown_sort(&unknown);
	for (size_t i = 0; i < unknown.count; i++)
		strict_errors_add(errors, "unknown", unknown.paths[i]);
	unknown_done(&unknown);
	schema_default(schema, object);
}

static void
check_object(struct call *call, struct causes *causes)
{
	const struct strategy *strategy = strategy_for(call->kind);
	const struct strategy_env env = { call->parts->registry };

	objmeta_validate(call->object, call->kind, causes);
	if (call->version->schema != NULL)
		(void)schema_validate(call->version->schema, call->object,
				      causes);
	if (strategy->validate != NULL && *call->info.subresource == '\0')
		strategy->validate(&env, call->object, call->old_json, causes);
}

static struct attributes
attributes_of(const struct call *call)
{
	return (struct attributes){
		.is_resource = true,
		.verb = verb_name(call->info.verb),
		.group = call->info.group,
		.version = call->info.version,
		.resource = call->info.resource,
		.subresource = call->info.subresource,
		.namespace_ = call->info.namespace_,
		.name = objmeta_str(call->object != NULL ? call->object
							 : call->old_json,
				    "name"),
		.path = call->info.path,
	};
}

/* What depends on who writes. */
static int
check_writer(struct call *call)
{
	struct attributes attr = attributes_of(call);
	struct authz *authz = call->parts->authz;

	if (noderestriction_admit(authz, call->user, &attr, call->object,
				  call->old_json, &call->st) == -1)
		return -1;
	return escalation_check(authz, call->user, &attr, call->object,
				call->old_json, &call->st);
}

static int
write_check(struct call *call)
{
	struct causes causes = CAUSES_INIT;

	/* A webhook may have added anything. */
	if (objmeta_check_types(call->object, call->kind->kind, &call->st) ==
	    -1)
		return -1;
	if (call->admit.object != call->object) {
		json_decref(call->object);
		call->object = json_incref(call->admit.object);
	}
	write_shape(call, call->object, NULL);
	check_object(call, &causes);
	if (causes_count(&causes) > 0) {
		(void)status_invalid(
			&call->st, call->kind->group, call->kind->kind,
			objmeta_str(call->object, "name"), &causes);
		causes_done(&causes);
		return -1;
	}
	return check_writer(call);
}

/* Takes over what a gate said; whether the call goes on. */
static bool
passed(struct call *call, int result, struct status *st)
{
	if (result == 0)
		return true;
	call->st = *st;
	*st = STATUS_INIT;
	return false;
}

static void
release_admission(struct call *call)
{
	json_decref(call->admit.object);
	call->admit.object = NULL;
}

static void
validated(int result, struct status *st, void *arg)
{
	struct admitting admitting = *(struct admitting *)arg;
	bool ok = passed(admitting.call, result, st);

	free(arg);
	release_admission(admitting.call);
	if (ok)
		admitting.finish(admitting.call);
	else
		call_fail(admitting.call);
}

static void
mutated(int result, struct status *st, void *arg)
{
	struct admitting *admitting = arg;
	struct call *call = admitting->call;

	if (!passed(call, result, st) || write_check(call) == -1) {
		free(admitting);
		release_admission(call);
		call_fail(call);
		return;
	}
	if (call->admit.object != call->object) {
		json_decref(call->admit.object);
		call->admit.object = json_incref(call->object);
	}
	admission_validate(call->parts->admission, &call->admit, validated,
			   admitting);
}

static json_t *
options_json(const struct call *call)
{
	static const char *const kinds[] = {
		[ADMISSION_CREATE] = "CreateOptions",
		[ADMISSION_UPDATE] = "UpdateOptions",
		[ADMISSION_DELETE] = "DeleteOptions",
		[ADMISSION_CONNECT] = "CreateOptions",
	};
	const char *kind = call->info.verb == VERB_PATCH
				   ? "PatchOptions"
				   : kinds[call->admit.op];
	json_t *options = json_pack("{s:s, s:s}", "kind", kind, "apiVersion",
				    "meta.k8s.io/v1");

	if (call->write.field_manager != NULL &&
	    *call->write.field_manager != '\0')
		json_object_set_new(options, "fieldManager",
				    json_string(call->write.field_manager));
	if (call->write.dry_run)
		json_object_set_new(options, "dryRun", json_pack("[s]", "All"));
	return options;
}

void
write_admit(struct call *call, void (*finish)(struct call *call))
{
	struct admitting *admitting = xmalloc0(sizeof(*admitting));
	json_t *warnings = call->admit.warnings;

	json_decref(call->admit.options);
	call->admit = (struct admission_request){
		.op = call->old == NULL ? ADMISSION_CREATE : ADMISSION_UPDATE,
		.kind = call->kind,
		.version = call->version,
		.subresource = call->info.subresource,
		.namespace_ = call->info.namespace_,
		.name = objmeta_str(call->object, "name"),
		.user = call->user,
		.object = json_incref(call->object),
		.old = call->old_json,
		.dry_run = call->write.dry_run,
		.warnings = warnings,
	};
	call->admit.options = options_json(call);
	*admitting = (struct admitting){ call, finish };
	admission_mutate(call->parts->admission, &call->admit, mutated,
			 admitting);
}

json_t *
write_load(struct call *call, const struct object *object)
{
	return stored_load(call->version, object);
}

struct object *
write_seal(struct call *call, json_t *object, uint64_t rv)
{
	const struct kind_version *stored = call->kind->storage_kind->storage;
	size_t len;
	char *text;

	objmeta_set_rv(object, rv);
	if (stored != call->version)
		kind_convert(call->version, stored, object);
	text = js_text_sorted(object, &len);
	if (len > SERVER_OBJECT_MAX) {
		free(text);
		(void)status_set(&call->st, 500, NULL,
				 "etcdserver: request is too large");
		return NULL;
	}
	return object_new(call->kind->collection, rv, text, len);
}

static void
send_result(struct call *call)
{
	call_reply_object(call, call->code, call->result);
}

void
write_reply(struct call *call)
{
	call_when_durable(call, send_result);
}

int
write_remove(struct call *call, json_t *object)
{
	struct store *store = call->parts->store;
	uint64_t rv = store_next_rv(store);
	struct object *tombstone = write_seal(call, object, rv);

	if (tombstone == NULL)
		return -1;
	store_remove(call->kind->collection, tombstone);
	return 0;
}
