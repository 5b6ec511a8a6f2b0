# SPDX-License-Identifier: Apache-2.0
"""An operator's day with a real guest: the examples of the manual, a migration
that is looked at with ferryctl, and the same with plain kubectl."""

import json
import os
import re
import subprocess

import pytest
import yaml

from apis import ACCOUNT, ACCOUNT_GROUPS
from ctls import FERRYCTL, PATIENCE, Terminal, environment, quoted, run
from embedded import Embedded, guest_files, manifest
from kubeapi import path_of, wait_for
from kubectls import HAS_WAIT_JSONPATH, Following, table
from proxies import REPOSITORY

SLOW = "24Mi"
HOME = "/var/lib/ferry/cluster"  # in the manual
STORY = ["SuccessfulCreate", "SuccessfulHandOver", "SuccessfulMigration"]
EXAMPLE_DEADLINE = 540  # seconds, for all of them
_BAR = re.compile(r"Running \[#*\.*\] +\d+%  ETA (\d+s|\?), .*/s, "
                  r"dirties .*/s, pass \d+, .* left, .* sent")


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="machine")
def fixture_machine(cluster):
    return cluster.start_machine("vm2")


@pytest.fixture(scope="module", name="moved")
def fixture_moved(cluster, machine):
    """Moves it on a terminal, while kubectl looks at events; the name of the
    migration, and what was seen of it."""
    with machine.policy(bandwidthPerMigration=SLOW), Following(
            cluster, "get", "events", "-n", "default", "--field-selector",
            "reason=Migrating", "--watch") as events, Terminal(
                cluster.scratch, "ferryctl migrate vm2 --wait",
                environment(cluster)) as terminal:
        terminal.wait("%  ETA ")
        bar = terminal.text()
        top = run(cluster, "ferryctl", "top", "--once")
        event = events.until("virtualmachineinstance/vm2")
        status = terminal.status()
        end = terminal.text()
    [vmim] = [m for m in cluster.list("vmim")
              if m["spec"]["vmiName"] == "vm2"]
    return {"name": vmim["metadata"]["name"], "bar": bar, "end": end,
            "status": status, "event": event, "top": top.stdout}


# --- the manual --------------------------------------------------------------

def examples():
    """The blocks of commands under EXAMPLES."""
    with open(os.path.join(REPOSITORY, "man", "ferryctl.1"),
              encoding="utf-8") as file:
        part = file.read().split(".Sh EXAMPLES", 1)[1].split(".Sh ", 1)[0]
    return [block.replace("\\e\n", "\\\n") for block in re.findall(
        r"^\.Bd -literal\n(.*?)^\.Ed$", part, re.M | re.S)]


def example_shell(cluster, directory):
    """The environment in which the cluster is where the manual says."""
    wrapped = os.path.join(directory, "bin")
    os.mkdir(wrapped)
    with open(os.path.join(wrapped, "ferryctl"), "w",
              encoding="ascii") as file:
        file.write(
            "#!/bin/sh\ncase $1 in\n"
            f"cluster) set -- \"$@\" --dir {cluster.dir} --name "
            f"{cluster.name} ;;\n"
            f"image) set -- \"$@\" --dir {cluster.dir} ;;\nesac\n"
            f"exec {FERRYCTL} \"$@\"\n")
    os.chmod(os.path.join(wrapped, "ferryctl"), 0o755)
    variables = environment(cluster)
    del variables["KUBECONFIG"]
    return {**variables, "PATH": f"{wrapped}:{variables['PATH']}"}


def test_the_examples_of_the_manual_work(cluster, tmp_path):
    files = guest_files()
    for name in ("vmlinuz", "initrd"):
        os.symlink(os.path.join(files, name), tmp_path / name)
    with open(tmp_path / "vm.yaml", "w", encoding="utf-8") as file:
        yaml.safe_dump(manifest("vm1", cluster.lan(99)), file)
    blocks = examples()
    assert len(blocks) >= 6
    script = "".join(f"echo '# block {i}'\n{block}"
                     for i, block in enumerate(blocks))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace(HOME, cluster.dir)],
        cwd=tmp_path, env=example_shell(cluster, str(tmp_path)), check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.STDOUT, timeout=EXAMPLE_DEADLINE)
    assert done.returncode == 0, done.stdout
    out = re.split(r"^# block \d+\n", done.stdout, flags=re.M)[1:]
    assert "vm1: would move" in out[1]
    assert "\nSucceeded\n" in out[1]
    assert "Nothing waits, nothing has failed." in out[1]
    last = [json.loads(line) for line in out[2].splitlines()][-1]
    assert last["phase"] == "Succeeded"
    assert "vm1" in out[3]
    assert out[5].endswith("VM vm1 was scheduled to restart\n"
                           "VM vm1 was scheduled to stop\n")


# --- a real migration --------------------------------------------------------

def test_a_terminal_shows_a_bar_and_the_end(moved):
    assert _BAR.search(moved["bar"]), moved["bar"]
    assert moved["status"] == 0
    assert "\nSucceeded\n" in moved["end"]
    assert not _BAR.search(moved["end"])


def test_top_shows_it_too(moved):
    [line] = [line for line in moved["top"].splitlines()
              if line.startswith(moved["name"])]
    assert re.search(r"vm2 +node\d +node\d +Running +\d+% +\S+ \S+/s", line)


def test_a_pipe_is_for_programs(cluster, machine, moved):
    """Back again."""
    assert moved["status"] == 0
    before = machine.node
    done = run(cluster, "ferryctl", "migrate", "vm2", "--wait", "-o", "json",
               timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    phases = list(dict.fromkeys(each["phase"] for each in seen))
    assert phases[-2:] == ["Running", "Succeeded"] or \
        phases[-1] == "Succeeded"
    assert machine.node != before
    machine.check()


def piped(cluster, *words):
    """What a command has printed in a pipe."""
    done = run(cluster, *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def typed(cluster, *words):
    """The same on a terminal."""
    with Terminal(cluster.scratch, quoted(*words),
                  environment(cluster)) as terminal:
        assert terminal.status() == 0, terminal.text()
        return terminal.text().split("[status ")[0]


@pytest.mark.parametrize("told", [piped, typed])
def test_a_machine_is_paused_and_goes_on(cluster, machine, told):
    for verb, paused in (("pause", True), ("unpause", False)):
        assert told(cluster, "ferryctl", verb, "vm", "vm2") == \
            f"VMI vm2 was scheduled to {verb}\n"
        wait_for(f"vm2 to {verb}", lambda p=paused: p == (
            machine.conditions().get("Paused", {}).get("status") == "True"),
            PATIENCE)
    machine.check()


# --- plain kubectl -----------------------------------------------------------

def test_kubectl_gets_migrations(cluster, moved):
    titles, rows = table(cluster.kubectl("get", "vmim", "-n", "default"))
    assert titles == ["NAME", "PHASE", "VMI"]
    assert [moved["name"], "Succeeded", "vm2"] in rows
    found = yaml.safe_load(cluster.kubectl(
        "get", "vmim", moved["name"], "-n", "default", "-o", "yaml"))
    assert found["kind"] == "VirtualMachineInstanceMigration"
    state = found["status"]["migrationState"]
    assert state["completed"] and not state.get("failed")
    assert state["progress"]["percent"] == 100


def test_kubectl_watches_the_events_of_migrating(moved):
    words = moved["event"].split()
    assert "Normal" in words and "Migrating" in words
    assert "virtualmachineinstance/vm2" in words


def test_kubectl_waits_for_the_end(cluster, moved):
    if HAS_WAIT_JSONPATH:
        out = cluster.kubectl(
            "wait", "vmim", moved["name"],
            "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
        assert "condition met" in out
    out = cluster.kubectl("wait", "vmi", "vm2", "--for=condition=Ready",
                          "--timeout=60s")
    assert "condition met" in out


def test_kubectl_describes_the_story_in_order(cluster, moved):
    text = cluster.kubectl("describe", "vmim", moved["name"])
    assert re.search(r"^Name: +" + moved["name"], text, re.M)
    events = text[text.index("\nEvents:"):].splitlines()
    reasons = [words[1] for words in map(str.split, events) if len(words) > 2
               and words[0] in ("Normal", "Warning")]
    assert [reason for reason in reasons if reason in STORY] == STORY, text


def test_kubectl_finds_outdated_machines(cluster, machine):
    """By watching: the controller takes a label back that is not true."""
    query = ("get", "vmi", "-l", "kubevirt.io/outdatedLauncherImage",
             "--all-namespaces")
    assert cluster.kubectl(*query) == ""
    controller = cluster.client.impersonating(
        ACCOUNT + "kubevirt-controller", *ACCOUNT_GROUPS, "system:masters")
    with Following(cluster, *query, "--watch") as watch:
        # The watch may begin after the first of these.
        wait_for("the outdated machine", lambda: (
            label_outdated(controller, machine), not watch.lines.empty())[1])
        assert watch.until(machine.name).split()[:2] == [
            "default", machine.name]
    controller.close()


def label_outdated(controller, machine):
    path = path_of("kubevirt.io/v1", "virtualmachineinstances", "default",
                   machine.name)
    for value in ("", None):
        controller.patch(path, {"metadata": {"labels": {
            "kubevirt.io/outdatedLauncherImage": value}}})


def test_kubectl_ferry_sees_the_nodes(cluster):
    plugin = run(cluster, "kubectl", "ferry", "top", "--once", "-A", "-o",
                 "json")
    assert plugin.returncode == 0, plugin.stderr
    assert {node["name"] for node in json.loads(plugin.stdout)["nodes"]} == \
        set(cluster.node_names())
