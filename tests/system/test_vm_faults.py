# SPDX-License-Identifier: Apache-2.0
"""What happens to machines when their nodes are cut off, untrue or rebooted.

Whatever it is: afterwards the machine runs once, with its memory intact unless
its own node was rebooted; the migration has ended and says why. What is killed
one by one is in test_vm_kills_*.py.
"""

import contextlib
import os
import shutil

import pytest

from embedded import PATIENCE, VMI, Embedded
from ends import Ends, code_of
from kubeapi import wait_for
from phases import Held, other


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="shared_machine")
def fixture_shared_machine(cluster):
    return cluster.start_machine("vm1", dirty="16,500")


@pytest.fixture(scope="module", name="ends")
def fixture_ends(cluster):
    with Ends(cluster) as ends:
        yield ends


@pytest.fixture(name="machine")
def fixture_machine(cluster, shared_machine):
    """All programs run before and after; the machine is alone afterwards, and
    nothing is left of what was tried."""
    yield shared_machine
    cluster.complete()
    shared_machine.check_alone()
    cluster.check_tidy()


def reason_of(vmim):
    """The condition that says why a migration failed."""
    found = [c for c in vmim["status"].get("conditions", [])
             if c["type"] == "ferry.io/Failure"]
    return found[0] if found else None


@contextlib.contextmanager
def cut_off(cluster, node):
    """Nothing of migrations gets through to a node, or away from it."""
    with cluster.node_network(node) as network:
        network.ip("link set mig0 down")
        try:
            yield
        finally:
            network.ip("link set mig0 up")


def check_failed(machine, end, source, code):
    """The node has said so, and why; the machine stays."""
    assert code_of(end)[0] == "ReportedByNode"
    assert end["status"]["migrationState"]["failureCode"] == code
    assert machine.node == source


def test_a_migration_network_that_goes_down_ends_a_migration(cluster, machine,
                                                             ends):
    with Held(cluster, "Running", [machine]) as held:
        held.check()
        with cut_off(cluster, held.target):
            end = ends.wait(held.names[machine])
    check_failed(machine, end, held.source, "ConnectionLost")
    assert "PeerDead" in code_of(end)[1]


def test_a_post_copy_that_is_cut_is_taken_up_again(cluster, ends):
    machine = cluster.start_machine("cut", memory="256Mi", dirty="96,500")
    with machine.pinging(), Held(cluster, "PostCopy", [machine]) as held:
        wait_for("it to run there", lambda: machine.count(held.target)
                 > machine.count(held.source) + 20, PATIENCE)
        held.check()
        with cut_off(cluster, held.target):
            wait_for("it to stand", lambda: "Paused" in machine.conditions(),
                     PATIENCE)
        held.release()
        end = ends.wait(held.names[machine])
    assert end["status"]["phase"] == "Succeeded"
    assert machine.node == held.target
    machine.check_alone()
    machine.delete()
    cluster.check_tidy()


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
        end = machine.wait_migration(machine.begin_migration(), "Failed")
    check_failed(machine, end, source, "ConnectionLost")
    assert "WrongNode" in code_of(end)[1]


def test_a_target_that_is_rebooted_leaves_the_machine_where_it_was(
        cluster, machine, ends):
    with Held(cluster, "Running", [machine]) as held:
        held.check()
        cluster.reboot(held.target)
        end = ends.wait(held.names[machine])
    check_failed(machine, end, held.source, "ConnectionLost")


def test_a_source_that_is_rebooted_starts_the_machine_anew(cluster, machine,
                                                           ends):
    uid = machine.vmi["metadata"]["uid"]
    with Held(cluster, "Running", [machine]) as held:
        held.check()
        cluster.reboot(held.source)
        machine.forget()
        end = ends.wait(held.names[machine])
    assert end["status"]["phase"] == "Failed"
    assert code_of(end)[0] in ("ReportedByNode", "MachineEnded", "MachineGone")
    wait_for("another instance", lambda: (
        cluster.find(VMI, machine.name) or {"metadata": {"uid": uid}})[
            "metadata"]["uid"] != uid, PATIENCE)
    machine.wait_running()
