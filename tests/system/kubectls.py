# SPDX-License-Identifier: Apache-2.0
"""What tests with kubectl share: its version, its tables, one that runs on."""

import contextlib
import json
import os
import re
import subprocess

from kubeapi import DEADLINE, KUBECTL
from lines import Lines


def _minor():
    out = subprocess.run([KUBECTL, "version", "--client", "-o", "json"],
                         check=True, stdout=subprocess.PIPE).stdout
    return int(json.loads(out)["clientVersion"]["minor"].rstrip("+"))


# Debian's is 1.20: it lacks some commands, and says some things differently.
MINOR = _minor()
HAS_EVENTS = MINOR >= 26
HAS_TOKEN = MINOR >= 24
HAS_WAIT_JSONPATH = MINOR >= 23
HAS_WHOAMI = MINOR >= 28

AGE = re.compile(r"(\d+[smhdy]){1,2}")


def table(text):
    """The titles and the rows of a table; every age in it is "AGE"."""
    lines = text.splitlines()
    # A title may have a space in it; between two of them there are three.
    found = list(re.finditer(r"\S+(?: \S+)*", lines[0]))
    ends = [title.start() for title in found[1:]] + [None]
    rows = []
    for line in lines[1:]:
        cells = [line[title.start():end].strip()
                 for title, end in zip(found, ends)]
        rows.append(["AGE" if AGE.fullmatch(cell) else cell
                     for cell in cells])
    return [title.group() for title in found], rows


class Following:
    """A kubectl that runs until it is told to stop, line by line."""

    def __init__(self, cluster, *arguments):
        self.popen = subprocess.Popen(
            [KUBECTL, "--kubeconfig", cluster.kubeconfig, "--cache-dir",
             os.path.join(cluster.scratch, "cache"), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.lines = Lines(self.popen.stdout)

    def next(self):
        """The next line; None at the end."""
        line = self.lines.next(DEADLINE)
        return None if line is None else line.rstrip("\n")

    def until(self, part):
        """Reads on to a line with this in it, and returns it."""
        seen = []
        while True:
            line = self.next()
            assert line is not None, \
                f"kubectl ended before it said '{part}': {seen}"
            seen.append(line)
            if part in line:
                return line

    def words(self):
        """The next line, its columns, every age "AGE"."""
        line = self.next()
        assert line is not None, "kubectl ended"
        return ["AGE" if AGE.fullmatch(cell) else cell
                for cell in re.split(r" {3,}", line.rstrip())]

    def wait(self):
        """Its exit code, when it ends by itself."""
        return self.popen.wait(DEADLINE)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.popen.kill()
        self.popen.wait(DEADLINE)
        self.lines.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def event(name, namespace, reason, about, kind="VirtualMachineInstance"):
    """An event of a test's own making."""
    now = "2026-01-01T00:00:00Z"
    return {"apiVersion": "v1", "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {"kind": kind, "name": about,
                               "namespace": namespace},
            "reason": reason, "message": f"{reason} {about}",
            "type": "Normal", "source": {"component": "test"}, "count": 1,
            "firstTimestamp": now, "lastTimestamp": now}


def pod(name, **spec):
    """A small one; give nodeName to keep the scheduler out of it."""
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
