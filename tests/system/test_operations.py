# SPDX-License-Identifier: Apache-2.0
"""The runbook: failures are brought about on a cluster with a real machine,
what `ferryctl explain` says of them is checked, and the commands of the entry
are run."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from embedded import NAMESPACE, PATIENCE, Embedded
from kubeapi import wait_for
from proxies import REPOSITORY, Pki
from runbooks import RUNBOOK, Shell, entries

RULES = os.path.join(REPOSITORY, "deploy", "prometheus", "rules.yaml")
SLOW = "4Mi"  # bytes per second of a migration that shall not end
LONG_AGO = ("20240101000000Z", "20240201000000Z")
EVACUATION = "kubevirt.io/evacuationMigration"
LOST = ["ConnectFailed", "ConnectionLost"]
UNSCHEDULABLE = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="machine")
def fixture_machine(cluster):
    return cluster.start_machine("vm1", dirty="32,4000")


@pytest.fixture(autouse=True)
def _unharmed(request):
    """Whatever a test does, the machine runs on."""
    yield
    if "machine" in request.fixturenames:
        request.getfixturevalue("machine").check_alone()


def other_node(cluster, machine):
    return next(n for n in cluster.node_names() if n != machine.node)


def shell_of(cluster, machine, migration=""):
    return Shell(cluster, VM=machine.name, MIGRATION=migration,
                 NODE=other_node(cluster, machine))


def explain(cluster, *arguments):
    shell = Shell(cluster)
    return json.loads(shell.run(
        "ferryctl explain -o json " + " ".join(arguments)))


def wait_finding(cluster, migration, codes, entry):
    """Until a migration is explained by one of the codes; the finding."""
    def found():
        page = explain(cluster, "vmim", migration)
        return next((f for f in page["findings"] if f["code"] in codes), None)

    finding = wait_for(f"{migration} to be explained by {codes}", found,
                       PATIENCE)
    assert finding["runbook"] == f"docs/operations.md#{entry}"
    assert finding["checks"] and finding["remedies"]
    return finding


def test_every_entry_has_all_parts():
    for name, parts in entries().items():
        missing = {"Symptom", "Meaning", "Check"} - set(parts)
        assert not missing, f"{name} lacks {missing}"


def test_every_alert_has_an_entry():
    with open(RULES, encoding="utf-8") as file:
        named = set(re.findall(r"docs/operations\.md#([a-z-]+)", file.read()))
    with open(RUNBOOK, encoding="utf-8") as file:
        there = set(re.findall(r'<a id="([a-z-]+)"></a>', file.read()))
    assert named and named <= there, named - there


def test_a_quota_without_room_is_named_and_raised(cluster, machine):
    cluster.create({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "small"}, "spec": {"hard": {"pods": "1"}}})
    try:
        wait_for("the quota to be counted", lambda: cluster.find(
            "resourcequotas", "small").get("status", {}).get("used"),
            PATIENCE)
        shell = shell_of(cluster, machine)
        verdict = shell.run('ferryctl preflight -n "$NS" "$VM"', may_fail=True)
        assert "small: the target pod needs 1 pods" in verdict
        name = machine.begin_migration()
        wait_finding(cluster, name, ["ResourceQuota"], "quota")
        assert "small" in shell.part("quota", "Check")
        shell.part("quota", "Fix")
        machine.wait_migration(name)
    finally:
        cluster.kubectl("delete", "resourcequota", "small")


def test_no_node_that_fits_is_explained_by_the_scheduler(cluster, machine):
    target = other_node(cluster, machine)
    cluster.kubectl("cordon", target)
    shell = shell_of(cluster, machine)
    try:
        name = machine.begin_migration()
        finding = wait_finding(cluster, name, ["PodUnschedulable"],
                               "unschedulable")
        assert "nodes are available" in finding["detail"]
        verdict = shell.part("unschedulable", "Check", may_fail=True)
        assert "it is cordoned" in verdict
    finally:
        shell.part("unschedulable", "Fix")
    machine.wait_migration(name)


def test_a_machine_whose_failures_go_on_says_when_the_next_try_is(cluster,
                                                                  machine):
    target = other_node(cluster, machine)
    cluster.kubectl("cordon", target)
    shell = shell_of(cluster, machine)
    try:
        for phase in ("Failed", None):
            name = f"again-{phase}".lower()
            cluster.create({
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachineInstanceMigration",
                "metadata": {"name": name, "annotations": {
                    EVACUATION: machine.node, UNSCHEDULABLE: "1"}},
                "spec": {"vmiName": machine.name}})
            if phase:
                machine.wait_migration(name, phase)
        finding = wait_finding(cluster, name, ["Backoff"], "back-off")
        assert "next try is at" in finding["message"]
        assert "again-failed: Failed, UnschedulableTimeout" in shell.part(
            "back-off", "Check")
        shell.part("back-off", "Fix")
        wait_for("the canceled migration to go",
                 lambda: not cluster.find("vmim", name), PATIENCE)
    finally:
        cluster.kubectl("uncordon", target)


def test_a_network_that_is_missing_is_named(cluster, machine):
    kind = "network-attachment-definitions"
    lan = json.loads(cluster.kubectl("get", kind, "lan", "-o", "json"))
    lan["metadata"] = {"name": "lan", "namespace": NAMESPACE}
    cluster.kubectl("delete", kind, "lan")
    shell = shell_of(cluster, machine)
    try:
        verdict = shell.run('ferryctl preflight -n "$NS" "$VM"', may_fail=True)
        assert "NetworkAttachmentDefinition lan does not exist" in verdict
        name = machine.begin_migration()
        finding = wait_finding(cluster, name, ["PodNotReady"], "pod-not-ready")
        wait_for("the kubelet to complain", lambda: "lan" in wait_finding(
            cluster, name, ["PodNotReady"], "pod-not-ready").get("detail", ""),
            PATIENCE)
        assert finding["about"] == "waits"
        assert '"networkName":"lan"' in shell.part("nad-missing", "Check")
        assert "lan" in shell.part("pod-not-ready", "Check")
    finally:
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(lan))
    machine.wait_migration(name)


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
    page = explain(cluster, "vm", "held")
    assert [(f["code"], f["runbook"]) for f in page["findings"]] == [
        ("DisksNotLiveMigratable", "docs/operations.md#pvc-not-shared")]
    refused = shell.run('ferryctl migrate -n "$NS" "$VM"', may_fail=True)
    assert "DisksNotLiveMigratable" in refused
    told = shell.part("pvc-not-shared", "Check")
    assert "own" in told and "RWO" in told
    assert "ferry-shared" in shell.part("pvc-not-shared", "Fix")
    verdict = shell.run('ferryctl preflight -n "$NS" "$VM"', may_fail=True)
    assert "the claim own is not ReadWriteMany" in verdict
    held.delete()
    cluster.kubectl("delete", "pvc", "own")


def test_a_guest_that_never_converges_is_given_up(cluster, machine):
    shell = shell_of(cluster, machine)
    with machine.policy(bandwidthPerMigration=SLOW,
                        completionTimeoutPerGiB=15):
        name = machine.begin_migration()
        machine.wait_copying(name)
        told = shell.part("never-converges", "Check")
        assert "dirtyRateBytesPerSecond" in told
        assert "What it waits for: Transfer" in told
        machine.wait_migration(name, "Failed")
    wait_finding(cluster, name, ["CompletionTimeout"], "never-converges")


def test_a_transfer_can_be_canceled_as_the_runbook_says(cluster, machine):
    shell = shell_of(cluster, machine)
    with machine.policy(bandwidthPerMigration=SLOW):
        name = machine.begin_migration()
        machine.wait_copying(name)
        shell.part("never-converges", "Fix")
        wait_for("the canceled migration to go",
                 lambda: not cluster.find("vmim", name), PATIENCE)
    assert machine.node in shell.part("cancel-not-clean", "Check")


def test_a_target_that_dies_leaves_the_machine_where_it_is(cluster, machine):
    source, target = machine.node, other_node(cluster, machine)
    shell = shell_of(cluster, machine)
    with machine.policy(bandwidthPerMigration=SLOW):
        name = machine.begin_migration()
        machine.wait_copying(name)
        os.kill(machine.process(target, "qemu-system-x86"), signal.SIGKILL)
        machine.wait_migration(name, "Failed")
    page = explain(cluster, "vmim", name)
    # Whether the end of QEMU or that of its connection is seen first is open.
    assert [f["code"] for f in page["findings"]] in (
        ["TargetLost"], ["ConnectionLost"], ["TargetPodEnded"])
    assert page["machine"]["node"] == source
    assert source in shell.part("target-node-dies", "Check")


class _ClusterPki(Pki):
    """That of a cluster, which exists."""

    # pylint: disable=super-init-not-called
    def __init__(self, cluster):
        self.directory = os.path.join(cluster.dir, "pki")

    def replace(self, name, with_name):
        """The key first, by rename."""
        for suffix in (".key", ".crt"):
            new = self.path(name + suffix + ".tmp")
            shutil.copy(self.path(with_name + suffix), new)
            os.rename(new, self.path(name + suffix))


def test_a_certificate_that_has_expired_is_found(cluster, machine):
    target = other_node(cluster, machine)
    shell = shell_of(cluster, machine)
    pki = _ClusterPki(cluster)
    pki.node_dated("old", target, *LONG_AGO)
    for suffix in (".key", ".crt"):
        shutil.copy(pki.path(target + suffix), pki.path("good" + suffix))
    pki.replace(target, "old")
    try:
        words = f"the certificate of {target} has expired"
        wait_for("doctor to see it", lambda: words in shell.part(
            "certificate-expired", "Check", may_fail=True), PATIENCE)
        name = machine.begin_migration()
        machine.wait_migration(name, "Failed")
        wait_finding(cluster, name, LOST, "certificate-expired")
        shell = shell_of(cluster, machine, name)
        assert words in shell.part("no-connection", "Check", may_fail=True)
    finally:
        pki.replace(target, "good")
    wait_for("the renewed certificate", lambda: "Nothing is wrong" in
             shell.run("ferryctl doctor", may_fail=True), PATIENCE)


def _nft(netns, *arguments):
    subprocess.run(["nsenter", f"--net=/run/netns/{netns}", "nft",
                    *arguments], check=True)


@contextlib.contextmanager
def _silent_handler(cluster, node):
    """The handler of a node does nothing meanwhile."""
    cluster.signal("ferry-handler", node, signal.SIGSTOP)
    try:
        yield
    finally:
        cluster.signal("ferry-handler", node, signal.SIGCONT)


def test_a_blocked_port_and_a_silent_source_are_told_apart(cluster, machine):
    source, target = machine.node, other_node(cluster, machine)
    netns = f"ferry-{cluster.name}-{target}"
    with contextlib.ExitStack() as undo:
        with _silent_handler(cluster, source):
            name = machine.begin_migration()
            machine.wait_phase(name, "TargetReady")
            wait_finding(cluster, name, ["SourceNodeStart"], "node-silent")
            shell = shell_of(cluster, machine, name)
            told = shell.part("node-silent", "Check", may_fail=True)
            assert "The target is ready and nothing starts: " + source in told
            ports = machine.vmi["status"]["migrationState"][
                "targetDirectMigrationNodePorts"]
            port = next(p for p, c in ports.items() if c == 49152)
            _nft(netns, "add table inet blocked")
            undo.callback(_nft, netns, "delete table inet blocked")
            _nft(netns, "add chain inet blocked in "
                 "{ type filter hook input priority 0; }")
            _nft(netns, f"add rule inet blocked in tcp dport {port} drop")
            told = shell.part("no-connection", "Check", may_fail=True)
            assert f"channel 49152 (port {port} of {target})" in told
        machine.wait_migration(name, "Failed")
        assert f"dport {port} drop" in shell.part("port-blocked", "Check",
                                                  netns=netns)
    wait_finding(cluster, name, LOST, "port-blocked")


def test_a_missing_migration_network_is_found(cluster, machine):
    target = other_node(cluster, machine)
    netns = f"ferry-{cluster.name}-{target}"
    link = ["nsenter", f"--net=/run/netns/{netns}", "ip", "link", "set",
            "mig0"]
    subprocess.run([*link, "down"], check=True)
    try:
        name = machine.begin_migration()
        shell = shell_of(cluster, machine, name)
        told = shell.run("ferryctl doctor", may_fail=True)
        assert f"The migration network is missing on {target}" in told
        wait_finding(cluster, name, ["TargetNodePreparation"], "node-silent")
        assert "mig0" in shell.part("migration-network-missing", "Check",
                                    netns=netns)
    finally:
        subprocess.run([*link, "up"], check=True)
    machine.wait_migration(name)
