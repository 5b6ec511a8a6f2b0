# SPDX-License-Identifier: Apache-2.0
"""ferryctl explain, preflight and doctor on a cluster that is well, and what
they say to wrong names, strangers and silence."""

import json
import os
import subprocess

import pytest

from embedded import FERRYCTL, Embedded
from persons import person

PHASES = ["Pending", "Scheduling", "Scheduled", "PreparingTarget",
          "TargetReady", "Running", "Succeeded"]


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="machine")
def fixture_machine(cluster):
    return cluster.start_machine("vm1")


@pytest.fixture(scope="module", name="moved")
def fixture_moved(machine):
    """The name of a migration that succeeded."""
    return machine.migrate()["metadata"]["name"]


def ferryctl(cluster, *arguments, **more):
    """Runs it as a person would; the CompletedProcess."""
    environment = {**os.environ, "KUBECONFIG": cluster.kubeconfig,
                   **more.pop("environment", {})}
    return subprocess.run([FERRYCTL, *arguments], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, check=False, timeout=120)


def told(cluster, *arguments, status=0):
    done = ferryctl(cluster, *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def complaint(done, status):
    """The one line that a command has complained with."""
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and \
        done.stderr.startswith("ferryctl: "), done.stderr
    return done.stderr


def test_a_page_tells_the_story_in_order(cluster, moved):
    page = json.loads(told(cluster, "explain", "vmim", moved, "-o", "json"))
    whats = [entry["what"] for entry in page["timeline"]
             if entry["who"] == "migration"]
    assert [what for what in whats if what in PHASES] == PHASES
    assert page["findings"] == []
    assert page["migration"]["phase"] == "Succeeded"
    progress = page["migration"]["progress"]
    assert progress["blackoutMs"] > 0
    assert f"the guest stood still for {progress['downtimeMs']} ms, blackout " \
        f"{progress['blackoutMs']} ms" in page["summary"]
    times = [entry["time"] for entry in page["timeline"]]
    assert times == sorted(times)
    assert any(entry["who"] == "event" and
               entry["what"].startswith("SuccessfulHandOver")
               for entry in page["timeline"])


def test_a_bare_name_is_a_machine_or_a_migration(cluster, machine, moved):
    of_vm = told(cluster, "explain", "vm1")
    assert f"Machine vm1: Running on {machine.node}" in of_vm
    assert f"Migration {moved}: Succeeded" in of_vm
    assert "Nothing waits, nothing has failed." in of_vm
    for arguments in (("vm", "vm1"), ("vmi", "vm1"), ("vmim", moved),
                      (moved,)):
        assert f"Migration {moved}: Succeeded" in told(
            cluster, "explain", *arguments)


@pytest.mark.parametrize("arguments, status, words", [
    (("explain", "nix"), 1, "no machine and no migration 'nix' in namespace"),
    (("explain", "vm", "nix"), 1, '"nix" not found'),
    (("explain", "-n", "nowhere", "vm1"), 1, "in namespace 'nowhere'"),
    (("explain", "pod", "vm1"), 2, "'pod' is neither vm, vmi nor vmim"),
    (("explain", "vm1", "-o", "yaml"), 2, "'yaml' is not json"),
    (("preflight", "nix"), 1, '"nix" not found'),
    (("preflight", "vm1", "--node", "nix"), 1, 'nodes "nix" not found'),
    (("doctor", "--dir", "/nowhere"), 1, "there is no cluster in '/nowhere'"),
    (("doctor", "--control", "x"), 2, "'x' is no NODE=PATH"),
])
def test_what_is_wrong_is_said_in_one_line(cluster, machine, arguments, status,
                                           words):
    assert machine.name == "vm1"
    assert words in complaint(ferryctl(cluster, *arguments), status)


def test_a_server_that_is_away_is_said_in_one_line(cluster):
    for command in ("explain", "preflight"):
        assert "connection refused" in complaint(ferryctl(
            cluster, command, "vm1", "--server", "https://127.0.0.1:1"), 1)


def _as(cluster, kubeconfig, *arguments):
    return ferryctl(cluster, *arguments,
                    environment={"KUBECONFIG": kubeconfig})


def test_strangers_are_told_that_they_may_not(cluster, machine):
    assert machine.name == "vm1"
    nils = person(cluster, "nils")
    for command in ("explain", "preflight"):
        assert "forbidden" in complaint(_as(cluster, nils, command, "vm1"), 1)
    assert "forbidden" in complaint(_as(cluster, nils, "doctor"), 1)


def test_who_sees_machines_only_gets_a_page_that_says_so(cluster, moved):
    rita = person(cluster, "rita", rules=[{
        "apiGroups": ["kubevirt.io"], "resources": ["*"],
        "verbs": ["get", "list"]}])
    done = _as(cluster, rita, "explain", "vm1")
    assert done.returncode == 0, done.stderr
    assert f"Migration {moved}: Succeeded" in done.stdout
    assert "Not seen: pods: " in done.stdout


def test_preflight_shows_every_check(cluster, machine):
    result = json.loads(told(cluster, "preflight", "vm1", "-o", "json"))
    assert result["moves"] and result["nodesThatFit"] == 1
    assert {check["result"] for check in result["checks"]} == {"ok"}
    whats = {(check["where"], check["what"]) for check in result["checks"]}
    other = next(n for n in cluster.node_names() if n != machine.node)
    for what in ("ready", "schedulable", "labels", "CPU", "cpu", "memory",
                 "pods", "launcher"):
        assert (other, what) in whats
    for what in ("running", "migratable", "pod", "other migrations",
                 "admission", "network", "policy", "limits"):
        assert ("machine", what) in whats


def test_preflight_does_not_move_anything(cluster, moved):
    assert "would move" in told(cluster, "preflight", "vm1")
    assert [vmim["metadata"]["name"] for vmim in cluster.list("vmim")] == \
        [moved]


def test_preflight_of_the_node_it_is_on_is_no(cluster, machine):
    assert "it is there already" in told(
        cluster, "preflight", "vm1", "--node", machine.node, status=3)


def test_doctor_finds_nothing_wrong(cluster):
    text = told(cluster, "doctor", "--dir", cluster.dir)
    assert "Nothing is wrong with the proxies" in text
    for what in ("certificate", "migration network", "way to node2"):
        assert what in text


def test_doctor_sees_the_channels_of_a_migration(cluster, machine):
    with machine.policy(bandwidthPerMigration="8Mi"):
        name = machine.begin_migration()
        machine.wait_copying(name)
        text = told(cluster, "doctor", name, "--dir", cluster.dir)
        machine.wait_migration(name)
    for words in ("channel 0 ", "channel 49152", "target listener",
                  "source listener", "TLS handshake", "port map"):
        assert words in text
    assert "is missing" not in text
    assert "The migration is over" in told(cluster, "doctor", name, "--dir",
                                           cluster.dir)


def test_doctor_says_whose_proxy_is_silent(cluster):
    cluster.kill("ferry-proxy", "node2")
    try:
        text = told(cluster, "doctor", "--dir", cluster.dir, status=3)
        assert "The proxy (ferry-proxy) of node2 does not answer" in text
    finally:
        cluster.complete()
