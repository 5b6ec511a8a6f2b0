# SPDX-License-Identifier: Apache-2.0
"""Machines run by ferry-launcher, in pods of two nodes.

The lab of lab.py, with a ferry-launcher as the first process of each pod
instead of a libvirtd. A launcher has one machine and ends with it, so a node
gets a new pod for each migration that comes to it.
"""

import contextlib
import os
import shutil
import subprocess
import uuid

import guest_kernel
import rpc
from gates import Gate
from lab import BUILD, CACHE, LOG_LINES, REPOSITORY, Lab
from lab_guest import ADDRESS, MAC, Guest
from lab_pod import HERE, Pod
from lab_space import wait_until

LAUNCHER = os.path.join(BUILD, "src", "launcher", "ferry-launcher")
NAMESPACE = "default"
PATIENCE = 120  # seconds

_PASSWD = """root:x:0:0:root:/root:/bin/sh
libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin
nobody:x:65534:65534::/:/usr/sbin/nologin
"""
_GROUP = "root:x:0:\nlibvirt-qemu:x:64055:\nkvm:x:64056:\nnogroup:x:65534:\n"


def make_vmi(name, memory="128Mi", dirty="8,0", disks=(), volumes=(),
             interface=True, **spec):
    """A machine that boots the test guest."""
    devices = {"disks": list(disks), "autoattachGraphicsDevice": False,
               "autoattachMemBalloon": False}
    if interface:
        devices["interfaces"] = [{"name": "default", "model": "virtio",
                                  "masquerade": {}, "macAddress": MAC}]
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": NAMESPACE,
                     "uid": str(uuid.uuid4())},
        "spec": {
            "domain": {
                "cpu": {"model": "qemu64"},
                "memory": {"guest": memory},
                "firmware": {
                    "uuid": str(uuid.uuid4()),
                    "kernelBoot": {
                        "kernelArgs": guest_kernel.arguments(ADDRESS, dirty),
                        "container": {"image": "guest",
                                      "kernelPath": "/vmlinuz",
                                      "initrdPath": "/initrd"}}},
                "devices": devices},
            "volumes": list(volumes), **spec}}


class LauncherPod(Pod):
    """A pod for one machine."""

    def __init__(self, space, network, name, host, vmi):
        super().__init__(space, network, name, CACHE)
        self.vmi = vmi
        self._host = host
        self._client = None

    @property
    def uid(self):
        return self.vmi["metadata"]["uid"]

    @property
    def socket(self):
        return self.outside("/run/kubevirt/sockets/launcher-sock")

    @property
    def socket_dir(self):
        return self.outside("/run/kubevirt/migrationproxy")

    def start(self, *options):
        """What a kubelet makes for it, then the launcher."""
        for path in ("/run/lock", "/run/libvirt", "/run/kubevirt/sockets",
                     "/run/kubevirt/container-disks",
                     "/run/kubevirt-private/vmi-disks",
                     "/run/kubevirt-ephemeral-disks", "/etc/libvirt",
                     "/var/lib/libvirt", "/var/cache/libvirt",
                     "/var/log/libvirt", "/var/tmp"):
            os.makedirs(self.outside(path), exist_ok=True)
        with open(self.outside("/etc/passwd"), "w", encoding="ascii") as file:
            file.write(_PASSWD)
        with open(self.outside("/etc/group"), "w", encoding="ascii") as file:
            file.write(_GROUP)
        os.symlink("/run", self.outside("/var/run"))
        shutil.copytree(self._host, self.outside("/var/lib/ferry/host"))
        self.add_image("kernel-boot-volume", guest_files())
        self.process = self._space.spawn(
            self.name,
            ["unshare", "--mount", "--propagation", "private", "--pid",
             "--fork", "--kill-child=KILL", "--mount-proc",
             os.path.join(HERE, "lab_pod.sh"), self.directory,
             LAUNCHER, "--name", self.vmi["metadata"]["name"],
             "--namespace", NAMESPACE, "--uid", self.uid,
             "--kubevirt-share-dir", "/var/run/kubevirt",
             "--ephemeral-disk-dir", "/var/run/kubevirt-ephemeral-disks",
             "--container-disk-dir", "/var/run/kubevirt/container-disks",
             "--grace-period-seconds", "5", "--allow-emulation",
             "--log-level", "debug", *options],
            self.network,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                 "LANG": "C.UTF-8", "POD_NAME": self.name})

    def add_image(self, volume, directory):
        """Files of an image, where the launcher finds them."""
        shutil.copytree(directory, self.outside(
            f"/run/kubevirt/container-disks/{volume}"))

    def wait_ready(self, timeout=PATIENCE):
        def answers():
            assert self.process.running(), \
                f"{self.name} ended: {self.process.output()}"
            return os.path.exists(self.socket)

        wait_until(answers, timeout, f"the socket of {self.name}")

    @property
    def client(self):
        if self._client is None:
            self._client = rpc.Client(self.socket, timeout=PATIENCE)
            self._client.call("versions", {
                "protocolMin": 1, "protocolMax": 1, "program": "tests",
                "version": "0"})
        return self._client

    def listen(self):
        """A connection that hears of each change, the last one too."""
        client = rpc.Client(self.socket, timeout=PATIENCE, notify=True)
        client.call("versions", {
            "protocolMin": 1, "protocolMax": 1, "program": "tests",
            "version": "0"})
        return client

    def call(self, method, **params):
        return self.client.call(method, params)

    def status(self):
        return self.call("status")

    def domain(self):
        return self.status()["domain"]

    def migration(self):
        return self.status().get("migration")

    def wait_domain(self, state, timeout=PATIENCE):
        return wait_until(
            lambda: self.domain() if self.domain()["state"] == state else None,
            timeout, f"the machine in {self.name} to be {state}")

    def sync(self):
        return self.call("sync", vmi=self.vmi, interfaces=self.interfaces())

    def interfaces(self):
        wanted = self.vmi["spec"]["domain"]["devices"].get("interfaces", [])
        return [{"name": entry["name"], "tap": "tap0", "mac": MAC}
                for entry in wanted]

    def processes(self, name):
        """Process numbers of the pod's programs of a name."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                    if not file.read().strip().startswith(name):
                        continue
                if os.stat(f"/proc/{pid}/ns/pid").st_ino == self._pid_space():
                    found.append(int(pid))
        return found

    def _pid_space(self):
        return os.stat(
            f"/proc/{self.process.pid}/ns/pid_for_children").st_ino

    def wait_end(self, timeout=PATIENCE):
        """Until the launcher has ended by itself; its exit status."""
        return self.process.wait(timeout)

    def logs(self):
        # The launcher's own, which has the console, is its process's.
        return super().logs()[1:]


def console_of(uid):
    return f"/run/kubevirt-private/{uid}/console.log"


def guest_files():
    return subprocess.run([os.path.join(REPOSITORY, "tests/guest/build"),
                           CACHE], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


class Machine(Guest):
    """A machine by its VMI; its console is judged as any guest's."""

    def __init__(self, pod, has_disk=False):
        name = f"{NAMESPACE}_{pod.vmi['metadata']['name']}"
        super().__init__(name, "")
        self._console = console_of(pod.uid)
        self.disk_mib = int(has_disk)
        self.pod = pod
        self._pods = [pod]

    def boot(self):
        self.pod.sync()
        self.wait_alive(PATIENCE)


class LauncherLab(Lab):
    """Two nodes with proxies, and pods as they are needed."""

    def _build(self):
        self._pods = []
        self.host = os.path.join(self.directory, "host")
        self._probe()
        super()._build()

    def _probe(self):
        done = subprocess.run([LAUNCHER, "probe", "--output", self.host],
                              capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        assert done.returncode == 0, f"ferry-launcher probe: {done.stderr}"

    def _start_pods(self):
        """None before there is a machine."""

    def new_pod(self, node, vmi, *options):
        """A pod on a node; the one before it there must have ended."""
        pod = LauncherPod(self.space, node.pod.network,
                          f"{node.name}-launcher-{len(self._pods)}",
                          self.host, vmi)
        self._pods.append(pod)
        node.pod = pod
        pod.start(*options)
        pod.wait_ready()
        return pod

    def move(self, machine, **options):
        """Begins to migrate a machine to the other node."""
        source = self.node_of(machine.pod)
        return Move(self, machine, source, self.other(source), **options)

    def logs(self):
        text = [super().logs()]
        for path in dict.fromkeys(path for pod in self._pods
                                  for path in pod.logs()):
            with open(path, encoding="utf-8", errors="replace") as file:
                text += [f"--- {os.path.relpath(path, self.directory)}\n",
                         *file.readlines()[-LOG_LINES:]]
        return "".join(text)


class Shared:
    """A lab, and perhaps a machine, that tests hand on to each other; after a
    failure both are made anew. conftest.py knows it by the name shared_lab."""

    def __init__(self):
        self.lab = None
        self.machine = None

    def close(self):
        lab, self.lab, self.machine = self.lab, None, None
        if lab:
            lab.close()


class Move:
    """One migration, with what a handler does on both nodes; gated, with a
    gate before the libvirtd of the target."""

    def __init__(self, lab, machine, source, target, configuration=None,
                 block=True, parallel=0, gated=False, bandwidth=0):
        self.lab = lab
        self.machine = machine
        self.uid = str(uuid.uuid4())
        self.source_node, self.target_node = source, target
        self.source = machine.pod
        self.target = lab.new_pod(target, self.source.vmi)
        self.target.call("prepare", vmi=self.target.vmi,
                         migrationUid=self.uid,
                         interfaces=self.target.interfaces())
        self.gate = self._make_gate() if gated else None
        self._block = block
        self.connect(bandwidth)
        self.source.call("migrate", vmi=self.source.vmi,
                         migrationUid=self.uid, block=block,
                         parallel=parallel,
                         configuration=configuration or {})

    def _make_gate(self):
        os.mkdir(self.target.outside("/run/gate"))
        return Gate(self.target.outside("/run/gate/libvirt-sock"),
                    self.target.libvirt_socket)

    def connect(self, bandwidth=0):
        """A way between the pods, limited in bytes per second for post-copy
        too; again after disconnect()."""
        limit = {"bandwidth": bandwidth} if bandwidth else {}
        key = self.source.uid
        with contextlib.ExitStack() as stack:
            def directory(path):
                fd = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                stack.callback(os.close, fd)
                return fd

            listening = self.target_node.call("target.start", {
                "key": key, "peer": self.source_node.name, "dirFd": 0,
                "controlDirFd": 1, "controlSocket": "libvirt-sock",
                "block": self._block},
                [directory(self.target.socket_dir),
                 directory(self.target.outside(
                     "/run/gate" if self.gate else "/run/libvirt"))])
            self.source_node.call("source.start", {
                "key": key, "peer": self.target_node.name, "dirFd": 0,
                "address": listening["address"], "ports": listening["ports"],
                "owner": {"uid": 0, "gid": 0}, **limit},
                [directory(self.source.socket_dir)])

    def cut(self):
        """The streams end, as when a handler is asked to cut them."""
        self.source_node.stop_listener("source", self.source.uid)

    def disconnect(self):
        self.source_node.stop_listener("source", self.source.uid)
        self.target_node.stop_listener("target", self.source.uid)

    def cancel(self):
        return self.source.call("cancel", migrationUid=self.uid)

    def progress(self):
        return self.source.migration()["progress"]

    def wait_copying(self, sent=1 << 20):
        def sends():
            record = self.source.migration()
            assert not record["completed"], f"it is over: {record}"
            return record["progress"]["bytesProcessed"] >= sent

        wait_until(sends, PATIENCE, "bytes to be sent")

    def wait_source(self):
        """The source's record once nothing more comes. A source that handed
        over may be gone before anybody asks."""
        def over():
            record = self.source.migration()
            return record if record["completed"] else None

        return wait_until(over, PATIENCE, "the source to be done")

    def succeed(self):
        """The machine runs on the target, and the source has ended well."""
        def arrived():
            record = self.target.migration()
            assert not record["failed"], f"it failed: {record}"
            return record if record["completed"] else None

        record = wait_until(arrived, PATIENCE, "the machine to arrive")
        assert record["domainReadyTimeUs"] >= record["startTimeUs"]
        assert self.source.wait_end() == 0, self.source.process.output()
        self.target.call("finalize", migrationUid=self.uid)
        self.disconnect()
        self.machine.moved_to(self.target)
        return record

    def fail(self):
        """The machine runs on where it was; the target is cleaned up."""
        record = self.wait_source()
        assert record["failed"], f"it succeeded: {record}"
        self.disconnect()
        wait_until(lambda: self.target.domain()["state"] == "NoDomain",
                   PATIENCE, "the target to be empty")
        self.target.call("cleanup")
        assert self.target.wait_end() == 0
        self.source_node.pod = self.source
        return record
