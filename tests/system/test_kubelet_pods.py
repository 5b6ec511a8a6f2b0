# SPDX-License-Identifier: Apache-2.0
"""ferry-kubelet runs pods: their life from creation to the last trace."""

import glob
import json
import os
import re

import pytest

from kubectls import Following
from kubelets import DEADLINE, Site, container, pod, wait_until


@pytest.fixture(scope="module")
def site():
    with Site() as made:
        made.start_kubelets("--restart-backoff", "200ms")
        yield made


@pytest.fixture(autouse=True)
def clean_afterwards(site):
    yield
    site.cluster.kubectl("delete", "pods", "--all", "--grace-period=1",
                         timeout=DEADLINE)
    site.wait_clean(site.nodes[0])


def events(site, name):
    """The reasons of the events about a pod, as far as there are any."""
    items = json.loads(site.cluster.kubectl(
        "get", "events", "-o", "json", "--field-selector",
        f"involvedObject.name={name}"))["items"]
    return [item["reason"] for item in items]


def container_status(found, name="c"):
    return next(s for s in found["status"]["containerStatuses"]
                if s["name"] == name)


def condition(found, kind):
    return next(c["status"] for c in found["status"]["conditions"]
                if c["type"] == kind)


def test_the_node_says_what_it_has(site):
    node = site.get("node", "node1", namespace=None)
    labels = node["metadata"]["labels"]
    assert labels["kubernetes.io/hostname"] == "node1"
    assert labels["kubernetes.io/os"] == "linux"
    assert labels["kubernetes.io/arch"] == "amd64"
    assert {"cpu", "memory", "pods", "ephemeral-storage"} \
        <= set(node["status"]["capacity"])
    assert "devices.kubevirt.io/kvm" not in node["status"]["capacity"]
    assert {"type": "InternalIP", "address": "10.98.0.11"} \
        in node["status"]["addresses"]
    lease = site.get("lease", "node1", namespace="kube-node-lease")
    assert lease["spec"]["holderIdentity"] == "node1"


def test_a_pod_runs_and_its_log_can_be_read(site):
    site.create(pod("hello", "echo hello; echo oops >&2; sleep 1000"))
    found = site.wait_ready("hello")
    assert found["status"]["podIP"].startswith("10.99.1.")
    assert found["status"]["hostIP"] == "10.98.0.11"
    assert re.fullmatch(r"busybox@sha256:[0-9a-f]{64}",
                        container_status(found)["imageID"])
    for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready"):
        assert condition(found, kind) == "True"
    wait_until(lambda: sorted(site.cluster.kubectl("logs", "hello")
                              .splitlines()) == ["hello", "oops"],
               DEADLINE, "the log")
    wait_until(lambda: {"Scheduled", "Pulled", "Created", "Started"}
               <= set(events(site, "hello")), DEADLINE, "events")


def test_a_log_is_followed_to_the_end(site):
    site.create(pod("talk", "for i in 1 2 3; do echo $i; sleep 0.2; done",
                    restartPolicy="Never"))
    site.wait_pod("talk", lambda p: p["status"].get("phase")
                  in ("Running", "Succeeded"), "talk to start")
    with Following(site.cluster, "logs", "-f", "talk") as follower:
        assert [follower.next() for _ in range(4)] == ["1", "2", "3", None]


def test_the_last_lines_of_a_log_can_be_asked_for(site):
    site.create(pod("many", "seq 1 5000", restartPolicy="Never"))
    site.wait_phase("many", "Succeeded")
    assert site.cluster.kubectl("logs", "many").split() \
        == [str(i) for i in range(1, 5001)]
    assert site.cluster.kubectl("logs", "--tail=3", "many").split() \
        == ["4998", "4999", "5000"]
    assert site.cluster.kubectl("logs", "--tail=0", "many") == ""
    stamped = site.cluster.kubectl("logs", "--tail=1", "--timestamps", "many")
    assert re.fullmatch(r"\S+T\S+Z 5000\n", stamped)
    assert site.cluster.kubectl("logs", "--limit-bytes=4", "many") == "1\n2\n"


@pytest.mark.parametrize("code,phase", [(0, "Succeeded"), (3, "Failed")])
def test_a_pod_that_ends_says_how(site, code, phase):
    site.create(pod("once", f"exit {code}", restartPolicy="Never"))
    found = site.wait_phase("once", phase)
    ended = container_status(found)["state"]["terminated"]
    assert ended["exitCode"] == code
    assert ended["reason"] == ("Completed" if code == 0 else "Error")
    assert condition(found, "Ready") == "False"


def test_a_container_killed_by_a_signal_says_so(site):
    site.create(pod("die", "sleep 1000", restartPolicy="Never"))
    found = site.wait_ready("die")
    node = site.nodes[0]
    node.run("kill", "-9", str(node.container_pid(found, "c")))
    found = site.wait_phase("die", "Failed")
    ended = container_status(found)["state"]["terminated"]
    assert (ended["exitCode"], ended["signal"]) == (137, 9)


def test_a_command_that_is_not_there_fails_with_its_name(site):
    site.create(pod("none", "/no/such", "thing", restartPolicy="Never"))
    found = site.wait_phase("none", "Failed")
    ended = container_status(found)["state"]["terminated"]
    assert ended["exitCode"] == 128 and ended["reason"] == "StartError"
    assert "/no/such" in ended["message"]


def test_always_starts_a_container_again_with_growing_pauses(site):
    site.create(pod("again", "echo run; exit 1"))
    found = site.wait_pod(
        "again", lambda p: p["status"].get("containerStatuses") and
        container_status(p)["restartCount"] >= 3, "three restarts")
    assert found["status"]["phase"] == "Running"
    found = site.wait_pod(
        "again", lambda p: container_status(p)["state"].get("waiting", {})
        .get("reason") == "CrashLoopBackOff", "a pause")
    assert container_status(found)["lastState"]["terminated"]["exitCode"] == 1
    assert site.cluster.kubectl("logs", "--previous", "again") == "run\n"
    wait_until(lambda: "BackOff" in events(site, "again"), DEADLINE, "BackOff")


def test_on_failure_starts_again_until_it_succeeds(site):
    site.create(pod(
        "retry", containers=[container(
            "c", "echo x >>/d/f; [ $(wc -l </d/f) = 3 ]",
            volumeMounts=[{"name": "d", "mountPath": "/d"}])],
        restartPolicy="OnFailure", volumes=[{"name": "d", "emptyDir": {}}]))
    found = site.wait_phase("retry", "Succeeded")
    assert container_status(found)["restartCount"] == 2


def test_init_containers_run_one_after_the_other_first(site):
    mount = [{"name": "d", "mountPath": "/d"}]
    site.create(pod(
        "order", initContainers=[
            container("one", "echo one >>/d/f", volumeMounts=mount),
            container("two", "echo two >>/d/f", volumeMounts=mount)],
        containers=[container("c", "echo three >>/d/f; cat /d/f",
                              volumeMounts=mount)],
        restartPolicy="Never", volumes=[{"name": "d", "emptyDir": {}}]))
    found = site.wait_phase("order", "Succeeded")
    assert site.cluster.kubectl("logs", "order", "-c", "c") \
        == "one\ntwo\nthree\n"
    assert len(found["status"]["initContainerStatuses"]) == 2


def test_a_failing_init_container_keeps_the_others_from_starting(site):
    site.create(pod("stuck", "echo never", restartPolicy="Never",
                    initContainers=[container("i", "exit 7")]))
    found = site.wait_phase("stuck", "Failed")
    assert "waiting" in container_status(found)["state"]
    assert found["status"]["initContainerStatuses"][0]["state"][
        "terminated"]["exitCode"] == 7


def test_containers_of_a_pod_share_network_and_host_name(site):
    site.create(pod("both", hostname="it", restartPolicy="Never", containers=[
        container("c", "nc -l -p 4711 -e echo hi; hostname"),
        container("d", "until nc 127.0.0.1 4711; do sleep 0.1; done")]))
    site.wait_phase("both", "Succeeded")
    assert site.cluster.kubectl("logs", "both", "-c", "d").endswith("hi\n")
    assert site.cluster.kubectl("logs", "both", "-c", "c") == "it\n"


def test_a_pod_is_asked_to_stop_before_it_is_killed(site):
    site.create(pod("nice", containers=[container(
                        "c", "trap 'cp /d/up /d/bye; exit 0' TERM; "
                        "echo up >/d/up; while :; do sleep 0.1; done",
                        volumeMounts=[{"name": "d", "mountPath": "/d"}])],
                    terminationGracePeriodSeconds=600,
                    volumes=[{"name": "d", "hostPath": {
                        "path": site.directory + "/nice",
                        "type": "DirectoryOrCreate"}}]))
    site.wait_ready("nice")
    wait_until(lambda: os.path.exists(site.directory + "/nice/up"), DEADLINE,
               "the pod to be up")
    site.delete("pod", "nice")
    assert os.path.exists(site.directory + "/nice/bye")


def test_a_pod_that_does_not_stop_is_killed_after_its_grace(site):
    site.create(pod("deaf", "trap '' TERM; while :; do sleep 0.1; done",
                    terminationGracePeriodSeconds=1))
    site.wait_ready("deaf")
    site.delete("pod", "deaf")
    site.wait_clean(site.nodes[0])


def test_a_pod_deleted_by_force_leaves_nothing(site):
    site.create(pod("force", "sleep 1000"))
    site.wait_ready("force")
    site.delete("pod", "force", "--force", "--grace-period=0")
    site.wait_clean(site.nodes[0])


def test_an_image_that_is_missing_is_named_and_found_later(site):
    missing = container("c", "echo found")
    missing["image"] = "registry.example/a/b:v1"
    site.create(pod("late", containers=[missing], restartPolicy="Never"))
    found = site.wait_pod(
        "late", lambda p: p["status"].get("containerStatuses") and
        container_status(p)["state"].get("waiting", {}).get("reason")
        == "ErrImagePull", "ErrImagePull")
    assert "registry.example/a/b:v1" in \
        container_status(found)["state"]["waiting"]["message"]
    node = site.nodes[0]
    digest = node.add_image("registry.example/a/b:v1", node.fill_busybox)
    found = site.wait_phase("late", "Succeeded")
    assert container_status(found)["imageID"] \
        == "registry.example/a/b@" + digest


@pytest.mark.parametrize("member,value", [
    ("readinessProbe", {"exec": {"command": ["true"]}}),
    ("lifecycle", {"preStop": {"exec": {"command": ["true"]}}}),
])
def test_what_would_be_ignored_is_refused_by_its_name(site, member, value):
    name = member.lower()
    asking = container("c", "sleep 1000")
    asking[member] = value
    site.create(pod(name, containers=[asking]))
    found = site.wait_pod(
        name, lambda p: p["status"].get("containerStatuses") and
        container_status(p)["state"].get("waiting", {}).get("reason")
        == "Unsupported", "a refusal")
    assert f"spec.containers[0].{member}" in \
        container_status(found)["state"]["waiting"]["message"]
    assert found["status"]["phase"] == "Pending"
    wait_until(lambda: "Unsupported" in events(site, name), DEADLINE,
               "an event")
    site.delete("pod", name)
    site.wait_clean(site.nodes[0])


def test_a_security_context_is_kept(site):
    site.create(pod(
        "safe", restartPolicy="Never",
        securityContext={"fsGroup": 3000, "runAsUser": 1000,
                         "runAsGroup": 2000},
        containers=[container(
            "c", "id -u; id -g; id -G; grep CapBnd /proc/self/status; "
            "grep Seccomp: /proc/self/status; touch /x 2>&1; "
            "stat -c %g /d; touch /d/ok && echo wrote",
            volumeMounts=[{"name": "d", "mountPath": "/d"}],
            securityContext={"readOnlyRootFilesystem": True,
                             "allowPrivilegeEscalation": False,
                             "capabilities": {"drop": ["ALL"],
                                              "add": ["NET_ADMIN"]}})],
        volumes=[{"name": "d", "emptyDir": {}}]))
    site.wait_phase("safe", "Succeeded")
    lines = site.cluster.kubectl("logs", "safe").splitlines()
    assert lines[0] == "1000" and lines[1] == "2000"
    assert "3000" in lines[2].split()
    assert int(lines[3].split()[1], 16) == 1 << 12
    assert lines[4].split()[1] == "2"
    assert "Read-only file system" in lines[5]
    assert lines[6:] == ["3000", "wrote"]


def test_run_as_non_root_refuses_root(site):
    site.create(pod("root", "echo x",
                    securityContext={"runAsNonRoot": True}))
    found = site.wait_pod(
        "root", lambda p: p["status"].get("containerStatuses") and
        container_status(p)["state"].get("waiting", {}).get("reason")
        == "CreateContainerConfigError", "a refusal")
    assert "runAsNonRoot" in \
        container_status(found)["state"]["waiting"]["message"]


def test_the_environment_knows_objects_and_the_pod_itself(site):
    site.create({"apiVersion": "v1", "kind": "ConfigMap",
                 "metadata": {"name": "env"}, "data": {"k": "from-map"}})
    site.create({"apiVersion": "v1", "kind": "Secret",
                 "metadata": {"name": "env"},
                 "stringData": {"s": "from-secret"}})
    site.create(pod("env", restartPolicy="Never", containers=[container(
        "c", "echo $A,$B,$C,$D,$E,$(F),$P_k",
        env=[{"name": "A", "value": "a"}, {"name": "B", "value": "$(A)b"},
             {"name": "C", "valueFrom": {"configMapKeyRef": {
                 "name": "env", "key": "k"}}},
             {"name": "D", "valueFrom": {"secretKeyRef": {
                 "name": "env", "key": "s"}}},
             {"name": "E", "valueFrom": {"fieldRef": {
                 "fieldPath": "metadata.name"}}},
             {"name": "F", "value": "f"}],
        envFrom=[{"prefix": "P_", "configMapRef": {"name": "env"}}])]))
    site.wait_phase("env", "Succeeded")
    assert site.cluster.kubectl("logs", "env") \
        == "a,ab,from-map,from-secret,env,f,from-map\n"


def test_limits_are_in_the_cgroup(site):
    site.create(pod("limit", containers=[container(
        "c", "sleep 1000",
        resources={"limits": {"cpu": "500m", "memory": "64Mi"},
                   "requests": {"cpu": "250m"}})]))
    site.wait_ready("limit")
    found = {file: text for top in site.nodes[0].cgroups()
             for file, text in _limits(top)}
    quota = found.get("cpu.cfs_quota_us") or found["cpu.max"]
    assert quota.split()[0] == "50000"
    memory = found.get("memory.limit_in_bytes") or found["memory.max"]
    assert memory == str(64 << 20)


def _limits(top):
    """What the cgroup of a container says, in v1 or in v2."""
    for file in ("cpu.cfs_quota_us", "cpu.max", "memory.limit_in_bytes",
                 "memory.max"):
        for path in glob.glob(f"{top}/pod*/c-0/{file}"):
            with open(path, encoding="ascii") as text:
                yield file, text.read().strip()


def test_who_uses_too_much_memory_is_killed_and_told_so(site):
    site.create(pod("greedy", restartPolicy="Never", containers=[container(
        "c", "busybox", "tail", "/dev/zero",
        resources={"limits": {"memory": "32Mi"}})]))
    found = site.wait_phase("greedy", "Failed")
    assert container_status(found)["state"]["terminated"]["reason"] \
        == "OOMKilled"


def test_a_container_sees_no_devices_but_its_own(site):
    site.create(pod("devices", restartPolicy="Never", containers=[container(
        "c", "ls /dev; mknod /tmp/vda b 254 0 && "
        "head -c 1 /tmp/vda 2>&1; mount",
        resources={"limits": {"devices.kubevirt.io/tun": "1"}})]))
    site.wait_phase("devices", "Succeeded")
    text = site.cluster.kubectl("logs", "devices")
    names = text.split("\n")
    assert "net" in names and "kvm" not in names and "null" in names
    assert "Operation not permitted" in text
