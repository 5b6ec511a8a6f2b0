# SPDX-License-Identifier: Apache-2.0
"""kubectl writes: create, apply, edit, patch, replace, label, delete."""

import json

import pytest
import yaml

from kubectls import MINOR
from kubeapi import wait_for

MERGE_ONLY = (
    "the body of the request was in an unknown format - accepted media types "
    "include: application/json-patch+json, application/merge-patch+json, "
    "application/apply-patch+yaml")


def config_map(name, **data):
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap",
                           "metadata": {"name": name}, "data": data})


def migration(name, **spec):
    return yaml.safe_dump({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": name}, "spec": {"vmiName": "vmi", **spec}})


def machine(name, running):
    return yaml.safe_dump({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"running": running,
                 "template": {"spec": {"domain": {"devices": {}}}}}})


POLICY = """
apiVersion: migrations.kubevirt.io/v1alpha1
kind: MigrationPolicy
metadata: {name: %s}
spec: {completionTimeoutPerGiB: %d, selectors: {}}
"""


class Kubectl:
    """kubectl in one namespace."""

    def __init__(self, cluster, namespace):
        self.cluster = cluster
        self.namespace = namespace

    def __call__(self, *arguments, **more):
        return self.cluster.kubectl("-n", self.namespace, *arguments, **more)

    def apply(self, text, *arguments):
        return self("apply", "-f", "-", *arguments, stdin=text)

    def fails(self, *arguments, **more):
        """What it says on stderr when it fails."""
        done = self.cluster.kubectl_raw("-n", self.namespace, *arguments,
                                        **more)
        assert done.returncode == 1, done
        return done.stderr

    def value(self, what, path):
        return self("get", *what.split(), "-o", f"jsonpath={{{path}}}")


@pytest.fixture(name="k")
def k_(cluster, namespace):
    return Kubectl(cluster, namespace)


def test_create_makes_an_object_once(k):
    text = config_map("cm", a="1")
    assert k("create", "-f", "-", stdin=text) == "configmap/cm created\n"
    assert k.fails("create", "-f", "-", stdin=text) == (
        "Error from server (AlreadyExists): error when creating \"STDIN\": "
        "configmaps \"cm\" already exists\n")
    assert k("create", "-f", "-", stdin=migration("m")) == \
        "virtualmachineinstancemigration.kubevirt.io/m created\n"
    generated = migration("m").replace("name: m", "generateName: m-")
    name = k("create", "-f", "-", "-o", "name", stdin=generated).strip()
    assert name.startswith("virtualmachineinstancemigration.kubevirt.io/m-")


def test_a_dry_run_leaves_nothing(k):
    for text, name in ((config_map("cm", a="1"), "configmap/cm"),
                       (migration("m"),
                        "virtualmachineinstancemigration.kubevirt.io/m")):
        for command, said in (("create", "created"), ("apply", "created")):
            assert k(command, "-f", "-", "--dry-run=server", stdin=text) == \
                f"{name} {said} (server dry run)\n"
        assert "NotFound" in k.fails("get", name)


def test_apply_says_what_it_did(k):
    for text, changed, name in (
            (config_map("cm", a="1"), config_map("cm", b="2"),
             "configmap/cm"),
            (machine("vm", True), machine("vm", False),
             "virtualmachine.kubevirt.io/vm"),
            (POLICY % (k.namespace, 1), POLICY % (k.namespace, 2),
             f"migrationpolicy.migrations.kubevirt.io/{k.namespace}")):
        assert k.apply(text) == f"{name} created\n"
        assert k.apply(text) == f"{name} unchanged\n"
        assert k.apply(changed, "--dry-run=server") == \
            f"{name} configured (server dry run)\n"
        assert k.apply(changed) == f"{name} configured\n"
        assert k.apply(changed) == f"{name} unchanged\n"
    # What the second file did not have any more is gone.
    assert json.loads(k.value("cm cm", ".data")) == {"b": "2"}
    assert k.value("vm vm", ".spec.running") == "false"


def test_apply_keeps_what_others_have_written(k):
    k.apply(config_map("cm", mine="1"))
    k("patch", "cm", "cm", "-p", '{"data": {"theirs": "2"}}')
    k.apply(config_map("cm", mine="3"))
    assert json.loads(k.value("cm cm", ".data")) == {"mine": "3",
                                                     "theirs": "2"}


def test_apply_merges_lists_of_core_kinds_by_key(k):
    pod = yaml.safe_load("""
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec:
      nodeSelector: {there: is-none}
      containers:
      - {name: a, image: a:1}
      - {name: b, image: b:1}
    """)
    k.apply(yaml.safe_dump(pod))
    pod["spec"]["containers"][1]["image"] = "b:2"
    assert k.apply(yaml.safe_dump(pod)) == "pod/p configured\n"
    assert k.value("pod p", ".spec.containers[*].image") == "a:1 b:2"
    pod["spec"]["containers"][0]["name"] = "c"
    error = k.fails("apply", "-f", "-", stdin=yaml.safe_dump(pod))
    assert "spec: Forbidden: pod updates may not change fields other than" \
        in error, error


def test_server_side_apply_is_refused_in_words(k):
    error = k.fails("apply", "--server-side", "-f", "-",
                    stdin=machine("vm", True))
    assert error.startswith(
        "error: Server-side apply not available on the server: "
        "(server-side apply is not supported by this server: use ")


def test_a_field_nobody_knows_is_refused(k):
    cases = [(migration("m", bogus=1), "spec.bogus"),
             (config_map("cm").replace("data: {}", "bogus: 1"), "bogus")]
    for text, field in cases:
        for command in ("create", "apply"):
            error = k.fails(command, "-f", "-", stdin=text)
            # kubectl 1.20 looks at the schema itself.
            want = f'strict decoding error: unknown field "{field}"' \
                if MINOR >= 25 else 'unknown field "bogus" in io.k'
            assert want in error, error
        done = k.cluster.kubectl_raw(
            "-n", k.namespace, "create", "-f", "-", "--validate=false",
            stdin=text)
        assert done.returncode == 0, done.stderr
    assert k.value("vmim m", ".spec.bogus") == ""


def test_what_the_schema_forbids_is_refused(k):
    broken = migration("m").replace("vmi\n", "7\n")
    error = k.fails("create", "-f", "-", "--validate=false", stdin=broken)
    assert error.strip().endswith(
        'The VirtualMachineInstanceMigration "m" is invalid: spec.vmiName: '
        'Invalid value: "integer": spec.vmiName in body must be of type '
        'string: "integer"'), error


def test_diff_shows_the_lines_that_would_change(k):
    k.apply(config_map("cm", a="1"))
    k.apply(machine("vm", True))
    for text, lines in ((config_map("cm", a="2"), ('-  a: "1"', '+  a: "2"')),
                        (machine("vm", False),
                         ("-  running: true", "+  running: false"))):
        done = k.cluster.kubectl_raw("-n", k.namespace, "diff", "-f", "-",
                                     stdin=text)
        assert done.returncode == 1, done.stderr
        changed = [line for line in done.stdout.splitlines()
                   if line[:1] in "+-" and "generation" not in line
                   and line[:3] not in ("+++", "---")]
        assert tuple(changed) == lines
    assert k.value("cm cm", ".data.a") == "1"
    assert k("diff", "-f", "-", stdin=config_map("cm", a="1")) == ""


def edit(script):
    """An editor that does one thing to the file it is given."""
    return {"KUBE_EDITOR": f"sed -i -e '{script}'"}


def test_edit_changes_what_the_editor_changed(k):
    k.apply(config_map("cm", a="1"))
    k.apply(machine("vm", True))
    assert k("edit", "cm", "cm", env=edit("s/^  a: .*/  a: edited/")) == \
        "configmap/cm edited\n"
    assert k("edit", "vm", "vm", env=edit("s/running: .*/running: false/")) \
        == "virtualmachine.kubevirt.io/vm edited\n"
    assert k.value("cm cm", ".data.a") == "edited"
    assert k.value("vm vm", ".spec.running") == "false"
    done = k.cluster.kubectl_raw("-n", k.namespace, "edit", "cm", "cm",
                                 env={"KUBE_EDITOR": "true"})
    assert (done.returncode, done.stderr.strip()) == (
        0, "Edit cancelled, no changes made.")


def test_edit_refuses_nonsense(k, tmp_path):
    k.apply(machine("vm", True))
    env = {**edit("s/running: .*/running: 7/"), "TMPDIR": str(tmp_path)}
    error = k.fails("edit", "vm", "vm", env=env)
    assert 'virtualmachines.kubevirt.io "vm" is invalid' in error
    assert k.value("vm vm", ".spec.running") == "true"


PATCHES = [
    ("cm cm", "strategic", {"data": {"b": "2", "a": None}}, {"b": "2"}),
    ("cm cm", "merge", {"data": {"b": "2", "a": None}}, {"b": "2"}),
    ("cm cm", "json", [{"op": "add", "path": "/data/b", "value": "2"},
                       {"op": "remove", "path": "/data/a"}], {"b": "2"}),
]


@pytest.mark.parametrize("what, kind, patch, data", PATCHES,
                         ids=[p[1] for p in PATCHES])
def test_patches_of_a_core_kind(k, what, kind, patch, data):
    k.apply(config_map("cm", a="1"))
    command = ("patch", *what.split(), "--type", kind, "-p",
               json.dumps(patch))
    assert k(*command) == "configmap/cm patched\n"
    assert json.loads(k.value(what, ".data")) == data
    if kind != "json":
        assert k(*command) == "configmap/cm patched (no change)\n"


def test_patches_of_a_custom_kind(k):
    k.apply(machine("vm", True))
    patch = ("patch", "vm", "vm", "--type")
    merge = '{"spec": {"running": false}}'
    assert k(*patch, "merge", "-p", merge) == \
        "virtualmachine.kubevirt.io/vm patched\n"
    assert k(*patch, "merge", "-p", merge) == \
        "virtualmachine.kubevirt.io/vm patched (no change)\n"
    k(*patch, "json", "-p",
      '[{"op": "test", "path": "/spec/running", "value": false},'
      ' {"op": "replace", "path": "/spec/running", "value": true}]')
    assert k.value("vm vm", ".spec.running") == "true"
    assert MERGE_ONLY in k.fails(*patch, "strategic", "-p", merge)
    assert "The request is invalid" in k.fails(
        *patch, "json", "-p",
        '[{"op": "test", "path": "/spec/running", "value": 1}]')


def test_replace_needs_the_object(k):
    text = config_map("cm", a="1")
    assert 'configmaps "cm" not found' in k.fails("replace", "-f", "-",
                                                  stdin=text)
    k("create", "-f", "-", stdin=text)
    uid = k.value("cm cm", ".metadata.uid")
    assert k("replace", "-f", "-", stdin=config_map("cm", b="2")) == \
        "configmap/cm replaced\n"
    assert json.loads(k.value("cm cm", ".data")) == {"b": "2"}
    assert k.value("cm cm", ".metadata.uid") == uid
    assert k("replace", "--force", "-f", "-", stdin=text) == \
        'configmap "cm" deleted\nconfigmap/cm replaced\n'
    assert k.value("cm cm", ".metadata.uid") != uid


def test_label_and_annotate(k):
    for name in ("a", "b"):
        k("create", "-f", "-", stdin=migration(name))
    kind = "virtualmachineinstancemigration.kubevirt.io"
    assert k("label", "vmim", "a", "x=1") == f"{kind}/a labeled\n"
    assert "'x' already has a value (1), and --overwrite is false" in \
        k.fails("label", "vmim", "a", "x=2")
    k("label", "vmim", "a", "x=2", "--overwrite")
    assert k("get", "vmim", "-l", "x=2", "-o", "name") == f"{kind}/a\n"
    k("label", "vmim", "a", "x-")
    assert k("get", "vmim", "-l", "x", "-o", "name") == ""
    assert k("annotate", "vmim", "--all", "note=hello there") == \
        f"{kind}/a annotated\n{kind}/b annotated\n"
    assert k.value("vmim b", ".metadata.annotations.note") == "hello there"
    assert "a valid label must be an empty string or consist of" in \
        k.fails("label", "vmim", "a", "y=not a label")


def test_delete_in_all_ways(k):
    for name in ("a", "b", "c", "d"):
        k("create", "-f", "-", stdin=config_map(name))
        k("label", "cm", name, "mine=yes")
    assert k("delete", "cm", "a") == 'configmap "a" deleted\n'
    assert k.fails("delete", "cm", "a") == \
        'Error from server (NotFound): configmaps "a" not found\n'
    assert k("delete", "cm", "a", "--ignore-not-found") == ""
    assert k("delete", "cm/b", "--wait=false") == 'configmap "b" deleted\n'
    assert k("delete", "-f", "-", stdin=config_map("c")) == \
        'configmap "c" deleted\n'
    assert k("delete", "cm", "-l", "mine=yes") == 'configmap "d" deleted\n'
    assert k("get", "cm", "-l", "mine", "-o", "name") == ""


def test_delete_waits_for_finalizers(k):
    k("create", "-f", "-", stdin=migration("m"))
    finalizers = ("patch", "vmim", "m", "--type=merge", "-p")
    k(*finalizers, '{"metadata": {"finalizers": ["test.io/hold"]}}')
    error = k.fails("delete", "vmim", "m", "--timeout=1s")
    assert "timed out waiting for the condition" in error
    assert k.value("vmim m", ".metadata.deletionTimestamp") != ""
    k(*finalizers, '{"metadata": {"finalizers": null}}')
    assert "NotFound" in k.fails("get", "vmim", "m")


def test_cascades(k):
    for cascade, gone in (("orphan", False), ("foreground", True)):
        k.apply(config_map("owner"))
        uid = k.value("cm owner", ".metadata.uid")
        owned = yaml.safe_load(config_map("owned"))
        owned["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
             "uid": uid, "blockOwnerDeletion": True}]
        k("replace", "--force", "-f", "-", stdin=yaml.safe_dump(owned))
        k("delete", "cm", "owner", f"--cascade={cascade}")
        left = k("get", "cm", "owned", "--ignore-not-found", "-o", "name")
        assert (left == "") == gone, cascade


def test_a_namespace_goes_with_all_that_is_in_it(k):
    k("create", "-f", "-", stdin=config_map("cm"))
    k("create", "-f", "-", stdin=migration("m"))
    assert k("delete", "ns", k.namespace) == \
        f'namespace "{k.namespace}" deleted\n'
    api = k.cluster.api()
    for path in (f"/api/v1/namespaces/{k.namespace}/configmaps/cm",
                 f"/apis/kubevirt.io/v1/namespaces/{k.namespace}/"
                 "virtualmachineinstancemigrations/m"):
        wait_for("the rest to go",
                 lambda path=path: api.request("GET", path).code == 404)
