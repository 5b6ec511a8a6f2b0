# SPDX-License-Identifier: Apache-2.0
"""Migrations that are canceled: the machine stays where it is, unharmed."""

import contextlib
import signal

import pytest

from embedded import PATIENCE, VMIM, Embedded
from kubeapi import wait_for

SLOW = "4Mi"
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota",
         "metadata": {"name": "full"}, "spec": {"hard": {"pods": "1"}}}


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="shared_machine")
def fixture_shared_machine(cluster):
    return cluster.start_machine("vm1")


@pytest.fixture(name="machine")
def fixture_machine(cluster, shared_machine):
    """It is where it was afterwards, alone, and nothing else is left."""
    source = shared_machine.node
    yield shared_machine
    assert shared_machine.node == source
    shared_machine.check_alone()
    cluster.check_tidy()


def other(cluster, node):
    return next(name for name in cluster.node_names() if name != node)


@contextlib.contextmanager
def full(cluster, _source, _target):
    """No more pods than there are."""
    cluster.create(QUOTA)
    try:
        yield
    finally:
        cluster.kubectl("delete", "quota", "full")


@contextlib.contextmanager
def cordoned(cluster, _source, target):
    cluster.kubectl("cordon", target)
    try:
        yield
    finally:
        cluster.kubectl("uncordon", target)


@contextlib.contextmanager
def stopped(cluster, node):
    """Its handler does not do anything meanwhile."""
    cluster.signal("ferry-handler", node, signal.SIGSTOP)
    try:
        yield
    finally:
        cluster.signal("ferry-handler", node, signal.SIGCONT)


def target_stopped(cluster, _source, target):
    return stopped(cluster, target)


def source_stopped(cluster, source, _target):
    return stopped(cluster, source)


# What keeps a migration in a phase.
PHASES = {
    "Pending": full,
    "Scheduling": cordoned,
    "PreparingTarget": target_stopped,
    "TargetReady": source_stopped,
}


def cancel(cluster, name):
    """Deletes a migration and waits until it is gone."""
    cluster.delete(VMIM, name)
    wait_for(f"{name} to go", lambda: cluster.find(VMIM, name) is None,
             PATIENCE)


@pytest.mark.parametrize("phase", PHASES)
def test_a_migration_is_canceled_before_it_runs(cluster, machine, phase):
    source = machine.node
    with PHASES[phase](cluster, source, other(cluster, source)):
        name = machine.begin_migration()
        machine.wait_phase(name, phase)
        cancel(cluster, name)
    assert machine.vmi["status"].get("migrationState", {}).get(
        "startTimestamp") is None or \
        machine.vmi["status"]["migrationState"].get("completed")


def test_a_migration_is_canceled_while_memory_is_copied(cluster, machine):
    with machine.policy(bandwidthPerMigration=SLOW):
        name = machine.begin_migration()
        machine.wait_copying(name, percent=20)
        cancel(cluster, name)
    state = machine.vmi["status"]["migrationState"]
    assert state["abortStatus"] == "Succeeded"
    assert state["failed"] and state["failureCode"] == "Canceled"


def test_a_second_migration_is_refused_while_one_goes_on(cluster, machine):
    with machine.policy(bandwidthPerMigration=SLOW):
        name = machine.begin_migration()
        machine.wait_copying(name)
        uid = cluster.get(VMIM, name)["metadata"]["uid"]
        done = cluster.kubectl_raw("create", "-f", "-", stdin=f"""
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceMigration
metadata: {{name: second}}
spec: {{vmiName: {machine.name}}}
""")
        assert done.returncode != 0
        assert ("in-flight migration detected. Active migration job "
                f"({uid}) is currently already in progress for VMI "
                f"{machine.name}.") in done.stderr
        cancel(cluster, name)


def test_a_canceled_machine_can_be_migrated_again(cluster, shared_machine):
    shared_machine.migrate()
    shared_machine.check_alone()
    cluster.check_tidy()
