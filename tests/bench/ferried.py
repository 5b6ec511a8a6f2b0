# SPDX-License-Identifier: Apache-2.0
"""The same move by Ferry, from the VMIM to its success."""
import contextlib
import pathlib
import re
import time

from embedded import VMI, VMIM, Embedded, Machine
from kubeapi import wait_for

from guestclock import GuestClock
from straight import FILLED, SETTLE_SECONDS, TIMEOUT_SECONDS
from timeline import Timeline

MACHINE = "vm1"
OWN = ("ferry-handler", "ferry-proxy")


def start_cluster():
    """Two nodes; their cables are as short as those of the other ways, for
    which bbr, if that is the host's choice, is slow."""
    cluster = Embedded()
    for node in cluster.node_names():
        with cluster.node_network(node) as network:
            network.write_sysctl("net.ipv4.tcp_congestion_control", "reno")
    return cluster


def pss_kib(pid):
    """Memory of a process, shared pages divided by those who share them."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    return int(re.search(r"^Pss:\s+(\d+)", text, re.M).group(1))


def rss_kib(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    return int(re.search(r"^Rss:\s+(\d+)", text, re.M).group(1))


class Site:
    """A machine of a cluster, which is moved to and fro."""

    def __init__(self, cluster, memory_mib, dirty):
        self._cluster = cluster
        self.machine: Machine = cluster.start_machine(
            MACHINE, memory=f"{memory_mib}Mi", dirty=dirty)
        wait_for("the guest to use its memory",
                 lambda: FILLED in self.machine.log(), TIMEOUT_SECONDS)

    def close(self):
        self.machine.delete()

    def move(self):
        """Moves the machine; figures, and when which step was made."""
        machine, cluster = self.machine, self._cluster
        timeline = Timeline(cluster)
        clock = GuestClock(cluster.space, cluster.fabric, machine.address)
        with machine.pinging() as pinger:
            began = time.time()
            name = machine.begin_migration()

            def has_ended(thing):
                return thing["metadata"]["name"] == name and thing.get(
                    "status", {}).get("phase") in ("Succeeded", "Failed")

            vmim = timeline.wait("the migration to end", VMIM, has_ended,
                                 TIMEOUT_SECONDS)
            assert vmim["status"]["phase"] == "Succeeded", vmim["status"]
            time.sleep(SETTLE_SECONDS)
        clock_gap_ms = clock.stop()
        machine.wait_alone()
        timeline.close()
        steps = timeline.steps(began, vmim, MACHINE)
        uid = vmim["metadata"]["uid"]

        def seen(member):
            return timeline.first(VMI, lambda v: v.get("status", {}).get(
                "migrationState", {}).get("migrationUid") == uid and
                v["status"]["migrationState"].get(member))

        return {
            "copy_s": seen("completed") - seen("startTimestamp"),
            "total_s": timeline.first(VMIM, has_ended) - began,
            "ping_gap_ms": pinger.gap_ms, "clock_gap_ms": clock_gap_ms,
            "downtime_ms": machine.vmi["status"]["migrationState"].get(
                "progress", {}).get("downtimeMs"),
            "steps": steps}

    @contextlib.contextmanager
    def resting(self):
        """The machine does nothing, so that others can be measured."""
        self.machine.pause()
        try:
            yield
        finally:
            self.machine.pause(False)

    def memory(self):
        """{program: (pss, rss) KiB} on the node that has the machine."""
        node = self.machine.node
        number = int(node.removeprefix("node"))
        pids = {name: [pid] for (name, where), pid
                in self._cluster.programs().items()
                if where == number and name in OWN}
        pids["ferry-launcher"] = self.machine.processes(node,
                                                        "ferry-launcher")
        return {name: (sum(map(pss_kib, some)), sum(map(rss_kib, some)))
                for name, some in pids.items()}
