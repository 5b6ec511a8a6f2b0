# SPDX-License-Identifier: Apache-2.0
"""Many machines that move at once, within the limits."""

import pytest

from embedded import PATIENCE, VMIM, Embedded
from ends import FINAL
from kubeapi import wait_for
from phases import allowed_at_once

COUNT = 8
# KubeVirt's defaults.
PER_CLUSTER = 5
PER_NODE = 2
WRITERS, WRITERS_MOVES = 4, 2


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


def test_many_move_at_once_within_the_limits(cluster):
    # Small, and with little to do: they are eight.
    machines = [cluster.start_machine(f"many{i}", wait=False, memory="96Mi",
                                      dirty="2,0", interfaces=[], networks=[])
                for i in range(COUNT)]
    for machine in machines:
        machine.wait_running()
    sources = {machine.begin_migration(): machine.node
               for machine in machines}
    most = []

    def ended():
        # All of one moment.
        phases = {vmim["metadata"]["name"]: vmim.get("status", {}).get("phase")
                  for vmim in cluster.list(VMIM)
                  if vmim["metadata"]["name"] in sources}
        active = [sources[name] for name, phase in phases.items()
                  if phase not in (None, "Pending", *FINAL)]
        most.append(len(active))
        assert len(active) <= PER_CLUSTER
        assert all(active.count(node) <= PER_NODE for node in set(active))
        return all(phase in FINAL for phase in phases.values())

    wait_for("all of them to end", ended, PATIENCE * 3)
    # The limits were what they waited for.
    assert max(most) >= PER_NODE
    for machine, name in zip(machines, sources):
        machine.wait_migration(name)
        machine.check_alone()
    cluster.check_tidy()


def test_nothing_is_lost_of_what_they_write_meanwhile(cluster):
    """QEMU's emulation loses track of what a guest writes where memory has a
    certain size (docs/decisions/0028). Seen where the computer has too much to
    do: with three moves instead of two, two of three runs harmed a guest."""
    machines = [cluster.start_machine(f"writer{i}", wait=False, dirty="8,max")
                for i in range(WRITERS)]
    for machine in machines:
        machine.wait_running()
    with allowed_at_once(cluster, WRITERS):
        for _ in range(WRITERS_MOVES):
            names = {machine: machine.begin_migration()
                     for machine in machines}
            for machine, name in names.items():
                machine.wait_migration(name)
            for machine in machines:
                machine.check_alone()
    cluster.check_tidy()
