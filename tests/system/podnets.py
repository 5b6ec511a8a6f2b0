# SPDX-License-Identifier: Apache-2.0
"""Pods, networks between them and guests in them, without a cluster.

A pod is a network and a PID namespace whose first process reaps. A guest is a
network namespace whose eth0 is a tap; a cable carries frames between it and
the pod's tap, which it opens as QEMU does. What is done to a pod is done by
`podnet`, which calls what the handler calls.
"""

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile

from lab_space import Network, Space, wait_until

BUILD = os.environ.get("FERRY_BUILD", os.path.join(
    os.path.dirname(__file__), "..", "..", "build"))
PODNET = os.path.join(BUILD, "tests", "system", "podnet")
DEADLINE = 120  # seconds, for what takes well below one
RESOLV = "search default.svc.cluster.local cluster.local\n" \
         "nameserver 10.96.0.10\nnameserver fd96::a\nnameserver 127.0.0.53\n"

_TUNSETIFF = 0x400454ca
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000

# What udhcpc calls; it writes down what it was told and uses it.
_DHCP_SCRIPT = """#!/bin/sh
[ "$1" = bound ] || exit 0
env >"$DHCP_RESULT.new"
ip address flush dev "$interface"
ip address add "$ip/$mask" dev "$interface"
ip link set "$interface" mtu "${mtu:-1500}"
if [ -n "$staticroutes" ]; then
	set -- $staticroutes
	while [ $# -gt 1 ]; do
		if [ "$2" = 0.0.0.0 ]; then
			ip route add "$1" dev "$interface" scope link
		else
			ip route add "$1" via "$2" dev "$interface" onlink
		fi
		shift 2
	done
elif [ -n "$router" ]; then
	ip route add default via "$router" dev "$interface"
fi
mv "$DHCP_RESULT.new" "$DHCP_RESULT"
"""


def _open_tap(network, name):
    """The program's end of a tap, made where there is none."""
    with network.entered():
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        flags = _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR
        fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", name.encode(),
                                                flags))
    return fd


class Guest:
    """What is behind a tap: a namespace with one interface, eth0."""

    def __init__(self, world, pod, interface, name):
        self.world = world
        self.network = Network(name)
        self.mac = interface["mac"]
        ends = [_open_tap(pod.network, interface["tap"]),
                _open_tap(self.network, "eth0")]
        self.cable = world.space.spawn(
            f"cable-{name}", [sys.executable, __file__, *map(str, ends)],
            pod.network, pass_fds=ends)
        for fd in ends:
            os.close(fd)
        self.network.ip(f"link set eth0 address {self.mac} up")

    def unplug(self):
        self.cable.kill()

    def dhcp(self):
        """Asks as a booting guest does, and uses what it gets."""
        directory = tempfile.mkdtemp(dir=self.world.directory)
        result = os.path.join(directory, "lease")
        script = os.path.join(directory, "script")
        with open(script, "w", encoding="ascii") as out:
            out.write(_DHCP_SCRIPT)
        os.chmod(script, 0o755)
        self.network.run(
            "busybox", "udhcpc", "-f", "-q", "-n", "-t", "60", "-T", "1",
            "-i", "eth0", "-s", script, "-O", "mtu", "-O", "staticroutes",
            "-O", "search", "-O", "hostname",
            env={**os.environ, "DHCP_RESULT": result})
        with open(result, encoding="utf-8") as lines:
            return dict(line.rstrip("\n").split("=", 1) for line in lines
                        if "=" in line)

    def gets_no_lease(self):
        done = self.network.run(
            "busybox", "udhcpc", "-f", "-q", "-n", "-t", "2", "-T", "1", "-i",
            "eth0", "-s", "/bin/true", check=False)
        return done.returncode != 0


class Pod:
    """Namespaces with a first process; see the top of this file."""

    def __init__(self, world, name):
        self.world = world
        self.name = name
        self.network = Network(name)
        self.cache = os.path.join(world.directory, f"{name}-private")
        os.mkdir(self.cache)
        resolv = os.path.join(world.directory, f"{name}-resolv.conf")
        with open(resolv, "w", encoding="ascii") as out:
            out.write(RESOLV)
        self.process = world.space.spawn(
            name, ["unshare", "--pid", "--fork", "--kill-child=KILL",
                   "--mount", "--propagation", "private", "sh", "-c",
                   f"mount --bind {resolv} /etc/resolv.conf && "
                   "exec tini -s -- sleep infinity"], self.network)
        self.pid = wait_until(self._first, DEADLINE, f"pod {name}")

    def _first(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path, encoding="ascii") as children:
            pids = children.read().split()
        if not pids:
            return None
        with open(f"/proc/{pids[0]}/cmdline", encoding="ascii") as command:
            return int(pids[0]) if "tini" in command.read() else None

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait(10)

    def attach(self, name, fabric, address=None, mac=None, mtu=1500):
        """An interface as a CNI plugin makes it: a veth to the fabric."""
        port = fabric.port()
        fabric.network.connect(port, self.network, name)
        fabric.network.ip(f"link set {port} master br0 mtu {mtu} up")
        if mac:
            self.network.ip(f"link set {name} address {mac}")
        self.network.ip(f"link set {name} mtu {mtu} up")
        if address:
            self.network.ip(f"address add {address} dev {name}")

    def podnet(self, *words, check=True):
        done = subprocess.run([PODNET, *words], capture_output=True, text=True,
                              timeout=DEADLINE, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"podnet {' '.join(words)}: {done.stderr}")
        return done

    def _vmi_file(self, vmi):
        path = os.path.join(self.world.directory, f"{self.name}-vmi.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(vmi, out)
        return path

    def setup(self, vmi):
        done = self.podnet("setup", str(self.pid), self.name,
                           self._vmi_file(vmi), self.cache)
        return json.loads(done.stdout)

    def setup_fails(self, vmi):
        done = self.podnet("setup", str(self.pid), self.name,
                           self._vmi_file(vmi), self.cache, check=False)
        assert done.returncode == 1, done.stdout
        return done.stderr.splitlines()[-1]

    def setup_until(self, vmi, steps):
        """As if the handler had been killed after so many steps."""
        self.podnet("setup", str(self.pid), self.name, self._vmi_file(vmi),
                    self.cache, str(steps))

    def steps(self, vmi):
        done = self.podnet("steps", str(self.pid), self.name,
                           self._vmi_file(vmi))
        return done.stdout.splitlines()

    def missing(self, vmi):
        return [step for step in self.steps(vmi)
                if not step.startswith("always ")]

    def teardown(self):
        self.podnet("teardown", str(self.pid), self.cache)

    def start(self, vmi, number=0):
        """Sets up and plugs a guest into one of the interfaces."""
        made = self.setup(vmi)["interfaces"][number]
        return Guest(self.world, self, made, f"{self.name}-guest")

    def servers(self):
        """The DHCP servers in this pod, by pid."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cmdline", "rb") as command:
                    words = command.read()
                if b"ferry-dhcp-" in words and os.stat(
                        f"/proc/{pid}/ns/net").st_ino == os.fstat(
                            self.network.fd).st_ino:
                    found.append(int(pid))
        return found

    def state(self):
        """Everything of the network that can be seen, as values."""
        def show(*words):
            return json.loads(self.network.run("ip", "-j", *words).stdout)

        links = [{key: link.get(key) for key in (
            "ifname", "mtu", "master", "address", "ifalias", "link_type")}
            | {"up": "UP" in link["flags"],
               "kind": link.get("linkinfo", {}).get("info_kind")}
            for link in show("-d", "link", "show")]
        # Link-local ones come by themselves, when they like.
        addresses = [[link["ifname"], [
            (a["local"], a["prefixlen"]) for a in link["addr_info"]
            if a["scope"] == "global"]] for link in show("address")]
        # So do their routes, and what the kernel knows of a carrier.
        routes = [route | {"flags": [flag for flag in route["flags"]
                                     if flag != "linkdown"]}
                  for route in show("route", "show", "table", "all", "type",
                                    "unicast")
                  if not route["dst"].startswith("fe80:")]
        rules = self.network.run("nft", "list", "ruleset").stdout
        return {"links": links, "addresses": addresses, "rules": rules,
                "routes": sorted(routes, key=json.dumps)}


class Fabric:
    """A network that pods are attached to: a bridge in its own namespace."""

    def __init__(self, name, *addresses):
        self.network = Network(name)
        self._ports = 0
        self.network.ip("link add br0 type bridge forward_delay 0 "
                        "mcast_snooping 0")
        self.network.ip("link set br0 up")
        for address in addresses:
            nodad = " nodad" if ":" in address else ""
            self.network.ip(f"address add {address} dev br0{nodad}")

    def port(self):
        self._ports += 1
        return f"port{self._ports}"


class World:
    """What a test has; all of it goes with close()."""

    def __init__(self):
        self._directory = tempfile.TemporaryDirectory(prefix="net-")
        self.directory = self._directory.name
        self.space = Space(self.directory)

    def close(self):
        self.space.close()
        self._directory.cleanup()

    def pod(self, name="pod-a"):
        return Pod(self, name)


def vmi(*interfaces, uid="6f1c", **spec):
    """A machine: interfaces are (interface, network) without names, or with."""
    devices, networks = [], []
    for number, (interface, network) in enumerate(interfaces):
        name = network.get("name", "default" if number == 0 else f"n{number}")
        devices.append({"name": name, **interface})
        networks.append({"name": name, **network})
    return {"metadata": {"name": "vm1", "namespace": "default", "uid": uid},
            "spec": {"domain": {"devices": {"interfaces": devices}},
                     "networks": networks, **spec}}


def serve(network, family=socket.AF_INET, kind=socket.SOCK_STREAM, port=0):
    """A socket that listens on all addresses of a namespace."""
    with network.entered():
        sock = socket.socket(family, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.settimeout(DEADLINE)
    sock.bind(("", port))
    if kind == socket.SOCK_STREAM:
        sock.listen()
    return sock


def dial(network, address, port, family=socket.AF_INET):
    with network.entered():
        sock = socket.socket(family, socket.SOCK_STREAM)
    sock.settimeout(DEADLINE)
    try:
        sock.connect((address, port))
    except OSError:
        sock.close()
        raise
    return sock


def _carry(from_fd, to_fd):
    frame = os.read(from_fd, 65536)
    with contextlib.suppress(OSError):  # the other end is down
        os.write(to_fd, frame)


def main():
    """The cable: frames from each tap go to the other."""
    one, two = map(int, sys.argv[1:])
    other = {one: two, two: one}
    while True:
        for fd in select.select([one, two], [], [])[0]:
            _carry(fd, other[fd])


if __name__ == "__main__":
    main()
