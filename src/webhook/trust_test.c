/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/trust.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/test.h"
#include "http/server.h"
#include "tls/https.h"

static json_t *
configmap(const char *names, const char *users)
{
	json_t *data = json_pack("{s:s, s:s}", "requestheader-client-ca-file",
				 "PEM", "requestheader-allowed-names", names);

	if (users != NULL)
		(void)json_object_set_new(data,
					  "requestheader-username-headers",
					  json_string(users));
	return json_pack("{s:o}", "data", data);
}

/* The request of a peer of that name with these headers. */
static json_t *
user_of(const struct trust_rules *rules, const char *peer_name, bool verified,
	const struct http_header *headers, size_t count)
{
	const struct tls_https_peer peer = { .verified = verified,
					     .common_name = peer_name };
	const struct http_request req = { .headers = headers,
					  .header_count = count,
					  .peer = &peer };

	return trust_rules_user(rules, &req);
}

static const struct http_header headers[] = {
	{ "x-remote-user", "anna" },
	{ "X-Remote-Uid", "u1" },
	{ "X-Remote-Group", "a" },
	{ "X-REMOTE-GROUP", "b" },
	{ "X-Remote-Extra-Example.com%2FScope", "one" },
	{ "X-Remote-Extra-Example.com%2fscope", "two" },
	{ "X-Remote-Extra-", "nameless" },
	{ "X-Remote-Extra-%zz", "odd" },
	{ "X-Remote-Extra-%00", "nul" },
	{ "X-Other", "x" },
};

static void
test_the_front_proxy_says_who_somebody_is(void **state)
{
	AUTO(js_unref)
	json_t *object = configmap("[\"front-proxy\", \"other\"]", NULL);
	AUTO(trust_rules_done) struct trust_rules rules = { 0 };
	AUTO(js_unref) json_t *user = NULL;
	const json_t *extra;
	struct err err;

	(void)state;
	assert_int_equal(trust_rules_read(object, &rules, &err), 0);
	user = user_of(&rules, "front-proxy", true, headers,
		       ARRAY_LEN(headers));
	assert_non_null(user);
	assert_string_equal(js_str_at(user, "user"), "anna");
	assert_string_equal(js_str_at(user, "uid"), "u1");
	assert_int_equal(json_array_size(js_at(user, "groups")), 2);
	extra = js_obj_at(user, "extra");
	assert_int_equal(json_object_size(extra), 3);
	assert_int_equal(
		json_array_size(json_object_get(extra, "example.com/scope")),
		2);
	assert_non_null(json_object_get(extra, "%zz"));
	assert_non_null(json_object_get(extra, "%00"));
}

static void
test_nobody_else_is_believed(void **state)
{
	static const struct {
		const char *names; /* allowed */
		const char *peer;
		bool verified;
		bool believed;
	} cases[] = {
		{ "[\"a\"]", "a", true, true },
		{ "[\"a\"]", "a", false, false },
		{ "[\"a\"]", "b", true, false },
		{ "[\"a\"]", "", true, false },
		{ "[\"a\"]", "A", true, false },
		/* Whoever the CA has signed, as in Kubernetes. */
		{ "[]", "anybody", true, true },
		{ "[]", "anybody", false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *object = configmap(cases[i].names, NULL);
		AUTO(trust_rules_done) struct trust_rules rules = { 0 };
		AUTO(js_unref) json_t *user = NULL;
		struct err err;

		assert_int_equal(trust_rules_read(object, &rules, &err), 0);
		user = user_of(&rules, cases[i].peer, cases[i].verified,
			       headers, ARRAY_LEN(headers));
		assert_int_equal(user != NULL, cases[i].believed);
	}
}

static void
test_without_a_ca_or_a_name_there_is_nobody(void **state)
{
	AUTO(js_unref) json_t *empty = json_object();
	AUTO(js_unref) json_t *object = configmap("[]", "[\"X-My-User\"]");
	AUTO(trust_rules_done) struct trust_rules none = { 0 };
	AUTO(trust_rules_done) struct trust_rules rules = { 0 };
	const struct http_header own = { "X-My-User", "bert" };
	AUTO(js_unref) json_t *user = NULL;
	struct err err;

	(void)state;
	assert_int_equal(trust_rules_read(empty, &none, &err), 0);
	assert_null(user_of(&none, "a", true, headers, ARRAY_LEN(headers)));
	/* Other headers than these do not count. */
	assert_int_equal(trust_rules_read(object, &rules, &err), 0);
	assert_null(user_of(&rules, "a", true, headers, ARRAY_LEN(headers)));
	user = user_of(&rules, "a", true, &own, 1);
	assert_string_equal(js_str_at(user, "user"), "bert");
}

static void
test_bytes_that_are_no_text_are_replaced(void **state)
{
	AUTO(js_unref) json_t *object = configmap("[]", NULL);
	AUTO(trust_rules_done) struct trust_rules rules = { 0 };
	const struct http_header odd[] = {
		{ "X-Remote-User", "a\xff" },
		{ "X-Remote-Extra-%ff", "\xfe" },
	};
	AUTO(js_unref) json_t *user = NULL;
	struct err err;

	(void)state;
	assert_int_equal(trust_rules_read(object, &rules, &err), 0);
	user = user_of(&rules, "a", true, odd, ARRAY_LEN(odd));
	assert_string_equal(js_str_at(user, "user"), "a\xef\xbf\xbd");
	assert_int_equal(json_object_size(js_obj_at(user, "extra")), 1);
}

static void
test_rules_that_are_none_are_refused(void **state)
{
	static const char many[] =
		"[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
		"\"\",\"\",\"\",\"\",\"\"]";
	static const char *const lists[] = { "", "{}", "[7]", "[", "x", many };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		AUTO(js_unref) json_t *object = configmap(lists[i], NULL);
		struct trust_rules rules = { 0 };
		struct err err;

		assert_int_equal(trust_rules_read(object, &rules, &err), -1);
		assert_null(rules.ca_pem);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_front_proxy_says_who_somebody_is),
		cmocka_unit_test(test_nobody_else_is_believed),
		cmocka_unit_test(test_without_a_ca_or_a_name_there_is_nobody),
		cmocka_unit_test(test_bytes_that_are_no_text_are_replaced),
		cmocka_unit_test(test_rules_that_are_none_are_refused),
	};

	js_init();
	return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
