# SPDX-License-Identifier: Apache-2.0
"""What a node finds out about itself, beside others that use libvirt."""

import json
import os
import signal
import subprocess
import threading

import pytest

from embedded import guest_files
from lab_space import wait_until
from launchers import LAUNCHER, PATIENCE

# A host whose own libvirtd runs: it has locked its file in /run.
LOCKED = """
import fcntl, os, sys
file = os.open("/run/libvirtd.pid", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.lockf(file, fcntl.LOCK_EX)
os.set_inheritable(file, True)
os.execv(sys.argv[1], sys.argv[1:])
"""
BESIDE_LIBVIRTD = ["unshare", "--mount", "sh", "-c",
                   'mount -t tmpfs none /run && exec "$@"', "sh",
                   "/usr/bin/python3", "-c", LOCKED]


def command(where):
    return [LAUNCHER, "probe", "--output", str(where)]


def descendants(pid):
    """Processes below one, by their numbers."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8",
                      errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        parents[int(name)] = int(text[text.rindex(")") + 1:].split()[1])
    found, more = set(), {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more}
        found |= more
    return found


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return None


@pytest.mark.parametrize("around", [[], BESIDE_LIBVIRTD],
                         ids=["alone", "beside-a-libvirtd"])
def test_a_node_is_looked_at(tmp_path, around):
    done = subprocess.run([*around, *command(tmp_path)], timeout=PATIENCE,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "host.json").exists()


def boots(accelerator):
    """Whether the tests' guest comes up on it."""
    files = guest_files()
    with subprocess.Popen(
            ["qemu-system-x86_64", "-accel", accelerator, "-m", "256",
             "-nographic", "-nic", "none", "-no-reboot", "-kernel",
             f"{files}/vmlinuz", "-initrd", f"{files}/initrd", "-append",
             "console=ttyS0"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        seen = any(b"Linux version" in line for line in process.stdout)
        timer.cancel()
        process.kill()
    return seen


def test_kvm_is_only_said_to_work_where_guests_run_on_it(tmp_path):
    """That there is the device, and that it runs an instruction, is not enough:
    there are some on which no guest gets beyond its loader."""
    subprocess.run([*command(tmp_path), "--try-kvm"], timeout=PATIENCE,
                   stderr=subprocess.DEVNULL, check=True)
    host = json.loads((tmp_path / "host.json").read_text(encoding="utf-8"))
    if not os.path.exists("/dev/kvm"):
        assert not host["kvm"]
    assert boots("kvm" if host["kvm"] else "tcg")


def test_nodes_can_be_looked_at_at_the_same_time(tmp_path):
    running = [subprocess.Popen(command(tmp_path / str(number)),
                                stderr=subprocess.PIPE, text=True)
               for number in range(3)]
    for process in running:
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
    for number in range(3):
        assert (tmp_path / str(number) / "host.json").exists()


def test_one_that_is_killed_leaves_nothing(tmp_path):
    with subprocess.Popen(command(tmp_path),
                          stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: "libvirtd" in map(name_of,
                                             descendants(process.pid)),
                   PATIENCE, "libvirtd to be started")
        below = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(map(name_of, below)), PATIENCE,
               "what it had started to end")
