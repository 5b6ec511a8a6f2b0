# SPDX-License-Identifier: Apache-2.0
"""The ways to move a guest that Ferry is compared with: virsh alone.

Two pods of tests/system/lab.py with the same libvirtd and QEMU as Ferry's, and
the same guest. libvirtd speaks to libvirtd without anything in between; QEMU's
memory goes over TCP from pod to pod, or through a pair of socats.
"""
import contextlib
import itertools
import subprocess
import time

from embedded import guest_files
from lab import Lab
from lab_guest import ADDRESS, Guest
from lab_pod import SOCKETS
from lab_space import wait_until

from guestclock import GuestClock

POD_ADDRESSES = {"node-a": "10.88.0.201", "node-b": "10.88.0.202"}
SOCAT_PORT = 40000
# As Ferry's: see flags_of() in src/virt/migrate.c.
FLAGS = ("--live", "--p2p", "--persistent", "--unsafe")
TIMEOUT_SECONDS = 180


FILLED = "memcheck pass="  # said once all memory has been written to


class QuietGuest(Guest):
    """One that takes its time to check its memory."""

    def wait_alive(self, timeout=TIMEOUT_SECONDS):
        wait_until(lambda: FILLED in self.console(self.pod), TIMEOUT_SECONDS,
                   "the guest to use its memory")


class Site:
    """The lab, with a guest that is moved to and fro."""

    def __init__(self, memory_mib, dirty):
        self.lab = Lab()
        self._keys = itertools.count(1)
        try:
            for node in (self.lab.a, self.lab.b):
                node.pod.network.ip(
                    f"addr add {POD_ADDRESSES[node.name]}/24 dev k6t")
            self.guest = QuietGuest("guest1", guest_files(),
                                    memory=memory_mib, dirty=dirty)
            self.guest.start(self.lab.a.pod)
        except BaseException:
            self.close()
            raise

    def close(self):
        self.lab.close()

    def resting(self):
        """The guest does nothing, so that others can be measured."""
        return self.guest.paused()

    def _virsh(self, source, target, uri, parallel):
        more = ("--parallel", "--parallel-connections", str(parallel)) \
            if parallel else ()
        began = time.monotonic()
        done = subprocess.run(
            ["virsh", "-c", "qemu+unix:///system?socket="
             + source.pod.libvirt_socket, "migrate", *FLAGS, *more,
             self.guest.name, "qemu+unix:///system?socket="
             + target.pod.libvirt_socket, uri],
            capture_output=True, text=True, check=False,
            timeout=TIMEOUT_SECONDS)
        seconds = time.monotonic() - began
        assert done.returncode == 0, f"virsh: {done.stderr}"
        return seconds

    @contextlib.contextmanager
    def _socats(self, source, target):
        """QEMU listens on the same path in its pod as the first socat does
        in the other."""
        path = f"{SOCKETS}/socat-{next(self._keys)}.sock"
        commands = (
            (target, f"TCP-LISTEN:{SOCAT_PORT},fork,reuseaddr,nodelay",
             f"UNIX-CONNECT:{target.pod.outside(path)}"),
            (source, f"UNIX-LISTEN:{source.pod.outside(path)},fork",
             f"TCP:{target.address}:{SOCAT_PORT},nodelay"))
        running = [self.lab.space.spawn(
            f"socat-{node.name}", ["socat", "-b", "131072", near, far],
            node.network) for node, near, far in commands]
        try:
            wait_until(lambda: source.network.run(
                "test", "-S", source.pod.outside(path),
                check=False).returncode == 0, 10, "socat to listen")
            wait_until(lambda: str(SOCAT_PORT) in target.network.run(
                "ss", "-ltn").stdout, 10, "socat to listen")
            yield f"unix://{path}"
        finally:
            for process in running:
                process.stop()

    @contextlib.contextmanager
    def _way(self, source, target, through_socat):
        if through_socat:
            with self._socats(source, target) as uri:
                yield uri
        else:
            yield f"tcp://{POD_ADDRESSES[target.name]}"

    def move(self, parallel=0, through_socat=False):
        """Moves the guest; figures."""
        source = self.lab.node_of(self.guest.pod)
        target = self.lab.other(source)
        clock = GuestClock(self.lab.space, self.lab.client, ADDRESS)
        with self.lab.pinging(ADDRESS) as pinger, \
                self._way(source, target, through_socat) as uri:
            seconds = self._virsh(source, target, uri, parallel)
            self.guest.moved_to(target.pod)
            time.sleep(SETTLE_SECONDS)
        return {"copy_s": seconds, "ping_gap_ms": pinger.gap_ms,
                "clock_gap_ms": clock.stop()}


# So that answers of the moved guest are seen by those who wait for them.
SETTLE_SECONDS = 0.6
