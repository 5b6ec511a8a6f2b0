# SPDX-License-Identifier: Apache-2.0
"""A private world for one benchmark run: network, processes, files, CPU time.

enter() moves the run into its own network, mount and process namespaces.
Nothing outside can be reached from there, nothing outside sees its ports, the
TCP settings are the same for everybody, and whatever was started ends with the
run, even if the run is killed. A Group is a cgroup that holds the processes of
one measured program: it counts their CPU time exactly, children and threads
that are gone included, and ends them all at once.
"""
import ctypes
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CLONE_NEWNS = 0x00020000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1

# Listeners take ports below this range, so that no outgoing connection of the
# run can be in their way.
LOCAL_PORTS = "10000 65000"
FIRST_LISTENER_PORT = 2000

SYSCTLS = {
    # bbr paces even on loopback and makes every relay two to three times
    # slower; reno is always allowed in a namespace.
    "net.ipv4.tcp_congestion_control": "reno",
    "net.ipv4.ip_local_port_range": LOCAL_PORTS,
    "net.core.somaxconn": "4096",
}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _wait_for(child):
    """The parent's part: pass signals on, return the child's status."""
    def forward(number, _frame):
        os.kill(child, number)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, forward)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _stop(number, _frame):
    raise SystemExit(128 + number)


def enter():
    """Goes on inside the private world; the caller's process only waits.

    Returns in the child only. Needs root.
    """
    _check(_libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET),
           "cannot make a private network (root is needed)")
    child = os.fork()
    if child != 0:
        sys.exit(_wait_for(child))
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")
    # A process 1 ignores signals it has no handler for.
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _stop)
    for command in (["mount", "--make-rprivate", "/"],
                    ["mount", "-t", "proc", "proc", "/proc"],
                    ["ip", "link", "set", "lo", "up"]):
        subprocess.run(command, check=True)
    for name, value in SYSCTLS.items():
        path = pathlib.Path("/proc/sys", name.replace(".", "/"))
        try:
            path.write_text(value)
        except FileNotFoundError:
            pass  # not kept per namespace by this kernel
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class World:
    """The directory and the cgroups of a run. Use as a context manager."""

    def __init__(self):
        self.directory = None
        self._cgroups = None
        self._root = None
        self._next_port = FIRST_LISTENER_PORT
        self._groups = []

    def __enter__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="ferry-bench."))
        self.directory.chmod(0o755)
        self._cgroups = self.directory / "cgroup"
        self._cgroups.mkdir()
        subprocess.run(["mount", "-t", "cgroup2", "cgroup2",
                        str(self._cgroups)], check=True)
        self._root = self._cgroups / self.directory.name
        self._root.mkdir()
        return self

    def __exit__(self, *_):
        for group in list(self._groups):
            group.close()
        self._root.rmdir()
        subprocess.run(["umount", str(self._cgroups)], check=True)
        shutil.rmtree(self.directory)

    def port(self):
        """A TCP port of this world that nobody else uses."""
        self._next_port += 1
        if self._next_port >= int(LOCAL_PORTS.split()[0]):
            self._next_port = FIRST_LISTENER_PORT + 1
        return self._next_port

    def group(self, name):
        group = Group(self, self._root / name)
        self._groups.append(group)
        return group

    def forget(self, group):
        self._groups.remove(group)


class Group:
    """The processes of one measured program."""

    def __init__(self, world, path):
        self._world = world
        self._path = path
        self._started = []
        path.mkdir()

    @property
    def cpu_stat(self):
        return self._path / "cpu.stat"

    def cpu_seconds(self):
        first = self.cpu_stat.read_text().splitlines()[0]
        return int(first.split()[1]) / 1e6

    def pids(self):
        return [int(pid) for pid in
                (self._path / "cgroup.procs").read_text().split()]

    def memory_kib(self):
        """Proportional set size of all processes together."""
        total = 0
        for pid in self.pids():
            try:
                text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            total += sum(int(line.split()[1]) for line in text.splitlines()
                         if line.startswith("Pss:"))
        return total

    def start(self, command, **options):
        """Starts a command inside the group, where all it forks stays too."""
        procs = str(self._path / "cgroup.procs")

        def join():
            with open(procs, "w", encoding="ascii") as file:
                file.write("0")
        process = subprocess.Popen(
            [str(part) for part in command], preexec_fn=join, **options)
        self._started.append(process)
        return process

    def close(self):
        """Ends every process of the group and removes it."""
        pids = self.pids()
        (self._path / "cgroup.kill").write_text("1")
        for process in self._started:
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        wait_until(lambda: not self.pids(), 10, f"{self._path.name} to end")
        _reap(pids)
        self._path.rmdir()
        self._world.forget(self)


def _reap(pids):
    """As process 1 we inherit the children that a killed program had."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass


def wait_until(condition, seconds, what):
    """Returns the first true value of condition(); fails after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s in vain for {what}")
        time.sleep(0.01)
