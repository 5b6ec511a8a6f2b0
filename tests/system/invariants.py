# SPDX-License-Identifier: Apache-2.0
"""What must hold of migrations at any moment, whatever goes wrong.

Snapshot looks at the cluster as it was at one resource version; Chronicle
follows every change of every migration. Both collect what is wrong as
sentences.
"""

import collections
import dataclasses
import threading

from kubeapi import wait_for, with_query
from played_feed import Feed
from played_objects import PODS, VMIMS, VMIS, key_of
from played_steps import FINAL, migration_uid, state, status

ORDER = ("", "Pending", "Scheduling", "Scheduled", "PreparingTarget",
         "TargetReady", "Running", "Succeeded", "Failed")
RUNNING = ("Scheduling", "Scheduled", "PreparingTarget", "TargetReady",
           "Running")
FINALS_KEPT = 5


@dataclasses.dataclass(frozen=True)
class Limits:
    """How many migrations may go on; inbound 0 is no limit."""
    cluster: int = 5
    outbound: int = 2
    inbound: int = 0


def phase_of(migration):
    return status(migration).get("phase", "")


def is_final(migration):
    return phase_of(migration) in FINAL


def describe(obj):
    """In a line what a person needs to know of a pod or migration."""
    words = [phase_of(obj) or "new"]
    if "containers" in obj["spec"]:
        words = [obj["metadata"]["name"], *words,
                 f"on {obj['spec'].get('nodeName')}",
                 f"for {migration_uid(obj) or 'itself'}"]
    else:
        words += [f"of {obj['spec']['vmiName']}", obj["metadata"]["uid"]]
        words += [f"{c['type']}={c['status']}: {c.get('reason')}"
                  for c in status(obj).get("conditions", [])]
    if "deletionTimestamp" in obj["metadata"]:
        words.append("deleted")
    return " ".join(words)


class Snapshot:
    """Machines, migrations and pods of a namespace at one moment."""

    def __init__(self, api, namespace):
        page = api.get(self._path(VMIMS, namespace))
        self.version = page["metadata"]["resourceVersion"]
        self.migrations = page["items"]
        self.machines = {
            key_of(m): m for m in self._at(api, VMIS, namespace)}
        self.pods = self._at(api, PODS, namespace)

    @staticmethod
    def _path(kind, namespace):
        head, plural = kind.rsplit("/", 1)
        return f"{head}/namespaces/{namespace}/{plural}"

    def _at(self, api, kind, namespace):
        return api.get(with_query(
            self._path(kind, namespace), resourceVersion=self.version,
            resourceVersionMatch="Exact"))["items"]

    def machine_of(self, migration):
        return self.machines.get(f"{migration['metadata']['namespace']}/"
                                 f"{migration['spec']['vmiName']}")

    def active(self):
        """The migrations that hold a slot."""
        targets = {migration_uid(p) for p in self.pods}
        return [m for m in self.migrations if not is_final(m) and (
            phase_of(m) in RUNNING or m["metadata"]["uid"] in targets)]

    def source_of(self, migration):
        """The node that it leaves."""
        machine = self.machine_of(migration)
        if machine is None:
            return ""
        of = state(machine)
        if of.get("migrationUid") == migration["metadata"]["uid"]:
            return of.get("sourceNode", "")
        return status(machine).get("nodeName", "")

    def targets(self):
        """The nodes that machines are being received by."""
        going = {m["metadata"]["uid"] for m in self.active()}
        return collections.Counter(
            state(m).get("targetNode") for m in self.machines.values()
            if state(m).get("migrationUid") in going
            and state(m).get("targetNode"))

    def sources(self):
        """The nodes that machines leave."""
        return collections.Counter(
            filter(None, map(self.source_of, self.active())))

    def reached(self, limits):
        """The limits that leave room for no more, by name."""
        found = []
        if len(self.active()) == limits.cluster:
            found.append("cluster")
        if limits.outbound in self.sources().values():
            found.append("outbound")
        if limits.inbound and limits.inbound in self.targets().values():
            found.append("inbound")
        return found

    def wrong(self, limits):
        """What must not be, at any moment."""
        active = self.active()
        found = []
        if len(active) > limits.cluster:
            found.append(f"{len(active)} migrations, {limits.cluster} may be")
        for node, count in self.sources().items():
            if count > limits.outbound:
                found.append(f"{count} leave {node}, {limits.outbound} may")
        for node, count in self.targets().items():
            if limits.inbound and count > limits.inbound:
                found.append(f"{count} go to {node}, {limits.inbound} may")
        for name, count in collections.Counter(
                m["spec"]["vmiName"] for m in active).items():
            if count > 1:
                found.append(f"{count} migrations of {name} at once")
        for uid, count in collections.Counter(
                filter(None, map(migration_uid, self.pods))).items():
            if count > 1:
                found.append(f"{count} target pods of migration {uid}")
        return [f"at version {self.version}: {text}" for text in found]

    def unsettled(self):
        """What remains to be done; nothing when all has come to its end."""
        found = [f"{key_of(m)} is {describe(m)}" for m in self.migrations
                 if not is_final(m) or "deletionTimestamp" in m["metadata"]]
        for key, machine in self.machines.items():
            pods = [p for p in self.pods if p["metadata"]["labels"].get(
                "kubevirt.io/created-by") == machine["metadata"]["uid"]]
            places = [p["spec"].get("nodeName") for p in pods
                      if phase_of(p) not in FINAL]
            # In a pod that has ended it has ended, and says so soon.
            if status(machine).get("phase") == "Running" and \
                    (places != [status(machine).get("nodeName")]
                     or len(pods) != 1):
                found.append(f"{key} is on {status(machine).get('nodeName')}, "
                             f"its pods are {list(map(describe, pods))}")
            if len([m for m in self.migrations if is_final(m)
                    and m["spec"]["vmiName"] == machine["metadata"]["name"]]
                   ) > FINALS_KEPT:
                found.append(f"{key} has more than {FINALS_KEPT} ended "
                             "migrations")
        uids = {m["metadata"]["uid"] for m in self.machines.values()}
        found += [f"{describe(p)} is of no machine" for p in self.pods
                  if p["metadata"]["labels"].get("kubevirt.io/created-by")
                  not in uids]
        return found


class Chronicle:
    """Every state of every migration of a namespace, from now on."""

    def __init__(self, api, namespace):
        self.lock = threading.Lock()
        self.states = {}
        self.phases = collections.defaultdict(list)
        self.wrong = []
        self.feed = Feed(api, Snapshot._path(VMIMS, namespace), self._tell)

    def _tell(self, key, migration):
        if migration is None:
            with self.lock:
                self._gone(self.states.pop(key, None))
            return
        with self.lock:
            before = self.states.get(key)
            if before and before["metadata"]["uid"] != \
                    migration["metadata"]["uid"]:
                self._gone(before)
                before = None
            self.states[key] = migration
            self._compare(before, migration)

    def _gone(self, migration):
        if migration and not is_final(migration):
            self.wrong.append(f"{key_of(migration)} was "
                              f"{phase_of(migration) or 'new'} and is gone")

    def _compare(self, before, migration):
        old, new = phase_of(before or {}), phase_of(migration)
        name = key_of(migration)
        if old != new:
            self.phases[migration["metadata"]["uid"]].append(new)
        if ORDER.index(new) < ORDER.index(old) or (old in FINAL
                                                   and new != old):
            self.wrong.append(f"{name} went from {old} to {new}")
        if before and "deletionTimestamp" in before["metadata"] and \
                new not in (old, *FINAL):
            self.wrong.append(f"{name} was canceled in {old or 'no phase'} "
                              f"and went on to {new}")
        stamped = [t["phase"] for t in status(migration).get(
            "phaseTransitionTimestamps", [])]
        if len(set(stamped)) != len(stamped) or \
                sorted(stamped, key=ORDER.index) != stamped:
            self.wrong.append(f"{name} has the timestamps of {stamped}")

    def catch_up(self, snapshot):
        """What was found, once all that is in the snapshot has been seen."""
        until = max((int(m["metadata"]["resourceVersion"])
                     for m in snapshot.migrations), default=0)
        wait_for("the changes of migrations to be seen",
                 lambda: int(self.feed.at) >= until)
        return self.take_wrong()

    def summary(self):
        """How many migrations came how far, by their last phase."""
        with self.lock:
            return dict(collections.Counter(
                phases[-1] for phases in self.phases.values()))

    def take_wrong(self):
        """What was found since the last time."""
        with self.lock:
            found, self.wrong = self.wrong, []
        return found

    def close(self):
        self.feed.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
