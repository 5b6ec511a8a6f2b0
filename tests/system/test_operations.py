# SPDX-License-Identifier: Apache-2.0
"""The runbook: what keeps machines from moving, brought about on a cluster with
real machines. What `ferryctl explain` says of it is checked, and the commands
of the entry are run. What can happen on the way is in
test_operations_transfer.py, what needs no machine in test_operations_played.py;
tests/lint/runbook has the list."""

import json
import os

import pytest

from embedded import NAMESPACE, PATIENCE, Embedded, guest_files, manifest
from kubeapi import wait_for
from runbooks import Shell, machine_shell
from test_vm_handler import NEXT_LAUNCHER, launcher_is

NOWHERE = "ferry/nowhere:1"


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="machine")
def fixture_machine(cluster):
    return cluster.start_machine("vm1")


@pytest.fixture(autouse=True)
def _unharmed(request):
    """Whatever a test does, the machine runs on."""
    yield
    if "machine" in request.fixturenames:
        request.getfixturevalue("machine").check_alone()


@pytest.fixture(name="shell")
def fixture_shell(cluster, machine):
    return machine_shell(cluster, machine)


# --- waiting -----------------------------------------------------------------

def test_a_quota_without_room_is_named_and_raised(cluster, machine, shell):
    cluster.create({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "small"}, "spec": {"hard": {"pods": "1"}}})
    try:
        wait_for("the quota to be counted", lambda: cluster.find(
            "resourcequotas", "small").get("status", {}).get("used"),
            PATIENCE)
        verdict = shell.run('ferryctl preflight -n "$NS" "$VM"', may_fail=True)
        assert "small: the target pod needs 1 pods" in verdict
        name = machine.begin_migration()
        finding = shell.wait_finding(["ResourceQuota"], "quota", "vmim", name)
        assert "exceeded quota: small" in finding["message"]
        assert "small" in shell.part("quota", "Check")
        shell.part("quota", "Fix")
        machine.wait_migration(name)
    finally:
        cluster.kubectl("delete", "resourcequota", "small")


def test_no_node_that_fits_is_explained_by_the_scheduler(cluster, machine,
                                                         shell):
    cluster.kubectl("cordon", shell.environment["NODE"])
    try:
        name = machine.begin_migration()
        finding = shell.wait_finding(["PodUnschedulable"], "unschedulable",
                                     "vmim", name)
        assert "nodes are available" in finding["message"]
        verdict = shell.part("unschedulable", "Check", may_fail=True)
        assert "it is cordoned" in verdict
    finally:
        shell.part("unschedulable", "Fix")
    machine.wait_migration(name)


def test_a_pod_that_does_not_start_is_told_and_given_up(cluster, machine,
                                                        shell):
    with cluster.stopped("ferry-kubelet", shell.environment["NODE"]):
        name = machine.begin_migration()
        shell.wait_finding(["PodNotReady"], "pod-not-ready", "vmim", name)
        assert "Successfully assigned" in shell.part("pod-not-ready", "Check")
        shell.part("pod-not-ready", "Fix")
    wait_for("the canceled migration to go",
             lambda: not cluster.find("vmim", name), PATIENCE)


def test_a_network_that_is_missing_is_named(cluster, machine, shell):
    kind = "network-attachment-definitions"
    lan = json.loads(cluster.kubectl("get", kind, "lan", "-o", "json"))
    lan["metadata"] = {"name": "lan", "namespace": NAMESPACE}
    cluster.kubectl("delete", kind, "lan")
    try:
        verdict = shell.run('ferryctl preflight -n "$NS" "$VM"', may_fail=True)
        assert "NetworkAttachmentDefinition lan does not exist" in verdict
        name = machine.begin_migration()
        finding = shell.wait_finding(["PodNotReady"], "nad-missing", "vmim",
                                     name)
        assert "lan" in finding["detail"]
        assert '"networkName":"lan"' in shell.part("nad-missing", "Check")
        shell.part("nad-missing", "Fix")
    finally:
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(lan))
        cluster.kubectl("uncordon", shell.environment["NODE"])
    machine.wait_migration(name)


def test_a_device_that_the_node_lacks_is_named(cluster, machine, shell):
    """The definition is there; what it names on the node is not."""
    kind = "network-attachment-definitions"
    before = json.loads(cluster.kubectl("get", kind, "lan", "-o", "json"))[
        "spec"]["config"]

    def define(config):
        cluster.kubectl("patch", kind, "lan", "--type", "merge", "-p",
                        json.dumps({"spec": {"config": config}}))

    define(json.dumps({"cniVersion": "1.0.0", "name": "lan",
                       "type": "macvlan", "master": "lan9", "ipam": {}}))
    try:
        name = machine.begin_migration()
        finding = shell.wait_finding(["PodNotReady"], "nad-missing", "vmim",
                                     name)
        assert 'name="lan" failed (ADD): Link not found' in finding["detail"]
    finally:
        define(before)
    machine.wait_migration(name)


# --- machines ----------------------------------------------------------------

def test_a_disk_that_is_not_shared_keeps_a_machine(cluster):
    cluster.create({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "own"},
        "spec": {"storageClassName": "ferry-local",
                 "accessModes": ["ReadWriteOnce"],
                 "resources": {"requests": {"storage": "32Mi"}}}})
    held = cluster.start_machine(
        "held", disks=[{"name": "data", "disk": {"bus": "virtio"}}],
        volumes=[{"name": "data",
                  "persistentVolumeClaim": {"claimName": "own"}}])
    shell = Shell(cluster, VM="held")
    shell.wait_finding(["DisksNotLiveMigratable"], "pvc-not-shared", "vm",
                       "held")
    refused = shell.run('ferryctl migrate -n "$NS" "$VM"', may_fail=True)
    assert "DisksNotLiveMigratable" in refused
    told = shell.part("pvc-not-shared", "Check")
    assert "own" in told and "RWO" in told
    assert "ferry-shared" in shell.part("pvc-not-shared", "Fix")
    verdict = shell.run('ferryctl preflight -n "$NS" "$VM"', may_fail=True)
    assert "the claim own is not ReadWriteMany" in verdict
    held.delete()
    cluster.kubectl("delete", "pvc", "own")


def test_an_interface_of_the_node_keeps_a_machine(cluster):
    bound = cluster.start_machine(
        "bound", wait=False, interfaces=[{"name": "default", "bridge": {}}],
        networks=[{"name": "default", "pod": {}}])
    shell = Shell(cluster, VM="bound")
    shell.wait_finding(["InterfaceNotLiveMigratable"], "not-migratable", "vm",
                       "bound")
    refused = shell.run('ferryctl migrate -n "$NS" "$VM"', may_fail=True)
    assert "InterfaceNotLiveMigratable" in refused
    told = shell.part("not-migratable", "Check")
    assert '"bridge":{}' in told and "InterfaceNotLiveMigratable" in told
    bound.delete()


def test_an_image_that_is_missing_is_named_and_waited_for(cluster):
    body = manifest("bare", cluster.lan(200))
    container = body["spec"]["template"]["spec"]["domain"]["firmware"][
        "kernelBoot"]["container"]
    container["image"] = NOWHERE
    cluster.create(body)
    shell = Shell(cluster, VM="bare")
    finding = shell.wait_finding(["PodNotStarted"], "machine-not-starting",
                                 "vm", "bare")
    assert NOWHERE in finding["message"]
    assert NOWHERE in shell.part("machine-not-starting", "Check")
    files = guest_files()
    cluster.ferryctl("image", "import", NOWHERE,
                     "--file", f"/boot/vmlinuz={files}/vmlinuz",
                     "--file", f"/boot/initrd={files}/initrd")
    wait_for("the machine to start by itself", lambda: cluster.get(
        "vmi", "bare")["status"].get("phase") == "Running", PATIENCE)
    cluster.delete("vm", "bare")
    wait_for("it to go", lambda: not cluster.find("vmi", "bare"), PATIENCE)


def test_a_machine_that_stands_still_says_why(machine, shell):
    shell.run('ferryctl pause vm "$VM" -n "$NS"')
    shell.wait_finding(["PausedByUser"], "machine-paused", "vm", machine.name)
    assert "PausedByUser" in shell.part("machine-paused", "Check")
    shell.part("machine-paused", "Fix")
    assert shell.explain("vm", machine.name)["findings"] == []


def test_a_launcher_of_another_time_is_named(cluster, machine, shell):
    source = machine.node
    with launcher_is(cluster, NEXT_LAUNCHER):
        name = machine.begin_migration()
        machine.wait_migration(name, "Failed")
    finding = shell.wait_finding(["VersionSkew"], "version-skew", "vmim",
                                 name)
    assert "speaks protocol 9 to 9" in finding["message"]
    assert "ferry/launcher" in shell.part("version-skew", "Check")
    assert machine.node == source


# --- what heals by itself ----------------------------------------------------

def _damage(path):
    os.truncate(path, 7)


@pytest.mark.parametrize("harm", [os.unlink, _damage],
                         ids=["missing", "damaged"])
def test_a_lost_network_file_is_healed_and_told(cluster, machine, shell,
                                                harm):
    directory = machine.directory(machine.pod_on(machine.node), "private")
    path = next(os.path.join(directory, name)
                for name in os.listdir(directory)
                if name.startswith("vif-cache-"))
    with open(path, encoding="utf-8") as file:
        before = file.read()

    def told():
        return sum(event.get("count", 1) for event in cluster.list("events")
                   if event["reason"] == "NetworkStateRebuilt")

    known = told()
    harm(path)
    cluster.ferryctl("cluster", "restart", "ferry-handler", "--node",
                     machine.node[len("node"):])
    wait_for("the event", lambda: told() > known, PATIENCE)
    with open(path, encoding="utf-8") as file:
        assert file.read() == before
    shell.wait_finding(["NetworkStateRebuilt"], "vif-cache", "vm",
                       machine.name)
    assert os.path.basename(path) in shell.part("vif-cache", "Check")
