/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/bootstrap.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/test.h"
#include "cluster/auth/testauth.h"
#include "cluster/store/store.h"

#define AUTOUPDATE "rbac.authorization.kubernetes.io/autoupdate"

static void
apply_again(struct testauth *t)
{
	struct err err;

	if (bootstrap_apply(t->store, &err) == -1)
		fail_msg("%s", err.text);
	testauth_settle(t);
}

static void
test_every_start_leaves_what_is_right_alone(void **state)
{
	struct testauth *t = *state;
	uint64_t rv = store_rv(t->store);

	apply_again(t);
	assert_int_equal(store_rv(t->store), rv);
}

static void
test_built_in_objects_are_marked(void **state)
{
	AUTO(js_unref)
	json_t *role = testauth_get(*state, "ClusterRole", "", "view");
	const json_t *labels = js_obj_at(role, "metadata.labels");
	const json_t *annotations = js_obj_at(role, "metadata.annotations");

	assert_string_equal(json_string_value(json_object_get(
				    labels, "kubernetes.io/bootstrapping")),
			    "rbac-defaults");
	assert_string_equal(
		json_string_value(json_object_get(annotations, AUTOUPDATE)),
		"true");
	assert_int_equal(strlen(js_str_at(role, "metadata.uid")), 36);
	assert_string_not_equal(js_str_at(role, "metadata.creationTimestamp"),
				"");
}

static void
test_what_was_taken_away_comes_back_and_what_was_added_stays(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, "kind: ClusterRole\n"
			"metadata: {name: 'system:discovery'}\n"
			"rules: [{nonResourceURLs: [/mine], verbs: [get]}]\n"
			"---\n"
			"kind: ClusterRoleBinding\n"
			"metadata: {name: 'system:discovery'}\n"
			"roleRef:\n"
			"  apiGroup: rbac.authorization.k8s.io\n"
			"  kind: ClusterRole\n"
			"  name: 'system:discovery'\n"
			"subjects: [{kind: User, name: extra}]\n");
	assert_false(testauth_may(t, "bob", "get /api"));
	apply_again(t);
	assert_true(testauth_may(t, "bob", "get /api"));
	assert_true(testauth_may(t, "extra", "get /mine"));
}

static void
test_what_the_operator_protects_is_left_alone(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, "kind: ClusterRole\n"
			"metadata:\n"
			"  name: 'system:discovery'\n"
			"  annotations: {" AUTOUPDATE ": 'false'}\n"
			"rules: []\n");
	apply_again(t);
	assert_false(testauth_may(t, "bob", "get /api"));
}

static void
test_a_binding_to_another_role_is_made_anew(void **state)
{
	struct testauth *t = *state;
	AUTO(js_unref) json_t *binding = NULL;

	testauth_put(t, "kind: ClusterRoleBinding\n"
			"metadata: {name: 'system:basic-user'}\n"
			"roleRef: {kind: ClusterRole, name: cluster-admin}\n"
			"subjects: [{kind: User, name: evil}]\n");
	assert_true(testauth_may(t, "evil", "delete nodes:n"));
	apply_again(t);
	assert_false(testauth_may(t, "evil", "delete nodes:n"));
	binding =
		testauth_get(t, "ClusterRoleBinding", "", "system:basic-user");
	assert_string_equal(js_str_at(binding, "roleRef.name"),
			    "system:basic-user");
}

static void
test_a_built_in_object_can_be_found(void **state)
{
	AUTO(js_unref) json_t *role = bootstrap_find("ClusterRole", "edit");

	(void)state;
	assert_string_equal(js_str_at(role, "metadata.name"), "edit");
	assert_null(bootstrap_find("ClusterRole", "nobody"));
	assert_null(bootstrap_find("Role", "edit"));
}

/* The names in bindings are those of roles that are there. */
static void
test_bindings_lead_to_roles(void **state)
{
	static const char *const names[] = {
		"cluster-admin",           "system:basic-user",
		"system:discovery",        "system:public-info-viewer",
		"system:monitoring",       "system:node",
		"system:node-proxier",     "system:kube-scheduler",
		"system:volume-scheduler", "kubevirt.io:default",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO(js_unref)
		json_t *binding = testauth_get(*state, "ClusterRoleBinding", "",
					       names[i]);
		AUTO(js_unref) json_t *role = NULL;

		assert_non_null(binding);
		role = testauth_get(*state, "ClusterRole", "",
				    js_str_at(binding, "roleRef.name"));
		assert_non_null(role);
	}
}

int
main(void)
{
#define CASE(test)                                             \
	cmocka_unit_test_setup_teardown(test, testauth_set_up, \
					testauth_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_every_start_leaves_what_is_right_alone),
		CASE(test_built_in_objects_are_marked),
		CASE(test_what_was_taken_away_comes_back_and_what_was_added_stays),
		CASE(test_what_the_operator_protects_is_left_alone),
		CASE(test_a_binding_to_another_role_is_made_anew),
		CASE(test_a_built_in_object_can_be_found),
		CASE(test_bindings_lead_to_roles),
	};

	return cmocka_run_group_tests_name("bootstrap", tests, NULL, NULL);
}
