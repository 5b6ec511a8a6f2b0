# SPDX-License-Identifier: Apache-2.0
"""The test guest as a libvirt domain, and what its console says about it.

tests/guest/guestwork.c writes the console; each pod the guest has been in has
a file with its part. A guest that runs in two places at once, starts anew or
goes back in time shows as numbers that repeat.
"""

import contextlib
import os
import re
import uuid

import libvirt

import guest_kernel
import lab_disk
from lab_space import wait_until

ADDRESS = "10.88.0.10"
MAC = "52:54:00:fe:44:59"
DISK = "/var/disk.img"

# As ferry-launcher's are, and for its reason: QEMU's emulation loses track of
# what a guest writes where memory is a multiple of 64 pages.
_XML = """<domain type='qemu'
    xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>{name}</name>
  <uuid>{uuid}</uuid>
  <memory unit='MiB'>{memory}</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='pc-q35-7.2'>hvm</type>
    <kernel>{files}/vmlinuz</kernel>
    <initrd>{files}/initrd</initrd>
    <cmdline>{cmdline}</cmdline>
  </os>
  <features><acpi/></features>
  <cpu mode='custom' match='exact'><model>qemu64</model></cpu>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <serial type='file'>
      <source path='{console}' append='on'/>
    </serial>
    <interface type='ethernet'>
      <mac address='{mac}'/>
      <target dev='tap0' managed='no'/>
      <model type='virtio'/>
    </interface>
    {disk}
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
  </devices>
  <qemu:commandline>
    <qemu:arg value='-object'/>
    <qemu:arg value='memory-backend-ram,id=ferry.ram,size={bytes}b'/>
    <qemu:arg value='-machine'/>
    <qemu:arg value='memory-backend=ferry.ram'/>
    <qemu:arg value='-m'/>
    <qemu:arg value='size={bytes}b'/>
  </qemu:commandline>
</domain>"""
_EXTRA = 8192

_DISK = """<disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='{path}'/>
      <target dev='vda' bus='virtio'/>
    </disk>"""

_COUNTER = re.compile(r"^counter boot=(\w+) n=(\d+)\r?$", re.M)
_NUMBER = re.compile(r"^counter boot=\w+ n=(\d+)\r?$", re.M)
_MEMCHECK = re.compile(r"^memcheck pass=(\d+) rewritten=\d+ bad=0\r?$", re.M)
_DISKCHECK = re.compile(r"^diskcheck written=(\d+) read=\d+ bad=0\r?$", re.M)
_TROUBLE = re.compile(
    r"^.*(?:bad=0*[1-9]|found|failed|panic|Oops|BUG|nothing left).*$", re.M)


class Guest:
    """One guest; `pod` is where it runs now."""

    def __init__(self, name, files, memory=128, dirty="8,0", disk_mib=0):
        self.name = name
        self.pod = None
        self.disk_mib = disk_mib
        self._pods = []
        self._moves = 0
        self._console = f"/var/log/{name}.console"
        self._xml = _XML.format(
            name=name, uuid=uuid.uuid4(), memory=memory, files=files,
            cmdline=guest_kernel.arguments(ADDRESS, dirty),
            console=self._console, mac=MAC, bytes=(memory << 20) + _EXTRA,
            disk=_DISK.format(path=DISK) if disk_mib else "")

    def start(self, pod):
        """Boots the guest and waits until all it does has begun."""
        if self.disk_mib:
            lab_disk.create(pod.outside(DISK), self.disk_mib)
        self.pod = pod
        self._pods = [pod]
        connection = pod.connect()
        try:
            connection.createXML(self._xml)
        finally:
            connection.close()
        self.wait_alive(60)

    def prepare_target(self, pod):
        """What must be in a pod before the guest can come."""
        if self.disk_mib:
            lab_disk.create_empty(pod.outside(DISK), self.disk_mib)

    def moved_to(self, pod):
        self.pod = pod
        self._moves += 1
        if pod not in self._pods:
            self._pods.append(pod)

    def destroy(self):
        """Ends the guest wherever it is."""
        for pod in self._pods:
            with contextlib.suppress(libvirt.libvirtError):
                connection = pod.connect()
                try:
                    connection.lookupByName(self.name).destroy()
                finally:
                    connection.close()

    def state_in(self, pod):
        """(state, reason) of the domain in a pod, None if it is not there."""
        connection = pod.connect()
        try:
            return tuple(connection.lookupByName(self.name).state())
        except libvirt.libvirtError as error:
            if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
                return None
            raise
        finally:
            connection.close()

    def runs_in(self, pod):
        state = self.state_in(pod)
        return state is not None and state[0] == libvirt.VIR_DOMAIN_RUNNING

    @contextlib.contextmanager
    def paused(self):
        connection = self.pod.connect()
        domain = connection.lookupByName(self.name)
        domain.suspend()
        try:
            yield
        finally:
            domain.resume()
            connection.close()

    def console(self, pod):
        try:
            with open(pod.outside(self._console), encoding="utf-8",
                      errors="replace") as file:
                text = file.read()
        except FileNotFoundError:
            return ""
        # The last line may still be in the making, or cut by a migration.
        return text[:text.rfind("\n") + 1]

    def _last(self, pattern, pod):
        """The last number of that kind on the console in a pod, or 0."""
        found = pattern.findall(self.console(pod))
        return int(found[-1]) if found else 0

    def counter(self):
        return self._last(_NUMBER, self.pod)

    def wait_alive(self, timeout=30):
        """Until the guest has counted on, and has checked all its memory (and
        written to its disk) after this call began."""
        marks = [_NUMBER, _MEMCHECK] + [_DISKCHECK] * bool(self.disk_mib)
        before = {pattern: max(self._last(pattern, pod) for pod in self._pods)
                  for pattern in marks}

        def wait_beyond(pattern, number):
            def beyond():
                last = self._last(pattern, self.pod)
                return last if last > number else None

            return wait_until(beyond, timeout, f"{self.name} in "
                              f"{self.pod.name} to pass {number} in "
                              f"'{pattern.pattern}'")

        for pattern in marks:
            first = wait_beyond(pattern, before[pattern])
            # A pass that ends now may have begun before the call did.
            wait_beyond(pattern, first + 1)

    def check(self):
        """Asserts that the guest lives and nothing ever happened to it."""
        self.wait_alive()
        self.judge()

    def judge(self):
        """Asserts that the consoles tell of one guest, unharmed."""
        boots = set()
        numbers = []
        for pod in self._pods:
            text = self.console(pod)
            trouble = _TROUBLE.search(text)
            assert not trouble, \
                f"{self.name} in {pod.name} says: {trouble.group()}"
            lines = _COUNTER.findall(text)
            boots |= {boot for boot, _ in lines}
            part = [int(number) for _, number in lines]
            assert part == sorted(part), \
                f"{self.name}: the counter went back in {pod.name}"
            numbers += part
        assert len(boots) == 1, f"{self.name} has booted {len(boots)} times"
        assert len(numbers) == len(set(numbers)), \
            f"{self.name} has counted the same number twice"
        # A line that a migration cuts in two is in neither part.
        missing = max(numbers) - len(numbers)
        assert missing <= self._moves, \
            f"{self.name}: {missing} lines lost in {self._moves} migrations"

    def check_disk(self, source):
        """Compares the disk left in `source` with that of the guest now."""
        with self.paused():
            return lab_disk.compare(source.outside(DISK),
                                    self.pod.outside(DISK))

    def consoles(self):
        return [pod.outside(self._console) for pod in self._pods
                if os.path.exists(pod.outside(self._console))]
