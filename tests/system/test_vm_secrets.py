# SPDX-License-Identifier: Apache-2.0
"""A machine's pod has the host's programs, and none of its secrets.

The cluster is where people have theirs, below /var/lib: /tmp, where other tests
have it, is the pod's own in any case.
"""

import os
import subprocess
import tempfile

import pytest

from embedded import Embedded

HOST_SECRETS = ("/etc/shadow", "/etc/gshadow")  # as every Debian has them
HOST_EMPTY = ("/root", "/home", "/etc/ssh", "/etc/ferry", "/etc/kubernetes",
              "/etc/ssl/private", "/var/backups", "/var/lib/kubelet")


@pytest.fixture(name="cluster", scope="module")
def _cluster():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", "/var/lib")
        with Embedded() as made:
            assert made.dir.startswith("/var/lib/")
            yield made


@pytest.fixture(name="machine", scope="module")
def _machine(cluster):
    return cluster.start_machine("vm1")


def launcher(machine):
    """The pid of the first process of its pod."""
    return machine.process(machine.node, "ferry-launcher")


def inside(machine, *command):
    """Runs a command of root's in the pod's file system."""
    return subprocess.run(
        ["nsenter", "-t", str(launcher(machine)), "-m", "-p", "-r", "-w",
         "--", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False, timeout=60)


def secrets(cluster):
    """Paths of what nobody but the cluster may read."""
    found = []
    for place, _, names in os.walk(cluster.dir):
        found += [os.path.join(place, name) for name in names
                  if name.endswith((".key", "kubeconfig", ".db", ".sock"))
                  and "/proc/" not in place and "/rootfs/" not in place]
    return found


def test_a_pod_sees_no_key_of_its_cluster(cluster, machine):
    paths = secrets(cluster)
    known = {os.path.relpath(path, cluster.dir) for path in paths}
    assert {"cluster/admin.kubeconfig", "cluster/pki/ca.key", "pki/ca.key",
            "node1/handler.kubeconfig", "node2/kubeconfig"} <= known
    done = inside(machine, "sh", "-c",
                  'for path; do cat "$path" && echo "READ $path"; done', "sh",
                  *paths)
    assert "READ" not in done.stdout, done.stdout
    done = inside(machine, "find", cluster.dir)
    assert done.stdout.split() == [cluster.dir]


def test_a_pod_sees_no_secret_of_its_host(machine):
    for path in HOST_SECRETS:
        assert os.path.exists(path)
        done = inside(machine, "cat", path)
        assert done.returncode != 0 and "No such file" in done.stdout
    for path in HOST_EMPTY:
        done = inside(machine, "find", path, "-mindepth", "1")
        assert done.stdout == "" or "No such file" in done.stdout, done.stdout


def test_a_pod_cannot_take_the_covers_away(cluster, machine):
    """Not even with capabilities that it does not have."""
    for path in (cluster.dir, "/root", "/etc/shadow"):
        assert inside(machine, "umount", path).returncode != 0
    done = inside(machine, "sh", "-c", "mount -o remount,rw / ; "
                  f"rmdir {cluster.dir}; find {cluster.dir} | wc -l")
    assert done.stdout.split()[-1] in ("0", "1"), done.stdout


def test_what_a_machine_needs_is_there(machine):
    machine.check()
    machine.migrate()
    machine.check()
