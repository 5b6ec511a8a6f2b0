# SPDX-License-Identifier: Apache-2.0
"""Whatever breaks in the middle of a migration, the guest lives on."""

import contextlib
import json
import os
import subprocess
import time

import libvirt
import pytest

from conftest import PEER_TIMEOUT
from lab_space import DEADLINE, wait_until
from lines import read_line

HERE = os.path.dirname(os.path.abspath(__file__))

# Less than the guest rewrites: the migration goes on until this is lifted.
SLOW = {libvirt.VIR_MIGRATE_PARAM_BANDWIDTH: 4}
FAST_MIB = 1000

# For machines that are busy with other things as well.
SLACK = 5


@contextlib.contextmanager
def midstream(lab, guest):
    """A migration that has sent some memory and will not end by itself."""
    source = lab.node_of(guest.pod)
    target = lab.other(source)
    with lab.route(source, target) as key:
        migration = lab.begin(guest, target, key, **SLOW)
        migration.wait_midstream()
        yield source, target, key, migration


def start_controller(lab, source, target, key):
    """Another process starts the listeners; returns it and its results."""
    controller = lab.space.spawn(
        "controller",
        ["/usr/bin/python3", os.path.join(HERE, "lab_controller.py"),
         target.control, source.control,
         json.dumps(target.target_params(key, source)),
         json.dumps(source.source_params(key, target,
                                         {"address": "", "ports": {}}))],
        lab.client, stdout=subprocess.PIPE)
    line = read_line(controller.popen.stdout, DEADLINE)
    assert line, "the controlling process has ended"
    return controller, json.loads(line)


def test_streams_outlive_the_process_that_controls_them(lab, guest):
    source = lab.node_of(guest.pod)
    target = lab.other(source)
    key = lab.new_key()
    controller, started = start_controller(lab, source, target, key)
    migration = lab.begin(guest, target, key, **SLOW)
    migration.wait_midstream()

    controller.kill()
    controller.popen.stdout.close()

    # Another one comes, finds what runs, and asking again changes nothing.
    assert target.listener("target", key)
    assert source.listener("source", key)
    params = target.target_params(key, source)
    assert target.call("target.start", params) == started["target"]
    params = source.source_params(key, target, started["target"])
    assert source.call("source.start", params) == started["source"]

    migration.set_bandwidth(FAST_MIB)
    migration.succeed()
    source.stop_listener("source", key)
    target.stop_listener("target", key)


@pytest.mark.parametrize("how", ["down", "silent"])
def test_both_ends_notice_a_link_that_is_down(lab, guest, how):
    with midstream(lab, guest) as (source, target, key, migration):
        cut = time.monotonic()
        lab.cut(source, how)
        try:
            for node, side in ((source, "source"), (target, "target")):
                wait_until(lambda n=node, s=side: n.listener(s, key)
                           ["failures"].get("PeerDead"),
                           PEER_TIMEOUT + SLACK,
                           f"{node.name} to report a dead peer")
            assert time.monotonic() - cut < PEER_TIMEOUT + SLACK
            migration.fail()
        finally:
            lab.mend(source)
    guest.check()
    lab.migrate(guest, target)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_proxy_is_killed(lab, guest, side):
    with midstream(lab, guest) as (source, target, _, migration):
        (source if side == "source" else target).proxy.kill()
        migration.fail()
    guest.check()
    # A new daemon takes over the sockets of the old one.
    for node in (source, target):
        if not node.proxy.running():
            lab.start_proxy(node)
    lab.migrate(guest, target)


def test_a_migration_is_aborted(lab, guest):
    with midstream(lab, guest) as (source, target, key, migration):
        migration.abort()
        migration.fail()
        for node, side in ((source, "source"), (target, "target")):
            wait_until(lambda n=node, s=side: not n.listener(s, key)
                       ["streams"], 10, f"the streams of {node.name} to end")


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_listener_is_stopped(lab, guest, side):
    with midstream(lab, guest) as (source, target, key, migration):
        node = source if side == "source" else target
        node.call(f"{side}.stop", {"key": key})
        migration.fail()
    guest.check()
    lab.migrate(guest, target)
