# SPDX-License-Identifier: Apache-2.0
"""`ferryctl cluster up` and `down` are killed half-way, and `down` after it
leaves nothing behind."""

import contextlib
import fcntl
import glob
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from embedded import (FERRYCTL, LOG_SHOWN, UP_DEADLINE, Embedded,
                      random_name)
from kubeapi import wait_for
from remains import remains, uplink, users_of

# As `up` prints them.
STEPS = ("programs", "directories", "networks", "API server", "credentials",
         "admission and subresources", "what machines this computer can run",
         "objects", "controllers", "images", "kubelets",
         "handlers and proxies", "nodes")
SLOW_FILES = 30000  # so many take a while to be removed


class Begun:
    """A directory and a name for a cluster that is brought up by hand."""

    def __init__(self):
        self.scratch = tempfile.mkdtemp(prefix="ferry-crash-")
        self.dir = os.path.join(self.scratch, "c")
        self.name = random_name()

    def start(self, *arguments):
        # pylint: disable=consider-using-with
        return subprocess.Popen(
            [FERRYCTL, "cluster", *arguments, "--dir", self.dir],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)

    def up(self):
        return self.start("up", "--nodes", "2", "--name", self.name)

    def down(self):
        process = self.start("down")
        output, _ = process.communicate(timeout=UP_DEADLINE)
        return process.returncode, output.decode()

    def block(self):
        """Of its network, where it has come so far."""
        with contextlib.suppress(OSError):
            with open(os.path.join(self.dir, "state.json"),
                      encoding="utf-8") as file:
                return json.load(file).get("block")
        return None

    def log(self):
        """The logs of its programs, for when a test fails."""
        texts = []
        for path in glob.glob(os.path.join(self.dir, "log", "*")):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(f"--- {path}\n{file.read()[-LOG_SHOWN:]}")
        return "\n".join(texts)

    def remains(self, block=None):
        return remains(self.dir, self.name, block)

    def close(self):
        self.down()
        # Those that were not found: other tests must not meet them.
        for pid in users_of(self.dir):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.scratch, ignore_errors=True)


@pytest.fixture(name="begun")
def _begun():
    begun = Begun()
    try:
        yield begun
    finally:
        begun.close()


def read_until(begun, process, text):
    """Reads what a process writes until it has written this."""
    seen = b""
    end = time.monotonic() + UP_DEADLINE
    while text.encode() not in seen:
        ready, _, _ = select.select([process.stdout], [], [],
                                    max(0, end - time.monotonic()))
        assert ready, f"no '{text}' after: {seen.decode()}{begun.log()}"
        part = os.read(process.stdout.fileno(), 4096)
        assert part, seen.decode() + begun.log()
        seen += part


def kill(process):
    """At once; it must not have ended before."""
    process.send_signal(signal.SIGKILL)
    process.stdout.close()
    assert process.wait(60) == -signal.SIGKILL


def kill_up(begun, step):
    """`up`, killed when it is at this step."""
    process = begun.up()
    read_until(begun, process, f"  {step} ...")
    kill(process)


def wait_closely(what, condition):
    """As wait_for(), but the moment would be over after any pause."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, f"waited for {what}"


def runs(pid):
    """Whether there is such a process; one that only nobody has waited for is
    none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid):
    """All that a process has started, as far as they are its family."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                name, rest = file.read().rsplit(")", 1)
            parents.setdefault(int(rest.split()[1]), []).append(
                (int(entry), name.split("(", 1)[1]))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += [child for child, _ in children]
    return found


def check_down(begun):
    """It ends well, and then there is nothing, and nothing to end either."""
    block = begun.block()
    code, output = begun.down()
    assert code == 0, output
    assert not begun.remains(block)
    code, output = begun.down()
    assert code == 1 and "there is no cluster" in output


def test_a_cgroup_that_is_in_use_for_a_moment_is_waited_for(begun, tmp_path):
    """As it is by a process that has ended already for all others."""
    kill_up(begun, "API server")
    cgroup = f"/sys/fs/cgroup/unified/ferry-{begun.name}-node1"
    os.makedirs(cgroup, exist_ok=True)
    subprocess.run(["mount", "--bind", tmp_path, cgroup], check=True)
    try:
        down = begun.start("down")
        wait_for("the networks to be gone", lambda: down.poll() is not None
                 or not glob.glob(f"/run/netns/ferry-{begun.name}-*"), 60)
    finally:
        subprocess.run(["umount", cgroup], check=True)
    output, _ = down.communicate(timeout=UP_DEADLINE)
    assert down.returncode == 0, output.decode()
    assert not os.path.exists(cgroup)


def has_open(pid, path):
    """Whether a process has this open."""
    with contextlib.suppress(OSError):
        return any(os.readlink(each) == path
                   for each in glob.glob(f"/proc/{pid}/fd/*"))
    return False


def test_who_still_has_the_lock_of_one_that_was_killed_is_waited_for(begun):
    """As a child has which is not yet the program it becomes."""
    kill_up(begun, "credentials")
    held = os.open(begun.dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        wait_for("the lock", lambda: _locked(held), 60)
        down = begun.start("down")
        wait_closely("the next one", lambda: down.poll() is not None
                     or has_open(down.pid, begun.dir))
    finally:
        os.close(held)
    output, _ = down.communicate(timeout=UP_DEADLINE)
    assert down.returncode == 0, output.decode()


def _locked(descriptor):
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def test_two_at_a_time_are_refused(begun):
    kill_up(begun, "credentials")
    held = os.open(begun.dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        wait_for("the lock", lambda: _locked(held), 60)
        code, output = begun.down()
    finally:
        os.close(held)
    assert (code, output) == (
        1, f"ferryctl cluster: another ferryctl works on '{begun.dir}'\n")


@pytest.mark.parametrize("step", STEPS)
def test_what_a_killed_up_has_begun_goes(begun, step):
    kill_up(begun, step)
    check_down(begun)


@pytest.mark.parametrize("name", ["libvirtd", "qemu-system-x86"])
def test_what_a_probe_has_started_goes_with_a_killed_up(begun, name):
    process = begun.up()
    read_until(begun, process, "  what machines this computer can run ...")
    wait_for(f"{name} of the probe", lambda: any(
        comm.startswith(name[:15]) for _, comm in descendants(process.pid)),
        120)
    kill(process)
    check_down(begun)


def test_a_directory_that_a_killed_up_has_only_just_made_goes(begun):
    os.mkdir(begun.dir)
    with open(os.path.join(begun.dir, ".state.json.0123456789abcdef"), "wb"):
        pass
    code, output = begun.down()
    assert code == 0, output
    assert not begun.remains()


def test_a_directory_of_somebody_else_stays(begun):
    os.mkdir(begun.dir)
    kept = os.path.join(begun.dir, "mine")
    with open(kept, "wb"):
        pass
    code, output = begun.down()
    assert code == 1 and "there is no cluster" in output
    assert os.path.exists(kept)
    os.unlink(kept)


@pytest.mark.parametrize("way", ["relative", "slash", "link"])
def test_a_directory_has_many_names(begun, way):
    kill_up(begun, "credentials")
    block, directory = begun.block(), begun.dir
    link = os.path.join(begun.scratch, "link")
    os.symlink(directory, link)
    begun.dir = {"relative": os.path.relpath(directory),
                 "slash": directory + "/", "link": link}[way]
    code, output = begun.down()
    begun.dir = directory
    assert code == 0, output
    assert not begun.remains(block)


def test_a_killed_up_is_taken_up_again(begun):
    for step in STEPS[3::3]:
        process = begun.up()
        read_until(begun, process, f"  {step} ...")
        kill(process)
    process = begun.up()
    output, _ = process.communicate(timeout=UP_DEADLINE)
    assert process.returncode == 0, output
    check_down(begun)


def test_a_killed_down_is_taken_up_again():
    """Again and again: while its processes go, its networks, its files."""
    with Embedded() as cluster:
        cluster.start_machine("vm1")
        for number in range(SLOW_FILES):
            with open(f"{cluster.dir}/shared/{number}", "wb"):
                pass
        pids = [program["pid"] for program in cluster.state()["programs"]]
        block = cluster.state()["block"]
        moments = (
            lambda: not all(map(runs, pids)),
            lambda: not os.path.exists(
                f"/sys/class/net/{uplink(cluster.name)}"),
            lambda: len(os.listdir(f"{cluster.dir}/shared")) < SLOW_FILES,
        )
        for moment in moments:
            with subprocess.Popen(
                    [FERRYCTL, "cluster", "down", "--dir", cluster.dir],
                    stdout=subprocess.PIPE) as process:
                wait_closely("its moment", moment)
                kill(process)
        cluster.ferryctl("cluster", "down")
        assert not remains(cluster.dir, cluster.name, block)


def test_a_removal_that_was_killed_is_still_a_cluster(begun):
    """Its state goes last: without it nobody would know what the rest is."""
    kill_up(begun, "networks")
    for number in range(SLOW_FILES):
        with open(f"{begun.dir}/shared/{number}", "wb"):
            pass
    process = begun.start("down")
    wait_closely("files to go", lambda: len(
        os.listdir(f"{begun.dir}/shared")) < SLOW_FILES)
    kill(process)
    assert os.path.exists(os.path.join(begun.dir, "state.json"))
    check_down(begun)
