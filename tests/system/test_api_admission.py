# SPDX-License-Identifier: Apache-2.0
"""ferry-api's webhooks, as clients of the API server see them."""

import base64
import json

import pytest

from kubeapi import wait_for
from played_objects import NODE_LABEL, TARGET_LABEL, VMIMS, VMIS, namespaced, \
    vm, vmi
from proxies import DEADLINE

VMS = "/apis/kubevirt.io/v1/virtualmachines"
POLICIES = "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"
KUBEVIRTS = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
DENIED = 'admission webhook "%s.kubevirt.io" denied the request: '
MIGRATION_CREATE = DENIED % "migration-create-validator"
MIGRATION_UPDATE = DENIED % "migration-update-validator"
VMI_CREATE = DENIED % "virtualmachineinstances-create-validator"
VMI_UPDATE = DENIED % "virtualmachineinstances-update-validator"


def migration(machine, name="m", **spec):
    """As a person writes it, before admission."""
    return {"apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"name": name},
            "spec": {"vmiName": machine, **spec}}


def make_running(api, namespace, name="vmi1", on="node1", **status):
    """A machine that a node says it runs."""
    path = namespaced(VMIS, namespace)
    api.client().create(path, vmi(name))
    return api.controller().patch(f"{path}/{name}", {
        "metadata": {"labels": {NODE_LABEL: on}},
        "status": {"phase": "Running", "nodeName": on, **status}})


def condition(kind, status, reason="", message=""):
    return {"type": kind, "status": status, "reason": reason,
            "message": message}


def refused(client, path, body, message, code=400, reason=""):
    status = client.refuse(code, reason, "POST", path, body)
    assert status["message"] == message
    return status


def test_a_new_migration_gets_its_label_finalizer_and_versions(api, namespace):
    make_running(api, namespace)
    made = api.client().create(namespaced(VMIMS, namespace), {
        **migration("vmi1"),
        "metadata": {"name": "m", "labels": {
            "kubevirt.io/vmi-name": "another", "mine": "stays"}}})["metadata"]
    assert made["labels"] == {"kubevirt.io/vmi-name": "vmi1", "mine": "stays"}
    assert made["finalizers"] == ["kubevirt.io/migrationJobFinalize"]
    assert made["annotations"] == {
        "kubevirt.io/latest-observed-api-version": "v1",
        "kubevirt.io/storage-observed-api-version": "v1"}


def test_a_migration_of_no_machine_is_refused(api, namespace):
    path = namespaced(VMIMS, namespace)
    refused(api.client(), path, migration("none"), MIGRATION_CREATE +
            f'the VMI "{namespace}/none" does not exist')


def test_a_migration_without_a_machine_names_the_field(api, namespace):
    status = refused(api.client(), namespaced(VMIMS, namespace), migration(""),
                     MIGRATION_CREATE + "vmiName is missing", 422, "Invalid")
    assert status["details"]["causes"] == [{
        "reason": "FieldValueRequired", "message": "vmiName is missing",
        "field": "spec.vmiName"}]


def test_only_the_controller_sets_a_priority(api, namespace):
    make_running(api, namespace)
    path = namespaced(VMIMS, namespace)
    body = migration("vmi1", priority="system-critical")
    refused(api.client(), path, body, MIGRATION_CREATE +
            "Migration priority queue, only virt-controller is allowed to set "
            "priority field", 422, "Invalid")
    refused(api.handler("node1"), path, body, MIGRATION_CREATE +
            "Migration priority queue, only virt-controller is allowed to set "
            "priority field", 422, "Invalid")
    api.controller().create(path, body)


def test_a_machine_that_cannot_move_is_not_migrated(api, namespace):
    path = namespaced(VMIMS, namespace)
    make_running(api, namespace, "ended", phase="Succeeded")
    make_running(api, namespace, "stuck", conditions=[condition(
        "LiveMigratable", "False", "DisksNotLiveMigratable", "a disk")])
    refused(api.client(), path, migration("ended"),
            MIGRATION_CREATE + "Cannot migrate VMI in finalized state.")
    refused(api.client(), path, migration("stuck"), MIGRATION_CREATE +
            "Cannot migrate VMI, Reason: DisksNotLiveMigratable, "
            "Message: a disk")


def test_a_machine_moves_once_at_a_time(api, namespace):
    make_running(api, namespace)
    path = namespaced(VMIMS, namespace)
    first = api.client().create(path, migration("vmi1", "first"))
    refused(api.client(), path, migration("vmi1", "second"),
            MIGRATION_CREATE + "in-flight migration detected. Active "
            f"migration job ({first['metadata']['uid']}) is currently already "
            "in progress for VMI vmi1.")
    api.controller().patch(f"{path}/first/status",
                           {"status": {"phase": "Failed"}})
    api.client().create(path, migration("vmi1", "second"))


def test_halves_of_a_migration_need_the_gate(api, namespace):
    make_running(api, namespace)
    path = namespaced(VMIMS, namespace)
    body = migration("vmi1", receive={"migrationID": "a"})
    refused(api.client(), path, body, MIGRATION_CREATE +
            "DecentralizedLiveMigration feature gate is not enabled in "
            "kubevirt resource")


def test_a_migration_keeps_its_spec_and_its_label(api, namespace):
    make_running(api, namespace)
    make_running(api, namespace, "vmi2")
    path = namespaced(VMIMS, namespace)
    api.client().create(path, migration("vmi1"))
    cases = [
        ({"spec": {"vmiName": "vmi2"}},
         "update of Migration object's spec is restricted"),
        ({"metadata": {"labels": {"kubevirt.io/vmi-name": "vmi2"}}},
         "selector label can't be modified on an in-flight migration"),
        ({"metadata": {"labels": None}},
         "selector label can't be removed from an in-flight migration"),
    ]
    for patch, message in cases:
        status = api.client().refuse(422, "Invalid", "PATCH", f"{path}/m",
                                     patch, kind="merge")
        assert status["message"] == MIGRATION_UPDATE + message
    api.client().patch(f"{path}/m", {"metadata": {"labels": {"more": "x"}}})


def test_a_new_machine_is_completed_and_pending(api, namespace):
    body = vmi("vmi1")
    body["status"] = {"phase": "Running", "nodeName": "elsewhere"}
    made = api.client().create(namespaced(VMIS, namespace), body)
    assert made["metadata"]["finalizers"] == ["foregroundDeleteVirtualMachine"]
    assert made["spec"]["domain"]["machine"] == {"type": "q35"}
    assert len(made["spec"]["domain"]["firmware"]["uuid"]) == 36
    assert made["spec"]["terminationGracePeriodSeconds"] == 30
    assert made["status"]["phase"] == "Pending"
    assert "nodeName" not in made["status"]


def test_a_machine_that_ferry_cannot_run_is_refused_with_the_path(
        api, namespace):
    body = vmi("vmi1")
    body["spec"]["domain"]["devices"]["gpus"] = [{"name": "g"}]
    status = api.client().refuse(422, "Invalid", "POST",
                                 namespaced(VMIS, namespace), body)
    assert status["message"].startswith(VMI_CREATE)
    assert "spec.domain.devices.gpus" in json.dumps(status["details"])


@pytest.mark.parametrize("kind,source", [
    ("persistentVolumeClaim", {"claimName": "c"}),
    ("dataVolume", {"name": "d"})])
def test_volumes_are_not_plugged_into_a_running_machine(api, namespace, kind,
                                                        source):
    """So that no migration has to carry one along."""
    volume = {"name": "more", kind: {**source, "hotpluggable": True}}
    path = namespaced(VMIS, namespace)
    status = api.client().refuse(422, "Invalid", "POST", path,
                                 vmi("vmi1", spec={"volumes": [volume]}))
    assert f"spec.volumes[0].{kind}.hotpluggable" in json.dumps(
        status["details"])
    make_running(api, namespace)
    status = api.client().refuse(
        422, "Invalid", "PATCH", f"{path}/vmi1",
        {"spec": {"volumes": [{"name": "more", kind: source}]}}, kind="merge")
    assert status["message"] == \
        VMI_UPDATE + "update of VMI object is restricted"


def test_a_new_machine_comes_without_a_request_to_pause(api, namespace):
    body = vmi("vmi1", annotations={"ferry.io/pause-requested": "true"})
    status = api.client().refuse(422, "Invalid", "POST",
                                 namespaced(VMIS, namespace), body)
    assert "pause and unpause only" in status["message"]


def test_nobody_but_ferry_changes_a_machine_that_runs(api, namespace):
    path = namespaced(VMIS, namespace) + "/vmi1"
    make_running(api, namespace)
    admin = api.client()
    status = admin.refuse(422, "Invalid", "PATCH", path,
                          {"spec": {"evictionStrategy": "None"}}, kind="merge")
    assert status["message"] == \
        VMI_UPDATE + "update of VMI object is restricted"
    status = admin.refuse(422, "Invalid", "PATCH", path, {
        "metadata": {"labels": {NODE_LABEL: "node2"}}}, kind="merge")
    assert status["message"] == VMI_UPDATE + \
        "modification of the following reserved kubevirt.io/ labels on a " \
        "VMI object is prohibited"
    for name in ("requested", "request-id"):
        status = admin.refuse(422, "Invalid", "PATCH", path, {
            "metadata": {"annotations": {f"ferry.io/pause-{name}": "true"}}},
            kind="merge")
        assert "pause and unpause only" in status["message"]
    # Its status is not his either, and he is told nothing, as in KubeVirt.
    changed = admin.patch(path, {
        "metadata": {"labels": {"his": "own"}},
        "status": {"phase": "Failed", "evacuationNodeName": "node1"}})
    assert changed["metadata"]["labels"]["his"] == "own"
    assert changed["status"]["phase"] == "Running"
    assert "evacuationNodeName" not in changed["status"]


def test_a_machine_without_a_template_or_strategy_is_refused(api, namespace):
    path = namespaced(VMS, namespace)
    body = vm("vm1")
    del body["spec"]["template"]
    # The schema wants a template; the rest is ferry-api's.
    api.client().refuse(422, "Invalid", "POST", path, body)
    body = vm("vm1", strategy="Sometimes")
    status = api.client().refuse(422, "Invalid", "POST", path, body)
    assert "Sometimes" in status["message"]
    body = vm("vm1")
    body["spec"]["running"] = True
    status = api.client().refuse(422, "Invalid", "POST", path, body)
    assert "Running and RunStrategy are mutually exclusive" in \
        status["message"]
    made = api.client().create(path, vm("vm1"))
    template = made["spec"]["template"]["spec"]
    assert template["domain"]["machine"]["type"] == "q35"


def test_a_policy_with_a_negative_bandwidth_is_refused(api):
    body = {"apiVersion": "migrations.kubevirt.io/v1alpha1",
            "kind": "MigrationPolicy", "metadata": {"name": "negative"},
            "spec": {"selectors": {}, "bandwidthPerMigration": "-1"}}
    status = api.client().refuse(422, "Invalid", "POST", POLICIES, body)
    assert "must not be negative" in status["message"]
    body["spec"]["bandwidthPerMigration"] = "1Mi"
    api.client().create(POLICIES, body)
    status = api.client().refuse(
        422, "Invalid", "PATCH", POLICIES + "/negative",
        {"spec": {"completionTimeoutPerGiB": -1}}, kind="merge")
    assert "must not be negative" in status["message"]


def test_the_kubevirt_object_is_checked_and_followed(api, namespace):
    make_running(api, namespace)
    admin = api.client()
    body = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
            "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
            "spec": {"configuration": {
                "migrations": {"maxDowntimeMs": 10}}}}
    status = admin.refuse(422, "Invalid", "POST", KUBEVIRTS, body)
    assert "maxDowntimeMs" in status["message"]
    body["spec"]["configuration"] = {"developerConfiguration": {
        "featureGates": ["DecentralizedLiveMigration"]}}
    admin.create(KUBEVIRTS, body)
    half = migration("vmi1", receive={"migrationID": "a"})
    whole = migration("vmi1", receive={"migrationID": "a"}, sendTo={
        "migrationID": "a", "connectURL": "x"})
    path = namespaced(VMIMS, namespace)
    try:
        wait_for("the gate", lambda: admin.request(
            "POST", path + "?dryRun=All", whole).code == 201, DEADLINE)
        # What cannot be done is not accepted, gate or no gate.
        status = admin.refuse(422, "Invalid", "POST", path, half)
        assert "spec.receive is not supported" in status["message"]
        status = admin.refuse(422, "Invalid", "POST", namespaced(
            VMS, namespace), vm("waits", "WaitAsReceiver"))
        assert "RunStrategy WaitAsReceiver is not supported" in \
            status["message"]
        refused(admin, path, migration(
            "vmi1", sendTo={"migrationID": "a", "connectURL": "x"},
            receive={"migrationID": "b"}), MIGRATION_CREATE +
            "sendTo migrationID a does not match receive migrationID b")
    finally:
        admin.delete(KUBEVIRTS + "/kubevirt")
    wait_for("the default", lambda: admin.request(
        "POST", path + "?dryRun=All", half).code == 400, DEADLINE)


# Who may write what of a machine that runs on node1 and is received by node2:
# the agents of these nodes, beside the controller and ferry-api itself, which
# may write everything but requests to pause: these are ferry-api's alone.
STATE = {"migrationUid": "u", "sourceNode": "node1", "targetNode": "node2",
         "sourcePod": "a", "targetPod": "b"}


def in_state(**members):
    return {"status": {"migrationState": members}}


WRITES = [
    # what, which nodes' agents may
    (in_state(targetNodeAddress="192.0.2.1"), {"node2"}),
    (in_state(targetDirectMigrationNodePorts={"4711": 0}), {"node2"}),
    (in_state(targetDirectMigrationNodePorts={"none": 0}), set()),
    (in_state(targetDirectMigrationNodePorts={"65536": 0}), set()),
    (in_state(targetDirectMigrationNodePorts={"4711": -1}), set()),
    (in_state(targetDirectMigrationNodePorts={
        str(port): 0 for port in range(4000, 4017)}), set()),
    (in_state(targetNodeDomainDetected=True), {"node2"}),
    (in_state(targetListensAfterBreaks=1), {"node2"}),
    (in_state(startTimestamp="2026-01-01T00:00:00Z"), {"node1"}),
    (in_state(mode="PreCopy"), {"node1"}),
    (in_state(abortStatus="Succeeded"), {"node1"}),
    (in_state(completed=True, failed=True,
              endTimestamp="2026-01-01T00:00:01Z"), {"node1", "node2"}),
    (in_state(targetNode="node3"), set()),
    (in_state(targetPod="c"), set()),
    (in_state(sourceNode="node2"), set()),
    (in_state(migrationUid="v"), set()),
    (in_state(abortRequested=True), set()),
    ({"status": {"phase": "Failed"}}, {"node1"}),
    ({"status": {"guestOSInfo": {"name": "x"}}}, {"node1"}),
    ({"status": {"interfaces": [{"name": "default"}]}}, {"node1"}),
    ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
     {"node1"}),
    ({"status": {"nodeName": "node2"}}, {"node2"}),
    ({"status": {"nodeName": "node2", "conditions": [
        {"type": "Ready", "status": "True"}],
        "launcherContainerImageVersion": "image"}}, {"node2"}),
    ({"status": {"launcherContainerImageVersion": "image"}}, set()),
    ({"status": {"nodeName": "node3"}}, set()),
    ({"status": {"evacuationNodeName": "node1"}}, set()),
    ({"status": {"activePods": {"u": "node1"}}}, set()),
    ({"metadata": {"labels": {NODE_LABEL: "node2"}}}, {"node2"}),
    ({"metadata": {"labels": {NODE_LABEL: "node3"}}}, set()),
    ({"metadata": {"labels": {TARGET_LABEL: None}}}, {"node2"}),
    ({"metadata": {"labels": {TARGET_LABEL: "node3"}}}, set()),
    ({"metadata": {"labels": {"x": "y"}}}, set()),
    ({"metadata": {"labels": {"x": ""}}}, set()),
    ({"metadata": {"labels": {"kubevirt.io/outdatedLauncherImage": ""}}},
     set()),
    ({"metadata": {"annotations": {"ferry.io/pause-answered": "id"}}},
     {"node1"}),
    ({"metadata": {"annotations": {"ferry.io/vm-template-digest": "x"}}},
     set()),
    ({"metadata": {"annotations": {"kubevirt.io/eviction-source": "x"}}},
     set()),
    ({"metadata": {"annotations": {"ferry.io/pause-requested": "true"}}},
     {"api alone"}),
    ({"metadata": {"annotations": {"ferry.io/pause-request-id": "x"}}},
     {"api alone"}),
    ({"metadata": {"annotations": {"kubevirt.io/x": "y"}}}, set()),
    ({"metadata": {"finalizers": []}}, set()),
    ({"spec": {"evictionStrategy": "None"}}, set()),
]


@pytest.fixture(scope="module")
def moving(cluster, api):
    """The path of a machine on its way from node1 to node2."""
    namespace = cluster.api().create("/api/v1/namespaces", {
        "metadata": {"generateName": "test-"}})["metadata"]["name"]
    make_running(api, namespace, migrationState=STATE)
    path = namespaced(VMIS, namespace) + "/vmi1"
    api.controller().patch(path, {"metadata": {"labels": {
        TARGET_LABEL: "node2"}}})
    return path


@pytest.mark.parametrize("patch,allowed", WRITES,
                         ids=lambda v: json.dumps(v, default=sorted))
def test_an_agent_writes_only_what_its_side_owns(api, moving, patch, allowed):
    writers = {node: (api.handler(node), node in allowed)
               for node in ("node1", "node2", "node3")}
    writers["controller"] = api.controller(), "api alone" not in allowed
    writers["api"] = api.account("kubevirt-api"), True
    for name, (client, may) in writers.items():
        answer = client.request(
            "PATCH", moving + "?dryRun=All", patch,
            {"Content-Type": "application/merge-patch+json"})
        assert answer.code == (200 if may else 422), f"{name}: {answer!r}"


@pytest.mark.parametrize("patch,may", [
    ({"status": {"nodeName": "node2"}}, False),
    ({"metadata": {"labels": {NODE_LABEL: "node2"}}}, False),
    ({"status": {"nodeName": "node2"},
      "metadata": {"labels": {NODE_LABEL: "node2", TARGET_LABEL: None}}},
     False),
    ({"status": {"nodeName": "node2", "conditions": []}}, False),
    (in_state(failed=False), False),
    (in_state(failed=None, completed=None), False),
    (in_state(targetNodeAddress="192.0.2.1"), False),
    ({"metadata": {"labels": {TARGET_LABEL: None}}}, True)],
    ids=json.dumps)
def test_a_target_that_has_failed_may_only_tidy_up(api, namespace, patch, may):
    make_running(api, namespace, migrationState={
        **STATE, "failed": True, "completed": True})
    path = namespaced(VMIS, namespace) + "/vmi1"
    api.controller().patch(path, {"metadata": {"labels": {
        TARGET_LABEL: "node2"}}})
    merge = {"Content-Type": "application/merge-patch+json"}
    answer = api.handler("node2").request("PATCH", path, patch, merge)
    assert answer.code == (200 if may else 422), answer
    # Without its label it is nothing to the machine any more.
    api.controller().patch(path, {"metadata": {"labels": {
        TARGET_LABEL: None}}})
    answer = api.handler("node2").request("PATCH", path, patch, merge)
    assert answer.code == 422, answer


def test_an_agent_of_another_node_and_one_without_are_told_why(api, moving):
    for client, message in (
            (api.handler("node3"), "Node restriction, virt-handler is only "
             "allowed to modify VMIs it owns"),
            (api.account("kubevirt-handler"), "Node restriction failed, "
             "virt-handler service account is missing node name")):
        status = client.refuse(422, "Invalid", "PATCH", moving, {
            "status": {"phase": "Failed"}}, kind="merge")
        assert status["message"] == VMI_UPDATE + message


def test_an_agent_is_known_by_the_token_of_its_pod(cluster, api, moving):
    """No impersonation: a ServiceAccount, its pods, and tokens bound to
    them, as kubelets get them."""
    admin = api.client()
    admin.create("/api/v1/namespaces/kubevirt/serviceaccounts", {
        "metadata": {"name": "kubevirt-handler"}})
    admin.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "metadata": {"name": "test-handler"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole", "name": "kubevirt.io:admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "kubevirt-handler",
                      "namespace": "kubevirt"}]})
    codes = {}
    for node in ("node1", "node3"):
        admin.create("/api/v1/namespaces/kubevirt/pods", {
            "metadata": {"name": f"handler-{node}"},
            "spec": {"serviceAccountName": "kubevirt-handler",
                     "nodeName": node,
                     "containers": [{"name": "c", "image": "i"}]}})
        token = admin.create(
            "/api/v1/namespaces/kubevirt/serviceaccounts/kubevirt-handler/"
            "token", {"spec": {"boundObjectRef": {
                "apiVersion": "v1", "kind": "Pod",
                "name": f"handler-{node}"}}})["status"]["token"]
        answer = cluster.api(token=token).request(
            "PATCH", moving + "?dryRun=All",
            {"status": {"migrationState": {"mode": "PreCopy"}}},
            {"Content-Type": "application/merge-patch+json"})
        codes[node] = answer.code
    assert codes == {"node1": 200, "node3": 422}


def review(resource="virtualmachineinstancemigrations", **request):
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "u1", "operation": "CREATE",
                        "resource": {"group": "kubevirt.io", "version": "v1",
                                     "resource": resource},
                        "object": {"metadata": {"name": "m"},
                                   "spec": {"vmiName": "x"}}, **request}}


def test_a_review_is_answered_with_its_uid_and_a_patch(api):
    answer = api.direct().request(
        "POST", "/migration-mutate-create?timeout=10s", review())
    assert answer.code == 200
    response = answer.json()["response"]
    assert (response["uid"], response["allowed"]) == ("u1", True)
    patch = json.loads(base64.b64decode(response["patch"]))
    assert {op["path"] for op in patch} == {
        "/metadata/labels", "/metadata/finalizers", "/metadata/annotations"}


HOSTILE = [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}" * 2,
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",'
    b'"request":{"uid":{}}}',
    b'{"a":' * 100 + b"1" + b"}" * 100,
    json.dumps(review(operation="PATCH")).encode(),
    json.dumps({**review(), "apiVersion": "admission.k8s.io/v2"}).encode(),
]


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_review_is_a_bad_request(api, body):
    for path in ("/migration-mutate-create", "/pod-eviction-validate"):
        answer = api.direct().request("POST", path, body)
        assert answer.code == 400, answer
        assert answer.json()["kind"] == "Status"


def test_a_review_of_something_else_is_denied(api):
    for body in (review("virtualmachines"), review(object=None),
                 review(object=7), review(operation="UPDATE")):
        response = api.direct().request(
            "POST", "/migration-validate-create", body).json()["response"]
        assert not response["allowed"]
        assert response["status"]["code"] == 400


def test_a_review_that_is_too_large_is_not_read(api):
    body = b" " * (9 * 1024 * 1024)
    assert api.direct().request(
        "POST", "/migration-mutate-create", body).code == 413


def test_objects_of_any_shape_are_answered(api):
    """Members of wrong types reach every check; none of them breaks."""
    odd = [None, 7, "x", [], [[]], {"spec": 7}, {"metadata": []},
           {"spec": {"domain": {"cpu": []}, "volumes": {"a": 1}}},
           {"spec": {"template": {"spec": {"domain": 1}}}},
           {"metadata": {"labels": 1, "annotations": 2, "finalizers": 3}}]
    client = api.direct()
    routes = [("/virtualmachineinstances-mutate", "virtualmachineinstances"),
              ("/virtualmachineinstances-validate-create",
               "virtualmachineinstances"),
              ("/virtualmachineinstances-validate-update",
               "virtualmachineinstances"),
              ("/virtualmachines-mutate", "virtualmachines"),
              ("/virtualmachines-validate", "virtualmachines"),
              ("/migration-mutate-create", "virtualmachineinstancemigrations"),
              ("/migration-validate-create",
               "virtualmachineinstancemigrations"),
              ("/migration-validate-update",
               "virtualmachineinstancemigrations"),
              ("/kubevirt-validate-create", "kubevirts"),
              ("/kubevirt-validate-update", "kubevirts")]
    for path, resource in routes:
        for operation in ("CREATE", "UPDATE"):
            for first in odd:
                for second in ({}, odd[-1]):
                    answer = client.request("POST", path, review(
                        resource, operation=operation, object=first,
                        oldObject=second))
                    assert answer.code == 200, (path, first, answer)


def test_a_new_certificate_is_used_without_a_restart(api):
    before = api.direct().request("GET", "/healthz")
    assert before.text() == "ok"
    api.make_certificate()
    # Only a client that knows the new CA gets through now.
    wait_for("the new certificate", lambda: reaches(api), DEADLINE)
    api.install()


def reaches(api):
    client = api.direct()
    try:
        return client.request("GET", "/healthz").code == 200
    except OSError:
        return False
    finally:
        client.close()


def test_without_ferry_api_nothing_is_let_through(api, namespace):
    make_running(api, namespace)
    api.kill()
    status = api.client().refuse(
        500, "InternalError", "POST", namespaced(VMIMS, namespace),
        migration("vmi1"))
    assert 'failed calling webhook "migrations-mutator.kubevirt.io"' in \
        status["message"]
    api.start()
    api.wait_ready()
    api.client().create(namespaced(VMIMS, namespace), migration("vmi1"))
