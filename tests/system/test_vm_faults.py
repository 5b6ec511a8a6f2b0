# SPDX-License-Identifier: Apache-2.0
"""What happens to machines when something of theirs is killed or cut off.

Whatever it is: afterwards the machine runs once, and if its QEMU was not what
was killed, with its memory intact; the migration has ended and says why.
FERRY_DEEP=1 kills everything in every phase.
"""

import contextlib
import os
import shutil
import signal

import pytest

from embedded import PATIENCE, VMI, VMIM, Embedded
from kubeapi import wait_for

DEEP = bool(os.environ.get("FERRY_DEEP"))
# About eight seconds for what the guest has.
SLOW = "12Mi"
PHASES = ("Scheduling", "PreparingTarget", "TargetReady", "Running")


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="shared_machine")
def fixture_shared_machine(cluster):
    return cluster.start_machine("vm1", dirty="16,500")


@pytest.fixture(name="fast_machine")
def fixture_fast_machine(cluster, shared_machine):
    """All programs run before and after; the machine is alone afterwards, and
    nothing is left of what was tried."""
    yield shared_machine
    cluster.complete()
    shared_machine.check_alone()
    cluster.check_tidy()


@pytest.fixture(name="machine")
def fixture_machine(fast_machine):
    """The same, which takes its time to move."""
    with fast_machine.policy(bandwidthPerMigration=SLOW):
        yield fast_machine


def other(cluster, node):
    return next(name for name in cluster.node_names() if name != node)


def kill_in_pod(name):
    def kill(machine, node):
        for pid in machine.processes(node, name):
            os.kill(pid, signal.SIGKILL)
    return kill


def kill_program(name):
    def kill(machine, node):
        machine.cluster.kill(name, 0 if name == "ferry-controller" else node)
        machine.cluster.complete()
    return kill


def delete_pod(machine, node):
    pod = machine.pod_on(node)
    if pod:
        machine.cluster.kubectl("delete", "pod", pod["metadata"]["name"],
                                "--grace-period=0", "--force")


KILLS = {
    "handler": kill_program("ferry-handler"),
    "kubelet": kill_program("ferry-kubelet"),
    "controller": kill_program("ferry-controller"),
    "proxy": kill_program("ferry-proxy"),
    "libvirtd": kill_in_pod("libvirtd"),
    "launcher": kill_in_pod("ferry-launcher"),
    "qemu": kill_in_pod("qemu-system-x86"),
    "pod": delete_pod,
}
# What does not touch the streams costs nothing.
HARMLESS = ("handler", "kubelet", "controller")
# What takes the machine itself with it.
FATAL = (("source", "launcher"), ("source", "qemu"), ("source", "pod"))

SAMPLE = [("target", "qemu", "Running"), ("target", "libvirtd", "Running"),
          ("target", "pod", "Running"), ("target", "proxy", "Running"),
          ("source", "proxy", "Running"), ("source", "libvirtd", "Running"),
          ("target", "launcher", "PreparingTarget")]
EVERYTHING = [(side, what, phase) for phase in PHASES
              for side in ("source", "target") for what in KILLS
              if (side, what) not in FATAL
              and not (side == "target" and what == "controller")]


def reach(machine, name, phase):
    if phase == "Running":
        machine.wait_copying(name, percent=10)
    else:
        machine.wait_phase(name, phase)


def reason_of(vmim):
    """The condition that says why a migration failed."""
    found = [c for c in vmim["status"].get("conditions", [])
             if c["type"] == "ferry.io/Failure"]
    return found[0] if found else None


@pytest.mark.parametrize("side,what,phase", EVERYTHING if DEEP else SAMPLE)
def test_a_machine_outlives_what_is_killed_beside_it(cluster, machine, side,
                                                     what, phase):
    source = machine.node
    victim = source if side == "source" else other(cluster, source)
    name = machine.begin_migration()
    reach(machine, name, phase)
    KILLS[what](machine, victim)
    vmim = machine.wait_migration(name, phase=None)
    if vmim["status"]["phase"] == "Succeeded":
        assert machine.node != source
        return
    assert machine.node == source
    assert what not in HARMLESS
    assert reason_of(vmim)["message"]


def test_programs_killed_all_at_once_cost_nothing(cluster, machine):
    source = machine.node
    name = machine.begin_migration()
    machine.wait_copying(name, percent=10)
    for program in ("ferry-handler", "ferry-kubelet"):
        for node in cluster.node_names():
            cluster.kill(program, node)
    cluster.kill("ferry-controller")
    cluster.kill("ferry-api")
    cluster.complete()
    machine.wait_migration(name)
    assert machine.node != source


def test_a_migration_network_that_goes_down_ends_a_migration(cluster,
                                                             machine):
    source = machine.node
    name = machine.begin_migration()
    machine.wait_copying(name, percent=10)
    with cluster.node_network(other(cluster, source)) as network:
        network.ip("link set mig0 down")
        try:
            vmim = machine.wait_migration(name, "Failed")
        finally:
            network.ip("link set mig0 up")
    assert "PeerDead" in reason_of(vmim)["message"]
    assert machine.node == source


if DEEP:
    def test_a_post_copy_that_is_cut_is_taken_up_again(cluster, fast_machine):
        machine = fast_machine
        source = machine.node
        with machine.policy(bandwidthPerMigration="4Mi", allowPostCopy=True,
                            allowWorkloadDisruption=True,
                            completionTimeoutPerGiB=8):
            name = machine.begin_migration()
            # Before the guest runs there QEMU could not take it up again.
            wait_for("the guest to run in both", lambda: machine.vmi["status"].get(
                "migrationState", {}).get("targetNodeDomainReadyTimestamp"),
                PATIENCE)
            with cluster.node_network(other(cluster, source)) as network:
                network.ip("link set mig0 down")
                try:
                    wait_for("it to stand", lambda: "Paused"
                             in machine.conditions(), PATIENCE)
                finally:
                    network.ip("link set mig0 up")
            machine.wait_migration(name)
        assert machine.node != source


@contextlib.contextmanager
def certificate_of(cluster, node, wrong):
    """The proxy of a node has the certificate of another one."""
    def path(name):
        return os.path.join(cluster.dir, "pki", name)

    def restart():
        cluster.ferryctl("cluster", "restart", "ferry-proxy", "--node",
                         node[len("node"):])

    for kind in ("crt", "key"):
        shutil.copy2(path(f"{node}.{kind}"), path(f"kept.{kind}"))
        shutil.copy2(path(f"{wrong}.{kind}"), path(f"{node}.{kind}"))
    restart()
    try:
        yield
    finally:
        for kind in ("crt", "key"):
            os.replace(path(f"kept.{kind}"), path(f"{node}.{kind}"))
        restart()


def test_a_node_with_the_certificate_of_another_gets_no_machine(cluster,
                                                                machine):
    source = machine.node
    with certificate_of(cluster, other(cluster, source), source):
        vmim = machine.wait_migration(machine.begin_migration(), "Failed")
    assert "WrongNode" in reason_of(vmim)["message"]
    assert machine.node == source


def test_a_target_that_is_rebooted_leaves_the_machine_where_it_was(cluster,
                                                                   machine):
    source = machine.node
    name = machine.begin_migration()
    machine.wait_copying(name, percent=10)
    cluster.reboot(other(cluster, source))
    vmim = machine.wait_migration(name, "Failed")
    assert reason_of(vmim)["message"]
    assert machine.node == source


def test_a_source_that_is_rebooted_starts_the_machine_anew(cluster, machine):
    source = machine.node
    uid = machine.vmi["metadata"]["uid"]
    name = machine.begin_migration()
    machine.wait_copying(name, percent=10)
    cluster.reboot(source)
    machine.forget()

    def ended():
        """It goes with the instance that it was for."""
        vmim = cluster.find(VMIM, name)
        return vmim is None or vmim["status"]["phase"] == "Failed"

    wait_for(f"the end of {name}", ended, PATIENCE)
    wait_for("another instance", lambda: (
        cluster.find(VMI, machine.name) or {"metadata": {"uid": uid}})[
            "metadata"]["uid"] != uid, PATIENCE)
    machine.wait_running()
