# SPDX-License-Identifier: Apache-2.0
"""Processes and network namespaces that cannot outlive a test run.

A Space is a PID namespace. Whatever is started in it ends when it is closed,
and also when the Python process is killed: the kernel ends a PID namespace
with its first process, and that one is tied to us. Network namespaces have no
names, only descriptors, so that several runs never meet and nothing is left.
"""

import contextlib
import ctypes
import os
import subprocess
import threading
import time

_CLONE_NEWNET = 0x40000000
_CLONE_NEWPID = 0x20000000

DEADLINE = 60  # seconds, for what takes a moment
_libc = ctypes.CDLL(None, use_errno=True)


class Timeout(AssertionError):
    """Something that was waited for did not happen in time."""


def wait_until(condition, timeout, what, interval=0.02):
    """Returns condition()'s first true value; Timeout after `timeout` s."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Timeout(f"after {timeout} s still waiting for {what}")
        time.sleep(interval)


def _check(result):
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _setns(path_or_fd, kind):
    if isinstance(path_or_fd, int):
        _check(_libc.setns(path_or_fd, kind))
        return
    fd = os.open(path_or_fd, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.setns(fd, kind))
    finally:
        os.close(fd)


@contextlib.contextmanager
def entered_pids(namespace):
    """What this thread starts is in a PID namespace, by path or fd."""
    with open("/proc/thread-self/ns/pid_for_children", "rb") as home:
        _setns(namespace, _CLONE_NEWPID)
        try:
            yield
        finally:
            _setns(home.fileno(), _CLONE_NEWPID)


class Network:
    """A network namespace."""

    def __init__(self, name):
        self.name = name
        made = []

        # A namespace belongs to a thread: this one makes it and goes.
        def make():
            try:
                _check(_libc.unshare(_CLONE_NEWNET))
                made.append(os.open("/proc/thread-self/ns/net",
                                    os.O_RDONLY | os.O_CLOEXEC))
            except OSError as error:
                made.append(error)

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        if isinstance(made[0], OSError):
            raise made[0]
        self.fd = made[0]
        self.ip("link set lo up")

    def close(self):
        if self.fd != -1:
            os.close(self.fd)
        self.fd = -1

    @contextlib.contextmanager
    def entered(self):
        """This thread is in the namespace: sockets made here belong to it."""
        with open("/proc/thread-self/ns/net", "rb") as home:
            _setns(self.fd, _CLONE_NEWNET)
            try:
                yield
            finally:
                _setns(home.fileno(), _CLONE_NEWNET)

    def run(self, *command, check=True, **more):
        """Runs a short command here; its output is in the exception."""
        with self.entered():
            done = subprocess.run(command, capture_output=True, text=True,
                                  timeout=30, check=False, **more)
        if check and done.returncode != 0:
            raise AssertionError(f"{self.name}: {' '.join(command)}: "
                                 f"{done.stderr.strip()}")
        return done

    def ip(self, words):
        return self.run("ip", *words.split())

    def write_sysctl(self, name, value):
        with self.entered():
            path = "/proc/sys/" + name.replace(".", "/")
            with open(path, "w", encoding="ascii") as file:
                file.write(value)

    def connect(self, device, other, other_device):
        """A cable: `device` here, `other_device` in the other namespace."""
        self.run("ip", "link", "add", device, "type", "veth", "peer", "name",
                 other_device, "netns", f"/proc/{os.getpid()}/fd/{other.fd}")


class Process:
    """A program in a Space, with everything it says in one file."""

    def __init__(self, name, popen, log):
        self.name = name
        self.popen = popen
        self.log = log

    @property
    def pid(self):
        return self.popen.pid

    def running(self):
        return self.popen.poll() is None

    def signal(self, number):
        self.popen.send_signal(number)

    def wait(self, timeout):
        return self.popen.wait(timeout)

    def kill(self):
        """SIGKILL, and gone when this returns."""
        self.popen.kill()
        self.popen.wait(10)

    def stop(self, timeout=10):
        """SIGTERM; returns the exit code."""
        if self.running():
            self.popen.terminate()
        return self.popen.wait(timeout)

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()


class _Holder(threading.Thread):
    """The first process of a PID namespace, tied to us.

    setpriv ties unshare to us, unshare ties the namespace to itself. "Us" is a
    thread for PR_SET_PDEATHSIG: this one, which stays until end(). Whoever asks
    may be any thread: pytest-xdist does not always run tests in the first."""

    def __init__(self):
        super().__init__(daemon=True)
        self._begun = threading.Event()
        self._over = threading.Event()
        self._popen = None
        self.start()
        self._begun.wait(DEADLINE)
        assert self._popen, "cannot start the process of a PID namespace"

    @property
    def pid(self):
        return self._popen.pid

    def run(self):
        try:
            self._popen = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid",
                 "--fork", "--kill-child=KILL", "tini", "-s", "--", "sleep",
                 "infinity"], stdin=subprocess.DEVNULL)
        finally:
            self._begun.set()
        self._over.wait()

    def end(self):
        """It has ended when this returns, and the namespace with it."""
        self._popen.kill()
        self._popen.wait(DEADLINE)
        self._over.set()
        self.join(DEADLINE)


class Space:
    """A PID namespace; see the top of this file."""

    def __init__(self, directory):
        self.directory = directory
        self.processes = []
        self._holder = _Holder()
        path = f"/proc/{self._holder.pid}/ns/pid_for_children"
        own = os.stat("/proc/self/ns/pid").st_ino

        def ready():
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return None
            if os.fstat(fd).st_ino != own:
                return (fd,)
            os.close(fd)
            return None

        self._fd, = wait_until(ready, DEADLINE, "a PID namespace")

    def close(self):
        if self._fd == -1:
            return
        self._holder.end()
        os.close(self._fd)
        self._fd = -1
        for process in self.processes:
            process.popen.wait(DEADLINE)

    def spawn(self, name, command, network, **more):
        """Starts command in the space and in a network namespace."""
        log = os.path.join(self.directory, name + ".log")
        with open(log, "ab") as out, entered_pids(self._fd), \
                network.entered():
            streams = {"stdin": subprocess.DEVNULL, "stdout": out,
                       "stderr": out}
            streams.update(more)
            popen = subprocess.Popen(command, **streams)
        process = Process(name, popen, log)
        self.processes.append(process)
        return process
