/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/body.h"
#include "cluster/server/call.h"
#include "cluster/server/objmeta.h"
#include "cluster/server/server.h"
#include "cluster/server/strategy.h"
#include "cluster/server/write.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

/* Names that the server makes collide now and then: once in 27^5. */
#define GENERATE_TRIES 8

static bool
is_taken(const struct call *call)
{
	return store_get(call->kind->collection, call->info.namespace_,
			 objmeta_str(call->object, "name")) != NULL;
}

static void
finish(struct call *call)
{
	struct store *store = call->parts->store;
	uint64_t rv = store_next_rv(store);
	struct gr gr = call_gr(call);
	struct object *object;

	if (is_taken(call)) {
		(void)status_already_exists(&call->st, &gr,
					    objmeta_str(call->object, "name"));
		call_fail(call);
		return;
	}
	call->admit.object = call->object;
	if (admission_commit(call->parts->admission, &call->admit, rv,
			     &call->st) == -1) {
		call->admit.object = NULL;
		call_fail(call);
		return;
	}
	call->admit.object = NULL;
	if (call->write.dry_run) {
		write_reply_json(call, 201);
		return;
	}
	object = write_seal(call, call->object, rv);
	if (object == NULL) {
		admission_revoke(call->parts->admission, rv);
		call_fail(call);
		return;
	}
	call->result = object_ref(object);
	call->code = 201;
	store_put(call->kind->collection, object);
	write_reply(call);
}

/* A name that was made by the server and is taken: another one. */
static int
init_metadata(struct call *call)
{
	json_t *meta = objmeta_get(call->object);
	const char *given = objmeta_str(call->object, "name");
	bool made = *given == '\0' &&
		    *objmeta_str(call->object, "generateName") != '\0';

	for (int i = 0; i < GENERATE_TRIES; i++) {
		if (objmeta_init(call->object, call->kind,
				 call->info.namespace_, &call->st) == -1)
			return -1;
		if (!made || !is_taken(call))
			break;
		json_object_del(meta, "name");
	}
	return 0;
}

static int
decode(struct call *call)
{
	const char *kind = call->kind->kind;
	struct strict_errors errors = { 0 };
	int r = -1;

	if (body_decode(call, kind, &errors, &call->object) == 0 &&
	    body_check_kind(call, call->object) == 0 &&
	    write_check_types(call, call->object) == 0) {
		write_shape(call, call->object, &errors);
		r = body_report(call, kind, &errors);
	}
	strict_errors_done(&errors);
	return r;
}

static void
prepare(struct call *call)
{
	const struct strategy *strategy = strategy_for(call->kind);

	if (call->version->has_status && !strategy->keeps_status)
		json_object_del(call->object, "status");
	if (strategy->prepare_create != NULL)
		strategy->prepare_create(call->object);
}

static int
settle(struct call *call, const json_t *given)
{
	if (objmeta_settle(call->object, given, &call->st) == -1)
		return -1;
	prepare(call);
	return 0;
}

void
create_run(struct call *call)
{
	if (query_write_options(&call->query, "CreateOptions", &call->write,
				&call->st) == -1 ||
	    decode(call) == -1 || init_metadata(call) == -1) {
		call_fail(call);
		return;
	}
	prepare(call);
	write_admit(call, settle, finish);
}
