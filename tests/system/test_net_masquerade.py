# SPDX-License-Identifier: Apache-2.0
"""A machine behind masquerade: what it is told, whom it reaches, who it."""

import socket
import struct
import subprocess

import pytest

from podnets import (DEADLINE, Fabric, World, dial, serve, vmi)
from lab_space import wait_until

POD4, POD6 = "10.244.1.5", "fd77::5"
NODE4, NODE6 = "10.244.1.1", "fd77::1"
FAR4 = "192.0.2.1"


@pytest.fixture(name="world")
def world_fixture():
    world = World()
    yield world
    world.close()


@pytest.fixture(name="fabric")
def fabric_fixture():
    fabric = Fabric("fabric", f"{NODE4}/24", f"{NODE6}/64")
    fabric.network.ip(f"address add {FAR4}/32 dev lo")
    return fabric


@pytest.fixture(name="pod")
def pod_fixture(world, fabric):
    pod = world.pod()
    pod.attach("eth0", fabric, f"{POD4}/24", mtu=1400)
    pod.network.ip(f"address add {POD6}/64 dev eth0 nodad")
    pod.network.ip(f"route add default via {NODE4}")
    pod.network.ip(f"-6 route add default via {NODE6}")
    return pod


def masquerade(*ports, **network):
    return vmi(({"masquerade": {}, "ports": list(ports)},
                {"pod": network}))


def asks(server_socket, client_socket):
    """One word there and another back; who the server thinks asked."""
    accepted, peer = server_socket.accept()
    with accepted, client_socket:
        client_socket.sendall(b"hello")
        assert accepted.recv(5) == b"hello"
        accepted.sendall(b"world")
        assert client_socket.recv(5) == b"world"
    return peer[0]


def test_the_guest_is_told_all_it_needs(pod):
    guest = pod.start(masquerade())
    lease = guest.dhcp()
    assert lease["ip"] == "10.0.2.2"
    assert lease["subnet"] == "255.255.255.0"
    assert lease["router"] == lease["serverid"] == "10.0.2.1"
    assert lease["mtu"] == "1400"
    assert lease["dns"] == "10.96.0.10"
    assert lease["search"] == "default.svc.cluster.local cluster.local"
    assert lease["hostname"] == "vm1"
    assert int(lease["lease"]) == 0xffffffff


def test_a_machine_may_choose_its_network(pod):
    guest = pod.start(masquerade(vmNetworkCIDR="172.30.9.0/28"))
    lease = guest.dhcp()
    assert lease["ip"] == "172.30.9.2"
    assert lease["router"] == "172.30.9.1"
    assert lease["subnet"] == "255.255.255.240"


def test_the_guest_reaches_out_as_its_pod(pod, fabric):
    guest = pod.start(masquerade())
    guest.dhcp()
    with serve(fabric.network) as server:
        port = server.getsockname()[1]
        for address in (NODE4, FAR4):
            seen = asks(server, dial(guest.network, address, port))
            assert seen == POD4


def test_whatever_comes_to_the_pod_is_the_guest_s(pod, fabric):
    guest = pod.start(masquerade())
    guest.dhcp()
    with serve(guest.network) as server:
        port = server.getsockname()[1]
        seen = asks(server, dial(fabric.network, POD4, port))
    assert seen == NODE4, "the client's own address is kept"
    fabric.network.run("busybox", "ping", "-c", "1", "-w", "60", POD4)


def test_only_ports_that_are_listed_are_the_guest_s(pod, fabric):
    with serve(pod.network) as probe:
        closed = probe.getsockname()[1]
    guest = pod.start(masquerade({"port": 7001},
                                 {"port": 7002, "protocol": "UDP"}))
    guest.dhcp()
    with serve(guest.network, port=7001) as server, \
            serve(guest.network, port=closed):
        assert asks(server, dial(fabric.network, POD4, 7001)) == NODE4
        with pytest.raises(ConnectionRefusedError):
            dial(fabric.network, POD4, closed)
    with serve(guest.network, kind=socket.SOCK_DGRAM, port=7002) as server, \
            serve(fabric.network, kind=socket.SOCK_DGRAM) as client:
        client.sendto(b"ask", (POD4, 7002))
        word, peer = server.recvfrom(16)
        assert word == b"ask" and peer[0] == NODE4
        server.sendto(b"answer", peer)
        assert client.recvfrom(16) == (b"answer", (POD4, 7002))


def test_a_listed_port_is_at_the_pod_s_loopback_too(pod):
    guest = pod.start(masquerade({"port": 7001}))
    guest.dhcp()
    with serve(guest.network, port=7001) as server:
        assert asks(server, dial(pod.network, "127.0.0.1", 7001)) == "10.0.2.1"


def test_the_guest_does_not_reach_the_pod_s_loopback(pod):
    guest = pod.start(masquerade({"port": 7001}))
    guest.dhcp()
    guest.network.write_sysctl("net.ipv4.conf.all.route_localnet", "1")
    guest.network.write_sysctl("net.ipv4.conf.eth0.route_localnet", "1")
    guest.network.ip("link set lo down")
    guest.network.ip("route add 127.0.0.1/32 via 10.0.2.1")
    with serve(pod.network, kind=socket.SOCK_DGRAM) as server, \
            serve(guest.network, kind=socket.SOCK_DGRAM) as client:
        port = server.getsockname()[1]
        for _ in range(3):
            client.sendto(b"intruder", ("127.0.0.1", port))
        client.sendto(b"visitor", ("10.0.2.1", port))
        assert server.recv(16) == b"visitor"


def dhcpv6_option(code, data):
    return struct.pack("!HH", code, len(data)) + data


def dhcpv6_options(data):
    while data:
        code, length = struct.unpack_from("!HH", data)
        yield code, data[4:4 + length]
        data = data[4 + length:]


def dhcpv6_address(guest):
    """What a guest that asks once, by rapid commit, is given; None."""
    mac = bytes.fromhex(guest.mac.replace(":", ""))
    solicit = struct.pack("!I", 1 << 24 | 0x123456) + b"".join((
        dhcpv6_option(1, struct.pack("!HH", 3, 1) + mac),  # DUID-LL
        dhcpv6_option(14, b""),
        dhcpv6_option(8, bytes(2)),
        dhcpv6_option(3, struct.pack("!III", 1, 0, 0))))
    with guest.network.entered():
        index = socket.if_nametoindex("eth0")
        sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    with sock:
        sock.settimeout(2)
        sock.bind(("::", 546, 0, index))
        try:
            sock.sendto(solicit, ("ff02::1:2", 547, 0, index))
            reply = sock.recv(4096)
        except (TimeoutError, OSError):
            return None  # no link-local address yet, or a lost answer
    for code, data in dhcpv6_options(reply[4:]):
        for inner, value in dhcpv6_options(data[12:]) if code == 3 else ():
            if inner == 5:
                return socket.inet_ntop(socket.AF_INET6, value[:16])
    return None


def test_the_guest_gets_its_ipv6_address_by_dhcp(pod):
    guest = pod.start(masquerade())
    address = wait_until(lambda: dhcpv6_address(guest), DEADLINE,
                         "an answer by DHCPv6")
    assert address == "fd10:0:2::2"


def test_ipv6_works_both_ways(pod, fabric):
    guest = pod.start(masquerade())
    guest.dhcp()
    guest.network.ip("address add fd10:0:2::2/120 dev eth0 nodad")
    wait_until(lambda: "default" in guest.network.ip("-6 route").stdout,
               DEADLINE, "a router's advertisement")
    with serve(fabric.network, socket.AF_INET6) as server:
        port = server.getsockname()[1]
        seen = asks(server, dial(guest.network, NODE6, port,
                                 socket.AF_INET6))
        assert seen == POD6
    with serve(guest.network, socket.AF_INET6) as server:
        port = server.getsockname()[1]
        seen = asks(server, dial(fabric.network, POD6, port,
                                 socket.AF_INET6))
        assert seen == NODE6


def test_the_gateway_is_the_same_for_a_guest_that_moved(world, pod, fabric):
    other = world.pod("pod-b")
    other.attach("eth0", fabric, "10.244.1.6/24")
    first, second = pod.setup(masquerade()), other.setup(masquerade())
    assert first["interfaces"][0]["mac"] == second["interfaces"][0]["mac"]
    macs = {link["address"] for p in (pod, other)
            for link in p.state()["links"] if link["ifname"] == "k6t-eth0"}
    assert macs == {"02:00:00:00:00:00"}


def test_connections_outlive_a_second_setup(pod, fabric):
    machine = masquerade()
    guest = pod.start(machine)
    guest.dhcp()
    with serve(fabric.network) as server:
        client = dial(guest.network, NODE4, server.getsockname()[1])
        accepted, _ = server.accept()
        with client, accepted:
            pod.setup(machine)
            client.sendall(b"still")
            assert accepted.recv(8) == b"still"
            accepted.sendall(b"here")
            assert client.recv(8) == b"here"


def test_the_server_is_confined(pod):
    pod.setup(masquerade())
    server, = pod.servers()
    with open(f"/proc/{server}/status", encoding="ascii") as lines:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in lines)
    assert set(status["Uid"].split()) == {"65534"}
    assert int(status["CapEff"], 16) & ~0x3000 == 0, "only NET_ADMIN, NET_RAW"
    assert int(status["CapBnd"], 16) & (1 << 21) == 0, "no SYS_ADMIN"
    assert status["NoNewPrivs"] == "1"
    seen = subprocess.run(["ls", f"/proc/{server}/root/"], text=True,
                          capture_output=True, check=True).stdout.split()
    assert set(seen) == {"dev", "etc", "lib", "lib64", "usr"}
