# SPDX-License-Identifier: Apache-2.0
"""Two nodes with a pod each, on one machine and without touching it.

                       client 10.88.0.100
                           |
     eth0 +----------- fabric: br-pod -----------+ eth0
        pod-a          fabric: br-mig          pod-b
      (libvirtd,    10.77.0.1    10.77.0.2  (libvirtd,
       the guest)      node-a    node-b        the guest)
                   ferry-proxy   ferry-proxy

    with Lab() as lab:
        lab.start_proxies()
        guest = lab.start_guest(lab.a)
        lab.migrate(guest, lab.b)
        guest.check()
"""

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile

import libvirt

from lab_guest import Guest
from lab_migration import Migration
from lab_node import Node
from lab_ping import Pinger
from lab_pod import Pod
from lab_space import Network, Space

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("FERRY_BUILD", os.path.join(REPOSITORY, "build"))
PROXY = os.path.join(BUILD, "src", "proxy", "ferry-proxy")
CACHE = os.path.join(REPOSITORY, "build", "guest")

LOG_LINES = 60


class Lab:
    """See the top of this file. `a` and `b` are the nodes."""

    def __init__(self, proxy=PROXY):
        self._proxy = proxy
        self._keys = itertools.count(1)
        self._guests = []
        self._stack = contextlib.ExitStack()
        with self._stack as stack:
            self.directory = tempfile.mkdtemp(prefix="ferry-")
            stack.callback(shutil.rmtree, self.directory, True)
            os.chmod(self.directory, 0o755)
            self.pki = os.path.join(self.directory, "pki")
            self.space = Space(self.directory)
            stack.callback(self.space.close)
            self._build()
            self._stack = stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        """Ends and removes everything."""
        self._stack.close()

    def _network(self, name):
        network = Network(name)
        self._stack.callback(network.close)
        # bbr, if that is the host's choice, is slow on cables this short.
        network.write_sysctl("net.ipv4.tcp_congestion_control", "reno")
        return network

    def _build(self):
        self._fabric = self._network("fabric")
        for bridge in ("br-mig", "br-pod"):
            self._fabric.ip(f"link add {bridge} type bridge forward_delay 0")
            self._fabric.ip(f"link set {bridge} up")
        self.client = self._network("client")
        self._plug(self.client, "eth0", "br-pod", "client")
        self.client.ip("addr add 10.88.0.100/24 dev eth0")
        self.a = self._build_node("a", 1)
        self.b = self._build_node("b", 2)
        self._start_pods()

    def _start_pods(self):
        for node in (self.a, self.b):
            node.pod.start()
        for node in (self.a, self.b):
            node.pod.wait_ready()

    def _plug(self, network, device, bridge, port):
        network.connect(device, self._fabric, port)
        self._fabric.ip(f"link set {port} master {bridge} up")
        network.ip(f"link set {device} up")

    def _build_node(self, letter, number):
        network = self._network(f"node-{letter}")
        self._plug(network, "mig0", "br-mig", f"node-{letter}")
        address, address6 = f"10.77.0.{number}", f"fd77::{number}"
        network.ip(f"addr add {address}/24 dev mig0")
        network.ip(f"addr add {address6}/64 dev mig0 nodad")
        node = Node(self.space, network, f"node-{letter}", address, address6)

        inside = self._network(f"pod-{letter}")
        self._plug(inside, "eth0", "br-pod", f"pod-{letter}")
        inside.ip("link add k6t type bridge forward_delay 0")
        inside.ip("tuntap add tap0 mode tap vnet_hdr")
        for device in ("eth0", "tap0"):
            inside.ip(f"link set {device} master k6t")
        for device in ("k6t", "tap0"):
            inside.ip(f"link set {device} up")
        node.pod = Pod(self.space, inside, f"pod-{letter}", CACHE)
        return node

    def cut(self, node, how="down"):
        """Takes a node off the migration network: its link goes down, or
        stays up and frames are lost."""
        port = node.name
        self._fabric.ip(f"link set {port} " +
                        {"down": "down", "silent": "nomaster"}[how])

    def mend(self, node):
        self._fabric.ip(f"link set {node.name} master br-mig up")

    def other(self, node):
        return self.b if node is self.a else self.a

    def node_of(self, pod):
        return self.a if pod is self.a.pod else self.b

    def run_proxy(self, *arguments):
        """ferry-proxy as a command; returns what it prints."""
        done = subprocess.run([self._proxy, *arguments], capture_output=True,
                              text=True, timeout=30, check=False)
        assert done.returncode == 0, \
            f"ferry-proxy {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def make_certificates(self):
        os.makedirs(self.pki)
        self.run_proxy("pki", "ca", self.pki)
        for node in (self.a, self.b):
            self.run_proxy("pki", "node", self.pki, node.name)

    def start_proxy(self, node, *options):
        node.start_proxy(self._proxy, self.pki, *options)

    def start_proxies(self, *options):
        """Certificates, and the daemon on both nodes."""
        if not os.path.exists(self.pki):
            self.make_certificates()
        for node in (self.a, self.b):
            self.start_proxy(node, *options)

    def start_guest(self, node, **options):
        """A guest of lab_guest.Guest in the node's pod, up and running."""
        files = subprocess.run([os.path.join(REPOSITORY, "tests/guest/build"),
                                CACHE], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.strip()
        guest = Guest(f"guest{len(self._guests) + 1}", files, **options)
        self._guests.append(guest)
        guest.start(node.pod)
        return guest

    def new_key(self):
        return f"migration-{next(self._keys)}"

    @contextlib.contextmanager
    def route(self, source, target, block=False, source_options=(),
              target_options=(), key=None):
        """Listeners on both nodes for one migration; yields its key."""
        key = key or self.new_key()
        listening = target.call("target.start", target.target_params(
            key, source, block=block, **dict(target_options)))
        source.call("source.start", source.source_params(
            key, target, listening, **dict(source_options)))
        try:
            yield key
        finally:
            source.stop_listener("source", key)
            target.stop_listener("target", key)

    def begin(self, guest, target, key, flags=0, **params):
        """A migration over a route that is there; it runs when this
        returns."""
        if guest.disk_mib:
            flags |= libvirt.VIR_MIGRATE_NON_SHARED_DISK
        guest.prepare_target(target.pod)
        return Migration(guest, target.pod, key, flags, **params)

    def migrate(self, guest, target, flags=0, **params):
        """All of a migration that is to succeed."""
        source = self.node_of(guest.pod)
        with self.route(source, target, block=guest.disk_mib > 0) as key:
            return self.begin(guest, target, key, flags, **params).succeed()

    @contextlib.contextmanager
    def pinging(self, address, interval_ms=10):
        """Yields a lab_ping.Pinger; its figures are there afterwards."""
        pinger = Pinger(self.space, self.client, address, interval_ms)
        try:
            yield pinger
        finally:
            pinger.stop()

    def logs(self):
        """The ends of all logs, for a person who wonders what happened."""
        paths = [process.log for process in self.space.processes]
        for node in (self.a, self.b):
            paths += node.pod.logs()
        text = []
        for path in dict.fromkeys(paths):
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.readlines()
            text.append(f"--- {os.path.relpath(path, self.directory)}\n")
            text += lines[-LOG_LINES:]
        return "".join(text)
