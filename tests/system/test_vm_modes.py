# SPDX-License-Identifier: Apache-2.0
"""Ways to migrate: with disks, limited, throttled, post-copy, paused."""

import os
import subprocess
import tempfile
from datetime import datetime

import pytest

import lab_disk
from embedded import PATIENCE, Embedded
from kubeapi import wait_for

MIB = 1 << 20
DISK_IMAGE = "ferry/disk:test"
DISK_MIB = 16
# 48 MiB/s of 16 MiB, again and again: with a fifth of that for the transfer it
# never ends by itself.
BUSY = "16,12000"
SLOW = "10Mi"
LIMIT = 10 * MIB
EPHEMERAL = "/var/run/kubevirt-ephemeral-disks"


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def fixture_tidy(cluster):
    """Nothing is left of what has moved."""
    yield
    cluster.check_tidy()


@pytest.fixture(scope="module", name="busy")
def fixture_busy(cluster):
    machine = cluster.start_machine("busy", dirty=BUSY)
    yield machine
    machine.delete()


def disk(name, source):
    return {"disks": [{"name": name, "disk": {"bus": "virtio"}}],
            "volumes": [{"name": name, **source}]}


def sent(cluster, node, interface):
    """Bytes that a node has sent."""
    with cluster.node_network(node) as network, network.entered():
        with open("/proc/thread-self/net/dev", encoding="ascii") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if name.strip() == interface:
                    return int(rest.split()[8])
    raise AssertionError(f"{node} has no {interface}")


def snapshot(machine, path, out):
    """A disk of a paused machine, as it reads from inside, into a file."""
    pid = machine.process(machine.node, "qemu-system-x86")
    inside = f"/tmp/{os.path.basename(out)}"
    subprocess.run(
        ["nsenter", "-t", str(pid), "-m", "qemu-img", "convert", "-U", "-f",
         "qcow2", "-O", "raw", path, inside], check=True, timeout=PATIENCE)
    with open(f"/proc/{pid}/root{inside}", "rb") as source, \
            open(out, "wb") as target:
        target.write(source.read())
    os.unlink(f"/proc/{pid}/root{inside}")


def snapshots(machine, directory, when):
    paths = {"root": f"{EPHEMERAL}/disk-data/root/disk.qcow2",
             "scratch": f"{EPHEMERAL}/empty-disks/scratch.qcow2"}
    machine.pause()
    made = {}
    for name, path in paths.items():
        made[name] = os.path.join(directory, f"{name}-{when}")
        snapshot(machine, path, made[name])
    machine.pause(False)
    return made


def test_disks_that_only_the_node_has_move_with_the_machine(cluster):
    with tempfile.TemporaryDirectory() as directory:
        image = os.path.join(directory, "image")
        lab_disk.create(image, DISK_MIB)
        cluster.ferryctl("image", "import", DISK_IMAGE, "--disk", image)
        root = disk("root", {"containerDisk": {"image": DISK_IMAGE}})
        scratch = disk("scratch",
                       {"emptyDisk": {"capacity": f"{DISK_MIB}Mi"}})
        machine = cluster.start_machine(
            "blocky", disks=root["disks"] + scratch["disks"],
            volumes=root["volumes"] + scratch["volumes"])
        machine.check(disk=True)
        assert machine.vmi["status"]["migrationMethod"] == "BlockMigration"
        before = snapshots(machine, directory, "before")
        machine.migrate()
        machine.check(disk=True)
        after = snapshots(machine, directory, "after")
        for name, path in before.items():
            assert lab_disk.compare(path, after[name]) > 0
        machine.migrate()
        machine.check(disk=True)
    machine.delete()


def test_a_disk_that_both_nodes_reach_stays_where_it_is(cluster):
    cluster.create({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared"},
        "spec": {"storageClassName": "ferry-shared",
                 "accessModes": ["ReadWriteMany"],
                 "resources": {"requests": {"storage": "32Mi"}}}})
    machine = cluster.start_machine("sharing", **disk(
        "data", {"persistentVolumeClaim": {"claimName": "shared"}}))
    machine.check(disk=True)
    assert machine.vmi["status"]["migrationMethod"] == "LiveMigration"
    machine.migrate()
    machine.check(disk=True)
    machine.delete()
    cluster.kubectl("delete", "pvc", "shared")


@pytest.fixture(scope="module", name="throttled")
def fixture_throttled(cluster, busy):
    """A migration that a policy gives little bandwidth and leave to slow the
    guest down, and what the source has sent meanwhile."""
    source = busy.node
    before = {name: sent(cluster, source, name) for name in ("mig0", "eth0")}
    with busy.policy(bandwidthPerMigration=SLOW, allowAutoConverge=True):
        vmim = busy.wait_migration(busy.begin_migration())
    return vmim["status"]["migrationState"], {
        name: sent(cluster, source, name) - bytes_before
        for name, bytes_before in before.items()}


def elapsed(state):
    begin, end = (datetime.fromisoformat(state[name].rstrip("Z"))
                  for name in ("startTimestamp", "endTimestamp"))
    return (end - begin).total_seconds()


def test_a_busy_guest_is_slowed_down_until_it_can_leave(busy, throttled):
    state, _ = throttled
    assert state["mode"] == "PreCopy"
    assert state["progress"]["throttlePercent"] > 0
    busy.check_alone()


def test_a_policy_limits_the_rate(throttled):
    state, _ = throttled
    assert state["migrationConfiguration"]["bandwidthPerMigration"] == SLOW
    # The nodes' clock has seconds, and what is left at the end goes faster.
    seconds = elapsed(state) + 1
    copied = state["progress"]["bytesProcessed"]
    assert copied < LIMIT * seconds * 1.1 + 16 * MIB


def test_memory_goes_over_the_network_for_migrations(throttled):
    state, bytes_sent = throttled
    copied = state["progress"]["bytesProcessed"]
    assert bytes_sent["mig0"] > copied * 0.9 > 20 * MIB
    assert bytes_sent["eth0"] < copied / 4


def test_without_leave_to_disrupt_it_is_given_up_and_runs_on(busy):
    source = busy.node
    with busy.policy(bandwidthPerMigration=SLOW, completionTimeoutPerGiB=12):
        vmim = busy.wait_migration(busy.begin_migration(), "Failed")
    state = vmim["status"]["migrationState"]
    assert state["failureCode"] == "CompletionTimeout"
    assert "completionTimeoutPerGiB" in state["failureReason"]
    assert busy.node == source
    busy.check_alone()


def test_post_copy_ends_what_would_never_end(busy):
    with busy.policy(bandwidthPerMigration=SLOW, completionTimeoutPerGiB=12,
                     allowPostCopy=True, allowWorkloadDisruption=True):
        vmim = busy.wait_migration(busy.begin_migration())
    state = vmim["status"]["migrationState"]
    assert state["mode"] == "PostCopy"
    # How long it stood still nobody has measured, and nobody makes it up.
    assert state["progress"]["blackoutMs"] == 0
    busy.check_alone()


def test_a_pause_ends_what_would_never_end(busy):
    with busy.policy(bandwidthPerMigration=SLOW, completionTimeoutPerGiB=12,
                     allowWorkloadDisruption=True):
        vmim = busy.wait_migration(busy.begin_migration())
    state = vmim["status"]["migrationState"]
    assert state["mode"] == "Paused"
    # From the pause on; all nodes have one clock here.
    progress = state["progress"]
    assert 0 < progress["blackoutMs"] <= progress["downtimeMs"]
    busy.check_alone()


def test_a_paused_machine_stays_paused_where_it_goes(busy):
    busy.pause()
    busy.migrate()
    assert busy.conditions()["Paused"]["status"] == "True"
    counted = busy.count()
    busy.wait_alone()
    assert busy.count() == counted
    busy.pause(False)
    wait_for("it not to be paused",
             lambda: "Paused" not in busy.conditions(), PATIENCE)
    busy.check_alone()
