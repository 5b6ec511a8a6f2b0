# SPDX-License-Identifier: Apache-2.0
"""Nodes with a ferry-kubelet, around a ferry-cluster.

    with Site(nodes=2) as site:
        site.start_kubelets()
        site.cluster.kubectl("create", "-f", "-", stdin=...)

A node is what a machine would be: namespaces of its own for the network, for
mounts and for processes, so that nothing can outlive it, and killing it is a
power cut. All share one network 10.98.0.0/24, on which the cluster is .1 and
the nodes are .11, .12, ...; pods of node n have addresses of 10.99.n.0/24.

The thread that made the Site is in its network until it is closed: kubectl,
the API and whatever else is started find the cluster and the nodes.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import uuid

from clusters import CLUSTER, Cluster
from lab_space import Network, Process, entered_pids, wait_until
from proxies import BUILD, REPOSITORY

KUBELET = os.path.join(BUILD, "src", "kubelet", "ferry-kubelet")
MANIFEST = os.path.join(REPOSITORY, "deploy", "kubelet",
                        "ferry-kubelet.yaml")
PLUGINS = "/usr/lib/cni"
CGROUPS = "/sys/fs/cgroup"
DEADLINE = 120  # seconds for anything that should take a moment
BUSYBOX = "busybox"  # an image that every node has


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


def _write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def escape_image(reference):
    """The name of an image's directory; see ferry-kubelet(8)."""
    return "".join(c if c.isalnum() or c in "._-" else f"%{ord(c):02X}"
                   for c in reference)


def pod(name, *command, containers=None, **spec):
    """A pod with one busybox container, or with these containers."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"terminationGracePeriodSeconds": 5,
                     "automountServiceAccountToken": False,
                     "containers": containers or [
                         container("c", *command)], **spec}}


def container(name, *command, **more):
    """A busybox container that runs a command of its shell."""
    script = command if len(command) != 1 else ("sh", "-c", command[0])
    return {"name": name, "image": BUSYBOX, "command": list(script), **more}


class Node:
    """A node, on or off; what it has on disk stays when it is off."""

    def __init__(self, site, number):
        self.site = site
        self.name = f"node{number}"
        self.number = number
        self.address = f"10.98.0.{10 + number}"
        self.directory = os.path.join(site.directory, self.name)
        self.root = os.path.join(self.directory, "kubelet")
        self.run_dir = os.path.join(self.directory, "run")
        self.images = os.path.join(self.directory, "images")
        self.cni = os.path.join(self.directory, "cni")
        self.volumes = os.path.join(self.directory, "volumes")
        self.cgroup = f"/{site.name}-{self.name}"
        self.kubelet = None
        self.network = None
        self.processes = []
        self._holder = None
        os.makedirs(self.directory)
        self._make_credentials()
        self._make_pod_network()
        self.add_image(BUSYBOX, self.fill_busybox)
        self.power_on()

    def _make_credentials(self):
        pki = os.path.join(self.site.cluster.dir, "pki")
        base = os.path.join(self.directory, "serving")
        _run("openssl", "req", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-keyout", base + ".key",
             "-subj", f"/O=system:nodes/CN=system:node:{self.name}",
             "-out", base + ".csr")
        _write(base + ".ext", f"subjectAltName=IP:{self.address},"
               f"DNS:{self.name}\nextendedKeyUsage=serverAuth\n")
        _run("openssl", "x509", "-req", "-in", base + ".csr", "-CA",
             f"{pki}/ca.crt", "-CAkey", f"{pki}/ca.key", "-CAcreateserial",
             "-CAserial", base + ".srl", "-days", "30", "-extfile",
             base + ".ext", "-out", base + ".crt")
        self.certificate = base + ".crt"
        self.key = base + ".key"
        self.kubeconfig = self.site.cluster.user_kubeconfig(
            f"system:node:{self.name}", "system:nodes")

    def _make_pod_network(self):
        _write(os.path.join(self.cni, "10-pods.conflist"), json.dumps({
            "cniVersion": "1.0.0", "name": "pods", "plugins": [{
                "type": "bridge", "bridge": "cni0", "isGateway": True,
                "ipam": {"type": "host-local",
                         "dataDir": os.path.join(self.directory, "ipam"),
                         "ranges": [[{"subnet":
                                      f"10.99.{self.number}.0/24"}]],
                         "routes": [{"dst": "0.0.0.0/0"}]}}]}))

    def bridge_network(self, name, bridge):
        """The config of a NetworkAttachmentDefinition: a bridge, no IPAM."""
        return json.dumps({"cniVersion": "1.0.0", "name": name,
                           "type": "bridge", "bridge": bridge, "ipam": {}})

    @staticmethod
    def fill_busybox(root):
        os.makedirs(os.path.join(root, "bin"))
        for directory in ("tmp", "etc", "proc", "sys", "dev"):
            os.makedirs(os.path.join(root, directory))
        shutil.copy("/bin/busybox", os.path.join(root, "bin/busybox"))
        names = _run("/bin/busybox", "--list").split()
        for name in names:
            if name != "busybox":
                os.symlink("busybox", os.path.join(root, "bin", name))

    def add_image(self, reference, fill=None, **config):
        """Puts an image into the directory; fill(root) writes its files.

        Without fill it is the host itself. Returns the digest.
        """
        seed = json.dumps([reference, config], sort_keys=True)
        digest = "sha256:" + hashlib.sha256(seed.encode()).hexdigest()
        final = os.path.join(self.images, escape_image(reference))
        beside = os.path.join(self.images, "." + uuid.uuid4().hex)
        os.makedirs(beside)
        if fill:
            os.makedirs(os.path.join(beside, "rootfs"))
            fill(os.path.join(beside, "rootfs"))
        _write(os.path.join(beside, "image.json"), json.dumps(
            {"digest": digest, "kind": "files" if fill else "host",
             **config}))
        shutil.rmtree(final, ignore_errors=True)
        os.rename(beside, final)
        return digest

    def add_launcher_image(self, reference, launcher, *, binds=()):
        """The image that virtual machines run in: the host, with the launcher
        and the users that libvirtd looks for, and its directories empty."""
        etc = os.path.join(self.directory, "launcher-etc")
        _write(os.path.join(etc, "passwd"),
               "root:x:0:0:root:/root:/bin/sh\n"
               "qemu:x:107:107::/:/usr/sbin/nologin\n"
               "libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n"
               "nobody:x:65534:65534::/:/usr/sbin/nologin\n")
        _write(os.path.join(etc, "group"),
               "root:x:0:\nqemu:x:107:\nlibvirt-qemu:x:64055:\n"
               "kvm:x:64056:\nnogroup:x:65534:\n")
        return self.add_image(
            reference, devices=["/dev/userfaultfd"],
            tmpfs=["/run", "/tmp", "/etc/libvirt", "/var/lib/libvirt",
                   "/var/cache/libvirt", "/var/log/libvirt"],
            binds=[{"source": launcher, "target": "/usr/bin/ferry-launcher"},
                   {"source": os.path.join(etc, "passwd"),
                    "target": "/etc/passwd"},
                   {"source": os.path.join(etc, "group"),
                    "target": "/etc/group"}, *binds])

    def power_on(self):
        """Namespaces and cables; no program of ours runs yet."""
        self.network = Network(self.name)
        self.network.connect("eth0", self.site.network, f"port{self.number}")
        self.site.network.ip(f"link set port{self.number} master net up")
        self.network.ip("link set eth0 up")
        self.network.ip(f"addr add {self.address}/24 dev eth0")
        self.network.write_sysctl("net.ipv4.ip_forward", "1")
        for other in self.site.nodes:
            if other is not self and other.network:
                self._route(self, other)
                self._route(other, self)
        with self.network.entered():
            self._holder = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount",
                 "--propagation", "private", "--pid", "--fork",
                 "--kill-child=KILL", "--mount-proc", "tini", "-s", "--",
                 "sleep", "infinity"], stdin=subprocess.DEVNULL)
        self._first = wait_until(self._find_first, DEADLINE,
                                 f"namespaces of {self.name}")

    @staticmethod
    def _route(source, target):
        source.network.ip(f"route replace 10.99.{target.number}.0/24 "
                          f"via {target.address}")

    def _find_first(self):
        """The process that is number 1 of the node, once it runs tini."""
        path = f"/proc/{self._holder.pid}/task/{self._holder.pid}/children"
        with open(path, encoding="ascii") as file:
            children = file.read().split()
        if not children:
            return None
        try:
            with open(f"/proc/{children[0]}/comm", encoding="ascii") as file:
                return children[0] if file.read().strip() == "tini" else None
        except FileNotFoundError:
            return None

    def spawn(self, name, command, **more):
        """Starts a program on the node; a Process, see lab_space.py."""
        log = os.path.join(self.directory, name + ".log")
        space = f"/proc/{self._first}/ns"
        with open(log, "ab") as out, entered_pids(f"{space}/pid"):
            streams = {"stdin": subprocess.DEVNULL, "stdout": out,
                       "stderr": out}
            streams.update(more)
            popen = subprocess.Popen(
                ["nsenter", f"--mount={space}/mnt", f"--net={space}/net",
                 "--", *command], **streams)
        process = Process(name, popen, log)
        self.processes.append(process)
        return process

    def run(self, *command):
        """Runs a short command on the node; what it printed."""
        space = f"/proc/{self._first}/ns"
        return _run("nsenter", f"--mount={space}/mnt", f"--net={space}/net",
                    f"--pid={space}/pid", "--", *command)

    def start_kubelet(self, *options):
        """Starts it, again or for the first time."""
        self.kubelet = self.spawn("kubelet", [
            KUBELET, "serve", "--kubeconfig", self.kubeconfig,
            "--node-name", self.name, "--root-dir", self.root,
            "--run-dir", self.run_dir, "--image-dir", self.images,
            "--cni-conf-dir", self.cni, "--cni-bin-dir", PLUGINS,
            "--local-volume-dir", self.volumes, "--shared-volume-dir",
            self.site.shared, "--cgroup-root", self.cgroup, "--tls-cert",
            self.certificate, "--tls-key", self.key, "--log-format", "json",
            "--log-level", "debug", *options])
        return self.kubelet

    def kill_kubelet(self):
        """As a crash would."""
        self.kubelet.kill()

    def power_off(self):
        """All of its processes at once, and what the kernel kept for them."""
        self._holder.kill()
        self._holder.wait(DEADLINE)
        for process in self.processes:
            process.popen.wait(DEADLINE)
        self.processes = []
        self.network.close()
        self.network = None
        # It would go by itself some time after the namespace has.
        self.site.network.run("ip", "link", "del", f"port{self.number}",
                              check=False)
        for path in self.cgroups():
            wait_until(lambda path=path: self._remove_cgroup(path), DEADLINE,
                       f"the end of {path}")

    @staticmethod
    def _remove_cgroup(path):
        for where, _, _ in os.walk(path, topdown=False):
            try:
                os.rmdir(where)
            except FileNotFoundError:
                pass
            except OSError:
                return False
        return True

    def cgroups(self):
        """Where its pods' cgroups are, in each hierarchy."""
        tops = [CGROUPS] + [os.path.join(CGROUPS, name)
                            for name in os.listdir(CGROUPS)]
        return [top + self.cgroup for top in tops
                if os.path.isdir(top + self.cgroup)]

    def pod_dir(self, found):
        """The directory of a pod, given as the API has it."""
        return os.path.join(self.root, "pods", found["metadata"]["uid"])

    def container_pid(self, found, name, attempt=0):
        """The first process of a container, as the node counts."""
        path = os.path.join(self.pod_dir(found), "containers", name,
                            str(attempt), "state.json")
        with open(path, encoding="utf-8") as file:
            return json.load(file)["pid"]

    def leftovers(self):
        """What there is of pods: directories, mounts, namespaces, cgroups,
        processes of containers, interfaces. Empty when there is none."""
        found = [os.path.join(where, name)
                 for where in (os.path.join(self.root, "pods"),
                               os.path.join(self.run_dir, "ns"),
                               os.path.join(self.run_dir, "crun"))
                 if os.path.isdir(where) for name in os.listdir(where)]
        found += [f"mount {line.split()[4]}" for line in
                  self.run("cat", "/proc/self/mountinfo").splitlines()
                  if line.split()[4].startswith(
                      (self.root + "/", self.run_dir + "/"))]
        for top in self.cgroups():
            found += [os.path.join(where, name)
                      for where, names, _ in os.walk(top) for name in names]
        found += [line for line in self.run("ip", "-br", "link").splitlines()
                  if line.startswith("veth")]
        found += [line for line in
                  self.run("ps", "-e", "-o", "args=").splitlines()
                  if " monitor " in line]
        leases = os.path.join(self.directory, "ipam", "pods")
        found += [name for name in
                  (os.listdir(leases) if os.path.isdir(leases) else [])
                  if name[0].isdigit()]
        return found

    def log(self):
        path = os.path.join(self.directory, "kubelet.log")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()


class Site:
    """A cluster and its nodes; see the top of this file."""

    def __init__(self, nodes=1, options=()):
        self.name = "ferry-" + uuid.uuid4().hex[:8]
        self.directory = tempfile.mkdtemp(prefix="fk-")
        self.shared = os.path.join(self.directory, "shared")
        os.makedirs(self.shared)
        self.nodes = []
        self.cluster = None
        self._inside = contextlib.ExitStack()
        try:
            self._make_network()
            self._make_cluster(options)
            for number in range(1, nodes + 1):
                self.nodes.append(Node(self, number))
        except BaseException:
            self.close()
            raise

    def _make_network(self):
        self.network = Network("site")
        self.network.ip("link add net type bridge")
        self.network.ip("link set net up")
        self.network.ip("addr add 10.98.0.1/24 dev net")
        self._inside.enter_context(self.network.entered())

    def _make_cluster(self, options):
        directory = os.path.join(self.directory, "cluster")
        _run(CLUSTER, "init", "--dir", directory, "--address", "10.98.0.1",
             "--port", "6443", "--san", "127.0.0.1")
        self.cluster = Cluster(*options, directory=directory)
        self.cluster.kubectl("create", "-f", MANIFEST)

    def start_kubelets(self, *options):
        """On all nodes; returns when they are ready."""
        for node in self.nodes:
            node.start_kubelet(*options)
        for node in self.nodes:
            self.wait_node_ready(node)

    def wait_node_ready(self, node):
        def ready():
            assert node.kubelet.running(), node.log()
            try:
                found = self.get("nodes", node.name, namespace=None)
            except AssertionError:
                return False
            return any(c["type"] == "Ready" and c["status"] == "True"
                       for c in found.get("status", {}).get("conditions", []))

        wait_until(ready, DEADLINE, f"{node.name} to be ready")

    def get(self, kind, name, namespace="default"):
        where = () if namespace is None else ("-n", namespace)
        return json.loads(self.cluster.kubectl("get", kind, name, *where,
                                               "-o", "json"))

    def create(self, made, namespace="default"):
        """Creates an object; returns it as the server has it."""
        return json.loads(self.cluster.kubectl(
            "create", "-n", namespace, "-o", "json", "-f", "-",
            stdin=json.dumps(made)))

    def wait_pod(self, name, condition, what, namespace="default"):
        """Waits until condition(pod) is true; returns the pod."""
        seen = {}

        def holds():
            seen["pod"] = self.get("pod", name, namespace)
            return condition(seen["pod"])

        try:
            wait_until(holds, DEADLINE, what, interval=0.1)
        except AssertionError as error:
            raise AssertionError(
                f"{error}\n{json.dumps(seen.get('pod'), indent=1)}") from None
        return seen["pod"]

    def wait_phase(self, name, phase, namespace="default"):
        return self.wait_pod(
            name, lambda p: p["status"].get("phase") == phase,
            f"pod {name} to be {phase}", namespace)

    def wait_ready(self, name, namespace="default"):
        def ready(found):
            return any(c["type"] == "Ready" and c["status"] == "True"
                       for c in found["status"].get("conditions", []))
        return self.wait_pod(name, ready, f"pod {name} to be ready",
                             namespace)

    def delete(self, kind, name, *options, namespace="default"):
        """Deletes it, and waits until it is gone."""
        self.cluster.kubectl("delete", kind, name, "-n", namespace,
                             *options, timeout=DEADLINE)

    def wait_clean(self, node):
        """Until nothing is left of any pod on the node."""
        last = []

        def clean():
            last[:] = node.leftovers()
            return not last

        try:
            wait_until(clean, DEADLINE, "a clean node", interval=0.1)
        except AssertionError:
            raise AssertionError("left on the node:\n"
                                 + "\n".join(last)) from None

    def logs(self):
        return "\n".join(f"== {node.name}\n{node.log()[-20000:]}"
                         for node in self.nodes)

    def close(self):
        for node in self.nodes:
            if node.network:
                node.power_off()
        if self.cluster:
            self.cluster.close()
        self._inside.close()
        self.network.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
