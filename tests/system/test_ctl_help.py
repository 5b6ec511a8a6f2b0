# SPDX-License-Identifier: Apache-2.0
"""Help of every command, as it is compared with; man page and help agree."""

import json
import os
import re
import subprocess

import pytest

from ctls import FERRYCTL, compare
from proxies import REPOSITORY

_COMMAND = re.compile(r"^  ([a-z][a-z-]*)  ", re.M)
NESTED = ("cluster", "image")


def help_of(*words, name=FERRYCTL):
    return subprocess.run([name, *words, "--help"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def commands():
    """All of them, as the words that are typed."""
    found = []
    for name in _COMMAND.findall(help_of()):
        inner = _COMMAND.findall(help_of(name)) if name in NESTED else []
        found += [(name, each) for each in inner] or [(name,)]
    return found


def test_help_of_the_program():
    compare("help.txt", help_of())
    for name in NESTED:
        compare(f"help-{name}.txt", help_of(name))


@pytest.mark.parametrize("words", commands(), ids="-".join)
def test_help_of_a_command(words):
    text = help_of(*words)
    compare(f"help-{'-'.join(words)}.txt", text)
    assert text.startswith(f"usage: ferryctl {' '.join(words)} ")


def test_hidden_commands_are_not_shown():
    assert "__" not in help_of()


def test_every_command_is_in_the_manual():
    with open(os.path.join(REPOSITORY, "man", "ferryctl.1"),
              encoding="utf-8") as file:
        page = file.read()
    for words in commands():
        assert re.search(rf"^\.(It )?Cm .*\b{' '.join(words)}\b", page, re.M) \
            or re.search(rf"^\.(It )?Cm .*\b{words[-1]}\b", page, re.M), words


def test_installed_names(tmp_path):
    """What meson installs for shells and for kubectl."""
    build = os.path.dirname(os.path.dirname(os.path.dirname(FERRYCTL)))
    options = json.loads(subprocess.run(
        ["meson", "introspect", "--buildoptions", build], check=True,
        stdout=subprocess.PIPE).stdout)
    prefix = str(tmp_path) + next(
        option["value"] for option in options if option["name"] == "prefix")
    os.makedirs(os.path.join(prefix, "bin"))
    os.symlink(FERRYCTL, os.path.join(prefix, "bin", "ferryctl"))
    subprocess.run(
        ["meson", "install", "-C", build, "--no-rebuild", "--destdir",
         str(tmp_path), "--tags", "shell"], check=True,
        stdout=subprocess.DEVNULL)
    assert {os.path.relpath(os.path.join(where, name), prefix)
            for where, _, names in os.walk(prefix) for name in names} == {
        "bin/ferryctl", "bin/kubectl-ferry", "bin/kubectl_complete-ferry",
        "share/bash-completion/completions/ferryctl",
        "share/fish/vendor_completions.d/ferryctl.fish",
        "share/zsh/site-functions/_ferryctl"}
    plugin = os.path.join(prefix, "bin", "kubectl-ferry")
    assert os.readlink(plugin) == "ferryctl"
    assert help_of(name=plugin).startswith("usage: kubectl ferry COMMAND")
