# SPDX-License-Identifier: Apache-2.0
"""Nodes that a test plays: kubelet and handler, without pods or guests.

    with Played(cluster, "node-a", "node-b") as played:
        machine = played.place(namespace, "vm1", "node-a")
        played.hold("start", machine)          # not yet
        migration = played.migrate(machine)
        played.wait_due("start", machine)      # now it would
        played.fail(machine, "out of luck")    # or played.step("start", ...)

It follows pods and machines by watches and does what nodes do about them; the
steps and their names are in played_steps.py. A step that is held is not done
until it is released, or asked for once by step(). A machine is known by
"namespace/name". Objects are the server's; what is read here is the cache of
the watches.
"""

import collections
import contextlib
import dataclasses
import datetime
import http.client
import threading
import time

import played_objects as objects
from kubeapi import ApiError, wait_for
from mergepatch import joined, merged
from played_feed import Feed
from played_objects import NODES, PODS, VMIMS, VMIS, key_of, namespaced
from played_steps import (FINAL, GONE, STEPS, ended_pod, has_arrived,
                          machine_key, migration_uid, state, status)
from proxies import DEADLINE

WORKERS = 2
ERROR_PAUSE = 0.05  # seconds
DESCRIBED = 100  # objects, where something went wrong
KINDS = {"pods": PODS, "machines": VMIS}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def version(obj):
    return int(obj["metadata"]["resourceVersion"])


@dataclasses.dataclass(frozen=True)
class Failure:
    """The next migration fails, once the state has the member 'after'."""
    reason: str
    after: str


class Played:
    """The agents of all nodes of a cluster."""

    def __init__(self, cluster, *nodes, workers=WORKERS, brisk=False,
                 heartbeat=None, held=()):
        """brisk: what one node does in several steps is one write.
        heartbeat: seconds between renewals of the leases; None for none.
        held: steps that are held from the start."""
        self.cluster = cluster
        self.brisk = brisk
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.queue = collections.deque()
        self.queued, self.busy = set(), set()
        self.objects = {"pods": {}, "machines": {}}
        self.pods_of = collections.defaultdict(set)
        self.alive = {}
        self.held = {(step, None) for step in held}
        self.once = set()
        self.due = {}
        self.failures = {}
        self.arrivals = set()  # migrations by which a machine has come
        self.done = collections.Counter()
        # By migration: the pods there were, and how often a machine became
        # its own.
        self.targets = collections.defaultdict(set)
        self.handed = collections.Counter()
        self.errors = []
        self.closed = False
        self.api = cluster.api()
        for name in nodes:
            self.add_node(name)
        self.threads = [threading.Thread(target=self._work, daemon=True)
                        for _ in range(workers)]
        if heartbeat:
            self.threads.append(threading.Thread(
                target=self._beat, args=(heartbeat,), daemon=True))
        for thread in self.threads:
            thread.start()
        self.feeds = [Feed(cluster.api(), path,
                           lambda key, obj, kind=kind: self._tell(
                               kind, key, obj))
                      for kind, path in KINDS.items()]

    # --- steering ----------------------------------------------------------

    def hold(self, step, machine=None):
        """The step is not done any more; of one machine, or of all."""
        with self.lock:
            self.held.add((step, machine))

    def release(self, step, machine=None):
        """Undoes hold() with the same arguments."""
        with self.lock:
            self.held.discard((step, machine))
            self._look_all()

    def release_all(self):
        with self.lock:
            self.held.clear()
            self._look_all()

    def wait_due(self, step, machine, deadline=DEADLINE):
        """Until the step is held and would be done now; the object."""
        return self.wait_until(
            lambda: self.due.get((step, machine)),
            f"step '{step}' of {machine} to be due", deadline)

    def step(self, step, machine, deadline=DEADLINE):
        """Does a held step once, as soon as it is due; when it is done."""
        with self.lock:
            before = self.done[step, machine]
            self.once.add((step, machine))
            self._look_all(machine)
        self.wait_until(lambda: self.done[step, machine] > before,
                        f"step '{step}' of {machine} to be done", deadline)

    def fail(self, machine, reason, after="startTimestamp"):
        """The source reports that the next migration has failed, as soon as
        the machine's migration state has the member: "startTimestamp" while
        it transfers, "targetNodeAddress" before, "migrationUid" at once."""
        with self.lock:
            self.failures[machine] = Failure(reason, after)
            self._look_all(machine)

    # --- what nodes, pods and machines do by themselves --------------------

    def add_node(self, name, labels=None, allocatable=None):
        self.api.create(NODES, objects.node(name, labels))
        self.api.patch(f"{NODES}/{name}/status",
                       objects.node_status(allocatable))
        with self.lock:
            self.alive[name] = True

    def adopt(self, *names):
        """Plays nodes that are there already."""
        with self.lock:
            self.alive.update(dict.fromkeys(names, True))
            self._look_all()

    def kill_node(self, name, noticed=True):
        """The node is silent from now on; noticed: the cluster knows it."""
        with self.lock:
            self.alive[name] = False
        if noticed:
            self.api.patch(f"{NODES}/{name}/status",
                           objects.node_status(ready="Unknown"))

    def revive_node(self, name):
        self.api.patch(f"{NODES}/{name}/status", objects.node_status())
        with self.lock:
            self.alive[name] = True
            self._look_all()

    def remove_node(self, name):
        """The node is gone from the cluster, and its pods with it."""
        with self.lock:
            self.alive.pop(name, None)
            pods = [p for p in self.objects["pods"].values()
                    if p["spec"].get("nodeName") == name]
        self.api.delete(f"{NODES}/{name}")
        for pod in pods:
            self.take_pod(key_of(pod))

    def end_pod(self, key, phase="Failed"):
        """The containers of a pod have ended; False if it has gone before.
        When this returns no step takes it for one that runs."""
        with self.lock:
            pod = self.objects["pods"].get(key)
        if pod is None:
            return False
        answer = self.api.request(
            "PATCH", namespaced(PODS, *key.split("/"), "status"),
            ended_pod(phase)(pod, self),
            {"Content-Type": "application/merge-patch+json"})
        assert answer.code in (200, 404), answer
        self.wait_until(lambda: status(self.objects["pods"].get(key, {})).get(
            "phase") in (None, *FINAL), f"the end of {key} to be known")
        return answer.code == 200

    def take_pod(self, key):
        """The pod is gone at once, whoever may run in it. When this returns
        no step takes it for one that runs."""
        answer = self.api.request(
            "DELETE", namespaced(PODS, *key.split("/")),
            {"gracePeriodSeconds": 0})
        assert answer.code in (200, 404), answer
        self.wait_until(lambda: key not in self.objects["pods"],
                        f"{key} to be known to be gone")

    # --- objects -----------------------------------------------------------

    def place(self, namespace, name, on, spec=None, labels=None):
        """A machine that runs, made without a controller; before one looks
        at it, or it would make a pod of its own. Its key."""
        made = self.api.create(
            namespaced(VMIS, namespace),
            objects.running(objects.vmi(name, labels, spec=spec), on))
        self.api.create(namespaced(PODS, namespace),
                        objects.launcher(made, on))
        return key_of(made)

    def launch(self, namespace, name, spec=None, labels=None):
        """A machine that a controller has to start. Its key."""
        return key_of(self.api.create(namespaced(VMIS, namespace),
                                      objects.vmi(name, labels, spec=spec)))

    def start(self, namespace, name, spec=None, labels=None):
        """A machine that a controller has started, and that runs."""
        machine = self.launch(namespace, name, spec, labels)
        self.settle(machine)
        return machine

    def migrate(self, machine, name=None, annotations=None, spec=None):
        """A migration of the machine; as the server has it."""
        namespace, vmi_name = machine.split("/")
        return self.api.create(
            namespaced(VMIMS, namespace),
            objects.vmim(vmi_name, name, annotations, spec))

    def machine(self, key):
        with self.lock:
            return self.objects["machines"].get(key)

    def pods(self, machine):
        """The machine's pods, by name."""
        with self.lock:
            return {key: self.objects["pods"][key]
                    for key in sorted(self.pods_of[machine])}

    def was_entered(self, pod):
        """A machine is in this pod, or was: it was made for it, or the
        machine has come to it."""
        uid = migration_uid(pod)
        return not uid or uid in self.arrivals

    def failure(self, machine):
        return self.failures.get(machine)

    def settle(self, machine, deadline=DEADLINE):
        """Until the machine runs and one pod is ready where it does."""
        def settled():
            obj = self.objects["machines"].get(machine)
            if not obj or status(obj).get("phase") != "Running":
                return None
            ready = [p for p in self.pods(machine).values()
                     if status(p).get("phase") == "Running"]
            return obj if len(ready) == 1 and ready[0]["spec"]["nodeName"] \
                == status(obj).get("nodeName") else None
        return self.wait_until(settled, f"{machine} to run in one pod",
                               deadline)

    def wait_until(self, condition, what, deadline=DEADLINE):
        """The first true value of condition(), which is asked whenever
        something has changed."""
        with self.changed:
            if not self.changed.wait_for(condition, deadline):
                raise TimeoutError(f"waited {deadline} s for {what}\n"
                                   + self.describe())
            return condition()

    def describe(self, machine=""):
        """What is known of machines, pods and steps, for people."""
        with self.lock:
            lines = [f"{key}: {status(m).get('phase')} on "
                     f"{status(m).get('nodeName')}, {state(m)}, labels "
                     f"{m['metadata'].get('labels')}"
                     for key, m in self.objects["machines"].items()
                     if machine in ("", key)]
            lines += [f"pod {key}: {status(p).get('phase')} on "
                      f"{p['spec'].get('nodeName')}"
                      + ", deleted" * ("deletionTimestamp" in p["metadata"])
                      for key, p in self.objects["pods"].items()
                      if machine in ("", machine_key(p))]
            return "\n".join([*lines[:DESCRIBED],
                              f"due: {sorted(self.due)}",
                              f"held: {sorted(self.held, key=str)}",
                              f"errors: {self.errors[-3:]}"])

    # --- insides -----------------------------------------------------------

    def _tell(self, kind, key, obj):
        with self.lock:
            known = self.objects[kind]
            old = known.get(key)
            if obj is None:
                known.pop(key, None)
            elif old is None or version(obj) > version(old) or \
                    obj["metadata"]["uid"] != old["metadata"]["uid"]:
                known[key] = obj
            self._keep_count(kind, old, obj)
            if kind == "pods":
                of = machine_key(obj or old) if obj or old else None
                if of and obj:
                    self.pods_of[of].add(key)
                elif of:
                    self.pods_of[of].discard(key)
                if of in self.objects["machines"]:
                    self._look("machines", of)
            else:
                for pod in self.pods_of[key]:
                    self._look("pods", pod)
            self._look(kind, key)
            self.changed.notify_all()

    def _keep_count(self, kind, old, obj):
        if obj is None:
            return
        if kind == "pods":
            uid = migration_uid(obj)
            if uid:
                self.targets[uid].add(obj["metadata"]["uid"])
            return
        uid = state(obj).get("migrationUid")
        if uid and uid != state(old or {}).get("migrationUid"):
            self.handed[uid] += 1
        if uid and has_arrived(obj):
            self.arrivals.add(uid)

    def _look(self, kind, key):
        if (kind, key) not in self.queued:
            self.queued.add((kind, key))
            self.queue.append((kind, key))
            self.changed.notify_all()

    def _look_all(self, machine=None):
        for kind, known in self.objects.items():
            for key, obj in known.items():
                if machine in (None, key if kind == "machines" else
                               machine_key(obj)):
                    self._look(kind, key)

    def _next(self):
        """The next key that no other worker has in hand; None at the end."""
        with self.changed:
            while not self.closed:
                for _ in range(len(self.queue)):
                    item = self.queue.popleft()
                    if item not in self.busy:
                        self.queued.discard(item)
                        self.busy.add(item)
                        return item
                    self.queue.append(item)
                self.changed.wait()
        return None

    def _work(self):
        api = self.cluster.api()
        while item := self._next():
            again = False
            try:
                again = self._act(api, *item)
            except (OSError, ApiError, ValueError,
                    http.client.HTTPException) as error:
                api.close()
                if not self.closed:
                    self.errors.append(f"{item}: {error}")
                    time.sleep(ERROR_PAUSE)
                again = not self.closed
            with self.changed:
                self.busy.discard(item)
                if again:
                    self._look(*item)
                self.changed.notify_all()

    def _plan(self, kind, key):
        """The object, the steps to do now, and what they change."""
        with self.lock:
            obj = self.objects[kind].get(key)
            name = key if kind == "machines" or obj is None else \
                machine_key(obj)
            self._forget_due(kind, key)
            if obj is None:
                return None, [], None
            after, steps, change = obj, [], {}
            while (step := self._first(kind, name, after, steps)) is not None:
                part = step.change(after, self)
                steps.append(step)
                if part is GONE:
                    return obj, steps, GONE
                change = joined(change, part)
                after = merged(after, part)
                if not self.brisk:
                    break
            return obj, steps, change

    def _forget_due(self, kind, key):
        """What is due for this object, not for the other pods of a machine."""
        names = [step.name for step in STEPS[kind]]
        for at, obj in list(self.due.items()):
            if at[0] in names and key_of(obj) == key:
                del self.due[at]

    def _first(self, kind, name, obj, before):
        """The first step that is due, is not held and may follow."""
        for step in STEPS[kind]:
            node = step.node(obj)
            if not self.alive.get(node) or step in before or \
                    not step.due(obj, self):
                continue
            if ((step.name, None) in self.held
                    or (step.name, name) in self.held) \
                    and (step.name, name) not in self.once:
                self.due[step.name, name] = obj
                continue
            if before and before[0].node(obj) != node:
                continue
            return step
        return None

    def _act(self, api, kind, key):
        """Does what is due; True when it is to be looked at again now."""
        obj, steps, change = self._plan(kind, key)
        if not steps:
            return False
        path = namespaced(KINDS[kind], *key.split("/"))
        if change is GONE:
            answer = api.request("DELETE", path, {
                "gracePeriodSeconds": 0,
                "preconditions": {"uid": obj["metadata"]["uid"]}})
        else:
            change = joined(change, {"metadata": {
                "resourceVersion": obj["metadata"]["resourceVersion"]}})
            answer = api.request(
                "PATCH", f"{path}/status" if kind == "pods" else path, change,
                {"Content-Type": "application/merge-patch+json"})
        if answer.code in (404, 409):
            with self.lock:
                return self.objects[kind].get(key) is not obj
        if answer.code != 200:
            raise ApiError(f"{[s.name for s in steps]}: {answer!r}")
        self._note(kind, key, obj, steps)
        if change is not GONE:
            self._take_answer(kind, key, answer.json())
        return False

    def _take_answer(self, kind, key, obj):
        """An answer may come later than the news that the object is gone."""
        with self.lock:
            old = self.objects[kind].get(key)
            if old and old["metadata"]["uid"] == obj["metadata"]["uid"]:
                self._tell(kind, key, obj)

    def _note(self, kind, key, obj, steps):
        name = key if kind == "machines" else machine_key(obj)
        with self.changed:
            for step in steps:
                self.done[step.name, name] += 1
                self.once.discard((step.name, name))
                self.due.pop((step.name, name), None)
                if step.name == "fail":
                    self.failures.pop(name, None)
            self.changed.notify_all()

    def _beat(self, seconds):
        api = self.cluster.api()
        while not self.closed:
            with self.lock:
                names = [n for n, alive in self.alive.items() if alive]
            for name in names:
                with contextlib.suppress(OSError, ApiError):
                    renew_lease(api, name)
            with self.changed:
                self.changed.wait_for(lambda: self.closed, seconds)

    def close(self):
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        for feed in self.feeds:
            feed.close()
        for thread in self.threads:
            thread.join(DEADLINE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def renew_lease(api, node):
    moment = datetime.datetime.now(datetime.timezone.utc).strftime(
        "%Y-%m-%dT%H:%M:%S.%fZ")
    answer = api.request("PATCH", f"{LEASES}/{node}",
                         {"spec": {"renewTime": moment}},
                         {"Content-Type": "application/merge-patch+json"})
    if answer.code == 404:
        api.create(LEASES, {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": node, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": node, "renewTime": moment,
                     "leaseDurationSeconds": 40}})


def wait_phase(api, migration, *phases, deadline=DEADLINE):
    """Until a migration is in one of the phases; as it is then."""
    path = namespaced(VMIMS, *key_of(migration).split("/"))

    def reached():
        found = api.get(path)
        return found if status(found).get("phase") in phases else None
    return wait_for(f"{path} to be {' or '.join(phases)}", reached, deadline)
