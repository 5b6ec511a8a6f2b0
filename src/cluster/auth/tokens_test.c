/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/auth/testauth.h"
#include "meta/time.h"
#include "tls/jwt.h"
#include "tls/pki.h"
#include "meta/testyaml.h"

#define ISSUER "https://cluster.local"

/* Who issues, with a key of his own. */
struct office {
	struct jwt_key *key;
	struct tokens *tokens;
};

static void
office_open(struct office *o, struct testauth *t, const char *issuer)
{
	struct tokens_config config = { .store = t->store, .issuer = issuer };
	struct tls_pki_pem pem;
	struct err err;

	assert_int_equal(tls_pki_make_key(&pem, &err), 0);
	assert_int_equal(
		jwt_key_new(pem.key, pem.key_len, "test", &o->key, &err), 0);
	tls_pki_pem_done(&pem);
	config.key = o->key;
	o->tokens = tokens_new(&config);
}

static void
office_close(struct office *o)
{
	tokens_free(o->tokens);
	jwt_key_free(o->key);
}

static const char setting[] = "kind: ServiceAccount\n"
			      "metadata: {name: sa, namespace: w, uid: u-sa}\n"
			      "---\n"
			      "kind: Pod\n"
			      "metadata: {name: p, namespace: w, uid: u-p}\n"
			      "spec: {serviceAccountName: sa, nodeName: n1}\n"
			      "---\n"
			      "kind: Pod\n"
			      "metadata: {name: q, namespace: w, uid: u-q}\n"
			      "spec: {serviceAccountName: other}\n"
			      "---\n"
			      "kind: Secret\n"
			      "metadata: {name: s, namespace: w, uid: u-s}\n";

/* The answer to a TokenRequest, which must succeed. */
static json_t *
request(struct office *o, const char *yaml)
{
	AUTO(js_unref) json_t *body = testyaml(yaml);
	struct status st = STATUS_INIT;
	json_t *answer = NULL;

	if (tokens_request(o->tokens, "w", "sa", body, &answer, &st) == -1)
		fail_msg("%s", st.message);
	return answer;
}

static char *
issue(struct office *o, const char *yaml)
{
	AUTO(js_unref) json_t *answer = request(o, yaml);

	return xstrdup(js_str_at(answer, "status.token"));
}

/* What is wrong with a token; "" when it is good. To be freed. */
static char *
fault(struct office *o, const char *token)
{
	AUTO(js_unref) json_t *audiences = NULL;
	struct user *user;
	struct err err;

	if (tokens_verify(o->tokens, token, NULL, &user, &audiences, &err) ==
	    -1)
		return xstrdup(err.text);
	user_unref(user);
	return xstrdup("");
}

static void
assert_fault(struct office *o, const char *token, const char *text)
{
	AUTO(free_ptr) char *said = fault(o, token);

	assert_string_equal(said, text);
}

static void
test_a_token_says_who_it_belongs_to(void **state)
{
	struct testauth *t = *state;
	AUTO(office_close) struct office o;
	AUTO(free_ptr) char *token = NULL;
	AUTO(user_release) struct user *user = NULL;
	AUTO(js_unref) json_t *audiences = NULL;
	struct err err;

	testauth_put(t, setting);
	office_open(&o, t, ISSUER);
	token = issue(&o, "{}");
	/* Twice: the second time the signature is remembered. */
	for (int i = 0; i < 2; i++) {
		user_release(&user);
		json_decref(audiences);
		assert_int_equal(tokens_verify(o.tokens, token, NULL, &user,
					       &audiences, &err),
				 0);
		assert_string_equal(user->name, "system:serviceaccount:w:sa");
		assert_string_equal(user->uid, "u-sa");
		assert_true(user_in_group(user, "system:serviceaccounts:w"));
		assert_true(user_in_group(user, "system:authenticated"));
		assert_null(user->extra);
		assert_string_equal(
			json_string_value(json_array_get(audiences, 0)),
			ISSUER);
	}
}

/* The claims of a token, unverified. */
static json_t *
claims_of(const char *token)
{
	const char *dot = strchr(token, '.') + 1;
	AUTO(free_ptr) uint8_t *text = NULL;
	struct err err;
	size_t len;

	assert_int_equal(base64_decode(BASE64_URL, dot,
				       (size_t)(strchr(dot, '.') - dot), &text,
				       &len, &err),
			 0);
	return js_parse((const char *)text, len, &err);
}

static void
test_the_answer_and_the_claims_are_those_of_kubernetes(void **state)
{
	struct testauth *t = *state;
	AUTO(office_close) struct office o;
	AUTO(js_unref) json_t *answer = NULL;
	AUTO(js_unref) json_t *claims = NULL;
	const json_t *own;
	struct err err;
	int64_t expires;

	testauth_put(t, setting);
	office_open(&o, t, ISSUER);
	answer = request(&o, "{}");
	assert_string_equal(js_str_at(answer, "kind"), "TokenRequest");
	assert_string_equal(js_str_at(answer, "apiVersion"),
			    "authentication.k8s.io/v1");
	assert_string_equal(js_str_at(answer, "metadata.name"), "sa");
	assert_string_equal(js_str_at(answer, "metadata.namespace"), "w");
	assert_int_equal(js_int_at(answer, "spec.expirationSeconds", 0), 3600);
	assert_true(json_is_null(json_object_get(
		json_object_get(answer, "spec"), "boundObjectRef")));
	claims = claims_of(js_str_at(answer, "status.token"));
	assert_string_equal(js_str_at(claims, "sub"),
			    "system:serviceaccount:w:sa");
	assert_string_equal(js_str_at(claims, "iss"), ISSUER);
	assert_int_equal(js_int_at(claims, "exp", 0),
			 js_int_at(claims, "iat", 0) + 3600);
	assert_int_equal(
		time_parse(js_str_at(answer, "status.expirationTimestamp"),
			   &expires, &err),
		0);
	assert_int_equal(js_int_at(claims, "exp", 0),
			 expires / TIME_US_PER_SECOND);
	own = json_object_get(claims, "kubernetes.io");
	assert_string_equal(js_str_at(own, "namespace"), "w");
	assert_string_equal(js_str_at(own, "serviceaccount.name"), "sa");
	assert_string_equal(js_str_at(own, "serviceaccount.uid"), "u-sa");
}

#define BOUND(kind, name, uid)                                                \
	"spec: {boundObjectRef: {apiVersion: v1, kind: " kind ", name: " name \
	", uid: " uid "}}"

static void
test_a_token_of_a_pod_ends_with_it(void **state)
{
	struct testauth *t = *state;
	AUTO(office_close) struct office o;
	AUTO(free_ptr) char *pod = NULL;
	AUTO(free_ptr) char *secret = NULL;
	AUTO(user_release) struct user *user = NULL;
	AUTO(js_unref) json_t *audiences = NULL;
	struct err err;

	testauth_put(t, setting);
	office_open(&o, t, ISSUER);
	pod = issue(&o, BOUND("Pod", "p", "u-p"));
	secret = issue(&o, BOUND("Secret", "s", "''"));
	assert_int_equal(
		tokens_verify(o.tokens, pod, NULL, &user, &audiences, &err), 0);
	assert_string_equal(
		json_string_value(json_array_get(
			json_object_get(user->extra,
					"authentication.kubernetes.io/"
					"pod-name"),
			0)),
		"p");
	testauth_remove(t, "Pod", "w", "p");
	assert_fault(&o, pod,
		     "[invalid bearer token, service account token has been "
		     "invalidated]");
	assert_fault(&o, secret, "");
	testauth_remove(t, "Secret", "w", "s");
	assert_fault(&o, secret,
		     "[invalid bearer token, service account token has been "
		     "invalidated]");
}

static const char *
extra_of(const struct user *user, const char *name)
{
	const char *value = json_string_value(
		json_array_get(json_object_get(user->extra, name), 0));

	return value == NULL ? "" : value;
}

/* By this an agent may be held to the machines of its node. */
static void
test_a_token_tells_the_node_of_its_pod_and_of_its_own(void **state)
{
	static const char *const bodies[] = {
		BOUND("Pod", "placed", "''"),
		BOUND("Node", "n1", "u-n1"),
	};
	struct testauth *t = *state;
	AUTO(office_close) struct office o;

	testauth_put(t, setting);
	testauth_put(t, "kind: Node\n"
			"metadata: {name: n1, uid: u-n1}\n");
	testauth_put(t, "kind: Pod\n"
			"metadata: {namespace: w, name: placed, uid: u-l}\n"
			"spec: {serviceAccountName: sa, nodeName: n1}\n");
	office_open(&o, t, ISSUER);
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		AUTO(free_ptr) char *token = issue(&o, bodies[i]);
		AUTO(user_release) struct user *user = NULL;
		AUTO(js_unref) json_t *audiences = NULL;
		struct err err;

		assert_int_equal(tokens_verify(o.tokens, token, NULL, &user,
					       &audiences, &err),
				 0);
		assert_string_equal(extra_of(user, "authentication.kubernetes."
						   "io/node-name"),
				    "n1");
		assert_string_equal(extra_of(user, "authentication.kubernetes."
						   "io/node-uid"),
				    "u-n1");
		testauth_remove(t, "Node", "", "n1");
		/* A pod's token is good as long as the pod is. */
		assert_fault(&o, token,
			     i == 0 ? ""
				    : "[invalid bearer token, service account "
				      "token has been invalidated]");
		testauth_put(t, "kind: Node\n"
				"metadata: {name: n1, uid: u-n1}\n");
	}
}

static void
test_a_pod_that_is_going_keeps_its_token_for_a_minute(void **state)
{
	struct testauth *t = *state;
	AUTO(office_close) struct office o;
	AUTO(free_ptr) char *token = NULL;
	char when[TIME_TEXT_SIZE];

	testauth_put(t, setting);
	office_open(&o, t, ISSUER);
	token = issue(&o, BOUND("Pod", "p", "u-p"));
	for (int age = 30; age <= 90; age += 60) {
		AUTO(free_ptr) char *pod = NULL;

		(void)time_text(time_now_us() - age * TIME_US_PER_SECOND, when);
		pod = xasprintf("kind: Pod\n"
				"metadata: {name: p, namespace: w, uid: u-p, "
				"deletionTimestamp: '%s'}\n",
				when);
		testauth_put(t, pod);
		assert_fault(&o, token,
			     age == 30 ? ""
				       : "[invalid bearer token, service "
					 "account token has been "
					 "invalidated]");
	}
}

static void
test_another_account_of_the_same_name_is_another(void **state)
{
	struct testauth *t = *state;
	AUTO(office_close) struct office o;
	AUTO(free_ptr) char *token = NULL;

	testauth_put(t, setting);
	office_open(&o, t, ISSUER);
	token = issue(&o, "{}");
	testauth_remove(t, "ServiceAccount", "w", "sa");
	assert_fault(&o, token,
		     "[invalid bearer token, service account token has been "
		     "invalidated]");
	testauth_put(t, "kind: ServiceAccount\n"
			"metadata: {name: sa, namespace: w, uid: u-new}\n");
	assert_fault(&o, token,
		     "[invalid bearer token, service account token has been "
		     "invalidated]");
}

/* A token with these claims, signed by the office. */
static char *
forge(struct office *o, const char *claims)
{
	struct err err;
	char *token;

	assert_int_equal(jwt_sign(o->key, claims, &token, &err), 0);
	return token;
}

#define OWN                                                                    \
	"\"kubernetes.io\":{\"namespace\":\"w\",\"serviceaccount\":{\"name\":" \
	"\"sa\",\"uid\":\"u-sa\"}}"

static void
test_old_foreign_and_broken_tokens_are_refused(void **state)
{
	static const struct {
		const char *claims;
		const char *fault;
	} cases[] = {
		{ "{\"iss\":\"" ISSUER "\",\"aud\":[\"" ISSUER
		  "\"],\"exp\":99999999999," OWN "}",
		  "" },
		{ "{\"iss\":\"" ISSUER "\",\"aud\":[\"" ISSUER
		  "\"],\"exp\":1000," OWN "}",
		  "[invalid bearer token, service account token has "
		  "expired]" },
		{ "{\"iss\":\"" ISSUER "\",\"aud\":[\"" ISSUER "\"]," OWN "}",
		  "[invalid bearer token, service account token has "
		  "expired]" },
		{ "{\"iss\":\"" ISSUER "\",\"aud\":[\"" ISSUER
		  "\"],\"exp\":99999999999,\"nbf\":99999999990," OWN "}",
		  "[invalid bearer token, service account token is not valid "
		  "yet]" },
		{ "{\"iss\":\"https://else\",\"aud\":[\"" ISSUER
		  "\"],\"exp\":99999999999," OWN "}",
		  "invalid bearer token" },
		{ "{\"iss\":\"" ISSUER
		  "\",\"aud\":[\"vault\"],\"exp\":99999999999," OWN "}",
		  "[invalid bearer token, token audiences [\"vault\"] is "
		  "invalid for the target audiences [\"" ISSUER "\"]]" },
		{ "{\"iss\":\"" ISSUER "\",\"aud\":[\"" ISSUER
		  "\"],\"exp\":99999999999}",
		  "[invalid bearer token, service account token has been "
		  "invalidated]" },
		{ "[]", "invalid bearer token" },
		{ "no JSON", "invalid bearer token" },
	};
	struct testauth *t = *state;
	AUTO(office_close) struct office o;
	AUTO(office_close) struct office other;
	AUTO(free_ptr) char *foreign = NULL;

	testauth_put(t, setting);
	office_open(&o, t, ISSUER);
	office_open(&other, t, ISSUER);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr) char *token = forge(&o, cases[i].claims);

		assert_fault(&o, token, cases[i].fault);
	}
	foreign = issue(&other, "{}");
	assert_fault(&o, foreign, "invalid bearer token");
	assert_fault(&o, "a.b.c", "invalid bearer token");
	assert_fault(&o, "", "invalid bearer token");
}

static void
test_a_token_is_good_for_its_audiences_only(void **state)
{
	struct testauth *t = *state;
	AUTO(office_close) struct office o;
	AUTO(free_ptr) char *token = NULL;
	AUTO(js_unref) json_t *asked = testyaml("[db, vault]");
	AUTO(js_unref) json_t *good = NULL;
	AUTO(user_release) struct user *user = NULL;
	struct err err;

	testauth_put(t, setting);
	office_open(&o, t, ISSUER);
	token = issue(&o, "spec: {audiences: [vault, log]}");
	assert_int_equal(
		tokens_verify(o.tokens, token, asked, &user, &good, &err), 0);
	assert_int_equal(json_array_size(good), 1);
	assert_string_equal(json_string_value(json_array_get(good, 0)),
			    "vault");
	assert_fault(&o, token,
		     "[invalid bearer token, token audiences [\"vault\" "
		     "\"log\"] is invalid for the target audiences [\"" ISSUER
		     "\"]]");
}

static void
test_wrong_requests_are_refused(void **state)
{
	static const struct {
		const char *name;
		const char *body;
		int code;
		const char *message;
	} cases[] = {
		{ "nosa", "{}", 404, "serviceaccounts \"nosa\" not found" },
		{ "sa", "spec: {expirationSeconds: 5}", 422,
		  "TokenRequest.authentication.k8s.io \"\" is invalid: "
		  "spec.expirationSeconds: Invalid value: 5: may not specify a "
		  "duration less than 10 minutes" },
		{ "sa", "spec: {expirationSeconds: 4294967297}", 422,
		  "TokenRequest.authentication.k8s.io \"\" is invalid: "
		  "spec.expirationSeconds: Invalid value: 4294967297: may not "
		  "specify a duration larger than 2^32 seconds" },
		{ "sa", BOUND("Pod", "none", "''"), 404,
		  "pods \"none\" not found" },
		{ "sa", BOUND("Pod", "q", "''"), 400,
		  "cannot bind token for serviceaccount \"sa\" to pod running "
		  "with different serviceaccount name." },
		{ "sa", BOUND("Node", "none", "''"), 404,
		  "nodes \"none\" not found" },
		{ "sa", BOUND("Service", "s", "''"), 400,
		  "cannot bind token to object of type /v1, Kind=Service" },
		{ "sa", BOUND("Pod", "p", "wrong"), 409,
		  "Operation cannot be fulfilled on Pod \"p\": the UID in the "
		  "bound object reference (wrong) does not match the UID in "
		  "record. The object might have been deleted and then "
		  "recreated" },
	};
	struct testauth *t = *state;
	AUTO(office_close) struct office o;

	testauth_put(t, setting);
	office_open(&o, t, ISSUER);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *body = testyaml(cases[i].body);
		struct status st = STATUS_INIT;
		json_t *answer;

		assert_int_equal(tokens_request(o.tokens, "w", cases[i].name,
						body, &answer, &st),
				 -1);
		testauth_assert_refused(&st, cases[i].code, cases[i].message);
	}
}

/* More tokens than are remembered, and all of them good. */
static void
test_what_is_remembered_is_bounded(void **state)
{
	struct testauth *t = *state;
	AUTO(office_close) struct office o;

	testauth_put(t, setting);
	office_open(&o, t, ISSUER);
	for (int i = 0; i < 1100; i++) {
		AUTO(free_ptr)
		char *claims =
			xasprintf("{\"iss\":\"" ISSUER "\",\"aud\":[\"" ISSUER
				  "\"],\"exp\":%lld," OWN "}",
				  99999999999LL + i);
		AUTO(free_ptr) char *token = forge(&o, claims);

		assert_fault(&o, token, "");
	}
}

int
main(void)
{
#define CASE(test)                                                   \
	cmocka_unit_test_setup_teardown(test, testauth_set_up_empty, \
					testauth_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_a_token_says_who_it_belongs_to),
		CASE(test_the_answer_and_the_claims_are_those_of_kubernetes),
		CASE(test_a_token_of_a_pod_ends_with_it),
		CASE(test_a_token_tells_the_node_of_its_pod_and_of_its_own),
		CASE(test_a_pod_that_is_going_keeps_its_token_for_a_minute),
		CASE(test_another_account_of_the_same_name_is_another),
		CASE(test_old_foreign_and_broken_tokens_are_refused),
		CASE(test_a_token_is_good_for_its_audiences_only),
		CASE(test_wrong_requests_are_refused),
		CASE(test_what_is_remembered_is_bounded),
	};

	return cmocka_run_group_tests_name("tokens", tests, NULL, NULL);
}
