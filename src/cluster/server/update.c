/* SPDX-License-Identifier: Apache-2.0 */

/* update - PUT and PATCH, of an object and of its status. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
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
#include "meta/causes.h"
#include "meta/patch.h"
#include "meta/yaml.h"

static void attempt(struct call *call);

static bool
is_status(const struct call *call)
{
	return str_equal(call->info.subresource, "status");
}

static int
unspecified_version(struct call *call)
{
	struct causes causes = CAUSES_INIT;

	/* Here the resource's name stands where the kind usually does. */
	causes_add_value(&causes, CAUSE_INVALID, "metadata.resourceVersion",
			 "0x0", "must be specified for an update");
	(void)status_invalid(&call->st, call->kind->group, call->kind->plural,
			     call->info.name, &causes);
	causes_done(&causes);
	return -1;
}

/* Whether the object is the one the client has seen. */
static int
check_seen(struct call *call, const json_t *object, bool conditional)
{
	const char *rv = objmeta_str(object, "resourceVersion");
	struct gr gr = call_gr(call);
	uint64_t seen;
	char *end;

	if (*rv == '\0' || str_equal(rv, "0"))
		return conditional ? unspecified_version(call) : 0;
	errno = 0;
	seen = strtoull(rv, &end, 10);
	if (*end != '\0' || errno != 0)
		return status_set(&call->st, 500, NULL,
				  "strconv.ParseUint: parsing \"%s\": "
				  "invalid syntax",
				  rv);
	if (seen != call->old->rv)
		return status_modified(&call->st, &gr, call->info.name);
	return 0;
}

static int
check_identity(struct call *call, const json_t *object)
{
	const char *name = objmeta_str(object, "name");
	const char *ns = objmeta_str(object, "namespace");

	if (*name != '\0' && !str_equal(name, call->info.name)) {
		return status_bad_request(
			&call->st,
			"the name of the object (%s) does not match the name "
			"on the URL (%s)",
			name, call->info.name);
	}
	if (call->kind->namespaced && *ns != '\0' &&
	    !str_equal(ns, call->info.namespace_)) {
		return status_bad_request(
			&call->st,
			"the namespace of the object (%s) does not match the "
			"namespace on the request (%s)",
			ns, call->info.namespace_);
	}
	return 0;
}

static int
check_uid(struct call *call, const json_t *object)
{
	const char *uid = objmeta_str(object, "uid");
	struct gr gr = call_gr(call);
	char *why;

	if (*uid == '\0' || str_equal(uid, call->old->uid))
		return 0;
	why = xasprintf("StorageError: invalid object, Code: 4, Key: "
			"/registry/%s/%s/%s, ResourceVersion: 0, "
			"AdditionalErrorMsg: Precondition failed: UID in "
			"precondition: %s, UID in object meta: %s",
			call->info.resource, call->info.namespace_,
			call->info.name, uid, call->old->uid);
	(void)status_conflict(&call->st, &gr, call->info.name, why);
	free(why);
	return -1;
}

static void
move_member(json_t *to, const json_t *from, const char *member)
{
	json_t *value = json_object_get(from, member);

	if (value == NULL)
		json_object_del(to, member);
	else
		json_object_set(to, member, value);
}

/*
 * Which part of the new object counts. Through the status subresource only the
 * status does (built-in kinds also take labels and annotations there), through
 * the object itself everything but the status.
 */
static void
keep_what_is_not_written(struct call *call)
{
	json_t *written = call->object;

	if (!call->version->has_status)
		return;
	if (!is_status(call)) {
		move_member(call->object, call->old_json, "status");
		return;
	}
	call->object = json_copy(call->old_json);
	move_member(call->object, written, "status");
	if (call->kind->builtin)
		move_member(call->object, written, "metadata");
	else
		json_object_set_new(call->object, "metadata",
				    json_deep_copy(json_object_get(
					    call->old_json, "metadata")));
	json_decref(written);
}

/* Whether a has a member that b has not, or has otherwise; but for metadata and
 * a status with a path of its own. */
static bool
has_other(const struct call *call, json_t *a, const json_t *b)
{
	const json_t *value;
	const char *key;

	json_object_foreach(a, key, value)
	{
		const json_t *before = json_object_get(b, key);

		if (str_equal(key, "metadata") ||
		    (call->version->has_status && str_equal(key, "status")))
			continue;
		if (before == NULL || !json_equal(value, before))
			return true;
	}
	return false;
}

static bool
spec_differs(const struct call *call)
{
	return has_other(call, call->object, call->old_json) ||
	       has_other(call, call->old_json, call->object);
}

/* An object that was only waiting for its last finalizer to go. */
static bool
is_finished(const struct call *call)
{
	const json_t *grace =
		json_object_get(json_object_get(call->object, "metadata"),
				"deletionGracePeriodSeconds");

	return objmeta_deleting(call->object) &&
	       objmeta_finalizers(call->object) == 0 &&
	       json_integer_value(grace) == 0 &&
	       objmeta_finalizers(call->old_json) > 0;
}

/* The answer shows the last state that was stored. */
static void
remove_finished(struct call *call)
{
	json_t *shown = json_deep_copy(call->object);

	objmeta_set_rv(shown, call->old->rv);
	write_remove(call, call->object);
	json_decref(call->object);
	call->object = shown;
	write_reply_json(call, 200);
}

static void
reply_unchanged(struct call *call)
{
	call->result = object_ref(call->old);
	call->code = 200;
	write_reply(call);
}

static int
commit(struct call *call)
{
	uint64_t rv = store_next_rv(call->parts->store);
	struct object *object;
	int r;

	call->admit.object = call->object;
	r = admission_commit(call->parts->admission, &call->admit, rv,
			     &call->st);
	call->admit.object = NULL;
	if (r == -1)
		return -1;
	if (call->write.dry_run)
		return 0;
	object = write_seal(call, call->object, rv);
	if (object == NULL) {
		admission_revoke(call->parts->admission, rv);
		return -1;
	}
	call->result = object_ref(object);
	call->code = 200;
	store_put(call->kind->collection, object);
	return 0;
}

/* The object changed while webhooks were asked. */
static void
try_again(struct call *call)
{
	struct gr gr = call_gr(call);

	if (++call->tries < SERVER_UPDATE_TRIES) {
		attempt(call);
		return;
	}
	(void)status_modified(&call->st, &gr, call->info.name);
	call_fail(call);
}

static void
finish(struct call *call)
{
	if (store_get(call->kind->collection, call->info.namespace_,
		      call->info.name) != call->old) {
		try_again(call);
		return;
	}
	if (json_equal(call->object, call->old_json)) {
		reply_unchanged(call);
		return;
	}
	if (spec_differs(call))
		objmeta_bump_generation(call->object);
	if (is_finished(call) && !call->write.dry_run) {
		remove_finished(call);
		return;
	}
	if (commit(call) == -1)
		call_fail(call);
	else if (call->write.dry_run)
		write_reply_json(call, 200);
	else
		write_reply(call);
}

static int
carry_over(struct call *call)
{
	const struct strategy *strategy = strategy_for(call->kind);
	struct causes causes = CAUSES_INIT;

	objmeta_carry_over(call->object, call->old_json, &causes);
	if (causes_count(&causes) > 0) {
		(void)status_invalid(&call->st, call->kind->group,
				     call->kind->kind, call->info.name,
				     &causes);
		causes_done(&causes);
		return -1;
	}
	if (strategy->prepare_update != NULL)
		strategy->prepare_update(call->object, call->old_json);
	return 0;
}

static int
prepare_put(struct call *call)
{
	if (check_uid(call, call->body) == -1 ||
	    check_seen(call, call->body, !call->kind->unconditional_update) ==
		    -1)
		return -1;
	call->object = json_deep_copy(call->body);
	json_object_del(objmeta_get(call->object), "uid");
	return 0;
}

enum patch_type {
	PATCH_JSON,
	PATCH_MERGE,
	PATCH_STRATEGIC,
	PATCH_APPLY,
	PATCH_OTHER,
};

static enum patch_type
patch_type(const struct call *call)
{
	static const struct {
		const char *type;
		enum patch_type patch;
	} types[] = {
		{ "application/json-patch+json", PATCH_JSON },
		{ "application/merge-patch+json", PATCH_MERGE },
		{ "application/strategic-merge-patch+json", PATCH_STRATEGIC },
		{ "application/apply-patch+yaml", PATCH_APPLY },
	};
	const char *cursor = call->content_type;
	struct media_type media;

	if (!media_type_next(&cursor, &media))
		return PATCH_OTHER;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (str_equal(media.type, types[i].type))
			return types[i].patch;
	return PATCH_OTHER;
}

static json_t *
apply_patch(struct call *call)
{
	switch (patch_type(call)) {
	case PATCH_JSON:
		return patch_json(call->old_json, call->body, &call->st);
	case PATCH_MERGE:
		return patch_merge(call->old_json, call->body, &call->st);
	case PATCH_STRATEGIC:
		return patch_strategic(call->old_json, call->body,
				       call->version->openapi, &call->st);
	case PATCH_APPLY:
	case PATCH_OTHER:
		break;
	}
	return NULL;
}

/* PATCH names what is unknown in another way than POST and PUT do. */
static int
report_patch(struct call *call, const struct strict_errors *errors)
{
	struct causes causes = CAUSES_INIT;
	char *value, *message;
	size_t len;

	if (errors->count == 0 ||
	    call->write.field_validation != FIELD_VALIDATION_STRICT)
		return body_report(call, call->kind->kind, errors);
	value = js_text_sorted(call->object, &len);
	message = xasprintf("strict decoding error: %s", errors->text[0]);
	for (size_t i = 1; i < errors->count; i++) {
		char *longer = xasprintf("%s, %s", message, errors->text[i]);

		free(message);
		message = longer;
	}
	causes_invalid_str(&causes, "patch", value, message);
	(void)status_invalid(&call->st, "", "", "", &causes);
	causes_done(&causes);
	free(value);
	free(message);
	return -1;
}

static int
prepare_patch(struct call *call)
{
	struct strict_errors errors = { 0 };
	int r;

	call->object = apply_patch(call);
	if (call->object == NULL)
		return -1;
	if (!json_is_object(call->object))
		return status_rejected(&call->st);
	if (check_identity(call, call->object) == -1 ||
	    body_check_kind(call, call->object) == -1 ||
	    write_check_types(call, call->object) == -1 ||
	    check_seen(call, call->object, false) == -1)
		return -1;
	write_shape(call, call->object, &errors);
	r = report_patch(call, &errors);
	strict_errors_done(&errors);
	return r;
}

static int
settle(struct call *call, const json_t *given)
{
	(void)given;
	if (check_identity(call, call->object) == -1)
		return -1;
	keep_what_is_not_written(call);
	return carry_over(call);
}

static void
attempt(struct call *call)
{
	int r = write_find(call);

	if (r == 0)
		r = call->info.verb == VERB_PATCH ? prepare_patch(call)
						  : prepare_put(call);
	if (r == 0) {
		keep_what_is_not_written(call);
		r = carry_over(call);
	}
	if (r == 0)
		write_admit(call, settle, finish);
	else
		call_fail(call);
}

static int
decode_put(struct call *call)
{
	const char *kind = call->kind->kind;
	struct strict_errors errors = { 0 };
	json_t *decoded = NULL;
	int r = -1;

	if (body_decode(call, kind, &errors, &decoded) == 0 &&
	    body_check_kind(call, decoded) == 0 &&
	    write_check_types(call, decoded) == 0 &&
	    check_identity(call, decoded) == 0) {
		write_shape(call, decoded, &errors);
		r = body_report(call, kind, &errors);
	}
	strict_errors_done(&errors);
	json_decref(call->body);
	call->body = decoded;
	return r;
}

void
update_run(struct call *call)
{
	if (query_write_options(&call->query, "UpdateOptions", &call->write,
				&call->st) == -1 ||
	    decode_put(call) == -1)
		call_fail(call);
	else
		attempt(call);
}

static int
unsupported_patch(struct call *call)
{
	if (patch_type(call) == PATCH_APPLY) {
		return status_set(
			&call->st, 415, "UnsupportedMediaType",
			"server-side apply is not supported by this server: "
			"use \"kubectl apply\" without --server-side, or a "
			"patch of type application/merge-patch+json");
	}
	if (call->kind->builtin)
		return status_set(&call->st, 415, "UnsupportedMediaType",
				  "415: Unsupported Media Type");
	return status_unsupported_media(
		&call->st,
		"application/json-patch+json, application/merge-patch+json, "
		"application/apply-patch+yaml");
}

static int
undecodable_patch(struct call *call, const struct err *err)
{
	char *fault = body_json_fault(call, err);

	(void)status_bad_request(&call->st, "error decoding patch: %s", fault);
	free(fault);
	return -1;
}

static int
decode_patch(struct call *call)
{
	enum patch_type type = patch_type(call);
	struct err err;

	if (type == PATCH_APPLY || type == PATCH_OTHER ||
	    (type == PATCH_STRATEGIC && !call->kind->builtin))
		return unsupported_patch(call);
	if (call->body != NULL) /* from inside */
		return 0;
	call->body = js_parse_lenient(call->data == NULL ? "" : call->data,
				      call->len, NULL, NULL, &err);
	if (call->body == NULL)
		return undecodable_patch(call, &err);
	if (type == PATCH_JSON && !json_is_array(call->body))
		return status_bad_request(
			&call->st,
			"error decoding patch: json: cannot unmarshal object "
			"into Go value of type []handlers.jsonPatchOp");
	if (type != PATCH_JSON && !json_is_object(call->body))
		return status_bad_request(
			&call->st,
			"error decoding patch: json: cannot unmarshal into Go "
			"value of type map[string]interface {}");
	return 0;
}

void
patch_run(struct call *call)
{
	if (decode_patch(call) == -1 ||
	    query_write_options(&call->query, "PatchOptions", &call->write,
				&call->st) == -1)
		call_fail(call);
	else
		attempt(call);
}
