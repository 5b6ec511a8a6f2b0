# SPDX-License-Identifier: Apache-2.0
"""The networks of pods: the pod network, and further ones as of Multus."""

import json
import os

import pytest

from kubelets import DEADLINE, Site, container, pod, wait_until

NETWORKS = "k8s.v1.cni.cncf.io/networks"
STATUS = "k8s.v1.cni.cncf.io/network-status"


@pytest.fixture(scope="module")
def site():
    with Site(nodes=2) as made:
        made.start_kubelets()
        config = made.nodes[0].bridge_network("blue", "br-blue")
        made.create({"apiVersion": "k8s.cni.cncf.io/v1",
                     "kind": "NetworkAttachmentDefinition",
                     "metadata": {"name": "blue"},
                     "spec": {"config": config}})
        yield made


@pytest.fixture(autouse=True)
def clean_afterwards(site):
    yield
    site.cluster.kubectl("delete", "pods", "--all", "--grace-period=1",
                         timeout=DEADLINE)
    for node in site.nodes:
        site.wait_clean(node)


def attached(made, networks):
    made["metadata"]["annotations"] = {NETWORKS: networks}
    return made


def sandbox_failure(site, name):
    return site.cluster.kubectl(
        "get", "events", "--field-selector",
        f"involvedObject.name={name},reason=FailedCreatePodSandBox",
        "-o", "jsonpath={.items[*].message}")


def test_pods_of_two_nodes_reach_each_other(site):
    site.create(pod("server", "while :; do echo hi | nc -l -p 80; done",
                    nodeName="node1"))
    server = site.wait_ready("server")
    site.create(pod("client", "until nc "
                    f"{server['status']['podIP']} 80 </dev/null | grep hi; "
                    "do sleep 0.1; done", nodeName="node2",
                    restartPolicy="Never"))
    client = site.wait_phase("client", "Succeeded")
    assert client["status"]["podIP"].startswith("10.99.2.")


def test_a_second_network_is_there_under_its_name_and_address(site):
    mac = "02:00:00:00:00:2a"
    site.create(attached(
        pod("two", "cat /sys/class/net/podabc/address; sleep 1000"),
        json.dumps([{"name": "blue", "namespace": "default",
                     "interface": "podabc", "mac": mac}])))
    site.wait_ready("two")
    wait_until(lambda: site.cluster.kubectl("logs", "two").strip() == mac,
               DEADLINE, "the MAC address")
    found = site.get("pod", "two")
    status = json.loads(found["metadata"]["annotations"][STATUS])
    assert [entry["interface"] for entry in status] == ["eth0", "podabc"]
    assert status[0]["name"] == "pods" and status[0]["default"] is True
    assert status[0]["ips"] == [found["status"]["podIP"]]
    assert status[1]["name"] == "default/blue" and status[1]["mac"] == mac
    assert "default" not in status[1] and status[1]["dns"] == {}


def test_the_short_form_of_the_annotation_is_understood(site):
    site.create(attached(pod("short", "ls /sys/class/net; sleep 1000"),
                         "default/blue@a0, blue"))
    site.wait_ready("short")
    wait_until(lambda: site.cluster.kubectl("logs", "short").split()
               == ["a0", "eth0", "lo", "net2"], DEADLINE, "interfaces")


@pytest.mark.parametrize("networks,words", [
    ("no-such", "not found"),
    ("blue@eth0", "eth0"),
    ("blue@../../x", "../../x"),
    ("blue@a,blue@a", "twice"),
    ("[{", "networks"),
])
def test_networks_that_cannot_be_had_are_refused_with_a_reason(
        site, networks, words):
    site.create(attached(pod("bad", "sleep 1000"), networks))

    def told():
        return words in site.cluster.kubectl(
            "get", "events", "--field-selector", "involvedObject.name=bad",
            "-o", "jsonpath={.items[*].message}")

    wait_until(told, DEADLINE, words)


def test_a_plugin_that_fails_is_tried_again_from_the_start(site):
    site.create({"apiVersion": "k8s.cni.cncf.io/v1",
                 "kind": "NetworkAttachmentDefinition",
                 "metadata": {"name": "broken"},
                 "spec": {"config": json.dumps(
                     {"cniVersion": "1.0.0", "name": "broken",
                      "type": "macvlan", "master": "no-such-device"})}})
    site.create(attached(pod("broken", "sleep 1000", nodeName="node1"),
                         "broken"))
    wait_until(lambda: 'plugin type="macvlan" name="broken" failed (ADD)'
               in sandbox_failure(site, "broken"), DEADLINE, "a failure")
    config = site.nodes[0].bridge_network("broken", "br-red")
    site.cluster.kubectl("patch", "net-attach-def", "broken", "--type=merge",
                         "-p", json.dumps({"spec": {"config": config}}))
    site.wait_ready("broken")


def test_a_pod_on_the_host_network_has_the_address_of_the_node(site):
    site.create(pod("host", "cat /sys/class/net/eth0/address; sleep 1000",
                    hostNetwork=True, nodeName="node1"))
    found = site.wait_ready("host")
    assert found["status"]["podIP"] == site.nodes[0].address


def test_an_address_is_given_back_with_its_pod(site):
    node = site.nodes[0]
    leases = os.path.join(node.directory, "ipam", "pods")
    site.create(pod("lease", "sleep 1000", nodeName="node1"))
    found = site.wait_ready("lease")
    assert found["status"]["podIP"] in os.listdir(leases)
    site.delete("pod", "lease")
    assert found["status"]["podIP"] not in os.listdir(leases)


def test_a_pod_that_ended_gives_its_address_back_at_once(site):
    node = site.nodes[0]
    leases = os.path.join(node.directory, "ipam", "pods")
    site.create(pod("over", containers=[container("c", "true")],
                    nodeName="node1", restartPolicy="Never"))
    found = site.wait_phase("over", "Succeeded")
    wait_until(lambda: found["status"].get("podIP") not in os.listdir(leases),
               DEADLINE, "the address")
