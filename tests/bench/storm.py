# SPDX-License-Identifier: Apache-2.0
"""What ./run bench controller measures for one number of machines."""
import statistics
import sys
import threading
import time

from controllers import Controllers
from fleet import IMAGE, NAMESPACE, NODE_COUNT, Fleet, Usage, node_of
from kubeapi import wait_for
from played import Played
from played_feed import Feed
from played_objects import PODS, VMIMS, VMIS, namespaced
from played_steps import state

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kubevirt/leases"
ACTIVE = 10  # migrations at a time, while the others wait
DEADLINE = 900
COUNTERS = ("controller_requests", "controller_writes", "controller_events",
            "migration_writes")
PARKED = "ferry_migration_slots_waiting"
QUIET_SECONDS = 1
QUIET_WRITES = 3  # in that time; the lease is one of them
# Nothing but the server and the controller themselves is to be the limit.
UNLIMITED = ("--qps", "100000", "--burst", "100000", "--in-flight", "256",
             "--log-level", "warning", "--launcher-image", IMAGE)


class Arrivals:
    """Counts objects of a list as they come to be, or to be so."""

    def __init__(self, fleet, path, counts):
        self.counts = counts
        self.seen = set()
        self.last = 0.0
        self.changed = threading.Condition()
        self.feed = Feed(fleet.cluster.api(), path, self._tell)

    def _tell(self, key, obj):
        if obj is None or not self.counts(obj):
            return
        with self.changed:
            if key not in self.seen:
                self.seen.add(key)
                self.last = time.monotonic()
                self.changed.notify_all()

    def wait(self, count):
        """Until there are so many; when the last one came."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.seen) >= count,
                                         DEADLINE):
                raise TimeoutError(f"{len(self.seen)} of {count} after "
                                   f"{DEADLINE} s")
            return self.last

    def close(self):
        self.feed.close()


class Renewals:
    """Counts the writes of leases, which go on whatever else happens."""

    def __init__(self, fleet):
        self.count = 0
        self.feed = Feed(fleet.cluster.api(), LEASES, self._tell)

    def _tell(self, _key, obj):
        self.count += obj is not None

    def close(self):
        self.feed.close()


def start_controller(fleet, add):
    begun = time.monotonic()
    controllers = Controllers(fleet.cluster, 1, *UNLIMITED)
    leader = controllers.leader()
    wait_for("the controller to be ready", leader.is_ready, DEADLINE)
    add("ready_s", time.monotonic() - begun)
    wait_quiet(leader)
    add("memory_mib", Usage(leader.pid).memory_mib())
    return controllers


def count_requests(controller):
    """Requests that the controller has made so far, by its own count."""
    found = controller.metrics()
    return {name: found.get(f"ferry_{name}_total", 0) for name in COUNTERS}


def storm(fleet, controller, count, add):
    """So many migrations at once, first to their pods, then to their end."""
    pods = Arrivals(fleet, namespaced(PODS, NAMESPACE)
                    + "?labelSelector=kubevirt.io%2FmigrationJobUID",
                    lambda pod: True)
    already = len(pods.seen)
    use, server = Usage(controller.pid), Usage(fleet.cluster.popen.pid)
    renewals = Renewals(fleet)
    renewed, asked = renewals.count, count_requests(controller)
    begun = time.monotonic()
    fleet.migrate(count)
    taken = pods.wait(already + count) - begun
    pods.close()
    add("storm", count)
    add("pods_s", taken)
    add("pods_per_s", count / taken)
    add("share_controller", use.cpu_seconds() / taken)
    add("share_cluster", server.cpu_seconds() / taken)

    ended = Arrivals(fleet, namespaced(VMIMS, NAMESPACE),
                     lambda m: (m.get("status") or {}).get("phase") in
                     ("Succeeded", "Failed"))
    player = time.process_time()
    with Played(fleet.cluster, brisk=True) as played:
        played.adopt(*map(node_of, range(NODE_COUNT)))
        done = ended.wait(fleet.made)
        add("player_s", time.process_time() - player)
        # What lingers would hinder the next migration.
        played.wait_until(lambda: len(played.objects["pods"]) == fleet.size,
                          "the pods of the sources to go", DEADLINE)
    ended.close()
    add("done_s", done - begun)
    wait_quiet(controller)
    add("cpu_ms", use.cpu_seconds() / count * 1000)
    add("memory_most_mib", use.memory_mib("VmHWM"))
    now = count_requests(controller)
    made = {name: (now[name] - asked[name]) / count for name in COUNTERS}
    renewals.close()
    # A lease that is renewed while this is counted is no write of these.
    add("writes", round(made["controller_writes"] - made["controller_events"]
                        - (renewals.count - renewed) / count, 1))
    add("writes_of_migrations", made["migration_writes"])
    add("events", made["controller_events"])
    add("reads", made["controller_requests"] - made["controller_writes"])


def wait_quiet(controller):
    """Until the controller writes nothing any more but its lease."""
    last = -QUIET_WRITES
    until = time.monotonic() + DEADLINE
    while (now := count_requests(controller)["controller_writes"]) - last >= \
            QUIET_WRITES:
        if time.monotonic() > until:
            raise TimeoutError(f"the controller still writes after {DEADLINE} s")
        last = now
        time.sleep(QUIET_SECONDS)


def wait_parked(controller, count):
    """Until so many wait for a slot, and nothing else is done about them."""
    deadline = time.monotonic() + DEADLINE
    while (found := controller.metrics().get(PARKED, 0)) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{found} of {count} wait after {DEADLINE} s")
        time.sleep(QUIET_SECONDS)
    wait_quiet(controller)


def measure_latency(fleet, controller, plan, add):
    """From a node's write to the controller's answer to it: where somebody
    waits for that. Phases that nobody waits for are written when there is
    time. The others wait already; while they come in it takes longer, see
    docs/benchmarks.md."""
    migrations = {machine: name
                  for name, machine in fleet.migrate(plan.waiting).items()}
    wait_parked(controller, plan.waiting - ACTIVE)
    with Played(fleet.cluster, brisk=True,
                held=("run", "start", "arrive")) as played:
        played.adopt(*map(node_of, range(NODE_COUNT)))
        samples = []
        while len(samples) < plan.samples:
            machine = next_due(played)
            samples += follow(fleet, played, machine,
                              migrations[machine.split("/")[1]])
    samples.sort()
    add("latency_p50_ms", statistics.median(samples) * 1000)
    add("latency_p99_ms", samples[int(len(samples) * 0.99)] * 1000)


def next_due(played):
    """A machine whose target pod is to run."""
    def found():
        return next((m for name, m in played.due if name == "run"), None)
    return played.wait_until(found, "a target pod", DEADLINE)


def is_in(phase):
    return lambda migration: (migration.get("status") or {}).get(
        "phase") == phase


def follow(fleet, played, machine, migration):
    """Takes one migration to its end; seconds from write to answer."""
    uid = fleet.api.get(namespaced(VMIMS, NAMESPACE, migration))[
        "metadata"]["uid"]
    stages = (
        # The pod is ready: the machine is handed to the nodes.
        ("run", VMIS, machine.split("/")[1],
         lambda seen: state(seen).get("migrationUid") == uid),
        ("start", VMIMS, migration, is_in("Running")),
        ("arrive", VMIMS, migration, is_in("Succeeded")))
    samples = []
    for step, kind, name, answered in stages:
        with fleet.api.watch(f"{namespaced(kind, NAMESPACE)}?fieldSelector="
                             f"metadata.name%3D{name}") as watch:
            played.step(step, machine)
            begun = time.monotonic()
            watch.until(lambda seen, is_it=answered: is_it(seen["object"]))
            samples.append(time.monotonic() - begun)
    return samples


def measure(build, size, plan, with_latency, show):
    """Values by name; show is told of them whenever there are new ones."""
    values = {}

    def add(name, value):
        values.setdefault(name, []).append(value)

    fleet = Fleet(build, size)
    try:
        fleet.limit(size, size)
        controllers = start_controller(fleet, add)
        show(values)
        try:
            count = min(plan.storm, size)
            for _ in range(plan.rounds):
                storm(fleet, controllers.leader(), count, add)
                show(values)
            if with_latency and 0 < plan.waiting <= size:
                fleet.limit(ACTIVE, ACTIVE)
                measure_latency(fleet, controllers.leader(), plan, add)
                show(values)
        except BaseException:
            print(controllers.logs(), file=sys.stderr)
            raise
        finally:
            controllers.close()
    finally:
        fleet.close()
    return values
