# SPDX-License-Identifier: Apache-2.0
"""The runbook (docs/operations.md), and the commands in it run for real."""

import json
import os
import subprocess

import clusters  # noqa: F401  (puts kubeapi on the path)
from embedded import FERRYCTL
from kubeapi import wait_for
from runbook_text import alerts, commands, entries

COMMAND_DEADLINE = 120  # seconds
FINDING_DEADLINE = 180


class Shell:
    """A shell as the runbook wants it, for a machine of a cluster.

    variables: those of the runbook; NS is "default" if not said. Commands are
    run as they are printed.
    """

    def __init__(self, cluster, **variables):
        self.environment = {**os.environ, "KUBECONFIG": cluster.kubeconfig,
                            "NS": "default", **variables}
        self.environment["PATH"] = os.path.dirname(FERRYCTL) + ":" + \
            os.environ["PATH"]

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
        lines = commands({**entries(), **alerts()}[entry].get(part, ""))
        assert lines, f"{entry} has no commands to {part}"
        return "".join(self.run(line, may_fail, netns) for line in lines)

    def explain(self, *arguments):
        """The page of `ferryctl explain`, as an object."""
        return json.loads(self.run(
            'ferryctl explain -n "$NS" -o json ' + " ".join(arguments)))

    def wait_finding(self, codes, entry, *arguments):
        """Until what is explained has one of the codes, and leads to this
        entry; the finding."""
        def found():
            return next((f for f in self.explain(*arguments)["findings"]
                         if f["code"] in codes and
                         f["runbook"] == f"docs/operations.md#{entry}"), None)

        finding = wait_for(f"{arguments} to be explained by {codes}, {entry}",
                           found, FINDING_DEADLINE)
        assert finding["meaning"] and finding["checks"] and finding["remedies"]
        return finding


def machine_shell(cluster, machine, migration=""):
    """The shell for a machine of an embedded cluster; NODE is the other of
    its two nodes."""
    node = next(n for n in cluster.node_names() if n != machine.node)
    return Shell(cluster, VM=machine.name, MIGRATION=migration, NODE=node)
