# SPDX-License-Identifier: Apache-2.0
"""Migrations that somebody hinders: nodes that write nonsense, servers that
refuse, people who change their minds."""

import collections

import pytest

import clusters  # noqa: F401  (puts callbacks on the path)
from callbacks import Callbacks, review
from controllers import USER
from kubeapi import wait_for
from played_objects import NODES as NODES_PATH
from played_objects import VMIS, namespaced
from played_steps import FINAL, state, status
from trips import UNLIMITED, Trip

NODES = ("hinder-a", "hinder-b", "hinder-c")
MIGRATIONS = UNLIMITED
HOOKS = "/apis/admissionregistration.k8s.io/v1/" \
    "validatingwebhookconfigurations"
UNREADABLE = "Migration failed because there is no sense in the machine"


# --- nonsense ----------------------------------------------------------------

def say_ports(played, machine, ports):
    """What a target node says that it listens on."""
    played.api.patch(namespaced(VMIS, *machine.split("/")), {"status": {
        "migrationState": {"targetDirectMigrationNodePorts": ports}}})


@pytest.mark.parametrize("ports", [
    {"none": 0}, {"65536": 0}, {"4711": -1},
    {str(port): 0 for port in range(4000, 4017)}])
def test_ports_that_make_no_sense_keep_nobody_from_canceling(played, machine,
                                                             ports):
    played.hold("prepare", machine)
    trip = Trip(played, machine)
    trip.wait("PreparingTarget")
    say_ports(played, machine, ports)
    trip.cancel()
    trip.wait_gone()
    trip.check_stayed()
    played.release("prepare", machine)
    assert status(Trip(played, machine).wait(*FINAL))["phase"] == "Succeeded"


def test_ports_that_make_no_sense_do_not_take_away_the_deadline(played,
                                                                machine):
    played.hold("prepare", machine)
    trip = Trip(played, machine, annotations={
        "ferry.io/migrationPreparingTargetTimeoutSeconds": "2"})
    trip.wait("PreparingTarget")
    say_ports(played, machine, {"0": 0})
    trip.check_failed("PreparingTargetTimeout", "Migration failed because "
                      "the target node did not prepare in time")
    trip.check_stayed()


def test_a_machine_that_nobody_can_read_fails_it_and_keeps_its_pods(played,
                                                                    machine):
    played.hold("arrive", machine)
    trip = Trip(played, machine)
    trip.wait("Running")
    path = namespaced(VMIS, *machine.split("/"))
    played.api.patch(path, {"spec": {"volumes": [
        {"name": f"v{i}", "emptyDisk": {"capacity": "1Mi"}}
        for i in range(257)]}})
    found = trip.wait(*FINAL)
    assert status(found)["phase"] == "Failed"
    failure = trip.condition("ferry.io/Failure")
    assert failure["reason"] == "MachineUnreadable"
    assert failure["message"] == \
        f"{UNREADABLE}: more than 256 volumes or disks"
    trip.wait_event("FailedMigration", UNREADABLE)
    # Nobody knows which of them it is in.
    assert "deletionTimestamp" not in trip.pod()["metadata"]
    assert trip.now()["metadata"]["finalizers"]

    played.api.patch(path, {"spec": {"volumes": None}})
    trip.wait_tidy()
    wait_for("the target pod to go", lambda: trip.pod() is None)
    trip.check_stayed()


# --- refusals ----------------------------------------------------------------

@pytest.fixture(name="refusal")
def refusal_(cluster):
    """Refuses what the controller does in a namespace with these words, until
    it is told to stop; without words it is not there at all."""
    api = cluster.api()
    made = []

    with Callbacks("127.0.0.1") as callbacks:
        def refuse(namespace, words, kind="pods", operation="CREATE"):
            callbacks.answer("/deny", lambda request: (200, review(
                request, request.json()["request"]["userInfo"][
                    "username"] != USER, status={"message": words})))
            hook = callbacks.hook(kind, namespace, "/deny", (kind,),
                                  (operation,))
            if not words:
                hook["clientConfig"]["url"] = "https://127.0.0.1:1/"
            callbacks.answer("/never", lambda request: (200, review(
                request, False, status={"message": "not yours"})))
            api.create(HOOKS, callbacks.configuration(
                "ValidatingWebhookConfiguration", namespace, hook,
                callbacks.hook("probe", namespace, "/never")))
            made.append(namespace)
            # The server needs a moment to know of both.
            wait_for("refusals", lambda: "not yours" in api.request(
                "POST", f"/api/v1/namespaces/{namespace}/configmaps"
                "?dryRun=All", {"metadata": {"name": "probe"}}).text())

        def stop():
            while made:
                api.delete(f"{HOOKS}/{made.pop()}")
        refuse.stop = stop
        yield refuse
        stop()


@pytest.mark.parametrize("words,said", [
    ("no pods today", "no pods today"), ("", "failed calling webhook")])
def test_a_pod_that_is_refused_is_told_and_made_when_it_is_not(
        played, machine, refusal, words, said):
    refusal(machine.split("/")[0], words)
    trip = Trip(played, machine)
    waiting = trip.wait_waiting("TargetPodRefused")
    assert said in waiting["message"]
    assert status(trip.now())["phase"] == "Pending"
    wait_for("the event", lambda: any(
        said in text for text in trip.events(
            "VirtualMachineInstance")["FailedCreate"]))
    assert trip.pod() is None
    refusal.stop()
    assert status(trip.wait(*FINAL))["phase"] == "Succeeded"
    assert trip.condition("ferry.io/Waiting") is None


def test_a_pod_that_is_refused_keeps_nobody_from_canceling(played, machine,
                                                           refusal):
    refusal(machine.split("/")[0], "never")
    trip = Trip(played, machine)
    trip.wait_waiting("TargetPodRefused")
    trip.cancel()
    trip.wait_gone()
    trip.check_stayed()


def test_a_machine_of_which_no_pod_can_be_made_says_why(played, machine):
    path = namespaced(VMIS, *machine.split("/"))
    played.api.patch(path, {"status": {"selinuxContext": "odd"}})
    trip = Trip(played, machine)
    waiting = trip.wait_waiting("TargetPodRefused")
    assert "VMI has invalid SELinux context: odd" in waiting["message"]
    assert status(trip.now())["phase"] == "Pending"
    played.api.patch(path, {"status": {"selinuxContext": "none"}})
    assert status(trip.wait(*FINAL))["phase"] == "Succeeded"


def wait_refused(trip, reason, words, of="VirtualMachineInstanceMigration"):
    wait_for(f"the event {reason}", lambda: any(
        words in text for text in trip.events(of)[reason]))


def test_a_hand_off_that_is_refused_is_told(played, machine, refusal):
    played.hold("run", machine)
    trip = Trip(played, machine)
    played.wait_due("run", machine)
    refusal(trip.namespace, "not now", "virtualmachineinstances", "UPDATE")
    played.release("run", machine)
    wait_refused(trip, "FailedHandOver", "not now")
    assert not state(played.machine(machine))
    refusal.stop()
    assert status(trip.wait(*FINAL))["phase"] == "Succeeded"


def test_an_abort_that_is_refused_is_told(played, machine, refusal):
    played.hold("arrive", machine)
    trip = Trip(played, machine)
    trip.wait("Running")
    refusal(trip.namespace, "not now", "virtualmachineinstances", "UPDATE")
    trip.cancel()
    wait_refused(trip, "FailedAbortMigration", "not now")
    refusal.stop()
    trip.wait_gone()
    trip.check_stayed()


def test_a_pod_that_may_not_be_deleted_is_told(played, machine, refusal):
    played.hold("run", machine)
    trip = Trip(played, machine)
    played.wait_due("run", machine)
    refusal(trip.namespace, "it stays", "pods", "DELETE")
    trip.cancel()
    wait_refused(trip, "FailedDelete", "it stays")
    assert trip.pod() is not None
    refusal.stop()
    trip.wait_gone()
    wait_for("the target pod to go", lambda: trip.pod() is None)


def test_a_cpu_that_no_other_node_has_is_named(played, machine):
    node = status(played.settle(machine))["nodeName"]
    label = "host-model-required-features.node.kubevirt.io/rare"
    played.api.patch(f"{NODES_PATH}/{node}",
                     {"metadata": {"labels": {label: "true"}}})
    try:
        trip = Trip(played, machine)
        trip.wait_waiting("PodUnschedulable")
        wait_refused(trip, "NoSuitableNodesForHostModelMigration",
                     "cpu-feature.node.kubevirt.io/rare",
                     "VirtualMachineInstance")
        trip.cancel()
        trip.wait_gone()
    finally:
        played.api.patch(f"{NODES_PATH}/{node}",
                         {"metadata": {"labels": {label: None}}})


# --- people ------------------------------------------------------------------

def spread(played, namespace, nodes, each):
    """Machines by the node they run on: so many on so many nodes."""
    found = collections.defaultdict(list)
    count = 0
    while sum(len(m) >= each for m in found.values()) < nodes:
        made = played.start(namespace, f"vm-{count}")
        found[status(played.settle(made))["nodeName"]].append(made)
        count += 1
    return {node: machines[:each] for node, machines in sorted(
        found.items(), key=lambda item: -len(item[1]))[:nodes]}


@pytest.fixture(name="queue")
def queue_(played, configure, namespace):
    """Two migrations to one node that takes one at a time; the first goes on,
    more are made with the function."""
    node, movable, count = NODES[0], [], 0
    while len(movable) < 2:
        made = played.start(namespace, f"vm-{count}")
        if status(played.settle(made))["nodeName"] != node:
            movable.append(made)
        count += 1
    configure(annotations={"ferry.io/parallelInboundMigrationsPerNode": "1"})
    played.hold("arrive")
    there = {"addedNodeSelector": {"kubernetes.io/hostname": node}}
    first = Trip(played, movable[0], spec=there)
    first.wait("Running")

    def more(**options):
        return Trip(played, movable[1], spec=there, **options)
    yield first, more
    played.release("arrive")
    assert status(first.wait(*FINAL))["phase"] == "Succeeded"


def test_a_hand_off_that_does_not_come_about_has_a_deadline(queue):
    _, more = queue
    trip = more(annotations={"ferry.io/migrationScheduledTimeoutSeconds": "2"})
    trip.check_failed("ScheduledTimeout", "Migration failed because it could "
                      "not be handed to the nodes in time")
    trip.check_stayed()
    assert not state(trip.played.machine(trip.machine))


def test_one_that_waits_for_its_target_can_be_canceled(queue):
    first, more = queue
    trip = more()
    trip.wait_waiting("TargetNodeLimit")
    assert status(trip.now())["phase"] == "Scheduled"
    trip.cancel()
    trip.wait_gone()
    trip.wait_event("FailedMigration", "Migration failed due to being "
                    "canceled")
    wait_for("the target pod to go", lambda: trip.pod() is None)
    trip.check_stayed()
    assert status(first.now())["phase"] == "Running"


def test_one_that_waits_for_a_slot_can_be_canceled(played, configure,
                                                   controllers, namespace):
    del controllers
    machines = [played.start(namespace, f"vm-{i}") for i in range(3)]
    configure({"parallelMigrationsPerCluster": 1})
    played.hold("arrive")
    first, second, third = (Trip(played, m) for m in machines)
    # They are created within a moment: which one has the slot is not said.
    going = wait_for("one to run", lambda: next(
        (t for t in (first, second, third)
         if status(t.now()).get("phase") == "Running"), None))
    waiting = [t for t in (first, second, third) if t is not going]
    for trip in waiting:
        trip.wait_waiting("ClusterLimit")
    waiting[0].cancel()
    waiting[0].wait_gone()
    assert waiting[0].pod() is None
    waiting[0].check_stayed()
    # It does not take the slot along, nor its turn.
    played.release("arrive")
    for trip in (going, waiting[1]):
        assert status(trip.wait(*FINAL))["phase"] == "Succeeded"


def test_one_that_waits_for_a_quota_can_be_canceled(played, machine):
    namespace = machine.split("/")[0]
    quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
    played.api.create(quotas, {
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})
    wait_for("the quota to count", lambda: status(played.api.get(
        f"{quotas}/few")).get("used", {}).get("pods") == "1")
    trip = Trip(played, machine)
    trip.wait_waiting("ResourceQuota")
    trip.cancel()
    trip.wait_gone()
    trip.wait_event("FailedMigration", "Migration failed due to being "
                    "canceled")
    trip.check_stayed()


def test_nodes_that_are_drained_at_once_take_turns(played, configure,
                                                   controllers, namespace):
    """Of the first node all are there before any of the others."""
    del controllers
    by_node = spread(played, namespace, 2, 3)
    configure({"parallelMigrationsPerCluster": 1})
    played.hold("arrive")
    trips = []
    for node, machines in by_node.items():
        for machine in machines:
            trips.append(Trip(played, machine, annotations={
                "kubevirt.io/evacuationMigration": node}))
            wait_for("it to be seen", lambda: status(
                trips[-1].now()).get("phase"))
    order = []
    while len(order) < len(trips):
        going = wait_for("one to run", lambda: next(
            (t for t in trips if t not in order
             and status(t.now()).get("phase") == "Running"), None))
        order.append(going)
        played.step("arrive", going.machine)
    played.release("arrive")
    for trip in trips:
        assert status(trip.wait(*FINAL))["phase"] == "Succeeded"
    # The first found nobody to share with.
    left = [trip.source for trip in order[1:]]
    for turn in range(1, len(left)):
        assert left[turn] != left[turn - 1] or len(set(left[turn:])) == 1, left
