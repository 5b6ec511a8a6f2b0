# SPDX-License-Identifier: Apache-2.0
"""What agents may write to Nodes: their own one's labels and annotations of
KubeVirt's. Others write as their roles say, also while ferry-api is away."""

import uuid

import pytest

from kubeapi import wait_for

NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@pytest.fixture(name="node")
def _node(api):
    """A node, and its name."""
    client, name = api.client(), f"own-{uuid.uuid4().hex[:8]}"
    client.create(NODES, {"apiVersion": "v1", "kind": "Node",
                          "metadata": {"name": name,
                                       "labels": {"zone": "a"}}})
    yield name
    client.request("DELETE", f"{NODES}/{name}")


def patch(client, node, body):
    return client.request("PATCH", f"{NODES}/{node}", body,
                          {"Content-Type": MERGE})


def beat(now="now"):
    return {"metadata": {
        "labels": {"kubevirt.io/schedulable": "true",
                   "cpu-model.node.kubevirt.io/Penryn": "true"},
        "annotations": {"kubevirt.io/heartbeat": now}}}


def test_an_agent_labels_its_own_node(api, node):
    answer = patch(api.handler(node), node, beat())
    assert answer.code == 200, answer
    assert answer.json()["metadata"]["labels"] == {
        "zone": "a", **beat()["metadata"]["labels"]}


@pytest.mark.parametrize("body", [
    {"spec": {"unschedulable": True}},
    {"spec": {"taints": [TAINT]}},
    {"metadata": {"labels": {"zone": None}}},
    {"metadata": {"labels": {"node-role.kubernetes.io/gpu": ""}}},
    {"metadata": {"annotations": {"cni.example.com/address": "10.0.0.1"}}},
], ids=["cordon", "taint", "no-zone", "role", "annotation"])
def test_an_agent_cannot_steer_by_its_own_node(api, node, body):
    client = api.client()
    before = client.get(f"{NODES}/{node}")
    answer = patch(api.handler(node), node, body)
    assert answer.code in (403, 422), answer
    assert "Node restriction, the agent may" in answer.text()
    assert client.get(f"{NODES}/{node}") == before
    # It is the agent that may not, not everybody.
    assert patch(client, node, body).code == 200


def test_an_agent_cannot_write_to_other_nodes(api, node):
    client = api.client()
    for agent, why in (
            (api.handler("elsewhere"), "the agent of 'elsewhere' may change "
             "no other node"),
            (api.account("kubevirt-handler"), "names no node")):
        for body in (beat(), {"spec": {"unschedulable": True}}):
            answer = patch(agent, node, body)
            assert answer.code in (403, 422), answer
            assert why in answer.text()
    after = client.get(f"{NODES}/{node}")
    assert after["metadata"]["labels"] == {"zone": "a"}
    assert "kubevirt.io/heartbeat" not in \
        after["metadata"].get("annotations", {})
    assert "unschedulable" not in after.get("spec", {})


def test_others_write_to_nodes_while_nobody_answers(api, node):
    """An answer that is missing must not keep people from their nodes."""
    client = api.client()
    api.kill()
    try:
        answer = patch(client, node, {"spec": {"unschedulable": True}})
        assert answer.code == 200, answer
    finally:
        api.start()
        api.wait_ready()
    wait_for("agents to be held again", lambda: patch(
        api.handler("elsewhere"), node, beat()).code in (403, 422))
