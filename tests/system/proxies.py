# SPDX-License-Identifier: Apache-2.0
"""ferry-proxy without guests: two of them on loopback, and programs around.

    program -> DIR/a/KEY-49152-source.sock -> source -> TCP -> target
            -> DIR/b/KEY-49152-source.sock -> program
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from lines import read_line
from rpc import Client

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("FERRY_BUILD", os.path.join(REPOSITORY, "build"))
PROXY = os.path.join(BUILD, "src", "proxy", "ferry-proxy")
STREAMER = os.path.join(BUILD, "tests", "system", "streamer")

USER = "nobody"
DEADLINE = 60  # seconds for anything that should take a moment
DIRECT = 49152


def wait_for(what, condition, deadline=DEADLINE):
    """Returns the first true value of condition()."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {deadline} s for {what}")
        time.sleep(0.01)


class Pki:
    """Certificates of nodes, good and bad, below one directory."""

    def __init__(self, directory):
        self.directory = directory
        subprocess.run([PROXY, "pki", "ca", directory], check=True,
                       timeout=DEADLINE)

    def path(self, name):
        return os.path.join(self.directory, name)

    def node(self, name):
        subprocess.run([PROXY, "pki", "node", "--force", self.directory,
                        name], check=True, timeout=DEADLINE)
        return self.options(name)

    def options(self, name, ca="ca.crt"):
        return ["--cert", self.path(name + ".crt"),
                "--key-file", self.path(name + ".key"),
                "--ca", self.path(ca)]

    def node_dated(self, name, node, start, end, usage="serverAuth,clientAuth"):
        """A certificate of `node` in files `name`, valid from start to end."""
        config = self.path(name + ".cnf")
        new = self.path(name + ".new")
        os.makedirs(new)
        with open(self.path(name + ".index"), "w", encoding="ascii"):
            pass
        with open(config, "w", encoding="ascii") as file:
            file.write(f"""
[ca]
default_ca = own
[own]
database = {self.path(name + ".index")}
new_certs_dir = {new}
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[extensions]
subjectAltName = URI:spiffe://ferry.io/node/{node}
extendedKeyUsage = {usage}
basicConstraints = CA:FALSE
""")
        run_quietly("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj",
                    f"/CN={node}", "-keyout", self.path(name + ".key"),
                    "-out", self.path(name + ".csr"))
        run_quietly("openssl", "ca", "-batch", "-config", config, "-in",
                    self.path(name + ".csr"), "-out",
                    self.path(name + ".crt"), "-cert", self.path("ca.crt"),
                    "-keyfile", self.path("ca.key"), "-startdate", start,
                    "-enddate", end, "-extensions", "extensions", "-notext")
        return self.options(name)


def run_quietly(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False,
                          timeout=DEADLINE)
    assert done.returncode == 0, done.stdout.decode()


class Process:
    """A running ferry-proxy and what it wrote."""

    def __init__(self, directory, name, *arguments, user=USER, netns=None):
        self.name = name
        self.log_path = os.path.join(directory, name + ".log")
        command = [PROXY, *arguments, "--user", user, "--log-format", "json"]
        if netns:
            command = ["ip", "netns", "exec", netns, *command]
        with open(self.log_path, "wb") as log:
            self.popen = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=log)

    def ready_line(self):
        """The line that target and source print."""
        line = read_line(self.popen.stdout)
        assert line, f"{self.name} did not start:\n{self.log()}"
        return json.loads(line)

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return file.read()

    def records(self):
        found = []
        for line in self.log().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    def reasons(self):
        return [r["reason"] for r in self.records() if "reason" in r]

    def wait_reason(self, reason):
        try:
            return wait_for(f"reason {reason} of {self.name}",
                            lambda: next((r for r in self.records()
                                          if r.get("reason") == reason), None))
        except TimeoutError as error:
            raise AssertionError(f"{error}; its log:\n{self.log()}") from error

    def memory_kib(self):
        """Private memory of the process and its children."""
        total = 0
        for pid in self.pids():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
                    for line in f:
                        if line.startswith("Pss:"):
                            total += int(line.split()[1])
        return total

    def pids(self):
        path = f"/proc/{self.popen.pid}/task/{self.popen.pid}/children"
        with open(path, encoding="ascii") as file:
            return [self.popen.pid, *map(int, file.read().split())]

    def stop(self):
        """Ends it and returns its exit status."""
        if self.popen.poll() is None:
            self.popen.terminate()
        try:
            return self.popen.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait(DEADLINE)
            raise
        finally:
            self.popen.stdout.close()


class Sink:
    """A program that listens on a unix socket, as QEMU does on the target."""

    def __init__(self, path, backlog=128):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(path)
        self.socket.listen(backlog)
        self.socket.settimeout(DEADLINE)

    def accept(self):
        connection, _ = self.socket.accept()
        connection.settimeout(DEADLINE)
        return connection

    def close(self):
        self.socket.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)


def dial(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(DEADLINE)
    connection.connect(path)
    return connection


def receive_all(connection):
    data = bytearray()
    while True:
        piece = connection.recv(1 << 20)
        if not piece:
            return bytes(data)
        data += piece


class Bench:
    """A directory, certificates, and the processes of one test."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="ferry-")
        os.chmod(self.directory, 0o755)
        self.a = os.path.join(self.directory, "a")
        self.b = os.path.join(self.directory, "b")
        os.mkdir(self.a)
        os.mkdir(self.b)
        self.pki = Pki(os.path.join(self.directory, "pki"))
        self.options_a = self.pki.node("node-a")
        self.options_b = self.pki.node("node-b")
        self._stack = contextlib.ExitStack()
        self.processes = []

    def close(self):
        self._stack.close()
        for process in self.processes:
            if process.popen.poll() is None:
                process.popen.kill()
            process.popen.wait(DEADLINE)
            process.popen.stdout.close()
        shutil.rmtree(self.directory, True)

    def logs(self):
        return "\n".join(f"--- {p.name}\n{p.log()[-6000:]}"
                         for p in self.processes)

    def keep(self, thing):
        """Closes it at the end of the test."""
        self._stack.callback(thing.close)
        return thing

    def process(self, name, *arguments, **more):
        made = Process(self.directory, name, *arguments, **more)
        self.processes.append(made)
        return made

    def socket_a(self, key="k1", channel=DIRECT):
        middle = f"-{channel}" if channel else ""
        return os.path.join(self.a, f"{key}{middle}-source.sock")

    def socket_b(self, key="k1", channel=DIRECT):
        middle = f"-{channel}" if channel else ""
        return os.path.join(self.b, f"{key}{middle}-source.sock")

    def target(self, *more, credentials=None, peer="node-a", key="k1",
               bind="127.0.0.1"):
        process = self.process("target", "target", "--key", key, "--peer",
                               peer, "--dir", self.b, "--bind", bind,
                               *(credentials or self.options_b), *more)
        return process, process.ready_line()

    def source(self, ready, *more, credentials=None, peer="node-b", key="k1"):
        ports = ",".join(f"{tcp}:{channel}"
                         for tcp, channel in ready["ports"].items())
        process = self.process("source", "source", "--key", key, "--peer",
                               peer, "--dir", self.a, "--address",
                               ready["address"], "--ports", ports,
                               *(credentials or self.options_a), *more)
        return process, process.ready_line()

    def pair(self, *more, target=(), source=()):
        """Both sides, ready; returns (target, source)."""
        process_b, ready = self.target(*more, *target)
        process_a, _ = self.source(ready, *more, *source)
        return process_b, process_a

    def sink(self, key="k1", channel=DIRECT, **more):
        return self.keep(Sink(self.socket_b(key, channel), **more))

    def connect(self, key="k1", channel=DIRECT):
        return self.keep(dial(self.socket_a(key, channel)))

    def daemon(self, node, *more, name=None, netns=None):
        """A `serve` daemon of node "a" or "b"; returns it when it answers."""
        name = name or f"serve-{node}"
        control = os.path.join(self.directory, name + ".sock")
        process = self.process(
            name, "serve", "--control", control, "--allow-dir",
            self.directory, "--bind", "127.0.0.1",
            *getattr(self, f"options_{node}"), *more, netns=netns)
        process.control = control

        def answers():
            assert process.popen.poll() is None, process.log()
            with contextlib.suppress(OSError):
                return Client(control)
            return None

        wait_for(f"{name} to answer", answers).close()
        return process

    def client(self, daemon):
        return self.keep(Client(daemon.control))


def tcp_port(ready, channel=DIRECT):
    """The TCP port that carries a channel."""
    return next(int(tcp) for tcp, c in ready["ports"].items() if c == channel)
