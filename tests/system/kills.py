# SPDX-License-Identifier: Apache-2.0
"""Machines that move, several at once, and what is killed of each.

Each machine loses one thing, so that what became of it is known to come from
that. They begin at home and are there again afterwards, started anew where
they had to be.
"""

import contextlib
import json

from embedded import PATIENCE, VMI
from ends import Ends, code_of
from kubeapi import wait_for
from phases import Held, allowed_at_once, blocked
from victims import Victims

HOME, AWAY = "node1", "node2"
SIDES = {"source": HOME, "target": AWAY}
AT_HOME = {"affinity": {"nodeAffinity": {
    "preferredDuringSchedulingIgnoredDuringExecution": [{
        "weight": 100, "preference": {"matchExpressions": [{
            "key": "kubernetes.io/hostname", "operator": "In",
            "values": [HOME]}]}}]}}}
COUNT = 3


class Case:
    """One machine, and what it loses: (side, what)."""

    def __init__(self, machine, victim):
        self.machine = machine
        self.side, self.what = victim
        self.uid = machine.vmi["metadata"]["uid"]
        self.end = None

    def kill(self):
        Victims(self.machine, SIDES[self.side]).kill(self.what)

    def is_anew(self):
        """The machine has ended, and its VirtualMachine has made another."""
        vmi = self.machine.cluster.find(VMI, self.machine.name)
        return vmi is not None and vmi["metadata"]["uid"] != self.uid

    def told(self):
        """(phase, code, the node's code) of the end."""
        status = self.end["status"]
        return (status["phase"], code_of(self.end)[0], status.get(
            "migrationState", {}).get("failureCode", ""))

    def judge(self, expected):
        """Expected are what told() may say, and whether the machine lives."""
        told, lives = expected
        assert self.told() in told, \
            f"{self.side} {self.what}: {json.dumps(self.end['status'])}"
        if lives:
            assert not self.is_anew()
            return
        wait_for(f"{self.machine.name} to be made anew", self.is_anew,
                 PATIENCE)
        self.machine.forget()
        self.machine.wait_running()


class Kills:
    """The machines of a cluster."""

    def __init__(self, cluster):
        self.cluster = cluster
        self._all = contextlib.ExitStack()
        self._all.enter_context(allowed_at_once(cluster, COUNT + 1))
        self._ends = self._all.enter_context(Ends(cluster))
        self._machines = [
            cluster.start_machine(f"vm{i}", wait=False, dirty="8,500",
                                  spec=AT_HOME) for i in range(COUNT)]
        self._blocker = cluster.start_machine("blocker", wait=False,
                                              spec=AT_HOME)
        for machine in self._machines + [self._blocker]:
            machine.wait_running()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._all.close()

    def run(self, phase, expected):
        """expected is {victim: see Case.judge()}. All are killed while their
        migrations are in the phase."""
        cases = [Case(machine, victim)
                 for machine, victim in zip(self._machines, expected)]
        assert len(cases) == len(expected)
        with contextlib.ExitStack() as stack:
            if phase == "Scheduled":
                stack.enter_context(blocked(self._blocker))
            held = stack.enter_context(Held(
                self.cluster, phase, [case.machine for case in cases]))
            if phase == "Scheduling" and any(
                    case.side == "target" for case in cases):
                # The pods are bound and run; the controller is late.
                stack.enter_context(self.cluster.stopped("ferry-controller",
                                                         0))
                held.release()
            for case in cases:
                assert held.is_there(case.machine)
                case.kill()
            self._end(stack, held, cases, expected)
        for case in cases:
            case.judge(expected[(case.side, case.what)])
        self._settle()

    def _end(self, stack, held, cases, expected):
        """Those that come to nothing do so while the others are kept."""
        def wait(case):
            case.end = self._ends.wait(held.names[case.machine])

        if held.phase in ("Running", "PostCopy"):
            for case in cases:
                if not any(told[0] == "Succeeded" for told in
                           expected[(case.side, case.what)][0]):
                    wait(case)
        stack.close()
        for case in cases:
            wait(case)

    def _settle(self):
        """All are at home, alone and well, and nothing is left."""
        away = {machine: machine.begin_migration()
                for machine in self._machines if machine.node != HOME}
        for machine, name in away.items():
            machine.wait_migration(name)
        for machine in self._machines:
            assert machine.node == HOME
            machine.check_alone()
        self.cluster.check_tidy()
