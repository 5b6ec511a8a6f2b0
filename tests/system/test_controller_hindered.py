# SPDX-License-Identifier: Apache-2.0
"""Migrations that somebody hinders: nodes that write nonsense, servers that
refuse, people who change their minds."""

import pytest

import clusters  # noqa: F401  (puts callbacks on the path)
import played_objects as objects
from callbacks import Callbacks, review
from controllers import Controllers
from kubeapi import wait_for
from played import Played
from played_objects import VMIS, namespaced
from played_steps import FINAL, status
from trips import KUBEVIRTS, MANY, Trip

NODES = ("hinder-a", "hinder-b", "hinder-c")
HOOKS = "/apis/admissionregistration.k8s.io/v1/" \
    "validatingwebhookconfigurations"
UNREADABLE = "Migration failed because there is no sense in the machine"


@pytest.fixture(name="played", scope="module")
def played_(cluster):
    with Played(cluster, *NODES) as made:
        yield made


@pytest.fixture(name="controllers", scope="module")
def controllers_(cluster):
    with Controllers(cluster) as made:
        cluster.api().create(KUBEVIRTS, objects.kubevirt({
            "parallelMigrationsPerCluster": MANY,
            "parallelOutboundMigrationsPerNode": MANY}))
        made.leader()
        yield made


@pytest.fixture(name="machine")
def machine_(controllers, played, namespace):
    """A machine that runs; what a test holds of it is released."""
    del controllers
    made = played.start(namespace, "vm")
    yield made
    for step in [s for s, of in list(played.held) if of == made]:
        played.release(step, made)


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
    """Refuses pods of a namespace with these words, until it is told to stop;
    without words it is not there at all."""
    api = cluster.api()
    made = []

    with Callbacks("127.0.0.1") as callbacks:
        def refuse(namespace, words):
            callbacks.answer("/deny", lambda request: (200, review(
                request, False, status={"message": words})))
            hook = callbacks.hook("pods", namespace, "/deny", ("pods",))
            if not words:
                hook["clientConfig"]["url"] = "https://127.0.0.1:1/"
            api.create(HOOKS, callbacks.configuration(
                "ValidatingWebhookConfiguration", namespace, hook))
            made.append(namespace)

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
