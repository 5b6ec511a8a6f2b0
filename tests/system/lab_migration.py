# SPDX-License-Identifier: Apache-2.0
"""One live migration, driven through libvirt as a launcher would do it."""

import threading
import time

import libvirt

from lab_pod import SOCKETS
from lab_space import wait_until


class Migration:
    """virDomainMigrateToURI3() in a thread, watched from outside.

    The sockets of `key` must be there; Lab.migrate() sees to it. What comes
    out is in `error` (None: it succeeded) and `seconds` after wait().
    """

    def __init__(self, guest, target, key, flags=0, **params):
        self.guest = guest
        self.source = guest.pod
        self.target = target
        self.error = None
        self.seconds = None
        self._flags = (flags | libvirt.VIR_MIGRATE_LIVE
                       | libvirt.VIR_MIGRATE_PEER2PEER)
        prefix = f"{SOCKETS}/{key}"
        self._uri = f"qemu+unix:///system?socket={prefix}-source.sock"
        self._params = {
            libvirt.VIR_MIGRATE_PARAM_URI:
                f"unix://{prefix}-49152-source.sock"}
        if flags & libvirt.VIR_MIGRATE_NON_SHARED_DISK:
            self._params[libvirt.VIR_MIGRATE_PARAM_DISKS_URI] = \
                f"unix://{prefix}-49153-source.sock"
        self._params.update(params)
        # Not the connection that the migration blocks (see Pod.connect).
        self._control = self.source.connect()
        self._domain = self._control.lookupByName(guest.name)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        began = time.monotonic()
        try:
            connection = self.source.connect()
            try:
                domain = connection.lookupByName(self.guest.name)
                domain.migrateToURI3(self._uri, self._params, self._flags)
            finally:
                connection.close()
        except libvirt.libvirtError as error:
            self.error = error
        self.seconds = time.monotonic() - began

    def running(self):
        return self._thread.is_alive()

    def progress(self):
        """libvirt's numbers about the job, {} when there are none."""
        try:
            return self._domain.jobStats()
        except libvirt.libvirtError:
            return {}

    def wait_midstream(self, sent_bytes=1 << 20, timeout=30):
        """Until memory is on its way, with the migration not yet done."""
        def sent():
            assert self.running(), f"the migration is over: {self.error}"
            return self.progress().get("memory_processed", 0) >= sent_bytes

        wait_until(sent, timeout, "memory to be sent")
        assert self.running(), f"the migration is over: {self.error}"

    def wait_iteration(self, number=2, timeout=60):
        """Until QEMU goes over memory again, for what the guest changed."""
        def reached():
            assert self.running(), f"the migration is over: {self.error}"
            return self.progress().get("memory_iteration", 0) >= number

        wait_until(reached, timeout, f"iteration {number}")

    def start_postcopy(self):
        self._domain.migrateStartPostCopy()

    def abort(self):
        self._domain.abortJob()

    def set_bandwidth(self, mib_per_second):
        self._domain.migrateSetMaxSpeed(mib_per_second)

    def wait(self, timeout=120):
        """Until libvirt returns; success or not is in `error`."""
        self._thread.join(timeout)
        assert not self.running(), f"the migration hangs: {self.progress()}"
        self._control.close()
        return self

    def succeed(self, timeout=120):
        """Waits and asserts that the guest runs in the target, only there.

        That the call returned without an error proves nothing: with some
        combinations of flags QEMU 7.2 loses the guest after that.
        """
        self.wait(timeout)
        if self.error:
            raise AssertionError(f"the migration failed: {self.error}")
        wait_until(lambda: self.guest.runs_in(self.target), 10,
                   f"{self.guest.name} to run in {self.target.name}")
        wait_until(lambda: self.guest.state_in(self.source) is None, 10,
                   f"{self.guest.name} to be gone from {self.source.name}")
        self.guest.moved_to(self.target)
        return self

    def fail(self, timeout=60):
        """Waits and asserts that it failed and the guest stayed."""
        self.wait(timeout)
        assert self.error, "the migration succeeded"
        wait_until(lambda: self.guest.runs_in(self.source), 10,
                   f"{self.guest.name} to run in {self.source.name}")
        wait_until(lambda: self.guest.state_in(self.target) is None, 10,
                   f"{self.guest.name} to be gone from {self.target.name}")
        return self

    def statistics(self):
        """Of the migration that succeeded: libvirt's, from the target; empty
        after post-copy."""
        connection = self.target.connect()
        try:
            return connection.lookupByName(self.guest.name).jobStats(
                libvirt.VIR_DOMAIN_JOB_STATS_COMPLETED)
        finally:
            connection.close()
