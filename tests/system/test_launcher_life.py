# SPDX-License-Identifier: Apache-2.0
"""A machine in its pod: what it is made of, and how it ends."""

import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import threading

import libvirt
import libvirt_qemu
import pytest

import rpc
from lab_space import wait_until
from launchers import PATIENCE, LauncherLab, Machine, Shared, make_vmi

DOMAINS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                       "data", "domain", "*.out.xml")
MIB = 1 << 20
CONNECTED = "03"  # in /proc/net/unix
OPENAT = "257"  # in /proc/PID/syscall
OWED_BYTES = 4096


@pytest.fixture(scope="module", name="shared_lab")
def fixture_shared_lab():
    shared = Shared()
    yield shared
    shared.close()


@pytest.fixture
def launcher_lab(request, shared_lab):
    if shared_lab.lab is None:
        shared_lab.lab = LauncherLab()
    yield shared_lab.lab
    if getattr(request.node, "lab_failed", False):
        shared_lab.close()


def disk(name, bus, **more):
    return {"name": name, "disk": {"bus": bus}, **more}


def add_host_file(pod, volume, name, mib):
    path = pod.outside(f"/run/kubevirt-private/vmi-disks/{volume}/{name}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if mib:
        with open(path, "wb") as file:
            file.truncate(mib * MIB)


def disks_of(pod):
    """The disks as libvirt has them: target to (size, path)."""
    connection = pod.connect()
    try:
        domain = connection.listAllDomains()[0]
        return {target: (domain.blockInfo(target)[0],
                         domain.blockInfo(target))
                for target in ("vda", "vdb", "vdc", "vdd", "sda")}
    finally:
        connection.close()


def kill_all(pids):
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def monitor_clients(pod):
    """How many are connected to QEMU's monitor."""
    qemu, = pod.processes("qemu")
    with open(f"/proc/{qemu}/net/unix", encoding="utf-8") as file:
        return sum(line.rstrip().endswith("/monitor.sock")
                   and line.split()[5] == CONNECTED for line in file)


@contextlib.contextmanager
def owing(pod):
    """QEMU is busy with a question of libvirtd's until what it yields is
    called: it writes to a pipe that nobody reads."""
    path = "/run/owed"
    os.mkfifo(pod.outside(path))
    connection = pod.connect()
    question = json.dumps({"execute": "pmemsave", "arguments": {
        "val": 0, "size": OWED_BYTES, "filename": path}})
    domain, = connection.listAllDomains()

    def ask():
        with contextlib.suppress(libvirt.libvirtError):
            libvirt_qemu.qemuMonitorCommand(domain, question, 0)

    def waits():
        qemu, = pod.processes("qemu")
        with open(f"/proc/{qemu}/syscall", encoding="ascii") as file:
            return file.read().split()[0] == OPENAT

    def pay():
        """Reads it; where QEMU is gone nothing ever comes."""
        read = b""
        pipe = os.open(pod.outside(path), os.O_RDONLY | os.O_NONBLOCK)

        def more():
            nonlocal read
            with contextlib.suppress(BlockingIOError):
                read += os.read(pipe, OWED_BYTES)
            return len(read) == OWED_BYTES

        try:
            wait_until(more, PATIENCE, "what QEMU writes")
        finally:
            os.close(pipe)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        wait_until(waits, PATIENCE, "QEMU to be busy")
        yield pay
    finally:
        thread.join(PATIENCE)
        with contextlib.suppress(libvirt.libvirtError):
            connection.close()


def drivers_of(pod):
    """Names of the drivers that the pod's libvirtd has loaded."""
    libvirtd, = pod.processes("libvirtd")
    with open(f"/proc/{libvirtd}/maps", encoding="utf-8") as file:
        return set(re.findall(r"/libvirt_driver_(\w+)\.so", file.read()))


def test_the_node_is_told_by_what_its_libvirt_says(launcher_lab):
    with open(os.path.join(launcher_lab.host, "host.json"),
              encoding="utf-8") as file:
        host = json.load(file)
    assert host["arch"] == "x86_64"
    assert host["kvm"] is False
    assert "qemu64" in host["cpuModels"]
    assert host["hostModel"] and "q35" in host["machines"]
    assert host["libvirt"].startswith("9.") and host["qemu"].startswith("7.")
    assert os.listdir(os.path.join(launcher_lab.host, "capabilities"))


def test_a_machine_has_disks_of_each_kind(launcher_lab, tmp_path):
    """One machine for all that needs one that has booted."""
    vmi = make_vmi(
        "all", dirty="4,0",
        disks=[disk("empty", "virtio"), disk("image", "virtio"),
               disk("claim", "virtio"), disk("host", "virtio"),
               disk("init", "sata")],
        volumes=[{"name": "empty", "emptyDisk": {"capacity": "16Mi"}},
                 {"name": "image", "containerDisk": {"image": "i"}},
                 {"name": "claim", "persistentVolumeClaim":
                     {"claimName": "c"}},
                 {"name": "host", "hostDisk":
                     {"path": "/x/host.img", "type": "DiskOrCreate",
                      "capacity": "8Mi"}},
                 {"name": "init", "cloudInitNoCloud":
                     {"userData": "#cloud-config\nhostname: x\n",
                      "networkData": "version: 2\n"}}])
    # host-model is what machines get that name none.
    del vmi["spec"]["domain"]["cpu"]
    vmi["spec"]["domain"]["devices"]["rng"] = {}
    image = tmp_path / "image" / "disk"
    image.mkdir(parents=True)
    (image / "d.img").write_bytes(b"\0" * (4 * MIB))
    pod = launcher_lab.new_pod(launcher_lab.a, vmi)
    pod.add_image("image", str(tmp_path / "image"))
    add_host_file(pod, "claim", "disk.img", 32)
    add_host_file(pod, "host", "", 0)
    machine = Machine(pod, has_disk=True)
    machine.boot()
    sizes = {target: size for target, (size, _) in disks_of(pod).items()}
    assert sizes["vda"] == 16 * MIB
    assert sizes["vdb"] == 4 * MIB
    assert sizes["vdc"] == 32 * MIB
    assert sizes["vdd"] == 8 * MIB
    iso = pod.outside("/run/kubevirt-ephemeral-disks/cloud-init/init/"
                      "noCloud.iso")
    listing = subprocess.run(
        ["xorriso", "-indev", iso, "-osirrox", "on", "-extract", "/",
         str(tmp_path / "iso")], capture_output=True, text=True, timeout=60,
        check=False)
    assert listing.returncode == 0, listing.stderr
    assert (tmp_path / "iso" / "user-data").read_text() == \
        "#cloud-config\nhostname: x\n"
    assert json.loads((tmp_path / "iso" / "meta-data").read_text()) == {
        "instance-id": "all.default", "local-hostname": "all"}
    assert (tmp_path / "iso" / "network-config").exists()

    # The same again changes nothing.
    before = pod.processes("qemu")
    assert pod.sync()["domain"]["state"] == "Running"
    assert pod.processes("qemu") == before
    # What it says is in the pod's log.
    assert "counter boot=" in pod.process.output()

    # A libvirtd that dies is started again, and finds the machine.
    kill_all(pod.processes("libvirtd"))
    wait_until(lambda: not pod.status()["libvirtUp"], PATIENCE,
               "libvirtd to be missed", interval=0.001)
    wait_until(lambda: pod.status()["libvirtUp"], PATIENCE,
               "libvirtd to be back")
    assert pod.domain()["state"] == "Running"
    machine.check()

    # The next one also where QEMU owes an answer to the one that died.
    with owing(pod) as pay:
        kill_all(pod.processes("libvirtd"))
        wait_until(lambda: not monitor_clients(pod), PATIENCE,
                   "QEMU to be alone")
        wait_until(lambda: monitor_clients(pod), PATIENCE,
                   "somebody to ask QEMU")
        pay()
    wait_until(lambda: pod.status()["libvirtUp"], PATIENCE,
               "libvirtd to be back")
    assert pod.domain()["state"] == "Running"
    machine.check()

    # A QEMU that dies takes the machine with it.
    kill_all(pod.processes("qemu"))
    ended = pod.wait_domain("Crashed")
    assert ended["reason"] == "QemuGone"
    assert pod.wait_end() == 1


def test_libvirt_takes_every_domain_that_is_made(launcher_lab):
    pod = launcher_lab.new_pod(launcher_lab.b, make_vmi("none"))
    wait_until(lambda: pod.status()["libvirtUp"], PATIENCE, "libvirtd")
    assert drivers_of(pod) == {"qemu"}
    connection = pod.connect()
    try:
        for path in glob.glob(DOMAINS):
            with open(path, encoding="utf-8") as file:
                xml = file.read()
            if not xml.startswith("<"):
                continue  # an error
            # There is no KVM to say what its CPU is.
            xml = xml.replace('type="kvm"', 'type="qemu"')
            connection.defineXMLFlags(
                xml, libvirt.VIR_DOMAIN_DEFINE_VALIDATE).undefine()
    finally:
        connection.close()

    # What cannot be made says why, and leaves nothing.
    wrong = json.loads(json.dumps(pod.vmi))
    wrong["metadata"]["uid"] = "another"
    with pytest.raises(rpc.RpcError, match="vmi.metadata.uid"):
        pod.call("sync", vmi=wrong, interfaces=[])
    with pytest.raises(rpc.RpcError, match="no tap for 'default'"):
        pod.call("sync", vmi=pod.vmi, interfaces=[])
    with pytest.raises(rpc.RpcError, match="wish"):
        pod.call("sync", vmi=pod.vmi, wish=1)
    with pytest.raises(rpc.RpcError) as refused:
        pod.call("versions", protocolMin=9, protocolMax=9, program="old",
                 version="9")
    assert refused.value.kind == "Refused"
    assert pod.domain()["state"] == "NoDomain"

    # Nobody needs it: it goes when told to.
    launcher, = pod.processes("ferry-launcher")
    os.kill(launcher, signal.SIGTERM)
    assert pod.wait_end() == 0


def test_a_launcher_that_nobody_uses_ends(launcher_lab):
    pod = launcher_lab.new_pod(launcher_lab.b, make_vmi("idle"),
                               "--qemu-timeout", "100ms")
    assert pod.wait_end() == 1
    assert "--qemu-timeout" in pod.process.output()
