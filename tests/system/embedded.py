# SPDX-License-Identifier: Apache-2.0
"""A whole cluster with real machines, of a test's own.

    with Embedded() as cluster:
        vm = cluster.start_machine("vm1")
        vm.migrate()
        vm.check()

`ferryctl cluster up` makes it: nodes are namespaces, machines are QEMU under
emulation. The guest (tests/guest) counts, checks its memory and answers pings
on the machines' network; what it writes to its console is in the log of the
pod it is in. When the block ends nothing is left: that is checked. FERRY_LOGS
names a directory that the logs of every cluster are kept in.
"""

import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import uuid

import guest_kernel
from clusters import Cluster
from kubeapi import path_of, wait_for
from lab_ping import Pinger
from lab_space import Network, Space
from lab_talk import Talker
from proxies import BUILD, REPOSITORY

FERRYCTL = os.path.join(BUILD, "src", "ctl", "ferryctl")
GUEST_IMAGE = "ferry/guest:demo"
PATIENCE = 180  # seconds for anything that takes a guest
UP_DEADLINE = 300
LOG_SHOWN = 2000  # characters of each program's
VM = "virtualmachines"
VMI = "virtualmachineinstances"
VMIM = "virtualmachineinstancemigrations"
NAMESPACE = "default"
# Found without kubectl, which takes a second of both cores.
PATHS = {
    VM: ("kubevirt.io/v1", VM),
    "vm": ("kubevirt.io/v1", VM),
    VMI: ("kubevirt.io/v1", VMI),
    "vmi": ("kubevirt.io/v1", VMI),
    VMIM: ("kubevirt.io/v1", VMIM),
    "vmim": ("kubevirt.io/v1", VMIM),
    "pods": ("v1", "pods"),
    "events": ("v1", "events"),
    "nodes": ("v1", "nodes"),
    "migrationpolicies": ("migrations.kubevirt.io/v1alpha1",
                          "migrationpolicies"),
}
CLUSTER_WIDE = ("nodes", "migrationpolicies")

_NUMBER = re.compile(r"^counter boot=(\w+) n=(\d+)\r?$", re.M)
_MEMCHECK = re.compile(r"^memcheck pass=(\d+) rewritten=\d+ bad=0\r?$", re.M)
_DISKCHECK = re.compile(r"^diskcheck written=(\d+) read=\d+ bad=0\r?$", re.M)
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TROUBLE = re.compile(
    r"^.*(?:bad=0*[1-9]|panic|Oops|BUG|nothing left).*$", re.M)
_BEFORE, _BEHIND = 400, 8000  # characters of a console told of trouble


def _story(console, trouble):
    """What a console says of trouble: some lines before it and what follows,
    which may be a kernel's account of itself."""
    start = console.rfind("\n", 0, max(trouble.start() - _BEFORE, 0)) + 1
    return console[start:trouble.end() + _BEHIND]


def guest_files():
    """Where tests/guest/build has put the kernel and the initramfs."""
    done = subprocess.run(
        [os.path.join(REPOSITORY, "tests", "guest", "build"),
         os.path.join(BUILD, "guest")], check=True, stdout=subprocess.PIPE,
        text=True)
    return done.stdout.strip()


def manifest(name, address, **more):
    """A VirtualMachine that boots the test guest on the machines' network.

    more: memory, dirty, disks, volumes, labels, annotations, spec (members of
    the instance's spec), interfaces, networks. Without an address the guest
    asks for one by DHCP.
    """
    interfaces = more.get("interfaces", [{"name": "lan", "bridge": {}}])
    networks = more.get("networks", [
        {"name": "lan", "multus": {"networkName": "lan"}}])
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"runStrategy": "Always", "template": {
            "metadata": {"labels": {"app": name, **more.get("labels", {})},
                         "annotations": more.get("annotations", {})},
            "spec": {
                "evictionStrategy": "LiveMigrate",
                "terminationGracePeriodSeconds": 1,
                "networks": networks, "volumes": more.get("volumes", []),
                "domain": {
                    "cpu": {"model": "qemu64"},
                    "memory": {"guest": more.get("memory", "128Mi")},
                    "firmware": {"kernelBoot": {
                        "kernelArgs": guest_kernel.arguments(
                            address, more.get("dirty", "8,0")),
                        "container": {"image": GUEST_IMAGE,
                                      "kernelPath": "/boot/vmlinuz",
                                      "initrdPath": "/boot/initrd"}}},
                    "devices": {"autoattachGraphicsDevice": False,
                                "autoattachMemBalloon": False,
                                "autoattachPodInterface": bool(interfaces),
                                "interfaces": interfaces,
                                "disks": more.get("disks", [])}},
                **more.get("spec", {})}}}}


class Machine:
    """A VM of the cluster that runs the test guest."""

    def __init__(self, cluster, name, address):
        self.cluster = cluster
        self.name = name
        self.address = address
        self._consoles = {}  # pod's uid -> what was seen of it, also later

    @property
    def vmi(self):
        return self.cluster.get(VMI, self.name)

    @property
    def node(self):
        return self.vmi["status"].get("nodeName")

    @property
    def labels(self):
        """By which policies find it."""
        return {"app": self.name}

    def wait_running(self, patience=PATIENCE):
        """Until it runs and its guest answers."""
        wait_for(f"{self.name} to run", lambda: (
            self.cluster.find(VMI, self.name) or {}).get(
                "status", {}).get("phase") == "Running", patience)
        wait_for(f"the guest of {self.name}", self.count, patience)

    def pods(self):
        """Its launchers' pods, oldest first."""
        vmi = self.cluster.find(VMI, self.name)
        if vmi is None:
            return []
        pods = self.cluster.list(
            "pods", f"kubevirt.io/created-by={vmi['metadata']['uid']}")
        return sorted(pods, key=lambda p: p["metadata"]["creationTimestamp"])

    def pod_on(self, node):
        """Its pod on a node; None. One that is being deleted is none."""
        for pod in self.pods():
            if pod["spec"].get("nodeName") == node and \
                    "deletionTimestamp" not in pod["metadata"]:
                return pod
        return None

    def wait_alone(self):
        """Until only the pod that it is in is left; that pod."""
        def alone():
            pods = self.pods()
            return pods[0] if len(pods) == 1 else None

        pod = wait_for(f"the other pods of {self.name} to go", alone, PATIENCE)
        assert pod["spec"]["nodeName"] == self.node
        return pod

    def directory(self, pod, volume):
        """An emptyDir of one of its pods, from outside."""
        return os.path.join(
            self.cluster.dir, pod["spec"]["nodeName"], "kubelet", "pods",
            pod["metadata"]["uid"], "volumes", "kubernetes.io~empty-dir",
            volume)

    def processes(self, node, name):
        """Pids on a node of the machine's processes of that name."""
        return [pid for pid in self.cluster.pod_processes(node)
                if _comm(pid) == name and self._is_mine(pid)]

    def _is_mine(self, pid):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
                text = file.read()
            return any(pod["metadata"]["uid"] in text for pod in self.pods())
        return False

    def process(self, node, name):
        """The pid of the one process of that name."""
        found = self.processes(node, name)
        assert len(found) == 1, f"{name} on {node}: {found}"
        return found[0]

    def guests(self):
        """(node, pid) of each QEMU that there is of it."""
        return [(node, pid) for node in self.cluster.node_names()
                for pid in self.processes(node, "qemu-system-x86")]

    def observe(self):
        """Reads the consoles of all its pods; {pod's uid: text}."""
        vmi = self.cluster.find(VMI, self.name)
        if vmi is None:
            return self._consoles
        uid = vmi["metadata"]["uid"]
        for pod in self.pods():
            if not pod["spec"].get("nodeName"):
                continue
            path = os.path.join(self.directory(pod, "private"), uid,
                                "console.log")
            with contextlib.suppress(OSError):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read()
                # The last line may still be in the making.
                self._consoles[pod["metadata"]["uid"]] = \
                    text[:text.rfind("\n") + 1]
        return self._consoles

    def log(self, node=None):
        """The guest's console in the pod it is in now, or on a node."""
        consoles = self.observe()
        node = node or (self.cluster.find(VMI, self.name) or {}).get(
            "status", {}).get("nodeName")
        for pod in reversed(self.pods()):
            if pod["spec"].get("nodeName") == node:
                return consoles.get(pod["metadata"]["uid"], "")
        return ""

    def _last(self, pattern):
        found = pattern.findall(self.log())
        return int(found[-1]) if found else 0

    def count(self, node=None):
        """The last number that the guest has counted to; 0 for none yet."""
        numbers = _NUMBER.findall(self.log(node))
        return int(numbers[-1][1]) if numbers else 0

    def check(self, disk=False):
        """The guest goes on, and its memory is as it should be."""
        before = self.count()
        wait_for(f"the guest of {self.name} to count on",
                 lambda: self.count() > before, PATIENCE)
        for pattern in [_MEMCHECK] + [_DISKCHECK] * disk:
            # A pass that ends now may have begun before.
            mark = self._last(pattern)
            wait_for(f"{self.name} to pass {mark} in '{pattern.pattern}'",
                     lambda p=pattern, m=mark: self._last(p) > m + 1, PATIENCE)
        self.judge()

    def judge(self):
        """All consoles seen tell of one guest, unharmed, never in two places
        at once."""
        boots = set()
        numbers = []
        for text in self.observe().values():
            trouble = _TROUBLE.search(text)
            assert trouble is None, _story(text, trouble)
            lines = _NUMBER.findall(text)
            boots |= {boot for boot, _ in lines}
            part = [int(number) for _, number in lines]
            assert part == sorted(part), f"{self.name} counted backwards"
            numbers += part
        assert len(boots) == 1, f"{self.name} has booted {len(boots)} times"
        twice = sorted(n for n in set(numbers) if numbers.count(n) > 1)
        assert not twice, f"{self.name} has counted twice: {twice}"

    def check_alone(self):
        """It runs once, in one pod, unharmed; nothing of it is elsewhere."""
        self.wait_alone()
        self.check()
        node = self.node
        wait_for(f"one QEMU of {self.name}",
                 lambda: [n for n, _ in self.guests()] == [node], PATIENCE)

    def begin_migration(self, **spec):
        """A new migration of it; its name."""
        name = f"{self.name}-{uuid.uuid4().hex[:6]}"
        self.cluster.create({
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"name": name},
            "spec": {"vmiName": self.name, **spec}})
        return name

    def wait_phase(self, name, phase, patience=PATIENCE):
        """Until the migration is in that phase; the VMIM. Phases that nothing
        keeps are not seen: see phases.py."""
        def reached():
            vmim = self.cluster.get(VMIM, name)
            status = vmim.get("status", {})
            if status.get("phase") == phase:
                return vmim
            assert status.get("phase") not in ("Succeeded", "Failed"), \
                json.dumps(status, indent=1)
            return None

        return wait_for(f"{name} to be in {phase}", reached, patience)

    def wait_copying(self, name, percent=1, patience=PATIENCE):
        """Until so much of it has been copied; the migration goes on."""
        self.wait_phase(name, "Running", patience=patience)

        def far():
            state = self.vmi["status"]["migrationState"]
            assert not state.get("completed"), json.dumps(state, indent=1)
            return state.get("progress", {}).get("percent", 0) >= percent

        wait_for(f"{percent} % of {name}", far, patience)

    def wait_migration(self, name, phase="Succeeded", patience=PATIENCE):
        """The migration, once it has ended, in this phase unless None."""
        def ended():
            self.observe()
            vmim = self.cluster.get(VMIM, name)
            now = vmim.get("status", {}).get("phase")
            return vmim if now in ("Succeeded", "Failed") else None

        vmim = wait_for(f"the end of migration {name}", ended, patience)
        assert phase in (None, vmim["status"]["phase"]), \
            json.dumps(vmim["status"], indent=1)
        return vmim

    def migrate(self, **spec):
        """Moves it; the migration as it ended."""
        before = self.node
        vmim = self.wait_migration(self.begin_migration(**spec))
        assert self.node != before
        return vmim

    @contextlib.contextmanager
    def policy(self, **spec):
        """A MigrationPolicy for this machine alone, meanwhile."""
        name = f"{self.name}-{uuid.uuid4().hex[:6]}"
        self.cluster.create({
            "apiVersion": "migrations.kubevirt.io/v1alpha1",
            "kind": "MigrationPolicy", "metadata": {"name": name},
            "spec": {"selectors": {
                "virtualMachineInstanceSelector": self.labels}, **spec}})
        try:
            yield
        finally:
            self.cluster.delete("migrationpolicies", name)

    def pause(self, paused=True):
        """Pauses it, or lets it go on."""
        self.cluster.client.expect(
            200, "PUT", path_of("subresources.kubevirt.io/v1", VMI, NAMESPACE,
                                self.name, "pause" if paused else "unpause"),
            {})

    def conditions(self):
        """{type: condition} of the instance."""
        return {c["type"]: c for c in self.vmi["status"]["conditions"]}

    def forget(self):
        """It has ended, and another guest is to come: begin anew."""
        self._consoles = {}

    def delete(self):
        """Until nothing is left of it."""
        selector = f"kubevirt.io/created-by={self.vmi['metadata']['uid']}"
        self.cluster.delete(VM, self.name)
        for what, left in (
                ("object", lambda: self.cluster.find(VM, self.name)),
                ("instance", lambda: self.cluster.find(VMI, self.name)),
                ("pods", lambda: self.cluster.list("pods", selector))):
            wait_for(f"the {what} of {self.name} to go",
                     lambda l=left: not l(), PATIENCE)

    @contextlib.contextmanager
    def talking(self, address=None, network=None):
        """Talks to the guest by TCP meanwhile; all of it is answered."""
        talker = Talker(network or self.cluster.fabric,
                        address or self.address)
        try:
            yield talker
        finally:
            talker.stop()

    @contextlib.contextmanager
    def pinging(self, interval_ms=10):
        """Pings the guest meanwhile; gap_ms is there afterwards."""
        pinger = Pinger(self.cluster.space, self.cluster.fabric, self.address,
                        interval_ms)
        try:
            yield pinger
        finally:
            pinger.stop()


def _comm(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    return ""


def has_ended(pid):
    """It does nothing any more, whether somebody has asked how it ended or
    not."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    return True


def random_name():
    """Of a cluster, such as nobody else has."""
    return "t" + uuid.uuid4().hex[:8]


class Named(Network):
    """A namespace of a cluster: of its networks ("fabric"), or of a node."""

    # pylint: disable=super-init-not-called
    def __init__(self, cluster, part):
        self.name = f"ferry-{cluster}-{part}"
        self.fd = os.open(f"/run/netns/{self.name}",
                          os.O_RDONLY | os.O_CLOEXEC)


class Embedded(Cluster):
    """A cluster as `ferryctl cluster up` makes it."""

    # pylint: disable=super-init-not-called
    def __init__(self, nodes=2, guest=True, name=None, up=True):
        """up: it is there when this returns; otherwise after complete()."""
        self.scratch = tempfile.mkdtemp(prefix="ferry-vm-")
        self.dir = os.path.join(self.scratch, "c")
        self.name = name or random_name()
        self.nodes = nodes
        self.kubeconfig = os.path.join(self.dir, "cluster",
                                       "admin.kubeconfig")
        self.apis = []
        self.popen = None
        self.space = Space(self.scratch)
        self._fabric = None
        self._addresses = 10
        self._client = None
        try:
            if up:
                self.complete()
            if up and guest:
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

    @property
    def fabric(self):
        """The namespace of its networks."""
        if self._fabric is None:
            self._fabric = Named(self.name, "fabric")
        return self._fabric

    def import_guest(self):
        files = guest_files()
        self.ferryctl("image", "import", GUEST_IMAGE,
                      "--file", f"/boot/vmlinuz={files}/vmlinuz",
                      "--file", f"/boot/initrd={files}/initrd")

    def state(self):
        """What ferryctl knows of it."""
        with open(os.path.join(self.dir, "state.json"),
                  encoding="utf-8") as file:
            return json.load(file)

    def lan(self, host):
        """An address on the machines' network, as a text."""
        return f"10.{self.state()['block']}.2.{host}"

    def start_machine(self, name, wait=True, **more):
        """A machine that runs; see manifest()."""
        self._addresses += 1
        machine = Machine(self, name, None if more.pop("dhcp", False)
                          else self.lan(self._addresses))
        self.create(manifest(name, machine.address, **more))
        if wait:
            machine.wait_running()
        return machine

    def node_names(self):
        return [f"node{i + 1}" for i in range(self.nodes)]

    @contextlib.contextmanager
    def node_network(self, node):
        """The network namespace of a node."""
        network = Named(self.name, node)
        try:
            yield network
        finally:
            network.close()

    def pod_processes(self, node):
        """Pids of all that runs in pods of a node."""
        found = []
        for path in glob.glob(f"/sys/fs/cgroup/unified/ferry-{self.name}-"
                              f"{node}/**/cgroup.procs", recursive=True):
            with contextlib.suppress(OSError):
                with open(path, encoding="utf-8") as file:
                    found += [int(line) for line in file]
        return found

    @property
    def client(self):
        if self._client is None:
            self._client = self.api()
        return self._client

    def _path(self, kind, name=None, **query):
        version, plural = PATHS[kind]
        return path_of(version, plural,
                       None if plural in CLUSTER_WIDE else NAMESPACE, name,
                       **query)

    def create(self, *objects):
        plurals = {"VirtualMachine": VM, "MigrationPolicy":
                   "migrationpolicies",
                   "VirtualMachineInstanceMigration": VMIM}
        for each in objects:
            if each["kind"] in plurals:
                self.client.create(self._path(plurals[each["kind"]]), each)
            else:
                self.kubectl("create", "-f", "-", stdin=json.dumps(each))

    def delete(self, kind, name):
        self.client.delete(self._path(kind, name))

    def get(self, kind, name):
        found = self.find(kind, name)
        assert found is not None, f"there is no {kind} {name}"
        return found

    def find(self, kind, name):
        """The same; None when there is none."""
        kind = kind.split(".")[0]
        if kind not in PATHS:
            done = self.kubectl_raw("get", kind, name, "-o", "json")
            return json.loads(done.stdout) if done.returncode == 0 else None
        answer = self.client.request("GET", self._path(kind, name))
        if answer.code == 404:
            return None
        assert answer.code == 200, answer
        return answer.json()

    def list(self, kind, selector=None):
        kind = kind.split(".")[0]
        if kind not in PATHS:
            more = ["-l", selector] if selector else []
            return json.loads(self.kubectl("get", kind, "-o", "json", *more))[
                "items"]
        return self.client.get(self._path(kind, labelSelector=selector))[
            "items"]

    def programs(self):
        """{(name, node): pid} of what `cluster up` has started."""
        return {(p["name"], p["node"]): p["pid"]
                for p in self.state()["programs"]}

    def kill(self, name, node=0):
        """Ends a program as a crash would; node is "nodeN", or 0."""
        number = int(node[len("node"):]) if node else 0
        pid = self.programs()[(name, number)]
        os.kill(pid, signal.SIGKILL)
        wait_for(f"process {pid} to end", lambda: has_ended(pid), PATIENCE)

    def signal(self, name, node, number):
        """Sends a signal to a program; node is "nodeN", or 0."""
        node = int(node[len("node"):]) if node else 0
        os.kill(self.programs()[(name, node)], number)

    def complete(self):
        """Starts whatever does not run."""
        self.ferryctl("cluster", "up", "--nodes", str(self.nodes), "--name",
                      self.name, "--kvm", "no", timeout=UP_DEADLINE)

    def kill_node(self, node):
        """All that runs on a node ends at once."""
        number = int(node[len("node"):])
        pids = [pid for (_, of), pid in self.programs().items()
                if of == number]
        for pid in pids + self.pod_processes(node):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_for(f"the processes of {node} to end",
                 lambda: not self.pod_processes(node) and all(
                     has_ended(pid) for pid in pids), PATIENCE)

    def reboot(self, node):
        """The same, and it is started again."""
        self.kill_node(node)
        self.complete()

    @contextlib.contextmanager
    def stopped(self, name, node):
        """A program of a node does nothing meanwhile."""
        self.signal(name, node, signal.SIGSTOP)
        try:
            yield
        finally:
            # It may have been killed meanwhile.
            with contextlib.suppress(ProcessLookupError):
                self.signal(name, node, signal.SIGCONT)

    def untidy(self):
        """What is left on the nodes of pods and migrations that are over."""
        live = {pod["metadata"]["uid"]
                for pod in self.client.get("/api/v1/pods")["items"]}
        left = []
        for node in self.node_names():
            home = os.path.join(self.dir, node)
            left += [path for path in
                     glob.glob(f"{home}/kubelet/pods/*")
                     + glob.glob(f"{home}/run/ns/*")
                     + glob.glob(f"{home}/run/crun/*")
                     + glob.glob(f"/sys/fs/cgroup/*/ferry-{self.name}-{node}/"
                                 "**/", recursive=True)
                     if (found := _UID.search(path))
                     and found.group(0) not in live]
            left += glob.glob(f"{home}/kubelet/pods/*/volumes/"
                              "kubernetes.io~empty-dir/public/"
                              "migrationproxy/*")
            left += self._mounts_left(node, live)
        return left

    def _mounts_left(self, node, live):
        pid = self.programs()[("ferry-kubelet", int(node[len("node"):]))]
        try:
            with open(f"/proc/{pid}/mounts", encoding="utf-8") as mounts:
                return [line for line in mounts
                        if (found := _UID.search(line))
                        and found.group(0) not in live]
        except OSError:
            return [f"{node} has no kubelet"]

    def check_tidy(self):
        """No processes, namespaces, cgroups, mounts, directories, sockets of
        anything but pods that are there."""
        left = []

        def tidy():
            left[:] = self.untidy()
            return not left

        try:
            wait_for("the nodes to be tidy", tidy, PATIENCE)
        except TimeoutError as error:
            raise AssertionError(f"left behind: {left}") from error

    def log(self):
        """The logs of all programs and pods, for when a test fails."""
        texts = []
        for pattern in ("log/*", "node*/kubelet/pods/*/containers/*/*/log"):
            for path in sorted(glob.glob(os.path.join(self.dir, pattern))):
                with open(path, encoding="utf-8", errors="replace") as file:
                    texts.append(f"--- {os.path.relpath(path, self.dir)}\n"
                                 + file.read()[-LOG_SHOWN:])
        return "\n".join(texts)

    def close(self):
        for client in self.apis:
            client.close()
        self.space.close()
        if self._fabric:
            self._fabric.close()
        if os.environ.get("FERRY_LOGS"):
            shutil.copytree(os.path.join(self.dir, "log"), os.path.join(
                os.environ["FERRY_LOGS"], self.name))
        block = self._block()
        done = self.ferryctl_raw("cluster", "down")
        assert done.returncode == 0 or "no cluster" in done.stderr, done.stderr
        left = self.leftovers(block)
        shutil.rmtree(self.scratch, ignore_errors=True)
        assert not left, f"left behind: {left}"

    def _block(self):
        """Of the cluster's addresses; None where it has none."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            return self.state()["block"]
        return None

    def leftovers(self, block):
        """What a cluster leaves behind and should not."""
        left = [self.dir] if os.path.exists(self.dir) else []
        # Its interface on this side, and rules that somebody made for it.
        for command in (["ip", "-o", "addr"], ["ip", "route", "show", "table",
                                               "all"],
                        ["nft", "list", "ruleset"]):
            text = subprocess.run(command, check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
            left += [line for line in text.splitlines()
                     if block is not None and re.search(
                         rf"\b10\.{block}\.[0-2]\.", line)
                     or self.name in line]
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

