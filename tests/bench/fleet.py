# SPDX-License-Identifier: Apache-2.0
"""A cluster full of machines, without a guest in any of them.

Nodes and machines are played (tests/system/played.py); they are made in bulk
by kubesend, since Python would take longer for that than what is measured.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import urllib.parse

import played_objects as objects
from clusters import Cluster
from kubeapi import read_kubeconfig
from played_objects import NODES, PODS, VMIMS, VMIS, namespaced
from played_steps import ready_pod

NAMESPACE = "bench"
NODE_COUNT = 50
CLIENTS = 16
IMAGE = "ferry-launcher:bench"
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
# As a machine of a real user has it: a disk, cloud-init, resources.
SPEC = {
    "domain": {
        "cpu": {"cores": 2, "sockets": 1, "threads": 1,
                "model": "host-model"},
        "memory": {"guest": "4Gi"}, "machine": {"type": "q35"},
        "resources": {"requests": {"cpu": "500m", "memory": "4Gi"}},
        "devices": {
            "disks": [{"name": "root", "disk": {"bus": "virtio"}},
                      {"name": "cloudinit", "disk": {"bus": "virtio"}}],
            "interfaces": [{"name": "default", "masquerade": {},
                            "model": "virtio"}]}},
    "evictionStrategy": "LiveMigrate",
    "volumes": [
        {"name": "root", "containerDisk": {
            "image": "registry.example.org/disk@sha256:" + "0" * 64}},
        {"name": "cloudinit", "cloudInitNoCloud": {
            "userData": "#cloud-config\npackages:\n- nginx\n" + "# \n" * 64}}],
}


def machine_name(number):
    return f"vm-{number:05d}"


def node_of(number):
    return f"node-{number % NODE_COUNT:03d}"


def machine(number):
    """A machine that runs, with all that a controller writes about it; but
    the names of its pods, which are not known yet."""
    made = objects.running(objects.vmi(machine_name(number), spec=SPEC),
                           node_of(number))
    made["metadata"]["finalizers"] = ["foregroundDeleteVirtualMachine"]
    made["status"] |= {"qosClass": "Burstable",
                       "launcherContainerImageVersion": IMAGE}
    made["status"]["conditions"].append({"type": "Ready", "status": "True"})
    return made


class Fleet:
    """A ferry-cluster with so many machines that run."""

    def __init__(self, build, size):
        self.kubesend = pathlib.Path(build) / "tests/bench/kubesend"
        self.size = size
        self.cluster = Cluster("--node-grace", "1h", "--log-level", "warning")
        self.api = self.cluster.api()
        self.made = 0
        try:
            self._populate()
        except BaseException:
            self.close()
            raise

    def _populate(self):
        for name in (NAMESPACE, "kubevirt"):
            self.api.create("/api/v1/namespaces", {
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name}})
        nodes = [objects.node(node_of(i)) for i in range(NODE_COUNT)]
        self.send(("POST", NODES, node) for node in nodes)
        self.send(("PUT", f"{NODES}/{n['metadata']['name']}/status",
                   {**n, **objects.node_status()}) for n in nodes)
        self.send(("POST", namespaced(VMIS, NAMESPACE), machine(i))
                  for i in range(self.size))
        machines = self.api.get(namespaced(VMIS, NAMESPACE))["items"]
        self.send(("POST", namespaced(PODS, NAMESPACE), launcher(m))
                  for m in machines)
        self.send(("PUT", namespaced(PODS, NAMESPACE, p["metadata"]["name"],
                                     "status"), {**p, **ready_pod(p, None)})
                  for p in self.api.get(namespaced(PODS, NAMESPACE))["items"])

    def send(self, requests):
        """Sends them side by side; how that went."""
        parts = read_kubeconfig(self.cluster.kubeconfig, tempfile.mkdtemp(
            dir=self.cluster.scratch))
        url = urllib.parse.urlsplit(parts["server"])
        text = "".join(f"{method}\t{path}\t{json.dumps(body)}\n"
                       for method, path, body in requests)
        done = subprocess.run(
            [self.kubesend, url.hostname, str(url.port), parts["ca_file"],
             parts["cert_file"], parts["key_file"], str(CLIENTS)],
            input=text.encode(), stdout=subprocess.PIPE, check=True)
        got = json.loads(done.stdout)
        if got["errors"]:
            raise RuntimeError(f"{got['errors']} requests failed")
        return got

    def limit(self, per_cluster, per_node):
        """The limits of migrations, from now on."""
        body = objects.kubevirt({
            "parallelMigrationsPerCluster": per_cluster,
            "parallelOutboundMigrationsPerNode": per_node})
        answer = self.api.request("POST", KUBEVIRT, body)
        if answer.code == 409:
            self.api.patch(f"{KUBEVIRT}/kubevirt", {"spec": body["spec"]})

    def migrate(self, count):
        """Migrations of the next count machines, after the last the first
        again; the machines of the migrations, by name."""
        first, self.made = self.made, self.made + count
        made = {f"m-{i:06d}": machine_name(i % self.size)
                for i in range(first, first + count)}
        self.send(("POST", namespaced(VMIMS, NAMESPACE),
                   objects.vmim(machine, name))
                  for name, machine in made.items())
        return made

    def close(self):
        self.cluster.close()


def launcher(machine):
    """Its pod, as it would have been rendered."""
    pod = objects.launcher(machine, machine["status"]["nodeName"])
    pod["spec"]["volumes"] = [{"name": "root", "image": {
        "reference": SPEC["volumes"][0]["containerDisk"]["image"]}}]
    compute = pod["spec"]["containers"][0]
    compute["image"] = IMAGE
    compute["resources"] = {"requests": {"cpu": "500m", "memory": "4Gi"}}
    compute["volumeMounts"] = [
        {"name": "root",
         "mountPath": "/var/run/kubevirt/container-disks/root"}]
    return pod


class Usage:
    """What a process uses, from now on."""

    def __init__(self, pid):
        self.pid = pid
        self.before = self._cpu()

    def _cpu(self):
        text = pathlib.Path(f"/proc/{self.pid}/stat").read_text("ascii")
        user, system = text.rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def cpu_seconds(self):
        return self._cpu() - self.before

    def memory_mib(self, row="VmRSS"):
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text("ascii")
        for line in text.splitlines():
            if line.startswith(f"{row}:"):
                return int(line.split()[1]) / 1024
        return 0.0
