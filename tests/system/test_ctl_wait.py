# SPDX-License-Identifier: Apache-2.0
"""ferryctl migrate --wait: in a pipe and on a terminal, to every end."""

import json
import signal

import pytest

from ctls import PATIENCE, World
from faults import Faults
from kubeapi import wait_for
from lines import Lines, ended
from played_objects import VMIMS, namespaced
from played_steps import state, status

HALF = {"percent": 50, "bytesTotal": 2 << 30, "bytesProcessed": 1 << 30,
        "bytesRemaining": 1 << 30, "rateBytesPerSecond": 100 << 20,
        "dirtyRateBytesPerSecond": 8 << 20, "iteration": 2, "etaSeconds": 11}
BAR = "Running [##########..........]  50%  ETA 11s, 100 MiB/s, " \
      "dirties 8.0 MiB/s, pass 2, 1.0 GiB left, 1.0 GiB sent"


@pytest.fixture(name="world", scope="module")
def world_():
    with World("wait-a", "wait-b") as made:
        yield made


@pytest.fixture(name="machine")
def machine_(world, request):
    """A machine of one test, whose transfers do not end by themselves."""
    name = "vm" + str(abs(hash(request.node.name)) % 10 ** 8)
    key = world.machine(name)
    world.played.hold("arrive", key)
    yield name
    world.played.release("arrive", key)


def wait_transfer(world, name):
    """Until the source node sends."""
    wait_for(f"the transfer of {name}", lambda: state(world.vmi(name)).get(
        "startTimestamp") and world.migrations(name)[-1].get(
            "status", {}).get("phase") == "Running", PATIENCE)


def follow(world, *arguments, **variables):
    """ferryctl while it runs, and its lines."""
    popen = world.popen(*arguments, **variables)
    return popen, Lines(popen.stdout)


def read_to(lines, part):
    """The next line that has this in it."""
    return lines.find(lambda line: part in line, PATIENCE)


def test_a_pipe_gets_a_line_for_each_change(world, machine):
    popen, lines = follow(world, "migrate", machine, "--wait")
    wait_transfer(world, machine)
    world.progress(machine, **HALF)
    read_to(lines, BAR)
    world.played.release("arrive", f"default/{machine}")
    code, out, err = ended(popen, lines)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[-1] == "Succeeded"
    assert "\033" not in out and "\r" not in out


def test_the_first_line_is_that_of_virtctl(world, machine):
    world.played.release("arrive", f"default/{machine}")
    out = world.told("migrate", machine, "--wait", timeout=PATIENCE)
    assert out.splitlines()[0] == f"VM {machine} was scheduled to migrate"
    assert out.splitlines()[-1] == "Succeeded"


def test_scripts_get_objects(world, machine):
    popen, lines = follow(world, "migrate", machine, "--wait", "-o", "json")
    wait_transfer(world, machine)
    world.progress(machine, **HALF)

    def is_half(line):
        found = json.loads(line)
        assert found["vmi"] == machine
        return found.get("progress", {}).get("percent") == 50

    assert json.loads(lines.find(is_half, PATIENCE))["phase"] == "Running"
    world.played.release("arrive", f"default/{machine}")
    code, out, _ = ended(popen, lines)
    assert code == 0
    assert json.loads(out.splitlines()[-1])["phase"] == "Succeeded"


def test_a_terminal_gets_a_bar_in_one_line(world, machine):
    with world.terminal(f"ferryctl migrate {machine} --wait") as terminal:
        wait_transfer(world, machine)
        world.progress(machine, **HALF)
        terminal.wait(BAR)
        world.progress(machine, **{**HALF, "percent": 75})
        terminal.wait("[###############.....]  75%")
        text = terminal.text()
        assert "50%" not in text and text.count("Running") == 1, text
        world.played.release("arrive", f"default/{machine}")
        assert terminal.status() == 0
        assert "\nSucceeded\n" in terminal.text()


def test_a_narrow_terminal_shows_all_of_it(world, machine):
    with world.terminal(f"ferryctl migrate {machine} --wait", columns=50,
                        rows=8) as terminal:
        wait_transfer(world, machine)
        for percent in range(40, 60, 5):
            world.progress(machine, **{**HALF, "percent": percent})
            terminal.wait_words(f" {percent}%")
        shown = terminal.shown()
        assert max(map(len, shown)) < 50
        # In several lines, and nothing of what was there before.
        words = " ".join(" ".join(shown).split())
        assert words.count("Running") == words.count("sent") == 1, shown
        assert " ".join(BAR.replace("#.", "##").replace("50%", "55%").split()
                        ) in words
        world.played.release("arrive", f"default/{machine}")
        assert terminal.status() == 0
        assert "\nSucceeded\n" in terminal.text()
        assert "sent" not in terminal.text()


def test_a_narrow_terminal_is_told_all_of_a_failure(world, machine):
    why = "a sentence which is much too long for one line of a narrow terminal"
    world.played.fail(f"default/{machine}", why)
    with world.terminal(f"ferryctl migrate {machine} --wait", columns=40,
                        rows=12) as terminal:
        assert terminal.status() == 3
        terminal.wait_words(why)


def test_once_ctrl_c_leaves_it_alone(world, machine):
    with world.terminal(f"ferryctl migrate {machine} --wait") as terminal:
        wait_transfer(world, machine)
        terminal.wait("Running")
        terminal.press("C-c")
        terminal.wait("goes on; Ctrl-C once more cancels it")
        assert terminal.status() == 6
    [migration] = world.migrations(machine)
    assert status(migration)["phase"] == "Running"
    assert "deletionTimestamp" not in migration["metadata"]


def test_twice_ctrl_c_cancels(world, machine):
    with world.terminal(f"ferryctl migrate {machine} --wait") as terminal:
        wait_transfer(world, machine)
        terminal.wait("Running")
        terminal.press("C-c")
        terminal.wait("goes on; Ctrl-C once more cancels it")
        terminal.press("C-c")
        terminal.wait("is being canceled")
        assert terminal.status() == 4


def test_a_pipe_can_be_interrupted_too(world, machine):
    popen, lines = follow(world, "migrate", machine, "--wait")
    read_to(lines, "Running")
    popen.send_signal(signal.SIGINT)
    code, _, err = ended(popen, lines)
    assert code == 6
    assert err.count("\n") == 1 and "goes on" in err


def test_a_cancel_of_somebody_else_is_told(world, machine):
    popen, lines = follow(world, "migrate", machine, "--wait")
    read_to(lines, "Running")
    assert world.told("migrate-cancel", machine) == \
        f"VM {machine} was scheduled to migrate-cancel\n"
    code, _, err = ended(popen, lines)
    assert (code, err) == (4, "")


@pytest.mark.parametrize("options", [(), ("-o", "json")],
                         ids=["people", "scripts"])
def test_one_that_is_gone_is_told(world, machine, options):
    """Somebody takes it away without waiting for its end."""
    world.played.hold("abort", f"default/{machine}")
    popen, lines = follow(world, "migrate", machine, "--wait", *options)
    wait_transfer(world, machine)
    [migration] = world.migrations(machine)
    world.told("migrate-cancel", machine)
    read_to(lines, "AbortAcknowledgement")
    world.played.api.patch(
        namespaced(VMIMS, "default", migration["metadata"]["name"]),
        {"metadata": {"finalizers": None}})
    code, out, err = ended(popen, lines)
    world.played.release("abort", f"default/{machine}")
    assert (code, err) == (4, "")
    last = out.splitlines()[-1]
    if options:
        assert json.loads(last) == {
            "migration": migration["metadata"]["name"], "vmi": machine,
            "phase": "", "gone": True}
    else:
        assert last == "Gone: somebody has deleted the migration"


def test_a_cancel_that_nobody_acknowledges_is_told(world, machine):
    """The bar stands still, and says why."""
    key = f"default/{machine}"
    world.played.hold("abort", key)
    with world.terminal(f"ferryctl migrate {machine} --wait",
                        columns=60) as terminal:
        wait_transfer(world, machine)
        world.progress(machine, **HALF)
        terminal.wait_words(BAR)
        world.told("migrate-cancel", machine)
        terminal.wait_words("Running, waiting: AbortAcknowledgement [####")
        world.played.release("abort", key)
        assert terminal.status() == 4


def test_a_failure_is_told_with_its_reason(world, machine):
    world.played.fail(f"default/{machine}", "out of luck")
    done = world.run("migrate", machine, "--wait", timeout=PATIENCE)
    assert done.returncode == 3, done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith("Failed: ") and "out of luck" in last


def test_the_time_to_wait_is_limited(world, machine):
    done = world.run("migrate", machine, "--wait", "--timeout", "1s",
                     timeout=PATIENCE)
    assert done.returncode == 5, done.stdout
    assert done.stderr.endswith(
        "goes on; the time to wait for it is up\n")
    assert done.stderr.count("\n") == 1


def test_why_it_waits_is_said(world, machine):
    for node in world.nodes:
        world.cluster.kubectl("cordon", node)
    try:
        popen, lines = follow(world, "migrate", machine, "--wait")
        line = read_to(lines, "PodUnschedulable")
        assert line.startswith("Scheduling, waiting: PodUnschedulable: "), line
        popen.send_signal(signal.SIGINT)
        ended(popen, lines)
    finally:
        for node in world.nodes:
            world.cluster.kubectl("uncordon", node)


def test_a_server_that_is_away_meanwhile_is_waited_for(world, machine):
    with Faults(world.cluster) as faults:
        popen, lines = follow(world, "migrate", machine, "--wait",
                              KUBECONFIG=faults.kubeconfig)
        wait_transfer(world, machine)
        world.progress(machine, **HALF)
        read_to(lines, BAR)
        faults.plague(1, 1.0, ("503",), lambda _: True)
        faults.cut_watches()
        line = read_to(lines, "Not up to date: cannot watch ")
        assert line.endswith(f"; {BAR}\n"), line
        faults.heal()
        world.progress(machine, **{**HALF, "percent": 75})
        # One of the two watches may be back before the other.
        lines.find(lambda line: " 75%" in line
                   and "Not up to date" not in line, PATIENCE)
        world.played.release("arrive", f"default/{machine}")
        code, out, err = ended(popen, lines)
        assert (code, err) == (0, "")
        assert out.splitlines()[-1] == "Succeeded"
