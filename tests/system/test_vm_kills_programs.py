# SPDX-License-Identifier: Apache-2.0
"""Programs of nodes that are killed (-9) while a machine moves, in each phase.

Nobody misses a handler, a kubelet or a controller, whenever it is: one machine
gets through with all of them killed in every phase, and with ferry-proxy and
the source's libvirtd killed before there is something for them to do. While
streams flow they need ferry-proxy; post-copy waits for it. FERRY_DEEP=1 kills
one at a time.
"""

import contextlib
import os
import socket

import pytest

from embedded import PATIENCE, Embedded
from ends import Ends, code_of
from kubeapi import wait_for
from phases import PHASES, Held, blocked, cordoned, other
from victims import PROGRAMS, Victims

# All of them; there is one controller, on no side.
EVERYWHERE = [(side, what) for side in ("source", "target")
              for what in PROGRAMS if (side, what) != ("target", "controller")]
# What keeps a phase goes last: without it the migration goes on.
KEEPERS = {"PreparingTarget": ("target", "handler"),
           "TargetReady": ("source", "handler")}


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="ends")
def fixture_ends(cluster):
    with Ends(cluster) as ends:
        yield ends


@pytest.fixture(scope="module", name="shared_machine")
def fixture_shared_machine(cluster):
    """It has enough to keep a slow wire busy."""
    return cluster.start_machine("vm1", memory="256Mi", dirty="128,500")


@pytest.fixture(scope="module", name="blocker")
def fixture_blocker(cluster, shared_machine):
    with cordoned(cluster, other(cluster, shared_machine.node)):
        return cluster.start_machine("blocker")


@pytest.fixture(name="machine")
def fixture_machine(cluster, shared_machine):
    """It is alone afterwards, and nothing is left of what was tried."""
    yield shared_machine
    shared_machine.check_alone()
    cluster.check_tidy()


def ports_of(machine):
    return machine.vmi["status"]["migrationState"][
        "targetDirectMigrationNodePorts"]


def kill(held, machine, side, what):
    """In that phase; a target that has said where it listens says so anew, and
    libvirtd answers again before there is something for it to do."""
    held.check()
    moved = (held.phase, side, what) == ("TargetReady", "target", "proxy")
    before = ports_of(machine) if moved else None
    Victims(machine, getattr(held, side)).kill(what)
    if moved:
        wait_for("other ports", lambda: ports_of(machine) != before, PATIENCE)
    if what == "libvirtd":
        wait_for("it to answer", lambda: answers(machine, held.source),
                 PATIENCE)


def answers(machine, node):
    """libvirtd of the machine does. Killed often, it takes its time."""
    pid = machine.process(node, "ferry-launcher")
    with contextlib.suppress(OSError), \
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(f"/proc/{pid}/root/run/libvirt/libvirt-sock")
        return True
    return False


def harmless(phase):
    """What nobody misses in a phase, in an order that keeps it."""
    found = [(side, what) for side, what in EVERYWHERE
             if what != "proxy" or phase not in ("Running", "PostCopy")]
    if phase not in ("Running", "PostCopy"):
        found.insert(0, ("source", "libvirtd"))
    found.sort(key=lambda victim: victim == KEEPERS.get(phase))
    return found


def check_succeeded(machine, held, ends):
    end = ends.wait(held.names[machine])
    assert end["status"]["phase"] == "Succeeded", end["status"]
    assert machine.node == held.target


def test_programs_killed_in_every_phase_cost_nothing(machine, blocker, ends):
    with blocked(blocker), Held(machine.cluster, PHASES[0], [machine]) as held:
        for phase in PHASES[:-1]:
            if phase != held.phase:
                held.advance(phase)
            for side, what in harmless(phase):
                kill(held, machine, side, what)
        held.release()
        check_succeeded(machine, held, ends)


def wait_counts(machine, node):
    """Until the guest runs there, for a second of its own."""
    mark = machine.count(node)
    wait_for(f"{machine.name} to count on {node}",
             lambda: machine.count(node) > mark + 20, PATIENCE)


def test_programs_killed_in_post_copy_cost_nothing(machine, ends):
    """Packets come meanwhile. Under emulation QEMU's main thread waits, with
    all locks that it has, for the page that one is to be written to, and does
    not answer anybody who would tell it to go on."""
    with machine.pinging(), Held(machine.cluster, "PostCopy", [machine]) \
            as held:
        for side, what in harmless("PostCopy"):
            kill(held, machine, side, what)
        for side in ("source", "target"):
            wait_counts(machine, held.target)
            kill(held, machine, side, "proxy")
        wait_counts(machine, held.target)
        held.check()
        held.release()
        check_succeeded(machine, held, ends)


@pytest.mark.parametrize("side", ["source", "target"])
def test_without_a_proxy_nothing_flows_and_the_machine_stays(machine, ends,
                                                             side):
    with Held(machine.cluster, "Running", [machine]) as held:
        kill(held, machine, side, "proxy")
        end = ends.wait(held.names[machine])
    assert code_of(end)[0] == "ReportedByNode"
    assert end["status"]["migrationState"]["failureCode"] == "ConnectionLost"
    assert machine.node == held.source


def test_all_programs_killed_at_once_cost_nothing(cluster, machine, ends):
    with Held(cluster, "Running", [machine]) as held:
        for name in ("ferry-handler", "ferry-kubelet"):
            for node in cluster.node_names():
                cluster.kill(name, node)
        for name in ("ferry-controller", "ferry-api"):
            cluster.kill(name)
        held.check()
        cluster.complete()
        held.release()
        check_succeeded(machine, held, ends)


if os.environ.get("FERRY_DEEP"):
    @pytest.mark.parametrize("side,what,phase", [
        (*victim, phase) for phase in PHASES for victim in harmless(phase)])
    def test_a_program_killed_in_a_phase_costs_nothing(machine, blocker, ends,
                                                       side, what, phase):
        with contextlib.ExitStack() as stack:
            if phase == "Scheduled":
                stack.enter_context(blocked(blocker))
            held = stack.enter_context(Held(machine.cluster, phase,
                                            [machine]))
            kill(held, machine, side, what)
            stack.close()
            check_succeeded(machine, held, ends)
        if blocker.node != machine.node:
            blocker.migrate()
