# SPDX-License-Identifier: Apache-2.0
"""Of two controllers one works, and the other goes on where it stopped."""

import pytest

from controllers import Controllers
from faults import Broken
from faults_seen import is_write
from journeys import Journey
from kubeapi import wait_for
from played import wait_phase
from played_steps import FINAL, status

NODES = ("leader-a", "leader-b", "leader-c")
# What the nodes are about to do when it is canceled: before the hand-off, and
# in the middle of the transfer.
STEPS_OF_CANCEL = ("run", "arrive")


@pytest.fixture(name="controllers")
def controllers_(cluster):
    with Controllers(cluster, 2, faults=True) as made:
        yield made


def test_one_of_two_leads_and_the_other_takes_over(controllers):
    first = controllers.leader()
    (second,) = controllers.others()
    assert second.metrics()["kubevirt_virt_controller_leading_status"] == 0
    first.kill()
    controllers.free_lease()
    assert controllers.leader() is second
    first.start()
    assert controllers.others() == [first]


def test_a_leader_that_stops_gives_the_lead_to_the_other(controllers):
    first = controllers.leader()
    assert first.stop() == 0
    assert controllers.leader() is not first


def test_a_leader_that_hangs_loses_the_lead_and_writes_no_more(
        cluster, played, namespace):
    with Controllers(cluster, 2, "--leader-lease-seconds", "3",
                     "--leader-renew-seconds", "2",
                     "--leader-retry-seconds", "1", faults=True,
                     patient=False) as controllers:
        first = controllers.leader()
        machine = played.start(namespace, "moves")
        assert first.faults.writes()
        first.faults.plan("hang", lambda seen: seen.is_lease, count=1000)
        (second,) = [c for c in controllers.all if c is not first]
        wait_for("the other one to lead",
                 lambda: controllers.leading() is second)
        assert first.metrics()[
            "kubevirt_virt_controller_leading_status"] == 0
        # There is much to do, it sees all of it, and leaves it alone.
        before = len(first.faults.writes())
        for _ in range(3):
            migration = played.migrate(machine)
            assert status(wait_phase(played.api, migration, *FINAL))[
                "phase"] == "Succeeded"
            played.settle(machine)
        assert [str(s) for s in first.faults.writes()[before:]] == []
        assert second.faults.writes()


class Assassin:
    """Kills the leader at its n-th write of something from now on."""

    def __init__(self, controllers, number, when, what=""):
        self.controllers = controllers
        self.number = number
        self.what = what
        self.count = 0
        self.victim = controllers.leader()
        self.struck_at = None
        setattr(self.victim.faults, f"{when}_write", self.look)

    def look(self, seen):
        if not is_write(seen) or self.struck_at or self.what not in str(seen):
            return
        self.count += 1
        if self.count == self.number:
            self.struck_at = seen
            self.victim.kill()
            self.controllers.free_lease()
            raise Broken

    def done(self):
        """Whether it has struck; the victim runs again, as the other one."""
        self.victim.faults.before_write = None
        self.victim.faults.after_write = None
        if self.struck_at:
            self.victim.start()
        return self.struck_at is not None


def kill_once(assassin, travel, before=()):
    """A journey with an assassin; at what it struck, None if it has not."""
    try:
        travel()
    except (AssertionError, TimeoutError) as error:
        raise AssertionError(f"killed at {assassin.struck_at}, after "
                             f"{before}") from error
    return str(assassin.struck_at) if assassin.done() else None


def kill_everywhere(controllers, when, travel):
    """One journey for each write, until one needs fewer than that."""
    struck = []
    while True:
        at = kill_once(Assassin(controllers, len(struck) + 1, when), travel,
                       struck)
        if at is None:
            return struck
        struck.append(at)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_migration_survives_its_leader_at_every_write(controllers, played,
                                                        namespace, when):
    machine = played.start(namespace, "moves")

    def travel():
        journey = Journey(controllers, played, machine)
        assert journey.end() == "Succeeded"
        journey.check_success(missing=1)
        journey.tidy()

    struck = kill_everywhere(controllers, when, travel)
    print(f"killed {when}:", *struck, sep="\n")
    # Writes that do not wait for each other have no order: the n-th may have
    # been another one each time.
    for part in ("/pods", "/virtualmachineinstances/", "/status"):
        if not any(part in each for each in struck):
            assert kill_once(Assassin(controllers, 1, when, part), travel)


@pytest.mark.parametrize("step", STEPS_OF_CANCEL)
def test_a_cancel_survives_its_leader_at_every_write(controllers, played,
                                                     namespace, step):
    machine = played.start(namespace, f"stays-{step}")
    played.hold(step, machine)

    def travel():
        journey = Journey(controllers, played, machine)
        played.wait_due(step, machine)
        journey.cancel()
        journey.end_canceled()
        journey.check_canceled()

    struck = kill_everywhere(controllers, "after", travel)
    assert struck
