# SPDX-License-Identifier: Apache-2.0
"""KubeVirt's numbers about migrations, at each moment of one: what a dashboard
that was made for KubeVirt relies on."""

from datetime import datetime, timezone

import pytest

from faults_seen import is_write
from kubeapi import has_vanished, wait_for
from played import wait_phase
from played_objects import VMIMS, namespaced
from played_steps import FINAL, state, status
from scraped import Scraped

NODES = ("count-a", "count-b", "count-c")
FAULTS = True
# Of the cluster one at a time: others are pending.
MIGRATIONS = {"parallelMigrationsPerCluster": 1}
PHASES = ("unset", "pending", "scheduling", "running")
STEPS = ("run", "prepare", "start", "arrive", "switch")
START = "kubevirt_vmi_migration_start_time_seconds"
END = "kubevirt_vmi_migration_end_time_seconds"
SUCCEEDED = "kubevirt_vmi_migration_succeeded"
FAILED = "kubevirt_vmi_migration_failed"


@pytest.fixture(name="begin")
def begin_(controllers, played, namespace):
    """Starts a machine whose migrations wait for each step."""
    del controllers
    made = []

    def start(name):
        machine = played.start(namespace, name)
        made.append(machine)
        for step in STEPS:
            played.hold(step, machine)
        return machine
    yield start
    for machine in made:
        for step in STEPS:
            played.release(step, machine)


def scrape(controllers):
    return Scraped(controllers.leader().get("/metrics"))


def phases(controllers):
    """Those that are not 0."""
    found = scrape(controllers)
    counts = {phase: found.value(f"kubevirt_vmi_migrations_in_{phase}_phase")
              for phase in PHASES}
    for phase in PHASES:
        assert not found.labels(f"kubevirt_vmi_migrations_in_{phase}_phase")
    return {phase: count for phase, count in counts.items() if count}


def wait_phases(controllers, **expected):
    wait_for(f"phases to be {expected}",
             lambda: phases(controllers) == expected)


def seconds(timestamp):
    return datetime.fromisoformat(timestamp.rstrip("Z")).replace(
        tzinfo=timezone.utc).timestamp()


def ids(made):
    """The labels by which one that has ended is known."""
    return {"vmi": made["spec"]["vmiName"], "vmim": made["metadata"]["name"],
            "namespace": made["metadata"]["namespace"]}


def delete(played, made):
    path = namespaced(VMIMS, made["metadata"]["namespace"],
                      made["metadata"]["name"])
    played.api.delete(path)
    wait_for(f"{path} to go", lambda: has_vanished(played.api, path))


def test_each_migration_counts_in_the_phase_that_it_is_in(controllers, played,
                                                          begin):
    first, second = begin("vm1"), begin("vm2")
    faults = controllers.leader().faults
    assert phases(controllers) == {}
    # Seen, and nothing can be written yet.
    faults.plan("hang", is_write, count=1000)
    made = played.migrate(first)
    wait_phases(controllers, unset=1)
    faults.heal()
    wait_phases(controllers, scheduling=1)
    other = played.migrate(second)
    wait_phases(controllers, scheduling=1, pending=1)
    # From Scheduled on it goes on, to the end.
    for step, phase in zip(STEPS, ("PreparingTarget", "TargetReady",
                                   "Running")):
        played.step(step, first)
        wait_phase(played.api, made, phase)
        wait_phases(controllers, running=1, pending=1)
    played.step("arrive", first)
    played.step("switch", first)
    assert status(wait_phase(played.api, made, *FINAL))["phase"] == "Succeeded"
    wait_phases(controllers, scheduling=1)
    for step in STEPS:
        played.step(step, second)
    assert status(wait_phase(played.api, other, *FINAL))["phase"] == \
        "Succeeded"
    wait_phases(controllers)


def test_a_migration_has_a_time_when_it_began_and_one_when_it_ended(
        controllers, played, begin):
    machine = begin("vm1")
    namespace = machine.split("/")[0]
    source = status(played.settle(machine))["nodeName"]
    assert not scrape(controllers).find(START, namespace=namespace)
    made = played.migrate(machine)
    about = {"namespace": namespace, "name": "vm1",
             "migration_name": made["metadata"]["name"]}
    for step in ("run", "prepare"):
        played.step(step, machine)
    wait_phase(played.api, made, "TargetReady")
    assert not scrape(controllers).find(START, **about)
    played.step("start", machine)
    wait_phase(played.api, made, "Running")
    began = seconds(state(played.machine(machine))["startTimestamp"])
    found = scrape(controllers)
    assert found.labels(START) == {"node", "namespace", "name",
                                   "migration_name"}
    assert found.value(START, node=source, **about) == began
    assert not found.find(END, **about)

    played.step("arrive", machine)
    played.step("switch", machine)
    wait_phase(played.api, made, *FINAL)
    settled = played.settle(machine)
    target = status(settled)["nodeName"]
    assert target != source
    found = scrape(controllers)
    assert found.labels(END) == {"node", "namespace", "name",
                                 "migration_name", "status"}
    assert found.value(START, node=target, **about) == began
    assert found.value(END, node=target, status="succeeded", **about) == \
        seconds(state(settled)["endTimestamp"])


def test_one_that_failed_says_so_for_as_long_as_it_is_kept(controllers, played,
                                                           begin):
    machine = begin("vm1")
    namespace = machine.split("/")[0]
    for step in STEPS:
        played.release(step, machine)
    good = played.migrate(machine)
    assert status(wait_phase(played.api, good, *FINAL))["phase"] == "Succeeded"
    played.settle(machine)
    played.fail(machine, "the disk is full")
    bad = played.migrate(machine)
    assert status(wait_phase(played.api, bad, *FINAL))["phase"] == "Failed"

    # It is counted when the controller has seen what it wrote.
    found = wait_for("the failure to be counted", lambda: (
        s := scrape(controllers)).find(FAILED, **ids(bad)) and s)
    for family, made in ((SUCCEEDED, good), (FAILED, bad)):
        assert found.labels(family) == {"vmi", "vmim", "namespace"}
        assert found.find(family, namespace=namespace) == [1]
        assert found.value(family, **ids(made)) == 1
    ended = state(played.machine(machine))
    assert found.value(END, status="failed", namespace=namespace, name="vm1",
                       migration_name=bad["metadata"]["name"]) == \
        seconds(ended["endTimestamp"])
    # A machine has one time: that of its last.
    assert len(found.find(END, namespace=namespace)) == 1

    delete(played, bad)
    wait_for("the failure to be forgotten", lambda: not scrape(
        controllers).find(FAILED, namespace=namespace))
    assert scrape(controllers).value(SUCCEEDED, **ids(good)) == 1
