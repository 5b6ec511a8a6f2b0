# SPDX-License-Identifier: Apache-2.0
"""kubectl looks after nodes: cordon, drain, taint; and its generators.

The tests play the kubelet: a pod that is told to go is gone when the kubelet
deletes it with a grace period of 0.
"""

import base64
import json
import threading

import pytest

from kubeapi import wait_for
from kubectls import HAS_TOKEN, HAS_WHOAMI, MINOR, Following, pod, table


@pytest.fixture(name="node")
def node_(cluster, request):
    """A node for one test."""
    name = request.node.name.replace("_", "-")[:40].strip("-")
    api = cluster.api()
    api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node",
                                 "metadata": {"name": name}})
    api.patch(f"/api/v1/nodes/{name}/status", {"status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "allocatable": {"cpu": "4", "memory": "4Gi", "pods": "9"},
        "capacity": {"cpu": "4", "memory": "4Gi", "pods": "9"}}})
    yield name
    api.delete(f"/api/v1/nodes/{name}")


class Kubelet:
    """Runs the pods of a node: they are ready at once, and go when told."""

    def __init__(self, cluster, node):
        self.api = cluster.api()
        self.watch = cluster.api().watch(
            f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node}"
            "&timeoutSeconds=60")
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while (seen := self.watch.next()) is not None:
                self.handle(seen)
        except (OSError, ValueError, AttributeError):
            pass  # closed by close()

    def handle(self, seen):
        meta = seen["object"]["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        if seen["type"] == "ADDED":
            self.api.patch(f"{path}/status", {"status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}]}})
        elif seen["type"] == "MODIFIED" and "deletionTimestamp" in meta:
            self.api.delete(path, {"gracePeriodSeconds": 0})

    def close(self):
        sock = self.watch.connection.sock
        if sock:
            sock.shutdown(2)
        self.thread.join()
        self.watch.close()


@pytest.fixture(name="kubelet")
def kubelet_(cluster, node):
    made = Kubelet(cluster, node)
    yield made
    made.close()


def status_of(cluster, node):
    return table(cluster.kubectl("get", "node", node))[1][0][1]


def make_pods(cluster, namespace, node, *names):
    """Pods bound to the node, running as far as anybody can see."""
    api = cluster.api()
    path = f"/api/v1/namespaces/{namespace}/pods"
    for name in names:
        api.create(path, pod(name, nodeName=node))
    for name in names:
        wait_for("the pod to run", lambda name=name: api.get(
            f"{path}/{name}")["status"].get("phase") == "Running")


def test_cordon_and_uncordon(cluster, namespace, node):
    assert cluster.kubectl("cordon", node) == f"node/{node} cordoned\n"
    assert cluster.kubectl("cordon", node) == f"node/{node} already cordoned\n"
    assert status_of(cluster, node) == "Ready,SchedulingDisabled"
    api = cluster.api()
    path = f"/api/v1/namespaces/{namespace}/pods"
    api.create(path, pod("waits"))
    done = wait_for("a word of the scheduler", lambda: next(
        (c for c in api.get(f"{path}/waits")["status"].get("conditions", [])
         if c["type"] == "PodScheduled"), None))
    assert (done["status"], done["reason"]) == ("False", "Unschedulable")
    assert "1 node(s) were unschedulable" in done["message"]
    assert cluster.kubectl("uncordon", node) == f"node/{node} uncordoned\n"
    assert status_of(cluster, node) == "Ready"
    wait_for("the pod to be bound", lambda: api.get(
        f"{path}/waits")["spec"].get("nodeName") == node)
    api.delete(f"{path}/waits", {"gracePeriodSeconds": 0})


def test_taint(cluster, node):
    taint = ("taint", "node", node)
    assert cluster.kubectl(*taint, "k=v:NoSchedule") == \
        f"node/{node} tainted\n"
    done = cluster.kubectl_raw(*taint, "k=w:NoSchedule")
    assert done.returncode == 1 and "--overwrite is false" in done.stderr
    cluster.kubectl(*taint, "k=w:NoSchedule", "--overwrite")
    cluster.kubectl(*taint, "other:NoExecute")
    shown = json.loads(cluster.kubectl("get", "node", node, "-o",
                                       "jsonpath={.spec.taints}"))
    shown = [{k: v for k, v in t.items() if k != "timeAdded"} for t in shown]
    assert sorted(shown, key=lambda t: t["key"]) == [
        {"key": "k", "value": "w", "effect": "NoSchedule"},
        {"key": "other", "effect": "NoExecute"}]
    assert cluster.kubectl(*taint, "k-", "other:NoExecute-") == \
        f"node/{node} untainted\n"
    assert cluster.kubectl("get", "node", node, "-o",
                           "jsonpath={.spec.taints}") == ""


def test_drain_waits_until_the_kubelet_is_done(cluster, namespace, node,
                                               kubelet):
    make_pods(cluster, namespace, node, "a", "b")
    text = cluster.kubectl("drain", node, "--force", "--timeout=60s")
    lines = text.splitlines()
    assert lines[0] == f"node/{node} cordoned"
    assert sorted(line for line in lines if line.startswith("pod/")) == \
        ["pod/a evicted", "pod/b evicted"]
    # 1.20 says "evicted" once more.
    assert lines[-1] == f"node/{node} " + ("drained" if MINOR >= 23
                                           else "evicted")
    assert cluster.kubectl("get", "pods", "-n", namespace, "-o", "name") == ""
    assert status_of(cluster, node) == "Ready,SchedulingDisabled"


def test_drain_refuses_pods_that_nobody_would_bring_back(cluster, namespace,
                                                         node, kubelet):
    make_pods(cluster, namespace, node, "alone")
    done = cluster.kubectl_raw("drain", node)
    assert done.returncode == 1
    assert "use --force to override" in done.stderr
    assert f"{namespace}/alone" in done.stderr
    assert "pod/alone" in cluster.kubectl("get", "pods", "-n", namespace,
                                          "-o", "name")


def test_drain_respects_disruption_budgets(cluster, namespace, node, kubelet):
    make_pods(cluster, namespace, node, "a")
    cluster.kubectl("create", "pdb", "keep", "-n", namespace,
                    "--selector=app=a", "--min-available=1")
    with Following(cluster, "drain", node, "--force",
                   "--timeout=60s") as kubectl:
        line = kubectl.until("(will retry after 5s)")
        assert line.endswith("Cannot evict pod as it would violate the pod's "
                             "disruption budget.")
        cluster.kubectl("delete", "pdb", "keep", "-n", namespace)
        kubectl.until("pod/a evicted")
        assert kubectl.wait() == 0


def test_drain_without_evictions_deletes(cluster, namespace, node, kubelet):
    make_pods(cluster, namespace, node, "a")
    text = cluster.kubectl("drain", node, "--force", "--timeout=60s",
                           "--disable-eviction", "--grace-period=1",
                           "--pod-selector=app=a")
    assert "pod/a deleted" in text


GENERATED = [
    ("cm cm --from-literal=a=b", "configmap/cm", "{.data.a}", "b"),
    ("secret generic s --from-literal=a=b", "secret/s", "{.data.a}",
     base64.b64encode(b"b").decode()),
    ("sa robot", "serviceaccount/robot", "{.metadata.name}", "robot"),
    ("quota q --hard=pods=3,requests.cpu=1500m", "resourcequota/q",
     "{.spec.hard.pods},{.spec.hard.requests\\.cpu}", "3,1500m"),
    ("pdb b --selector=a=b --min-available=50%",
     "poddisruptionbudget.policy/b", "{.spec.minAvailable}", "50%"),
    ("role r --verb=get,list --resource=pods,vmim.kubevirt.io",
     "role.rbac.authorization.k8s.io/r", "{.rules[*].resources[*]}",
     "pods virtualmachineinstancemigrations"),
    ("rolebinding rb --role=r --user=u --group=g",
     "rolebinding.rbac.authorization.k8s.io/rb", "{.subjects[*].name}",
     "u g"),
]


@pytest.mark.parametrize("command, made, path, value", GENERATED,
                         ids=[g[0].split()[0] for g in GENERATED])
def test_generators(cluster, namespace, command, made, path, value):
    """kubectl 1.32 sends these as protocol buffers."""
    assert cluster.kubectl("create", *command.split(), "-n", namespace) == \
        f"{made} created\n"
    assert cluster.kubectl("get", made, "-n", namespace, "-o",
                           f"jsonpath={path}") == value


def test_generators_of_cluster_wide_kinds(cluster, namespace):
    name = namespace
    cluster.kubectl("create", "ns", f"{name}-2")
    cluster.kubectl("create", "priorityclass", name, "--value=7")
    cluster.kubectl("create", "clusterrole", name, "--verb=get",
                    "--non-resource-url=/metrics")
    cluster.kubectl("create", "clusterrolebinding", name,
                    f"--clusterrole={name}",
                    f"--serviceaccount={name}:default")
    assert table(cluster.kubectl(
        "get", "clusterrolebinding", name, "-o", "wide"))[1] == [
        [name, f"ClusterRole/{name}", "AGE", "", "", f"{name}/default"]]
    assert cluster.kubectl("run", "p", "--image=i", "-n", f"{name}-2") == \
        "pod/p created\n"


def test_quota_is_told_in_kubernetes_words(cluster, namespace):
    cluster.kubectl("create", "quota", "q", "-n", namespace, "--hard=pods=1")
    cluster.kubectl("run", "a", "--image=i", "-n", namespace)
    done = cluster.kubectl_raw("run", "b", "--image=i", "-n", namespace)
    assert (done.returncode, done.stderr) == (
        1, 'Error from server (Forbidden): pods "b" is forbidden: exceeded '
           "quota: q, requested: pods=1, used: pods=1, limited: pods=1\n")


def test_can_i(cluster, namespace):
    as_user = ("--kubeconfig", cluster.user_kubeconfig("carol"))
    can_i = ("auth", "can-i", "create", "vmim", "-n", namespace)
    assert cluster.kubectl(*can_i) == "yes\n"
    done = cluster.kubectl_raw(*can_i, *as_user)
    assert (done.returncode, done.stdout.split()[0]) == (1, "no")
    cluster.kubectl("create", "rolebinding", "rb", "-n", namespace,
                    "--clusterrole=kubevirt.io:migrate", "--user=carol")
    assert cluster.kubectl(*can_i, *as_user) == "yes\n"
    assert cluster.kubectl("auth", "can-i", "get", "/api", *as_user) == "yes\n"
    assert cluster.kubectl(*can_i, "--as=carol") == "yes\n"
    text = cluster.kubectl("auth", "can-i", "--list", "-n", namespace,
                           *as_user)
    assert table(text)[0] == ["Resources", "Non-Resource URLs",
                              "Resource Names", "Verbs"]
    assert any(line.startswith("virtualmachineinstancemigrations.kubevirt.io ")
               for line in text.splitlines())


def test_whoami(cluster):
    """Older ones than 1.28 cannot ask; the server tells them all the same."""
    kubeconfig = cluster.user_kubeconfig("dave", "ops")
    if HAS_WHOAMI:
        assert cluster.kubectl("auth", "whoami", "--kubeconfig",
                               kubeconfig) == (
            "ATTRIBUTE   VALUE\n"
            "Username    dave\n"
            "Groups      [ops system:authenticated]\n")
        return
    text = cluster.kubectl(
        "create", "-f", "-", "-o", "json", "--validate=false", "--kubeconfig",
        kubeconfig, stdin=json.dumps({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "SelfSubjectReview", "metadata": {}}))
    assert json.loads(text)["status"]["userInfo"] == {
        "username": "dave", "groups": ["ops", "system:authenticated"]}


def test_a_token_of_a_service_account_works(cluster, namespace):
    cluster.kubectl("create", "sa", "robot", "-n", namespace)
    if HAS_TOKEN:
        token = cluster.kubectl("create", "token", "robot", "-n", namespace,
                                "--duration=20m").strip()
    else:
        token = json.loads(cluster.kubectl(
            "create", "--raw",
            f"/api/v1/namespaces/{namespace}/serviceaccounts/robot/token",
            "-f", "-", stdin=json.dumps({
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest", "spec": {}})))["status"]["token"]
    cluster.kubectl("create", "rolebinding", "rb", "-n", namespace,
                    "--clusterrole=view",
                    f"--serviceaccount={namespace}:robot")
    api = cluster.api(token=token)
    api.get(f"/api/v1/namespaces/{namespace}/pods")
    api.refuse(403, "Forbidden", "GET", "/api/v1/nodes")
