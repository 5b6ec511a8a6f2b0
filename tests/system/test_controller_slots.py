# SPDX-License-Identifier: Apache-2.0
"""Limits hold, and what is taken of them is given back, whatever is lost."""

import pytest

import played_objects as objects
from controllers import Controllers, ensure_namespace
from faults_seen import is_create, is_patch
from kubeapi import wait_for, wait_gone
from played import Played, wait_phase
from played_objects import NODES, VMIMS, key_of, namespaced
from played_steps import FINAL, status

KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
KIND = VMIMS.rsplit("/", 1)[1]
MANY = 1000


@pytest.fixture(name="played", scope="module")
def played_(cluster):
    with Played(cluster, "slots-a", "slots-b", "slots-c") as made:
        yield made


@pytest.fixture(name="configure")
def configure_(cluster):
    """Sets the limits, before there are controllers."""
    api = cluster.api()
    ensure_namespace(api)

    def configure(**limits):
        api.create(KUBEVIRT, objects.kubevirt(limits))
    yield configure
    api.delete(f"{KUBEVIRT}/kubevirt")


def controllers_of(cluster, count):
    return Controllers(cluster, count, "--request-timeout-seconds", "2",
                       faults=True)


def end_of(migration, played):
    return status(wait_phase(played.api, migration, *FINAL))["phase"]


def waits_for(migration, played):
    """What its condition says, as soon as it is Pending or has gone on."""
    def found():
        now = status(played.api.get(
            namespaced(VMIMS, *key_of(migration).split("/"))))
        reasons = [c.get("reason") for c in now.get("conditions", [])
                   if c["type"] == "ferry.io/Waiting"]
        if now.get("phase", "") in ("", "Pending"):
            return reasons and reasons[0]
        return now["phase"]
    return wait_for(f"{key_of(migration)} to wait", found)


def about(migration, matches, word=b""):
    name = migration["metadata"]["name"]
    return lambda seen: matches(seen) and f"/{name}" in seen.path and \
        word in seen.body


def test_one_whose_end_was_not_answered_gives_its_slot_back(
        cluster, played, configure, namespace):
    """The server ends and removes it, and says so by its watches alone: both
    answers are lost, the second one after the object has gone."""
    configure(parallelMigrationsPerCluster=1)
    with controllers_of(cluster, 1) as controllers:
        faults = controllers.leader().faults
        first, second = (played.start(namespace, f"vm{i}") for i in range(2))
        played.hold("run", first)
        ends = played.migrate(first)
        wait_phase(played.api, ends, "Scheduling")
        next_one = played.migrate(second)
        assert waits_for(next_one, played) == "ClusterLimit"
        faults.plan("500-done", about(ends, is_patch(KIND, "status"),
                                      b'"Failed"'))
        faults.plan("lost-slowly", about(ends, is_patch(KIND),
                                         b"/metadata/finalizers"))
        path = namespaced(VMIMS, *key_of(ends).split("/"))
        played.api.delete(path)
        wait_gone(played.api, path)
        assert faults.pending() == 0
        assert end_of(next_one, played) == "Succeeded"
        played.release("run", first)


def node_of(played, machine):
    return status(played.machine(machine))["nodeName"]


def move(played, machine, node):
    """Has the machine moved to that node."""
    migration = played.migrate(machine, spec={
        "addedNodeSelector": {"kubernetes.io/hostname": node}})
    assert end_of(migration, played) == "Succeeded"
    played.settle(machine)
    assert node_of(played, machine) == node


def stop_news_of_machines(controller):
    """From now on its cache of machines stays as it is."""
    path = "/virtualmachineinstances"
    controller.faults.plan("hang", lambda seen: seen.is_watch
                           and seen.path.endswith(path), MANY)
    wait_for("a watch to cut", lambda: controller.faults.cut_watches(path))
    wait_for("one that is not answered", lambda: controller.faults.hung)


def test_who_takes_over_knows_where_machines_are(cluster, played, configure,
                                                 namespace):
    """Though its cache does not: the machine has moved since, and waits for
    the pod of its next migration when the leader dies."""
    configure(parallelOutboundMigrationsPerNode=1)
    with controllers_of(cluster, 2) as controllers:
        leader = controllers.leader()
        (other,) = controllers.others()
        moved, stays = (played.start(namespace, f"vm{i}") for i in range(2))
        here = node_of(played, stays)
        away = next(n["metadata"]["name"] for n in played.api.get(NODES)[
            "items"] if n["metadata"]["name"] != here)
        if node_of(played, moved) == here:
            move(played, moved, away)
        # What it reads as it starts is how things are.
        other.kill()
        other.start()
        wait_for("the other one to be ready", other.is_ready)
        stop_news_of_machines(other)
        move(played, moved, here)
        played.hold("run", moved)
        first = played.migrate(moved)
        wait_phase(played.api, first, "Scheduling")
        leader.kill()
        controllers.free_lease()
        assert controllers.leader() is other
        second = played.migrate(stays)
        assert waits_for(second, played) == "SourceNodeLimit"
        other.faults.heal()
        played.release("run", moved)
        assert end_of(first, played) == "Succeeded"
        assert end_of(second, played) == "Succeeded"


def goes_on(api, migration):
    """It is behind what it waited for; for any thread."""
    path = namespaced(VMIMS, *key_of(migration).split("/"))
    return status(api.get(path)).get("phase", "") not in ("", "Pending")


def test_a_quota_that_goes_while_a_pod_is_refused_holds_nobody_up(
        cluster, played, configure, namespace):
    """The answer comes after the news that the quota is gone, which the one
    that waited already has gone on by."""
    configure()
    quota = f"/api/v1/namespaces/{namespace}/resourcequotas"
    with controllers_of(cluster, 1) as controllers:
        faults = controllers.leader().faults
        first, second = (played.start(namespace, f"vm{i}") for i in range(2))
        played.api.create(quota, {
            "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}})
        waits = played.migrate(first)
        assert waits_for(waits, played) == "ResourceQuota"

        def lift(seen):
            if not is_create("pods")(seen) or b'"vm1"' not in seen.body:
                return
            faults.after_write = None
            api = controllers.cluster.api()  # it is another thread
            api.delete(f"{quota}/q")
            wait_for("the first one to go on", lambda: goes_on(api, waits))
        faults.after_write = lift
        refused = played.migrate(second)
        assert end_of(refused, played) == "Succeeded"
        assert faults.after_write is None
        assert end_of(waits, played) == "Succeeded"
