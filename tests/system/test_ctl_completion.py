# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells, with names from a cluster."""

import os
import subprocess

import pytest
import yaml

from ctls import COMMAND_DEADLINE, World, environment, run
from kubectls import MINOR
from proxies import REPOSITORY

SHELLS = {
    "bash": "exec bash --norc --noprofile",
    "zsh": "exec zsh -f",
    "fish": "exec fish --no-config",
}
READY = {
    "bash": "PS1='> '; source <(ferryctl completion bash)",
    "zsh": "PS1='> '; autoload -U compinit; compinit -u -d $HOME/.zdump; "
           "source <(ferryctl completion zsh)",
    "fish": "ferryctl completion fish | source; "
            "function fish_prompt; echo '> '; end",
}


@pytest.fixture(name="world", scope="module")
def world_():
    with World("tab-a", "tab-b") as made:
        made.machine("vm-one")
        made.machine("vm-two")
        made.told("migrate", "vm-one", "--wait")
        yield made


def ask(world, *words, **variables):
    """The words that ferryctl offers, and what the shell is to add."""
    done = run(world.cluster, "ferryctl", "__complete", *words, **variables)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    lines = done.stdout.splitlines()
    return [line.split("\t")[0] for line in lines[:-1]], lines[-1]


@pytest.mark.parametrize("words, expected", [
    (("mig",), ["migrate", "migrate-cancel"]),
    (("cluster", ""), ["up", "status", "restart", "down"]),
    (("migrate", ""), ["vm-one", "vm-two"]),
    (("migrate", "vm-t"), ["vm-two"]),
    (("migrate", "vm-one", "--wa"), ["--wait"]),
    (("migrate", "-n", "kube-s"), ["kube-system"]),
    (("-n", "kube-system", "migrate", ""), []),
    (("migrate", "--namespace=kube-s"), ["--namespace=kube-system"]),
    (("explain", "vmi", ""), ["vm-one", "vm-two"]),
    (("evacuate-cancel", "vm", "vm-o"), ["vm-one"]),
    (("preflight", "vm-one", "--node", ""), ["tab-a", "tab-b"]),
    (("completion", ""), ["bash", "zsh", "fish"]),
    (("top", "-o", ""), ["json"]),
    (("nix", ""), []),
    (("migrate", "--server", "https://127.0.0.1:1", ""), []),
])
def test_what_is_offered(world, words, expected):
    assert ask(world, *words) == (expected, ":4")


def test_migrations_are_offered_with_their_phase(world):
    name = world.migrations("vm-one")[-1]["metadata"]["name"]
    done = run(world.cluster, "ferryctl", "__complete", "explain", "vmim", "")
    assert done.stdout == f"{name}\tSucceeded\n:4\n"
    assert ask(world, "doctor", "")[0] == [name]


def test_contexts_are_offered(world):
    path = os.path.join(world.cluster.scratch, "contexts")
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump({"contexts": [
            {"name": "first", "context": {}},
            {"name": "second", "context": {}}]}, file)
    assert ask(world, "migrate", "--context", "", KUBECONFIG=path) == \
        (["first", "second"], ":4")
    assert ask(world, "--kubeconfig", path, "--context", "s") == \
        (["second"], ":4")


def test_files_are_left_to_the_shell(world):
    assert ask(world, "migrate", "--kubeconfig", "") == ([], ":0")
    assert ask(world, "cluster", "up", "--dir", "") == ([], ":16")


def test_without_a_cluster_there_is_silence(world):
    assert ask(world, "migrate", "", KUBECONFIG="/nowhere") == ([], ":4")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes(world, shell):
    """As typed: a command, an option, a name from the cluster, a file."""
    with world.terminal(SHELLS[shell]) as terminal:
        terminal.press(READY[shell], "Enter")
        terminal.press("echo rea''dy", "Enter")
        terminal.wait("\nready")
        for typed, completed in (
                ("ferryctl compl", "ferryctl completion"),
                ("ferryctl migrate vm-o", "ferryctl migrate vm-one"),
                ("ferryctl migrate --addedN",
                 "ferryctl migrate --addedNodeSelector"),
                ("ferryctl explain -n def", "ferryctl explain -n default"),
                ("ferryctl explain --namespace=kube-s",
                 "ferryctl explain --namespace=kube-system"),
                ("ferryctl -n default preflight vm-two --node tab",
                 "ferryctl -n default preflight vm-two --node tab-"),
                ("kubectl-ferry migrate vm-t", "kubectl-ferry migrate vm-two"),
                ("ferryctl migrate --kubeconfig /etc/host.con",
                 "ferryctl migrate --kubeconfig /etc/host.conf")):
            terminal.press("-l", typed)
            terminal.press("Tab")
            terminal.wait(completed)
            terminal.press("C-c")
            terminal.press("clear", "Enter")


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_printed_is_what_is_installed(world, shell):
    with open(os.path.join(REPOSITORY, "src", "ctl", f"completion.{shell}"),
              encoding="utf-8") as file:
        assert world.told("completion", shell) == file.read()


def test_kubectl_completes_its_plugin(world):
    if MINOR < 26:
        return  # it does not ask plugins
    done = subprocess.run(
        ["kubectl", "__complete", "ferry", "migrate", "vm-"],
        env=environment(world.cluster), text=True, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        timeout=COMMAND_DEADLINE)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == \
        ["vm-one", "vm-two", ":4"]
