# SPDX-License-Identifier: Apache-2.0
"""Machines from a manifest, and live migrations of them.

FERRY_DEEP=1 moves one there and back ten times.
"""

import os

import pytest

from embedded import PATIENCE, Embedded
from kubeapi import wait_for

ROUNDS = 10 if os.environ.get("FERRY_DEEP") else 1


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="machine")
def fixture_machine(cluster):
    return cluster.start_machine("vm1")


def test_a_machine_runs_from_its_manifest(cluster, machine):
    status = machine.vmi["status"]
    assert status["phase"] == "Running"
    assert status["migrationMethod"] == "LiveMigration"
    assert cluster.get("vm", "vm1")["status"]["printableStatus"] == "Running"
    machine.check()


def test_it_moves_there_and_back_while_somebody_talks_to_it(machine):
    home = machine.node
    with machine.pinging() as pinger:
        moves = [machine.migrate() for _ in range(2 * ROUNDS)]
    assert machine.node == home
    machine.check()
    assert pinger.received > 0
    wait_for("how long it stood still", lambda: machine.vmi["status"][
        "migrationState"]["progress"]["downtimeMs"], PATIENCE)
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


def test_only_the_pod_it_is_in_stays(machine):
    machine.migrate()
    wait_for("the old pod to go", lambda: len(machine.pods()) == 1, PATIENCE)
    assert machine.pods()[0]["spec"]["nodeName"] == machine.node


def test_a_drained_node_is_left_and_the_machine_goes_on(cluster, machine):
    left = machine.node
    cluster.kubectl("drain", left, "--ignore-daemonsets", "--force",
                    "--delete-emptydir-data", "--timeout=120s", timeout=180)
    try:
        assert machine.node != left
        machine.check()
    finally:
        cluster.kubectl("uncordon", left)
