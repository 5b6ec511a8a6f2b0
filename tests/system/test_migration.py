# SPDX-License-Identifier: Apache-2.0
"""Real guests, real libvirt, through two ferry-proxy daemons."""

import contextlib
import os
import socket

import libvirt

from lab_guest import ADDRESS
from lab_space import wait_until

PARALLEL = {libvirt.VIR_MIGRATE_PARAM_PARALLEL_CONNECTIONS: 4}


def there(lab, guest):
    """The node the guest is not on."""
    return lab.other(lab.node_of(guest.pod))


def echo(connection, text):
    connection.sendall(text)
    got = b""
    while len(got) < len(text):
        data = connection.recv(1024)
        assert data, "the guest closed the connection"
        got += data
    assert got == text


def test_memory_moves_there_and_back(lab, guest):
    for _ in range(2):
        before = guest.counter()
        lab.migrate(guest, there(lab, guest))
        guest.check()
        assert guest.counter() > before


def test_all_of_it_goes_through_the_proxies(lab, guest):
    source, target = lab.node_of(guest.pod), there(lab, guest)
    with lab.route(source, target) as key:
        migration = lab.begin(guest, target, key).succeed()

        def carried(node, side):
            entry = node.listener(side, key)
            return None if entry["streams"] else entry

        sender = wait_until(lambda: carried(source, "source"), 10,
                            "the source's streams to end")
        receiver = wait_until(lambda: carried(target, "target"), 10,
                              "the target's streams to end")
    assert sender["sentBytes"] == receiver["receivedBytes"]
    assert sender["receivedBytes"] == receiver["sentBytes"]
    memory = migration.statistics()["memory_processed"]
    assert memory > 32 << 20
    assert sender["sentBytes"] > memory
    assert not sender["failures"] and not receiver["failures"]


def test_connections_to_the_guest_live_on(lab, guest):
    with lab.client.entered():
        connection = socket.create_connection((ADDRESS, 7), timeout=30)
    with connection, lab.pinging(ADDRESS) as pinger:
        echo(connection, b"before")
        lab.migrate(guest, there(lab, guest))
        echo(connection, b"after")
    assert pinger.received > 0
    # Far above what is usual (0.2 s): machines that run tests are busy.
    assert pinger.gap_ms < 5000


def test_an_ipv6_migration_network(lab, guest):
    source, target = lab.node_of(guest.pod), there(lab, guest)
    bind = {"bind": "fd77::/64"}
    with lab.route(source, target, target_options=bind) as key:
        lab.begin(guest, target, key).succeed()


def test_plain_mode(lab, guest):
    source, target = lab.node_of(guest.pod), there(lab, guest)
    plain = {"plain": True}
    with lab.route(source, target, source_options=plain,
                   target_options=plain) as key:
        lab.begin(guest, target, key).succeed()


def test_directories_handed_over_as_descriptors(lab, guest):
    source, target = lab.node_of(guest.pod), there(lab, guest)
    key = lab.new_key()
    with contextlib.ExitStack() as stack:
        def directory(path):
            fd = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, fd)
            return fd

        params = target.target_params(key, source)
        fds = [directory(params.pop("dir")),
               directory(os.path.dirname(params["controlSocket"]))]
        params.update(dirFd=0, controlDirFd=1,
                      controlSocket=os.path.basename(params["controlSocket"]))
        listening = target.call("target.start", params, fds)
        stack.callback(target.stop_listener, "target", key)

        params = source.source_params(key, target, listening)
        fds = [directory(params.pop("dir"))]
        source.call("source.start", {**params, "dirFd": 0}, fds)
        stack.callback(source.stop_listener, "source", key)

        lab.begin(guest, target, key).succeed()


def test_parallel_connections_never_wedge(lab, guest):
    for _ in range(20):
        lab.migrate(guest, there(lab, guest), libvirt.VIR_MIGRATE_PARALLEL,
                    **PARALLEL)


def test_postcopy(lab, guest):
    source, target = lab.node_of(guest.pod), there(lab, guest)
    slow = {libvirt.VIR_MIGRATE_PARAM_BANDWIDTH: 6}
    with lab.route(source, target) as key:
        migration = lab.begin(guest, target, key,
                              libvirt.VIR_MIGRATE_POSTCOPY, **slow)
        migration.wait_midstream()
        migration.start_postcopy()
        migration.succeed()


def test_a_disk_moves_there_and_back(lab, disk_guest):
    for _ in range(2):
        source = disk_guest.pod
        lab.migrate(disk_guest, there(lab, disk_guest))
        disk_guest.wait_alive()
        disk_guest.check_disk(source)


def test_a_disk_moves_with_parallel_connections(lab, disk_guest):
    source = disk_guest.pod
    lab.migrate(disk_guest, there(lab, disk_guest),
                libvirt.VIR_MIGRATE_PARALLEL, **PARALLEL)
    disk_guest.wait_alive()
    disk_guest.check_disk(source)
