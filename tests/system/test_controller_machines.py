# SPDX-License-Identifier: Apache-2.0
"""Machines start, stop and start again as they are told; each has one pod.

The nodes are played; ferry-cluster, ferry-api, ferry-controller and kubectl
are real.
"""

import json
import os

import pytest

import played_objects as objects
from apis import SUBRESOURCES
from controllers import LEASE, USER, Controllers
from faults_seen import is_create
from kubeapi import has_vanished, wait_for
from played import Played, wait_phase
from played_objects import NODES as NODES_PATH
from played_objects import PODS, VMIS, namespaced
from played_steps import status
from proxies import REPOSITORY
from test_controller_leader import kill_everywhere

VMS = "/apis/kubevirt.io/v1/virtualmachines"
PVCS = "/api/v1/persistentvolumeclaims"
FILLING = "cdi.kubevirt.io/storage.pod.phase"
QUOTAS = "/api/v1/resourcequotas"
NODES = ("machines-a", "machines-b")
# A pause after a failed start, and an answer that is late: in seconds.
PATIENCE = 180


class AsController:
    """The cluster, for those who write what only Ferry may."""

    def __init__(self, api):
        self.api = api.controller


class Mortal(Controllers):
    """Controllers whose lease may be freed from a proxy's thread."""

    def free_lease(self):
        self.cluster.api().patch(LEASE, {"spec": {"holderIdentity": ""}})


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


class Machine:
    """A VirtualMachine under observation."""

    def __init__(self, cluster, played, namespace, body):
        self.cluster, self.played = cluster, played
        self.namespace = namespace
        self.name = body["metadata"]["name"]
        self.key = f"{namespace}/{self.name}"
        self.path = namespaced(VMS, namespace, self.name)
        self.vmi_path = namespaced(VMIS, namespace, self.name)
        self.api = played.api
        self.kubectl("create", "-f", "-", stdin=json.dumps(body))

    def kubectl(self, *arguments, **more):
        return self.cluster.kubectl("-n", self.namespace, *arguments, **more)

    def vm(self):
        return self.api.get(self.path)

    def vmi(self):
        """The instance; None if there is none."""
        answer = self.api.request("GET", self.vmi_path)
        return answer.json() if answer.code == 200 else None

    def uid(self):
        found = self.vmi()
        return found["metadata"]["uid"] if found else None

    def wait_status(self, *words, deadline=PATIENCE):
        """Until the word that people read is one of these; the machine."""
        def reached():
            found = self.vm()
            return found if status(found).get("printableStatus") in words \
                else None
        try:
            return wait_for(f"{self.key} to be {words}", reached, deadline)
        except TimeoutError as error:
            raise AssertionError(json.dumps(
                [self.vm(), self.vmi()], indent=1)) from error

    def wait_replaced(self, uid):
        """Until another instance runs."""
        wait_for(f"another instance of {self.key}",
                 lambda: self.uid() not in (None, uid), PATIENCE)
        return self.wait_status("Running")

    def ask(self, what, body=None):
        """start, stop, restart, as virtctl does."""
        self.api.expect(202, "PUT", namespaced(
            f"{SUBRESOURCES}/virtualmachines", self.namespace, self.name,
            what), body or {})

    def end_guest(self, phase):
        """The node says that the guest has ended."""
        self.api.patch(self.vmi_path, {"status": {"phase": phase}})

    def set_strategy(self, strategy):
        self.kubectl("patch", "vm", self.name, "--type", "merge", "-p",
                     json.dumps({"spec": {"runStrategy": strategy}}))

    def pods(self):
        return [p for p in self.api.get(namespaced(PODS, self.namespace))[
            "items"] if p["metadata"].get("annotations", {}).get(
                "kubevirt.io/domain") == self.name]

    def condition(self, kind, of=None):
        found = [c for c in status(of or self.vm()).get("conditions", [])
                 if c["type"] == kind]
        return found[0] if found else None

    def events(self, kind="VirtualMachine"):
        """(reason, message) of each event about it."""
        items = self.api.get(f"/api/v1/namespaces/{self.namespace}/events")[
            "items"]
        return [(e["reason"], e["message"]) for e in items
                if e["involvedObject"]["name"] == self.name
                and e["involvedObject"]["kind"] == kind]

    def wait_event(self, reason, message, kind="VirtualMachine"):
        wait_for(f"event {reason} {message}", lambda: any(
            r == reason and message in m for r, m in self.events(kind)))

    def wait_gone(self):
        """Until there is neither an instance nor a pod."""
        wait_for(f"the instance of {self.key} to go",
                 lambda: self.vmi() is None, PATIENCE)
        wait_for(f"the pods of {self.key} to go", lambda: not self.pods(),
                 PATIENCE)


@pytest.fixture(name="make")
def make_(cluster, controllers, played, namespace):
    """Makes machines of one test."""
    del controllers

    def make(name, strategy="Always", spec=None, **more):
        body = objects.vm(name, strategy, spec=spec)
        body["spec"].update(more)
        return Machine(cluster, played, namespace, body)
    return make


# --- strategies --------------------------------------------------------------

def test_an_always_machine_runs_and_says_so(make, played):
    machine = make("runs")
    said = status(machine.wait_status("Running"))
    assert said["created"] and said["runStrategy"] == "Always"
    assert said["observedGeneration"] == said["desiredGeneration"] == 1
    wait_for("it to be ready", lambda: status(machine.vm()).get("ready"))
    assert machine.condition("Ready")["status"] == "True"
    assert machine.condition("LiveMigratable")["status"] == "True"
    vmi = played.settle(machine.key)
    (pod,) = machine.pods()
    assert status(vmi)["nodeName"] == pod["spec"]["nodeName"]
    wait_for("the pod to be listed", lambda: status(machine.vmi()).get(
        "activePods") == {pod["metadata"]["uid"]: pod["spec"]["nodeName"]})
    assert [t["phase"] for t in status(machine.vmi())[
        "phaseTransitionTimestamps"]] == ["Pending", "Scheduling",
                                          "Scheduled", "Running"]
    machine.wait_event("SuccessfulCreate", "Started the virtual machine by "
                       "creating the new virtual machine instance runs")
    machine.wait_event("SuccessfulCreate", "Created virtual machine pod "
                       + pod["metadata"]["name"], "VirtualMachineInstance")
    columns = machine.kubectl("get", "vm", "runs").splitlines()[1].split()
    assert columns[2:] == ["Running", "True"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_an_always_machine_starts_again_whatever_its_end(make, phase):
    machine = make("again")
    machine.wait_status("Running")
    uid = machine.uid()
    machine.end_guest(phase)
    machine.wait_replaced(uid)
    machine.wait_event("SuccessfulDelete", "Stopped the virtual machine by "
                       f"deleting the virtual machine instance {uid}")
    assert "startFailure" not in status(machine.vm())


def test_a_halted_machine_runs_when_told_and_stops_when_told(make):
    machine = make("halted", "Halted")
    machine.wait_status("Stopped")
    assert machine.vmi() is None
    assert machine.condition("Ready")["reason"] == "VMINotExists"
    machine.ask("start")
    machine.wait_status("Running")
    machine.ask("stop")
    machine.wait_gone()
    wait_for("it to say so", lambda: not status(machine.vm())["created"])
    said = machine.wait_status("Stopped")
    assert said["spec"]["runStrategy"] == "Halted"
    assert not status(said)["ready"]


def test_the_older_member_running_means_the_same(make, played):
    body = objects.vm("older")
    del body["spec"]["runStrategy"]
    body["spec"]["running"] = True
    first = make("any", "Halted")
    machine = Machine(first.cluster, played, first.namespace, body)
    machine.wait_status("Running")
    machine.kubectl("patch", "vm", "older", "--type", "merge", "-p",
                    '{"spec": {"running": false}}')
    machine.wait_gone()
    assert status(machine.wait_status("Stopped"))["runStrategy"] == "Halted"


def test_a_manual_machine_does_what_it_is_asked_and_no_more(make):
    machine = make("manual", "Manual")
    machine.wait_status("Stopped")
    machine.ask("start")
    machine.wait_status("Running")
    uid = machine.uid()
    machine.ask("restart")
    machine.wait_replaced(uid)
    wait_for("all requests to be met", lambda: not status(
        machine.vm()).get("stateChangeRequests"))
    machine.ask("stop")
    machine.wait_gone()
    machine.wait_status("Stopped")
    wait_for("all requests to be met", lambda: not status(
        machine.vm()).get("stateChangeRequests"))


def test_a_manual_machine_that_ended_stays_ended(make):
    machine = make("ended", "Manual")
    machine.wait_status("Stopped")
    machine.ask("start")
    machine.wait_status("Running")
    uid = machine.uid()
    machine.end_guest("Succeeded")
    machine.wait_status("Stopped")
    assert machine.uid() == uid


def test_a_machine_that_reruns_does_so_after_failures_only(make):
    machine = make("reruns", "RerunOnFailure")
    machine.wait_status("Running")
    uid = machine.uid()
    machine.end_guest("Failed")
    machine.wait_replaced(uid)
    wait_for("the request to be met", lambda: not status(
        machine.vm()).get("stateChangeRequests"))
    machine.end_guest("Succeeded")
    machine.wait_gone()
    machine.wait_status("Stopped")
    assert machine.vmi() is None


def test_a_once_machine_runs_once(make):
    machine = make("once", "Once")
    machine.wait_status("Running")
    uid = machine.uid()
    machine.end_guest("Failed")
    machine.wait_status("Stopped")
    assert machine.uid() == uid


def test_a_restart_is_another_instance_of_the_same_machine(make):
    machine = make("restarts")
    machine.wait_status("Running")
    uid = machine.uid()
    machine.ask("restart")
    machine.wait_replaced(uid)
    assert machine.vmi()["spec"]["domain"]["firmware"]["uuid"] == \
        machine.vm()["metadata"]["uid"]


def test_a_machine_can_be_started_with_its_guest_paused(make):
    machine = make("paused", "Manual")
    machine.wait_status("Stopped")
    machine.ask("start", {"paused": True})
    machine.wait_status("Running")
    assert machine.vmi()["spec"]["startStrategy"] == "Paused"


def test_a_halted_machine_started_paused_is_an_always_machine(make):
    machine = make("paused-halted", "Halted")
    machine.wait_status("Stopped")
    machine.ask("start", {"paused": True})
    machine.wait_status("Running")
    assert machine.vm()["spec"]["runStrategy"] == "Always"
    assert machine.vmi()["spec"]["startStrategy"] == "Paused"


def test_a_paused_guest_is_said_to_be(make):
    machine = make("pauses")
    machine.wait_status("Running")
    conditions = status(machine.vmi())["conditions"]
    machine.api.patch(machine.vmi_path, {"status": {"conditions": [
        *conditions, {"type": "Paused", "status": "True",
                      "reason": "PausedByUser"}]}})
    machine.wait_status("Paused")
    assert machine.condition("Paused")["reason"] == "PausedByUser"


# --- deletion ----------------------------------------------------------------

def test_a_deleted_machine_takes_all_that_is_its_with_it(make, played):
    machine = make("deleted")
    machine.wait_status("Running")
    played.hold("remove", machine.key)
    machine.kubectl("delete", "vm", "deleted", "--wait=false")
    assert machine.wait_status("Terminating")
    assert machine.vmi()["metadata"].get("deletionTimestamp")
    played.release("remove", machine.key)
    wait_for("the machine to go",
             lambda: has_vanished(machine.api, machine.path), PATIENCE)
    machine.wait_gone()


def test_an_instance_of_nobody_is_followed_and_deleted_alike(
        cluster, controllers, played, namespace):
    del controllers
    key = played.launch(namespace, "alone")
    played.settle(key)
    cluster.kubectl("-n", namespace, "delete", "vmi", "alone")
    wait_for("the pods to go", lambda: not played.pods(key))


def test_an_instance_deleted_behind_its_machine_is_made_anew(make):
    machine = make("behind")
    machine.wait_status("Running")
    uid = machine.uid()
    machine.kubectl("delete", "vmi", "behind", "--wait=false")
    machine.wait_replaced(uid)


def test_a_machine_takes_over_an_instance_of_its_name(
        cluster, controllers, played, namespace):
    del controllers
    key = played.launch(namespace, "loose")
    played.settle(key)
    machine = Machine(cluster, played, namespace, objects.vm("loose"))
    machine.wait_status("Running")
    (owner,) = machine.vmi()["metadata"]["ownerReferences"]
    assert owner["uid"] == machine.vm()["metadata"]["uid"]


# --- what goes wrong ---------------------------------------------------------

def test_a_machine_whose_pod_is_killed_starts_again(make, played):
    machine = make("killed")
    machine.wait_status("Running")
    uid = machine.uid()
    (pod,) = machine.pods()
    played.take_pod(f"{machine.namespace}/{pod['metadata']['name']}")
    machine.wait_replaced(uid)
    wait_for("one pod", lambda: len(machine.pods()) == 1)


def test_machines_of_a_lost_node_run_elsewhere(make, played):
    played.add_node("machines-lost", labels={"lost": "yes"})
    machine = make("lost", spec={"affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{
            "weight": 100, "preference": {"matchExpressions": [
                {"key": "lost", "operator": "Exists"}]}}]}}})
    machine.wait_status("Running")
    uid = machine.uid()
    assert status(machine.vmi())["nodeName"] == "machines-lost"
    played.remove_node("machines-lost")
    machine.wait_replaced(uid)
    assert status(machine.vmi())["nodeName"] in NODES
    machine.wait_event("NodeUnresponsive", "virt-handler on node "
                       "machines-lost is not responsive, marking VMI as "
                       "failed", "VirtualMachineInstance")


def test_a_node_whose_agent_is_silent_gets_no_more_machines(
        cluster, controllers, played):
    del controllers
    played.add_node("machines-silent")
    path = f"{NODES_PATH}/machines-silent"
    played.api.patch(path, {"metadata": {"annotations": {
        "kubevirt.io/heartbeat": "2026-01-01T00:00:00Z"}}})
    wait_for("the node to be marked", lambda: played.api.get(path)[
        "metadata"]["labels"]["kubevirt.io/schedulable"] == "false")
    wait_for("that to be said", lambda: "virt-handler is not responsive, "
             "marking node as unresponsive" in cluster.kubectl(
                 "get", "events"))
    played.api.delete(path)


def test_a_machine_that_does_not_start_is_tried_again_later(make, played):
    played.hold("run")
    try:
        machine = make("crashes")
        (pod,) = wait_for("its pod", machine.pods)
        first = machine.uid()
        played.wait_due("run", machine.key)
        played.end_pod(f"{machine.namespace}/{pod['metadata']['name']}")
        said = status(machine.wait_status("CrashLoopBackOff"))
        assert said["startFailure"]["consecutiveFailCount"] == 1
        assert said["startFailure"]["lastFailedVMIUID"] == first
        machine.wait_gone()
    finally:
        played.release("run")
    machine.wait_replaced(first)
    wait_for("the count to be forgotten",
             lambda: "startFailure" not in status(machine.vm()))


def test_a_machine_without_a_place_says_so(make, played):
    machine = make("nowhere", spec={"nodeSelector": {"is": "nowhere"}})
    machine.wait_status("ErrorUnschedulable")
    assert machine.condition("PodScheduled", machine.vmi())["reason"] == \
        "Unschedulable"
    played.add_node("machines-new", labels={"is": "nowhere"})
    machine.wait_status("Running")


def test_a_machine_whose_image_cannot_be_had_says_so(make, played):
    played.hold("run")
    try:
        machine = make("no-image")
        (pod,) = wait_for("its pod", machine.pods)
        played.wait_due("run", machine.key)
        played.api.patch(namespaced(
            PODS, machine.namespace, pod["metadata"]["name"], "status"), {
                "status": {"containerStatuses": [{
                    "name": "compute", "image": "i", "imageID": "",
                    "restartCount": 0, "ready": False, "state": {"waiting": {
                        "reason": "ErrImagePull", "message": "no such"}}}]}})
        machine.wait_status("ErrImagePull")
    finally:
        played.release("run")
    machine.wait_status("Running")
    assert machine.condition("Synchronized") is None


def with_disk(**source):
    """A spec with one disk."""
    return {"domain": {"memory": {"guest": "64Mi"}, "devices": {
                "disks": [{"name": "disk", "disk": {"bus": "virtio"}}],
                "interfaces": [{"name": "default", "masquerade": {}}]}},
            "volumes": [{"name": "disk", **source}]}


def make_claim(machine, name, **annotations):
    """A claim; CDI would make it for a data volume."""
    return machine.api.create(namespaced(PVCS, machine.namespace), {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"accessModes": ["ReadWriteMany"],
                 "resources": {"requests": {"storage": "1Mi"}}}})


def test_a_machine_waits_until_its_data_volume_is_filled(make):
    machine = make("volumes", spec=with_disk(dataVolume={"name": "dv"}))

    def said(text):
        found = next((c for c in status(machine.vmi()).get("conditions", [])
                      if c["type"] == "DataVolumesReady"), None)
        return found if found and text in found["message"] else None
    machine.wait_status("Provisioning")
    assert wait_for("what it waits for", lambda: said("made no claim"))[
        "reason"] == "NotAllDVsReady"
    make_claim(machine, "dv", **{FILLING: "Running"})
    assert wait_for("what it waits for", lambda: said(
        "DataVolume dv is being filled: its pod is Running"))["status"] == \
        "False"
    machine.wait_status("Provisioning")
    assert not machine.pods()
    machine.api.patch(namespaced(PVCS, machine.namespace, "dv"), {
        "metadata": {"annotations": {FILLING: "Succeeded"}}})
    (pod,) = wait_for("its pod", machine.pods)
    assert any("persistentVolumeClaim" in v for v in pod["spec"]["volumes"])
    assert wait_for("all to be filled", lambda: said("are there and filled"))[
        "status"] == "True"


def test_a_machine_without_its_claim_waits_for_it(make):
    machine = make("claims", spec=with_disk(
        persistentVolumeClaim={"claimName": "missing"}))
    machine.wait_status("ErrorPvcNotFound")
    assert not machine.pods()
    machine.wait_event("FailedPvcNotFound", "didn't find PVC missing",
                       "VirtualMachineInstance")
    make_claim(machine, "missing")
    (pod,) = wait_for("its pod", machine.pods)
    assert any("persistentVolumeClaim" in v for v in pod["spec"]["volumes"])


def test_a_pod_that_is_refused_is_tried_again(make, cluster, namespace):
    api = cluster.api()
    quota = namespaced(QUOTAS, namespace)
    api.create(quota, {"apiVersion": "v1", "kind": "ResourceQuota",
                       "metadata": {"name": "none"},
                       "spec": {"hard": {"pods": "0"}}})
    wait_for("the quota to count", lambda: status(
        api.get(f"{quota}/none")).get("hard"))
    machine = make("refused")
    refused = wait_for("the instance to say so", lambda: machine.vmi()
                       and machine.condition("Synchronized", machine.vmi()))
    assert (refused["status"], refused["reason"]) == ("False", "FailedCreate")
    assert "exceeded quota" in refused["message"]
    machine.wait_event("FailedCreate", "Error creating pod: ",
                       "VirtualMachineInstance")
    assert status(machine.vmi())["phase"] == "Pending"
    api.delete(f"{quota}/none")
    machine.wait_status("Running")
    assert len(machine.pods()) == 1


# --- changes -----------------------------------------------------------------

def test_a_changed_template_asks_for_a_restart(make):
    machine = make("changes")
    machine.wait_status("Running")

    def set_memory(size):
        machine.kubectl("patch", "vm", "changes", "--type", "merge", "-p",
                        json.dumps({"spec": {"template": {"spec": {"domain": {
                            "memory": {"guest": size}}}}}}))
    set_memory("96Mi")
    asked = wait_for("a restart to be asked for",
                     lambda: machine.condition("RestartRequired"))
    assert asked["message"] == \
        "a non-live-updatable field was changed in the template spec"
    said = status(machine.vm())
    assert said["observedGeneration"] < said["desiredGeneration"]
    set_memory("64Mi")
    wait_for("that to be taken back",
             lambda: not machine.condition("RestartRequired"))
    set_memory("128Mi")
    wait_for("a restart to be asked for",
             lambda: machine.condition("RestartRequired"))
    uid = machine.uid()
    machine.ask("restart")
    machine.wait_replaced(uid)
    wait_for("that to be done",
             lambda: not machine.condition("RestartRequired"))
    assert machine.vmi()["spec"]["domain"]["memory"]["guest"] == "128Mi"


def test_wishes_about_eviction_reach_the_pod(make):
    machine = make("wishes")
    machine.wait_status("Running")
    wish = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
    machine.kubectl("patch", "vm", "wishes", "--type", "merge", "-p",
                    json.dumps({"spec": {"template": {"metadata": {
                        "annotations": {wish: "true"}}}}}))
    wait_for("the pod to have it", lambda: machine.pods()[0]["metadata"][
        "annotations"].get(wish) == "true")
    assert not machine.condition("RestartRequired")


# --- migrations --------------------------------------------------------------

def test_a_machine_that_moves_has_two_pods_and_then_one(make, played):
    machine = make("moves")
    machine.wait_status("Running")
    source = status(played.settle(machine.key))["nodeName"]
    played.hold("arrive", machine.key)
    migration = played.migrate(machine.key)
    machine.wait_status("Migrating")
    wait_for("both pods to be listed", lambda: sorted(status(
        machine.vmi())["activePods"].values()) == sorted(
            p["spec"]["nodeName"] for p in machine.pods()))
    assert len(machine.pods()) == 2
    played.release("arrive", machine.key)
    wait_phase(played.api, migration, "Succeeded")
    wait_for("the source's pod to go", lambda: len(machine.pods()) == 1)
    (pod,) = machine.pods()
    assert pod["spec"]["nodeName"] != source
    wait_for("one pod to be listed", lambda: status(machine.vmi())[
        "activePods"] == {pod["metadata"]["uid"]: pod["spec"]["nodeName"]})
    machine.wait_status("Running")
    wait_for("its launcher to be known", lambda: status(machine.vmi()).get(
        "launcherContainerImageVersion") == pod["spec"]["containers"][0][
            "image"])


# --- restarts of the controller ----------------------------------------------

@pytest.mark.parametrize("when", ["before", "after"])
def test_a_life_survives_its_leader_at_every_write(
        cluster, controllers, played, namespace, when):
    """Start, restart after a failure, deletion; one pod for each instance."""
    seen_before = {}

    def live():
        name = f"life-{len(seen_before)}"
        machine = Machine(cluster, played, namespace,
                          objects.vm(name, "RerunOnFailure"))
        machine.wait_status("Running")
        uid = machine.uid()
        machine.end_guest("Failed")
        machine.wait_replaced(uid)
        machine.kubectl("delete", "vm", name, "--wait=false")
        wait_for("the machine to go",
                 lambda: has_vanished(machine.api, machine.path), PATIENCE)
        machine.wait_gone()
        seen_before[name] = True
        # Of each instance the server has accepted one pod.
        made = [json.loads(s.body)["metadata"] for c in controllers.all
                for s in c.faults.seen
                if is_create("pods")(s) and s.code == 201
                and f"/{namespace}/" in s.path]
        owners = [m["ownerReferences"][0]["uid"] for m in made]
        assert len(owners) == len(set(owners)), owners

    struck = kill_everywhere(controllers, when, live)
    assert len(struck) > 10, struck


def test_the_account_that_is_installed_may_do_all_of_this(
        cluster, controllers, played, make):
    """Without the administrator's rights, which the others have here."""
    machine = make("before")
    machine.wait_status("Running")
    for each in controllers.all:
        each.kill()
    controllers.free_lease()
    cluster.kubectl("apply", "-f", os.path.join(
        REPOSITORY, "deploy", "kubernetes", "ferry-controller-rbac.yaml"))
    account = cluster.user_kubeconfig(
        USER, "system:serviceaccounts", "system:serviceaccounts:kubevirt",
        "system:authenticated")
    with Controllers(cluster, 1, kubeconfig=account) as restricted:
        restricted.leader()
        uid = machine.uid()
        machine.ask("restart")
        machine.wait_replaced(uid)
        other = make("under-it", "RerunOnFailure")
        other.wait_status("Running")
        uid = other.uid()
        other.end_guest("Failed")
        other.wait_replaced(uid)
        played.api.patch(other.vmi_path, {"metadata": {"annotations": {
            "descheduler.alpha.kubernetes.io/evict": "true"}}})
        wait_for("the pod to have it", lambda: any(
            "descheduler.alpha.kubernetes.io/evict" in p["metadata"][
                "annotations"] for p in other.pods()))
        for each in (machine, other):
            each.kubectl("delete", "vm", each.name, "--wait=false")
            wait_for("the machine to go", lambda e=each: has_vanished(
                e.api, e.path), PATIENCE)
        assert "forbidden" not in restricted.logs()
    for each in controllers.all:
        each.start()
    controllers.leader()
