# SPDX-License-Identifier: Apache-2.0
"""Migrations that are canceled, in every phase.

The machine stays where it is, unharmed; once it runs on the target it is too
late, and the migration goes on to its end.
"""

import pytest

from embedded import PATIENCE, VMIM, Embedded
from ends import Ends, code_of
from kubeapi import wait_for
from phases import Held, blocked, cordoned, other


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


@pytest.fixture(scope="module", name="blocker")
def fixture_blocker(cluster, shared_machine):
    """Another one on the same node."""
    with cordoned(cluster, other(cluster, shared_machine.node)):
        return cluster.start_machine("blocker")


@pytest.fixture(scope="module", name="ends")
def fixture_ends(cluster):
    with Ends(cluster) as ends:
        yield ends


def cancel(cluster, name):
    """Deletes a migration and waits until it is gone."""
    cluster.delete(VMIM, name)
    wait_for(f"{name} to go", lambda: cluster.find(VMIM, name) is None,
             PATIENCE)


def check_canceled(machine, ends, phase):
    """It is canceled in a phase, and nothing has begun if nothing had."""
    with Held(machine.cluster, phase, [machine]) as held:
        held.check()
        cancel(machine.cluster, held.names[machine])
    end = ends.wait(held.names[machine])
    assert end["status"]["phase"] == "Failed"
    assert code_of(end)[0] == "Canceled"
    return end["status"]


@pytest.mark.parametrize("phase", ["Pending", "Scheduling", "PreparingTarget",
                                   "TargetReady"])
def test_a_migration_is_canceled_before_it_runs(machine, ends, phase):
    status = check_canceled(machine, ends, phase)
    assert "mode" not in status.get("migrationState", {})


def test_a_migration_is_canceled_before_it_is_handed_off(machine, blocker,
                                                         ends):
    with blocked(blocker):
        status = check_canceled(machine, ends, "Scheduled")
    assert "mode" not in status.get("migrationState", {})


def test_a_migration_is_canceled_while_memory_is_copied(machine, ends):
    state = check_canceled(machine, ends, "Running")["migrationState"]
    assert state["abortStatus"] == "Succeeded"
    assert state["failed"] and state["failureCode"] == "Canceled"


def check_too_late(cluster, name):
    """It is told that it is to be canceled, and goes on."""
    cluster.delete(VMIM, name)
    wait_for("it to be told", lambda: [
        c for c in cluster.get(VMIM, name)["status"]["conditions"]
        if c["type"] == "migrationAbortRequested"], PATIENCE)


def check_arrived(machine, ends, source, name):
    end = ends.wait(name)
    assert end["status"]["phase"] == "Succeeded"
    assert not end["status"]["migrationState"].get("abortRequested")
    assert machine.node == other(machine.cluster, source)
    machine.check_alone()
    machine.cluster.check_tidy()


def test_a_machine_that_runs_on_the_target_is_not_called_back(
        cluster, shared_machine, ends):
    with Held(cluster, "PostCopy", [shared_machine]) as held:
        held.check()
        check_too_late(cluster, held.names[shared_machine])
        held.check()
    check_arrived(shared_machine, ends, held.source,
                  held.names[shared_machine])


def test_a_machine_that_was_handed_over_is_not_called_back(
        cluster, shared_machine, ends):
    with Held(cluster, "Running", [shared_machine]) as held:
        held.check()
        with cluster.stopped("ferry-handler", held.target):
            held.release()
            wait_for("the source to give it away", lambda: shared_machine.vmi[
                "status"]["migrationState"].get("endTimestamp"), PATIENCE)
            check_too_late(cluster, held.names[shared_machine])
            assert shared_machine.node == held.source
    check_arrived(shared_machine, ends, held.source,
                  held.names[shared_machine])


def test_a_second_migration_is_refused_while_one_goes_on(cluster, machine):
    with Held(cluster, "Running", [machine]) as held:
        name = held.names[machine]
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
