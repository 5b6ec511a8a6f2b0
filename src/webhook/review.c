/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/review.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "meta/status.h"

#define API_VERSION "admission.k8s.io/v1"
#define KIND "AdmissionReview"

static const char *const operations[] = {
	[REVIEW_CREATE] = "CREATE",
	[REVIEW_UPDATE] = "UPDATE",
	[REVIEW_DELETE] = "DELETE",
	[REVIEW_CONNECT] = "CONNECT",
};
static_assert(ARRAY_LEN(operations) == REVIEW_OPERATION_COUNT, "names");

static int
read_operation(const char *text, enum review_operation *ret, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
		if (strcmp(operations[i], text) == 0) {
			*ret = (enum review_operation)i;
			return 0;
		}
	}
	return err_set(err, ERR_INVALID, "request.operation: '%s' is unknown",
		       text);
}

static int
read_request(const json_t *request, struct review *review, struct err *err)
{
	review->uid = js_str_at(request, "uid");
	if (review->uid[0] == '\0' || strlen(review->uid) > REVIEW_UID_MAX)
		return err_set(err, ERR_INVALID,
			       "request.uid is missing or too long");
	if (read_operation(js_str_at(request, "operation"), &review->operation,
			   err) == -1)
		return -1;
	review->group = js_str_at(request, "resource.group");
	review->resource = js_str_at(request, "resource.resource");
	review->subresource = js_str_at(request, "subResource");
	review->ns = js_str_at(request, "namespace");
	review->name = js_str_at(request, "name");
	review->user = js_str_at(request, "userInfo.username");
	review->extra = js_obj_at(request, "userInfo.extra");
	review->dry_run = js_bool_at(request, "dryRun", false);
	review->object = js_obj_at(request, "object");
	review->old_object = js_obj_at(request, "oldObject");
	return 0;
}

int
review_decode(const char *text, size_t len, struct review *ret, struct err *err)
{
	AUTO(js_unref) json_t *root = js_parse(text, len, err);
	struct review review = { 0 };

	if (root == NULL)
		return -1;
	if (strcmp(js_str_at(root, "apiVersion"), API_VERSION) != 0 ||
	    strcmp(js_str_at(root, "kind"), KIND) != 0)
		return err_set(err, ERR_INVALID,
			       "this is no " KIND " of " API_VERSION);
	if (read_request(js_obj_at(root, "request"), &review, err) == -1)
		return -1;
	review.root = TAKE_PTR(root);
	*ret = review;
	return 0;
}

void
review_done(struct review *review)
{
	json_decref(review->root);
	*review = (struct review){ 0 };
}

const char *
review_extra(const struct review *review, const char *name)
{
	const char *value = json_string_value(
		json_array_get(json_object_get(review->extra, name), 0));

	return value == NULL ? "" : value;
}

/* Takes the reference of response. */
static json_t *
answer(json_t *response)
{
	json_t *root = json_object();

	(void)json_object_set_new(root, "apiVersion", json_string(API_VERSION));
	(void)json_object_set_new(root, "kind", json_string(KIND));
	(void)json_object_set_new(root, "response", response);
	return root;
}

json_t *
review_allow(const struct review *review, const json_t *patch)
{
	json_t *response =
		json_pack("{s:s, s:b}", "uid", review->uid, "allowed", true);

	if (json_array_size(patch) > 0) {
		AUTO(free_ptr) char *text = js_text(patch);
		AUTO(free_ptr)
		char *coded = base64_encode(BASE64_STD, text, strlen(text));

		(void)json_object_set_new(response, "patchType",
					  json_string("JSONPatch"));
		(void)json_object_set_new(response, "patch",
					  json_string(coded));
	}
	return answer(response);
}

json_t *
review_deny(const struct review *review, const struct status *st)
{
	return answer(json_pack("{s:s, s:b, s:o}", "uid", review->uid,
				"allowed", false, "status", status_json(st)));
}
