# SPDX-License-Identifier: Apache-2.0
"""A ferry-kubelet that is killed finds everything again, and a node that was
switched off starts anew."""

import json
import os

import pytest

from kubectls import Following
from kubelets import DEADLINE, Site, container, pod, wait_until


@pytest.fixture(scope="module")
def site():
    with Site(options=("--node-grace", "1h")) as made:
        made.start_kubelets("--restart-backoff", "200ms")
        yield made


@pytest.fixture(autouse=True)
def clean_afterwards(site):
    yield
    node = site.nodes[0]
    if node.kubelet is None or not node.kubelet.running():
        node.start_kubelet("--restart-backoff", "200ms")
    site.cluster.kubectl("delete", "pods", "--all", "--grace-period=1",
                         timeout=DEADLINE)
    site.wait_clean(node)


def restart(node):
    node.kill_kubelet()
    node.start_kubelet("--restart-backoff", "200ms")


def status(found, name="c"):
    return next(s for s in found["status"]["containerStatuses"]
                if s["name"] == name)


def test_a_running_pod_is_adopted_as_it_is(site):
    node = site.nodes[0]
    site.create(pod("stay", "i=0; while :; do i=$((i+1)); echo $i; "
                    "sleep 0.1; done"))
    before = site.wait_ready("stay")
    pid = node.container_pid(before, "c")
    restart(node)
    site.create(pod("other", "sleep 1000"))
    site.wait_ready("other")
    after = site.get("pod", "stay")
    assert status(after)["containerID"] == status(before)["containerID"]
    assert status(after)["restartCount"] == 0
    assert after["status"]["podIP"] == before["status"]["podIP"]
    node.run("kill", "-0", str(pid))
    lines = site.cluster.kubectl("logs", "stay").split()
    assert lines == [str(i + 1) for i in range(len(lines))]
    with Following(site.cluster, "logs", "-f", "--tail=1",
                   "stay") as follower:
        first = int(follower.next())
        assert [int(follower.next()) for _ in range(3)] \
            == [first + 1, first + 2, first + 3]


def test_an_end_while_nobody_was_there_is_told_later(site):
    node = site.nodes[0]
    flag = os.path.join(site.directory, "go")
    site.create(pod("ends", restartPolicy="Never", containers=[container(
        "c", "until [ -e /h/go ]; do sleep 0.1; done; exit 42",
        volumeMounts=[{"name": "h", "mountPath": "/h"}])],
        volumes=[{"name": "h", "hostPath": {"path": site.directory}}]))
    found = site.wait_ready("ends")
    node.kill_kubelet()
    with open(flag, "w", encoding="ascii"):
        pass
    state = os.path.join(node.pod_dir(found), "containers/c/0/state.json")

    def ended():
        with open(state, encoding="utf-8") as file:
            return json.load(file)["phase"] == "exited"

    wait_until(ended, DEADLINE, "the end of the container")
    node.start_kubelet("--restart-backoff", "200ms")
    found = site.wait_phase("ends", "Failed")
    assert status(found)["state"]["terminated"]["exitCode"] == 42


def test_a_pod_deleted_while_nobody_was_there_is_taken_down_later(site):
    node = site.nodes[0]
    site.create(pod("gone", "sleep 1000"))
    site.wait_ready("gone")
    node.kill_kubelet()
    site.cluster.kubectl("delete", "pod", "gone", "--force",
                         "--grace-period=0")
    assert node.leftovers()
    node.start_kubelet("--restart-backoff", "200ms")
    site.wait_clean(node)


@pytest.mark.parametrize("moment", range(12))
def test_a_kubelet_killed_while_a_pod_starts_or_stops_loses_nothing(
        site, moment):
    """Killed at twelve moments between creation and the end of a pod with all
    kinds of things to make, and started again."""
    node = site.nodes[0]
    name = f"kill{moment}"
    site.create(pod(name, initContainers=[container("i", "sleep 0.2")],
                    containers=[container(
                        "c", "trap 'exit 0' TERM; echo up; "
                        "while :; do sleep 0.1; done",
                        volumeMounts=[{"name": "d", "mountPath": "/d"},
                                      {"name": "m", "mountPath": "/m"}])],
                    volumes=[{"name": "d", "emptyDir": {}},
                             {"name": "m", "emptyDir": {
                                 "medium": "Memory"}}]))
    uid = site.get("pod", name)["metadata"]["uid"]
    # What is on disk says how far it is.
    steps = ["pod.json", "volumes", "volumes/kubernetes.io~empty-dir/m",
             "network", "network/00.json", "containers/i/0",
             "containers/i/0/state.json", "containers/c/0",
             "containers/c/0/state.json"]
    going = moment >= len(steps)
    if going:
        site.wait_ready(name)
        site.cluster.kubectl("delete", "pod", name, "--wait=false")
    else:
        path = os.path.join(node.root, "pods", uid, steps[moment])
        wait_until(lambda: os.path.exists(path), DEADLINE, path,
                   interval=0.001)
    if moment == len(steps) + 1:
        wait_until(lambda: not os.path.exists(
            os.path.join(node.root, "pods", uid, "network/00.json")),
            DEADLINE, "the network to go", interval=0.001)
    if moment == len(steps) + 2:
        wait_until(lambda: not os.path.exists(
            os.path.join(node.root, "pods", uid)), DEADLINE,
            "the pod's directory to go", interval=0.001)
    restart(node)
    if going:
        wait_until(lambda: name not in site.cluster.kubectl(
            "get", "pods", "-o", "name"), DEADLINE, "the pod to go")
    else:
        found = site.wait_ready(name)
        assert status(found)["restartCount"] == 0
        wait_until(lambda: site.cluster.kubectl("logs", name, "-c", "c")
                   == "up\n", DEADLINE, "the log")
        site.delete("pod", name)
    site.wait_clean(node)


def test_a_container_whose_monitor_was_killed_is_started_again(site):
    node = site.nodes[0]
    site.create(pod("lost", "sleep 1000"))
    found = site.wait_ready("lost")
    path = os.path.join(node.pod_dir(found), "containers/c/0/state.json")
    with open(path, encoding="utf-8") as file:
        monitor = json.load(file)["monitor"]
    pid = node.container_pid(found, "c")
    node.run("kill", "-9", str(monitor))
    found = site.wait_pod(
        "lost", lambda p: status(p)["restartCount"] == 1 and
        status(p)["ready"], "a restart")
    last = status(found)["lastState"]["terminated"]
    assert last["reason"] == "ContainerStatusUnknown"
    assert node.container_pid(found, "c", 1) != pid


def test_a_node_that_was_switched_off_starts_its_pods_anew(site):
    node = site.nodes[0]
    site.create(pod("always", "cat /m/f; echo x >/m/f; sleep 1000", volumes=[
        {"name": "m", "emptyDir": {"medium": "Memory"}}], containers=[
            container("c", "echo up; cat /m/f; echo x >/m/f; sleep 1000",
                      volumeMounts=[{"name": "m", "mountPath": "/m"}])],
        initContainers=[container("i", "true")]))
    site.create(pod("never", "sleep 1000", restartPolicy="Never"))
    site.wait_ready("always")
    site.wait_ready("never")
    node.power_off()
    node.power_on()
    node.start_kubelet("--restart-backoff", "200ms")
    found = site.wait_phase("never", "Failed")
    assert status(found)["state"]["terminated"]["exitCode"] == 137
    found = site.wait_pod("always", lambda p: status(p)["restartCount"] == 1
                          and status(p)["ready"], "a restart")
    wait_until(lambda: "can't open '/m/f'" in
               site.cluster.kubectl("logs", "always", "-c", "c"), DEADLINE,
               "a new log")


def test_pods_run_on_while_the_cluster_is_away(site):
    node = site.nodes[0]
    site.create(pod("alone", "sleep 1000"))
    found = site.wait_ready("alone")
    pid = node.container_pid(found, "c")
    site.cluster.kill()
    restart(node)
    site.cluster.start()
    site.create(pod("after", "true", restartPolicy="Never"))
    site.wait_phase("after", "Succeeded")
    assert status(site.get("pod", "alone"))["restartCount"] == 0
    node.run("kill", "-0", str(pid))
