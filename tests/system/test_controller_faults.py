# SPDX-License-Identifier: Apache-2.0
"""A migration comes to its right end whatever the API server does.

Each fault hits each write of a migration once. Machines are told apart by
name, so that all kinds of faults are tried at the same time.
"""

import json

import pytest

import played_objects as objects
from faults import QUICK
from faults_seen import is_create, is_write
from journeys import EVENTS_OF_TROUBLE, Journey
from kubeapi import wait_for
from played import wait_phase
from played_objects import PODS, VMIMS, VMIS, namespaced
from played_steps import FINAL, state, status
from trips import MANY, UNLIMITED

NODES = ("faults-a", "faults-b", "faults-c")
FAULTS = True
MIGRATIONS = UNLIMITED


@pytest.fixture(name="faults")
def faults_(controllers):
    proxy = controllers.all[0].faults
    yield proxy
    proxy.heal()


def about(machine):
    """Writes that are about a machine, its pods and migrations."""
    name = machine.split("/")[1]
    mark = f"{name}-".encode()

    def matches(seen):
        return is_write(seen) and (
            f"/{name}" in seen.path or f"{name}-" in seen.path
            or mark in seen.body)
    return matches


def nth(number, matches):
    """The request that is the number-th of those that match."""
    count = [0]

    def is_it(seen):
        if not matches(seen):
            return False
        count[0] += 1
        return count[0] == number
    return is_it


def migrate(controllers, played, machine, number):
    return Journey(controllers, played, machine,
                   name=f"{machine.split('/')[1]}-{number}")


def count_writes(controllers, played, faults, machine):
    """How many writes a migration takes; events are the last."""
    before = len(faults.writes())
    journey = migrate(controllers, played, machine, 0)
    assert journey.end() == "Succeeded"
    journey.check_success()
    found = [s for s in faults.writes()[before:] if about(machine)(s)]
    print("writes of one migration:", *found, sep="\n")
    return len(found)


def shape(seen):
    """Which write it is: kind, subresource and what it changes."""
    kind, *rest = seen.path.split("/namespaces/")[1].split("/")[1:]
    body = json.loads(seen.body or b"{}")
    words = []
    if isinstance(body, list):
        words = [op["path"] for op in body if op["op"] != "test"]
    elif seen.method == "PATCH":
        after = body.get("status", {})
        words = [after["phase"]] if "phase" in after else [
            *after, *body["metadata"].get("annotations", ())]
    return " ".join([seen.method, kind, *rest[1:], *words])


def of_phase(name):
    return f"PATCH virtualmachineinstancemigrations status {name}"


# Of a migration that goes well, by all controllers; docs/migration.md says why
# each has to be.
NEEDED = {
    "POST pods",
    "PATCH virtualmachineinstances /status/migrationState /metadata/labels "
    "/status/activePods/UID",
    "PATCH pods kubevirt.io/migration-target-ready-timestamp",
    of_phase("Succeeded"),
    "DELETE pods",
    "PATCH virtualmachineinstancemigrations /metadata/finalizers/0"}
# Where nodes are so quick that nobody would see it, these are not written;
# where they let people wait, one more is.
PHASES = {of_phase("Scheduling"), of_phase("Running")}
LINGERS = {of_phase(name)
           for name in ("Scheduled", "PreparingTarget", "TargetReady")}


def test_a_migration_takes_eight_writes(controllers, played, faults,
                                        namespace):
    (machine,) = start(played, namespace, ["eight"])
    played.wait_until(lambda: any(
        c["type"] == "Ready" and c["status"] == "True" for c in status(
            played.machine(machine))["conditions"]), "it to be described")
    for number in range(3):
        before = len(faults.writes())
        journey = migrate(controllers, played, machine, number)
        assert journey.end() == "Succeeded"
        journey.check_success()
        journey.tidy()
        target = state(played.machine(machine))["targetPod"]
        uid = played.pods(machine)[
            f"{namespace}/{target}"]["metadata"]["uid"]
        made = [shape(s).replace(uid, "UID")
                for s in faults.writes()[before:]
                if about(machine)(s) and not s.is_event
                and "/events" not in s.path]
        assert len(NEEDED | PHASES) == 8
        assert len(set(made)) == len(made), made
        assert NEEDED <= set(made) <= NEEDED | PHASES | LINGERS, made


def start(played, namespace, names):
    made = [played.launch(namespace, f"vm-{name}") for name in names]
    for machine in made:
        played.settle(machine)
    return made


def test_each_write_of_a_migration_may_meet_each_fault(controllers, played,
                                                      faults, namespace):
    machines = start(played, namespace, QUICK)
    total = count_writes(controllers, played, faults, machines[0])
    for number in range(1, total + 1):
        for machine, kind in zip(machines, QUICK):
            faults.plan(kind, nth(number, about(machine)))
        journeys = [migrate(controllers, played, m, number) for m in machines]
        for journey in journeys:
            assert journey.end() == "Succeeded", journey.machine
            # A write of an Event that fails is not repeated.
            journey.check_success(1, EVENTS_OF_TROUBLE)
        faults.heal()


def test_writes_that_are_never_answered(controllers, played, faults,
                                        namespace):
    (first,) = start(played, namespace, ["first"])
    total = count_writes(controllers, played, faults, first)
    cases = [(kind, number) for kind in ("hang", "lost-slowly")
             for number in range(1, total + 1)]
    machines = start(played, namespace, [f"{k}-{n}" for k, n in cases])
    journeys = []
    for machine, (kind, number) in zip(machines, cases):
        faults.plan(kind, nth(number, about(machine)))
        journeys.append(migrate(controllers, played, machine, 1))
    for journey in journeys:
        assert journey.end() == "Succeeded", journey.machine
        journey.check_success(1, EVENTS_OF_TROUBLE)


def test_pods_that_the_server_fails_to_make_are_told_of(controllers, played,
                                                        faults, namespace):
    (machine,) = start(played, namespace, ["five"])
    faults.plan("500", lambda seen: is_create("pods")(seen)
                and about(machine)(seen), MANY)
    journey = migrate(controllers, played, machine, 1)
    path = namespaced(VMIMS, namespace, "vm-five-1")

    def waits():
        found = status(played.api.get(path))
        return found.get("phase") == "Pending" and any(
            c["reason"] == "TargetPodRefused"
            and "a fault that a test asked for" in c["message"]
            for c in found.get("conditions", []))
    wait_for("it to be told", waits)
    faults.heal()
    assert journey.end() == "Succeeded"


def test_of_two_that_begin_at_the_same_moment_one_goes_on(
        controllers, played, faults, namespace):
    """The second is made, and has read what there is, when the first is about
    to make its pod. Which of two of one second is the older is chance."""
    path = namespaced(VMIMS, namespace)
    for machine in start(played, namespace, [f"two-{i}" for i in range(6)]):
        both, posts = [], []

        def meet(seen, machine=machine, both=both, posts=posts):
            if not (is_create("pods")(seen) and about(machine)(seen)):
                return
            posts.append(seen)
            if len(posts) > 1:
                return
            api = controllers.cluster.api()  # it is another thread
            both.append(api.create(path, objects.vmim(machine.split("/")[1])))
            name = both[0]["metadata"]["name"]
            wait_for("the second one to act", lambda: len(posts) > 1 or
                     status(api.get(f"{path}/{name}")).get("phase"))

        played.hold("arrive", machine)
        faults.before_write = meet
        first = played.migrate(machine)
        wait_phase(played.api, first, "Running", "Failed")
        faults.before_write = None
        played.release("arrive", machine)
        ends = [status(wait_phase(played.api, each, *FINAL))["phase"]
                for each in (first, *both)]
        assert sorted(ends) == ["Failed", "Succeeded"]
        assert len(posts) == 1, posts
        played.settle(machine)


@pytest.mark.parametrize("how", ["cut", "expired"])
def test_watches_that_break_at_every_step(controllers, played, faults,
                                          namespace, how):
    (machine,) = start(played, namespace, [f"watch-{how}"])
    steps = ("run", "prepare", "start", "arrive", "switch", "finish")
    for step in steps:
        played.hold(step, machine)
    journey = migrate(controllers, played, machine, 1)
    for step in steps:
        played.wait_due(step, machine)
        if how == "expired":
            faults.plan("410", lambda seen: seen.is_watch, count=3)
        wait_for("watches to cut", faults.cut_watches)
        played.step(step, machine)
    assert journey.end() == "Succeeded"
    journey.check_success()


def test_connections_that_are_reset_all_the_time(controllers, played, faults,
                                                 namespace):
    machines = start(played, namespace, [f"reset-{i}" for i in range(8)])
    journeys = [migrate(controllers, played, m, 1) for m in machines]
    for journey in journeys:
        for _ in range(5):
            faults.reset_all()
        assert journey.end() == "Succeeded"
        journey.check_success(3, EVENTS_OF_TROUBLE)


def test_a_server_that_is_ill_most_of_the_time(controllers, played, faults,
                                               namespace):
    machines = start(played, namespace, [f"ill-{i}" for i in range(20)])
    faults.plague(1, 0.3, QUICK)
    journeys = [migrate(controllers, played, m, 1) for m in machines]
    for journey in journeys:
        assert journey.end() == "Succeeded"
    faults.heal()
    for journey in journeys:
        journey.check_success(3, EVENTS_OF_TROUBLE)


@pytest.mark.parametrize("step", ["run", "prepare", "arrive"])
def test_a_machine_that_vanishes_takes_its_migrations_along(
        controllers, played, namespace, step):
    machines = start(played, namespace, [f"gone-{step}-{i}"
                                         for i in range(4)])
    for machine in machines:
        played.hold(step, machine)
    journeys = [migrate(controllers, played, m, 1) for m in machines]
    for machine in machines:
        played.wait_due(step, machine)
        played.api.delete(namespaced(VMIS, *machine.split("/")))
    for journey in journeys:
        # Another one, which never gets to know its machine.
        played.migrate(journey.machine)
        journey.end_canceled()
    wait_for("no pod and no migration", lambda: not any(
        played.api.get(namespaced(kind, namespace))["items"]
        for kind in (PODS, VMIMS)))
    assert not controllers.all[0].has_crashed()
