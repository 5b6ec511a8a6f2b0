# SPDX-License-Identifier: Apache-2.0
"""Migrations: every phase, every way to fail, every wait, on played nodes."""

import collections
import json
import os

import pytest

from controllers import USER, Controllers
from invariants import Chronicle
from kubeapi import wait_for
from played import wait_phase
from played_objects import PODS, VMIMS, VMIS, key_of, namespaced
from played_steps import FINAL, state, status
from proxies import REPOSITORY
from trips import MANY, MIGRATION_LABEL, REMOVED, UNLIMITED, Trip

NODES = ("move-a", "move-b", "move-c")
MIGRATIONS = UNLIMITED
PROFILES = "/apis/cdi.kubevirt.io/v1beta1/storageprofiles"
CLAIMS = "/api/v1/persistentvolumeclaims"
POLICIES = "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"
PHASES = ["Pending", "Scheduling", "Scheduled", "PreparingTarget",
          "TargetReady", "Running", "Succeeded"]
CANCELED = "Migration failed due to being canceled"


def test_a_migration_goes_through_all_phases(controllers, played, machine):
    ended = controllers.leader().metrics()["ferry_migration_ended_total"]
    steps = ("run", "prepare", "start", "arrive", "switch")
    for step in steps:
        played.hold(step, machine)
    trip = Trip(played, machine)
    trip.wait("Scheduling")
    trip.wait_waiting("PodNotReady")
    pod = trip.wait_pod()
    assert pod["metadata"]["labels"][MIGRATION_LABEL] == trip.uid
    assert pod["metadata"]["annotations"][
        "kubevirt.io/migrationJobName"] == trip.name
    trip.wait_event("SuccessfulCreate",
                    f"Created migration target pod {pod['metadata']['name']}")

    played.step("run", machine)
    trip.wait("PreparingTarget")
    trip.wait_waiting("TargetNodePreparation")
    trip.wait_event("SuccessfulHandOver", "Migration target pod is ready for "
                    "preparation by virt-handler.")
    handed = state(played.machine(machine))
    assert handed["migrationUid"] == trip.uid
    assert handed["sourceNode"] == trip.source
    assert handed["targetPod"] == pod["metadata"]["name"]
    assert handed["migrationConfiguration"]["completionTimeoutPerGiB"] == 150

    played.step("prepare", machine)
    trip.wait("TargetReady")
    trip.wait_waiting("SourceNodeStart")
    played.step("start", machine)
    trip.wait("Running")
    trip.wait_waiting("Transfer")
    played.step("arrive", machine)
    wait_for("the pod to be marked", lambda: trip.pod()["metadata"][
        "annotations"].get("kubevirt.io/migration-target-ready-timestamp"))
    played.step("switch", machine)

    found = trip.wait(*FINAL)
    assert status(found)["phase"] == "Succeeded"
    assert [t["phase"] for t in status(found)[
        "phaseTransitionTimestamps"]] == PHASES
    trip.wait_event("SuccessfulMigration",
                    "Source node reported migration succeeded")
    trip.wait_tidy()
    assert status(trip.now())["migrationState"]["migrationUid"] == trip.uid
    assert not status(trip.now())["conditions"]
    assert status(played.settle(machine))["nodeName"] != trip.source
    now = wait_for("the count of ended migrations", lambda: (
        m := controllers.leader().metrics())[
            "ferry_migration_ended_total"] > ended and m)
    # Each phase was looked at long enough to be written by itself.
    assert now["ferry_migration_ended_writes_max"] <= 10


def test_each_migration_is_counted_once(cluster, controllers, played,
                                        machine):
    before = controllers.leader().metrics()
    with Chronicle(cluster.api(), machine.split("/")[0]) as chronicle:
        for _ in range(3):
            trip = Trip(played, machine)
            assert status(trip.wait(*FINAL))["phase"] == "Succeeded"
            trip.wait_tidy()
        # Of nodes that take long to begin each phase is written by itself.
        lingered = sum(phase in PHASES[2:5] for phases in
                       chronicle.phases.values() for phase in phases)

    def counted():
        now = controllers.leader().metrics()
        ended, writes = (now[n] - before[n] for n in (
            "ferry_migration_ended_total",
            "ferry_migration_ended_writes_total"))
        return ended == 3 and writes
    # test_controller_faults.py has which they are.
    assert wait_for("all to be counted", counted) <= 3 * 8 + lingered


def test_one_that_nobody_stamped_is_stamped_and_moves(played, machine):
    namespace, name = machine.split("/")
    made = played.api.create(namespaced(VMIMS, namespace), {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "bare", "finalizers": ["example.com/other"]},
        "spec": {"vmiName": name}})
    found = wait_phase(played.api, made, *FINAL)
    assert status(found)["phase"] == "Succeeded"
    assert found["metadata"]["labels"]["kubevirt.io/vmi-name"] == name
    path = namespaced(VMIMS, namespace, "bare")
    wait_for("the finalizer to go", lambda: played.api.get(path)["metadata"][
        "finalizers"] == ["example.com/other"])
    played.api.patch(path, {"metadata": {"finalizers": None}})


# --- canceling ---------------------------------------------------------------

@pytest.mark.parametrize("step,phase", [
    ("run", "Scheduling"), ("prepare", "PreparingTarget"),
    ("start", "TargetReady"), ("arrive", "Running")])
def test_a_cancel_ends_it_in_every_phase(played, machine, step, phase):
    played.hold(step, machine)
    trip = Trip(played, machine)
    trip.wait(phase)
    trip.cancel()
    trip.wait_gone()
    if phase == "Scheduling":
        trip.wait_event("FailedMigration", CANCELED)
        (said,) = trip.events()["SuccessfulDelete"]
        assert said.startswith(
            f"migration canceled and pod {trip.namespace}/")
    else:
        trip.wait_event("SuccessfulAbortMigration", "Migration is ready to be "
                        "canceled by virt-handler.")
        trip.wait_event("FailedMigration", CANCELED if phase != "Running"
                        else "source node reported migration failed")
    assert trip.pod() is None
    trip.check_stayed()


def test_a_cancel_after_the_switch_comes_too_late(played, machine):
    played.hold("switch", machine)
    trip = Trip(played, machine)
    played.wait_due("switch", machine)
    trip.wait("Running")
    trip.cancel()
    trip.wait_condition("migrationAbortRequested", "Canceled")
    played.release("switch", machine)
    trip.wait_gone()
    trip.wait_event("SuccessfulMigration",
                    "Source node reported migration succeeded")
    assert status(played.settle(machine))["nodeName"] != trip.source


# --- the ladder --------------------------------------------------------------

def test_without_its_machine_it_fails_and_goes(played, machine):
    played.hold("run", machine)
    trip = Trip(played, machine)
    trip.wait("Scheduling")
    path = namespaced(VMIS, *machine.split("/"))
    played.api.patch(path, {"metadata": {"finalizers": None}})
    played.api.delete(path, {"gracePeriodSeconds": 0})
    trip.wait_gone()
    trip.wait_event("FailedMigration",
                    "Migration failed because vmi does not exist.")
    wait_for("its pod to go", lambda: trip.pod() is None)


def test_a_machine_that_ends_ends_its_migration(played, machine):
    played.hold("arrive", machine)
    trip = Trip(played, machine)
    trip.wait("Running")
    played.api.patch(namespaced(VMIS, *machine.split("/")),
                     {"status": {"phase": "Failed"}})
    trip.check_failed("MachineEnded",
                      "Migration failed vmi shutdown during migration.")
    trip.wait_event(
        "FailedMigration", f"VirtualMachineInstance migration uid {trip.uid} "
        "failed. reason: Machine has ended", "VirtualMachineInstance")


def test_one_half_of_a_migration_elsewhere_is_refused(played, machine):
    trip = Trip(played, machine, spec={"receive": {"migrationID": "1"}})
    trip.check_failed("DecentralizedUnsupported", "Migration failed because "
                      "migrations between namespaces or clusters are not "
                      "supported")


def test_a_target_pod_that_ends_ends_it(played, machine):
    played.hold("arrive", machine)
    trip = Trip(played, machine)
    trip.wait("Running")
    played.end_pod(key_of(trip.pod()))
    trip.check_failed("TargetPodEnded", "Migration failed because target pod "
                      "shutdown during migration")
    assert state(played.machine(machine))["failureReason"] == \
        "Target pod is down"
    trip.check_stayed()


def test_a_target_pod_that_is_removed_ends_it(played, machine):
    played.hold("run", machine)
    trip = Trip(played, machine)
    trip.wait("Scheduling")
    played.take_pod(key_of(trip.wait_pod()))
    trip.check_failed("TargetPodRemoved", REMOVED)


@pytest.mark.parametrize("operation,code,text", [
    ({"op": "remove"}, "StateCleared",
     "VMI's migration state was cleared during the active migration."),
    ({"op": "replace", "value": {"migrationUid": "another"}}, "StateTaken",
     "VMI's migration state was taken over by another migration job during "
     "active migration.")])
def test_a_state_that_somebody_changes_ends_it(played, machine, operation,
                                               code, text):
    played.hold("prepare", machine)
    trip = Trip(played, machine)
    trip.wait("PreparingTarget")
    path = namespaced(VMIS, *machine.split("/"))
    played.api.patch(path, [{"path": "/status/migrationState", **operation}],
                     kind="json")
    trip.check_failed(code, text)
    played.api.patch(path, {"status": {"migrationState": None}})


def test_what_the_source_reports_is_told(played, machine):
    played.fail(machine, "out of luck")
    trip = Trip(played, machine)
    found = trip.check_failed("ReportedByNode",
                              "source node reported migration failed")
    assert status(found)["migrationState"]["failureReason"] == "out of luck"
    assert "out of luck" in trip.condition("ferry.io/Failure")["message"]
    trip.check_stayed()


def test_the_second_of_two_is_refused(played, machine):
    played.hold("arrive", machine)
    first = Trip(played, machine)
    first.wait("Running")
    second = Trip(played, machine, settled=False)
    found = second.check_failed(
        "AnotherMigration", "VMI is not eligible for migration because "
        "another migration job is in progress.")
    assert [t["phase"] for t in status(found)[
        "phaseTransitionTimestamps"]] == ["Failed"]
    played.release("arrive", machine)
    assert status(first.wait(*FINAL))["phase"] == "Succeeded"


@pytest.mark.parametrize("step,annotation,code,text", [
    ("prepare", "ferry.io/migrationPreparingTargetTimeoutSeconds",
     "PreparingTargetTimeout", "Migration failed because the target node did "
     "not prepare in time"),
    ("start", "ferry.io/migrationTargetReadyTimeoutSeconds",
     "TargetReadyTimeout", "Migration failed because the source node did not "
     "start it in time"),
    ("run", "kubevirt.io/migrationPendingPodTimeoutSeconds",
     "PendingPodTimeout", REMOVED)])
def test_each_phase_has_its_deadline(played, machine, step, annotation, code,
                                     text):
    played.hold(step, machine)
    trip = Trip(played, machine, annotations={annotation: "1"})
    trip.check_failed(code, text)
    if step == "run":
        (said,) = trip.events()["SuccessfulDelete"]
        assert said.startswith(f"pending pod {trip.namespace}/")
        assert said.endswith(" timeout period exceeded")
    trip.check_stayed()


def test_a_transfer_that_takes_too_long_is_aborted(played, machine):
    played.hold("arrive", machine)
    trip = Trip(played, machine, annotations={
        "ferry.io/migrationRunningTimeoutSeconds": "1"})
    trip.check_failed("RunningTimeout",
                      "source node reported migration failed")
    trip.check_stayed()


def start_silent(played, machine):
    """A transfer whose nodes have been asked to abort long ago, and say
    nothing."""
    played.hold("arrive", machine)
    played.hold("abort", machine)
    trip = Trip(played, machine)
    trip.wait("Running")
    trip.cancel()
    said = trip.wait_condition("migrationAbortRequested", "Canceled")
    conditions = [c for c in status(trip.now())["conditions"]
                  if c["type"] != said["type"]]
    trip.api.patch(f"{trip.path}/status", {"status": {"conditions": [
        *conditions, {**said, "lastTransitionTime":
                      "2020-01-01T00:00:00Z"}]}})
    wait_for("the silence to be told", lambda: "do not answer" in
             trip.condition("ferry.io/Waiting")["message"])
    return trip


def test_a_machine_that_may_have_arrived_is_not_given_up(played, machine):
    trip = start_silent(played, machine)
    pod = trip.pod()
    assert "deletionTimestamp" not in pod["metadata"]
    # It had: only nobody was there to say so.
    played.release("arrive", machine)
    trip.wait_gone()
    trip.wait_event("SuccessfulMigration",
                    "Source node reported migration succeeded")
    found = played.settle(machine)
    assert status(found)["nodeName"] == pod["spec"]["nodeName"]


def test_what_nobody_answers_for_ends_with_its_pod(played, machine):
    trip = start_silent(played, machine)
    # As for a node that is gone.
    played.take_pod(key_of(trip.pod()))
    trip.wait_gone()
    trip.wait_event("FailedMigration", REMOVED)
    trip.check_stayed()


def test_a_pod_on_the_machines_own_node_is_not_handed_to(played, machine):
    trip = Trip(played, machine, spec={
        "addedNodeSelector": {"example.com/no": "such"}})
    trip.wait_waiting("PodUnschedulable")
    name = trip.pod()["metadata"]["name"]
    # A scheduler that takes no notice of what the pod asks for.
    trip.api.create(namespaced(PODS, trip.namespace, name, "binding"), {
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": trip.source}})
    trip.check_failed("TargetOnSourceNode", "Migration failed because the "
                      "target pod is on the node that the machine runs on")
    trip.check_stayed()
    assert not state(played.machine(machine))


def test_a_pod_that_fits_nowhere_is_told_and_given_up(played, machine):
    trip = Trip(played, machine, annotations={
        "kubevirt.io/migrationUnschedulablePodTimeoutSeconds": "3"},
        spec={"addedNodeSelector": {"example.com/no": "such"}})
    said = trip.wait_waiting("PodUnschedulable")
    told = [c["message"] for c in status(trip.pod())["conditions"]
            if c["type"] == "PodScheduled"]
    assert said["message"].endswith(f"The scheduler says: {told[0]}")
    trip.wait_event("migrationTargetPodUnschedulable",
                    f"Migration target pod for VMI [{machine}] is currently "
                    "unschedulable.")
    trip.check_failed("UnschedulableTimeout", REMOVED)
    (said,) = trip.events()["SuccessfulDelete"]
    assert said.startswith(f"unschedulable pod {trip.namespace}/")


def test_utility_volumes_are_waited_for_and_then_given_up(played, machine):
    path = namespaced(VMIS, *machine.split("/"))
    played.api.patch(path, {"spec": {"utilityVolumes": [
        {"name": "u", "claimName": "c"}]}})
    trip = Trip(played, machine, annotations={
        "kubevirt.io/migrationUtilityVolumesTimeoutSeconds": "3"})
    trip.wait_waiting("UtilityVolumes")
    trip.wait_condition("migrationBlockedByUtilityVolumes",
                        "UtilityVolumesPresent")
    trip.wait_event("UtilityVolumeMigrationPending",
                    "Migration is waiting for utility volumes to detach")
    trip.check_failed("UtilityVolumesTimeout", "Migration failed because "
                      "utility volumes were not detached in time")


def test_a_machine_that_must_not_move_is_left_alone(played, machine):
    path = namespaced(VMIS, *machine.split("/"))
    conditions = [c for c in status(played.machine(machine))["conditions"]
                  if c["type"] != "LiveMigratable"]
    played.api.patch(path, {"status": {"conditions": [*conditions, {
        "type": "LiveMigratable", "status": "False",
        "reason": "DisksNotLiveMigratable", "message": "a disk of its own"}]}})
    trip = Trip(played, machine)
    trip.check_failed("NotMigratable", "Migration failed because the machine "
                      "cannot be migrated")
    assert "a disk of its own" in trip.condition("ferry.io/Failure")["message"]
    trip.check_stayed()


def test_a_disk_that_is_not_shared_is_told_with_its_class(played, machine):
    namespace, name = machine.split("/")
    played.api.create(PROFILES, {
        "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "StorageProfile",
        "metadata": {"name": namespace}, "spec": {}})
    played.api.patch(f"{PROFILES}/{namespace}/status", {"status": {
        "claimPropertySets": [{"accessModes": ["ReadWriteMany"],
                               "volumeMode": "Filesystem"}]}})
    played.api.create(namespaced(CLAIMS, namespace), {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "disk"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": namespace,
            "resources": {"requests": {"storage": "1Gi"}}}})
    played.api.patch(namespaced(VMIS, namespace, name), {"spec": {"volumes": [
        {"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}]}})
    trip = Trip(played, machine)
    trip.check_failed("NotMigratable", "Migration failed because the machine "
                      "cannot be migrated")
    said = trip.condition("ferry.io/Failure")["message"]
    assert "cannot migrate VMI: PVC disk is not shared" in said
    assert said.endswith(
        f"StorageClass '{namespace}' can share Filesystem volumes: with its "
        "data in a claim that asks for ReadWriteMany the machine can move.")
    trip.check_stayed()


# --- waiting -----------------------------------------------------------------

def test_limits_hold_and_people_go_before_the_system(played, configure,
                                                     controllers, namespace):
    del controllers
    machines = [played.start(namespace, f"vm-{i}") for i in range(4)]
    configure({"parallelMigrationsPerCluster": 1})
    played.hold("arrive")
    first = Trip(played, machines[0])
    first.wait("Running")
    evacuation = Trip(played, machines[1], annotations={
        "kubevirt.io/evacuationMigration": "no-such-node"})
    evacuation.wait_waiting("ClusterLimit")
    person = Trip(played, machines[2])
    said = person.wait_waiting("ClusterLimit")
    assert "The limit of 1 migrations in the cluster" in said["message"]
    assert status(person.now())["phase"] == "Pending"

    played.step("arrive", machines[0])
    person.wait("Running")
    assert status(evacuation.now())["phase"] == "Pending"
    assert evacuation.pod() is None
    configure({"parallelMigrationsPerCluster": MANY})
    evacuation.wait("Running")
    played.release("arrive")
    for trip in (first, person, evacuation):
        assert status(trip.wait(*FINAL))["phase"] == "Succeeded"


def test_a_source_node_has_a_limit_of_its_own(played, configure, controllers,
                                              namespace):
    del controllers
    on = collections.defaultdict(list)
    count = 0
    while not any(len(m) >= 2 for m in on.values()) or len(on) < 2:
        made = played.start(namespace, f"vm-{count}")
        on[status(played.settle(made))["nodeName"]].append(made)
        count += 1
    (busy, *_), (idle, *_) = (sorted(on, key=lambda n: -len(on[n])),
                              sorted(on, key=lambda n: len(on[n])))
    configure({"parallelOutboundMigrationsPerNode": 1})
    played.hold("arrive")
    first = Trip(played, on[busy][0])
    first.wait("Running")
    second = Trip(played, on[busy][1])
    said = second.wait_waiting("SourceNodeLimit")
    assert f"migrations away from node '{busy}'" in said["message"]
    other = Trip(played, on[idle][0])
    other.wait("Running")
    played.release("arrive")
    for trip in (first, second, other):
        assert status(trip.wait(*FINAL))["phase"] == "Succeeded"


def test_a_target_node_has_a_limit_of_its_own(played, configure, controllers,
                                              namespace):
    del controllers
    machines = [played.start(namespace, f"vm-{i}") for i in range(3)]
    target = NODES[0]
    movable = [m for m in machines
               if status(played.settle(m))["nodeName"] != target][:2]
    while len(movable) < 2:
        made = played.start(namespace, f"more-{len(machines)}")
        machines.append(made)
        if status(played.settle(made))["nodeName"] != target:
            movable.append(made)
    configure(annotations={"ferry.io/parallelInboundMigrationsPerNode": "1"})
    played.hold("arrive")
    there = {"addedNodeSelector": {"kubernetes.io/hostname": target}}
    first = Trip(played, movable[0], spec=there)
    first.wait("Running")
    second = Trip(played, movable[1], spec=there)
    said = second.wait_waiting("TargetNodeLimit")
    assert f"migrations to node '{target}'" in said["message"]
    assert status(second.now())["phase"] == "Scheduled"
    played.release("arrive")
    for trip in (first, second):
        assert status(trip.wait(*FINAL))["phase"] == "Succeeded"


def test_it_waits_for_a_quota_and_goes_on_when_that_is_raised(played,
                                                              machine):
    namespace = machine.split("/")[0]
    quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
    played.api.create(quotas, {
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})
    wait_for("the quota to count", lambda: status(played.api.get(
        f"{quotas}/few")).get("used", {}).get("pods") == "1")
    trip = Trip(played, machine)
    trip.wait_waiting("ResourceQuota")
    refused = trip.condition("migrationRejectedByResourceQuota")
    assert "exceeded quota" in refused["message"]
    wait_for("the event", lambda: any(
        "exceeded quota" in text for text in trip.events(
            "VirtualMachineInstance")["FailedCreate"]))
    played.api.patch(f"{quotas}/few", {"spec": {"hard": {"pods": "2"}}})
    assert status(trip.wait(*FINAL))["phase"] == "Succeeded"
    assert trip.condition("migrationRejectedByResourceQuota") is None


def test_an_automatic_one_waits_after_a_failure(played, machine):
    automatic = {"kubevirt.io/evacuationMigration": "no-such-node"}
    played.fail(machine, "not today")
    first = Trip(played, machine, annotations=automatic)
    first.check_failed("ReportedByNode",
                       "source node reported migration failed")
    second = Trip(played, machine, annotations=automatic)
    said = second.wait_waiting("Backoff")
    assert "The next try is at 20" in said["message"]
    second.wait_event("MigrationBackoff", f"backoff migrating vmi {machine}",
                      "VirtualMachineInstance")
    second.cancel()
    second.wait_gone()


def test_a_backup_is_waited_for(played, machine):
    path = namespaced(VMIS, *machine.split("/"))
    played.api.patch(path, {"status": {"backupStatus": {"backupName": "b"}}})
    trip = Trip(played, machine)
    trip.wait_waiting("Backup")
    played.api.patch(path, {"status": {"backupStatus": None}})
    assert status(trip.wait(*FINAL))["phase"] == "Succeeded"


# --- settings, tidying up ----------------------------------------------------

def test_the_policy_of_the_moment_is_resolved_for_good(played, machine):
    namespace = machine.split("/")[0]
    played.api.patch(f"/api/v1/namespaces/{namespace}",
                     {"metadata": {"labels": {"zone": namespace}}})
    policy = f"policy-{namespace}"
    played.api.create(POLICIES, {
        "apiVersion": "migrations.kubevirt.io/v1alpha1",
        "kind": "MigrationPolicy", "metadata": {"name": policy},
        "spec": {"allowPostCopy": True, "completionTimeoutPerGiB": 7,
                 "selectors": {"namespaceSelector": {"zone": namespace}}}})
    played.hold("prepare", machine)
    trip = Trip(played, machine)
    trip.wait("PreparingTarget")
    handed = state(played.machine(machine))
    assert handed["migrationPolicyName"] == policy
    assert handed["migrationConfiguration"]["allowPostCopy"] is True
    assert handed["migrationConfiguration"]["completionTimeoutPerGiB"] == 7
    played.api.patch(f"{POLICIES}/{policy}",
                     {"spec": {"completionTimeoutPerGiB": 9}})
    played.release("prepare", machine)
    assert status(trip.wait(*FINAL))["migrationState"][
        "migrationConfiguration"]["completionTimeoutPerGiB"] == 7
    played.api.delete(f"{POLICIES}/{policy}")


def test_five_that_have_ended_are_kept(played, machine):
    trips = []
    for _ in range(7):
        trips.append(Trip(played, machine))
        assert status(trips[-1].wait(*FINAL))["phase"] == "Succeeded"
        trips[-1].wait_tidy()
    path = namespaced(VMIMS, trips[0].namespace)
    # Also when several were made within one second.
    wait_for("the last five to be left", lambda: {
        m["metadata"]["name"] for m in played.api.get(path)["items"]} == {
            trip.name for trip in trips[2:]})


def test_a_pod_whose_migration_was_torn_away_goes(played, machine):
    played.hold("run", machine)
    trip = Trip(played, machine)
    trip.wait("Scheduling")
    trip.wait_pod()
    trip.api.patch(trip.path, {"metadata": {"finalizers": None}})
    trip.cancel()
    trip.wait_gone()
    wait_for("the pod to go", lambda: trip.pod() is None)
    trip.check_stayed()


def test_progress_of_a_long_transfer_is_shown(played, machine):
    played.hold("arrive", machine)
    trip = Trip(played, machine)
    trip.wait("Running")
    path = namespaced(VMIS, *machine.split("/"))
    percent = 0

    seen = set()

    def goes_on():
        nonlocal percent
        percent += 1
        played.api.patch(path, {"status": {"migrationState": {
            "progress": {"percent": min(percent, 99),
                         "bytesRemaining": 4096}}}})
        found = status(trip.now()).get("migrationState", {}).get("progress")
        if found:
            assert found["bytesRemaining"] == 4096
            seen.add(found["percent"])
        return len(seen) == 3
    wait_for("progress on the migration", goes_on)
    played.release("arrive", machine)
    assert status(trip.wait(*FINAL))["phase"] == "Succeeded"


def test_the_role_of_the_controller_is_enough(cluster, controllers, played,
                                              namespace):
    controllers.leader()
    cluster.kubectl("apply", "-f", os.path.join(
        REPOSITORY, "deploy", "kubernetes", "ferry-controller-rbac.yaml"))
    held = [c for c in controllers.all if c.runs()]
    for each in held:
        each.stop()
    try:
        with Controllers(cluster, kubeconfig=cluster.user_kubeconfig(
                USER, "system:serviceaccounts", "system:authenticated",
                "system:serviceaccounts:kubevirt")) as bound:
            bound.leader()
            machine = played.start(namespace, "vm")
            for _ in range(2):
                trip = Trip(played, machine)
                assert status(trip.wait(*FINAL))["phase"] == "Succeeded"
                trip.wait_tidy()
                trip.wait_event("SuccessfulMigration", "Source node reported "
                                "migration succeeded")
            assert "forbidden" not in bound.logs()
    finally:
        for each in held:
            each.start()


def test_numbers_are_served(controllers, played, machine):
    trip = Trip(played, machine)
    assert status(trip.wait(*FINAL))["phase"] == "Succeeded"
    found = controllers.leader().metrics()
    labels = json.dumps  # quotes as Prometheus has them
    assert found["kubevirt_vmi_migration_succeeded{"
                 f"vmi={labels('vm')},vmim={labels(trip.name)},"
                 f"namespace={labels(trip.namespace)}}}"] == 1
    for phase in ("pending", "scheduling", "unset", "running"):
        assert found[f"kubevirt_vmi_migrations_in_{phase}_phase"] >= 0
    assert found["kubevirt_vmi_migration_phase_transition_time_from_creation_"
                 "seconds_count{phase=\"Succeeded\"}"] >= 1
