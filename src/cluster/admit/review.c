/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/review.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission.h"
#include "cluster/admit/clienterror.h"
#include "cluster/admit/hook.h"
#include "cluster/auth/user.h"
#include "cluster/kinds/kind.h"
#include "kube/fetch.h"

#define API_GROUP "admission.k8s.io"

/* A subresource may carry another kind: an Eviction to pods/eviction. It has
 * no versions to choose from. */
static bool
is_of_kind(const json_t *obj, const struct admission_request *req)
{
	return str_equal(js_str_at(obj, "kind"), req->kind->kind);
}

json_t *
review_convert(const json_t *obj, const struct admission_request *req,
	       const struct kind_version *version)
{
	json_t *copy;

	if (obj == NULL)
		return NULL;
	copy = json_deep_copy(obj);
	if (version != req->version && is_of_kind(obj, req))
		kind_convert(req->version, version, copy);
	return copy;
}

/* "group/version" in two; "v1" is of the core group. */
static json_t *
kind_json(const char *api_version, const char *kind)
{
	const char *slash = strchr(api_version, '/');
	int len = slash != NULL ? (int)(slash - api_version) : 0;

	return json_pack("{s:s%, s:s, s:s}", "group", api_version, (size_t)len,
			 "version", slash != NULL ? slash + 1 : api_version,
			 "kind", kind);
}

static json_t *
kind_of(const struct admission_request *req, const struct kind_version *version)
{
	const json_t *obj = req->object != NULL ? req->object : req->old;

	if (obj != NULL && !is_of_kind(obj, req) &&
	    *js_str_at(obj, "kind") != '\0')
		return kind_json(js_str_at(obj, "apiVersion"),
				 js_str_at(obj, "kind"));
	return kind_json(version->api_version, req->kind->kind);
}

static json_t *
resource_of(const struct admission_request *req,
	    const struct kind_version *version)
{
	return json_pack("{s:s, s:s, s:s}", "group", req->kind->group,
			 "version", version->name, "resource",
			 req->kind->plural);
}

static json_t *
options_of(const struct admission_request *req)
{
	static const char *const kinds[ADMISSION_OP_COUNT] = {
		[ADMISSION_CREATE] = "CreateOptions",
		[ADMISSION_UPDATE] = "UpdateOptions",
		[ADMISSION_DELETE] = "DeleteOptions",
	};
	json_t *options;

	if (kinds[req->op] == NULL)
		return json_null();
	options = req->options != NULL ? json_deep_copy(req->options)
				       : json_object();
	if (json_object_get(options, "kind") == NULL)
		(void)json_object_set_new(options, "kind",
					  json_string(kinds[req->op]));
	if (json_object_get(options, "apiVersion") == NULL)
		(void)json_object_set_new(options, "apiVersion",
					  json_string("meta.k8s.io/v1"));
	return options;
}

static json_t *
object_of(const json_t *obj, const struct admission_request *req,
	  const struct kind_version *version)
{
	return obj != NULL ? review_convert(obj, req, version) : json_null();
}

static void
set_text(json_t *obj, const char *name, const char *value)
{
	if (*value != '\0')
		(void)json_object_set_new(obj, name, json_string(value));
}

json_t *
review_new(const struct hook *hook, const struct admission_request *req,
	   const struct kind_version *version, char ret_uid[NAME_UUID_SIZE])
{
	json_t *request = json_object();

	set_text(request, "uid", name_uuid(ret_uid));
	(void)json_object_set_new(request, "kind", kind_of(req, version));
	(void)json_object_set_new(request, "resource",
				  resource_of(req, version));
	set_text(request, "subResource", req->subresource);
	(void)json_object_set_new(request, "requestKind",
				  kind_of(req, req->version));
	(void)json_object_set_new(request, "requestResource",
				  resource_of(req, req->version));
	set_text(request, "requestSubResource", req->subresource);
	set_text(request, "name", req->name);
	set_text(request, "namespace", req->namespace_);
	set_text(request, "operation", hook_op_name((int)req->op));
	(void)json_object_set_new(request, "userInfo", user_json(req->user));
	(void)json_object_set_new(request, "object",
				  object_of(req->object, req, version));
	(void)json_object_set_new(request, "oldObject",
				  object_of(req->old, req, version));
	(void)json_object_set_new(request, "dryRun",
				  json_boolean(req->dry_run));
	(void)json_object_set_new(request, "options", options_of(req));
	return json_pack(
		"{s:s, s:s, s:o}", "kind", "AdmissionReview", "apiVersion",
		hook->speaks_v1 ? API_GROUP "/v1" : API_GROUP "/v1beta1",
		"request", request);
}

void
review_answer_done(struct review_answer *answer)
{
	json_decref(answer->patch);
	json_decref(answer->warnings);
	status_done(&answer->status);
	free(answer->why);
	*answer = REVIEW_ANSWER_INIT;
}

void
review_fail(struct review_answer *ret_answer, const char *fmt, ...)
{
	va_list ap;

	review_answer_done(ret_answer);
	va_start(ap, fmt);
	if (vasprintf(&ret_answer->why, fmt, ap) == -1)
		abort();
	va_end(ap);
}

#define INVALID "received invalid webhook response: "

/* kind and uid must be those of the question; v1beta1 was not so strict. */
static bool
check_envelope(const struct hook *hook, const char *uid, const json_t *review,
	       struct review_answer *ret_answer)
{
	const json_t *response = js_obj_at(review, "response");
	const char *its_uid = js_str_at(response, "uid");

	if (response == NULL) {
		review_fail(ret_answer, INVALID "webhook response was absent");
		return false;
	}
	if (!hook->speaks_v1)
		return true;
	if (!str_equal(its_uid, uid)) {
		review_fail(ret_answer,
			    INVALID "expected response.uid=\"%s\", got \"%s\"",
			    uid, its_uid);
		return false;
	}
	if (!str_equal(js_str_at(review, "apiVersion"), API_GROUP "/v1") ||
	    !str_equal(js_str_at(review, "kind"), "AdmissionReview")) {
		review_fail(ret_answer,
			    INVALID "expected webhook response of " API_GROUP
				    "/v1, Kind=AdmissionReview, got %s, "
				    "Kind=%s",
			    js_str_at(review, "apiVersion"),
			    js_str_at(review, "kind"));
		return false;
	}
	return true;
}

static bool
decode_patch(const char *text, struct review_answer *ret_answer)
{
	AUTO(free_ptr) uint8_t *data = NULL;
	struct err err;
	size_t len;

	if (base64_decode(BASE64_STD, text, strlen(text), &data, &len, &err) ==
	    0)
		ret_answer->patch = js_parse((const char *)data, len, &err);
	if (json_is_array(ret_answer->patch))
		return true;
	if (ret_answer->patch != NULL)
		(void)err_set(&err, ERR_INVALID, "not a list of operations");
	review_fail(ret_answer,
		    "received undecodable patch in webhook response: %s",
		    err.text);
	return false;
}

static bool
read_patch(const struct hook *hook, const json_t *response,
	   struct review_answer *ret_answer)
{
	const char *patch = js_str_at(response, "patch");
	const json_t *type = js_at(response, "patchType");
	bool has_patch = *patch != '\0';

	if (!hook->mutating) {
		if (!has_patch && type == NULL)
			return true;
		review_fail(ret_answer,
			    INVALID "validating webhook may not return "
				    "response.%s",
			    has_patch ? "patch" : "patchType");
		return false;
	}
	if (!has_patch && type == NULL)
		return true;
	if (!has_patch || (type == NULL && hook->speaks_v1)) {
		review_fail(ret_answer,
			    INVALID "webhook returned response.%s but not "
				    "response.%s",
			    has_patch ? "patch" : "patchType",
			    has_patch ? "patchType" : "patch");
		return false;
	}
	if (type != NULL && !str_equal(json_string_value(type), "JSONPatch")) {
		review_fail(ret_answer, "unsupported patch type \"%s\"",
			    js_str_at(response, "patchType"));
		return false;
	}
	return decode_patch(patch, ret_answer);
}

static void
read_denial(const struct hook *hook, const json_t *response,
	    struct review_answer *ret_answer)
{
	const json_t *status = js_obj_at(response, "status");
	const char *message = js_str_at(status, "message");
	struct status *st = &ret_answer->status;
	char *text;

	if (*message == '\0')
		message = js_str_at(status, "reason");
	text = xasprintf(
		"admission webhook \"%s\" denied the request%s%s", hook->name,
		*message != '\0' ? ": " : " without explanation", message);
	(void)status_from_json(st, status, 400);
	free(st->message);
	st->message = text;
	ret_answer->result = REVIEW_DENIED;
}

static json_t *
parse(const struct fetch_result *result, struct review_answer *ret_answer)
{
	AUTO(free_ptr) char *text = clienterror_text(result);
	AUTO(js_unref) json_t *review = NULL;
	struct err err;

	if (text != NULL) {
		review_fail(ret_answer, "failed to call webhook: %s", text);
		return NULL;
	}
	review = js_parse_lenient(result->body, result->body_len, NULL, NULL,
				  &err);
	if (json_is_object(review))
		return TAKE_PTR(review);
	text = clienterror_parse(result->body, &err);
	review_fail(ret_answer,
		    "failed to call webhook: couldn't get version/kind; json "
		    "parse error: %s",
		    text);
	return NULL;
}

void
review_read(const struct hook *hook, const char *uid,
	    const struct fetch_result *result, struct review_answer *ret_answer)
{
	AUTO(js_unref) json_t *review = parse(result, ret_answer);
	const json_t *response = js_obj_at(review, "response");

	if (review == NULL || !check_envelope(hook, uid, review, ret_answer) ||
	    !read_patch(hook, response, ret_answer))
		return;
	ret_answer->warnings = json_incref(js_arr_at(response, "warnings"));
	if (!js_bool_at(response, "allowed", false)) {
		read_denial(hook, response, ret_answer);
		return;
	}
	ret_answer->result = REVIEW_ALLOWED;
}
