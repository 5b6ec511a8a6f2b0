# SPDX-License-Identifier: Apache-2.0
"""What a node may do: its own Node, its Lease, its pods and what they need.

Each line of a table, tried with the certificate of the node n1. As in
test_cluster_access.py, what is allowed may fail for another reason, and
writes are dry runs.
"""

import pytest

from kubeapi import wait_for
from kubectls import pod

DRY = "?dryRun=All"
PODS = "/api/v1/namespaces/default/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
MERGE = "application/merge-patch+json"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def lease(name):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name}, "spec": {"holderIdentity": name}}


def node(name, **labels):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": labels}}


def mirror(name, where):
    """What a kubelet shows of a pod that it started by itself."""
    made = pod(name, nodeName=where)
    made["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    return made


def token_request(pod_name=None, uid=None):
    spec = {}
    if pod_name:
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod",
                                  "name": pod_name, "uid": uid}
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": spec}


@pytest.fixture(scope="module", name="uids")
def uids_(cluster):
    """Two nodes with a pod each; each pod needs a config map and a secret."""
    api = cluster.api()
    uids = {}
    for name in ("1", "2"):
        api.create("/api/v1/nodes", node(f"n{name}"))
        api.create(LEASES, lease(f"n{name}"))
        for kind in ("configmaps", "secrets"):
            api.create(f"/api/v1/namespaces/default/{kind}", {
                "apiVersion": "v1", "metadata": {"name": f"for{name}"},
                "kind": "ConfigMap" if kind == "configmaps" else "Secret"})
        made = pod(f"p{name}", nodeName=f"n{name}", volumes=[
            {"name": "a", "configMap": {"name": f"for{name}"}},
            {"name": "b", "secret": {"secretName": f"for{name}"}}])
        made["spec"]["serviceAccountName"] = "default"
        uids[f"p{name}"] = api.create(PODS, made)["metadata"]["uid"]
    api.create(PODS, pod("waits", nodeSelector={"there": "is-none"}))
    return uids


@pytest.fixture(scope="module", name="kubelet")
def kubelet_(cluster, uids):
    del uids
    return cluster.api(cluster.user_kubeconfig("system:node:n1",
                                               "system:nodes"))


YES, NO = True, False
TABLE = [
    # its Node, and no other
    ("GET", "/api/v1/nodes/n1", None, YES),
    ("GET", "/api/v1/nodes/n2", None, NO),
    ("GET", "/api/v1/nodes", None, NO),
    ("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn1", None, YES),
    ("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn2", None, NO),
    ("POST", f"/api/v1/nodes{DRY}", node("n3"), NO),
    ("PATCH", f"/api/v1/nodes/n1{DRY}", {"metadata": {"labels": {"a": "b"}}},
     YES),
    ("PATCH", f"/api/v1/nodes/n2{DRY}", {"metadata": {"labels": {"a": "b"}}},
     NO),
    ("PATCH", f"/api/v1/nodes/n1/status{DRY}", {"status": {"phase": "x"}},
     YES),
    ("PATCH", f"/api/v1/nodes/n2/status{DRY}", {"status": {"phase": "x"}},
     NO),
    ("PATCH", f"/api/v1/nodes/n1{DRY}", {"spec": {"taints": [
        {"key": "a", "effect": "NoSchedule"}]}}, NO),
    ("PATCH", f"/api/v1/nodes/n1{DRY}", {"metadata": {"labels": {
        "node-restriction.kubernetes.io/a": "b"}}}, NO),
    ("PATCH", f"/api/v1/nodes/n1{DRY}", {"metadata": {"labels": {
        "node-role.kubernetes.io/control-plane": ""}}}, NO),
    ("PATCH", f"/api/v1/nodes/n1{DRY}", {"metadata": {"labels": {
        "kubernetes.io/hostname": "n1"}}}, YES),
    ("DELETE", f"/api/v1/nodes/n1{DRY}", None, NO),
    # its Lease, and no other
    ("GET", f"{LEASES}/n1", None, YES),
    ("GET", f"{LEASES}/n2", None, NO),
    ("GET", LEASES, None, NO),
    ("PUT", f"{LEASES}/n1{DRY}", lease("n1"), YES),
    ("PUT", f"{LEASES}/n2{DRY}", lease("n2"), NO),
    ("POST", f"{LEASES}{DRY}", lease("n1"), YES),
    ("POST", f"{LEASES}{DRY}", lease("n3"), NO),
    ("GET", LEASES.replace("kube-node-lease", "default") + "/n1", None, NO),
    # its pods, and no others
    ("GET", f"{PODS}/p1", None, YES),
    ("GET", f"{PODS}/p2", None, NO),
    ("GET", f"{PODS}/waits", None, NO),
    ("GET", PODS, None, NO),
    ("GET", f"{PODS}?fieldSelector=spec.nodeName%3Dn1", None, YES),
    ("GET", "/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dn1", None,
     YES),
    ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", None, NO),
    ("GET", "/api/v1/pods?watch=true", None, NO),
    ("PATCH", f"{PODS}/p1/status{DRY}", {"status": {"phase": "Running"}},
     YES),
    ("PATCH", f"{PODS}/p2/status{DRY}", {"status": {"phase": "Running"}}, NO),
    ("PATCH", f"{PODS}/p1{DRY}", {"metadata": {"labels": {"a": "b"}}}, NO),
    ("DELETE", f"{PODS}/p1{DRY}", None, YES),
    ("DELETE", f"{PODS}/p2{DRY}", None, NO),
    ("DELETE", f"{PODS}{DRY}", None, NO),
    ("POST", f"{PODS}{DRY}", pod("x", nodeName="n1"), NO),
    ("POST", f"{PODS}{DRY}", mirror("x", "n2"), NO),
    ("POST", f"{PODS}/p1/eviction{DRY}", {}, YES),
    ("POST", f"{PODS}/p2/eviction{DRY}", {}, NO),
    ("POST", f"{PODS}/waits/binding{DRY}", {}, NO),
    # what its pods need
    ("GET", "/api/v1/namespaces/default/configmaps/for1", None, YES),
    ("GET", "/api/v1/namespaces/default/configmaps/for2", None, NO),
    ("GET", "/api/v1/namespaces/default/configmaps", None, NO),
    ("GET", "/api/v1/namespaces/default/secrets/for1", None, YES),
    ("GET", "/api/v1/namespaces/default/secrets/for2", None, NO),
    ("GET", "/api/v1/secrets", None, NO),
    ("GET", "/api/v1/namespaces/default/secrets?watch=true"
            "&fieldSelector=metadata.name%3Dfor1", None, YES),
    ("GET", "/api/v1/namespaces/default/secrets?watch=true"
            "&fieldSelector=metadata.name%3Dfor2", None, NO),
    ("POST", f"{ACCOUNTS}/default/token", token_request(), NO),
    # the rest of the cluster
    ("GET", "/api/v1/services", None, YES),
    ("POST", f"/api/v1/namespaces/default/events{DRY}", {}, YES),
    ("GET", "/api/v1/namespaces/default/events", None, NO),
    ("GET", "/apis/kubevirt.io/v1/virtualmachineinstances", None, NO),
    ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles", None, NO),
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {}, YES),
    ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {}, YES),
]


def code_of(api, method, path, body):
    connection = api.connect()
    headers = {"Content-Type": MERGE} if method == "PATCH" else None
    code = api.start(method, path, body, headers, connection).status
    connection.close()
    return code


@pytest.mark.parametrize("method, path, body, may", TABLE, ids=[
    f"{t[0]} {t[1]} {'yes' if t[3] else 'no'}" for t in TABLE])
def test_a_node_keeps_to_itself(kubelet, method, path, body, may):
    code = code_of(kubelet, method, path, body)
    assert code != 401
    assert (code != 403) == may, code


def test_a_node_gets_tokens_for_pods_that_it_runs(kubelet, uids):
    path = f"{ACCOUNTS}/default/token"
    token = kubelet.create(path, token_request("p1", uids["p1"]))
    assert token["status"]["token"]
    kubelet.refuse(403, "Forbidden", "POST", path,
                   token_request("p2", uids["p2"]))


def test_a_refusal_names_the_node(kubelet):
    status = kubelet.refuse(403, "Forbidden", "GET", "/api/v1/nodes/n2")
    assert status["message"] == (
        'nodes "n2" is forbidden: User "system:node:n1" cannot get resource '
        '"nodes" in API group "" at the cluster scope: node \'n1\' cannot '
        "read 'n2', only its own Node object")
    status = kubelet.refuse(403, "Forbidden", "DELETE", f"{PODS}/p2{DRY}")
    assert status["message"] == (
        'pods "p2" is forbidden: node "n1" can only delete pods with '
        "spec.nodeName set to itself")


def test_an_eviction_of_a_foreign_pod_takes_nothing_from_a_budget(cluster,
                                                                  kubelet):
    api = cluster.api()
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    api.patch(f"{PODS}/p2/status", {"status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}]}})
    api.create(budgets, {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 0,
                 "selector": {"matchLabels": {"app": "p2"}}}})
    wait_for("the budget to allow one", lambda: api.get(
        f"{budgets}/b").get("status", {}).get("disruptionsAllowed") == 1)
    status = kubelet.refuse(403, "Forbidden", "POST", f"{PODS}/p2/eviction", {
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": "p2"}})
    assert "can only evict pods with spec.nodeName set to itself" in \
        status["message"]
    left = api.get(f"{budgets}/b")["status"]
    assert left["disruptionsAllowed"] == 1
    assert left.get("disruptedPods", {}) == {}


def test_a_pod_that_moves_takes_its_rights_along(cluster, kubelet):
    """What a node may read follows the pods that are bound to it."""
    api = cluster.api()
    path = "/api/v1/namespaces/default/configmaps"
    api.create(path, {"apiVersion": "v1", "kind": "ConfigMap",
                      "metadata": {"name": "later"}})
    kubelet.refuse(403, "Forbidden", "GET", f"{path}/later")
    api.create(PODS, pod("later", nodeName="n1", volumes=[
        {"name": "v", "configMap": {"name": "later"}}]))
    kubelet.get(f"{path}/later")
    api.delete(f"{PODS}/later", {"gracePeriodSeconds": 0})
    kubelet.refuse(403, "Forbidden", "GET", f"{path}/later")


def test_a_node_without_the_group_is_no_node(cluster, uids):
    del uids
    api = cluster.api(cluster.user_kubeconfig("system:node:n1"))
    api.refuse(403, "Forbidden", "GET", "/api/v1/nodes/n1")
    api = cluster.api(cluster.user_kubeconfig("somebody", "system:nodes"))
    api.refuse(403, "Forbidden", "GET", "/api/v1/nodes/n1")
    # One that has not registered yet may: it looks before it does.
    api = cluster.api(cluster.user_kubeconfig("system:node:n9",
                                              "system:nodes"))
    api.refuse(404, "NotFound", "GET", "/api/v1/nodes/n9")
    api.create("/api/v1/nodes", node("n9"))
