# SPDX-License-Identifier: Apache-2.0
"""What is particular to some built-in kinds."""

import base64

import pytest

from kubeapi import has_vanished, path_of, wait_for
from objects import configmap, pod


def test_a_namespace_is_ready_for_use(api, ns):
    item = api.get(path_of("v1", "namespaces", name=ns))
    assert item["metadata"]["labels"]["kubernetes.io/metadata.name"] == ns
    assert item["spec"]["finalizers"] == ["kubernetes"]
    assert item["status"]["phase"] == "Active"
    api.get(path_of("v1", "serviceaccounts", ns, "default"))
    ca = wait_for("the root certificate", lambda: api.request(
        "GET", path_of("v1", "configmaps", ns, "kube-root-ca.crt")).code
        == 200 and api.get(path_of("v1", "configmaps", ns,
                                   "kube-root-ca.crt")))
    assert "BEGIN CERTIFICATE" in ca["data"]["ca.crt"]


def test_what_controllers_put_there_comes_back(api, ns):
    path = path_of("v1", "serviceaccounts", ns, "default")
    old = api.get(path)["metadata"]["uid"]
    api.delete(path)

    def back():
        answer = api.request("GET", path)
        return answer.code == 200 and \
            answer.json()["metadata"]["uid"] != old
    wait_for("the service account to come back", back)


def test_secrets_take_plain_text(api, ns):
    path = path_of("v1", "secrets", ns, "s")
    made = api.create(path_of("v1", "secrets", ns), {
        "metadata": {"name": "s"}, "data": {"a": "YQ==", "b": "Yg=="},
        "stringData": {"b": "bee", "c": "see"}})
    assert made["type"] == "Opaque"
    assert "stringData" not in made
    assert {k: base64.b64decode(v) for k, v in made["data"].items()} == {
        "a": b"a", "b": b"bee", "c": b"see"}
    status = api.refuse(422, "Invalid", "PATCH", path,
                        {"type": "example.com/other"}, kind="merge")
    assert "field is immutable" in status["message"]


def test_secrets_want_base64(api, ns):
    answer = api.request("POST", path_of("v1", "secrets", ns), {
        "metadata": {"name": "s"}, "data": {"a": "not base64!"}})
    assert answer.code == 400, answer


@pytest.mark.parametrize("plural, value", [("configmaps", "x"),
                                           ("secrets", "eA==")])
def test_immutable_means_that(api, ns, plural, value):
    path = path_of("v1", plural, ns, "a")
    api.create(path_of("v1", plural, ns), {
        "metadata": {"name": "a"}, "data": {"k": value}, "immutable": True})
    status = api.refuse(422, "Invalid", "PATCH", path,
                        {"data": {"k": "eQ=="}}, kind="merge")
    assert "field is immutable when `immutable` is set" in status["message"]
    api.refuse(422, "Invalid", "PATCH", path, {"immutable": False},
               kind="merge")
    api.patch(path, {"metadata": {"labels": {"a": "b"}}})


def test_configmap_keys_are_checked(api, ns):
    status = api.refuse(422, "Invalid", "POST",
                        path_of("v1", "configmaps", ns),
                        configmap("a", {"not ok": "x"}))
    assert status["details"]["causes"][0]["field"] == "data[not ok]"


def test_pods_are_defaulted(api, ns):
    made = api.create(path_of("v1", "pods", ns), pod("p"))
    spec, status = made["spec"], made["status"]
    assert spec["restartPolicy"] == "Always"
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["serviceAccountName"] == "default"
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert spec["containers"][0]["terminationMessagePath"] == \
        "/dev/termination-log"
    assert status["phase"] == "Pending"
    assert status["qosClass"] == "BestEffort"
    body = pod("q")
    amounts = {"cpu": "100m", "memory": "1Mi"}
    body["spec"]["containers"][0]["resources"] = {"limits": amounts}
    made = api.create(path_of("v1", "pods", ns), body)
    assert made["spec"]["containers"][0]["resources"]["requests"] == amounts
    assert made["status"]["qosClass"] == "Guaranteed"


@pytest.mark.parametrize("change, field", [
    (lambda s: s.update(containers=[]), "spec.containers"),
    (lambda s: s["containers"][0].pop("name"), "spec.containers[0].name"),
    (lambda s: s["containers"].append(dict(s["containers"][0])),
     "spec.containers[1].name"),
    (lambda s: s.update(restartPolicy="Perhaps"), "spec.restartPolicy"),
    (lambda s: s["containers"][0].update(volumeMounts=[
        {"name": "none", "mountPath": "/x"}]),
     "spec.containers[0].volumeMounts[0].name"),
    (lambda s: s["containers"][0].update(resources={
        "requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
     "spec.containers[0].resources.requests"),
])
def test_wrong_pods_are_refused(api, ns, change, field):
    body = pod("p")
    change(body["spec"])
    status = api.refuse(422, "Invalid", "POST", path_of("v1", "pods", ns),
                        body)
    assert field in [c["field"] for c in status["details"]["causes"]], status


def test_most_of_a_pod_cannot_be_changed(api, ns):
    path = path_of("v1", "pods", ns, "p")
    api.create(path_of("v1", "pods", ns), pod("p"))
    status = api.refuse(422, "Invalid", "PATCH", path,
                        {"spec": {"restartPolicy": "Never"}}, kind="merge")
    assert "pod updates may not change fields other than" in \
        status["message"]
    now = api.patch(path, [{"op": "replace", "value": "example.org/other:2",
                            "path": "/spec/containers/0/image"}],
                    kind="json")
    assert now["spec"]["containers"][0]["image"] == "example.org/other:2"
    api.patch(path, {"metadata": {"labels": {"a": "b"}}})


def test_a_pod_is_bound_once(api, ns):
    path = path_of("v1", "pods", ns, "p")
    api.create(path_of("v1", "pods", ns), pod("p"))
    binding = {"apiVersion": "v1", "kind": "Binding",
               "metadata": {"name": "p"},
               "target": {"kind": "Node", "name": "conformance-no-node"}}
    answer = api.create(path + "/binding", binding)
    assert answer["status"] == "Success" and answer["code"] == 201
    now = api.get(path)
    assert now["spec"]["nodeName"] == "conformance-no-node"
    assert {"type": "PodScheduled", "status": "True"}.items() <= \
        now["status"]["conditions"][0].items()
    status = api.refuse(409, "Conflict", "POST", path + "/binding", binding)
    assert ('pod p is already assigned to node "conformance-no-node"' in
            status["message"])
    api.delete(path, {"gracePeriodSeconds": 0})


def test_a_pod_that_fits_nowhere_says_so(api, ns):
    path = path_of("v1", "pods", ns, "p")
    api.create(path_of("v1", "pods", ns), pod("p"))

    def unschedulable():
        for c in api.get(path)["status"].get("conditions", []):
            if c["type"] == "PodScheduled" and c["status"] == "False":
                return c
        return None

    condition = wait_for("the scheduler to try", unschedulable)
    assert condition["reason"] == "Unschedulable"
    assert "nodes are available" in condition["message"] or \
        "no nodes available" in condition["message"]


def test_the_status_of_a_pod_is_a_subresource(api, ns):
    path = path_of("v1", "pods", ns, "p")
    api.create(path_of("v1", "pods", ns), pod("p"))
    assert api.patch(path, {"status": {"phase": "Running"}})["status"][
        "phase"] == "Pending"
    now = api.patch(path + "/status", {
        "spec": {"priority": 7}, "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}]}},
        kind="strategic")
    assert now["status"]["phase"] == "Running"
    assert now["spec"].get("priority") != 7


def test_events_belong_to_the_namespace_of_their_object(api, ns):
    body = {"metadata": {"name": "e"}, "involvedObject": {
        "kind": "Pod", "namespace": "other", "name": "p"}}
    status = api.refuse(422, "Invalid", "POST", path_of("v1", "events", ns),
                        body)
    assert ('involvedObject.namespace: Invalid value: "other": does not '
            'match event.namespace') in status["message"]


def test_both_groups_show_the_same_events(api, ns):
    api.create(path_of("v1", "events", ns), {
        "metadata": {"name": "e"}, "reason": "Why", "type": "Normal",
        "message": "what", "involvedObject": {
            "kind": "Pod", "namespace": ns, "name": "p"}})
    other = api.get(path_of("events.k8s.io/v1", "events", ns, "e"))
    assert other["apiVersion"] == "events.k8s.io/v1"
    assert other["note"] == "what"
    assert other["regarding"]["name"] == "p"


def test_leases_keep_microseconds(api, ns):
    path = path_of("coordination.k8s.io/v1", "leases", ns, "l")
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 40,
            "renewTime": "2026-01-02T03:04:05.123456Z"}
    api.create(path_of("coordination.k8s.io/v1", "leases", ns),
               {"metadata": {"name": "l"}, "spec": spec})
    assert api.get(path)["spec"] == spec


def test_quantities_are_written_in_one_way(api, ns):
    made = api.create(path_of("v1", "persistentvolumeclaims", ns), {
        "metadata": {"name": "c"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "resources": {"requests": {"storage": "1024Mi"}}}})
    assert made["spec"]["resources"]["requests"]["storage"] == "1Gi"
    assert made["status"]["phase"] == "Pending"


def test_unknown_paths(api, ns, widgets):
    answer = api.request("GET", "/nosuch")
    assert answer.code == 404
    answer = api.request("GET", "/apis/nosuch.example.com/v1")
    assert answer.code == 404
    answer = api.request("GET", path_of(f"{widgets.group}/v1", "nosuch", ns))
    assert answer.code == 404
    status = api.refuse(404, "NotFound", "GET", path_of("v1", "nosuch", ns))
    assert status["message"] == \
        "the server could not find the requested resource"


def test_wrong_methods(api, ns):
    status = api.refuse(405, "MethodNotAllowed", "DELETE",
                        path_of("v1", "namespaces"))
    assert status["message"] == ("the server does not allow this method on "
                                 "the requested resource")
    api.refuse(405, "MethodNotAllowed", "POST",
               path_of("v1", "configmaps", ns, "a"), configmap("a"))
    assert has_vanished(api, path_of("v1", "configmaps", ns, "a"))
