# SPDX-License-Identifier: Apache-2.0
"""The nodes that tests play do what nodes do, and wait when told to.

The test is the controller here.
"""

import pytest

import played_objects as objects
from kubeapi import wait_for
from played import Played
from played_objects import PODS, TARGET_LABEL, VMIS, key_of, namespaced
from played_steps import ABORTED, state, status

UID = "a9d4e1f0-0000-4000-8000-000000000001"


@pytest.fixture(name="played", scope="module")
def played_(cluster):
    with Played(cluster, "played-a", "played-b") as made:
        yield made
        assert not made.errors, made.errors


def path_of(machine):
    return namespaced(VMIS, *machine.split("/"))


def make_target(played, machine):
    """The pod that the machine is to go to, running on played-b; its key."""
    pod = objects.launcher(played.machine(machine), "played-b")
    pod["metadata"]["labels"]["kubevirt.io/migrationJobUID"] = UID
    made = played.api.create(namespaced(PODS, machine.split("/")[0]), pod)
    key = key_of(made)
    wait_for("the target", lambda: status(
        played.pods(machine).get(key, {})).get("phase") == "Running")
    return key


def hand_off(played, machine):
    """As the controller does, to played-b; the key of the target pod."""
    here = played.settle(machine)
    source = next(iter(played.pods(machine).values()))
    target = make_target(played, machine)
    played.api.patch(path_of(machine), {
        "metadata": {
            "resourceVersion": here["metadata"]["resourceVersion"],
            "labels": {TARGET_LABEL: "played-b"}},
        "status": {"migrationState": {
            "migrationUid": UID, "sourceNode": "played-a",
            "sourcePod": source["metadata"]["name"],
            "targetNode": "played-b",
            "targetPod": target.split("/")[1]}}})
    return target


def wait_state(played, machine, member):
    return wait_for(member, lambda: state(played.machine(machine)).get(member))


def test_a_pod_on_a_played_node_runs_and_goes_when_told(played, namespace):
    machine = played.place(namespace, "runs", "played-a", spec={
        "volumes": [{"name": "d", "containerDisk": {"image": "disk:v1"}}]})
    played.settle(machine)
    key, pod = next(iter(played.pods(machine).items()))
    (compute,) = pod["status"]["containerStatuses"]
    assert compute["ready"] and "@sha256:" in compute["imageID"]
    played.api.delete(namespaced(PODS, *key.split("/")))
    wait_for("the pod to go", lambda: not played.pods(machine))


def test_a_machine_that_is_scheduled_boots(played, namespace):
    machine = played.launch(namespace, "boots")
    played.api.patch(path_of(machine), {"status": {
        "phase": "Scheduled", "nodeName": "played-a",
        "conditions": [{"type": "Ready", "status": "False"}]}})
    wait_for("Running", lambda: status(
        played.machine(machine) or {}).get("phase") == "Running")
    booted = status(played.machine(machine))
    assert booted["selinuxContext"] == "none"
    assert [c["type"] for c in booted["conditions"]] == [
        "Ready", "LiveMigratable", "StorageLiveMigratable"]


def test_nodes_move_a_machine_that_is_handed_to_them(played, namespace):
    machine = played.place(namespace, "moves", "played-a")
    hand_off(played, machine)
    wait_state(played, machine, "completed")
    wait_for("the label to go", lambda: TARGET_LABEL not in
             played.machine(machine)["metadata"]["labels"])
    assert status(played.machine(machine))["nodeName"] == "played-b"
    wait_for("the launcher to end", lambda: {
        p["spec"]["nodeName"]: status(p)["phase"]
        for p in played.pods(machine).values()
    } == {"played-a": "Succeeded", "played-b": "Running"})


def test_a_machine_does_not_arrive_in_a_pod_that_is_gone(played, namespace):
    machine = played.place(namespace, "stays", "played-a")
    played.hold("arrive", machine)
    target = hand_off(played, machine)
    played.wait_due("arrive", machine)
    played.take_pod(target)
    played.wait_until(lambda: ("arrive", machine) not in played.due,
                      "the step not to be due any more")
    played.release("arrive", machine)
    assert "targetNodeDomainReadyTimestamp" not in \
        state(played.machine(machine))


def test_a_held_step_is_done_when_asked_for(played, namespace):
    machine = played.place(namespace, "held", "played-a")
    for step in ("start", "arrive", "switch"):
        played.hold(step, machine)
    hand_off(played, machine)
    for step, member in (("start", "startTimestamp"),
                         ("arrive", "targetNodeDomainReadyTimestamp")):
        played.wait_due(step, machine)
        assert member not in state(played.machine(machine))
        played.step(step, machine)
        assert member in state(played.machine(machine))
    assert status(played.machine(machine))["nodeName"] == "played-a"
    played.release("switch", machine)
    wait_state(played, machine, "completed")


def test_an_abort_is_acknowledged_while_it_transfers(played, namespace):
    machine = played.place(namespace, "aborts", "played-a")
    played.hold("arrive", machine)
    hand_off(played, machine)
    played.wait_due("arrive", machine)
    played.api.patch(path_of(machine), {"status": {"migrationState": {
        "abortRequested": True}}})
    wait_state(played, machine, "completed")
    ended = state(played.machine(machine))
    assert (ended["abortStatus"], ended["failureReason"]) == \
        ("Succeeded", ABORTED)
    assert ended["failed"] and status(
        played.machine(machine))["nodeName"] == "played-a"


def test_a_migration_fails_where_it_is_told_to(played, namespace):
    machine = played.place(namespace, "fails", "played-a")
    played.fail(machine, "no luck", after="targetNodeAddress")
    hand_off(played, machine)
    wait_state(played, machine, "failed")
    ended = state(played.machine(machine))
    assert ended["failureReason"] == "no luck"
    assert "startTimestamp" not in ended


def test_a_silent_node_does_nothing_until_it_is_back(played, namespace):
    played.add_node("played-c")
    machine = played.place(namespace, "silent", "played-a")
    played.settle(machine)
    played.kill_node("played-c")
    other = played.api.create(namespaced(PODS, namespace), {
        **objects.launcher(played.machine(machine), "played-c")})
    here = namespaced(PODS, namespace, other["metadata"]["name"])
    # What comes later is seen later: the silent node was told by then.
    played.settle(played.place(namespace, "later", "played-a"))
    assert status(played.api.get(here)).get("phase") == "Pending"
    played.revive_node("played-c")
    wait_for("the pod to run", lambda: status(
        played.api.get(here)).get("phase") == "Running")
