# SPDX-License-Identifier: Apache-2.0
"""A whole cluster with real machines, of a test's own.

    with Embedded() as cluster:
        vm = cluster.start_machine("vm1")
        vm.migrate()
        vm.check()

`ferryctl cluster up` makes it: nodes are namespaces, machines are QEMU under
emulation. The guest (tests/guest) counts, checks its memory and answers pings
on the machines' network; what it writes to its console is in the log of the
pod it is in. When the block ends nothing is left: that is checked.
"""

import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import uuid

from clusters import Cluster
from kubeapi import wait_for
from lab_ping import Pinger
from lab_space import Network, Space
from proxies import BUILD, REPOSITORY

FERRYCTL = os.path.join(BUILD, "src", "ctl", "ferryctl")
GUEST_IMAGE = "ferry/guest:demo"
PATIENCE = 180  # seconds for anything that takes a guest
UP_DEADLINE = 300
ARGUMENTS = ("console=ttyS0 quiet panic=-1 nokaslr mitigations=off "
             "tsc=reliable no_timer_check gip={address}/24 gdirty={dirty} "
             "gdisk=20")
VMIM = "virtualmachineinstancemigrations"

_NUMBER = re.compile(r"^counter boot=(\w+) n=(\d+)\r?$", re.M)
_TROUBLE = re.compile(
    r"^.*(?:bad=0*[1-9]|panic|Oops|BUG|nothing left).*$", re.M)


def guest_files():
    """Where tests/guest/build has put the kernel and the initramfs."""
    done = subprocess.run(
        [os.path.join(REPOSITORY, "tests", "guest", "build"),
         os.path.join(BUILD, "guest")], check=True, stdout=subprocess.PIPE,
        text=True)
    return done.stdout.strip()


def manifest(name, address, **more):
    """A VirtualMachine that boots the test guest on the machines' network.

    more: memory, dirty, disks, volumes, labels, spec (members of the
    instance's spec), interfaces, networks.
    """
    interfaces = more.get("interfaces", [{"name": "lan", "bridge": {}}])
    networks = more.get("networks", [
        {"name": "lan", "multus": {"networkName": "lan"}}])
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"runStrategy": "Always", "template": {
            "metadata": {"labels": {"app": name, **more.get("labels", {})}},
            "spec": {
                "evictionStrategy": "LiveMigrate",
                "terminationGracePeriodSeconds": 1,
                "networks": networks, "volumes": more.get("volumes", []),
                "domain": {
                    "cpu": {"model": "qemu64"},
                    "memory": {"guest": more.get("memory", "128Mi")},
                    "firmware": {"kernelBoot": {
                        "kernelArgs": ARGUMENTS.format(
                            address=address, dirty=more.get("dirty", "8,0")),
                        "container": {"image": GUEST_IMAGE,
                                      "kernelPath": "/boot/vmlinuz",
                                      "initrdPath": "/boot/initrd"}}},
                    "devices": {"autoattachGraphicsDevice": False,
                                "autoattachMemBalloon": False,
                                "interfaces": interfaces,
                                "disks": more.get("disks", [])}},
                **more.get("spec", {})}}}}


class Machine:
    """A VM of the cluster that runs the test guest."""

    def __init__(self, cluster, name, address):
        self.cluster = cluster
        self.name = name
        self.address = address

    @property
    def vmi(self):
        return self.cluster.get("virtualmachineinstances.kubevirt.io",
                                self.name)

    @property
    def node(self):
        return self.vmi["status"].get("nodeName")

    def wait_running(self, patience=PATIENCE):
        """Until it runs and its guest answers."""
        wait_for(f"{self.name} to run", lambda: (self.cluster.find(
            "virtualmachineinstances.kubevirt.io", self.name) or {}).get(
                "status", {}).get("phase") == "Running", patience)
        wait_for(f"the guest of {self.name}", self.count, patience)

    def pods(self):
        """Its launchers' pods, oldest first."""
        pods = self.cluster.list(
            "pods", f"kubevirt.io/created-by={self.vmi['metadata']['uid']}")
        return sorted(pods, key=lambda p: p["metadata"]["creationTimestamp"])

    def log(self):
        """What the pod it is in now has written."""
        for pod in reversed(self.pods()):
            if pod["spec"].get("nodeName") == self.node:
                done = self.cluster.kubectl_raw(
                    "logs", pod["metadata"]["name"])
                return done.stdout
        return ""

    def count(self):
        """The last number that the guest has counted to; 0 for none yet."""
        numbers = _NUMBER.findall(self.log())
        return int(numbers[-1][1]) if numbers else 0

    def check(self):
        """The guest goes on, and its memory is as it should be."""
        before = self.count()
        wait_for(f"the guest of {self.name} to count on",
                 lambda: self.count() > before, PATIENCE)
        trouble = _TROUBLE.search(self.log())
        assert trouble is None, trouble.group(0)

    def begin_migration(self, **spec):
        """A new migration of it; its name."""
        name = f"{self.name}-{uuid.uuid4().hex[:6]}"
        self.cluster.create({
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"name": name},
            "spec": {"vmiName": self.name, **spec}})
        return name

    def wait_migration(self, name, phase="Succeeded", patience=PATIENCE):
        """The migration, once it has ended, which must be in this phase."""
        def ended():
            vmim = self.cluster.get(VMIM, name)
            now = vmim.get("status", {}).get("phase")
            return vmim if now in ("Succeeded", "Failed") else None

        vmim = wait_for(f"the end of migration {name}", ended, patience)
        assert vmim["status"]["phase"] == phase, \
            json.dumps(vmim["status"], indent=1)
        return vmim

    def migrate(self, **spec):
        """Moves it; the migration as it ended."""
        before = self.node
        vmim = self.wait_migration(self.begin_migration(**spec))
        assert self.node != before
        return vmim

    @contextlib.contextmanager
    def pinging(self, interval_ms=10):
        """Pings the guest meanwhile; gap_ms is there afterwards."""
        pinger = Pinger(self.cluster.space, self.cluster.fabric, self.address,
                        interval_ms)
        try:
            yield pinger
        finally:
            pinger.stop()


class Fabric(Network):
    """The namespace that holds a cluster's networks."""

    # pylint: disable=super-init-not-called
    def __init__(self, name):
        self.name = f"ferry-{name}-fabric"
        self.fd = os.open(f"/run/netns/{self.name}",
                          os.O_RDONLY | os.O_CLOEXEC)


class Embedded(Cluster):
    """A cluster as `ferryctl cluster up` makes it."""

    # pylint: disable=super-init-not-called
    def __init__(self, nodes=2, guest=True):
        self.scratch = tempfile.mkdtemp(prefix="ferry-vm-")
        self.dir = os.path.join(self.scratch, "c")
        self.name = "t" + uuid.uuid4().hex[:8]
        self.nodes = nodes
        self.kubeconfig = os.path.join(self.dir, "cluster",
                                       "admin.kubeconfig")
        self.apis = []
        self.popen = None
        self.space = Space(self.scratch)
        self.fabric = None
        self._addresses = 10
        try:
            self.ferryctl("cluster", "up", "--nodes", str(nodes), "--name",
                          self.name, timeout=UP_DEADLINE)
            self.fabric = Fabric(self.name)
            if guest:
                self.import_guest()
        except BaseException:
            self.close()
            raise

    def ferryctl_raw(self, *arguments, timeout=120, **more):
        """Runs ferryctl for this cluster; the CompletedProcess."""
        return subprocess.run(
            [FERRYCTL, *arguments, "--dir", self.dir], text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, timeout=timeout, **more)

    def ferryctl(self, *arguments, **more):
        """The same, which must succeed; what it printed."""
        done = self.ferryctl_raw(*arguments, **more)
        assert done.returncode == 0, \
            f"ferryctl {' '.join(arguments)}: {done.returncode}\n" \
            f"{done.stdout}{done.stderr}\n{self.log()}"
        return done.stdout

    def import_guest(self):
        files = guest_files()
        self.ferryctl("image", "import", GUEST_IMAGE,
                      "--file", f"/boot/vmlinuz={files}/vmlinuz",
                      "--file", f"/boot/initrd={files}/initrd")

    def lan(self, host):
        """An address on the machines' network, as a text."""
        with open(os.path.join(self.dir, "cluster", "cluster.json"),
                  encoding="utf-8") as file:
            block = json.load(file)["address"].split(".")[1]
        return f"10.{block}.2.{host}"

    def start_machine(self, name, wait=True, **more):
        """A machine that runs; see manifest()."""
        self._addresses += 1
        machine = Machine(self, name, self.lan(self._addresses))
        self.create(manifest(name, machine.address, **more))
        if wait:
            machine.wait_running()
        return machine

    def create(self, *objects):
        self.kubectl("create", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def get(self, kind, name):
        return json.loads(self.kubectl("get", kind, name, "-o", "json"))

    def find(self, kind, name):
        """The same; None when there is none."""
        done = self.kubectl_raw("get", kind, name, "-o", "json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def list(self, kind, selector=None):
        more = ["-l", selector] if selector else []
        return json.loads(self.kubectl("get", kind, "-o", "json", *more))[
            "items"]

    def programs(self):
        """{(name, node): pid} of what `cluster up` has started."""
        with open(os.path.join(self.dir, "state.json"),
                  encoding="utf-8") as file:
            return {(p["name"], p["node"]): p["pid"]
                    for p in json.load(file)["programs"]}

    def log(self):
        """The logs of all programs, for when a test fails."""
        texts = []
        for path in sorted(glob.glob(os.path.join(self.dir, "log", "*"))):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(f"--- {os.path.basename(path)}\n"
                             + file.read()[-20000:])
        return "\n".join(texts)

    def close(self):
        for client in self.apis:
            client.close()
        self.space.close()
        if self.fabric:
            self.fabric.close()
        done = self.ferryctl_raw("cluster", "down")
        assert done.returncode == 0 or "no cluster" in done.stderr, done.stderr
        left = self.leftovers()
        shutil.rmtree(self.scratch, ignore_errors=True)
        assert not left, f"left behind: {left}"

    def leftovers(self):
        """What a cluster leaves behind and should not."""
        left = []
        for root, names in (("/run/netns", f"ferry-{self.name}-"),
                            ("/sys/fs/cgroup", f"ferry-{self.name}-")):
            for path in glob.glob(f"{root}/**/{names}*", recursive=True):
                left.append(path)
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            left += [line for line in mounts if self.scratch in line]
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                with open(path, "rb") as file:
                    if self.scratch.encode() in file.read():
                        left.append(path)
        return left

