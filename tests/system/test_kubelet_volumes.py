# SPDX-License-Identifier: Apache-2.0
"""What ferry-kubelet mounts into containers."""

import base64
import os

import pytest

from kubelets import DEADLINE, Site, container, pod, wait_until


@pytest.fixture(scope="module")
def site():
    with Site(nodes=2) as made:
        made.start_kubelets("--volume-refresh", "500ms")
        yield made


@pytest.fixture(autouse=True)
def clean_afterwards(site):
    yield
    site.cluster.kubectl("delete", "pods", "--all", "--grace-period=1",
                         timeout=DEADLINE)
    for node in site.nodes:
        site.wait_clean(node)


def run(site, name, script, volumes, mounts=None, **spec):
    """Runs a script in a pod with these volumes, each at /NAME, to its end;
    the log and the pod."""
    mounts = mounts or [{"name": v["name"], "mountPath": "/" + v["name"]}
                        for v in volumes]
    site.create(pod(name, restartPolicy="Never", volumes=volumes, containers=[
        container("c", script, volumeMounts=mounts)], **spec))
    found = site.wait_pod(name, lambda p: p["status"].get("phase")
                          in ("Succeeded", "Failed"), f"the end of {name}")
    return site.cluster.kubectl("logs", name), found


def waits_for(site, name, words):
    """Waits until the first container waits with these words."""
    def says():
        items = site.cluster.kubectl(
            "get", "events", "--field-selector",
            f"involvedObject.name={name},reason=FailedMount", "-o",
            "jsonpath={.items[*].message}")
        return words in items
    wait_until(says, DEADLINE, f"'{words}'")


def test_empty_dirs_are_shared_by_containers_and_writable(site):
    log, _ = run(site, "empty", "echo x >/d/f; cat /d/f; mount | grep ' /m '; "
                 "df -k /m | tail -1",
                 [{"name": "d", "emptyDir": {}},
                  {"name": "m", "emptyDir": {"medium": "Memory",
                                             "sizeLimit": "8Mi"}}])
    lines = log.splitlines()
    assert lines[0] == "x" and lines[1].startswith("tmpfs on /m type tmpfs")
    assert lines[2].split()[1] == "8192"


def test_empty_dirs_are_where_kubernetes_has_them(site):
    site.create(pod("where", nodeName="node1", containers=[container(
        "c", "echo x >/d/f; sleep 1000",
        volumeMounts=[{"name": "d", "mountPath": "/d"}])],
        volumes=[{"name": "d", "emptyDir": {}}]))
    found = site.wait_ready("where")
    path = os.path.join(site.nodes[0].pod_dir(found), "volumes",
                        "kubernetes.io~empty-dir", "d", "f")
    wait_until(lambda: os.path.exists(path), DEADLINE, path)


def test_config_maps_and_secrets_become_files(site):
    site.create({"apiVersion": "v1", "kind": "ConfigMap",
                 "metadata": {"name": "files"},
                 "data": {"a.txt": "text of a", "b": "b"},
                 "binaryData": {
                     "bin": base64.b64encode(b"\0\1\xff").decode()}})
    site.create({"apiVersion": "v1", "kind": "Secret",
                 "metadata": {"name": "files"},
                 "data": {"key": base64.b64encode(b"hush\0").decode()}})
    log, _ = run(
        site, "files", "cat /map/a.txt; echo; ls /map; od -An -tx1 /map/bin; "
        "cat /picked/deep/x; echo; stat -c %a /picked/deep/x; "
        "od -An -c /secret/key; mount | grep -c 'tmpfs on /secret'",
        [{"name": "map", "configMap": {"name": "files"}},
         {"name": "picked", "configMap": {
             "name": "files", "defaultMode": 0o400,
             "items": [{"key": "b", "path": "deep/x"}]}},
         {"name": "secret", "secret": {"secretName": "files"}}])
    assert [line.split() for line in log.splitlines()] == [
        ["text", "of", "a"], ["a.txt"], ["b"], ["bin"], ["00", "01", "ff"],
        ["b"], ["400"], ["h", "u", "s", "h", "\\0"], ["1"]]


def test_a_config_map_that_is_missing_is_waited_for(site):
    site.create(pod("wait", "cat /m/k", restartPolicy="Never", containers=[
        container("c", "cat /m/k",
                  volumeMounts=[{"name": "m", "mountPath": "/m"}])],
        volumes=[{"name": "m", "configMap": {"name": "later"}}]))
    waits_for(site, "wait", 'configmaps "later" not found')
    site.create({"apiVersion": "v1", "kind": "ConfigMap",
                 "metadata": {"name": "later"}, "data": {"k": "now"}})
    site.wait_phase("wait", "Succeeded")
    assert site.cluster.kubectl("logs", "wait") == "now"


def test_an_optional_config_map_may_be_missing(site):
    log, _ = run(site, "optional", "ls /m | wc -l",
                 [{"name": "m", "configMap": {"name": "no-such",
                                              "optional": True}}])
    assert log == "0\n"


def test_a_changed_config_map_reaches_a_running_pod(site):
    site.create({"apiVersion": "v1", "kind": "ConfigMap",
                 "metadata": {"name": "live"}, "data": {"k": "old"}})
    site.create(pod("live", containers=[container(
        "c", "until grep -q new /m/k; do sleep 0.1; done; exit 0",
        volumeMounts=[{"name": "m", "mountPath": "/m"}])],
        restartPolicy="Never",
        volumes=[{"name": "m", "configMap": {"name": "live"}}]))
    site.wait_ready("live")
    site.cluster.kubectl("patch", "configmap", "live", "-p",
                         '{"data": {"k": "new"}}')
    site.wait_phase("live", "Succeeded")


def test_a_service_account_token_is_mounted_and_is_good(site):
    made = pod("token", containers=[container(
        "c", "cd /var/run/secrets/kubernetes.io/serviceaccount; ls; "
        "cat namespace; echo; cat token")], restartPolicy="Never")
    del made["spec"]["automountServiceAccountToken"]
    site.create(made)
    site.wait_phase("token", "Succeeded")
    lines = site.cluster.kubectl("logs", "token").splitlines()
    assert lines[:4] == ["ca.crt", "namespace", "token", "default"]
    assert site.cluster.api(token=lines[4]).get("/api")["versions"] == ["v1"]


def test_the_downward_api_becomes_files(site):
    log, _ = run(site, "down", "cat /d/name; echo; cat /d/labels",
                 [{"name": "d", "downwardAPI": {"items": [
                     {"path": "name", "fieldRef": {
                         "fieldPath": "metadata.name"}},
                     {"path": "labels", "fieldRef": {
                         "fieldPath": "metadata.labels"}}]}}])
    assert log == "down\n"


@pytest.mark.parametrize("kind,there", [("Directory", False),
                                        ("File", False), ("Socket", True)])
def test_a_host_path_must_be_what_it_is_said_to_be(site, kind, there):
    path = os.path.join(site.directory, "host-" + kind)
    if there:
        os.makedirs(path)
    site.create(pod("host", containers=[container(
        "c", "sleep 1000", volumeMounts=[{"name": "h", "mountPath": "/h"}])],
        volumes=[{"name": "h", "hostPath": {"path": path, "type": kind}}]))
    waits_for(site, "host", f"hostPath type check failed: '{path}'"
              if there else f"hostPath '{path}'")


def test_a_sub_path_does_not_follow_links_out_of_its_volume(site):
    """A first pod leaves a link to / where the second wants a directory."""
    path = os.path.join(site.directory, "trap")
    os.makedirs(path)
    os.symlink("/", os.path.join(path, "out"))
    volumes = [{"name": "h", "hostPath": {"path": path}}]
    site.create(pod("trap", restartPolicy="Never", volumes=volumes,
                    containers=[container("c", "ls /h", volumeMounts=[
                        {"name": "h", "mountPath": "/h", "subPath": "out"}])]))
    found = site.wait_phase("trap", "Failed")
    ended = found["status"]["containerStatuses"][0]["state"]["terminated"]
    assert "symbolic link" in ended["message"]


def test_a_sub_path_is_a_part_of_its_volume(site):
    log, _ = run(site, "sub", "echo x >/s/f; cat /d/a/b/f",
                 [{"name": "d", "emptyDir": {}}],
                 [{"name": "d", "mountPath": "/d"},
                  {"name": "d", "mountPath": "/s", "subPath": "a/b"}])
    assert log == "x\n"


def test_an_image_is_a_read_only_volume_with_its_digest_in_the_status(site):
    def fill(root):
        os.makedirs(os.path.join(root, "disk"))
        with open(os.path.join(root, "disk", "x.img"), "wb") as file:
            file.write(b"content")

    for node in site.nodes:
        digest = node.add_image("registry.example/disks/x:v2", fill)
    log, found = run(site, "disk", "cat /i/disk/x.img; echo; "
                     "touch /i/y 2>&1",
                     [{"name": "i", "image": {
                         "reference": "registry.example/disks/x:v2"}}])
    assert log.startswith("content\n") and "Read-only file system" in log
    mount = found["status"]["containerStatuses"][0]["volumeMounts"][0]
    assert mount["volumeStatus"]["image"]["imageRef"] \
        == "registry.example/disks/x@" + digest
    log, _ = run(site, "digest", "cat /i/disk/x.img", [{
        "name": "i", "image": {
            "reference": "registry.example/disks/x@" + digest}}])
    assert log == "content"


def claim(name, storage_class, mode):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name},
            "spec": {"storageClassName": storage_class, "accessModes": [mode],
                     "resources": {"requests": {"storage": "10Mi"}}}}


def pvc(name):
    return [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]


def wait_no_volumes(site):
    wait_until(lambda: "pvc-" not in site.cluster.kubectl(
        "get", "pv", "-o", "name"), DEADLINE, "volumes to go")


def test_a_local_claim_is_made_where_its_first_pod_runs_and_stays(site):
    site.create(claim("local", "ferry-local", "ReadWriteOnce"))
    _, first = run(site, "first", "echo kept >/d/f", pvc("local"))
    log, second = run(site, "second", "cat /d/f", pvc("local"))
    assert log == "kept\n"
    assert first["spec"]["nodeName"] == second["spec"]["nodeName"]
    node = next(n for n in site.nodes if n.name == first["spec"]["nodeName"])
    assert len(os.listdir(node.volumes)) == 1
    site.cluster.kubectl("delete", "pod", "first", "second")
    site.delete("pvc", "local")
    wait_no_volumes(site)
    assert os.listdir(node.volumes) == []


def test_a_shared_claim_is_the_same_on_all_nodes(site):
    site.create(claim("shared", "ferry-shared", "ReadWriteMany"))
    run(site, "writer", "echo there >/d/f", pvc("shared"),
        nodeSelector={"kubernetes.io/hostname": "node1"})
    log, _ = run(site, "reader", "cat /d/f", pvc("shared"),
                 nodeSelector={"kubernetes.io/hostname": "node2"})
    assert log == "there\n"
    site.cluster.kubectl("delete", "pod", "writer", "reader")
    site.delete("pvc", "shared")
    wait_no_volumes(site)
    assert os.listdir(site.shared) == []


def test_the_host_as_an_image_is_read_only_with_private_places(site):
    for node in site.nodes:
        node.add_image("host:v1", binds=[{"source": "/bin/echo",
                                          "target": "/usr/bin/bound"}])
    one = container("c", "/usr/bin/bound bound; touch /etc/x 2>&1; "
                    "ls -A /run /tmp; ls -A " + site.directory + " 2>&1; "
                    "echo y >/var/run/k/f; cat /var/run/k/f",
                    volumeMounts=[{"name": "k", "mountPath": "/var/run/k"}])
    one["image"] = "host:v1"
    site.create(pod("host", restartPolicy="Never", containers=[one],
                    volumes=[{"name": "k", "emptyDir": {}}]))
    site.wait_phase("host", "Succeeded")
    log = site.cluster.kubectl("logs", "host")
    lines = log.splitlines()
    assert lines[0] == "bound" and "Read-only file system" in lines[1]
    assert lines[2:6] == ["/run:", "k", "", "/tmp:"]
    assert lines[-1] == "y" and "No such file" in lines[-2]
