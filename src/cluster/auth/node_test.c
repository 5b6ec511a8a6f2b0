/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/node.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/auth/testauth.h"

#define N1 "system:node:n1 system:nodes"
#define N2 "system:node:n2 system:nodes"

/* p1 on n1 refers to one of each; p2 on n2; p3 is not bound yet. */
static const char pods[] =
	"kind: Pod\n"
	"metadata: {name: p1, namespace: w}\n"
	"spec:\n"
	"  nodeName: n1\n"
	"  serviceAccountName: sa1\n"
	"  imagePullSecrets: [{name: pull}]\n"
	"  initContainers:\n"
	"  - name: i\n"
	"    envFrom: [{secretRef: {name: initsecret}}]\n"
	"  containers:\n"
	"  - name: c\n"
	"    env:\n"
	"    - {name: A, valueFrom: {secretKeyRef: {name: envsecret}}}\n"
	"    - {name: B, valueFrom: {configMapKeyRef: {name: envmap}}}\n"
	"    envFrom: [{configMapRef: {name: allmap}}]\n"
	"  volumes:\n"
	"  - {name: a, secret: {secretName: volsecret}}\n"
	"  - {name: b, configMap: {name: volmap}}\n"
	"  - {name: c, persistentVolumeClaim: {claimName: claim1}}\n"
	"  - {name: d, projected: {sources: [{secret: {name: prosecret}}, "
	"{configMap: {name: promap}}]}}\n"
	"  - {name: e, ephemeral: {}}\n"
	"  - {name: f, iscsi: {secretRef: {name: chap}}}\n"
	"---\n"
	"kind: Pod\n"
	"metadata: {name: p2, namespace: w}\n"
	"spec:\n"
	"  nodeName: n2\n"
	"  serviceAccountName: sa2\n"
	"  volumes: [{name: a, secret: {secretName: secret2}}]\n"
	"---\n"
	"kind: Pod\n"
	"metadata: {name: p3, namespace: w}\n"
	"spec: {volumes: [{name: a, secret: {secretName: secret3}}]}\n"
	"---\n"
	"kind: PersistentVolume\n"
	"metadata: {name: pv1}\n"
	"spec:\n"
	"  claimRef: {namespace: w, name: claim1}\n"
	"  csi: {nodePublishSecretRef: {name: pvsecret, namespace: store}}\n"
	"---\n"
	"kind: PersistentVolume\n"
	"metadata: {name: pv2}\n"
	"spec: {claimRef: {namespace: w, name: claim2}}\n";

static const struct testauth_line node_lines[] = {
	/* its own Node */
	{ N1, "get nodes:n1", true },
	{ N1, "get nodes:n2", false },
	{ N1, "list nodes", false },
	{ N1, "list nodes where metadata.name=n1", true },
	{ N1, "watch nodes where metadata.name=n1", true },
	{ N1, "watch nodes where metadata.name=n2", false },
	{ N1, "create nodes", true },
	{ N1, "update nodes:n1", true },
	{ N1, "patch nodes/status:n1", true },
	{ N1, "delete nodes:n1", false },
	{ N1, "deletecollection nodes", false },
	{ N1, "get nodes/proxy:n1", false },
	/* its own Lease */
	{ N1, "get leases.coordination.k8s.io:n1 in kube-node-lease", true },
	{ N1, "create leases.coordination.k8s.io in kube-node-lease", true },
	{ N1, "update leases.coordination.k8s.io:n1 in kube-node-lease", true },
	{ N1, "update leases.coordination.k8s.io:n2 in kube-node-lease",
	  false },
	{ N1, "list leases.coordination.k8s.io in kube-node-lease", false },
	{ N1, "get leases.coordination.k8s.io:n1 in default", false },
	/* pods bound to it */
	{ N1, "get pods:p1 in w", true },
	{ N1, "get pods:p2 in w", false },
	{ N1, "get pods:p3 in w", false },
	{ N2, "get pods:p2 in w", true },
	{ N1, "list pods", false },
	{ N1, "list pods where spec.nodeName=n1", true },
	{ N1, "watch pods where status.phase!=Failed,spec.nodeName=n1", true },
	{ N1, "watch pods where spec.nodeName=n2", false },
	{ N1, "watch pods where spec.nodeName!=n1", false },
	{ N1, "watch pods in w where metadata.name=p1", true },
	{ N1, "watch pods in w where metadata.name=p2", false },
	{ N1, "update pods/status:p1 in w", true },
	{ N1, "patch pods/status:p1 in w", true },
	{ N1, "update pods:p1 in w", false },
	{ N1, "delete pods:p1 in w", true },
	{ N1, "deletecollection pods in w", false },
	{ N1, "create pods in w", true },
	{ N1, "create pods/eviction:p1 in w", true },
	{ N1, "create pods/binding:p1 in w", false },
	{ N1, "get pods/log:p1 in w", false },
	/* what its pods refer to */
	{ N1, "get secrets:pull in w", true },
	{ N1, "get secrets:initsecret in w", true },
	{ N1, "get secrets:envsecret in w", true },
	{ N1, "get secrets:volsecret in w", true },
	{ N1, "get secrets:prosecret in w", true },
	{ N1, "get secrets:chap in w", true },
	{ N1, "watch secrets in w where metadata.name=volsecret", true },
	{ N1, "list secrets in w", false },
	{ N1, "list secrets", false },
	{ N1, "get secrets:secret2 in w", false },
	{ N1, "get secrets:secret3 in w", false },
	{ N1, "get secrets:volsecret in other", false },
	{ N1, "update secrets:volsecret in w", false },
	{ N2, "get secrets:volsecret in w", false },
	{ N2, "get secrets:secret2 in w", true },
	{ N1, "get configmaps:envmap in w", true },
	{ N1, "get configmaps:allmap in w", true },
	{ N1, "get configmaps:volmap in w", true },
	{ N1, "get configmaps:promap in w", true },
	{ N1, "get configmaps:volsecret in w", false },
	{ N2, "get configmaps:volmap in w", false },
	/* volumes */
	{ N1, "get persistentvolumeclaims:claim1 in w", true },
	{ N1, "get persistentvolumeclaims:p1-e in w", true },
	{ N1, "get persistentvolumeclaims:claim2 in w", false },
	{ N1, "patch persistentvolumeclaims/status:claim1 in w", true },
	{ N1, "delete persistentvolumeclaims:claim1 in w", false },
	{ N1, "get persistentvolumes:pv1", true },
	{ N1, "get persistentvolumes:pv2", false },
	{ N1, "list persistentvolumes", false },
	{ N2, "get persistentvolumes:pv1", false },
	{ N1, "get secrets:pvsecret in store", true },
	{ N2, "get secrets:pvsecret in store", false },
	/* tokens */
	{ N1, "create serviceaccounts/token:sa1 in w", true },
	{ N1, "create serviceaccounts/token:sa2 in w", false },
	{ N1, "create serviceaccounts in w", false },
	{ N1, "get serviceaccounts:sa1 in w", false },
	/* the same for all nodes */
	{ N1, "create events in w", true },
	{ N1, "create events.events.k8s.io in w", true },
	{ N1, "delete events:e in w", false },
	{ N1, "list services", true },
	{ N1, "create tokenreviews.authentication.k8s.io", true },
	{ N1, "get endpoints:e in w", true },
	{ N1, "list namespaces", false },
	{ N1, "list clusterroles.rbac.authorization.k8s.io", false },
	{ N1, "get virtualmachineinstances.kubevirt.io:v in w", false },
	{ N1, "get /api", true },
	{ N1, "get /metrics", false },
	/* not a node */
	{ "system:node:n1", "get pods:p1 in w", false },
	{ "n1 system:nodes", "get nodes:n1", false },
	{ "system:node: system:nodes", "get nodes:n1", false },
};

static void
test_a_node_reads_only_what_it_needs(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, pods);
	testauth_try(t, node_lines, ARRAY_LEN(node_lines));
}

static void
test_rbac_gives_nodes_more(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, "kind: ClusterRole\n"
			"metadata: {name: handler}\n"
			"rules:\n"
			"- apiGroups: [kubevirt.io]\n"
			"  resources: [virtualmachineinstances]\n"
			"  verbs: [get, list, watch, update]\n"
			"---\n"
			"kind: ClusterRoleBinding\n"
			"metadata: {name: handler}\n"
			"roleRef: {kind: ClusterRole, name: handler}\n"
			"subjects: [{kind: Group, name: 'system:nodes'}]\n");
	assert_true(testauth_may(
		t, N1, "update virtualmachineinstances.kubevirt.io:v in w"));
	assert_false(testauth_may(
		t, N1, "delete virtualmachineinstances.kubevirt.io:v in w"));
}

static void
test_references_end_with_the_pod(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, pods);
	assert_true(testauth_may(t, N1, "get secrets:volsecret in w"));
	testauth_remove(t, "PersistentVolume", "", "pv1");
	assert_false(testauth_may(t, N1, "get persistentvolumes:pv1"));
	assert_false(testauth_may(t, N1, "get secrets:pvsecret in store"));
	testauth_remove(t, "Pod", "w", "p1");
	assert_false(testauth_may(t, N1, "get secrets:volsecret in w"));
	assert_false(testauth_may(t, N1, "get pods:p1 in w"));
	/* Another of the same name elsewhere. */
	testauth_put(t, "kind: Pod\n"
			"metadata: {name: p1, namespace: w}\n"
			"spec: {nodeName: n2, serviceAccountName: sa9}\n");
	assert_false(testauth_may(t, N1, "get pods:p1 in w"));
	assert_true(testauth_may(t, N2, "get pods:p1 in w"));
	assert_true(
		testauth_may(t, N2, "create serviceaccounts/token:sa9 in w"));
}

static void
test_references_begin_when_a_pod_is_bound(void **state)
{
	struct testauth *t = *state;
	AUTO(js_unref) json_t *pod = NULL;
	AUTO(free_ptr) char *text = NULL;

	testauth_put(t, pods);
	pod = testauth_get(t, "Pod", "w", "p3");
	(void)json_object_set_new(json_object_get(pod, "spec"), "nodeName",
				  json_string("n1"));
	text = js_text(pod);
	testauth_put(t, text);
	assert_true(testauth_may(t, N1, "get secrets:secret3 in w"));
	assert_true(testauth_may(t, N1, "get pods:p3 in w"));
}

static void
test_a_shared_secret_stays_while_one_pod_needs_it(void **state)
{
	static const char pod[] = "kind: Pod\n"
				  "metadata: {name: %s, namespace: w}\n"
				  "spec:\n"
				  "  nodeName: n1\n"
				  "  volumes:\n"
				  "  - {name: a, secret: {secretName: s}}\n"
				  "  - {name: b, secret: {secretName: s}}\n";
	struct testauth *t = *state;
	AUTO(free_ptr) char *one = xasprintf(pod, "one");
	AUTO(free_ptr) char *two = xasprintf(pod, "two");

	testauth_put(t, one);
	testauth_put(t, two);
	testauth_remove(t, "Pod", "w", "one");
	assert_true(testauth_may(t, N1, "get secrets:s in w"));
	testauth_remove(t, "Pod", "w", "two");
	assert_false(testauth_may(t, N1, "get secrets:s in w"));
}

static void
test_a_mirror_pod_leads_to_nothing(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, "kind: Pod\n"
			"metadata:\n"
			"  name: m\n"
			"  namespace: w\n"
			"  annotations: {kubernetes.io/config.mirror: x}\n"
			"spec:\n"
			"  nodeName: n1\n"
			"  volumes: [{name: a, secret: {secretName: s}}]\n");
	assert_true(testauth_may(t, N1, "get pods:m in w"));
	assert_false(testauth_may(t, N1, "get secrets:s in w"));
}

static void
test_a_refusal_says_why(void **state)
{
	AUTO(user_release) struct user *node = testauth_user(N1);
	AUTO(testauth_ask_done) struct testauth_ask ask;
	struct testauth *t = *state;
	struct status st = STATUS_INIT;

	testauth_ask(&ask, "get secrets:s in w");
	assert_int_equal(authz_require(t->authz, node, &ask.attr, &st), -1);
	testauth_assert_refused(
		&st, 403,
		"secrets \"s\" is forbidden: User \"system:node:n1\" cannot "
		"get resource \"secrets\" in API group \"\" in the namespace "
		"\"w\": no relationship found between node 'n1' and this "
		"object");
}

int
main(void)
{
#define CASE(test)                                             \
	cmocka_unit_test_setup_teardown(test, testauth_set_up, \
					testauth_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_a_node_reads_only_what_it_needs),
		CASE(test_rbac_gives_nodes_more),
		CASE(test_references_end_with_the_pod),
		CASE(test_references_begin_when_a_pod_is_bound),
		CASE(test_a_shared_secret_stays_while_one_pod_needs_it),
		CASE(test_a_mirror_pod_leads_to_nothing),
		CASE(test_a_refusal_says_why),
	};

	return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
