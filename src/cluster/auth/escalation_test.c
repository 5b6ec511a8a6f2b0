/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/escalation.h"

#include "base/cleanup.h"
#include "base/test.h"
#include "cluster/auth/testauth.h"
#include "meta/testyaml.h"

#define ROLES "roles.rbac.authorization.k8s.io"
#define CLUSTERROLES "clusterroles.rbac.authorization.k8s.io"
#define BINDINGS "rolebindings.rbac.authorization.k8s.io"

/* bob may read pods in w, and nothing else; ede may escalate and bind view. */
static const char setting[] =
	"kind: Role\n"
	"metadata: {name: reader, namespace: w}\n"
	"rules:\n"
	"- {apiGroups: [''], resources: [pods], verbs: [get, list]}\n"
	"---\n"
	"kind: RoleBinding\n"
	"metadata: {name: b, namespace: w}\n"
	"roleRef: {kind: Role, name: reader}\n"
	"subjects: [{kind: User, name: bob}]\n"
	"---\n"
	"kind: ClusterRole\n"
	"metadata: {name: delegate}\n"
	"rules:\n"
	"- apiGroups: [rbac.authorization.k8s.io]\n"
	"  resources: [roles]\n"
	"  verbs: [escalate]\n"
	"- apiGroups: [rbac.authorization.k8s.io]\n"
	"  resources: [clusterroles]\n"
	"  resourceNames: [view]\n"
	"  verbs: [bind]\n"
	"---\n"
	"kind: RoleBinding\n"
	"metadata: {name: d, namespace: w}\n"
	"roleRef: {kind: ClusterRole, name: delegate}\n"
	"subjects: [{kind: User, name: ede}]\n"
	"---\n"
	"kind: Role\n"
	"metadata: {name: one, namespace: w}\n"
	"rules:\n"
	"- apiGroups: [rbac.authorization.k8s.io]\n"
	"  resources: [roles]\n"
	"  resourceNames: [r]\n"
	"  verbs: [escalate]\n"
	"---\n"
	"kind: RoleBinding\n"
	"metadata: {name: o, namespace: w}\n"
	"roleRef: {kind: Role, name: one}\n"
	"subjects: [{kind: User, name: una}]\n"
	"---\n"
	"kind: ClusterRoleBinding\n"
	"metadata: {name: root}\n"
	"roleRef: {kind: ClusterRole, name: cluster-admin}\n"
	"subjects: [{kind: User, name: ruth}]\n";

static int
check(struct testauth *t, const char *who, const char *what, const char *object,
      struct status *st)
{
	AUTO(user_release) struct user *user = testauth_user(who);
	AUTO(testauth_ask_done) struct testauth_ask ask;
	AUTO(js_unref) json_t *json = testyaml(object);

	testauth_ask(&ask, what);
	return escalation_check(t->authz, user, &ask.attr, json, NULL, st);
}

static bool
passes(struct testauth *t, const char *who, const char *what,
       const char *object)
{
	struct status st = STATUS_INIT;
	int ret = check(t, who, what, object, &st);

	status_done(&st);
	return ret == 0;
}

static void
test_nobody_writes_a_role_with_more_than_he_has(void **state)
{
	static const char less[] = "{metadata: {name: r}, rules: [{apiGroups: "
				   "[''], resources: [pods], verbs: [get]}]}";
	static const char more[] =
		"{metadata: {name: r}, rules: [{apiGroups: [''], resources: "
		"[pods, secrets], verbs: [get, list]}]}";
	struct testauth *t = *state;
	struct status st = STATUS_INIT;

	testauth_put(t, setting);
	assert_true(passes(t, "bob", "create " ROLES " in w", less));
	assert_int_equal(
		check(t, "bob dev", "create " ROLES " in w", more, &st), -1);
	testauth_assert_refused(
		&st, 403,
		ROLES " \"r\" is forbidden: user \"bob\" (groups=[\"dev\" "
		      "\"system:authenticated\"]) is attempting to grant RBAC "
		      "permissions not currently held:\n"
		      "{APIGroups:[\"\"], Resources:[\"secrets\"], "
		      "Verbs:[\"get\" \"list\"]}");
	/* What he has in w counts neither elsewhere nor in the cluster. */
	assert_false(passes(t, "bob", "create " ROLES " in other", less));
	assert_false(passes(t, "bob", "create " CLUSTERROLES, less));
	assert_true(passes(t, "ruth", "create " CLUSTERROLES, more));
	assert_true(
		passes(t, "x system:masters", "create " CLUSTERROLES, more));
	assert_true(passes(t, "ede", "create " ROLES " in w", more));
	assert_false(passes(t, "ede", "create " CLUSTERROLES, more));
	/* The right to escalate one role by name is no right to create it. */
	assert_false(passes(t, "una", "create " ROLES ":r in w", more));
}

static void
test_nobody_binds_a_role_with_more_than_he_has(void **state)
{
	static const char reader[] = "{metadata: {name: x}, roleRef: {kind: "
				     "Role, name: reader}}";
	static const char view[] = "{metadata: {name: x}, roleRef: {kind: "
				   "ClusterRole, name: view}}";
	static const char admin[] = "{metadata: {name: x}, roleRef: {kind: "
				    "ClusterRole, name: admin}}";
	static const char none[] = "{metadata: {name: x}, roleRef: {kind: "
				   "ClusterRole, name: none}}";
	struct testauth *t = *state;
	struct status st = STATUS_INIT;

	testauth_put(t, setting);
	assert_true(passes(t, "bob", "create " BINDINGS " in w", reader));
	assert_false(passes(t, "bob", "create " BINDINGS " in w", view));
	assert_true(passes(t, "ede", "create " BINDINGS " in w", view));
	assert_false(passes(t, "ede", "create " BINDINGS " in w", admin));
	assert_false(passes(t, "ede", "create " BINDINGS " in other", view));
	assert_true(passes(t, "ruth", "create " BINDINGS " in w", admin));
	assert_int_equal(check(t, "bob", "create " BINDINGS " in w", none, &st),
			 -1);
	testauth_assert_refused(&st, 404,
				"clusterrole.rbac.authorization.k8s.io "
				"\"none\" not found");
}

static void
test_only_who_has_all_may_gather(void **state)
{
	static const char role[] =
		"{metadata: {name: r}, aggregationRule: {clusterRoleSelectors: "
		"[{matchLabels: {a: b}}]}, rules: []}";
	struct testauth *t = *state;
	struct status st = STATUS_INIT;

	testauth_put(t, setting);
	assert_int_equal(check(t, "bob", "create " CLUSTERROLES, role, &st),
			 -1);
	testauth_assert_refused(&st, 403,
				CLUSTERROLES " \"r\" is forbidden: must have "
					     "cluster-admin privileges to use "
					     "the aggregationRule");
	assert_true(passes(t, "ruth", "create " CLUSTERROLES, role));
}

/* An update from one state to another. */
static bool
may_update(struct testauth *t, const char *who, const char *old,
	   const char *now)
{
	AUTO(user_release) struct user *user = testauth_user(who);
	AUTO(testauth_ask_done) struct testauth_ask ask;
	AUTO(js_unref) json_t *before = testyaml(old);
	AUTO(js_unref) json_t *after = testyaml(now);
	struct status st = STATUS_INIT;
	int ret;

	testauth_ask(&ask, "update " ROLES ":r in w");
	ret = escalation_check(t->authz, user, &ask.attr, after, before, &st);
	status_done(&st);
	return ret == 0;
}

static void
test_the_garbage_collector_may_finish_its_work(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, setting);
	assert_true(may_update(
		t, "bob",
		"{metadata: {name: r, finalizers: [a], resourceVersion: '1'}, "
		"rules: [{apiGroups: [x], resources: [things], verbs: [use]}]}",
		"{metadata: {name: r, resourceVersion: '2'}, "
		"rules: [{apiGroups: [x], resources: [things], verbs: "
		"[use]}]}"));
	assert_true(may_update(t, "una", "{metadata: {name: r}, rules: []}",
			       "{metadata: {name: r}, rules: [{apiGroups: [x], "
			       "resources: [things], verbs: [use]}]}"));
	assert_false(may_update(
		t, "bob",
		"{metadata: {name: r}, "
		"rules: [{apiGroups: [x], resources: [things], verbs: [use]}]}",
		"{metadata: {name: r, labels: {a: b}}, "
		"rules: [{apiGroups: [x], resources: [things], verbs: "
		"[use]}]}"));
	assert_true(may_update(
		t, "bob",
		"{metadata: {name: r}, "
		"rules: [{apiGroups: [x], resources: [things], verbs: [use]}]}",
		"{metadata: {name: r}, rules: []}"));
}

static void
test_other_kinds_pass(void **state)
{
	assert_true(passes(*state, "bob", "create pods in w",
			   "{metadata: {name: p}}"));
}

int
main(void)
{
#define CASE(test)                                             \
	cmocka_unit_test_setup_teardown(test, testauth_set_up, \
					testauth_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_nobody_writes_a_role_with_more_than_he_has),
		CASE(test_nobody_binds_a_role_with_more_than_he_has),
		CASE(test_only_who_has_all_may_gather),
		CASE(test_the_garbage_collector_may_finish_its_work),
		CASE(test_other_kinds_pass),
	};

	return cmocka_run_group_tests_name("escalation", tests, NULL, NULL);
}
