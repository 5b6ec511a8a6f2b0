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
#include "cluster/server/gates.h"
#include "cluster/server/objmeta.h"
#include "cluster/server/server.h"
#include "cluster/server/stored.h"
#include "cluster/server/strategy.h"
#include "cluster/server/write.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/causes.h"

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

/* What depends on who writes. */
static int
check_writer(struct call *call)
{
	struct attributes attr = call_attributes(call);
	struct authz *authz = call->parts->authz;

	if (noderestriction_admit(authz, call->user, &attr, call->object,
				  call->old_json, &call->st) == -1)
		return -1;
	return escalation_check(authz, call->user, &attr, call->object,
				call->old_json, &call->st);
}

/* What a webhook has made of the object: it may have done anything. */
static int
take_patched(struct call *call)
{
	json_t *given = call->object;
	int r;

	call->object = json_incref(call->admit.object);
	r = body_check_kind(call, call->object) == -1 ||
			    write_check_types(call, call->object) == -1
		    ? -1
		    : call->settle(call, given);
	json_decref(given);
	return r;
}

static int
write_check(struct call *call)
{
	struct causes causes = CAUSES_INIT;

	if (call->admit.object != call->object && take_patched(call) == -1)
		return -1;
	gates_set_object(call, call->object);
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

void
write_admit(struct call *call,
	    int (*settle)(struct call *call, const json_t *given),
	    void (*finish)(struct call *call))
{
	call->settle = settle;
	gates_pass(call, &(struct gates){
				 .op = call->old == NULL ? ADMISSION_CREATE
							 : ADMISSION_UPDATE,
				 .object = call->object,
				 .check = write_check,
				 .finish = finish,
			 });
}

json_t *
write_load(struct call *call, const struct object *object)
{
	return stored_load(call->version, object);
}

static struct object *
seal(struct call *call, json_t *object, uint64_t rv)
{
	const struct kind_version *stored = call->kind->storage_kind->storage;
	size_t len;
	char *text;

	objmeta_set_rv(object, rv);
	if (stored != call->version)
		kind_convert(call->version, stored, object);
	text = js_text_sorted(object, &len);
	return object_new(call->kind->collection, rv, text, len);
}

struct object *
write_seal(struct call *call, json_t *object, uint64_t rv)
{
	struct object *sealed = seal(call, object, rv);

	if (sealed->len <= SERVER_OBJECT_MAX)
		return sealed;
	object_unref(sealed);
	(void)status_set(&call->st, 500, NULL,
			 "etcdserver: request is too large");
	return NULL;
}

int
write_find(struct call *call)
{
	struct gr gr = call_gr(call);
	struct object *old = store_get(call->kind->collection,
				       call->info.namespace_, call->info.name);

	object_unref(call->old);
	json_decref(call->old_json);
	json_decref(call->object);
	call->old = NULL;
	call->old_json = call->object = NULL;
	if (old == NULL)
		return status_not_found(&call->st, &gr, call->info.name);
	call->old = object_ref(old);
	call->old_json = write_load(call, old);
	return 0;
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

static void
send_json(struct call *call)
{
	call_reply_json(call, call->code, call->object);
}

void
write_reply_json(struct call *call, int code)
{
	call->code = code;
	call_when_durable(call, send_json);
}

void
write_remove(struct call *call, json_t *object)
{
	uint64_t rv = store_next_rv(call->parts->store);

	store_remove(call->kind->collection, seal(call, object, rv));
}
