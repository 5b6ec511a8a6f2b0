# SPDX-License-Identifier: Apache-2.0
"""A cluster in which anything may happen, at random, from a seed.

Machines, played nodes and two controllers, each behind a proxy of its own. A
step is one thing that somebody does or that goes wrong; ACTIONS has them with
their weights. A sequence of steps has a seed of its own; at its end everything
is healed and has to come to rest. ROUND sequences, one after the other, have
limits in common, and controllers that nobody starts anew in between: it is the
starting that takes time.
"""

import collections
import random

import played_objects as objects
from controllers import Controllers
from faults import QUICK, SLOW_KINDS
from faults_seen import is_watch
from invariants import Chronicle, Limits, Snapshot, is_final
from kubeapi import has_vanished, wait_for
from played import Played
from played_objects import VMIMS, VMIS, key_of, namespaced
from played_steps import MACHINE_STEPS, state, status

NODES = ("node-a", "node-b", "node-c", "node-d")
MACHINES = 8
ROUND = 8  # sequences
OPEN_MAX = 12  # migrations that have not ended, at a time
QUIET_DEADLINE = 300
REQUEST_SECONDS = 2  # that the controllers wait for an answer
# By the proxy's clock a request begins a little later.
TIMED_OUT_SECONDS = 0.9 * REQUEST_SECONDS
TIME_OUT = "time-out"  # among the faults
WATCH_ANSWERS = ("410", "429", "500", "503", "503-later", "hang")
FAULTS = {*QUICK, *SLOW_KINDS, *WATCH_ANSWERS, TIME_OUT}
BREATH = 0.02  # seconds for others, now and then
POLICY = "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
# Where a node may be slow: whatever is not tidying up.
SLOW = [s.name for s in MACHINE_STEPS if s.name not in (
    "boot", "halt", "crash", "clean")] + ["run", "remove", "end"]
TIMEOUTS = ("kubevirt.io/migrationPendingPodTimeoutSeconds",
            "kubevirt.io/migrationUnschedulablePodTimeoutSeconds",
            "ferry.io/migrationScheduledTimeoutSeconds",
            "ferry.io/migrationPreparingTargetTimeoutSeconds",
            "ferry.io/migrationTargetReadyTimeoutSeconds",
            "ferry.io/migrationRunningTimeoutSeconds")


class Play:
    """The cluster, and what has been done to it."""

    def __init__(self, cluster, namespace):
        self.dice = self.round = None
        self.steps = collections.Counter()  # that did something, by name
        self.faults = collections.Counter()  # by kind
        self.reached = collections.Counter()  # limits, by name
        self.cluster, self.namespace = cluster, namespace
        self.api = cluster.api()
        self.story = []
        self.killed = set()  # machines that need not run any more
        self.limits = Limits()
        self.played = Played(cluster, *NODES)
        self.machines = [self.played.place(namespace, f"vm{i}",
                                           NODES[i % len(NODES)])
                         for i in range(MACHINES)]
        self.chronicle = Chronicle(cluster.api(), namespace)
        # Not so patient that what hangs takes all the time.
        self.controllers = Controllers(
            cluster, 2, "--request-timeout-seconds", str(REQUEST_SECONDS),
            faults=True)
        for machine in self.machines:
            self.played.settle(machine)

    # --- steps -------------------------------------------------------------

    def step(self):
        """Does one thing and says what is wrong afterwards."""
        weights, actions = zip(*ACTIONS)
        action = self.dice.choices(actions, weights)[0]
        told = action(self)
        if told:
            self.steps[action.__name__] += 1
            self.story.append(f"{action.__name__}: {told}")
        return self.check()

    def check(self):
        crashed = [f"{c.name} ended with {c.popen.returncode}"
                   for c in self.controllers.all if c.has_crashed()]
        seen = Snapshot(self.api, self.namespace)
        self.reached.update(seen.reached(self.limits))
        return crashed + seen.wrong(self.limits) + self.chronicle.take_wrong()

    def migrate(self):
        if len(self.open()) >= OPEN_MAX:
            return None
        machine = self.dice.choice(self.machines)
        annotations = {}
        if self.dice.random() < 0.3:
            annotations[self.dice.choice(TIMEOUTS)] = "1"
        if self.dice.random() < 0.3:
            annotations["kubevirt.io/evacuationMigration"] = "any"
            annotations["kubevirt.io/func-test-ignore-migration-backoff"] = ""
        made = self.played.migrate(machine, annotations=annotations)
        return f"{key_of(made)} of {machine} {annotations}"

    def cancel(self):
        found = self.open()
        if not found:
            return None
        chosen = self.dice.choice(found)
        self.api.request("DELETE", namespaced(VMIMS, *chosen.split("/")))
        return chosen

    def target_dies(self):
        """A pod that a machine is not in comes to its end, or is gone."""
        found = self.targets()
        if not found:
            return None
        pod, machine = self.dice.choice(found)
        way = self.dice.choice(("Failed", "Succeeded", "gone"))
        if way == "gone":
            self.played.take_pod(pod)
        else:
            self.played.end_pod(pod, way)
        # Looked at afterwards: what had begun to be sent may have arrived.
        if state(self.played.machine(machine) or {}).get("startTimestamp"):
            self.killed.add(machine)
        return f"{pod} {way}"

    def targets(self):
        """The pods that run where their machine is not, with the machine."""
        found = []
        for machine in self.machines:
            here = status(self.played.machine(machine) or {}).get("nodeName")
            found += [(key, machine) for key, pod in
                      self.played.pods(machine).items()
                      if here and pod["spec"].get("nodeName") not in (
                          None, here)
                      and status(pod).get("phase") == "Running"]
        return found

    def machine_dies(self):
        """The pod that a machine is in comes to its end."""
        machine = self.dice.choice(self.machines)
        here = status(self.played.machine(machine) or {}).get("nodeName")
        pods = [key for key, pod in self.played.pods(machine).items()
                if pod["spec"].get("nodeName") == here
                and status(pod).get("phase") == "Running"]
        if not pods:
            return None
        self.killed.add(machine)
        self.played.end_pod(pods[0])
        return pods[0]

    def machine_is_deleted(self):
        machine = self.dice.choice(self.machines)
        self.killed.add(machine)
        self.api.request("DELETE", namespaced(VMIS, *machine.split("/")))
        return machine

    def node_is_lost(self):
        """With all that runs there; another one gets its name."""
        node = self.dice.choice(NODES)
        self.killed |= self.within_reach(node)
        self.played.remove_node(node)
        # It went on until then.
        self.killed |= self.within_reach(node)
        self.played.add_node(node)
        return node

    def within_reach(self, node):
        """Machines that may be on a node: on its way a machine may be in
        either."""
        found = {m: self.played.machine(m) or {} for m in self.machines}
        return {m for m, obj in found.items() if node in (
            status(obj).get("nodeName"), state(obj).get("targetNode"),
            state(obj).get("sourceNode"))}

    def transfer_fails(self):
        machine = self.dice.choice(self.machines)
        after = self.dice.choice(("migrationUid", "targetNodeAddress",
                                  "startTimestamp"))
        self.played.fail(machine, "at random", after)
        return f"{machine} after {after}"

    def node_falls_silent(self):
        node = self.dice.choice(NODES)
        noticed = self.dice.random() < 0.5
        self.played.kill_node(node, noticed)
        return f"{node}, noticed: {noticed}"

    def node_comes_back(self):
        node = self.dice.choice(NODES)
        self.played.revive_node(node)
        return node

    def node_slows(self):
        name, machine = self.dice.choice(SLOW), self.dice.choice(self.machines)
        self.played.hold(name, machine)
        return f"{name} of {machine}"

    def node_hurries(self):
        self.played.release_all()
        return "all"

    def quota_changes(self):
        path = f"/api/v1/namespaces/{self.namespace}/resourcequotas"
        hard = {"pods": str(MACHINES + self.dice.randint(0, 3))}
        if self.dice.random() < 0.4:
            self.api.request("DELETE", f"{path}/q")
            return "none"
        self.apply(path, {"apiVersion": "v1", "kind": "ResourceQuota",
                          "metadata": {"name": "q"}, "spec": {"hard": hard}})
        return str(hard)

    def policy_changes(self):
        name = self.dice.choice(("p1", "p2"))
        if self.dice.random() < 0.3:
            self.api.request("DELETE", f"{POLICY}/{name}")
            return f"no {name}"
        spec = {"selectors": self.dice.choice((
                    {}, {"namespaceSelector": {"a": "b"}})),
                "bandwidthPerMigration": f"{self.dice.randint(0, 64)}Mi",
                "allowPostCopy": self.dice.random() < 0.5}
        self.apply(POLICY, {
            "apiVersion": "migrations.kubevirt.io/v1alpha1",
            "kind": "MigrationPolicy", "metadata": {"name": name},
            "spec": spec})
        return f"{name} {spec}"

    def settings_change(self):
        value = {"spec": {"configuration": {"migrations": {
            "completionTimeoutPerGiB": self.dice.randint(1, 900)}}}}
        self.api.patch(f"{KUBEVIRT}/kubevirt", value)
        return str(value["spec"]["configuration"]["migrations"])

    def controller_dies(self):
        running = [c for c in self.controllers.all if c.runs()]
        if not running:
            return None
        chosen = self.dice.choice(running)
        chosen.kill()
        chosen.faults.reset_all()
        if self.controllers.holder() == chosen.name:
            self.controllers.free_lease()
        return chosen.name

    def controller_starts(self):
        dead = [c for c in self.controllers.all if not c.runs()]
        for each in dead:
            each.start()
        return ", ".join(c.name for c in dead)

    def watches_break(self):
        """And cannot be taken up again at once, now and then."""
        part = self.dice.choice(("", "pods", "virtualmachineinstances",
                                 "virtualmachineinstancemigrations"))
        answer = self.dice.choice((None, *WATCH_ANSWERS))
        count = 0
        for each in self.controllers.all:
            if answer and each.runs():
                each.faults.plan(answer, is_watch(part))
            count += each.faults.cut_watches(part)
        return count and f"{count} of {part or 'all'}, then {answer}"

    def server_misbehaves(self):
        seed, rate = self.dice.random(), self.dice.choice((0.05, 0.1, 0.3))
        kinds = self.dice.choice((QUICK, QUICK + SLOW_KINDS, SLOW_KINDS))
        for each in self.controllers.all:
            each.faults.plague(seed, rate, kinds)
        return f"{rate} of all requests, {kinds[0]} to {kinds[-1]}"

    def server_recovers(self):
        """What it has not answered breaks, or is waited for in vain."""
        breaks = self.dice.random() < 0.5
        for each in self.controllers.all:
            each.faults.heal(breaks)
        return f"all, what hangs breaks: {breaks}"

    def connections_break(self):
        for each in self.controllers.all:
            each.faults.reset_all()
        return "all"

    def others_work(self):
        with self.played.changed:
            self.played.changed.wait(BREATH)
        return "a moment"

    # --- sequences ---------------------------------------------------------

    def begin(self, seed):
        self.dice = random.Random(seed)
        if self.round != seed // ROUND:
            self.round = seed // ROUND
            self.begin_round(random.Random(f"round {self.round}"))
        self.story = [f"seed {seed}: {self.limits}"]

    def begin_round(self, dice):
        """New limits, which the controllers know of as they begin anew."""
        self.limits = Limits(dice.randint(1, 5), dice.randint(1, 3),
                             dice.randint(0, 2))
        for each in self.controllers.all:
            if each.runs():
                each.kill()
        self.apply(KUBEVIRT, objects.kubevirt(
            {"parallelMigrationsPerCluster": self.limits.cluster,
             "parallelOutboundMigrationsPerNode": self.limits.outbound},
            {"ferry.io/parallelInboundMigrationsPerNode":
             str(self.limits.inbound)}))
        if self.controllers.holder():
            self.controllers.free_lease()
        for each in self.controllers.all:
            each.start()

    def end(self):
        """Heals everything; all must come to rest, and stay right."""
        self.story.append("everything heals")
        self.server_recovers()
        self.controller_starts()
        self.controllers.rescue()
        self.api.request("DELETE", f"/api/v1/namespaces/{self.namespace}"
                         "/resourcequotas/q")
        for node in NODES:
            self.played.revive_node(node)
        self.played.release_all()
        wrong = []

        def rests():
            wrong.extend(self.check())
            return wrong or not self.unsettled()
        try:
            wait_for("rest", rests, QUIET_DEADLINE)
        except TimeoutError:
            wrong += self.unsettled()
        wrong += self.chronicle.catch_up(
            Snapshot(self.api, self.namespace))
        self.count_faults()
        lost = [m for m in self.machines if not self.runs(m)]
        for machine in lost:
            self.replace(machine)
        wrong += [f"{m} does not run any more" for m in lost
                  if m not in self.killed]
        self.killed.clear()
        return wrong

    def count_faults(self):
        for each in self.controllers.all:
            kinds, waits = each.faults.forget_seen()
            self.faults.update(kinds)
            self.faults[TIME_OUT] += len(
                [w for w in waits if w >= TIMED_OUT_SECONDS])

    def runs(self, machine):
        return status(self.played.machine(machine) or {}).get("phase") == \
            "Running"

    def replace(self, machine):
        """Another machine of the same name in its place."""
        namespace, name = machine.split("/")
        path = namespaced(VMIS, namespace, name)
        self.api.request("DELETE", path)
        wait_for(f"{machine} to go", lambda: has_vanished(self.api, path),
                 QUIET_DEADLINE)
        self.played.start(namespace, name)

    def unsettled(self):
        return Snapshot(self.api, self.namespace).unsettled()

    # --- help --------------------------------------------------------------

    def open(self):
        return sorted(key_of(m) for m in self.api.get(
            namespaced(VMIMS, self.namespace))["items"]
            if not is_final(m) and "deletionTimestamp" not in m["metadata"])

    def apply(self, path, obj):
        """Creates the object, or makes what is there say the same."""
        made = self.api.request("POST", path, obj)
        if made.code == 409:
            self.api.patch(f"{path}/{obj['metadata']['name']}", {
                "metadata": {"annotations": obj["metadata"].get(
                    "annotations", {})}, "spec": obj["spec"]})
        else:
            assert made.code == 201, made

    def close(self):
        self.controllers.close()
        self.chronicle.close()
        self.played.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


ACTIONS = (
    (40, Play.others_work),
    (12, Play.migrate),
    (4, Play.cancel),
    (3, Play.target_dies),
    (2, Play.transfer_fails),
    (0.5, Play.machine_dies),
    (0.5, Play.machine_is_deleted),
    (0.3, Play.node_is_lost),
    (1, Play.node_falls_silent),
    (2, Play.node_comes_back),
    (3, Play.node_slows),
    (2, Play.node_hurries),
    (1, Play.quota_changes),
    (1, Play.policy_changes),
    (1, Play.settings_change),
    (1, Play.controller_dies),
    (2, Play.controller_starts),
    (2, Play.watches_break),
    (3, Play.server_misbehaves),
    (3, Play.server_recovers),
    (1, Play.connections_break),
)
