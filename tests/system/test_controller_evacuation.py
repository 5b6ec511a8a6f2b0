# SPDX-License-Identifier: Apache-2.0
"""Machines leave nodes that are drained, and old launchers, by themselves.

The nodes are played; ferry-cluster, ferry-api, ferry-controller and kubectl
are real.
"""

import contextlib
import json

import pytest

import played_objects as objects
from apis import SUBRESOURCES
from controllers import Controllers
from faults_seen import is_create
from kubeapi import wait_for
from played import Played, wait_phase
from played_objects import NODES as NODES_PATH
from played_objects import PODS, VMIMS, VMIS, namespaced
from played_steps import FINAL, status
from test_controller_leader import kill_everywhere
from test_controller_machines import AsController, Mortal

KUBEVIRTS = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
NODES = ("evacuation-a", "evacuation-b", "evacuation-c")
MOVES = {"evictionStrategy": "LiveMigrate"}
DRAIN = {"key": "kubevirt.io/drain", "effect": "NoSchedule"}
PATIENCE = 180


@pytest.fixture(name="played", scope="module")
def played_(api):
    with Played(AsController(api), *NODES) as made:
        yield made


@pytest.fixture(name="controllers", scope="module")
def controllers_(cluster, api, played):
    del api, played  # they are there before
    with Mortal(cluster, 2, faults=True) as made:
        made.leader()
        yield made


@pytest.fixture(name="launch")
def launch_(controllers, played, namespace):
    """Starts instances of one test; the key of one that runs."""
    del controllers

    def launch(name, spec=None):
        key = played.launch(namespace, name, spec={**MOVES, **(spec or {})})
        played.settle(key)
        return key
    return launch


@contextlib.contextmanager
def cordoned(cluster, node):
    try:
        yield
    finally:
        cluster.kubectl("uncordon", node)


@contextlib.contextmanager
def tainted(api, node, taint):
    api.patch(f"{NODES_PATH}/{node}", {"spec": {"taints": [taint]}})
    try:
        yield
    finally:
        api.patch(f"{NODES_PATH}/{node}", {"spec": {"taints": None}})


@contextlib.contextmanager
def kubevirt(api, **spec):
    """The KubeVirt object with this, while it lasts."""
    body = objects.kubevirt()
    body["spec"].update(spec)
    api.create(KUBEVIRTS, body)
    try:
        yield f"{KUBEVIRTS}/kubevirt"
    finally:
        api.delete(f"{KUBEVIRTS}/kubevirt")


def node_of(played, machine):
    return status(played.api.get(namespaced(
        VMIS, *machine.split("/"))))["nodeName"]


def mark(played, machine):
    """As the eviction webhook does; the node that is to be left."""
    node = node_of(played, machine)
    played.api.patch(namespaced(VMIS, *machine.split("/")), {
        "status": {"evacuationNodeName": node}})
    return node


def migrations(played, machine):
    """All of the machine's, the oldest first."""
    namespace, name = machine.split("/")
    found = [m for m in played.api.get(namespaced(VMIMS, namespace))["items"]
             if m["spec"]["vmiName"] == name]
    return sorted(found, key=lambda m: (m["metadata"]["creationTimestamp"],
                                        int(m["metadata"][
                                            "resourceVersion"])))


def wait_migration(played, machine, known=()):
    """The first migration that is not known yet."""
    return wait_for(f"a migration of {machine}", lambda: next(
        (m for m in migrations(played, machine)
         if m["metadata"]["uid"] not in known), None), PATIENCE)


def wait_left(played, machine, node):
    wait_for(f"{machine} to leave {node}",
             lambda: node_of(played, machine) != node, PATIENCE)
    played.settle(machine)


def events(played, machine):
    namespace, name = machine.split("/")
    items = played.api.get(f"/api/v1/namespaces/{namespace}/events")["items"]
    return [(e["source"]["component"], e["reason"], e["message"])
            for e in items if e["involvedObject"]["name"] == name]


# --- marks -------------------------------------------------------------------

def test_a_drained_node_is_left_by_its_machines(cluster, launch, played):
    machines = [launch(f"drained-{i}") for i in range(4)]
    node = node_of(played, machines[0])
    leaving = [m for m in machines if node_of(played, m) == node]
    with cordoned(cluster, node):
        cluster.kubectl("drain", node, "--force", "--ignore-daemonsets",
                        "--delete-emptydir-data", "--timeout=170s",
                        timeout=PATIENCE)
        for machine in leaving:
            wait_left(played, machine, node)
    for machine in leaving:
        (migration,) = migrations(played, machine)
        meta = migration["metadata"]
        assert meta["name"].startswith("kubevirt-evacuation-")
        assert meta["annotations"]["kubevirt.io/evacuationMigration"] == node
        assert meta["labels"]["kubevirt.io/vmi-name"] == \
            machine.split("/")[1]
        assert migration["spec"]["priority"] == "system-critical"
        assert ("disruptionbudget-controller", "SuccessfulCreate",
                f"Created Migration {meta['name']}") in events(played, machine)
        here = played.api.get(namespaced(VMIS, *machine.split("/")))
        assert "evacuationNodeName" not in status(here)


def test_the_descheduler_sees_what_becomes_of_its_eviction(launch, played):
    machine = launch("descheduled")
    played.hold("arrive", machine)
    played.api.patch(namespaced(VMIS, *machine.split("/")), {"metadata": {
        "annotations": {"kubevirt.io/eviction-source": "descheduler"}}})
    node = mark(played, machine)
    migration = wait_migration(played, machine)
    assert migration["spec"]["priority"] == "system-maintenance"
    sign = "descheduler.alpha.kubernetes.io/eviction-in-progress"

    def signs():
        return [p["metadata"]["annotations"].get(sign)
                for p in played.api.get(namespaced(
                    PODS, machine.split("/")[0]))["items"]
                if p["spec"].get("nodeName") == node]
    wait_for("the pod to have the sign", lambda: signs() == ["true"])
    here = played.api.get(namespaced(VMIS, *machine.split("/")))
    wait_for("the condition", lambda: any(
        c["type"] == "EvictionRequested" for c in status(played.api.get(
            namespaced(VMIS, *machine.split("/"))))["conditions"]), PATIENCE)
    assert status(here)["evacuationNodeName"] == node
    played.release("arrive", machine)
    wait_left(played, machine, node)


def test_an_evacuation_that_fails_is_tried_again_until_it_is_canceled(
        launch, played):
    machine = launch("unlucky")
    played.hold("arrive", machine)
    played.fail(machine, "out of luck")
    node = mark(played, machine)
    first = wait_migration(played, machine)
    assert status(wait_phase(played.api, first, *FINAL))["phase"] == "Failed"
    second = wait_migration(played, machine, {first["metadata"]["uid"]})
    waits = wait_for("the second one to wait", lambda: [
        c for c in status(migrations(played, machine)[-1]).get(
            "conditions", []) if c["type"] == "ferry.io/Waiting"])
    assert waits[0]["reason"] == "Backoff"
    played.api.expect(200, "PUT", namespaced(
        f"{SUBRESOURCES}/virtualmachineinstances", *machine.split("/"),
        "evacuate/cancel"), {"evacuationNodeName": node})
    played.api.delete(namespaced(VMIMS, machine.split("/")[0],
                                 second["metadata"]["name"]))
    wait_for("it to be gone", lambda: len(migrations(played, machine)) == 1)
    # What is made later is seen later: nobody has made a third.
    later = launch("later")
    mark(played, later)
    wait_migration(played, later)
    assert len(migrations(played, machine)) == 1
    assert node_of(played, machine) == node
    played.release("arrive", machine)


def test_a_tainted_node_is_left_too(launch, played):
    machine = launch("tainted")
    node = node_of(played, machine)
    with tainted(played.api, node, DRAIN):
        wait_left(played, machine, node)
    (migration,) = migrations(played, machine)
    assert migration["metadata"]["annotations"][
        "kubevirt.io/evacuationMigration"] == node


def test_what_cannot_move_stays_and_says_so(controllers, launch, played):
    machine = launch("stuck")
    path = namespaced(VMIS, *machine.split("/"))
    conditions = status(played.api.get(path))["conditions"]
    played.api.patch(path, {"status": {"conditions": [
        {**c, "status": "False"} if c["type"] == "LiveMigratable" else c
        for c in conditions]}})
    node = mark(played, machine)
    wait_for("it to be said", lambda: any(
        reason == "FailedCreate" and "not migrateable" in text
        for _, reason, text in events(played, machine)))
    assert not migrations(played, machine)
    namespace, name = machine.split("/")
    assert controllers.leader().metrics()[
        f'kubevirt_vmi_non_evictable{{node="{node}",namespace="{namespace}",'
        f'name="{name}"}}'] == 1


def test_who_does_not_want_to_move_is_not_moved(launch, played):
    machine = launch("stays", {"evictionStrategy": "None"})
    other = launch("goes")
    mark(played, machine)
    mark(played, other)
    wait_migration(played, other)
    assert not migrations(played, machine)


# --- updates -----------------------------------------------------------------

def test_outdated_launchers_are_left_as_the_strategy_says(
        cluster, controllers, launch, played):
    machine = launch("outdated")
    node = node_of(played, machine)
    path = namespaced(VMIS, *machine.split("/"))
    for each in controllers.all:
        each.kill()
    controllers.free_lease()
    methods = {"workloadUpdateMethods": ["LiveMigrate"]}
    api = cluster.api()
    with kubevirt(api, workloadUpdateStrategy=methods), Controllers(
            cluster, 1, "--launcher-image", "launcher:new") as newer:
        newer.leader()
        wait_left(played, machine, node)
        migration = migrations(played, machine)[-1]
        assert migration["metadata"]["name"].startswith(
            "kubevirt-workload-update-")
        assert migration["spec"]["priority"] == "system-critical"
        assert "kubevirt.io/workloadUpdateMigration" in \
            migration["metadata"]["annotations"]
        wait_for("the launcher to be known", lambda: status(
            played.api.get(path)).get("launcherContainerImageVersion")
            == "launcher:new")
        assert "kubevirt.io/outdatedLauncherImage" not in \
            played.api.get(path)["metadata"]["labels"]
        name = migration["metadata"]["name"]
        assert any(reason == "SuccessfulCreate" and text ==
                   f"Created Migration {name} for automated workload update"
                   for _, reason, text in events(played, machine))
    for each in controllers.all:
        each.start()
    controllers.leader()


def test_outdated_launchers_are_counted_and_left_alone_without_a_method(
        cluster, controllers, launch, played):
    machine = launch("counted")
    for each in controllers.all:
        each.kill()
    controllers.free_lease()
    with kubevirt(cluster.api()) as path, Controllers(
            cluster, 1, "--launcher-image", "launcher:newer") as newer:
        newer.leader()
        wait_for("them to be counted", lambda: status(
            played.api.get(path)).get(
                "outdatedVirtualMachineInstanceWorkloads", 0) > 0, PATIENCE)
        assert newer.leader().metrics()[
            "kubevirt_vmi_number_of_outdated"] > 0
        assert "kubevirt.io/outdatedLauncherImage" in played.api.get(
            namespaced(VMIS, *machine.split("/")))["metadata"]["labels"]
        assert not migrations(played, machine)
    for each in controllers.all:
        each.start()
    controllers.leader()


def test_a_change_that_is_taken_back_is_not_moved_for(
        cluster, launch, played):
    machine = launch("changed")
    path = namespaced(VMIS, *machine.split("/"))
    change = {"type": "MigrationRequired", "status": "True",
              "reason": "AutoMigrationDueToLiveUpdate"}
    methods = {"workloadUpdateMethods": ["LiveMigrate"]}
    played.hold("arrive", machine)
    node = node_of(played, machine)

    def set_conditions(make):
        """As the node does: nobody else's change is lost."""
        def done():
            here = played.api.get(path)
            answer = played.api.request("PATCH", path, {
                "metadata": {"resourceVersion": here["metadata"][
                    "resourceVersion"]},
                "status": {"conditions": make(status(here)["conditions"])}},
                {"Content-Type": "application/merge-patch+json"})
            return answer.code == 200
        wait_for("conditions to be written", done)
    with kubevirt(cluster.api(), workloadUpdateStrategy=methods):
        set_conditions(lambda old: [*old, change])
        migration = wait_migration(played, machine)
        assert migration["spec"]["priority"] == "user-triggered"
        set_conditions(lambda old: [c for c in old
                                    if c["type"] != "MigrationRequired"])
        wait_for("the migration to be given up",
                 lambda: not migrations(played, machine), PATIENCE)
        wait_for("that to be said", lambda: any(
            reason == "SuccessfulChangeAbortion"
            for _, reason, _ in events(played, machine)))
        assert node_of(played, machine) == node
    played.release("arrive", machine)


# --- restarts of the controller ----------------------------------------------

@pytest.mark.parametrize("when", ["before", "after"])
def test_an_evacuation_survives_its_leader_at_every_write(
        controllers, launch, played, when):
    """Each mark leads to one migration, whoever makes it."""
    count = 0

    def leave():
        nonlocal count
        machine = launch(f"leaves-{when}-{count}")
        count += 1
        node = mark(played, machine)
        wait_left(played, machine, node)
        (migration,) = migrations(played, machine)
        wait_phase(played.api, migration, "Succeeded")
        names = [json.loads(s.body)["metadata"]["name"]
                 for c in controllers.all for s in c.faults.seen
                 if is_create("virtualmachineinstancemigrations")(s)
                 and s.code == 201]
        assert len(names) == len(set(names)), names

    struck = kill_everywhere(controllers, when, leave)
    assert len(struck) > 10, struck
