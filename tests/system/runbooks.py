# SPDX-License-Identifier: Apache-2.0
"""The runbook (docs/operations.md), and the commands in it run for real."""

import os
import re
import subprocess

from proxies import BUILD, REPOSITORY

RUNBOOK = os.path.join(REPOSITORY, "docs", "operations.md")
COMMAND_DEADLINE = 120  # seconds

_ENTRY = re.compile(
    r'<a id="([a-z-]+)"></a>\n### .*?\n(.*?)(?=<a id=|^## |\Z)',
    re.S | re.M)
_PART = re.compile(r"\*\*(Symptom|Meaning|Check|Fix)\.\*\*(.*?)(?=\n\*\*|\Z)",
                   re.S)
_COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.S | re.M)


def entries():
    """{name: {part: text}} of the runbook."""
    with open(RUNBOOK, encoding="utf-8") as file:
        return {name: dict(_PART.findall(text))
                for name, text in _ENTRY.findall(file.read())}


def commands(entry, part):
    """The lines to type of one part of an entry."""
    blocks = _COMMANDS.findall(entries()[entry].get(part, ""))
    return [line for block in blocks for line in block.splitlines()]


class Shell:
    """A shell as the runbook wants it, for a machine of a cluster.

    `ferryctl doctor` finds the cluster without --dir, as it would with one in
    the usual place.
    """

    def __init__(self, cluster, **variables):
        self.environment = {**os.environ, "KUBECONFIG": cluster.kubeconfig,
                            "NS": "default", **variables}
        bin_dir = os.path.join(cluster.scratch, "bin")
        os.makedirs(bin_dir, exist_ok=True)
        wrapper = os.path.join(bin_dir, "ferryctl")
        with open(wrapper, "w", encoding="ascii") as file:
            file.write(
                "#!/bin/sh\n"
                f"real={BUILD}/src/ctl/ferryctl\n"
                f'[ "$1" != doctor ] || set -- "$@" --dir {cluster.dir}\n'
                'exec "$real" "$@"\n')
        os.chmod(wrapper, 0o755)
        self.environment["PATH"] = bin_dir + ":" + os.environ["PATH"]

    def run(self, line, may_fail=False, netns=None):
        """Runs a line; what it printed."""
        inside = ["nsenter", f"--net=/run/netns/{netns}"] if netns else []
        done = subprocess.run(
            [*inside, "bash", "-euc", line], env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            stdin=subprocess.DEVNULL, timeout=COMMAND_DEADLINE)
        assert may_fail or done.returncode == 0, f"{line}\n{done.stdout}"
        return done.stdout

    def part(self, entry, part, may_fail=False, netns=None):
        """Runs all lines of a part; what they printed."""
        lines = commands(entry, part)
        assert lines, f"{entry} has no commands to {part}"
        return "".join(self.run(line, may_fail, netns) for line in lines)
