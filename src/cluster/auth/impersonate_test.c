/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/impersonate.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/test.h"
#include "cluster/auth/testauth.h"
#include "http/server.h"

/* rob may be bob, in the group dev, with scope a; and any account of w. */
static const char setting[] = "kind: ClusterRole\n"
			      "metadata: {name: i}\n"
			      "rules:\n"
			      "- apiGroups: ['']\n"
			      "  resources: [users]\n"
			      "  resourceNames: [bob]\n"
			      "  verbs: [impersonate]\n"
			      "- apiGroups: ['']\n"
			      "  resources: [groups]\n"
			      "  resourceNames: [dev]\n"
			      "  verbs: [impersonate]\n"
			      "- apiGroups: [authentication.k8s.io]\n"
			      "  resources: [userextras/example.com/scope]\n"
			      "  resourceNames: [a]\n"
			      "  verbs: [impersonate]\n"
			      "- apiGroups: [authentication.k8s.io]\n"
			      "  resources: [uids]\n"
			      "  resourceNames: [u-1]\n"
			      "  verbs: [impersonate]\n"
			      "---\n"
			      "kind: ClusterRoleBinding\n"
			      "metadata: {name: i}\n"
			      "roleRef: {kind: ClusterRole, name: i}\n"
			      "subjects: [{kind: User, name: rob}]\n"
			      "---\n"
			      "kind: RoleBinding\n"
			      "metadata: {name: e, namespace: w}\n"
			      "roleRef: {kind: ClusterRole, name: edit}\n"
			      "subjects: [{kind: User, name: rob}]\n";

#define HEADERS(...) ((const struct http_header[]){ __VA_ARGS__ })
#define BECOME(t, st, ...) \
	become(t, HEADERS(__VA_ARGS__), ARRAY_LEN(HEADERS(__VA_ARGS__)), st)

/* Who rob has become; NULL when he was refused. */
static struct user *
become(struct testauth *t, const struct http_header *headers, size_t count,
       struct status *st)
{
	struct user *user = testauth_user("rob");

	if (impersonate(t->authz, headers, count, &user, st) == 0)
		return user;
	assert_string_equal(user->name, "rob");
	user_unref(user);
	return NULL;
}

static void
test_without_headers_nothing_changes(void **state)
{
	struct status st = STATUS_INIT;
	AUTO(user_release)
	struct user *user = BECOME(*state, &st, { "Accept", "*/*" });

	assert_string_equal(user->name, "rob");
}

static void
test_all_parts_of_a_user_can_be_taken(void **state)
{
	struct testauth *t = *state;
	struct status st = STATUS_INIT;
	AUTO(user_release) struct user *user = NULL;

	testauth_put(t, setting);
	user = BECOME(t, &st, { "impersonate-user", "bob" },
		      { "Impersonate-Group", "dev" },
		      { "Impersonate-Uid", "u-1" },
		      { "Impersonate-Extra-Example.com%2fScope", "a" });
	assert_non_null(user);
	assert_string_equal(user->name, "bob");
	assert_string_equal(user->uid, "u-1");
	assert_int_equal(user->n_groups, 2);
	assert_string_equal(user->groups[0], "dev");
	assert_string_equal(user->groups[1], "system:authenticated");
	assert_string_equal(
		json_string_value(json_array_get(
			json_object_get(user->extra, "example.com/scope"), 0)),
		"a");
}

static void
test_an_account_brings_its_groups(void **state)
{
	struct testauth *t = *state;
	struct status st = STATUS_INIT;
	AUTO(user_release) struct user *user = NULL;

	testauth_put(t, setting);
	user = BECOME(t, &st,
		      { "Impersonate-User", "system:serviceaccount:w:sa" });
	assert_non_null(user);
	assert_int_equal(user->n_groups, 3);
	assert_true(user_in_group(user, "system:serviceaccounts:w"));
	user_release(&user);
	user = BECOME(t, &st,
		      { "Impersonate-User", "system:serviceaccount:x:sa" });
	assert_null(user);
	testauth_assert_refused(
		&st, 403,
		"serviceaccounts \"sa\" is forbidden: User \"rob\" cannot "
		"impersonate resource \"serviceaccounts\" in API group \"\" in "
		"the namespace \"x\"");
}

static void
test_each_part_needs_its_right(void **state)
{
	struct testauth *t = *state;
	struct status st = STATUS_INIT;

	testauth_put(t, setting);
	assert_null(BECOME(t, &st, { "Impersonate-User", "eve" }));
	testauth_assert_refused(&st, 403,
				"users \"eve\" is forbidden: User \"rob\" "
				"cannot impersonate resource \"users\" in API "
				"group \"\" at the cluster scope");
	assert_null(BECOME(t, &st, { "Impersonate-User", "bob" },
			   { "Impersonate-Group", "dev" },
			   { "Impersonate-Group", "system:masters" }));
	testauth_assert_refused(
		&st, 403,
		"groups \"system:masters\" is forbidden: User \"rob\" cannot "
		"impersonate resource \"groups\" in API group \"\" at the "
		"cluster scope");
	assert_null(BECOME(t, &st, { "Impersonate-User", "bob" },
			   { "Impersonate-Extra-Example.com%2FScope", "b" }));
	testauth_assert_refused(
		&st, 403,
		"userextras.authentication.k8s.io \"b\" is forbidden: User "
		"\"rob\" cannot impersonate resource "
		"\"userextras/example.com/scope\" in API group "
		"\"authentication.k8s.io\" at the cluster scope");
	assert_null(BECOME(t, &st, { "Impersonate-User", "bob" },
			   { "Impersonate-Uid", "u-2" }));
	assert_int_equal(st.code, 403);
	status_done(&st);
}

static void
test_parts_without_a_user_make_no_sense(void **state)
{
	struct status st = STATUS_INIT;

	assert_null(BECOME(*state, &st, { "Impersonate-Group", "dev" }));
	assert_int_equal(st.code, 500);
	status_done(&st);
	assert_null(BECOME(*state, &st, { "Impersonate-Uid", "u" }));
	assert_int_equal(st.code, 500);
	status_done(&st);
}

static void
test_too_many_headers_are_refused(void **state)
{
	struct http_header headers[IMPERSONATE_HEADERS_MAX + 1];
	struct status st = STATUS_INIT;

	for (size_t i = 0; i < ARRAY_LEN(headers); i++)
		headers[i] = (struct http_header){ "Impersonate-Group", "g" };
	assert_null(become(*state, headers, ARRAY_LEN(headers), &st));
	assert_int_equal(st.code, 400);
	status_done(&st);
}

int
main(void)
{
#define CASE(test)                                             \
	cmocka_unit_test_setup_teardown(test, testauth_set_up, \
					testauth_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_without_headers_nothing_changes),
		CASE(test_all_parts_of_a_user_can_be_taken),
		CASE(test_an_account_brings_its_groups),
		CASE(test_each_part_needs_its_right),
		CASE(test_parts_without_a_user_make_no_sense),
		CASE(test_too_many_headers_are_refused),
	};

	return cmocka_run_group_tests_name("impersonate", tests, NULL, NULL);
}
