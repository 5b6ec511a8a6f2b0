# SPDX-License-Identifier: Apache-2.0
"""Whether machines of `ferryctl cluster up` run on KVM follows from what a probe
saw, never from the device being there."""

import json
import os
import shlex

import pytest

from embedded import UP_DEADLINE, Embedded
from proxies import BUILD

PROGRAMS = {"ferry-cluster": "cluster", "ferry-api": "webhook",
            "ferry-controller": "controller", "ferry-kubelet": "kubelet",
            "ferry-handler": "handler", "ferry-proxy": "proxy",
            "ferry-launcher": "launcher"}
# A launcher whose probe says what a test wants it to, and notes how it was
# asked. Everything else is the real one's.
PROBE = """#!/usr/bin/python3
import json, os, subprocess, sys
real, says, asked = {real!r}, {says!r}, {asked!r}
if sys.argv[1:2] != ["probe"]:
    os.execv(real, [real, *sys.argv[1:]])
with open(asked, "w", encoding="utf-8") as file:
    json.dump(sys.argv[1:], file)
subprocess.run([real, *(a for a in sys.argv[1:] if a != "--try-kvm")],
               check=True)
path = sys.argv[sys.argv.index("--output") + 1] + "/host.json"
with open(path, encoding="utf-8") as file:
    host = json.load(file)
host["kvm"] = says
with open(path, "w", encoding="utf-8") as file:
    json.dump(host, file)
"""


class Programs:
    """Ferry's, with such a launcher."""

    def __init__(self, where, says):
        self.dir, self.asked = str(where), str(where / "asked")
        for name, source in PROGRAMS.items():
            path = os.path.join(BUILD, "src", source, name)
            if name != "ferry-launcher":
                os.symlink(path, where / name)
                continue
            (where / name).write_text(PROBE.format(
                real=path, says=says, asked=self.asked), encoding="utf-8")
            (where / name).chmod(0o755)

    def up(self, cluster, *options):
        return cluster.ferryctl_raw(
            "cluster", "up", "--nodes", "1", "--name", cluster.name,
            "--bin-dir", self.dir, *options, timeout=UP_DEADLINE)

    def tried(self):
        with open(self.asked, encoding="utf-8") as file:
            return "--try-kvm" in json.load(file)


@pytest.fixture(name="cluster")
def _cluster():
    with Embedded(nodes=1, guest=False, up=False) as made:
        yield made


def uses_kvm(cluster):
    """What machines are told, and what the node offers; both the same."""
    config = json.loads(cluster.kubectl(
        "get", "kubevirt", "-n", "kubevirt", "kubevirt", "-o", "json"))
    emulated = config["spec"]["configuration"]["developerConfiguration"][
        "useEmulation"]
    kubelet, = [program["argv"] for program in cluster.state()["programs"]
                if program["name"] == "ferry-kubelet"]
    offered = "devices.kubevirt.io/kvm" in cluster.get("nodes", "node1")[
        "status"]["capacity"]
    assert ("--kvm" in kubelet) == offered == (not emulated), \
        shlex.join(kubelet)
    return offered


def test_without_a_vcpu_that_runs_machines_are_emulated(cluster, tmp_path):
    programs = Programs(tmp_path, says=False)
    done = programs.up(cluster)
    assert done.returncode == 0, done.stderr
    assert programs.tried()
    assert "machines run emulated, without KVM" in done.stdout
    assert not uses_kvm(cluster)


def test_where_a_vcpu_runs_machines_do(cluster, tmp_path):
    """On KVM, if there is also what their networks need then."""
    programs = Programs(tmp_path, says=True)
    done = programs.up(cluster)
    assert done.returncode == 0, done.stderr
    assert uses_kvm(cluster) == os.path.exists("/dev/vhost-net")


def test_kvm_is_not_tried_where_it_is_not_wanted(cluster, tmp_path):
    programs = Programs(tmp_path, says=True)
    done = programs.up(cluster, "--kvm", "no")
    assert done.returncode == 0, done.stderr
    assert not programs.tried()
    assert not uses_kvm(cluster)


def test_a_cluster_that_must_have_kvm_fails_without(cluster, tmp_path):
    done = Programs(tmp_path, says=False).up(cluster, "--kvm", "yes")
    assert done.returncode == 1
    assert "no vCPU was seen to run on /dev/kvm" in done.stderr
    done = cluster.ferryctl_raw("cluster", "up", "--kvm", "perhaps")
    assert done.returncode == 2
    assert "'perhaps' is none of auto, yes, no" in done.stderr
