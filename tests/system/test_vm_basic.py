# SPDX-License-Identifier: Apache-2.0
"""Machines from a manifest, and live migrations of them.

FERRY_DEEP=1 moves one there and back ten times, not five.
"""

import os
import re

import pytest

from embedded import PATIENCE, Embedded
from kubeapi import wait_for

ROUNDS = 10 if os.environ.get("FERRY_DEEP") else 5
# Far above what is usual (0.5 s): computers that run tests are busy.
SILENCE_MS = 60000
POD_NETWORK = [{"name": "default", "pod": {}}]
ALLOW_BRIDGE = "kubevirt.io/allow-pod-bridge-network-live-migration"

_LEASE = re.compile(r"^lease ip=(\S+) router=(\S*)\r?$", re.M)


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="shared_machine")
def fixture_shared_machine(cluster):
    return cluster.start_machine("vm1")


@pytest.fixture(name="machine")
def fixture_machine(cluster, shared_machine):
    """It is alone afterwards, and nothing else is left."""
    yield shared_machine
    shared_machine.check_alone()
    cluster.check_tidy()


def test_a_machine_runs_from_its_manifest(cluster, machine):
    status = machine.vmi["status"]
    assert status["phase"] == "Running"
    assert status["migrationMethod"] == "LiveMigration"
    assert cluster.get("vm", "vm1")["status"]["printableStatus"] == "Running"


def move(machine, talker):
    """Moves it; whoever talks to it goes on doing so."""
    vmim = machine.migrate()
    talker.wait_answer()
    return vmim


def test_it_moves_there_and_back_while_somebody_talks_to_it(machine):
    home = machine.node
    with machine.talking() as talker, machine.pinging() as pinger:
        moves = [move(machine, talker) for _ in range(2 * ROUNDS)]
        # It answers who asks only now, too.
        with machine.pinging() as later:
            wait_for("how long it stood still", lambda: machine.vmi["status"][
                "migrationState"]["progress"]["downtimeMs"], PATIENCE)
    assert machine.node == home
    assert later.received > 0
    assert pinger.gap_ms < SILENCE_MS
    for vmim in moves:
        state = vmim["status"]["migrationState"]
        assert state["completed"] and not state.get("failed")
        assert state["mode"] == "PreCopy"
        assert state["progress"]["percent"] == 100
        phases = [t["phase"]
                  for t in vmim["status"]["phaseTransitionTimestamps"]]
        assert phases == ["Pending", "Scheduling", "Scheduled",
                          "PreparingTarget", "TargetReady", "Running",
                          "Succeeded"]


def test_a_drained_node_is_left_and_the_machine_goes_on(cluster, machine):
    left = machine.node
    cluster.kubectl("drain", left, "--ignore-daemonsets", "--force",
                    "--delete-emptydir-data", "--timeout=120s", timeout=180)
    try:
        assert machine.node != left
    finally:
        cluster.kubectl("uncordon", left)


def lease(machine):
    """(address, router) that its guest has got in the pod it is in."""
    found = _LEASE.findall(machine.log())
    return found[-1] if found else None


def pod_address(machine):
    return machine.pod_on(machine.node)["status"]["podIP"]


def check_answers(cluster, machine):
    """Who asks at the address of its pod gets an answer from the guest."""
    with cluster.node_network(machine.node) as network, \
            machine.talking(pod_address(machine), network) as talker:
        talker.wait_answer()


@pytest.fixture(scope="module", name="podded")
def fixture_podded(cluster):
    """{binding: machine} of two that are on the network of their pods."""
    machines = {}
    for binding in ("masquerade", "bridge"):
        machines[binding] = cluster.start_machine(
            binding, wait=False, dhcp=True, networks=POD_NETWORK,
            interfaces=[{"name": "default", binding: {}}],
            annotations={ALLOW_BRIDGE: "true"})
    for machine in machines.values():
        machine.wait_running()
        wait_for("a lease", lambda m=machine: lease(m), PATIENCE)
    yield machines
    for machine in machines.values():
        machine.delete()
    cluster.check_tidy()


@pytest.mark.parametrize("binding,address", [
    # The same in each pod.
    ("masquerade", lambda _: "10.0.2.2"),
    # That of the pod it is in; it asks again after it has moved.
    ("bridge", pod_address),
], ids=("masquerade", "bridge"))
def test_a_machine_on_the_network_of_its_pod_moves(cluster, podded, binding,
                                                   address):
    machine = podded[binding]
    before = pod_address(machine)
    assert lease(machine)[0] == address(machine)
    check_answers(cluster, machine)
    machine.migrate()
    assert pod_address(machine) != before
    wait_for("a lease there", lambda: (lease(machine) or [""])[0]
             == address(machine), PATIENCE)
    check_answers(cluster, machine)
    machine.check_alone()
