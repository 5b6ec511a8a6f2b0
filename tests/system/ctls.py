# SPDX-License-Identifier: Apache-2.0
"""ferryctl as people use it: in a pipe, on a terminal, as a plugin of kubectl.

    with World("ctl-a", "ctl-b") as world:
        world.machine("vm1")
        world.told("migrate", "vm1")
        with world.terminal("ferryctl top") as terminal:
            terminal.wait("vm1")
            terminal.press("q")

The control plane is real, the nodes are played, and there are no guests.
Terminals are tmux's. FERRY_REGENERATE=1 writes what tests compare with anew.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile

import played_objects as objects
from apis import Api
from clusters import KUBECTL, Cluster
from controllers import Controllers
from kubeapi import wait_for
from played import Played
from played_objects import VMIMS, VMIS, namespaced
from played_steps import status
from proxies import BUILD, REPOSITORY

FERRYCTL = os.path.join(BUILD, "src", "ctl", "ferryctl")
GOLDEN = os.path.join(REPOSITORY, "tests", "data", "ctl")
KUBEVIRTS = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
VMS = "/apis/kubevirt.io/v1/virtualmachines"
COMMAND_DEADLINE = 120  # seconds
PATIENCE = 180
COLUMNS, ROWS = 150, 40
NAMES = ("ferryctl", "kubectl-ferry", "kubectl_complete-ferry")


def compare(name, text):
    """The text is the one in tests/data/ctl, or becomes it."""
    path = os.path.join(GOLDEN, name)
    if os.environ.get("FERRY_REGENERATE"):
        os.makedirs(GOLDEN, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(path, encoding="utf-8") as file:
        assert text == file.read(), f"{path}; FERRY_REGENERATE=1 accepts it"


def bin_directory(parent):
    """A directory for PATH that has ferryctl under all its names, and the
    kubectl of the tests."""
    directory = os.path.join(parent, "bin")
    if not os.path.isdir(directory):
        os.mkdir(directory)
        for name in NAMES:
            os.symlink(FERRYCTL, os.path.join(directory, name))
        os.symlink(shutil.which(KUBECTL), os.path.join(directory, "kubectl"))
    return directory


def environment(cluster, **more):
    """What a person's shell has."""
    return {**os.environ, "KUBECONFIG": cluster.kubeconfig,
            "PATH": bin_directory(cluster.scratch) + ":" + os.environ["PATH"],
            "HOME": cluster.scratch, "LC_ALL": "C.UTF-8", **more}


def run(cluster, *command, timeout=COMMAND_DEADLINE, **variables):
    """Runs a command in a pipe; the CompletedProcess."""
    return subprocess.run(
        command, env=environment(cluster, **variables), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL, check=False, timeout=timeout)


def one_line(done, status_, start="ferryctl: "):
    """The one line that a command has complained with."""
    assert done.returncode == status_, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.startswith(start), \
        done.stderr
    return done.stderr


class Terminal:
    """A command on a terminal of its own; its exit status is shown as
    "[status N]" when it has ended."""

    def __init__(self, directory, command, variables, columns=COLUMNS,
                 rows=ROWS):
        self.directory = tempfile.mkdtemp(dir=directory, prefix="tmux-")
        self.socket = os.path.join(self.directory, "socket")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns),
                  "-y", str(rows), "env", "-i",
                  *[f"{k}={v}" for k, v in variables.items()
                    if not k.startswith("TMUX") and k != "TERM"],
                  "TERM=screen", "sh", "-c",
                  f"trap : INT\n{command}\necho \"[status $?]\"; sleep 600")

    def tmux(self, *arguments):
        """Runs tmux for this terminal; what it printed."""
        return subprocess.run(
            ["tmux", "-S", self.socket, *arguments], check=True, text=True,
            stdout=subprocess.PIPE, timeout=COMMAND_DEADLINE).stdout

    def text(self):
        """All that is on the screen, and what has been scrolled off."""
        lines = self.tmux("capture-pane", "-p", "-J", "-S", "-").splitlines()
        return "".join(line.rstrip() + "\n" for line in lines)

    def shown(self):
        """The lines of the screen, as they are."""
        return self.tmux("capture-pane", "-p").splitlines()

    def wait_words(self, part):
        """The same of words that may be in several lines."""
        return self.wait(" ".join(part.split()),
                         read=lambda text: " ".join(text.split()))

    def wait(self, part, deadline=PATIENCE, read=str):
        """Until this is to be read; the text."""
        found = ""

        def is_there():
            nonlocal found
            found = self.text()
            return part in read(found)

        try:
            wait_for(f"'{part}' on the terminal", is_there, deadline)
        except TimeoutError as error:
            raise AssertionError(f"no '{part}':\n{found}") from error
        return found

    def status(self, deadline=PATIENCE):
        """The exit status, once it has ended."""
        text = self.wait("[status ", deadline)
        return int(re.search(r"\[status (\d+)\]", text).group(1))

    def press(self, *keys):
        """Keys as tmux names them: q, C-c, Tab."""
        self.tmux("send-keys", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.tmux("kill-server")
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _AsController:
    """The cluster, for those who write what only Ferry may."""

    def __init__(self, api):
        self.api = api.controller


class World:
    """A control plane with played nodes, and machines in "default"."""

    def __init__(self, *nodes):
        self.stack = contextlib.ExitStack()
        self.nodes = nodes
        with contextlib.ExitStack() as stack:
            self.cluster = stack.enter_context(
                Cluster("--node-grace", "1h"))
            self.api = stack.enter_context(Api(self.cluster))
            self.played = stack.enter_context(
                Played(_AsController(self.api), *nodes))
            self.controllers = stack.enter_context(Controllers(self.cluster))
            self.played.api.create(KUBEVIRTS, objects.kubevirt())
            self.controllers.leader()
            self.stack = stack.pop_all()

    def machine(self, name, namespace="default", spec=None):
        """A VirtualMachine that runs; its key."""
        self.played.api.create(namespaced(VMS, namespace), objects.vm(
            name, spec={"evictionStrategy": "LiveMigrate", **(spec or {})}))
        self.wait_status(name, "Running", namespace)
        self.played.settle(f"{namespace}/{name}", PATIENCE)
        return f"{namespace}/{name}"

    def wait_status(self, name, word, namespace="default"):
        """Until the machine is what people read of it."""
        wait_for(f"{name} to be {word}", lambda: status(self.played.api.get(
            namespaced(VMS, namespace, name))).get("printableStatus") == word,
            PATIENCE)

    def vmi(self, name, namespace="default"):
        return self.played.api.get(namespaced(VMIS, namespace, name))

    def migrations(self, name, namespace="default"):
        """All of a machine, oldest first."""
        found = self.played.api.get(
            f"{namespaced(VMIMS, namespace)}?labelSelector="
            f"kubevirt.io%2Fvmi-name%3D{name}")["items"]
        return sorted(found,
                      key=lambda m: m["metadata"]["creationTimestamp"])

    def progress(self, name, namespace="default", **numbers):
        """The source node says how far the transfer is."""
        self.played.api.patch(
            namespaced(VMIS, namespace, name),
            {"status": {"migrationState": {"progress": numbers}}})

    def run(self, *arguments, **more):
        """ferryctl in a pipe; the CompletedProcess."""
        return run(self.cluster, "ferryctl", *arguments, **more)

    def told(self, *arguments, status_=0, **more):
        """What it printed; it must end with this status."""
        done = self.run(*arguments, **more)
        assert done.returncode == status_, done.stdout + done.stderr
        assert status_ != 0 or done.stderr == "", done.stderr
        return done.stdout

    def refused(self, status_, *arguments, **more):
        """The one line that it complained with, and nothing else."""
        done = self.run(*arguments, **more)
        assert done.stdout == "", done.stdout
        return one_line(done, status_)

    def terminal(self, command, columns=COLUMNS, rows=ROWS, **variables):
        """A shell command on a terminal."""
        return Terminal(self.cluster.scratch, command,
                        environment(self.cluster, **variables), columns, rows)

    def popen(self, *arguments, **variables):
        """ferryctl in pipes, while it runs."""
        return subprocess.Popen(
            ["ferryctl", *arguments],
            env=environment(self.cluster, **variables),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def log(self):
        return "\n".join([self.cluster.log()[-5000:], self.api.log()[-5000:],
                          self.controllers.logs()[-5000:]])

    def close(self):
        self.stack.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def stranger(cluster, name, *rules):
    """A kubeconfig of somebody who may do this in "default"."""
    rbac = "rbac.authorization.k8s.io"
    path = cluster.user_kubeconfig(name)
    if rules:
        cluster.kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "List", "items": [
                {"apiVersion": f"{rbac}/v1", "kind": "Role",
                 "metadata": {"name": name, "namespace": "default"},
                 "rules": list(rules)},
                {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding",
                 "metadata": {"name": name, "namespace": "default"},
                 "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
                 "subjects": [{"apiGroup": rbac, "kind": "User",
                               "name": name}]}]}))
    return path


def quoted(*words):
    """A line for a shell."""
    return shlex.join(words)
