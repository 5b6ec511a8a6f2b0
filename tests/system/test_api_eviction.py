# SPDX-License-Identifier: Apache-2.0
"""Evictions of pods of machines: refused, and the machine marked to move."""

import pytest

from kubeapi import wait_for
from played_objects import NODE_LABEL, PODS, VMIS, launcher, namespaced, \
    node, node_status, vmi

DENIED = 'admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" ' \
         "denied the request: "
MIGRATABLE = [{"type": "LiveMigratable", "status": "True"}]
KUBEVIRTS = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"


@pytest.fixture(scope="module", autouse=True)
def nodes(cluster, api):
    for name in ("node1", "node2"):
        cluster.api().create("/api/v1/nodes", node(name))
        cluster.api().patch(f"/api/v1/nodes/{name}/status", node_status())
    return api


def eviction_version(client):
    """The server's: policy/v1, or v1beta1 before Kubernetes 1.22."""
    (found,) = [r for r in client.get("/api/v1")["resources"]
                if r["name"] == "pods/eviction"]
    return f"{found['group']}/{found['version']}"


class Machine:
    """A machine on node1 with its pod, in a namespace."""

    def __init__(self, api, namespace, strategy=None, name="vmi1",
                 conditions=MIGRATABLE, pod_on="node1"):
        self.api, self.namespace = api, namespace
        self.path = namespaced(VMIS, namespace, name)
        self.version = eviction_version(api.client())
        spec = {"evictionStrategy": strategy} if strategy else None
        api.client().create(namespaced(VMIS, namespace), vmi(name, spec=spec))
        made = api.controller().patch(self.path, {
            "metadata": {"labels": {NODE_LABEL: "node1"}},
            "status": {"phase": "Running", "nodeName": "node1",
                       "conditions": conditions}})
        pod = api.client().create(namespaced(PODS, namespace),
                                  launcher(made, pod_on))
        self.pod = pod["metadata"]["name"]

    def evict(self, pod=None, query="", annotations=None, options=None):
        pod = pod or self.pod
        body = {"apiVersion": self.version, "kind": "Eviction",
                "metadata": {"name": pod, "namespace": self.namespace,
                             "annotations": annotations or {}}}
        if options:
            body["deleteOptions"] = options
        return self.api.client().request(
            "POST", namespaced(PODS, self.namespace, pod, "eviction") + query,
            body)

    def refused(self, message, **more):
        answer = self.evict(**more)
        assert answer.code == 429, answer
        assert answer.json()["message"] == DENIED + message
        assert "Retry-After" not in answer.headers

    def get(self):
        return self.api.client().get(self.path)

    def mark(self):
        return self.get()["status"].get("evacuationNodeName")

    def triggered(self):
        return "Eviction triggered evacuation of VMI " \
            f"\"{self.namespace}/{self.path.rsplit('/', 1)[1]}\""


def test_a_machine_that_can_move_is_marked_and_stays(api, namespace):
    machine = Machine(api, namespace, "LiveMigrate")
    machine.refused(machine.triggered())
    assert machine.mark() == "node1"
    machine.refused("Evacuation in progress: " + machine.triggered())


@pytest.mark.parametrize("strategy,conditions,marked", [
    ("LiveMigrateIfPossible", MIGRATABLE, True),
    ("External", [], True),
    ("LiveMigrateIfPossible", [], False),
    ("None", MIGRATABLE, False),
    (None, MIGRATABLE, False),
])
def test_strategies_decide_who_is_moved_and_who_is_evicted(
        api, namespace, strategy, conditions, marked):
    machine = Machine(api, namespace, strategy, conditions=conditions)
    if marked:
        machine.refused(machine.triggered())
        assert machine.mark() == "node1"
    else:
        assert machine.evict().code == 201
        assert machine.mark() is None


def test_a_machine_that_must_move_but_cannot_is_not_evicted(api, namespace):
    machine = Machine(api, namespace, "LiveMigrate", conditions=[
        {"type": "LiveMigratable", "status": "False"}])
    machine.refused("VMI vmi1 is configured with an eviction strategy but is "
                    "not live-migratable")
    assert machine.mark() is None


def test_a_dry_run_marks_nothing(api, namespace):
    machine = Machine(api, namespace, "LiveMigrate")
    machine.refused(machine.triggered(), query="?dryRun=All")
    machine.refused(machine.triggered(), options={"dryRun": ["All"]})
    assert machine.mark() is None


def test_the_pod_that_receives_a_machine_stays(api, namespace):
    machine = Machine(api, namespace, "LiveMigrate", pod_on="node2")
    machine.refused("Eviction request for target Pod")
    assert machine.mark() is None


def test_the_descheduler_is_remembered(api, namespace):
    machine = Machine(api, namespace, "LiveMigrate")
    machine.refused(machine.triggered(), annotations={
        "requested-by": "sigs.k8s.io/descheduler"})
    made = machine.get()
    assert made["metadata"]["annotations"]["kubevirt.io/eviction-source"] == \
        "descheduler"
    assert made["status"]["evacuationNodeName"] == "node1"


def test_a_pod_that_has_ended_is_evicted(api, namespace):
    machine = Machine(api, namespace, "LiveMigrate")
    api.client().patch(namespaced(PODS, namespace, machine.pod, "status"),
                       {"status": {"phase": "Succeeded"}})
    assert machine.evict().code == 201


def test_a_machine_that_cannot_be_found_is_not_lost(api, namespace):
    machine = Machine(api, namespace, "LiveMigrate")
    pod = api.client().create(namespaced(PODS, namespace), {
        "metadata": {"name": "virt-launcher-orphan",
                     "labels": {"kubevirt.io": "virt-launcher"},
                     "annotations": {"kubevirt.io/domain": "gone"}},
        "spec": {"nodeName": "node1",
                 "containers": [{"name": "c", "image": "i"}]}})
    machine.refused("kubevirt failed getting the vmi: "
                    'virtualmachineinstances.kubevirt.io "gone" not found',
                    pod=pod["metadata"]["name"])


def test_pods_with_volumes_of_a_machine_stay_as_long_as_it(api, namespace):
    machine = Machine(api, namespace, "None")
    owner = api.client().get(namespaced(PODS, namespace, machine.pod))
    name = api.client().create(namespaced(PODS, namespace), {
        "metadata": {"name": "hp-volume-x",
                     "labels": {"kubevirt.io": "hotplug-disk"},
                     "ownerReferences": [{
                         "apiVersion": "v1", "kind": "Pod",
                         "name": machine.pod,
                         "uid": owner["metadata"]["uid"]}]},
        "spec": {"nodeName": "node1",
                 "containers": [{"name": "c", "image": "i"}]}})
    machine.refused("cannot evict hotplug pod: hp-volume-x associated with "
                    f"running vmi: vmi1 in namespace {namespace}",
                    pod=name["metadata"]["name"])
    api.client().patch(namespaced(PODS, namespace, machine.pod, "status"),
                       {"status": {"phase": "Failed"}})
    assert machine.evict(pod="hp-volume-x").code == 201


def test_other_pods_are_no_business_of_ferry(api, namespace):
    machine = Machine(api, namespace, "LiveMigrate")
    api.client().create(namespaced(PODS, namespace), {
        "metadata": {"name": "web"},
        "spec": {"nodeName": "node1",
                 "containers": [{"name": "c", "image": "i"}]}})
    assert machine.evict(pod="web").code == 201
    assert machine.evict(pod="none").code == 404


def test_the_cluster_has_a_strategy_for_those_without(api, namespace):
    machine = Machine(api, namespace)
    api.client().create(KUBEVIRTS, {
        "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {"configuration": {"evictionStrategy": "LiveMigrate"}}})
    try:
        wait_for("the strategy", lambda: machine.evict(
            query="?dryRun=All").code == 429)
        machine.refused(machine.triggered())
    finally:
        api.client().delete(KUBEVIRTS + "/kubevirt")
    assert machine.mark() == "node1"


def test_kubectl_drain_marks_all_machines_of_a_node(cluster, api, namespace):
    machines = [Machine(api, namespace, "LiveMigrate", name=f"vmi{i}")
                for i in range(3)]
    done = cluster.kubectl_raw(
        "drain", "node1", "--ignore-daemonsets", "--force",
        "--delete-emptydir-data", "--timeout=3s",
        "--pod-selector=kubevirt.io=virt-launcher")
    try:
        assert done.returncode != 0
        assert machines[0].triggered() in done.stderr
        assert [machine.mark() for machine in machines] == ["node1"] * 3
    finally:
        cluster.kubectl("uncordon", "node1")
