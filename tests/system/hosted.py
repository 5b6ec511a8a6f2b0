# SPDX-License-Identifier: Apache-2.0
"""A cluster whose Ferry runs in pods, as deploy/kubernetes has it.

    with Hosted() as cluster:
        vm = cluster.start_machine("vm1")
        vm.migrate()

It begins as the cluster of embedded.py. Then every program of Ferry proper is
ended there, and its pod takes over: with the rights of its service account and
nothing else, in its own security context, with the options and volumes of the
manifest. There is no controller of Deployments and DaemonSets here, so their
pods are made by this module; and since all nodes are on one file system, a
path of a node stands for a directory of its own.
"""

import copy
import hashlib
import ipaddress
import itertools
import json
import os
import subprocess

import yaml

from apis import FERRY_API
from embedded import PATIENCE, Embedded
from kubeapi import KUBECTL, Api, wait_for
from proxies import BUILD, REPOSITORY

DEPLOY = os.path.join(REPOSITORY, "deploy")
KUBERNETES = os.path.join(DEPLOY, "kubernetes")
NAMESPACE = "kubevirt"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
WORKLOADS = ("Deployment", "DaemonSet")
# Programs by image; what their pods take the place of.
PROGRAMS = {"api": "webhook", "controller": "controller",
            "handler": "handler", "proxy": "proxy"}
PROBES = ("readinessProbe", "livenessProbe")
# A directory of `./run images`, to run the pods in the file systems of the
# images instead of the node's own.
IMAGES = os.environ.get("FERRY_IMAGES")
SECRET = "kubevirt-virt-api-certs"
PODS_OF_NODE = 20  # addresses that ferry-api may get
WEBHOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def kustomize(directory):
    """The objects of a directory with a kustomization."""
    text = subprocess.run([KUBECTL, "kustomize", directory], check=True,
                          stdout=subprocess.PIPE).stdout
    return [each for each in yaml.safe_load_all(text) if each]


def containers(spec):
    return spec.get("initContainers", []) + spec["containers"]


def program(image):
    """The program of an image of Ferry's, as it was built."""
    name = image.split("/")[1].split(":")[0]
    return os.path.join(BUILD, "src", PROGRAMS.get(name, name),
                        f"ferry-{name}")


class Hosted(Embedded):
    """A cluster with Ferry in its pods."""

    def __init__(self, nodes=2):
        super().__init__(nodes)
        self.api_dir = os.path.join(self.scratch, "api-certificate")
        try:
            self.objects = kustomize(KUBERNETES)
            self.probes = {
                each["spec"]["template"]["metadata"]["labels"]["kubevirt.io"]:
                each["spec"]["template"]["spec"]["containers"][0].get(
                    "readinessProbe", {}).get("httpGet")
                for each in self.objects if each["kind"] in WORKLOADS}
            self._end_programs()
            self._route_pods()
            self._add_images()
            self._install()
        except BaseException:
            self.close()
            raise

    def _end_programs(self):
        for name, node in self.programs():
            if name.removeprefix("ferry-") in PROGRAMS:
                self.kill(name, f"node{node}" if node else 0)
        # Nobody answers them meanwhile.
        for kind in WEBHOOKS:
            self.kubectl("delete", kind, "--all")

    def _route_pods(self):
        """Pods reach the API server and are reached by it. The routes go with
        the interface of the cluster."""
        for node in self.client.get("/api/v1/nodes")["items"]:
            address = next(a["address"] for a in node["status"]["addresses"]
                           if a["type"] == "InternalIP")
            subprocess.run(
                ["ip", "route", "add",
                 self.pod_network(node["metadata"]["name"]), "via", address],
                check=True)

    def _add_images(self):
        for name in PROGRAMS:
            path = program(f"ferry/{name}")
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            # The node's own file system and the program, under the name.
            self._add_image(name, {
                "kind": "host", "digest": f"sha256:{digest}", "binds": [
                    {"source": path, "target": f"/usr/bin/ferry-{name}",
                     "readOnly": True}]})
        if IMAGES:
            for name in (*PROGRAMS, "launcher"):
                self._add_root(name)

    def _image_dir(self, name):
        return os.path.join(self.dir, "images", f"ferry%2F{name}%3Alatest")

    def _add_image(self, name, image):
        directory = self._image_dir(name)
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "image.json"), "w",
                  encoding="ascii") as file:
            json.dump(image, file)

    def _add_root(self, name):
        """A root file system that `./run images` has made, instead."""
        with open(os.path.join(self._image_dir(name), "image.json"),
                  encoding="ascii") as file:
            digest = json.load(file)["digest"]
        self._add_image(name, {"kind": "files", "digest": digest})
        subprocess.run(
            ["cp", "-a", "--reflink=auto", os.path.join(IMAGES, name),
             os.path.join(self._image_dir(name), "rootfs")], check=True)

    def node_path(self, node, path):
        """What stands for a path of a node; devices are everybody's."""
        if path.startswith("/dev/"):
            return path
        if path == "/var/lib/kubelet":
            return os.path.join(self.dir, node, "kubelet")
        return os.path.join(self.dir, node, "root" + path)

    def _install(self):
        for each in self.objects:
            if each["kind"] not in WORKLOADS:
                self.apply(each)
        self._emulate()
        self.certify(*self.node_names())
        self._make_secret()
        for each in self.objects:
            if each["kind"] in WORKLOADS:
                self.run(each)
        self.wait_ready()
        self._call_api()

    def apply(self, each):
        self.kubectl("apply", "-f", "-", stdin=json.dumps(each))

    def _emulate(self):
        self.client.patch(
            f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/kubevirts/kubevirt",
            {"spec": {"configuration": {"developerConfiguration": {
                "useEmulation": True}}}})

    def certify(self, *nodes, more=()):
        """deploy/kubernetes/node-certificates, for each node's own /etc."""
        for node in nodes:
            done = subprocess.run(
                [os.path.join(KUBERNETES, "node-certificates"), "--path",
                 self.node_path(node, "/etc/ferry"), *more,
                 os.path.join(self.scratch, "authority"), node],
                env={**os.environ, "KUBECONFIG": self.kubeconfig, "PATH":
                     f"{BUILD}/src/proxy:{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, timeout=PATIENCE,
                check=False)
            assert done.returncode == 0, done.stdout

    def _make_secret(self):
        """A certificate for ferry-api, also for the address of its pod."""
        os.mkdir(self.api_dir)
        self._certify_api()
        self.kubectl("-n", NAMESPACE, "create", "secret", "tls", SECRET,
                     f"--cert={self.api_dir}/tls.crt",
                     f"--key={self.api_dir}/tls.key")

    def _certify_api(self):
        names = [f"--name={address}" for node in self.node_names()
                 for address in itertools.islice(ipaddress.ip_network(
                     self.pod_network(node)).hosts(), PODS_OF_NODE)]
        subprocess.run([FERRY_API, "certificate", *names, self.api_dir],
                       check=True)

    def pod_network(self, node):
        """Where pods of a node get their addresses from."""
        with open(os.path.join(self.dir, node, "cni", "10-pods.conflist"),
                  encoding="utf-8") as file:
            plugin = json.load(file)["plugins"][0]
        return plugin["ipam"]["ranges"][0][0]["subnet"]

    def run(self, workload):
        """The pods that a Deployment or a DaemonSet would have."""
        nodes = self.node_names()
        if workload["kind"] == "Deployment":
            places = [None] * workload["spec"]["replicas"]
        else:
            places = nodes
        for node in places:
            self.client.create(PODS, self.pod_of(workload, node))

    def pod_of(self, workload, node):
        template = copy.deepcopy(workload["spec"]["template"])
        spec = template["spec"]
        if node:
            spec["nodeName"] = node
        for volume in spec.get("volumes", []):
            if "hostPath" in volume:
                volume["hostPath"]["path"] = self.node_path(
                    node, volume["hostPath"]["path"])
        for each in containers(spec):
            # As every kubelet does; ferry-kubelet has no Services.
            each.setdefault("env", []).extend(self.server_variables())
            # Here it would hang.
            each["command"] = [a for a in each["command"] if a != "--try-kvm"]
            # ferry-kubelet has no probes; wait_ready() asks instead.
            for probe in PROBES:
                each.pop(probe, None)
        return {"apiVersion": "v1", "kind": "Pod", "spec": spec,
                "metadata": {"labels": template["metadata"]["labels"],
                             "generateName":
                             workload["metadata"]["name"] + "-"}}

    def server_variables(self):
        url = self.client.url
        return [{"name": "KUBERNETES_SERVICE_HOST", "value": url.hostname},
                {"name": "KUBERNETES_SERVICE_PORT", "value": str(url.port)}]

    def hosted_pods(self, component=None):
        """Ferry's own pods; of one component."""
        selector = f"kubevirt.io={component}" if component else "kubevirt.io"
        return self.client.get(f"{PODS}?labelSelector={selector}")["items"]

    def wait_ready(self):
        """Until all of Ferry's pods are what their probes call ready."""
        wait_for("Ferry's pods to be ready", lambda: all(
            map(self.is_ready, self.hosted_pods())), PATIENCE)

    def is_ready(self, pod):
        status = pod.get("status", {})
        assert all(s["restartCount"] == 0
                   for s in status.get("containerStatuses", [])), \
            self.pod_log(pod)
        if status.get("phase") != "Running" or not status.get("podIP"):
            return False
        probe = self.probes[pod["metadata"]["labels"]["kubevirt.io"]]
        return probe is None or self.ask(
            f"https://{status['podIP']}:{probe['port']}", probe["path"])

    def ask(self, server, path):
        """Whether a pod answers that all is well. As a kubelet, it believes
        any certificate."""
        client = Api(server, insecure=True)
        try:
            return client.request("GET", path).code == 200
        except OSError:
            return False
        finally:
            client.close()

    def pod_log(self, pod):
        """What it has said, for when something fails."""
        return json.dumps(pod.get("status"), indent=1) + self.kubectl_raw(
            "-n", NAMESPACE, "logs", pod["metadata"]["name"]).stdout

    def _call_api(self):
        """Makes the cluster call a pod of ferry-api."""
        pod = self.hosted_pods("virt-api")[0]
        direct = f"https://{pod['status']['podIP']}:8443"
        manifests = subprocess.run(
            [FERRY_API, "manifests", "--url", direct, "--ca",
             f"{self.api_dir}/ca.crt"], check=True, stdout=subprocess.PIPE,
            text=True).stdout
        self.kubectl("apply", "-f", "-", stdin=manifests)
