# SPDX-License-Identifier: Apache-2.0
"""The runbook: what can happen between the nodes and during the copy, brought
about on a cluster with a real machine. What `ferryctl explain` and `ferryctl
doctor` say of it is checked, and the commands of the entry are run."""

import contextlib
import os
import shutil
import signal
import subprocess

import pytest

from embedded import PATIENCE, VMIM, Embedded
from kubeapi import wait_for
from proxies import Pki
from runbooks import machine_shell

SLOW = "4Mi"  # bytes per second of a migration that shall not end
LONG_AGO = ("20240101000000Z", "20240201000000Z")
LOST = ["ConnectFailed", "ConnectionLost"]
MEMORY, DISKS = 49152, 49153  # channels


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="machine")
def fixture_machine(cluster):
    """It writes to its memory all the time, and has a disk that moves with
    it."""
    return cluster.start_machine(
        "vm1", dirty="32,4000",
        disks=[{"name": "scratch", "disk": {"bus": "virtio"}}],
        volumes=[{"name": "scratch", "emptyDisk": {"capacity": "8Mi"}}])


@pytest.fixture(autouse=True)
def _unharmed(request):
    """Whatever a test does, the machine runs on."""
    yield
    request.getfixturevalue("machine").check_alone()


@pytest.fixture(name="shell")
def fixture_shell(cluster, machine):
    return machine_shell(cluster, machine)


@contextlib.contextmanager
def slowly(machine, **policy):
    """A migration that copies and does not end; its name."""
    with machine.policy(bandwidthPerMigration=SLOW, **policy):
        name = machine.begin_migration()
        machine.wait_copying(name)
        yield name


# --- between the nodes -------------------------------------------------------

def test_a_source_that_does_not_start_is_named(cluster, machine, shell):
    source = machine.node
    with cluster.stopped("ferry-handler", source):
        name = machine.begin_migration()
        machine.wait_phase(name, "TargetReady")
        shell.wait_finding(["SourceNodeStart"], "node-silent", "vmim", name)
        shell.environment["MIGRATION"] = name
        told = shell.part("node-silent", "Check", may_fail=True)
        assert "The target is ready and nothing starts: the agent " \
            f"(ferry-handler) of {source} does not answer" in told
        # On the computer itself the proxies can be asked all the same.
        told = shell.run(f'ferryctl doctor "$MIGRATION" --dir {cluster.dir}',
                         may_fail=True)
        assert f"The target is ready and nothing starts: {source}" in told
        # Where it is to be started again; here is no pod of it.
        assert "No resources found" in shell.part("node-silent", "Fix")
    machine.wait_migration(name)


def test_a_proxy_that_is_away_is_told_from_an_agent(cluster, machine, shell):
    target = shell.environment["NODE"]
    cluster.kill("ferry-proxy", target)
    try:
        name = machine.begin_migration()
        machine.wait_phase(name, "PreparingTarget")
        shell.environment["MIGRATION"] = name
        told = shell.part("node-silent", "Check", may_fail=True)
        assert f"The proxy (ferry-proxy) of {target} does not answer" in told
        assert told.count("ok    agent ") == 2
    finally:
        cluster.complete()
    machine.wait_migration(name)


def _nft(netns, *arguments):
    subprocess.run(["nsenter", f"--net=/run/netns/{netns}", "nft",
                    *arguments], check=True)


@contextlib.contextmanager
def blocked(cluster, node, port):
    """A firewall in front of a node drops what goes to a port; where."""
    netns = f"ferry-{cluster.name}-{node}"
    _nft(netns, "add table inet blocked")
    try:
        _nft(netns, "add chain inet blocked in "
             "{ type filter hook input priority 0; }")
        _nft(netns, f"add rule inet blocked in tcp dport {port} drop")
        yield netns
    finally:
        _nft(netns, "delete table inet blocked")


@contextlib.contextmanager
def stopped_launcher(machine):
    """What a machine runs under does nothing meanwhile; the guest goes on."""
    [pid] = machine.processes(machine.node, "ferry-launcher")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def listens(machine, name):
    """Whether the target of a migration has said where."""
    uid = machine.cluster.get(VMIM, name)["metadata"]["uid"]
    state = machine.vmi["status"].get("migrationState", {})
    return state.get("migrationUid") == uid and \
        "targetDirectMigrationNodePorts" in state


def port_of(machine, channel):
    ports = machine.vmi["status"]["migrationState"][
        "targetDirectMigrationNodePorts"]
    return next(p for p, c in ports.items() if c == channel)


def test_one_blocked_port_of_a_block_migration_is_named(cluster, machine,
                                                        shell):
    target = shell.environment["NODE"]
    assert machine.vmi["status"]["migrationMethod"] == "BlockMigration"
    with contextlib.ExitStack() as undo:
        with cluster.stopped("ferry-handler", machine.node):
            name = machine.begin_migration()
            machine.wait_phase(name, "TargetReady")
            port = port_of(machine, DISKS)
            netns = undo.enter_context(blocked(cluster, target, port))
        machine.wait_migration(name, "Failed")
        assert f"dport {port} drop" in shell.part("port-blocked", "Check",
                                                  netns=netns)
    finding = shell.wait_finding(LOST, "port-blocked", "vmim", name)
    assert "DialTimeout" in finding["message"]


def test_doctor_names_the_port_that_is_blocked(cluster, machine, shell):
    """The source is held before it begins, and its agent is not."""
    target = shell.environment["NODE"]
    with stopped_launcher(machine):
        name = machine.begin_migration()
        # It has claimed the start by now, or is about to.
        wait_for("the target to listen", lambda: listens(machine, name),
                 PATIENCE)
        port = port_of(machine, DISKS)
        shell.environment["MIGRATION"] = name
        with blocked(cluster, target, port):
            told = shell.part("no-connection", "Check", may_fail=True)
    assert "Only some ports are reached: channel " \
        f"{DISKS} (port {port} of {target})" in told
    assert f"ok    channel {MEMORY}" in told
    machine.wait_migration(name)


def test_a_missing_migration_network_is_found(cluster, machine, shell):
    target = shell.environment["NODE"]
    with cluster.node_network(target) as network:
        network.ip("link set mig0 down")
        try:
            name = machine.begin_migration()
            finding = shell.wait_finding(
                ["TargetNodePreparation"], "migration-network-missing",
                "vmim", name)
            assert "interface 'mig0' is down" in finding["detail"]
            shell.environment["MIGRATION"] = name
            for told in (shell.run("ferryctl doctor", may_fail=True),
                         shell.part("no-connection", "Check", may_fail=True)):
                assert f"The migration network is missing on {target}" in told
                assert "FAIL  migration network   interface 'mig0' is down" \
                    in told
                assert "ok    migration network   mig0, " in told
            assert "mig0" in shell.part("migration-network-missing", "Check",
                                        netns=network.name)
        finally:
            network.ip("link set mig0 up")
    machine.wait_migration(name)


class _ClusterPki(Pki):
    """That of a cluster, which exists."""

    # pylint: disable=super-init-not-called
    def __init__(self, cluster):
        self.directory = os.path.join(cluster.dir, "pki")

    def copy(self, name, with_name):
        """The key first, by rename."""
        for suffix in (".key", ".crt"):
            new = self.path(name + suffix + ".tmp")
            shutil.copy(self.path(with_name + suffix), new)
            os.rename(new, self.path(name + suffix))


def test_a_certificate_that_has_expired_is_found(cluster, machine, shell):
    target = shell.environment["NODE"]
    pki = _ClusterPki(cluster)
    pki.node_dated("old", target, *LONG_AGO)
    pki.copy("good", target)
    pki.copy(target, "old")
    try:
        words = f"the certificate of {target} has expired"
        wait_for("doctor to see it", lambda: words in shell.part(
            "certificate-expired", "Check", may_fail=True), PATIENCE)
        name = machine.begin_migration()
        machine.wait_migration(name, "Failed")
        shell.wait_finding(LOST, "certificate-expired", "vmim", name)
        shell.environment["MIGRATION"] = name
        assert words in shell.part("no-connection", "Check", may_fail=True)
    finally:
        pki.copy(target, "good")
    wait_for("the renewed certificate", lambda: "Nothing is wrong" in
             shell.run("ferryctl doctor", may_fail=True), PATIENCE)


# --- during the copy ---------------------------------------------------------

def test_a_guest_that_never_converges_is_given_up(machine, shell):
    with slowly(machine, completionTimeoutPerGiB=15) as name:
        told = shell.part("never-converges", "Check")
        assert "dirtyRateBytesPerSecond" in told
        assert "What it waits for: Transfer" in told
        machine.wait_migration(name, "Failed")
    shell.wait_finding(["CompletionTimeout"], "never-converges", "vmim", name)


def test_a_transfer_can_be_canceled_as_the_runbook_says(cluster, machine,
                                                        shell):
    with slowly(machine) as name:
        shell.part("never-converges", "Fix")
        wait_for("the canceled migration to go",
                 lambda: not cluster.find("vmim", name), PATIENCE)


def test_a_cancel_that_nobody_answers_is_explained(cluster, machine, shell):
    source = machine.node
    with slowly(machine) as name:
        with cluster.stopped("ferry-handler", source):
            shell.run('ferryctl migrate-cancel -n "$NS" "$VM"')
            shell.wait_finding(["AbortAcknowledgement"], "cancel-not-clean",
                               "vmim", name)
            assert source in shell.part("cancel-not-clean", "Check")
        # The handler is back, finds the request and cleans up.
        wait_for("the canceled migration to go",
                 lambda: not cluster.find("vmim", name), PATIENCE)
    assert machine.node == source


def test_a_failure_of_a_node_is_told_in_its_words(machine, shell):
    with slowly(machine) as name:
        os.kill(machine.process(machine.node, "libvirtd"), signal.SIGKILL)
        machine.wait_migration(name, "Failed")
    shell.wait_finding(["LibvirtLost"], "node-failure", "vmim", name)
    shell.environment["MIGRATION"] = name
    assert "libvirt" in shell.part("node-failure", "Check")


def test_a_target_node_that_dies_is_named(cluster, machine, shell):
    source, target = machine.node, shell.environment["NODE"]
    with slowly(machine) as name:
        cluster.kill_node(target)
        try:
            machine.wait_migration(name, "Failed")
            finding = shell.wait_finding(
                ["TargetNodeNotReady"], "target-node-dies", "vmim", name)
            assert f"Node {target} is not ready" in finding["message"]
            told = shell.part("target-node-dies", "Check")
            assert "NotReady" in told and source in told
            shell.part("target-node-dies", "Fix")
            assert "SchedulingDisabled" in cluster.kubectl("get", "node",
                                                           target)
        finally:
            cluster.complete()
            cluster.kubectl("uncordon", target)
    assert machine.node == source
