/* SPDX-License-Identifier: Apache-2.0 */

/* resource - from a resource's path and verb to what does it. */

#include "base/array.h"
#include "base/str.h"
#include "cluster/auth/review.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/server/body.h"
#include "cluster/server/call.h"
#include "cluster/server/read.h"
#include "cluster/server/server_internal.h"
#include "cluster/server/write.h"

static void
not_found_page(struct call *call)
{
	static const char text[] = "404 page not found\n";

	call->accept.format = ACCEPT_JSON;
	call_reply_text(call, 404, "text/plain; charset=utf-8", text,
			sizeof(text) - 1);
}

/* In the core group a Status says it, elsewhere a page does. */
static void
no_such_resource(struct call *call)
{
	if (*call->info.group != '\0') {
		not_found_page(call);
		return;
	}
	(void)status_no_route(&call->st);
	call_fail(call);
}

/* Questions that are answered and not kept. */
static void
review_run(struct call *call)
{
	struct strict_errors errors = { 0 };
	const struct review review = { .authn = call->parts->authn,
				       .authz = call->parts->authz,
				       .user = call->user,
				       .namespace_ = call->info.namespace_ };
	json_t *body = NULL, *answer = NULL;
	int r = body_decode(call, call->kind->kind, &errors, &body);

	strict_errors_done(&errors);
	if (r == 0) {
		json_decref(call->body);
		call->body = body;
		r = body_check_kind(call, body);
	}
	if (r == 0)
		r = review_answer(&review, call->kind->kind, body, &answer,
				  &call->st);
	if (r == -1) {
		call_fail(call);
		return;
	}
	call->accept.shape = ACCEPT_OBJECT;
	call_reply_plain(call, 201, answer);
	json_decref(answer);
}

static const struct {
	unsigned verb;
	void (*run)(struct call *call);
} verbs[] = {
	{ VERB_GET, get_run },
	{ VERB_LIST, list_run },
	{ VERB_WATCH, watch_run },
	{ VERB_CREATE, create_run },
	{ VERB_UPDATE, update_run },
	{ VERB_PATCH, patch_run },
	{ VERB_DELETE, delete_run },
	{ VERB_DELETECOLLECTION, delete_collection_run },
};

static void
run_verb(struct call *call)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].verb == call->info.verb) {
			verbs[i].run(call);
			return;
		}
	(void)status_method_not_allowed(&call->st, NULL, NULL);
	call_fail(call);
}

/* The scope of the path must be that of the kind. */
static bool
fits_scope(const struct call *call)
{
	const struct info *info = &call->info;
	bool named = *info->name != '\0';

	if (!call->kind->namespaced)
		return *info->namespace_ == '\0' ||
		       str_equal(call->kind->plural, "namespaces");
	/* Without a namespace all of them can be listed and watched. */
	return *info->namespace_ != '\0' ||
	       (!named &&
		(info->verb == VERB_LIST || info->verb == VERB_WATCH));
}

static int
check_method(struct call *call)
{
	const struct info *info = &call->info;
	bool named = *info->name != '\0';
	struct gr gr = call_gr(call);

	if ((call->kind->verbs & info->verb) == 0)
		return status_method_not_allowed(&call->st, NULL, NULL);
	if (!named && (info->verb == VERB_UPDATE || info->verb == VERB_PATCH)) {
		return call->kind->builtin
			       ? status_method_not_allowed(&call->st, NULL,
							   NULL)
			       : status_bad_request(&call->st,
						    "name must be provided");
	}
	if (info->verb == VERB_CREATE && call->kind->terminating)
		return status_set(&call->st, 405, "MethodNotAllowed",
				  "create not allowed while custom resource "
				  "definition is terminating");
	if (named && info->verb == VERB_CREATE && call->kind->builtin &&
	    *info->subresource == '\0')
		return status_method_not_allowed(&call->st, NULL, NULL);
	if (str_equal(info->subresource, "status") && info->verb == VERB_CREATE)
		return status_method_not_allowed(&call->st, &gr, "create");
	return 0;
}

/* status is a view of the object itself, where there is one. */
static bool
is_object_view(const struct call *call)
{
	return *call->info.subresource == '\0' ||
	       (str_equal(call->info.subresource, "status") &&
		call->version->has_status);
}

void
resource_run(struct call *call)
{
	struct info *info = &call->info;
	struct kind_version *version;
	struct kind *kind;

	if (registry_find(call->parts->registry, info->group, info->version,
			  info->resource, &kind, &version) == -1 ||
	    kind->body_only) {
		no_such_resource(call);
		return;
	}
	call->kind = kind_ref(kind);
	call->version = version;
	if (!kind->namespaced && str_equal(kind->plural, "namespaces") &&
	    *info->group == '\0')
		info->namespace_ = ""; /* it was the name */
	if (version->deprecated && version->warning != NULL)
		call_warn(call, "%s", version->warning);
	if (kind->collection == NULL && info->verb == VERB_CREATE) {
		review_run(call);
		return;
	}
	if (!fits_scope(call) || kind->collection == NULL) {
		no_such_resource(call);
		return;
	}
	if (!is_object_view(call)) {
		subresource_run(call);
		return;
	}
	if (check_method(call) == -1)
		call_fail(call);
	else
		run_verb(call);
}
