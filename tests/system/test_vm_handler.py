# SPDX-License-Identifier: Apache-2.0
"""What a node's handler does when others are away, too old, or ill-willed.

FERRY_DEEP=1 has what takes minutes.
"""

import contextlib
import datetime
import glob
import json
import os
import signal
import time
import uuid

import pytest

import rpc
from embedded import PATIENCE, VMIM, Embedded
from kubeapi import wait_for
from proxies import BUILD, REPOSITORY
from phases import other
from test_vm_faults import reason_of

DEEP = bool(os.environ.get("FERRY_DEEP"))
NEXT_LAUNCHER = os.path.join(BUILD, "tests", "system", "ferry-launcher-next")
FLOODER = os.path.join(REPOSITORY, "tests", "system", "flooder.py")
VERSIONS = "ferry.io/launcher-versions"
# Of src/rpc/rpc.h, and what a socket holds besides.
NEWS_PER_SECOND = 20
NEWS_BURST = 200
NEWS_IN_SOCKETS = 3000


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="shared_machine")
def fixture_shared_machine(cluster):
    return cluster.start_machine("vm1", dirty="16,500")


@pytest.fixture(name="machine")
def fixture_machine(cluster, shared_machine):
    """It is alone and well afterwards, and nothing is left of what was
    tried."""
    yield shared_machine
    cluster.complete()
    shared_machine.check_alone()
    cluster.check_tidy()


@contextlib.contextmanager
def launcher_is(cluster, program):
    """New pods have another launcher meanwhile."""
    path, = glob.glob(os.path.join(cluster.dir, "images", "*launcher*",
                                   "image.json"))
    with open(path, encoding="utf-8") as file:
        kept = file.read()
    config = json.loads(kept)
    for bind in config["binds"]:
        if bind["target"] == "/usr/bin/ferry-launcher":
            bind["source"] = program

    def write(text):
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".new", path)

    write(json.dumps(config))
    try:
        yield
    finally:
        write(kept)


def events(cluster, reason):
    return [event for event in cluster.list("events")
            if event["reason"] == reason]


def control(cluster, node):
    return os.path.join(cluster.dir, node, "proxy.sock")


def keys(cluster, node, side):
    return [entry["key"] for entry in
            rpc.call(control(cluster, node), f"{side}.list")]


def test_a_launcher_of_another_version_gets_no_machine(cluster, machine):
    source = machine.node
    with launcher_is(cluster, NEXT_LAUNCHER):
        vmim = machine.wait_migration(machine.begin_migration(), "Failed")
    assert vmim["status"]["migrationState"]["failureCode"] == "VersionSkew"
    why = reason_of(vmim)["message"]
    assert "speaks protocol 9 to 9" in why
    assert "speaks 1 to 1: update ferry-handler" in why
    assert machine.node == source


def test_an_older_qemu_gets_no_machine(cluster, machine):
    source = machine.node
    versions = json.loads(machine.vmi["metadata"]["annotations"][VERSIONS])
    assert versions["qemu"] and versions["libvirt"]
    versions["qemu"] = "99.0.0"
    # The node that the machine is on would write the truth.
    cluster.signal("ferry-handler", source, signal.SIGSTOP)
    try:
        cluster.kubectl("annotate", "--overwrite", "vmi", machine.name,
                        f"{VERSIONS}={json.dumps(versions)}")
        name = machine.begin_migration()
        state = wait_for("the target to refuse", lambda: (
            s if (s := machine.vmi["status"].get("migrationState", {})).get(
                "failed") and s["migrationUid"] == cluster.get(
                    VMIM, name)["metadata"]["uid"] else None), PATIENCE)
    finally:
        cluster.signal("ferry-handler", source, signal.SIGCONT)
    assert state["failureCode"] == "VersionSkew"
    assert "QEMU 99.0.0" in state["failureReason"]
    assert f"update node '{other(cluster, source)}'" in state["failureReason"]
    machine.wait_migration(name, "Failed")
    wait_for("the node to say what it is", lambda: "99.0.0" not in
             machine.vmi["metadata"]["annotations"][VERSIONS], PATIENCE)


def test_a_network_that_somebody_spoils_is_mended(cluster, machine):
    pod = machine.pod_on(machine.node)
    path = glob.glob(os.path.join(machine.directory(pod, "private"),
                                  "vif-cache-*.json"))[0]
    with open(path, encoding="utf-8") as file:
        right = file.read()
    for spoil in (os.remove, lambda p: os.truncate(p, len(right) // 2)):
        before = sum(e.get("count", 1)
                     for e in events(cluster, "NetworkStateRebuilt"))
        spoil(path)

        def mended():
            with contextlib.suppress(OSError):
                with open(path, encoding="utf-8") as file:
                    return file.read() == right
            return False

        wait_for("the file to be as it was", mended, PATIENCE)
        wait_for("an event", lambda n=before: sum(
            e.get("count", 1)
            for e in events(cluster, "NetworkStateRebuilt")) > n, PATIENCE)


def test_without_proxies_machines_start_and_stop_and_migrations_wait(
        cluster, machine):
    for node in cluster.node_names():
        cluster.kill("ferry-proxy", node)
    second = cluster.start_machine("vm2")
    second.pause()
    wait_for("it to be paused", lambda: "Paused" in second.conditions(),
             PATIENCE)
    second.pause(False)
    second.delete()
    second = cluster.start_machine("vm2")
    second.delete()

    source = machine.node
    name = machine.begin_migration()
    wait_for("the target to say what it waits for", lambda:
             "ferry-proxy" in machine.vmi["status"].get(
                 "migrationState", {}).get("targetWaitsFor", ""), PATIENCE)
    wait_for("an event", lambda: events(cluster, "ProxyUnavailable"),
             PATIENCE)
    cluster.complete()
    machine.wait_migration(name)
    assert machine.node != source
    assert "targetWaitsFor" not in machine.vmi["status"]["migrationState"]


def leave_listener(cluster, node):
    """A listener as an earlier handler would have left it; its key."""
    key = str(uuid.uuid4())
    directory = os.open(cluster.scratch, os.O_PATH | os.O_DIRECTORY)
    try:
        rpc.call(control(cluster, node), "target.start",
                 {"key": key, "peer": "node1", "dirFd": 0}, [directory])
    finally:
        os.close(directory)
    assert key in keys(cluster, node, "target")
    return key


def test_listeners_of_machines_that_are_gone_are_stopped(cluster, machine):
    node = other(cluster, machine.node)
    # One that is there when the handler starts, and one that comes later.
    cluster.kill("ferry-handler", node)
    first = leave_listener(cluster, node)
    cluster.complete()
    wait_for("the first to go",
             lambda: first not in keys(cluster, node, "target"), PATIENCE)
    with machine.policy(bandwidthPerMigration="4Mi"):
        name = machine.begin_migration()
        machine.wait_copying(name)
        later = leave_listener(cluster, node)
        wait_for("the later one to go",
                 lambda: later not in keys(cluster, node, "target"), PATIENCE)
        machine.wait_migration(name)


def sent_by_flooder(machine):
    with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
        path = os.path.join(machine.directory(machine.pods()[-1], "sockets"),
                            "sent")
        with open(path, encoding="ascii") as file:
            return int(file.read())
    return 0


def test_a_launcher_that_never_stops_talking_costs_little(cluster, machine):
    node = machine.node
    pinned = {"nodeSelector": {"kubernetes.io/hostname": node}}
    with launcher_is(cluster, FLOODER):
        begin = time.monotonic()
        flooder = cluster.start_machine("flood", wait=False, spec=pinned)
        wait_for("a flood", lambda: sent_by_flooder(flooder) > NEWS_BURST,
                 PATIENCE)
    # Meanwhile others are looked after as ever.
    second = cluster.start_machine("vm2", spec=pinned)
    second.delete()
    sent = sent_by_flooder(flooder)
    assert sent <= NEWS_BURST + NEWS_IN_SOCKETS + NEWS_PER_SECOND * (
        time.monotonic() - begin), sent
    flooder.delete()


if DEEP:
    def test_a_target_without_a_handler_is_waited_for(cluster, machine):
        """The machine runs there, and for minutes nobody says so."""
        source = machine.node
        target = other(cluster, source)
        with machine.policy(bandwidthPerMigration="12Mi"):
            name = machine.begin_migration()
            machine.wait_copying(name, percent=10)
            cluster.kill("ferry-handler", target)
            left = wait_for("the source to give it away", lambda: machine.vmi[
                "status"]["migrationState"].get("endTimestamp"), PATIENCE)
        left = datetime.datetime.fromisoformat(left.replace("Z", "+00:00"))
        end = left + datetime.timedelta(seconds=75)
        wait_for("more than a minute to pass", lambda: datetime.datetime.now(
            datetime.timezone.utc) > end, PATIENCE)
        assert cluster.get(VMIM, name)["status"]["phase"] == "Running"
        assert machine.node == source
        cluster.complete()
        machine.wait_migration(name)
        assert machine.node == target
