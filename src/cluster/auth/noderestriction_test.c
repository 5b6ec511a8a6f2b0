/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/noderestriction.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/auth/nodelabels.h"
#include "cluster/auth/testauth.h"
#include "meta/testyaml.h"

#define N1 "system:node:n1 system:nodes"

/* One write, and what is said about it; NULL: it is let through. */
struct attempt {
	const char *what;
	const char *object; /* YAML, or NULL */
	const char *old;
	const char *refused; /* behind "is forbidden: " */
};

/* The reason of a refusal, "" when it was let through. To be freed. */
static char *
try_one(struct testauth *t, const char *who, const struct attempt *a)
{
	AUTO(user_release) struct user *user = testauth_user(who);
	AUTO(testauth_ask_done) struct testauth_ask ask;
	AUTO(js_unref)
	json_t *object = a->object ? testyaml(a->object) : NULL;
	AUTO(js_unref) json_t *old = a->old ? testyaml(a->old) : NULL;
	struct status st = STATUS_INIT;
	const char *why;
	char *text;

	testauth_ask(&ask, a->what);
	if (noderestriction_admit(t->authz, user, &ask.attr, object, old,
				  &st) == 0)
		return xstrdup("");
	why = strstr(st.message, "is forbidden: ");
	text = xstrdup(why ? why + strlen("is forbidden: ") : st.message);
	status_done(&st);
	return text;
}

static void
try_all(struct testauth *t, const struct attempt *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO(free_ptr) char *said = try_one(t, N1, &list[i]);
		/* Others than nodes are not looked at. */
		AUTO(free_ptr) char *other = try_one(t, "x", &list[i]);

		assert_string_equal(said,
				    list[i].refused ? list[i].refused : "");
		assert_string_equal(other, "");
	}
}

static void
test_a_node_writes_only_its_own_node(void **state)
{
	static const struct attempt list[] = {
		{ "create nodes:n1", "metadata: {name: n1}", NULL, NULL },
		{ "create nodes", "metadata: {name: n1}", NULL, NULL },
		{ "create nodes", "metadata: {name: n2}", NULL,
		  "node \"n1\" is not allowed to modify node \"n2\"" },
		{ "create nodes:n1",
		  "metadata: {name: n1, labels: {kubernetes.io/hostname: n1, "
		  "kubevirt.io/schedulable: 'true', "
		  "node.kubernetes.io/instance-type: x}}",
		  NULL, NULL },
		{ "create nodes:n1",
		  "metadata: {name: n1, labels: "
		  "{node-role.kubernetes.io/master: '', "
		  "a.node-restriction.kubernetes.io/b: c}}",
		  NULL,
		  "node \"n1\" is not allowed to set the following labels: "
		  "a.node-restriction.kubernetes.io/b, "
		  "node-role.kubernetes.io/master" },
		{ "create nodes:n1",
		  "{metadata: {name: n1}, spec: {configSource: {}}}", NULL,
		  "node \"n1\" is not allowed to create pods with a non-nil "
		  "configSource" },
		{ "update nodes:n1",
		  "{metadata: {name: n1}, spec: {unschedulable: true}}",
		  "metadata: {name: n1}", NULL },
		{ "patch nodes/status:n2", "metadata: {name: n2}",
		  "metadata: {name: n2}",
		  "node \"n1\" is not allowed to modify node \"n2\"" },
		{ "patch nodes:n1", "{metadata: {name: n1}, spec: {}}",
		  "{metadata: {name: n1}, spec: {taints: [{key: a, effect: "
		  "NoSchedule}]}}",
		  "node \"n1\" is not allowed to modify taints" },
		{ "update nodes/status:n1",
		  "{metadata: {name: n1}, spec: {taints: [{key: a}]}}",
		  "{metadata: {name: n1}, spec: {taints: [{key: a}]}}", NULL },
		{ "update nodes:n1",
		  "{metadata: {name: n1}, spec: {taints: "
		  "[]}}",
		  "metadata: {name: n1}", NULL },
		{ "update nodes:n1",
		  "metadata: {name: n1, labels: {x: y, "
		  "topology.kubernetes.io/zone: b}}",
		  "metadata: {name: n1, labels: {topology.kubernetes.io/zone: "
		  "a}}",
		  NULL },
		{ "update nodes:n1", "metadata: {name: n1}",
		  "metadata: {name: n1, labels: {some.k8s.io/x: y}}",
		  "is not allowed to modify labels: some.k8s.io/x" },
		{ "update nodes:n1",
		  "metadata: {name: n1, labels: {some.k8s.io/x: z, "
		  "other.kubernetes.io/a: ''}}",
		  "metadata: {name: n1, labels: {some.k8s.io/x: y}}",
		  "is not allowed to modify labels: other.kubernetes.io/a, "
		  "some.k8s.io/x" },
		{ "update nodes:n1",
		  "{metadata: {name: n1}, spec: {configSource: {a: b}}}",
		  "metadata: {name: n1}",
		  "node \"n1\" is not allowed to update configSource to a new "
		  "non-nil configSource" },
	};

	try_all(*state, list, ARRAY_LEN(list));
}

#define OWNER(uid, more)                                                     \
	"ownerReferences: [{apiVersion: v1, kind: Node, name: n1, uid: " uid \
		more "}]"
#define MIRROR(owner, spec)                                                \
	"{metadata: {name: m, annotations: {kubernetes.io/config.mirror: " \
	"x}, " owner "}, spec: {" spec "}}"
#define GOOD_OWNER OWNER("u-n1", ", controller: true")

static void
test_a_node_creates_only_mirror_pods_of_itself(void **state)
{
	static const struct attempt list[] = {
		{ "create pods in w", MIRROR(GOOD_OWNER, "nodeName: n1"), NULL,
		  NULL },
		{ "create pods in w",
		  "{metadata: {name: m}, spec: {nodeName: "
		  "n1}}",
		  NULL,
		  "pod does not have \"kubernetes.io/config.mirror\" "
		  "annotation, node \"n1\" can only create mirror pods" },
		{ "create pods in w", MIRROR(GOOD_OWNER, "nodeName: n2"), NULL,
		  "node \"n1\" can only create pods with spec.nodeName set to "
		  "itself" },
		{ "create pods in w", MIRROR("", "nodeName: n1"), NULL,
		  "node \"n1\" can only create pods with an owner reference "
		  "set to itself" },
		{ "create pods in w",
		  MIRROR("ownerReferences: [{}, {}]", "nodeName: n1"), NULL,
		  "node \"n1\" can only create pods with a single owner "
		  "reference set to itself" },
		{ "create pods in w", MIRROR(OWNER("u-n1", ""), "nodeName: n1"),
		  NULL,
		  "node \"n1\" can only create pods with a controller owner "
		  "reference set to itself" },
		{ "create pods in w",
		  MIRROR(OWNER("u-n1", ", controller: true, "
				       "blockOwnerDeletion: true"),
			 "nodeName: n1"),
		  NULL,
		  "node \"n1\" must not set blockOwnerDeletion on an owner "
		  "reference" },
		{ "create pods in w",
		  MIRROR(OWNER("u-x", ", controller: true"), "nodeName: n1"),
		  NULL, "node n1 UID mismatch: expected u-x got u-n1" },
		{ "create pods in w",
		  MIRROR(GOOD_OWNER, "nodeName: n1, serviceAccountName: d"),
		  NULL,
		  "node \"n1\" can not create pods that reference a service "
		  "account" },
		{ "create pods in w",
		  MIRROR(GOOD_OWNER,
			 "nodeName: n1, volumes: [{secret: {secretName: s}}]"),
		  NULL,
		  "node \"n1\" can not create pods that reference secrets" },
		{ "create pods in w",
		  MIRROR(GOOD_OWNER,
			 "nodeName: n1, volumes: [{configMap: {name: s}}]"),
		  NULL,
		  "node \"n1\" can not create pods that reference "
		  "configmaps" },
		{ "create pods in w",
		  MIRROR(GOOD_OWNER, "nodeName: n1, volumes: "
				     "[{persistentVolumeClaim: {claimName: "
				     "s}}]"),
		  NULL,
		  "node \"n1\" can not create pods that reference "
		  "persistentvolumeclaims" },
	};
	struct testauth *t = *state;

	testauth_put(t, "kind: Node\nmetadata: {name: n1, uid: u-n1}\n");
	try_all(t, list, ARRAY_LEN(list));
}

static void
test_a_node_touches_only_pods_bound_to_it(void **state)
{
	static const struct attempt list[] = {
		{ "delete pods:here in w", NULL, NULL, NULL },
		{ "delete pods:there in w", NULL, NULL,
		  "node \"n1\" can only delete pods with spec.nodeName set to "
		  "itself" },
		{ "delete pods:nowhere in w", NULL, NULL,
		  "pods \"nowhere\" not found" },
		{ "update pods:here in w", "metadata: {name: here}",
		  "metadata: {name: here}",
		  "unexpected operation \"UPDATE\", node \"n1\" can only "
		  "create and delete mirror pods" },
		{ "patch pods/status:here in w",
		  "{metadata: {name: here}, spec: {nodeName: n1}}",
		  "{metadata: {name: here}, spec: {nodeName: n1}}", NULL },
		{ "patch pods/status:there in w",
		  "{metadata: {name: there}, spec: {nodeName: n2}}",
		  "{metadata: {name: there}, spec: {nodeName: n2}}",
		  "node \"n1\" can only update pod status for pods with "
		  "spec.nodeName set to itself" },
		{ "patch pods/status:here in w",
		  "{metadata: {name: here, labels: {a: b}}, spec: {nodeName: "
		  "n1}}",
		  "{metadata: {name: here}, spec: {nodeName: n1}}",
		  "node \"n1\" cannot update labels through pod status" },
		{ "patch pods/status:here in w",
		  "{metadata: {name: here, labels: {}}, spec: {nodeName: n1}}",
		  "{metadata: {name: here}, spec: {nodeName: n1}}", NULL },
		{ "create pods/eviction:here in w", "metadata: {name: here}",
		  NULL, NULL },
		{ "create pods/eviction:there in w", "metadata: {name: there}",
		  NULL,
		  "node n1 can only evict pods with spec.nodeName set to "
		  "itself" },
		{ "create pods/binding:here in w", "metadata: {name: here}",
		  NULL,
		  "unexpected pod subresource \"binding\", only 'status' and "
		  "'eviction' are allowed" },
	};
	struct testauth *t = *state;

	testauth_put(t, "kind: Pod\n"
			"metadata: {name: here, namespace: w}\n"
			"spec: {nodeName: n1}\n"
			"---\n"
			"kind: Pod\n"
			"metadata: {name: there, namespace: w}\n"
			"spec: {nodeName: n2}\n");
	try_all(t, list, ARRAY_LEN(list));
}

#define LEASES "leases.coordination.k8s.io"

static void
test_a_node_keeps_only_its_own_lease(void **state)
{
	static const struct attempt list[] = {
		{ "create " LEASES " in kube-node-lease",
		  "metadata: {name: "
		  "n1}",
		  NULL, NULL },
		{ "create " LEASES " in kube-node-lease",
		  "metadata: {name: "
		  "n2}",
		  NULL,
		  "can only access node lease with the same name as the "
		  "requesting node" },
		{ "update " LEASES ":n1 in kube-node-lease",
		  "metadata: {name: n1}", "metadata: {name: n1}", NULL },
		{ "update " LEASES ":n2 in kube-node-lease",
		  "metadata: {name: n2}", "metadata: {name: n2}",
		  "can only access node lease with the same name as the "
		  "requesting node" },
		{ "create " LEASES " in w", "metadata: {name: n1}", NULL,
		  "can only access leases in the \"kube-node-lease\" system "
		  "namespace" },
	};

	try_all(*state, list, ARRAY_LEN(list));
}

#define BOUND(kind, name, uid)                                                \
	"spec: {boundObjectRef: {apiVersion: v1, kind: " kind ", name: " name \
	", uid: " uid "}}"
#define TOKEN "create serviceaccounts/token:sa in w"

static void
test_a_node_gets_tokens_only_for_pods_on_it(void **state)
{
	static const struct attempt list[] = {
		{ TOKEN, BOUND("Pod", "here", "u-h"), NULL, NULL },
		{ TOKEN, BOUND("Pod", "there", "u-t"), NULL,
		  "node requested token bound to a pod scheduled on a "
		  "different node" },
		{ TOKEN, BOUND("Pod", "here", "u-t"), NULL,
		  "the UID in the bound object reference (u-t) does not match "
		  "the UID in record. The object might have been deleted and "
		  "then recreated" },
		{ TOKEN, BOUND("Pod", "here", "''"), NULL,
		  "node requested token with a pod binding without a uid" },
		{ TOKEN, BOUND("Secret", "here", "u-h"), NULL,
		  "node requested token not bound to a pod" },
		{ TOKEN, "spec: {}", NULL,
		  "node requested token not bound to a pod" },
		{ TOKEN, BOUND("Pod", "gone", "u-g"), NULL,
		  "pods \"gone\" not found" },
	};
	struct testauth *t = *state;

	testauth_put(t, "kind: Pod\n"
			"metadata: {name: here, namespace: w, uid: u-h}\n"
			"spec: {nodeName: n1}\n"
			"---\n"
			"kind: Pod\n"
			"metadata: {name: there, namespace: w, uid: u-t}\n"
			"spec: {nodeName: n2}\n");
	try_all(t, list, ARRAY_LEN(list));
}

#define CLAIM "persistentvolumeclaims"

static void
test_a_node_says_only_how_large_a_claim_is(void **state)
{
	static const struct attempt list[] = {
		{ "update " CLAIM "/status:c in w",
		  "{metadata: {name: c}, status: {phase: Bound, capacity: "
		  "{storage: 2Gi}}}",
		  "{metadata: {name: c}, status: {phase: Bound}}", NULL },
		{ "update " CLAIM "/status:c in w",
		  "{metadata: {name: c, resourceVersion: '1'}, status: "
		  "{conditions: []}}",
		  "{metadata: {name: c, resourceVersion: '2'}}", NULL },
		{ "update " CLAIM "/status:c in w",
		  "{metadata: {name: c}, status: {phase: Lost}}",
		  "{metadata: {name: c}, status: {phase: Bound}}",
		  "node \"n1\" is not allowed to update fields other than "
		  "status.capacity and status.conditions" },
		{ "update " CLAIM "/status:c in w",
		  "{metadata: {name: c, finalizers: [x]}}",
		  "{metadata: {name: c}}",
		  "node \"n1\" is not allowed to update fields other than "
		  "status.capacity and status.conditions" },
		{ "update " CLAIM ":c in w", "{metadata: {name: c}}",
		  "{metadata: {name: c}}", "may only update PVC status" },
	};

	try_all(*state, list, ARRAY_LEN(list));
}

static void
test_the_node_must_have_a_name(void **state)
{
	static const struct attempt create = { "create configmaps in w",
					       "metadata: {name: c}", NULL,
					       NULL };
	AUTO(free_ptr)
	char *said = try_one(*state, "system:node: system:nodes", &create);

	assert_string_equal(said, "could not determine node from user "
				  "\"system:node:\"");
	try_all(*state, &create, 1);
}

static void
test_labels_below_a_namespace_are_told_from_similar_ones(void **state)
{
	static const struct {
		const char *key;
		bool allowed;
	} cases[] = {
		{ "app", true },
		{ "example.com/x", true },
		{ "mykubernetes.io/x", true },
		{ "kubernetes.io/x", false },
		{ "k8s.io/x", false },
		{ "a.b.k8s.io/x", false },
		{ "kubernetes.io/arch", true },
		{ "kubelet.kubernetes.io/x", true },
		{ "a.kubelet.kubernetes.io/x", true },
		{ "mykubelet.kubernetes.io/x", false },
		{ "node.kubernetes.io/x", true },
		{ "node-role.kubernetes.io/x", false },
		{ "node-restriction.kubernetes.io/x", false },
		{ "x.node-restriction.kubernetes.io/x", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(nodelabels_allowed(cases[i].key),
				 cases[i].allowed);
}

int
main(void)
{
#define CASE(test)                                                   \
	cmocka_unit_test_setup_teardown(test, testauth_set_up_empty, \
					testauth_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_a_node_writes_only_its_own_node),
		CASE(test_a_node_creates_only_mirror_pods_of_itself),
		CASE(test_a_node_touches_only_pods_bound_to_it),
		CASE(test_a_node_keeps_only_its_own_lease),
		CASE(test_a_node_gets_tokens_only_for_pods_on_it),
		CASE(test_a_node_says_only_how_large_a_claim_is),
		CASE(test_the_node_must_have_a_name),
		cmocka_unit_test(
			test_labels_below_a_namespace_are_told_from_similar_ones),
	};

	return cmocka_run_group_tests_name("noderestriction", tests, NULL,
					   NULL);
}
