# SPDX-License-Identifier: Apache-2.0
"""Networks of pods after kills, damage and hostility: whole again, or gone."""

import json
import os
import signal
import subprocess

import pytest

from lab_space import wait_until
from podnets import DEADLINE, PODNET, Fabric, World, vmi

LAN = "pod094a367b026"
MACHINES = {
    "bridge": vmi(({"bridge": {}}, {"pod": {}})),
    "masquerade": vmi(({"masquerade": {}, "ports": [{"port": 80}]},
                       {"pod": {}})),
    "attachment": vmi(({"masquerade": {}}, {"pod": {}}),
                      ({"bridge": {}},
                       {"name": "lan", "multus": {"networkName": "lan"}})),
}


@pytest.fixture(name="world")
def world_fixture():
    world = World()
    yield world
    world.close()


@pytest.fixture(name="fabric")
def fabric_fixture():
    return Fabric("fabric", "10.244.1.1/24", "fd77::1/64")


def make_pod(world, fabric, name="pod-a"):
    """Always the same, so that two of them can be compared."""
    pod = world.pod(name)
    pod.attach("eth0", fabric, "10.244.1.5/24", mac="0a:58:0a:f4:01:05",
               mtu=1450)
    pod.attach(LAN, fabric, "192.168.7.5/24", mac="0a:58:c0:a8:07:05")
    pod.network.ip("address add fd77::5/64 dev eth0 nodad")
    pod.network.ip("route add 10.99.0.0/16 via 10.244.1.9")
    pod.network.ip("route add default via 10.244.1.1")
    return pod


@pytest.fixture(name="pod")
def pod_fixture(world, fabric):
    return make_pod(world, fabric)


@pytest.fixture(name="machine", params=sorted(MACHINES))
def machine_fixture(request):
    return MACHINES[request.param]


def without_random(state):
    """Taps have MACs of the kernel's choice, which nobody uses."""
    for link in state["links"]:
        if link["ifname"].startswith("tap"):
            link["address"] = None
    return state


def test_a_second_setup_finds_nothing_to_do(pod, machine):
    first = pod.setup(machine)
    assert first["changed"] and first["mended"] == ""
    before, servers = pod.state(), pod.servers()
    second = pod.setup(machine)
    assert second == {**first, "changed": False}
    assert pod.missing(machine) == []
    assert pod.state() == before
    assert pod.servers() == servers


def test_a_setup_killed_at_any_step_is_completed(pod, machine):
    steps = len(pod.steps(machine))
    assert steps > 10
    wanted = pod.setup(machine)
    state, files = without_random(pod.state()), read_all(pod.cache)
    for stop in range(steps + 1):
        pod.teardown()
        pod.setup_until(machine, stop)
        assert pod.setup(machine) == wanted, stop
        assert without_random(pod.state()) == state, stop
        assert read_all(pod.cache) == files, stop
        assert len(pod.servers()) == 1, stop


def test_a_handler_killed_for_real_leaves_nothing_half(pod, machine):
    """SIGKILL at whatever it is doing, again and again, then once in peace."""
    path = os.path.join(pod.world.directory, "vmi.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(machine, out)
    for delay_ms in range(0, 40, 2):
        with subprocess.Popen([PODNET, "setup", str(pod.pid), pod.name, path,
                               pod.cache], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(delay_ms / 1000)
            except subprocess.TimeoutExpired:
                process.kill()
    made = pod.setup(machine)
    assert pod.missing(machine) == []
    assert pod.setup(machine) == {**made, "changed": False, "mended": ""}
    wait_until(lambda: len(pod.servers()) == 1, DEADLINE, "one DHCP server")
    guest = pod.start(machine)
    assert guest.dhcp()["ip"] in ("10.0.2.2", "10.244.1.5")
    assert sorted(name for name in os.listdir(pod.cache)
                  if not name.startswith(".")) == sorted(read_all(pod.cache))


def read_all(directory):
    found = {}
    for name in os.listdir(directory):
        if name.startswith("vif-cache-"):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                found[name] = file.read()
    return found


def test_teardown_leaves_the_pod_as_it_was(pod, machine):
    before = pod.state()
    pod.setup(machine)
    pod.teardown()
    after = pod.state()
    assert pod.servers() == []
    assert read_all(pod.cache) == {}
    for key in ("links", "addresses", "rules"):
        assert after[key] == before[key], key

    def ipv4_routes(state):
        return sorted((r["dst"], r.get("gateway"), r["dev"])
                      for r in state["routes"] if ":" not in r["dst"])

    assert ipv4_routes(after) == ipv4_routes(before)
    pod.teardown()
    assert pod.setup(machine)["changed"], "and it can be set up again"


def damage_cut(path):
    os.truncate(path, 7)


def damage_words(path):
    with open(path, "w", encoding="ascii") as out:
        out.write('{"version":1,"mac":"02:de:ad:be:ef:00"}')


def damage_huge(path):
    os.truncate(path, 1 << 30)


def damage_missing(path):
    os.unlink(path)


def damage_link(path):
    os.unlink(path)
    os.symlink(os.path.join(os.path.dirname(path), "precious"), path)


def damage_fifo(path):
    os.unlink(path)
    os.mkfifo(path)


def damage_directory(path):
    os.unlink(path)
    os.mkdir(path)


@pytest.mark.parametrize("damage", [
    damage_cut, damage_words, damage_huge, damage_missing, damage_link,
    damage_fifo, damage_directory])
def test_a_damaged_vif_cache_is_mended_and_told(pod, damage):
    machine = MACHINES["bridge"]
    precious = os.path.join(pod.cache, "precious")
    with open(precious, "w", encoding="ascii") as out:
        out.write("not yours")
    first = pod.setup(machine)
    files, servers = read_all(pod.cache), pod.servers()
    assert json.loads(files["vif-cache-eth0.json"])["version"] == 1
    damage(os.path.join(pod.cache, "vif-cache-eth0.json"))
    second = pod.setup(machine)
    assert second["interfaces"] == first["interfaces"]
    assert not second["changed"]
    assert "vif-cache" in second["mended"]
    assert read_all(pod.cache) == files
    assert pod.servers() == servers
    with open(precious, encoding="ascii") as file:
        assert file.read() == "not yours"
    assert pod.setup(machine)["mended"] == ""


def test_a_dead_server_is_started_again(pod, machine):
    pod.setup(machine)
    server, = pod.servers()
    os.kill(server, signal.SIGKILL)
    wait_until(lambda: not pod.servers(), DEADLINE, "the server's end")
    assert "DHCP" in pod.setup(machine)["mended"]
    assert len(pod.servers()) == 1
    assert pod.start(machine).dhcp()["ip"]


def test_a_server_with_other_words_is_replaced(pod):
    machine = MACHINES["bridge"]
    pod.setup(machine)
    old, = pod.servers()
    named = {**machine, "spec": {**machine["spec"], "hostname": "other"}}
    pod.setup(named)
    new, = pod.servers()
    assert new != old
    assert pod.start(named).dhcp()["hostname"] == "other"


def test_the_server_ends_with_the_pod(pod, machine):
    pod.setup(machine)
    server, = pod.servers()
    pod.kill()
    wait_until(lambda: not os.path.exists(f"/proc/{server}"), DEADLINE,
               "the server's end")


def test_the_server_is_nobody_s_but_the_pod_s(pod):
    pod.setup(MACHINES["masquerade"])
    server, = pod.servers()
    with open(f"/proc/{server}/stat", encoding="ascii") as file:
        parent = int(file.read().rpartition(")")[2].split()[1])
    assert parent == pod.pid


def test_a_process_outside_of_any_pod_is_refused(pod):
    done = pod.podnet("teardown", str(os.getpid()), pod.cache, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Denied: ")


def test_something_else_by_the_name_of_a_bridge_is_not_touched(pod):
    pod.network.ip("link add k6t-eth0 type veth peer name else0")
    line = pod.setup_fails(MACHINES["bridge"])
    assert line.startswith("Conflict: ") and "k6t-eth0" in line
    assert dict(pod.state()["addresses"])["eth0"] != []


def test_an_old_tap_of_another_kind_is_replaced(pod):
    pod.network.ip("tuntap add tap0 mode tun")
    made = pod.setup(MACHINES["masquerade"])
    assert made["changed"]
    assert pod.start(MACHINES["masquerade"]).dhcp()["ip"] == "10.0.2.2"


def test_a_hostile_resolv_conf_says_nothing_to_the_server(world, fabric):
    pod = make_pod(world, fabric)
    with open(os.path.join(world.directory, "pod-a-resolv.conf"), "w",
              encoding="ascii") as out:
        out.write("search ok.example bad,option:router,6.6.6.6 -x\n"
                  "nameserver 10.96.0.10\nnameserver 1.2.3.4,5.6.7.8\n"
                  "dhcp-script=/bin/sh\n")
    guest = pod.start(MACHINES["masquerade"])
    lease = guest.dhcp()
    assert lease["router"] == "10.0.2.1"
    assert lease["dns"] == "10.96.0.10"
    assert lease["search"] == "ok.example"
