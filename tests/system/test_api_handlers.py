# SPDX-License-Identifier: Apache-2.0
"""A whole migration with each node's agent under its own name.

What an agent may write is narrow (test_api_admission.py); here it is seen to be
enough. ferry-cluster, ferry-api and ferry-controller are real, the agents are
played and are known to the cluster as the handler of their node.
"""

import threading

import pytest

from apis import SUBRESOURCES
from controllers import Controllers
from kubeapi import wait_for
from played import Played
from played_objects import (NODE_LABEL, PODS, TARGET_LABEL, VMIMS, VMIS,
                            namespaced, vm)

VMS = "/apis/kubevirt.io/v1/virtualmachines"
NODES = ("handlers-a", "handlers-b")
PATIENCE = 180


class ByNode:
    """A client whose writes to machines are those of the node that acts."""

    def __init__(self, api, acting):
        self.other = api.client()
        self.handlers = {node: api.handler(node) for node in NODES}
        self.acting = acting

    def request(self, method, path, body=None, headers=None):
        own = "/virtualmachineinstances/" in path
        client = self.handlers[self.acting.node] if own else self.other
        return client.request(method, path, body, headers)

    def close(self):
        for client in (self.other, *self.handlers.values()):
            client.close()


class Handlers(Played):
    """Agents that write to machines as themselves."""

    def __init__(self, api, *nodes):
        self.acting = threading.local()
        self.ferry_api = api
        super().__init__(api.cluster, *nodes)

    def _act(self, api, kind, key):
        if not hasattr(self.acting, "client"):
            self.acting.client = ByNode(self.ferry_api, self.acting)
        return super()._act(self.acting.client, kind, key)

    def _plan(self, kind, key):
        obj, steps, change = super()._plan(kind, key)
        self.acting.node = steps[0].node(obj) if steps else None
        return obj, steps, change


@pytest.fixture(name="played", scope="module")
def played_(api):
    with Handlers(api, *NODES) as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def controllers(cluster, api, played):
    del api, played  # they are there before
    with Controllers(cluster) as made:
        made.leader()
        yield made


def machine(client, namespace):
    answer = client.request("GET", namespaced(VMIS, namespace, "vm1"))
    return answer.json() if answer.code == 200 else {}


def migrate(client, namespace):
    """Starts a machine and asks for its migration; where it runs."""
    client.create(namespaced(VMS, namespace), vm("vm1"))
    wait_for("the machine to run", lambda: machine(client, namespace).get(
        "status", {}).get("phase") == "Running", PATIENCE)
    answer = client.request(
        "PUT", f"{SUBRESOURCES}/namespaces/{namespace}/virtualmachines/vm1/"
        "migrate", {})
    assert answer.code == 202, answer
    return machine(client, namespace)["status"]["nodeName"]


def the_migration(client, namespace):
    made, = client.get(namespaced(VMIMS, namespace))["items"]
    return made


def wait_end(client, namespace):
    """The phase in which the migration ended."""
    def final():
        phase = the_migration(client, namespace).get("status", {}).get("phase")
        return phase if phase in ("Succeeded", "Failed") else None

    return wait_for("the migration to end", final, PATIENCE)


def test_agents_may_do_all_that_a_migration_takes(api, played, namespace):
    client = api.client()
    before = migrate(client, namespace)
    assert wait_end(client, namespace) == "Succeeded", played.errors
    after = machine(client, namespace)
    assert after["status"]["nodeName"] == \
        after["metadata"]["labels"]["kubevirt.io/nodeName"]
    assert {before, after["status"]["nodeName"]} == set(NODES)
    assert played.errors == []
    pods = client.get(namespaced(PODS, namespace))["items"]
    assert after["status"]["nodeName"] in {
        pod["spec"]["nodeName"] for pod in pods}


def test_agents_may_report_a_failure(api, played, namespace):
    client = api.client()
    played.fail(f"{namespace}/vm1", "the link is down")
    before = migrate(client, namespace)
    assert wait_end(client, namespace) == "Failed"
    after = machine(client, namespace)["status"]
    assert (after["phase"], after["nodeName"]) == ("Running", before)
    assert after["migrationState"]["failureReason"] == "the link is down"
    wait_for("the target to tidy up", lambda: TARGET_LABEL not in machine(
        client, namespace)["metadata"]["labels"], PATIENCE)
    assert played.errors == []
    # It has been a target; the machine is none of its business any more.
    target = after["migrationState"]["targetNode"]
    status = api.handler(target).refuse(
        422, "Invalid", "PATCH", namespaced(VMIS, namespace, "vm1"),
        {"status": {"nodeName": target},
         "metadata": {"labels": {NODE_LABEL: target}}}, kind="merge")
    assert "only allowed to modify VMIs it owns" in status["message"]


def test_agents_may_acknowledge_an_abort(api, played, namespace):
    client = api.client()
    played.hold("arrive", f"{namespace}/vm1")
    before = migrate(client, namespace)
    wait_for("it to run", lambda: the_migration(client, namespace).get(
        "status", {}).get("phase") == "Running", PATIENCE)
    name = the_migration(client, namespace)["metadata"]["name"]
    client.request("DELETE", namespaced(VMIMS, namespace, name))
    wait_for("its end", lambda: client.get(
        namespaced(VMIMS, namespace))["items"] == [], PATIENCE)
    after = machine(client, namespace)["status"]
    assert (after["phase"], after["nodeName"]) == ("Running", before)
    assert after["migrationState"]["abortStatus"] == "Succeeded"
    assert played.errors == []
