# SPDX-License-Identifier: Apache-2.0
"""deploy/: what a real Kubernetes gets. The objects fit together and a server
takes them; and Ferry runs in the pods that they describe, each with the rights
of its service account alone."""

import glob
import json
import os
import re
import subprocess

import pytest
import yaml

from apis import FERRY_API
from clusters import Cluster
from embedded import FERRYCTL, PATIENCE
from hosted import (DEPLOY, KUBERNETES, NAMESPACE, PODS, WORKLOADS, Hosted,
                    containers, kustomize)
from kubeapi import wait_for
from persons import person
from proxies import REPOSITORY
from runbooks import Shell

# Theirs who have the kinds: CDI and Multus.
FOREIGN_KINDS = {"cdi.kubevirt.io_storageprofiles.yaml",
                 "k8s.cni.cncf.io_network-attachment-definitions.yaml"}
PAGE = os.path.join(REPOSITORY, "docs", "kubernetes.md")
# Commands of the page that Hosted runs, since they need nodes with pods.
ELSEWHERE = "deploy/kubernetes/node-certificates"
# There are no controllers of these here, so the server does not have them.
NO_WORKLOADS = re.compile(
    r'no matches for kind "(Deployment|DaemonSet)"|'
    r'have a resource type "(deployment|daemonset)s?"')
_COMMANDS = re.compile(r"^ *```sh\n(.*?)^ *```", re.S | re.M)
ANNOTATIONS_MAX = 256 << 10  # bytes; kubectl apply keeps an object in one


@pytest.fixture(scope="module", name="objects")
def fixture_objects():
    return kustomize(KUBERNETES)


@pytest.fixture(scope="module", name="hosted")
def fixture_hosted():
    with Hosted() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="machine")
def fixture_machine(hosted):
    return hosted.start_machine("vm1")


def workloads(objects):
    return [each for each in objects if each["kind"] in WORKLOADS]


def find(objects, kind, name):
    return next(each for each in objects if each["kind"] == kind
                and each["metadata"]["name"] == name)


def load(*path):
    with open(os.path.join(DEPLOY, *path), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def test_each_kind_of_ours_is_installed():
    files = {os.path.basename(path) for path in
             glob.glob(os.path.join(DEPLOY, "crds", "*.yaml"))}
    listed = set(load("crds", "kustomization.yaml")[0]["resources"])
    assert files - {"kustomization.yaml"} - FOREIGN_KINDS == listed


def test_each_manifest_is_installed():
    files = {os.path.basename(path) for path in
             glob.glob(os.path.join(KUBERNETES, "*.yaml"))}
    listed = set(load("kubernetes", "kustomization.yaml")[0]["resources"])
    # Not everywhere: who offers devices, and what an operator fills in.
    assert files - {"kustomization.yaml", "devices.yaml",
                    "ferry-api-network.yaml"} == listed


def test_the_network_policy_is_about_ferry_api(cluster, objects):
    policy, = load("kubernetes", "ferry-api-network.yaml")
    cluster.kubectl_raw("create", "namespace", policy["metadata"]["namespace"])
    made = cluster.kubectl("apply", "-f", os.path.join(
        KUBERNETES, "ferry-api-network.yaml"))
    assert "networkpolicy.networking.k8s.io/virt-api" in made
    server, = [each for each in objects if each["kind"] == "Deployment"
               and each["metadata"]["name"] == "virt-api"]
    template = server["spec"]["template"]
    wanted = policy["spec"]["podSelector"]["matchLabels"]
    assert wanted.items() <= template["metadata"]["labels"].items()
    rule, = policy["spec"]["ingress"]
    assert [port["port"] for port in rule["ports"]] == [
        port["containerPort"] for each in template["spec"]["containers"]
        for port in each["ports"]]


def test_a_server_takes_the_kinds_and_the_objects(cluster, objects):
    cluster.kubectl("apply", "-k", os.path.join(DEPLOY, "crds"))
    for each in cluster.api().get(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")[
                "items"]:
        kept = each["metadata"].get("annotations", {})
        assert sum(map(len, kept.values())) < ANNOTATIONS_MAX
    # There are no Deployments and DaemonSets here; their pods come below.
    rest = [each for each in objects if each["kind"] not in WORKLOADS]
    text = yaml.safe_dump_all(rest)
    made = cluster.kubectl("apply", "-f", "-", stdin=text)
    assert len(made.splitlines()) == len(rest)
    # kubectl always patches a budget: its selector is replaced as a whole.
    again = cluster.kubectl("apply", "-f", "-", stdin=text)
    assert all(line.endswith("unchanged") for line in again.splitlines()
               if not line.startswith("poddisruptionbudget")), again


def test_the_commands_of_the_page_can_be_typed(tmp_path):
    with open(PAGE, encoding="utf-8") as file:
        lines = [line.strip() for block in _COMMANDS.findall(file.read())
                 for line in block.splitlines()]
    (tmp_path / "deploy").symlink_to(DEPLOY)
    with Cluster() as cluster:
        for line in lines:
            if line.startswith(ELSEWHERE):
                continue
            done = subprocess.run(
                ["bash", "-eu", "-o", "pipefail", "-c", line], cwd=tmp_path,
                env={**os.environ, "KUBECONFIG": cluster.kubeconfig, "PATH":
                     f"{os.path.dirname(FERRY_API)}:{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, timeout=PATIENCE,
                check=False)
            assert done.returncode == 0 or NO_WORKLOADS.search(done.stdout), \
                f"{line}\n{done.stdout}"
        left = cluster.kubectl("get", "clusterroles,crd", "-o", "name")
    for name in ("kubevirt.io:migrate", "ferry.io:operate", "kubevirts"):
        assert name not in left


def test_selectors_find_the_pods_that_they_are_for(objects):
    for each in workloads(objects):
        labels = each["spec"]["template"]["metadata"]["labels"]
        wanted = each["spec"]["selector"]["matchLabels"]
        assert wanted.items() <= labels.items(), each["metadata"]["name"]
    for kind, path in (("PodDisruptionBudget", ("selector", "matchLabels")),
                       ("Service", ("selector",))):
        for each in (e for e in objects if e["kind"] == kind):
            wanted = each["spec"]
            for member in path:
                wanted = wanted[member]
            assert any(wanted.items() <= w["spec"]["template"]["metadata"][
                "labels"].items() for w in workloads(objects)), \
                each["metadata"]["name"]


def test_prometheus_finds_what_has_metrics(objects):
    monitor = load("prometheus", "podmonitor.yaml")[0]["spec"]
    port = monitor["podMetricsEndpoints"][0]["port"]
    scraped = set()
    for each in workloads(objects):
        template = each["spec"]["template"]
        if monitor["selector"]["matchLabels"].items() <= template["metadata"][
                "labels"].items():
            scraped.add(each["metadata"]["name"])
            assert any(p["name"] == port for c in containers(template["spec"])
                       for p in c.get("ports", []))
    assert {"virt-controller", "virt-handler"} <= scraped


def test_accounts_volumes_and_ports_are_there(objects):
    for each in workloads(objects):
        spec = each["spec"]["template"]["spec"]
        if spec.get("automountServiceAccountToken", True):
            find(objects, "ServiceAccount", spec["serviceAccountName"])
        volumes = {v["name"] for v in spec.get("volumes", [])}
        for container in containers(spec):
            mounts = {m["name"] for m in container.get("volumeMounts", [])}
            assert mounts <= volumes, container["name"]
            listens = re.findall(r"--listen=\S*:(\d+)$",
                                 "\n".join(container["command"]), re.M)
            probes = {str(container[p]["httpGet"]["port"])
                      for p in ("readinessProbe", "livenessProbe")
                      if p in container}
            assert probes <= set(listens), container["name"]


def test_images_are_those_that_are_made(objects):
    with open(os.path.join(DEPLOY, "image", "Containerfile"),
              encoding="utf-8") as file:
        made = set(re.findall(r"^FROM base AS (\w+)$", file.read(), re.M))
    named = set()
    for each in workloads(objects):
        for container in containers(each["spec"]["template"]["spec"]):
            named |= set(re.findall(r"ferry/(\w+):", container["image"]
                                    + " ".join(container["command"])))
    assert named == made


def test_the_runbook_finds_the_pods_of_the_agents(hosted):
    shell = Shell(hosted)
    for entry, part, names in (
            ("node-silent", "Fix", ("virt-handler", "ferry-proxy")),
            ("ferryhandlerdown", "Check", ("virt-handler",)),
            ("ferryproxydown", "Check", ("ferry-proxy",))):
        told = shell.part(entry, part)
        found = {("-".join(line.split("-")[:2]), node)
                 for line in told.splitlines()
                 for node in hosted.node_names() if node in line}
        assert found == {(name, node) for name in names
                         for node in hosted.node_names()}, told


def test_the_agents_may_not_do_more_than_they_need(hosted):
    account = f"--as=system:serviceaccount:{NAMESPACE}:"
    for who, verb, what in (
            ("kubevirt-handler", "get", "secrets"),
            ("kubevirt-handler", "delete", "pods"),
            ("kubevirt-handler", "create", "virtualmachineinstances"),
            ("kubevirt-handler", "update", "nodes"),
            ("kubevirt-controller", "get", "secrets"),
            ("kubevirt-controller", "create", "clusterrolebindings"),
            ("kubevirt-api", "get", "secrets"),
            ("kubevirt-api", "create", "pods")):
        done = hosted.kubectl_raw("auth", "can-i", verb, what, account + who,
                                  "--all-namespaces")
        assert done.stdout.strip() == "no", (who, verb, what)


def test_a_machine_runs_and_moves(hosted, machine):
    machine.migrate()
    machine.check_alone()
    for pod in hosted.hosted_pods():
        said = hosted.pod_log(pod)
        assert "forbidden" not in said.lower(), said
        assert all(s["restartCount"] == 0
                   for s in pod["status"]["containerStatuses"]), said


def test_the_nodes_answer_an_operator(hosted, machine):
    """With the rights of the agents' account, to one who has only the roles for
    it: the proxies, the network, and the way between them."""
    olga = person(hosted, "olga", everywhere=["ferry.io:operate",
                                              "kubevirt.io:migrate"])

    def ask(*arguments):
        return subprocess.run(
            [FERRYCTL, *arguments, "--kubeconfig", olga], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=PATIENCE, check=False)

    done = ask("preflight", machine.name, "-o", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert {check["result"] for check in result["checks"]} == {"ok"}, result
    [measured] = result["measured"].values()
    assert measured["path"]["bytesPerSecond"] > 0
    assert measured["guest"]["memoryBytes"] > 0
    done = ask("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing is wrong" in done.stdout
    for what in ("agent", "proxy", "certificate", "migration network",
                 "path to"):
        assert done.stdout.count(f"ok    {what} ") >= 2, done.stdout


def replace(cluster, workload, node):
    """As an update of a DaemonSet does on one node."""
    name = workload["metadata"]["name"]
    label = workload["spec"]["selector"]["matchLabels"]["kubevirt.io"]
    old = next(pod for pod in cluster.hosted_pods(label)
               if pod["spec"]["nodeName"] == node)["metadata"]["name"]
    cluster.client.delete(f"{PODS}/{old}")
    wait_for(f"{name} of {node} to go", lambda: cluster.client.request(
        "GET", f"{PODS}/{old}").code == 404, PATIENCE)
    cluster.client.create(PODS, cluster.pod_of(workload, node))
    cluster.wait_ready()


def test_an_update_of_a_node_leaves_its_machine_alone(hosted, machine):
    for name in ("virt-handler", "ferry-proxy"):
        replace(hosted, find(hosted.objects, "DaemonSet", name), machine.node)
        machine.check_alone()
    machine.migrate()
    machine.check_alone()


def test_new_certificates_are_taken_up_by_those_that_run(hosted, machine):
    hosted.certify(*hosted.node_names(), more=("--renew",))
    machine.migrate()
    machine.check_alone()
    assert not hosted.client.get(
        f"/api/v1/namespaces/{NAMESPACE}/secrets")["items"][1:]
