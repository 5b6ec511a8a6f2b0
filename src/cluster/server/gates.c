/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/server/gates.h"

#include "base/str.h"
#include "cluster/auth/noderestriction.h"
#include "cluster/server/call.h"
#include "cluster/server/server.h"

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

void
gates_set_object(struct call *call, json_t *object)
{
	json_t *before = call->admit.object;

	call->admit.object = json_incref(object);
	json_decref(before);
}

static void
leave(struct call *call, bool ok)
{
	gates_set_object(call, NULL);
	if (ok)
		call->admitted(call);
	else
		call_fail(call);
}

static void
validated(int result, struct status *st, void *arg)
{
	struct call *call = arg;

	leave(call, passed(call, result, st));
}

static void
mutated(int result, struct status *st, void *arg)
{
	struct call *call = arg;

	if (!passed(call, result, st) ||
	    (call->admit_check != NULL && call->admit_check(call) == -1)) {
		leave(call, false);
		return;
	}
	/* The name was perhaps that of an object that a webhook replaced. */
	call->admit.name = call_name(call);
	admission_validate(call->parts->admission, &call->admit, validated,
			   call);
}

static json_t *
options_json(const struct call *call, enum admission_op op)
{
	static const char *const kinds[] = {
		[ADMISSION_CREATE] = "CreateOptions",
		[ADMISSION_UPDATE] = "UpdateOptions",
		[ADMISSION_DELETE] = "DeleteOptions",
		[ADMISSION_CONNECT] = "CreateOptions",
	};
	/* Of what is done, not of what was asked: a patch updates. */
	json_t *options = json_pack("{s:s, s:s}", "kind", kinds[op],
				    "apiVersion", "meta.k8s.io/v1");

	if (call->write.field_manager != NULL &&
	    *call->write.field_manager != '\0')
		json_object_set_new(options, "fieldManager",
				    json_string(call->write.field_manager));
	if (call->write.dry_run)
		json_object_set_new(options, "dryRun", json_pack("[s]", "All"));
	return options;
}

void
gates_pass(struct call *call, const struct gates *gates)
{
	json_t *warnings = call->admit.warnings;

	json_decref(call->admit.options);
	call->admit = (struct admission_request){
		.op = gates->op,
		.kind = call->kind,
		.version = call->version,
		.subresource = call->info.subresource,
		.namespace_ = call->info.namespace_,
		.name = call_name(call),
		.user = call->user,
		.object = json_incref(gates->object),
		.old = gates->op == ADMISSION_CREATE ? NULL : call->old_json,
		.options = options_json(call, gates->op),
		.dry_run = call->write.dry_run,
		.warnings = warnings,
	};
	call->admit_check = gates->check;
	call->admitted = gates->finish;
	admission_mutate(call->parts->admission, &call->admit, mutated, call);
}

int
gates_check_node(struct call *call, const json_t *object, const json_t *old)
{
	struct attributes attr = call_attributes(call);

	return noderestriction_admit(call->parts->authz, call->user, &attr,
				     object, old, &call->st);
}
