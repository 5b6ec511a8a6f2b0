/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/review.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/auth/authn.h"
#include "cluster/auth/testauth.h"
#include "cluster/auth/tokens.h"
#include "tls/jwt.h"
#include "tls/pki.h"
#include "meta/testyaml.h"

static const char setting[] = "kind: Role\n"
			      "metadata: {name: rr, namespace: w}\n"
			      "rules:\n"
			      "- apiGroups: ['']\n"
			      "  resources: [pods]\n"
			      "  verbs: [get]\n"
			      "---\n"
			      "kind: RoleBinding\n"
			      "metadata: {name: rb, namespace: w}\n"
			      "roleRef: {kind: Role, name: rr}\n"
			      "subjects: [{kind: User, name: bob}]\n"
			      "---\n"
			      "kind: ServiceAccount\n"
			      "metadata: {name: sa, namespace: w, uid: u}\n";

/* The answer of a kind to a body by bob; NULL when it is refused. */
static json_t *
ask(struct testauth *t, struct authn *authn, const char *kind, const char *yaml,
    struct status *st)
{
	AUTO(user_release) struct user *bob = testauth_user("bob dev");
	AUTO(js_unref) json_t *body = testyaml(yaml);
	const struct review review = { .authn = authn,
				       .authz = t->authz,
				       .user = bob,
				       .namespace_ = "w" };
	json_t *answer = NULL;

	if (review_answer(&review, kind, body, &answer, st) == -1)
		return NULL;
	assert_string_equal(js_str_at(answer, "kind"), kind);
	return answer;
}

/* The status of an answer as sorted text. To be freed. */
static char *
status_of(struct testauth *t, struct authn *authn, const char *kind,
	  const char *yaml)
{
	struct status st = STATUS_INIT;
	AUTO(js_unref) json_t *answer = ask(t, authn, kind, yaml, &st);

	if (!answer)
		fail_msg("%s", st.message);
	return js_text_sorted(json_object_get(answer, "status"), NULL);
}

static void
test_access_reviews_tell_who_may(void **state)
{
	static const struct {
		const char *kind;
		const char *spec;
		const char *status;
	} cases[] = {
		{ "SelfSubjectAccessReview",
		  "{resourceAttributes: {namespace: w, verb: get, resource: "
		  "pods}}",
		  "{\"allowed\":true,\"reason\":\"RBAC: allowed by "
		  "RoleBinding \\\"rb/w\\\" of Role \\\"rr\\\" to User "
		  "\\\"bob\\\"\"}" },
		{ "SelfSubjectAccessReview",
		  "{resourceAttributes: {namespace: x, verb: get, resource: "
		  "pods}}",
		  "{\"allowed\":false}" },
		{ "SelfSubjectAccessReview",
		  "{resourceAttributes: {namespace: w, verb: get, resource: "
		  "pods, subresource: log}}",
		  "{\"allowed\":false}" },
		{ "SelfSubjectAccessReview",
		  "{nonResourceAttributes: {path: /metrics, verb: get}}",
		  "{\"allowed\":false}" },
		{ "SubjectAccessReview",
		  "{user: eve, groups: [system:masters], resourceAttributes: "
		  "{verb: delete, resource: nodes}}",
		  "{\"allowed\":true}" },
		{ "SubjectAccessReview",
		  "{user: eve, resourceAttributes: {namespace: w, verb: get, "
		  "resource: pods}}",
		  "{\"allowed\":false}" },
		{ "SubjectAccessReview",
		  "{user: 'system:node:n1', groups: ['system:nodes'], "
		  "resourceAttributes: {verb: list, resource: pods, "
		  "fieldSelector: {requirements: [{key: spec.nodeName, "
		  "operator: In, values: [n1]}]}}}",
		  "{\"allowed\":true}" },
		{ "SubjectAccessReview",
		  "{user: 'system:node:n1', groups: ['system:nodes'], "
		  "resourceAttributes: {verb: list, resource: pods, "
		  "fieldSelector: {rawSelector: 'spec.nodeName=n1'}}}",
		  "{\"allowed\":true}" },
		{ "SubjectAccessReview",
		  "{user: 'system:node:n1', groups: ['system:nodes'], "
		  "resourceAttributes: {verb: list, resource: pods}}",
		  "{\"allowed\":false,\"reason\":\"can only list/watch pods "
		  "with spec.nodeName field selector\"}" },
		{ "LocalSubjectAccessReview",
		  "{user: bob, resourceAttributes: {namespace: w, verb: get, "
		  "resource: pods}}",
		  "{\"allowed\":true,\"reason\":\"RBAC: allowed by "
		  "RoleBinding \\\"rb/w\\\" of Role \\\"rr\\\" to User "
		  "\\\"bob\\\"\"}" },
	};
	struct testauth *t = *state;

	testauth_put(t, setting);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr)
		char *body = xasprintf("{spec: %s}", cases[i].spec);
		AUTO(free_ptr)
		char *status = status_of(t, NULL, cases[i].kind, body);

		assert_string_equal(status, cases[i].status);
	}
}

static void
test_wrong_questions_are_refused(void **state)
{
	static const struct {
		const char *kind;
		const char *spec;
		int code;
		const char *message;
	} cases[] = {
		{ "SelfSubjectAccessReview", "{}", 422,
		  "SelfSubjectAccessReview.authorization.k8s.io \"\" is "
		  "invalid: spec.resourceAttributes: Invalid value: \"null\": "
		  "exactly one of nonResourceAttributes or resourceAttributes "
		  "must be specified" },
		{ "SubjectAccessReview", "{resourceAttributes: {verb: get}}",
		  422,
		  "SubjectAccessReview.authorization.k8s.io \"\" is invalid: "
		  "spec.user: Invalid value: \"\": at least one of user or "
		  "group must be specified" },
		{ "LocalSubjectAccessReview",
		  "{user: x, resourceAttributes: {namespace: other}}", 400,
		  "spec.resourceAttributes.namespace must match namespace: "
		  "w" },
		{ "SelfSubjectRulesReview", "{}", 400,
		  "no namespace on request" },
		{ "TokenReview", "{}", 400,
		  "token is required for TokenReview in authentication" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr)
		char *body = xasprintf("{spec: %s}", cases[i].spec);
		struct status st = STATUS_INIT;

		assert_null(ask(*state, NULL, cases[i].kind, body, &st));
		testauth_assert_refused(&st, cases[i].code, cases[i].message);
	}
}

static void
test_the_question_comes_back_with_the_answer(void **state)
{
	struct status st = STATUS_INIT;
	AUTO(js_unref)
	json_t *answer = ask(*state, NULL, "SelfSubjectAccessReview",
			     "{spec: {nonResourceAttributes: {path: /api, "
			     "verb: get}}}",
			     &st);

	assert_string_equal(js_str_at(answer, "apiVersion"),
			    "authorization.k8s.io/v1");
	assert_string_equal(
		js_str_at(answer, "spec.nonResourceAttributes.path"), "/api");
	assert_true(json_is_null(json_object_get(
		json_object_get(answer, "metadata"), "creationTimestamp")));
}

static void
test_a_user_is_told_who_he_is(void **state)
{
	struct status st = STATUS_INIT;
	AUTO(js_unref)
	json_t *answer =
		ask(*state, NULL, "SelfSubjectReview",
		    "{apiVersion: authentication.k8s.io/v1beta1}", &st);
	AUTO(free_ptr)
	char *status = js_text_sorted(json_object_get(answer, "status"), NULL);

	assert_string_equal(js_str_at(answer, "apiVersion"),
			    "authentication.k8s.io/v1beta1");
	assert_string_not_equal(js_str_at(answer, "metadata.creationTimestamp"),
				"");
	assert_string_equal(status,
			    "{\"userInfo\":{\"groups\":[\"dev\","
			    "\"system:authenticated\"],\"username\":\"bob\"}}");
}

static void
test_the_rules_of_the_asker_are_listed(void **state)
{
	struct testauth *t = *state;
	AUTO(free_ptr) char *status = NULL;

	testauth_put(t, setting);
	status = status_of(t, NULL, "SelfSubjectRulesReview",
			   "{spec: {namespace: w}}");
	assert_non_null(strstr(status, "{\"apiGroups\":[\"\"],\"resources\":["
				       "\"pods\"],\"verbs\":[\"get\"]}"));
	assert_non_null(strstr(status, "\"incomplete\":false"));
}

static void
test_a_token_review_tells_whose_it_is(void **state)
{
	struct testauth *t = *state;
	struct tokens_config config = { .store = t->store,
					.issuer = "https://c" };
	struct tls_pki_pem pem;
	struct jwt_key *key;
	struct tokens *tokens;
	struct authn *authn;
	AUTO(js_unref) json_t *request = json_object();
	AUTO(js_unref) json_t *issued = NULL;
	AUTO(free_ptr) char *body = NULL;
	AUTO(free_ptr) char *good = NULL;
	AUTO(free_ptr) char *bad = NULL;
	struct status st = STATUS_INIT;
	struct err err;

	testauth_put(t, setting);
	assert_int_equal(tls_pki_make_key(&pem, &err), 0);
	assert_int_equal(jwt_key_new(pem.key, pem.key_len, "k", &key, &err), 0);
	tls_pki_pem_done(&pem);
	config.key = key;
	tokens = tokens_new(&config);
	authn = authn_new(NULL, tokens, &err);
	assert_int_equal(
		tokens_request(tokens, "w", "sa", request, &issued, &st), 0);
	body = xasprintf("{spec: {token: %s}}",
			 js_str_at(issued, "status.token"));
	good = status_of(t, authn, "TokenReview", body);
	assert_string_equal(
		good,
		"{\"audiences\":[\"https://c\"],\"authenticated\":true,"
		"\"user\":{\"groups\":[\"system:serviceaccounts\","
		"\"system:serviceaccounts:w\",\"system:authenticated\"],"
		"\"uid\":\"u\",\"username\":\"system:serviceaccount:w:sa\"}}");
	bad = status_of(t, authn, "TokenReview", "{spec: {token: x}}");
	assert_string_equal(bad, "{\"error\":\"invalid bearer token\","
				 "\"user\":{}}");
	authn_free(authn);
	tokens_free(tokens);
	jwt_key_free(key);
}

int
main(void)
{
#define CASE(test)                                             \
	cmocka_unit_test_setup_teardown(test, testauth_set_up, \
					testauth_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_access_reviews_tell_who_may),
		CASE(test_wrong_questions_are_refused),
		CASE(test_the_question_comes_back_with_the_answer),
		CASE(test_a_user_is_told_who_he_is),
		CASE(test_the_rules_of_the_asker_are_listed),
		CASE(test_a_token_review_tells_whose_it_is),
	};

	return cmocka_run_group_tests_name("review", tests, NULL, NULL);
}
