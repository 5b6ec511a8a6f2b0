# SPDX-License-Identifier: Apache-2.0
"""Keeps migrations in a phase for as long as a test needs.

    with Held(cluster, "TargetReady", [machine]) as held:
        held.check()                # it is in that phase, and stays there
    machine.wait_migration(held.names[machine])

Each phase is kept by what would keep it in life: a quota, a cordoned node, a
limit, a handler that does nothing, a slow wire. "PostCopy" is what Running is
called here once the guest runs on the target. The controller writes phases that
last less than a second together, so that a test that waits for one that nothing
keeps does not know where it is.
"""

import contextlib
import os
import signal

from embedded import PATIENCE, VMIM
from kubeapi import path_of, wait_for

PHASES = ("Pending", "Scheduling", "Scheduled", "PreparingTarget",
          "TargetReady", "Running", "PostCopy")
# What four guests have would take half a minute.
WIRE = "tbf rate 80mbit burst 64kb latency 50ms"
# Of a machine of less than a gigabyte: after a second.
POST_COPY = {"allowPostCopy": True, "allowWorkloadDisruption": True,
             "completionTimeoutPerGiB": 1}
QUOTAS = path_of("v1", "resourcequotas", "default")
KUBEVIRT = path_of("kubevirt.io/v1", "kubevirts", "kubevirt", "kubevirt")
INBOUND = "ferry.io/parallelInboundMigrationsPerNode"


def other(cluster, node):
    """Of two nodes."""
    return next(name for name in cluster.node_names() if name != node)


@contextlib.contextmanager
def allowed_at_once(cluster, number):
    """So many migrations, in all and away from a node."""
    def write(value):
        cluster.client.patch(KUBEVIRT, {"spec": {"configuration": {
            "migrations": {"parallelMigrationsPerCluster": value,
                           "parallelOutboundMigrationsPerNode": value}}}})

    write(number)
    try:
        yield
    finally:
        write(None)


@contextlib.contextmanager
def full(held):
    """No pod may be made, however many go."""
    cluster = held.cluster
    cluster.client.create(QUOTAS, {
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "full"},
        "spec": {"hard": {"pods": "0"}}})
    try:
        yield
    finally:
        cluster.client.delete(f"{QUOTAS}/full")


@contextlib.contextmanager
def cordoned(cluster, node):
    """No pods are bound to a node."""
    path = path_of("v1", "nodes", None, node)
    cluster.client.patch(path, {"spec": {"unschedulable": True}})
    try:
        yield
    finally:
        cluster.client.patch(path, {"spec": {"unschedulable": None}})


@contextlib.contextmanager
def limited(held):
    """The target takes one at a time. See blocked()."""
    def write(value):
        held.cluster.client.patch(KUBEVIRT, {"metadata": {"annotations": {
            INBOUND: value}}})

    write("1")
    try:
        yield
    finally:
        write(None)


@contextlib.contextmanager
def slow_wire(cluster, node):
    """Little of what a node sends for migrations gets through."""
    with cluster.node_network(node) as network:
        network.run("tc", *f"qdisc add dev mig0 root {WIRE}".split())
        try:
            yield
        finally:
            network.run("tc", "qdisc", "del", "dev", "mig0", "root")


@contextlib.contextmanager
def blocked(machine):
    """A migration of this machine does not come to its end, and keeps the slot
    of its target: its launcher there does not answer, whoever else is
    killed."""
    cluster = machine.cluster
    target = other(cluster, machine.node)
    with cluster.stopped("ferry-handler", target):
        name = machine.begin_migration()
        machine.wait_phase(name, "PreparingTarget")
        pid = machine.process(target, "ferry-launcher")
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
        cluster.delete(VMIM, name)
        wait_for(f"{name} to go", lambda: cluster.find(VMIM, name) is None,
                 PATIENCE)
        machine.wait_alone()


# What keeps a migration in a phase.
KEEPERS = {
    "Pending": full,
    "Scheduling": lambda held: cordoned(held.cluster, held.target),
    "Scheduled": limited,
    "PreparingTarget": lambda held: held.cluster.stopped("ferry-handler",
                                                         held.target),
    "TargetReady": lambda held: held.cluster.stopped("ferry-handler",
                                                     held.source),
    "Running": lambda held: slow_wire(held.cluster, held.source),
    "PostCopy": lambda held: slow_wire(held.cluster, held.source),
}


def phase_of(machine, name):
    """Where a migration is; None: on its way into Running or PostCopy."""
    phase = machine.cluster.get(VMIM, name).get("status", {}).get("phase")
    if phase != "Running":
        return phase
    state = machine.vmi["status"]["migrationState"]
    if state.get("completed"):
        return None
    if state["mode"] == "PostCopy":
        # Before the guest runs there QEMU could not take it up again.
        ready = state.get("targetNodeDomainReadyTimestamp")
        return "PostCopy" if ready else None
    copied = state.get("progress", {}).get("bytesProcessed", 0)
    return "Running" if copied else None


class Held:
    """Migrations of machines that are on one node, kept in one phase.

    Scheduled needs somebody who has the slot: blocked()."""

    def __init__(self, cluster, phase, machines):
        self.cluster = cluster
        self.phase = phase
        self.machines = machines
        self.source = machines[0].node
        self.target = other(cluster, self.source)
        self.names = {}
        self._all = contextlib.ExitStack()
        self._keeper = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self._keeper.close)
            if self.phase == "PostCopy":
                for machine in self.machines:
                    self._all.enter_context(machine.policy(**POST_COPY))
            self._keeper.enter_context(KEEPERS[self.phase](self))
            self.names = {machine: machine.begin_migration()
                          for machine in self.machines}
            self.wait()
            undo.pop_all()
        return self

    def __exit__(self, *_):
        self._keeper.close()
        self._all.close()

    def advance(self, phase):
        """Lets them go on, as far as the next phase."""
        keeper = contextlib.ExitStack()
        keeper.enter_context(KEEPERS[phase](self))
        self._keeper.close()
        self.phase, self._keeper = phase, keeper
        self.wait()

    def release(self):
        """Lets them go on to their end."""
        self._keeper.close()

    def wait(self):
        for machine in self.machines:
            wait_for(f"{self.names[machine]} to be in {self.phase}",
                     lambda m=machine: self.is_there(m), PATIENCE)

    def is_there(self, machine):
        """It is in the phase; an assertion where it will never be."""
        phase = phase_of(machine, self.names[machine])
        assert phase not in PHASES[PHASES.index(self.phase) + 1:] + (
            "Succeeded", "Failed"), f"{phase} and not {self.phase}"
        return phase == self.phase

    def check(self):
        """All are still there."""
        for machine in self.machines:
            assert self.is_there(machine), self.phase
