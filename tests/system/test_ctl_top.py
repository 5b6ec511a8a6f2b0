# SPDX-License-Identifier: Apache-2.0
"""ferryctl top: live on a terminal, again and again in a pipe, for scripts."""

import json
import os
import re
import select
import signal

import pytest

from ctls import PATIENCE, World, compare
from faults import Faults
from kubeapi import wait_for
from lines import Lines, ended
from played_objects import VMIS, namespaced
from played_steps import status

PROGRESS = {"percent": 42, "bytesTotal": 1 << 30, "bytesProcessed": 430 << 20,
            "bytesRemaining": 594 << 20, "rateBytesPerSecond": 110 << 20,
            "dirtyRateBytesPerSecond": 3 << 20, "iteration": 1,
            "etaSeconds": 6}


@pytest.fixture(name="world", scope="module")
def world_():
    with World("top-a", "top-b", "top-c") as made:
        for name in ("vm1", "vm2", "vm3"):
            made.machine(name)
        yield made


@pytest.fixture(name="moving", scope="module")
def moving_(world):
    """vm1 is at 42 %, vm2 waits, vm3 has moved; the name of vm1's."""
    for node in world.nodes:
        world.cluster.kubectl("uncordon", node)
    assert world.told("migrate", "vm3", "--wait").endswith("Succeeded\n")
    world.progress("vm3", downtimeMs=78, blackoutMs=75)
    world.played.hold("arrive", "default/vm1")
    world.told("migrate", "vm1")
    wait_for("the transfer of vm1", lambda: status(
        world.migrations("vm1")[-1]).get("phase") == "Running", PATIENCE)
    world.progress("vm1", **PROGRESS)
    for node in world.nodes:
        world.cluster.kubectl("cordon", node)
    world.told("migrate", "vm2")
    wait_for("vm2 to wait", lambda: any(
        c["type"] == "ferry.io/Waiting" and c["reason"] == "PodUnschedulable"
        for c in status(world.migrations("vm2")[-1]).get("conditions", [])),
        PATIENCE)
    return world.migrations("vm1")[-1]["metadata"]["name"]


def steady(text):
    """Without names, nodes, times and widths that differ from run to run."""
    text = re.sub(r"kubevirt-migrate-vm-\w+", "MIGRATION", text)
    text = re.sub(r"top-[abc]", "NODE", text)
    text = re.sub(r"\d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"\d+s\b", "SECONDS", text)
    text = re.sub(r"(?<=NODE  )(\w+) +\d+ +\d+ +\d+ +\w+",
                  r"\1 N N N DRAIN", text)
    return re.sub(r" {2,}", "  ", text)


def row(text, part):
    """The columns of the line that has this in it."""
    [line] = [line for line in text.splitlines() if part in line]
    return re.split(r" {2,}", line.strip())


def test_once_is_a_table(world, moving):
    text = world.told("top", "--once")
    lines = steady(text).splitlines()
    compare("top.txt", "\n".join([*lines[:6], *sorted(lines[6:])]) + "\n")
    assert row(text, moving)[1:] == [
        "vm1", *row(text, moving)[2:4], "Running", "42%", "110 MiB/s",
        "3.0 MiB/s", "1", "6s"]
    assert row(text, " vm2 ")[-1].startswith("PodUnschedulable: ")


def test_nodes_are_counted(world, moving):
    found = json.loads(world.told("top", "--once", "-o", "json"))
    [migration] = [m for m in found["migrations"] if m["name"] == moving]
    nodes = {node["name"]: node for node in found["nodes"]}
    assert set(nodes) == set(world.nodes)
    assert nodes[migration["source"]]["outgoing"] == 1
    assert nodes[migration["target"]]["incoming"] == 1
    assert sum(node["machines"] for node in nodes.values()) == 3
    assert {node["drain"] for node in nodes.values()} <= {
        "cordoned", "drained"}
    assert migration["progress"]["percent"] == 42
    assert [m["state"] for m in found["migrations"]] == [
        "running", "waiting", "ended"]
    [waiting] = [m for m in found["migrations"] if m["state"] == "waiting"]
    assert waiting["waiting"]["reason"] == "PodUnschedulable"


def test_a_namespace_or_all(world, moving):
    world.cluster.kubectl("create", "namespace", "empty")
    text = world.told("top", "--once", "-n", "empty")
    assert "namespace empty" in text and "No migrations." in text
    text = world.told("top", "--once", "-A")
    assert "all namespaces" in text
    assert row(text, moving)[:2] == ["default", moving]
    assert "namespace" not in json.loads(
        world.told("top", "--once", "-A", "-o", "json"))


def test_a_pipe_gets_table_after_table(world, moving):
    popen = world.popen("top", "--interval", "200ms")
    lines = Lines(popen.stdout)
    for _ in range(3):
        lines.find(lambda line: moving in line, PATIENCE)
    popen.send_signal(signal.SIGINT)
    code, out, err = ended(popen, lines)
    assert (code, err) == (0, "")
    assert "\033" not in out


def test_it_ends_when_nobody_reads_any_more(world, moving):
    popen = world.popen("top", "--interval", "100ms")
    assert moving
    assert select.select([popen.stdout], [], [], PATIENCE)[0]
    assert os.read(popen.stdout.fileno(), 1)
    popen.stdout.close()
    assert popen.wait(PATIENCE) == 0
    popen.stderr.close()


def test_scripts_get_an_object_in_each_line(world, moving):
    popen = world.popen("top", "-o", "json", "--interval", "100ms")
    lines = Lines(popen.stdout)
    times = []
    for _ in range(3):
        found = json.loads(lines.next(PATIENCE))
        times.append(found["time"])
        assert moving in {m["name"] for m in found["migrations"]}
    assert times == sorted(times)
    popen.send_signal(signal.SIGTERM)
    assert ended(popen, lines)[0] == 0


def test_a_terminal_is_drawn_in_place(world, moving):
    with world.terminal("echo before; ferryctl top --interval 200ms",
                        rows=30) as terminal:
        terminal.wait(moving)
        assert "before" not in "\n".join(terminal.shown())
        world.progress("vm1", **{**PROGRESS, "percent": 43})
        terminal.wait("43%")
        assert sum(moving in line for line in terminal.shown()) == 1
        terminal.resize(60, 10)
        wait_for("a smaller picture", lambda: terminal.shown() and max(
            map(len, terminal.shown())) <= 60 and any(
                line.startswith("NODE") for line in terminal.shown()),
            PATIENCE)
        assert any("more" in line for line in terminal.shown())
        terminal.resize(150, 30)
        wait_for("a larger picture", lambda: sum(
            line.startswith("top-") for line in terminal.shown()) == 3,
            PATIENCE)
        terminal.press("q")
        assert terminal.status() == 0
        text = terminal.text()
        assert "before" in text and moving not in text
    world.progress("vm1", **PROGRESS)


def test_a_terminal_of_80_columns_shows_how_long_and_why(world, moving):
    assert moving
    with world.terminal("ferryctl top --interval 200ms", columns=80,
                        rows=24) as terminal:
        terminal.wait("PodUnschedulable")
        lines = terminal.shown()
        assert row("\n".join(lines), "vm1 ")[-6:] == [
            "Running", "42%", "110 MiB/s", "3.0 MiB/s", "1", "6s"]
        [waits] = [i for i, line in enumerate(lines)
                   if line.startswith("vm2 ")]
        assert lines[waits + 1].startswith("    PodUnschedulable: ")
        terminal.press("q")
        assert terminal.status() == 0


def test_ctrl_c_leaves_a_terminal_as_it_was(world, moving):
    with world.terminal("ferryctl top; stty -a") as terminal:
        terminal.wait(moving)
        terminal.press("C-c")
        terminal.status()
        text = terminal.text()
        assert re.search(r"(?<!-)icanon", text) and \
            re.search(r"(?<!-)echo\b", text), text


def test_a_server_that_is_away_meanwhile_is_said(world, moving):
    with Faults(world.cluster) as faults, world.terminal(
            "ferryctl top --interval 200ms",
            KUBECONFIG=faults.kubeconfig) as terminal:
        terminal.wait(moving)
        faults.plague(1, 1.0, ("503",), lambda _: True)
        faults.cut_watches()
        terminal.wait("Not up to date: cannot watch ")
        faults.heal()
        wait_for("the line to go", lambda: "Not up to date" not in
                 "\n".join(terminal.shown()), PATIENCE)
        assert any(moving in line for line in terminal.shown())
        terminal.press("q")
        assert terminal.status() == 0


def test_what_would_steer_the_terminal_is_not_shown(world, moving):
    assert moving
    path = namespaced(VMIS, "default", "vm1")
    world.played.api.patch(path, {"status": {"migrationState": {
        "mode": "\033[2Jboo"}}})
    try:
        text = world.told("top", "--once")
        assert "\033" not in text and "?[2Jboo" in text
    finally:
        world.played.api.patch(path, {"status": {"migrationState": {
            "mode": "PreCopy"}}})


def test_a_drain_is_seen(world, moving):
    """The last: this machine will be migrated for it."""
    assert moving
    node = status(world.vmi("vm3"))["nodeName"]
    path = namespaced(VMIS, "default", "vm3")
    world.played.api.patch(path, {"status": {"evacuationNodeName": node}})
    try:
        text = world.told("top", "--once")
        [line] = [line for line in text.splitlines()
                  if line.startswith(f"{node} ")]
        assert line.endswith("  draining, 1 to go")
    finally:
        world.played.api.patch(path, {"status": {"evacuationNodeName": None}})
