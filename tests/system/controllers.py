# SPDX-License-Identifier: Apache-2.0
"""ferry-controllers of a test's own.

    with Controllers(cluster, 2) as controllers:
        leader = controllers.leader()
        leader.kill()
        controllers.free_lease()     # or wait until it is over by itself
        controllers.leader()         # the other one
        leader.start()

Each is a process with an identity, a log, and, when asked for, a proxy of its
own in between that injects faults (faults.py).
"""

import contextlib
import json
import os
import signal
import ssl
import subprocess
import tempfile
import urllib.request

from faults import Faults
from kubeapi import wait_for
from lines import read_line
from proxies import BUILD, DEADLINE, REPOSITORY

CONTROLLER = os.path.join(BUILD, "src", "controller", "ferry-controller")
ROLE = os.path.join(REPOSITORY, "deploy", "kubernetes",
                    "ferry-controller-rbac.yaml")
NAMESPACE = "kubevirt"
USER = f"system:serviceaccount:{NAMESPACE}:kubevirt-controller"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/" \
        "virt-controller"
STOP_DEADLINE = 60
RESCUE_SECONDS = 5  # for those that live to take the lease
LOG_SHOWN = 20000  # bytes, of each, where a test fails
# So slow a machine that it loses the lead of these times has no tests.
PATIENT = ("--leader-lease-seconds", "60", "--leader-renew-seconds", "40",
           "--leader-retry-seconds", "1")

# They have certificates that nobody has signed. Made once, since it costs more
# than what it is used for.
UNCHECKED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
UNCHECKED.check_hostname = False
UNCHECKED.verify_mode = ssl.CERT_NONE


class Controller:
    """One ferry-controller."""

    def __init__(self, directory, name, kubeconfig, options, faults=None):
        self.name = name
        self.faults = faults
        self.command = [
            CONTROLLER, "serve", "--kubeconfig",
            faults.kubeconfig if faults else kubeconfig, "--identity", name,
            "--listen", "127.0.0.1:0", "--log-format", "json", *options]
        self.log_path = os.path.join(directory, f"{name}.log")
        self.popen = None
        self.port = 0
        self.ended = False  # by kill() or stop()
        self.start()

    def start(self):
        """Starts it, again or for the first time; it may not lead yet."""
        with open(self.log_path, "ab") as log:
            self.popen = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log)
        self.ended = False
        line = read_line(self.popen.stdout)
        assert line, f"{self.name} did not start:\n{self.log()}"
        self.port = json.loads(line)["port"]
        return self

    @property
    def pid(self):
        return self.popen.pid

    def runs(self):
        return self.popen.poll() is None

    def has_crashed(self):
        """It has ended though nobody wanted it to."""
        return not self.runs() and not self.ended

    def kill(self):
        """As a crash would; kill -9."""
        assert not self.has_crashed(), \
            f"{self.name} ended with {self.popen.returncode}:\n{self.log()}"
        self.ended = True
        # Others may start it again before this returns.
        popen = self.popen
        popen.kill()
        popen.wait(STOP_DEADLINE)
        popen.stdout.close()

    def stop(self):
        """As an operator would; its exit status."""
        self.ended = True
        self.popen.send_signal(signal.SIGTERM)
        code = self.popen.wait(STOP_DEADLINE)
        self.popen.stdout.close()
        return code

    def get(self, path):
        """What it serves under /metrics and the like; None if it refuses."""
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(
                    f"https://127.0.0.1:{self.port}{path}", timeout=DEADLINE,
                    context=UNCHECKED) as answer:
                return answer.read().decode()
        return None

    def metrics(self):
        """Numbers by name, labels and all."""
        text = self.get("/metrics") or ""
        lines = [line.rsplit(" ", 1) for line in text.splitlines()
                 if line and not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def is_ready(self):
        """It has seen everything and could lead."""
        return self.get("/readyz") is not None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def close(self):
        if self.runs():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.stop()
            if self.runs():
                self.kill()
        if self.faults:
            self.faults.close()


class Controllers:
    """Some ferry-controllers of one cluster, of which one leads.

    faults: each has a proxy of its own. patient: the lead is lost by death
    alone. kubeconfig: whose name they go by; the controller's own account."""

    def __init__(self, cluster, count=1, *options, faults=False, patient=True,
                 kubeconfig=None):
        self.cluster = cluster
        self.api = cluster.api()
        ensure_namespace(self.api)
        cluster.kubectl("apply", "-f", ROLE)
        self.directory = tempfile.mkdtemp(dir=cluster.scratch,
                                          prefix="controllers-")
        self.kubeconfig = kubeconfig or cluster.user_kubeconfig(
            USER, "system:serviceaccounts",
            f"system:serviceaccounts:{NAMESPACE}")
        self.options = [*(PATIENT if patient else ()), *options]
        self.with_faults = faults
        self.all = []
        for _ in range(count):
            self.add()

    def add(self):
        """One more."""
        faults = Faults(self.cluster, self.kubeconfig) \
            if self.with_faults else None
        made = Controller(self.directory, f"controller-{len(self.all)}",
                          self.kubeconfig, self.options, faults)
        self.all.append(made)
        return made

    def holder(self):
        """The name in the lease; "" when nobody has it."""
        answer = self.api.request("GET", LEASE)
        if answer.code != 200:
            return ""
        return answer.json()["spec"].get("holderIdentity") or ""

    def leader(self, deadline=DEADLINE):
        """The one that leads and runs, as soon as there is one."""
        return wait_for("a controller to lead", self.leading, deadline)

    def leading(self):
        """The one that leads now; None if there is none."""
        holder = self.holder()
        for each in self.all:
            if each.name == holder and each.runs() and each.metrics().get(
                    "kubevirt_virt_controller_leading_status") == 1:
                return each
        return None

    def others(self):
        """Those that run and do not lead."""
        leader = self.leader()
        return [c for c in self.all if c is not leader and c.runs()]

    def free_lease(self):
        """The lease of one that was killed is over, without waiting.

        By a client of its own: it is called out of threads of proxies too.
        """
        client = self.cluster.api()
        client.patch(LEASE, {"spec": {"holderIdentity": ""}})
        client.close()

    def rescue(self):
        """Somebody leads, also when one that died wrote its name last."""
        while True:
            with contextlib.suppress(TimeoutError):
                return self.leader(RESCUE_SECONDS)
            self.free_lease()

    def logs(self):
        return "\n".join(f"--- {c.name}\n{c.log()[-LOG_SHOWN:]}"
                         for c in self.all)

    def close(self):
        for each in self.all:
            each.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def ensure_namespace(api):
    """The namespace that Ferry is installed in."""
    answer = api.request("POST", "/api/v1/namespaces", {
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": NAMESPACE}})
    assert answer.code in (201, 409), answer
