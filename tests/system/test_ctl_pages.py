# SPDX-License-Identifier: Apache-2.0
"""The pages of ferryctl explain, word for word, in a pipe and on a terminal.

There is an API server and nothing else: what the objects say was written by
this test, so that a page is the same each time."""

import json
import re

import pytest

import played_objects as objects
from clusters import Cluster
from ctls import Terminal, compare, environment, run, stranger
from played_objects import NODES, PODS, VMIMS, VMIS, namespaced

EVENTS = "/api/v1/namespaces/default/events"
VMS = "/apis/kubevirt.io/v1/virtualmachines"
POD = "virt-launcher-vm1-target"
DAY = "2001-02-03"
READ = {"verbs": ["get", "list"]}
KUBEVIRT = {"apiGroups": ["kubevirt.io"], "resources": ["*"], **READ}


def at(clock):
    return f"{DAY}T{clock}Z"


def phases(*pairs):
    return [{"phase": phase, "phaseTransitionTimestamp": at(clock)}
            for phase, clock in pairs]


def telling(kind, reason, message, clock):
    return {"type": f"ferry.io/{kind}", "status": "True", "reason": reason,
            "message": message, "lastTransitionTime": at(clock)}


class Written:
    """Machines and migrations as somebody might have written them."""

    def __init__(self, api):
        self.api = api

    def nodes(self, *names):
        for name in names:
            self.api.create(NODES, objects.node(name))
            self.api.patch(f"{NODES}/{name}/status", objects.node_status())

    def machine(self, name, **status):
        """One that runs on node1; its uid."""
        self.api.create(namespaced(VMS, "default"), objects.vm(name))
        made = self.api.create(namespaced(VMIS, "default"), {
            **objects.vmi(name), "status": {
                "phase": "Running", "nodeName": "node1",
                "phaseTransitionTimestamps": phases(
                    ("Scheduled", "04:05:06"), ("Running", "04:05:07")),
                **status}})
        return made["metadata"]["uid"]

    def migration(self, machine, name, annotations=None, **status):
        """Its uid."""
        made = self.api.create(namespaced(VMIMS, "default"), objects.vmim(
            machine, name, annotations))
        self.api.patch(namespaced(VMIMS, "default", name, "status"),
                       {"status": status})
        return made["metadata"]["uid"]

    def pod(self, machine_uid, migration_uid):
        self.api.create(namespaced(PODS, "default"), {
            "apiVersion": "v1", "kind": "Pod", "metadata": {
                "name": POD, "labels": {
                    "kubevirt.io/created-by": machine_uid,
                    "kubevirt.io/migrationJobUID": migration_uid}},
            "spec": {"nodeName": "node2", "containers": [
                {"name": "compute", "image": "launcher"}]}})

    def event(self, name, about, message, **more):
        self.api.create(EVENTS, {
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": name, "namespace": "default"},
            "involvedObject": {"kind": about[0], "name": about[1],
                               "namespace": "default"},
            "reason": "FailedCreatePodSandBox", "type": "Warning",
            "message": message, **more})


@pytest.fixture(name="cluster", scope="module")
def cluster_():
    """vm1 waits for its target pod after one that failed, vm2's migration
    has failed, vm3 cannot move, vm4's is tried again for a drain."""
    with Cluster("--node-grace", "1h") as cluster:
        written = Written(cluster.api())
        written.nodes("node1", "node2")
        vm1 = written.machine("vm1")
        written.migration(
            "vm1", "early", phase="Failed",
            phaseTransitionTimestamps=phases(("Failed", "04:06:00")),
            conditions=[telling("Failure", "TargetPodEnded", "It ended.",
                                "04:06:00")])
        uid = written.migration(
            "vm1", "late", phase="Scheduling",
            phaseTransitionTimestamps=phases(
                ("Pending", "04:07:00"), ("Scheduling", "04:07:01")),
            conditions=[telling("Waiting", "PodNotReady",
                                "The target pod is not ready.", "04:07:02")])
        written.pod(vm1, uid)
        # As older and as newer clients write them.
        written.event("older", ("VirtualMachineInstance", "vm1"),
                      "one\nline", count=3, lastTimestamp=at("04:07:03"))
        written.event("newer", ("Pod", POD),
                      'plugin type="macvlan" name="lan" failed (ADD): failed '
                      'to lookup master "lan0": Link not found \033[2J',
                      eventTime="2999-01-02T03:04:05.600000Z",
                      action="Adding", reportingComponent="kubelet",
                      reportingInstance="node2")
        written.machine("vm2")
        written.migration(
            "vm2", "broken", phase="Failed",
            phaseTransitionTimestamps=phases(("Failed", "04:08:00")),
            migrationState={"sourceNode": "node1", "targetNode": "node2",
                            "failureCode": "ConnectFailed"},
            conditions=[telling(
                "Failure", "ReportedByNode",
                "source node reported migration failed: ferry-proxy: "
                "DialTimeout: node2 did not answer", "04:08:00")])
        written.machine("vm3", conditions=[
            {"type": "LiveMigratable", "status": "False",
             "reason": "DisksNotLiveMigratable", "message": "PVC data",
             "lastTransitionTime": at("04:05:08")}])
        written.machine("vm4", evacuationNodeName="node1")
        written.migration(
            "vm4", "again", {"kubevirt.io/evacuationMigration": "node1"},
            phase="Pending",
            phaseTransitionTimestamps=phases(("Pending", "04:09:00")),
            conditions=[telling("Waiting", "Backoff",
                                "The next try is at noon.", "04:09:01")])
        yield cluster


def explain(cluster, *arguments, **variables):
    done = run(cluster, "ferryctl", "explain", *arguments, **variables)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def steady(text):
    """Without when the test ran."""
    text = re.sub(r"^  20[1-9]\d-\d\d-\d\d \(UTC\)\n", "", text, flags=re.M)
    text = re.sub(r"20[1-9]\d-\d\d-\d\dT[0-9:.]+Z", "NOW", text)
    return re.sub(r"^(  )\d\d:\d\d:\d\d(  .*(created|asked for.*|has a node.*|"
                  r"is to be deleted))$", r"\1HH:MM:SS\2", text, flags=re.M)


@pytest.mark.parametrize("name", ["vm1", "vm2", "vm3", "vm4"])
def test_a_page_word_for_word(cluster, name):
    compare(f"explain-{name}.txt", steady(explain(cluster, name)))


@pytest.mark.parametrize("name", ["vm1", "vm2", "vm3", "vm4"])
def test_a_terminal_gets_the_same_page(cluster, name):
    with Terminal(cluster.scratch, f"ferryctl explain {name}",
                  environment(cluster), columns=400, rows=80) as terminal:
        assert terminal.status() == 0
        assert terminal.text().split("[status 0]")[0] == \
            explain(cluster, name)


def test_scripts_get_the_same_page(cluster):
    page = json.loads(explain(cluster, "vm2", "-o", "json"))
    compare("explain-vm2.json", steady(json.dumps(page, indent=1) + "\n"))


def test_what_would_steer_the_terminal_is_not_shown(cluster):
    text = explain(cluster, "vm1")
    assert "\033" not in text and text.count("Link not found ?[2J\n") == 2


def test_the_newest_event_leads_to_its_entry(cluster):
    [finding] = json.loads(explain(cluster, "vm1", "-o", "json"))["findings"]
    assert "lookup master" in finding["detail"]
    assert finding["runbook"] == "docs/operations.md#nad-missing"


def test_who_may_not_see_pods_sees_events_all_the_same(cluster):
    who = stranger(cluster, "no-pods", KUBEVIRT, {
        "apiGroups": [""], "resources": ["events"], **READ})
    text = explain(cluster, "vm1", KUBECONFIG=who)
    assert "FailedCreatePodSandBox: one line (3 times)" in text
    assert re.findall(r"^Not seen: (\w+): ", text, re.M) == [
        "pods", "nodes"]


def test_who_may_not_see_events_is_told_once(cluster):
    who = stranger(cluster, "no-events", KUBEVIRT, {
        "apiGroups": [""], "resources": ["pods"], **READ})
    text = explain(cluster, "vm1", KUBECONFIG=who)
    assert "FailedCreatePodSandBox" not in text and POD in text
    assert re.findall(r"^Not seen: (\w+): ", text, re.M) == [
        "events", "nodes"]
