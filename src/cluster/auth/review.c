/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/review.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "cluster/auth/authn.h"
#include "cluster/auth/authz.h"
#include "meta/causes.h"
#include "meta/status.h"
#include "meta/time.h"

#define GROUP_AUTHENTICATION "authentication.k8s.io"
#define GROUP_AUTHORIZATION "authorization.k8s.io"

/* How a kind is answered: status is the member of that name. */
struct kind_of_review {
	const char *kind;
	const char *group;
	int (*answer)(const struct review *review,
		      const struct kind_of_review *of, const json_t *body,
		      json_t **ret_status, struct status *st);
};

/* The terms of a selector as a list and watch gives them; NULL if none. */
static char *
selector_text(const json_t *selector)
{
	struct buf text = BUF_INIT(BUF_UNLIMITED);
	const char *raw = js_str_at(selector, "rawSelector");
	size_t i;
	json_t *item;

	if (*raw)
		return xstrdup(raw);
	json_array_foreach(js_arr_at(selector, "requirements"), i, item)
	{
		const json_t *values = js_arr_at(item, "values");
		const char *value =
			json_string_value(json_array_get(values, 0));
		bool in = strcmp(js_str_at(item, "operator"), "In") == 0;

		/* Others demand nothing, and so give no right. */
		if (in && json_array_size(values) == 1 && value)
			(void)buf_printf(&text, "%s%s=%s", text.len ? "," : "",
					 js_str_at(item, "key"), value);
	}
	return (char *)text.data;
}

/* The question and its texts. */
struct question {
	struct attributes attr;
	char *selector;
};

static void
question_done(struct question *q)
{
	free(q->selector);
}

/* Reads resourceAttributes or nonResourceAttributes of a checked spec. */
static void
read_question(const json_t *spec, struct question *ret)
{
	const json_t *res = js_obj_at(spec, "resourceAttributes");
	const json_t *url = js_obj_at(spec, "nonResourceAttributes");

	*ret = (struct question){ 0 };
	if (!res) {
		ret->attr.verb = js_str_at(url, "verb");
		ret->attr.path = js_str_at(url, "path");
		return;
	}
	ret->selector = selector_text(js_obj_at(res, "fieldSelector"));
	ret->attr = (struct attributes){
		.is_resource = true,
		.verb = js_str_at(res, "verb"),
		.group = js_str_at(res, "group"),
		.version = js_str_at(res, "version"),
		.resource = js_str_at(res, "resource"),
		.subresource = js_str_at(res, "subresource"),
		.namespace_ = js_str_at(res, "namespace"),
		.name = js_str_at(res, "name"),
		.field_selector = ret->selector,
	};
}

/* Exactly one of the two, whoever it is about. */
static void
check_spec(const json_t *spec, struct causes *causes)
{
	const json_t *res = js_obj_at(spec, "resourceAttributes");
	const json_t *url = js_obj_at(spec, "nonResourceAttributes");

	if (res && url)
		causes_invalid(causes, "spec.nonResourceAttributes", url,
			       "cannot be specified in combination with "
			       "resourceAttributes");
	if (!res && !url)
		causes_invalid(causes, "spec.resourceAttributes", json_null(),
			       "exactly one of nonResourceAttributes or "
			       "resourceAttributes must be specified");
}

static int
invalid(const struct kind_of_review *of, struct causes *causes,
	struct status *st)
{
	int ret = 0;

	if (causes_count(causes))
		ret = status_invalid(st, of->group, of->kind, "", causes);
	causes_done(causes);
	return ret;
}

static json_t *
judge(const struct review *review, const struct user *user, const json_t *spec)
{
	json_t *status = json_object();
	AUTO(free_ptr) char *reason = NULL;
	AUTO(question_done) struct question q;
	enum authz_decision decision;

	read_question(spec, &q);
	decision = authz_check(review->authz, user, &q.attr, &reason);
	(void)json_object_set_new(status, "allowed",
				  json_boolean(decision == AUTHZ_ALLOW));
	if (reason)
		(void)json_object_set_new(status, "reason",
					  json_string(reason));
	return status;
}

static int
answer_self_access(const struct review *review, const struct kind_of_review *of,
		   const json_t *body, json_t **ret_status, struct status *st)
{
	const json_t *spec = js_obj_at(body, "spec");
	struct causes causes = CAUSES_INIT;

	check_spec(spec, &causes);
	if (invalid(of, &causes, st) == -1)
		return -1;
	*ret_status = judge(review, review->user, spec);
	return 0;
}

/* The user a spec describes. */
static struct user *
user_of(const json_t *spec)
{
	struct user *user =
		user_new(js_str_at(spec, "user"), js_str_at(spec, "uid"));
	size_t i;
	json_t *item;

	json_array_foreach(js_arr_at(spec, "groups"), i, item)
	{
		if (json_is_string(item))
			user_add_group(user, json_string_value(item));
	}
	return user;
}

static int
answer_access(const struct review *review, const struct kind_of_review *of,
	      const json_t *body, json_t **ret_status, struct status *st)
{
	const json_t *spec = js_obj_at(body, "spec");
	bool local = strcmp(of->kind, "LocalSubjectAccessReview") == 0;
	const json_t *url = js_obj_at(spec, "nonResourceAttributes");
	struct causes causes = CAUSES_INIT;
	AUTO(user_release) struct user *user = NULL;

	check_spec(spec, &causes);
	if (!*js_str_at(spec, "user") &&
	    !json_array_size(js_arr_at(spec, "groups")))
		causes_invalid_str(&causes, "spec.user", "",
				   "at least one of user or group must be "
				   "specified");
	if (local && url)
		causes_invalid(&causes, "spec.nonResourceAttributes", url,
			       "disallowed on this kind of request");
	if (invalid(of, &causes, st) == -1)
		return -1;
	if (local && strcmp(js_str_at(spec, "resourceAttributes.namespace"),
			    review->namespace_) != 0) {
		return status_bad_request(
			st,
			"spec.resourceAttributes.namespace must match "
			"namespace: %s",
			review->namespace_);
	}
	user = user_of(spec);
	*ret_status = judge(review, user, spec);
	return 0;
}

static int
answer_rules(const struct review *review, const struct kind_of_review *of,
	     const json_t *body, json_t **ret_status, struct status *st)
{
	const char *ns = js_str_at(body, "spec.namespace");

	(void)of;
	if (!*ns)
		return status_bad_request(st, "no namespace on request");
	*ret_status = authz_rules_json(review->authz, review->user, ns);
	return 0;
}

static int
answer_self(const struct review *review, const struct kind_of_review *of,
	    const json_t *body, json_t **ret_status, struct status *st)
{
	(void)of;
	(void)body;
	(void)st;
	*ret_status = json_object();
	(void)json_object_set_new(*ret_status, "userInfo",
				  user_json(review->user));
	return 0;
}

static int
answer_token(const struct review *review, const struct kind_of_review *of,
	     const json_t *body, json_t **ret_status, struct status *st)
{
	const char *token = js_str_at(body, "spec.token");
	AUTO(user_release) struct user *user = NULL;
	json_t *audiences = NULL;
	json_t *status;
	struct err err;

	(void)of;
	if (!*token)
		return status_bad_request(st, "token is required for "
					      "TokenReview in authentication");
	status = json_object();
	*ret_status = status;
	if (authn_token(review->authn, token, js_arr_at(body, "spec.audiences"),
			&user, &audiences, &err) == -1) {
		(void)json_object_set_new(status, "user", json_object());
		(void)json_object_set_new(status, "error",
					  json_string(err.text));
		return 0;
	}
	(void)json_object_set_new(status, "authenticated", json_true());
	(void)json_object_set_new(status, "user", user_json(user));
	(void)json_object_set_new(status, "audiences", audiences);
	return 0;
}

static const struct kind_of_review kinds[] = {
	{ "SelfSubjectAccessReview", GROUP_AUTHORIZATION, answer_self_access },
	{ "SubjectAccessReview", GROUP_AUTHORIZATION, answer_access },
	{ "LocalSubjectAccessReview", GROUP_AUTHORIZATION, answer_access },
	{ "SelfSubjectRulesReview", GROUP_AUTHORIZATION, answer_rules },
	{ "SelfSubjectReview", GROUP_AUTHENTICATION, answer_self },
	{ "TokenReview", GROUP_AUTHENTICATION, answer_token },
};

/* The body as it came, with the status and what every object has. */
static json_t *
complete(const struct kind_of_review *of, const json_t *body, json_t *status)
{
	json_t *answer = json_deep_copy(body);
	json_t *meta = js_make_obj_at(answer, "metadata");
	AUTO(free_ptr) char *version = xasprintf("%s/v1", of->group);
	char now[TIME_TEXT_SIZE];

	(void)json_object_set_new(answer, "kind", json_string(of->kind));
	if (!*js_str_at(answer, "apiVersion"))
		(void)json_object_set_new(answer, "apiVersion",
					  json_string(version));
	(void)json_object_set_new(meta, "creationTimestamp",
				  strcmp(of->kind, "SelfSubjectReview") == 0
					  ? json_string(time_now_text(now))
					  : json_null());
	(void)json_object_set_new(answer, "status", status);
	return answer;
}

int
review_answer(const struct review *review, const char *kind, const json_t *body,
	      json_t **ret, struct status *st)
{
	json_t *status;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].kind, kind) != 0)
			continue;
		if (kinds[i].answer(review, &kinds[i], body, &status, st) == -1)
			return -1;
		*ret = complete(&kinds[i], body, status);
		return 0;
	}
	return status_no_route(st);
}
