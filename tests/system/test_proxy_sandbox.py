# SPDX-License-Identifier: Apache-2.0
"""What the process that faces the network has left."""

import os
import pwd
import subprocess

import pytest

from lines import read_line
from proxies import DEADLINE, PROXY, wait_for


def status_fields(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file
                    if ":\t" in line)


@pytest.fixture
def daemon(bench):
    return bench.daemon("a")


def test_root_must_name_a_user(bench):
    for more, word in (([], b"--user"), (["--user", "root"], b"root"),
                       (["--user", "no-such-user"], b"no-such-user")):
        done = subprocess.run(
            [PROXY, "serve", "--control", f"{bench.directory}/c.sock",
             *bench.options_a, *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
            timeout=DEADLINE)
        assert done.returncode != 0
        assert word in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_it_runs_as_that_user_without_capabilities(daemon):
    nobody = pwd.getpwnam("nobody")
    fields = status_fields(daemon.popen.pid)
    assert set(fields["Uid"].split()) == {str(nobody.pw_uid)}
    assert set(fields["Gid"].split()) == {str(nobody.pw_gid)}
    assert fields["Groups"].strip() == ""
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) == 0, name
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_every_thread_is_confined(daemon):
    threads = os.listdir(f"/proc/{daemon.popen.pid}/task")
    assert len(threads) >= 2
    for thread in threads:
        fields = status_fields(thread)
        assert fields["Seccomp"] == "2"
        assert int(fields["CapEff"], 16) == 0


def test_the_opener_keeps_only_the_right_to_open(daemon):
    opener = daemon.pids()[1]
    fields = status_fields(opener)
    # chown, dac_override, dac_read_search, fowner
    assert int(fields["CapEff"], 16) == 0b1111
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_status_tells_the_sandbox(bench, daemon):
    sandbox = bench.client(daemon).call("status")["sandbox"]
    assert sandbox["user"] == "nobody"
    assert sandbox["capabilities"] == "none"
    assert sandbox["seccomp"] == "on"
    assert sandbox["landlock"] == "off" or sandbox["landlock"].startswith(
        "abi")


def test_the_opener_ends_with_its_parent(daemon):
    opener = daemon.pids()[1]
    daemon.popen.kill()
    daemon.popen.wait(DEADLINE)

    def gone():
        try:
            return status_fields(opener)["State"].startswith("Z")
        except (FileNotFoundError, ProcessLookupError):
            return True

    wait_for("the opener to end", gone)


def test_a_user_without_root_can_run_it(bench):
    """With files of its own, and no --user."""
    subprocess.run(["chown", "-R", "daemon", bench.directory], check=True,
                   timeout=DEADLINE)
    done = subprocess.Popen(
        ["setpriv", "--reuid", "daemon", "--regid", "daemon",
         "--clear-groups", PROXY, "target", "--key", "k1", "--peer", "node-a",
         "--dir", bench.b, "--bind", "127.0.0.1", *bench.options_b],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        line = read_line(done.stdout, DEADLINE)
    finally:
        done.terminate()
        _, errors = done.communicate(timeout=DEADLINE)
    assert line.startswith(b'{"address"'), errors
    assert done.returncode == 0
