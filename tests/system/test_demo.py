# SPDX-License-Identifier: Apache-2.0
"""`./run demo`, and what it tells people to do next."""

import os
import re
import shutil
import subprocess

from embedded import FERRYCTL
from installed import make_path
from proxies import BUILD, REPOSITORY

DEADLINE = 600
DEMO = os.path.join(REPOSITORY, "tests", "demo")


def run(*command, **environment):
    """Runs something to its end; what it printed, and how it ended."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=DEADLINE, check=False,
        env={**os.environ, "FERRY_BUILD": BUILD, **environment})
    return done.stdout, done.returncode


def where(text):
    """The directory of its cluster."""
    return re.search(r"up after .* s, in (\S+);", text).group(1)


def part(text, title):
    """The lines below a heading."""
    lines = text.split(f"==> {title}", 1)[1].splitlines()[1:]
    end = next((i for i, line in enumerate(lines) if not line.strip()),
               len(lines))
    return [line.strip() for line in lines[:end]]


def test_it_leaves_nothing_and_says_what_to_try_next():
    text, code = run(DEMO)
    assert code == 0, text
    assert not os.path.exists(os.path.dirname(where(text)))
    steps = part(text, "All of it is gone again. What to try next:")
    assert steps[0].startswith("./run demo --keep ")
    for step in steps:
        name = step.split()[0]
        assert os.path.exists(os.path.join(REPOSITORY, name)), step
    for name in re.findall(r"(?:examples|docs)/\S+\.(?:yaml|md)", text):
        assert os.path.exists(os.path.join(REPOSITORY, name)), name


def test_it_calls_no_programs_but_those_that_are_installed_for_it(tmp_path):
    text, code = run(DEMO, PATH=make_path("demo", tmp_path))
    assert code == 0, text


def test_what_it_says_about_a_cluster_that_stays_can_be_typed():
    text, code = run(DEMO, "--keep")
    scratch = os.path.dirname(where(text))
    try:
        assert code == 0, text
        steps = part(text, "It stays up. Try:")
        last = part(text, "And when you have seen enough:")
        told, code = run("bash", "-c", "\n".join(["set -eux", *steps, *last]))
        assert code == 0, told
        assert not os.path.exists(scratch)
    finally:
        if os.path.exists(scratch):
            run(FERRYCTL, "cluster", "down", "--dir", f"{scratch}/c")
            shutil.rmtree(scratch, ignore_errors=True)


def test_a_guest_that_would_not_fit_is_refused_at_once():
    text, code = run(DEMO, "--memory", "128")
    assert code == 2
    assert "--memory: the guest needs 256 MiB" in text
