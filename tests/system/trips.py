# SPDX-License-Identifier: Apache-2.0
"""Migrations on played nodes, and what is asked about them."""

import collections
import contextlib

from kubeapi import has_vanished, wait_for
from played import wait_phase
from played_objects import PODS, VMIMS, key_of, namespaced
from played_steps import FINAL, status

KUBEVIRTS = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
MIGRATION_LABEL = "kubevirt.io/migrationJobUID"
MANY = 1000
UNLIMITED = {"parallelMigrationsPerCluster": MANY,
             "parallelOutboundMigrationsPerNode": MANY}
REMOVED = "Migration target pod was removed during active migration."


@contextlib.contextmanager
def changed(api):
    """Changes the KubeVirt object, for as long as it lasts."""
    path = f"{KUBEVIRTS}/kubevirt"
    before = api.get(path)

    def change(migrations=None, annotations=None):
        api.patch(path, {"metadata": {"annotations": annotations or {}},
                         "spec": {"configuration": {
                             "migrations": migrations or {}}}})
    yield change
    now = api.get(path)
    api.put(path, {**before, "metadata": {
        **before["metadata"],
        "resourceVersion": now["metadata"]["resourceVersion"]}})


class Trip:
    """A migration, and what is known about it."""

    def __init__(self, played, machine, settled=True, **more):
        """settled: no other migration of the machine goes on."""
        self.played, self.api, self.machine = played, played.api, machine
        found = played.settle(machine) if settled else played.machine(machine)
        self.source = status(found)["nodeName"]
        self.made = played.migrate(machine, **more)
        self.uid = self.made["metadata"]["uid"]
        self.namespace, self.name = key_of(self.made).split("/")
        self.path = namespaced(VMIMS, self.namespace, self.name)

    def now(self):
        return self.api.get(self.path)

    def wait(self, *phases):
        return wait_phase(self.api, self.made, *phases)

    def condition(self, kind):
        """The condition of a type; None when there is none."""
        for each in status(self.now()).get("conditions", []):
            if each["type"] == kind:
                return each
        return None

    def wait_condition(self, kind, reason):
        def said():
            found = self.condition(kind)
            return found if found and found["reason"] == reason else None
        return wait_for(f"{kind} of {self.path} to be {reason}", said)

    def wait_waiting(self, reason):
        return self.wait_condition("ferry.io/Waiting", reason)

    def pod(self):
        """The target pod; None when there is none."""
        pods = self.api.get(
            f"{namespaced(PODS, self.namespace)}?labelSelector="
            f"{MIGRATION_LABEL}%3D{self.uid}")["items"]
        assert len(pods) <= 1
        return pods[0] if pods else None

    def wait_pod(self):
        return wait_for(f"the target pod of {self.path}", self.pod)

    def wait_tidy(self):
        """Nothing is to be done about it any more; of those that were made
        in one second it may have been one too many, and be gone."""
        wait_for(f"the finalizer of {self.path} to go", lambda: has_vanished(
            self.api, self.path) or not self.now()["metadata"].get(
                "finalizers"))

    def wait_gone(self):
        wait_for(f"{self.path} to go",
                 lambda: has_vanished(self.api, self.path))

    def cancel(self):
        self.api.delete(self.path)

    def events(self, of="VirtualMachineInstanceMigration"):
        """Texts by reason, of those that are about it."""
        name = self.name if of.endswith("Migration") else \
            self.machine.split("/")[1]
        found = collections.defaultdict(list)
        for event in self.api.get(
                f"/api/v1/namespaces/{self.namespace}/events")["items"]:
            about = event["involvedObject"]
            if (about["kind"], about["name"]) == (of, name):
                found[event["reason"]].append(event["message"])
        return found

    def wait_event(self, reason, text,
                   of="VirtualMachineInstanceMigration"):
        wait_for(f"the event {reason} '{text}'",
                 lambda: text in self.events(of)[reason])

    def check_failed(self, code, text):
        """It has failed for this reason, and nothing is left of it."""
        found = self.wait(*FINAL)
        assert status(found)["phase"] == "Failed"
        failure = self.condition("ferry.io/Failure")
        assert failure["reason"] == code
        assert failure["message"].startswith(text)
        assert self.condition("ferry.io/Waiting") is None
        self.wait_event("FailedMigration", text)
        self.wait_tidy()
        wait_for("the target pod to go", lambda: self.pod() is None)
        return found

    def check_stayed(self):
        assert status(self.played.settle(self.machine))["nodeName"] == \
            self.source
