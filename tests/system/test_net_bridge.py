# SPDX-License-Identifier: Apache-2.0
"""Machines whose interface is bridged: to the pod's network, which gives its
address away, and to networks that know nothing but frames."""

import os
import socket
import subprocess
import threading

import pytest

from lab_space import wait_until
from podnets import DEADLINE, Fabric, World, dial, serve, vmi

POD, NODE = "10.244.1.5", "10.244.1.1"
MAC = "0a:58:0a:f4:01:05"
BRIDGED = vmi(({"bridge": {}}, {"pod": {}}))
# As the pod's interface for a network called "lan" is named.
LAN = "pod094a367b026"


@pytest.fixture(name="world")
def world_fixture():
    world = World()
    yield world
    world.close()


@pytest.fixture(name="fabric")
def fabric_fixture():
    return Fabric("fabric", f"{NODE}/24")


@pytest.fixture(name="pod")
def pod_fixture(world, fabric):
    pod = world.pod()
    pod.attach("eth0", fabric, f"{POD}/24", mac=MAC, mtu=1450)
    pod.network.ip(f"route add default via {NODE}")
    return pod


def ping(network, address):
    network.run("busybox", "ping", "-c", "1", "-w", "60", address)


def arp_of(network, address):
    for line in network.run("ip", "neigh").stdout.splitlines():
        words = line.split()
        if words[0] == address and "lladdr" in words:
            return words[words.index("lladdr") + 1]
    return None


def test_the_guest_gets_what_was_the_pod_s(pod, fabric):
    pod.network.ip("route add 10.99.0.0/16 via 10.244.1.9")
    guest = pod.start(BRIDGED)
    assert guest.mac == MAC
    lease = guest.dhcp()
    assert lease["ip"] == POD
    assert lease["subnet"] == "255.255.255.0"
    assert lease["mtu"] == "1450"
    assert lease["staticroutes"] == \
        f"10.99.0.0/16 10.244.1.9 0.0.0.0/0 {NODE}"
    assert lease["dns"] == "10.96.0.10"
    ping(guest.network, NODE)
    ping(fabric.network, POD)
    assert arp_of(fabric.network, POD) == MAC, "only the guest answers"
    with serve(guest.network) as server:
        client = dial(fabric.network, POD, server.getsockname()[1])
        accepted, peer = server.accept()
        client.close()
        accepted.close()
        assert peer[0] == NODE


def test_a_real_guest_answers_behind_its_tap(pod, fabric):
    """QEMU instead of a namespace: a virtio driver with all its offloads."""
    build = os.path.join(os.path.dirname(__file__), "..", "guest", "build")
    files = subprocess.run([build], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.strip()
    made, = pod.setup(BRIDGED)["interfaces"]
    qemu = pod.world.space.spawn("qemu", [
        "qemu-system-x86_64", "-nodefaults", "-display", "none", "-machine",
        "q35", "-accel", "tcg", "-cpu", "qemu64", "-m", "128", "-kernel",
        f"{files}/vmlinuz", "-initrd", f"{files}/initrd", "-append",
        f"console=ttyS0 quiet gip={POD}/24", "-serial", "stdio", "-netdev",
        f"tap,id=n,ifname={made['tap']},script=no,downscript=no", "-device",
        f"virtio-net-pci,netdev=n,mac={made['mac']}"], pod.network)

    def answers():
        assert qemu.running(), qemu.output()
        return fabric.network.run("busybox", "ping", "-c", "1", "-w", "1", POD,
                                  check=False).returncode == 0

    wait_until(answers, DEADLINE, "the guest's answer")
    sent = os.urandom(300000)
    with dial(fabric.network, POD, 7) as client:
        sender = threading.Thread(target=client.sendall, args=(sent,))
        sender.start()
        got = b""
        while len(got) < len(sent):
            got += client.recv(65536)
        sender.join()
    assert got == sent


def test_the_pod_keeps_neither_address_nor_mac(pod):
    pod.setup(BRIDGED)
    state = pod.state()
    assert dict(state["addresses"])["eth0"] == []
    eth0, = [link for link in state["links"] if link["ifname"] == "eth0"]
    assert eth0["address"] != MAC
    assert eth0["master"] == "k6t-eth0"
    assert f"mac={MAC} ip={POD}/24" in eth0["ifalias"]


def test_a_pod_with_one_address_and_a_far_gateway_hands_both_on(world):
    fabric = Fabric("fabric", "169.254.1.1/32")
    fabric.network.ip(f"route add {POD}/32 dev br0")
    pod = world.pod()
    pod.attach("eth0", fabric, f"{POD}/32", mac=MAC)
    pod.network.ip("route add 169.254.1.1 dev eth0 scope link")
    pod.network.ip("route add default via 169.254.1.1 dev eth0")
    guest = pod.start(BRIDGED)
    lease = guest.dhcp()
    assert lease["ip"] == POD
    assert lease["subnet"] == "255.255.255.255"
    ping(guest.network, "169.254.1.1")
    ping(fabric.network, POD)


def test_nobody_else_is_served_and_nobody_else_serves(pod, fabric):
    """A server in the pod's network offers something else, to everybody."""
    guest = pod.start(BRIDGED)
    pod.world.space.spawn("other-server", [
        "dnsmasq", "--keep-in-foreground", "--port=0", "--interface=br0",
        "--dhcp-range=10.244.1.100,10.244.1.200", "--leasefile-ro",
        "--user=root", "--conf-file=/dev/null", "--pid-file",
        "--dhcp-authoritative"], fabric.network)
    for _ in range(3):
        assert guest.dhcp()["ip"] == POD
    guest.network.ip("link set eth0 address 02:00:00:00:00:99")
    assert guest.gets_no_lease()
    # The other one is there: without the rule it answers.
    pod.network.run("nft", "delete", "table", "bridge", "ferry")
    assert guest.dhcp()["serverid"] == NODE


def test_a_guest_that_came_from_another_pod_is_served(pod):
    """It keeps the MAC it had there; this pod's is another."""
    moved = {**BRIDGED, "status": {"interfaces": [
        {"name": "default", "mac": "0a:58:0a:f4:01:77"}]}}
    guest = pod.start(moved)
    assert guest.mac == "0a:58:0a:f4:01:77"
    assert guest.dhcp()["ip"] == POD


def lan_vmi(uid, **interface):
    return vmi(({"bridge": {}, **interface},
                {"name": "lan", "multus": {"networkName": "lan"}}), uid=uid)


def test_a_network_attachment_is_frames_only(world):
    lan = Fabric("lan")
    guests = []
    for number, name in enumerate(("pod-a", "pod-b")):
        pod = world.pod(name)
        pod.attach(LAN, lan, mtu=9000)
        guest = pod.start(lan_vmi(f"uid-{number}"))
        guest.network.ip("link set eth0 mtu 9000")
        guest.network.ip(f"address add 192.168.7.{number + 1}/24 dev eth0")
        guest.network.ip(f"address add fd70::{number + 1}/64 dev eth0 nodad")
        assert pod.servers() == []
        guests.append(guest)
    one, two = guests
    assert one.mac != two.mac
    one.network.run("busybox", "ping", "-c", "1", "-s", "8000", "-w", "60",
                    "192.168.7.2")
    ping(two.network, "192.168.7.1")
    assert arp_of(one.network, "192.168.7.2") == two.mac
    with serve(two.network, socket.AF_INET6) as server:
        dial(one.network, "fd70::2", server.getsockname()[1],
             socket.AF_INET6).close()


def test_the_mac_of_an_attachment_is_the_machine_s(world):
    lan = Fabric("lan")
    pods = [world.pod("pod-a"), world.pod("pod-b")]
    for pod in pods:
        pod.attach(LAN, lan)
    macs = {pod.setup(lan_vmi("the-same"))["interfaces"][0]["mac"]
            for pod in pods}
    assert len(macs) == 1, "it stays when the machine moves"
    said = "02:11:22:33:44:55"
    made = pods[0].setup(lan_vmi("the-same", macAddress=said))
    assert made["interfaces"][0]["mac"] == said


def test_a_guest_that_leaves_and_comes_is_found_again(world):
    """The same MAC behind another port, as after a migration."""
    lan = Fabric("lan", "192.168.7.9/24")
    pods = [world.pod("pod-a"), world.pod("pod-b")]
    machine = lan_vmi("the-same")
    for pod in pods:
        pod.attach(LAN, lan)
        pod.setup(machine)
    for pod in pods:
        guest = pod.start(machine)
        guest.network.ip("address add 192.168.7.1/24 dev eth0")
        ping(guest.network, "192.168.7.9")
        ping(lan.network, "192.168.7.1")
        guest.unplug()


def test_an_attachment_with_an_address_hands_it_on(world):
    lan = Fabric("lan", "192.168.7.9/24")
    pod = world.pod()
    pod.attach(LAN, lan, "192.168.7.20/24")
    guest = pod.start(lan_vmi("one"))
    lease = guest.dhcp()
    assert lease["ip"] == "192.168.7.20"
    assert "router" not in lease
    ping(guest.network, "192.168.7.9")


def test_several_interfaces_are_served_by_one_server(world, fabric, pod):
    lan, bare = Fabric("lan", "192.168.7.9/24"), Fabric("bare")
    pod.attach(LAN, lan, "192.168.7.20/24")
    pod.attach("net2", bare)
    machine = vmi(
        ({"masquerade": {}}, {"pod": {}}),
        ({"bridge": {}}, {"name": "lan", "multus": {"networkName": "x"}}),
        ({"bridge": {}}, {"name": "old", "multus": {"networkName": "y"}}))
    made = pod.setup(machine)["interfaces"]
    assert [i["tap"] for i in made] == ["tap0", "tap094a367b026", "tap2"]
    assert len(pod.servers()) == 1
    first = pod.start(machine, 0)
    assert first.dhcp()["ip"] == "10.0.2.2"
    assert pod.start(machine, 1).dhcp()["ip"] == "192.168.7.20"
    with serve(fabric.network) as server:
        dial(first.network, NODE, server.getsockname()[1]).close()


def test_an_interface_that_is_missing_is_named(pod):
    line = pod.setup_fails(lan_vmi("one"))
    assert line.startswith("NotFound: ")
    assert LAN in line and "'lan'" in line


def test_frames_of_the_largest_size_pass(world):
    lan = Fabric("lan", "192.168.7.9/24")
    pod = world.pod()
    pod.attach(LAN, lan, mtu=1450)
    guest = pod.start(lan_vmi("one"))
    guest.network.ip("address add 192.168.7.1/24 dev eth0")
    guest.network.ip("link set eth0 mtu 1450")
    with serve(lan.network) as server:
        client = dial(guest.network, "192.168.7.9", server.getsockname()[1])
        accepted, _ = server.accept()
        with client, accepted:
            accepted.settimeout(DEADLINE)
            client.sendall(bytes(200000))
            got = 0
            while got < 200000:
                got += len(accepted.recv(65536))
