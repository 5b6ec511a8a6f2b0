# SPDX-License-Identifier: Apache-2.0
"""A ferry-cluster of a test's own, and ways to talk to it.

    with Cluster() as cluster:
        cluster.kubectl("get", "ns")
        cluster.api().get("/api/v1/pods")

Each has its own directory, a port of the kernel's choice, and is gone
afterwards.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from lines import read_line
from proxies import BUILD, DEADLINE, REPOSITORY

sys.path.insert(0, os.path.join(REPOSITORY, "tests", "conformance"))

from kubeapi import KUBECTL, Api, read_kubeconfig  # noqa: E402

CLUSTER = os.path.join(BUILD, "src", "cluster", "ferry-cluster")
STOP_DEADLINE = 60


def hold_port(address):
    """A socket that has a port of this address and does not listen: a server
    may do that again and again, and the kernel gives it to nobody else."""
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind((address, 0))
    return place


class Cluster:
    """A running ferry-cluster."""

    address = "127.0.0.1"  # where it may call others, see apis
    popen = None

    def __init__(self, *options, directory=None):
        self.scratch = tempfile.mkdtemp(prefix="ferry-cluster-")
        self.dir = directory or os.path.join(self.scratch, "cluster")
        self.options = options
        self.kubeconfig = os.path.join(self.dir, "admin.kubeconfig")
        self.log_path = os.path.join(self.scratch, "log")
        self.apis = []
        if not os.path.exists(os.path.join(self.dir, "cluster.json")):
            subprocess.run([CLUSTER, "init", "--dir", self.dir, "--port", "0"],
                           check=True, stdout=subprocess.DEVNULL)
        self.start()

    def start(self):
        """Starts it, again or for the first time; ready when it returns."""
        with open(self.log_path, "ab") as log:
            self.popen = subprocess.Popen(
                [CLUSTER, "serve", "--dir", self.dir, "--log-format", "json",
                 *self.options],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        line = read_line(self.popen.stdout)
        assert line, f"ferry-cluster did not start:\n{self.log()}"
        self.url = json.loads(line)["url"]
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def kill(self):
        """As a crash would."""
        self.popen.kill()
        self.popen.wait(STOP_DEADLINE)
        self.popen.stdout.close()

    def stop(self):
        """As an operator would."""
        self.popen.send_signal(signal.SIGTERM)
        code = self.popen.wait(STOP_DEADLINE)
        self.popen.stdout.close()
        return code

    def api(self, kubeconfig=None, token=None, anonymous=False):
        """A client; of the administrator unless something else is said."""
        directory = tempfile.mkdtemp(dir=self.scratch)
        parts = read_kubeconfig(kubeconfig or self.kubeconfig, directory)
        if token or anonymous:
            parts = {k: parts[k] for k in ("server", "ca_file")}
            parts["token"] = token
        client = Api(**parts)
        self.apis.append(client)
        return client

    def wait_namespace(self, name):
        """Until a new namespace has what pods need; here at once."""

    def user_kubeconfig(self, user, *groups):
        """The path of a kubeconfig for somebody else."""
        out = subprocess.run(
            [CLUSTER, "kubeconfig", "--dir", self.dir, "--user", user,
             *[f"--group={g}" for g in groups]],
            check=True, stdout=subprocess.PIPE).stdout
        fd, path = tempfile.mkstemp(dir=self.scratch, suffix=".kubeconfig")
        with os.fdopen(fd, "wb") as file:
            file.write(out)
        return path

    def kubectl_raw(self, *arguments, stdin=None, kubeconfig=None,
                    timeout=DEADLINE, env=None):
        """Runs kubectl to its end; the CompletedProcess."""
        return subprocess.run(
            [KUBECTL, "--kubeconfig", kubeconfig or self.kubeconfig,
             "--cache-dir", os.path.join(self.scratch, "cache"), *arguments],
            input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, timeout=timeout, check=False,
            env={**os.environ, **(env or {})})

    def kubectl(self, *arguments, **more):
        """The same, which must succeed; what it printed."""
        done = self.kubectl_raw(*arguments, **more)
        assert done.returncode == 0, \
            f"kubectl {' '.join(arguments)}: {done.returncode}\n" \
            f"{done.stdout}{done.stderr}"
        return done.stdout

    def close(self):
        for client in self.apis:
            client.close()
        if self.popen and self.popen.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.stop()
            if self.popen.poll() is None:
                self.kill()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
