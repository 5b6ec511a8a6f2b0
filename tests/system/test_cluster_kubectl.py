# SPDX-License-Identifier: Apache-2.0
"""kubectl reads: tables, other forms of output, descriptions.

One small world for all of these tests, made with kubectl as well; nobody
changes it afterwards.
"""

import json

import pytest
import yaml

from kubectls import event, table

WORLD = """
apiVersion: v1
kind: Namespace
metadata: {name: w}
---
apiVersion: v1
kind: Node
metadata:
  name: n1
  labels: {node-role.kubernetes.io/worker: "", kubernetes.io/hostname: n1}
---
apiVersion: v1
kind: Pod
metadata: {name: p1, namespace: w, labels: {app: x, tier: "1"}}
spec: {nodeName: n1, containers: [{name: c, image: i}, {name: d, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p2, namespace: w, labels: {app: z}}
spec: {nodeSelector: {there: is-none}, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm, namespace: w, labels: {app: x}}
data: {a: "1", b: "2"}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: w}
stringData: {a: secret}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: w}
spec: {hard: {secrets: "5"}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: pdb, namespace: w}
spec: {minAvailable: 1, selector: {matchLabels: {app: x}}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lock, namespace: w}
spec: {holderIdentity: me}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk, namespace: w}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: fast
  resources: {requests: {storage: 1Gi}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: example.com/disks
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: rb, namespace: w}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: User, name: bob, apiGroup: rbac.authorization.k8s.io}
- {kind: ServiceAccount, name: default, namespace: w}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm1, namespace: w}
spec: {running: true, template: {spec: {domain: {devices: {}}}}}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata:
  {name: vmi1, namespace: w, labels: {kubevirt.io/outdatedLauncherImage: ""}}
spec: {domain: {devices: {}}}
status:
  phase: Running
  nodeName: n1
  interfaces: [{ipAddress: 10.0.0.5}]
  conditions:
  - {type: Ready, status: "True"}
  - {type: LiveMigratable, status: "True"}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: vmi2, namespace: w}
spec: {domain: {devices: {}}}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceMigration
metadata: {name: mig1, namespace: w, labels: {kubevirt.io/vmi-name: vmi1}}
spec: {vmiName: vmi1}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceMigration
metadata: {name: mig2, namespace: w}
spec: {vmiName: vmi2}
---
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {name: kubevirt, namespace: w}
spec: {}
---
apiVersion: migrations.kubevirt.io/v1alpha1
kind: MigrationPolicy
metadata: {name: policy}
spec: {allowAutoConverge: true, selectors: {}}
"""

READY = {"type": "Ready", "status": "True", "reason": "KubeletReady",
         "message": "", "lastHeartbeatTime": "2026-01-01T00:00:00Z",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}
STATUSES = {
    "/api/v1/nodes/n1": {
        "conditions": [READY],
        "addresses": [{"type": "InternalIP", "address": "10.1.0.1"}],
        "nodeInfo": {"kubeletVersion": "v1.32.0", "osImage": "Debian",
                     "kernelVersion": "6.1", "architecture": "amd64",
                     "containerRuntimeVersion": "ferry://1", "bootID": "b",
                     "machineID": "m", "systemUUID": "u",
                     "operatingSystem": "linux", "kubeProxyVersion": ""},
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    "/api/v1/namespaces/w/pods/p1": {
        "phase": "Running", "podIP": "10.2.0.1",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {"name": name, "ready": ready, "restartCount": count,
             "image": "i", "imageID": "", "state": {"running": {}}}
            for name, ready, count in (("c", True, 0), ("d", False, 2))]},
    "/apis/kubevirt.io/v1/namespaces/w/virtualmachines/vm1": {
        "printableStatus": "Running",
        "conditions": [{"type": "Ready", "status": "True"}]},
    "/apis/kubevirt.io/v1/namespaces/w/virtualmachineinstancemigrations/mig1":
        {"phase": "Running"},
    "/apis/kubevirt.io/v1/namespaces/w/kubevirts/kubevirt":
        {"phase": "Deployed"},
}


@pytest.fixture(scope="module", autouse=True)
def world(cluster):
    cluster.kubectl("apply", "-f", "-", stdin=WORLD)
    api = cluster.api()
    for path, status in STATUSES.items():
        api.patch(f"{path}/status", {"status": status})
    for name in ("b", "a"):
        api.create("/api/v1/namespaces/w/events",
                   event(f"vmi1.{name}", "w", "Migrating", "vmi1"))


POD = ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
POD_WIDE = [*POD, "IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
VMI = ["NAME", "AGE", "PHASE", "IP", "NODENAME", "READY"]

TABLES = [
    # core kinds
    ("ns w", ["NAME", "STATUS", "AGE"], [["w", "Active", "AGE"]]),
    ("nodes", ["NAME", "STATUS", "ROLES", "AGE", "VERSION"],
     [["n1", "Ready", "worker", "AGE", "v1.32.0"]]),
    ("no -o wide", ["NAME", "STATUS", "ROLES", "AGE", "VERSION",
                    "INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE",
                    "KERNEL-VERSION", "CONTAINER-RUNTIME"],
     [["n1", "Ready", "worker", "AGE", "v1.32.0", "10.1.0.1", "<none>",
       "Debian", "6.1", "ferry://1"]]),
    ("po -n w", POD, [["p1", "1/2", "Running", "2", "AGE"],
                      ["p2", "0/1", "Pending", "0", "AGE"]]),
    ("pods p1 -n w -o wide", POD_WIDE,
     [["p1", "1/2", "Running", "2", "AGE", "10.2.0.1", "n1", "<none>",
       "<none>"]]),
    ("pods -A -l app=z", ["NAMESPACE", *POD],
     [["w", "p2", "0/1", "Pending", "0", "AGE"]]),
    ("pods -n w --field-selector spec.nodeName=n1", POD,
     [["p1", "1/2", "Running", "2", "AGE"]]),
    ("pods -n w --field-selector status.phase!=Running", POD,
     [["p2", "0/1", "Pending", "0", "AGE"]]),
    ("pods -n w --show-labels", [*POD, "LABELS"],
     [["p1", "1/2", "Running", "2", "AGE", "app=x,tier=1"],
      ["p2", "0/1", "Pending", "0", "AGE", "app=z"]]),
    ("pods -n w -L tier,app", [*POD, "TIER", "APP"],
     [["p1", "1/2", "Running", "2", "AGE", "1", "x"],
      ["p2", "0/1", "Pending", "0", "AGE", "", "z"]]),
    ("pods -n w --sort-by=.status.phase", POD,
     [["p2", "0/1", "Pending", "0", "AGE"],
      ["p1", "1/2", "Running", "2", "AGE"]]),
    ("cm -n w", ["NAME", "DATA", "AGE"],
     [["cm", "2", "AGE"], ["kube-root-ca.crt", "1", "AGE"]]),
    ("secrets -n w", ["NAME", "TYPE", "DATA", "AGE"],
     [["s", "Opaque", "1", "AGE"]]),
    ("sa -n w", ["NAME", "SECRETS", "AGE"], [["default", "0", "AGE"]]),
    ("quota -n w", ["NAME", "AGE", "REQUEST", "LIMIT"],
     [["q", "AGE", "secrets: 1/5", ""]]),
    ("pdb -n w", ["NAME", "MIN AVAILABLE", "MAX UNAVAILABLE",
                  "ALLOWED DISRUPTIONS", "AGE"],
     [["pdb", "1", "N/A", "0", "AGE"]]),
    ("leases -n w", ["NAME", "HOLDER", "AGE"], [["lock", "me", "AGE"]]),
    ("rolebindings -n w", ["NAME", "ROLE", "AGE"],
     [["rb", "ClusterRole/view", "AGE"]]),
    ("rolebindings -n w -o wide",
     ["NAME", "ROLE", "AGE", "USERS", "GROUPS", "SERVICEACCOUNTS"],
     [["rb", "ClusterRole/view", "AGE", "bob", "", "w/default"]]),
    ("events -n w --field-selector reason=Migrating --sort-by=.metadata.name",
     ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"],
     [["AGE", "Normal", "Migrating", "virtualmachineinstance/vmi1",
       "Migrating vmi1"]] * 2),
    # KubeVirt's
    ("vm -n w", ["NAME", "AGE", "STATUS", "READY"],
     [["vm1", "AGE", "Running", "True"]]),
    ("vmi -n w", VMI, [["vmi1", "AGE", "Running", "10.0.0.5", "n1", "True"],
                       ["vmi2", "AGE", "", "", "", ""]]),
    ("vmis -n w vmi1 -o wide", [*VMI, "LIVE-MIGRATABLE", "PAUSED"],
     [["vmi1", "AGE", "Running", "10.0.0.5", "n1", "True", "True", ""]]),
    ("vmi -l kubevirt.io/outdatedLauncherImage --all-namespaces",
     ["NAMESPACE", *VMI],
     [["w", "vmi1", "AGE", "Running", "10.0.0.5", "n1", "True"]]),
    ("vmim -n w", ["NAME", "PHASE", "VMI"],
     [["mig1", "Running", "vmi1"], ["mig2", "", "vmi2"]]),
    ("vmim -A -l kubevirt.io/vmi-name==vmi1",
     ["NAMESPACE", "NAME", "PHASE", "VMI"],
     [["w", "mig1", "Running", "vmi1"]]),
    ("kv -n w", ["NAME", "AGE", "PHASE"], [["kubevirt", "AGE", "Deployed"]]),
    ("migrationpolicies", ["NAME", "AGE"], [["policy", "AGE"]]),
]


@pytest.mark.parametrize("command, titles, rows", TABLES,
                         ids=[t[0].replace(" ", "_") for t in TABLES])
def test_tables_are_those_of_kubernetes(cluster, command, titles, rows):
    assert table(cluster.kubectl("get", *command.split())) == (titles, rows)


def test_a_migration_looks_as_kubevirt_shows_it(cluster):
    assert cluster.kubectl("get", "vmim", "-n", "w") == (
        "NAME   PHASE     VMI\n"
        "mig1   Running   vmi1\n"
        "mig2             vmi2\n")
    assert cluster.kubectl("get", "vmim", "mig1", "-n", "w",
                           "--no-headers") == "mig1   Running   vmi1\n"


def test_several_kinds_are_shown_one_after_the_other(cluster):
    first, second = cluster.kubectl("get", "vmim,kv", "-n",
                                    "w").split("\n\n")
    group = "virtualmachineinstancemigration.kubevirt.io"
    assert table(first)[1] == [[f"{group}/mig1", "Running", "vmi1"],
                               [f"{group}/mig2", "", "vmi2"]]
    assert table(second)[1] == [["kubevirt.kubevirt.io/kubevirt", "AGE",
                                 "Deployed"]]
    everything = cluster.kubectl("get", "all", "-n", "w", "-o", "name")
    for name in ("pod/p1", f"{group}/mig1", "virtualmachine.kubevirt.io/vm1",
                 "migrationpolicy.migrations.kubevirt.io/policy"):
        assert name in everything.split()


def test_other_forms_of_output(cluster):
    get = ("get", "vmim", "-n", "w")
    assert cluster.kubectl(*get, "-o", "name") == (
        "virtualmachineinstancemigration.kubevirt.io/mig1\n"
        "virtualmachineinstancemigration.kubevirt.io/mig2\n")
    assert cluster.kubectl(
        *get, "-o", "jsonpath={.items[*].spec.vmiName}") == "vmi1 vmi2"
    assert cluster.kubectl(
        *get, "-o", 'jsonpath={range .items[?(@.status.phase=="Running")]}'
        '{.metadata.name}{"\\n"}{end}') == "mig1\n"
    assert cluster.kubectl(
        *get, "-o", "custom-columns=WHO:.spec.vmiName,HOW:.status.phase"
    ) == "WHO    HOW\nvmi1   Running\nvmi2   <none>\n"
    assert cluster.kubectl(
        *get, "-o", "go-template={{range .items}}{{.spec.vmiName}},{{end}}"
    ) == "vmi1,vmi2,"


def test_json_and_yaml_are_the_object(cluster):
    path = "/apis/kubevirt.io/v1/namespaces/w/virtualmachineinstancemigrations"
    stored = cluster.api().get(f"{path}/mig1")
    named = ("get", "vmim", "mig1", "-n", "w", "-o")
    assert json.loads(cluster.kubectl(*named, "json")) == stored
    assert yaml.safe_load(cluster.kubectl(*named, "yaml")) == stored
    assert list(stored) == sorted(stored)
    many = json.loads(cluster.kubectl("get", "vmim", "-n", "w", "-o", "json"))
    assert many["kind"] == "List" and many["items"][0] == stored


def test_what_is_not_there_is_named(cluster):
    cases = [
        (("cm", "nope", "-n", "w"),
         'Error from server (NotFound): configmaps "nope" not found'),
        (("vmim", "nope", "-n", "w"),
         "Error from server (NotFound): virtualmachineinstancemigrations."
         'kubevirt.io "nope" not found'),
        (("vmi", "nope", "-n", "nowhere"),
         'Error from server (NotFound): namespaces "nowhere" not found'),
        (("nope",), 'error: the server doesn\'t have a resource type "nope"'),
        (("pods", "-n", "w", "-l", "a b"),
         "unable to parse requirement: found 'b', expected: "),
        (("vmim", "--field-selector", "spec.vmiName=x"),
         "Error from server (BadRequest): "),
    ]
    for arguments, text in cases:
        done = cluster.kubectl_raw("get", *arguments)
        assert done.returncode == 1 and text in done.stderr, done.stderr
    done = cluster.kubectl_raw("get", "vmim", "-n", "default")
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "", "No resources found in default namespace.\n")


def test_describe_shows_an_object_and_its_events(cluster):
    text = cluster.kubectl("describe", "vmi", "vmi1", "-n", "w")
    for line in ("Name:         vmi1", "Kind:         VirtualMachineInstance",
                 "  Node Name:     n1", "    Ip Address:  10.0.0.5"):
        assert line in text.splitlines(), text
    # The made events name no uid, as kubectl asks for here.
    uid = cluster.kubectl("get", "vmi", "vmi1", "-n", "w", "-o",
                          "jsonpath={.metadata.uid}")
    told = event("told", "w", "Told", "vmi1")
    told["involvedObject"]["uid"] = uid
    cluster.api().create("/api/v1/namespaces/w/events", told)
    text = cluster.kubectl("describe", "vmi", "vmi1", "-n", "w")
    assert "Told vmi1" in text.split("Events:")[1]
    assert "Migrating" not in text.split("Events:")[1]
    cluster.kubectl("delete", "event", "told", "-n", "w")


def test_describe_knows_the_core_kinds(cluster):
    cases = [
        ("node n1", ["Roles: worker", "(1 in total)",
                     "Kubelet Version: v1.32.0", "Ready True "]),
        ("pod p1 -n w", ["IP: 10.2.0.1", "Ready True "]),
        ("pod p2 -n w", ["FailedScheduling",
                         "0/1 nodes are available: 1 node(s) didn't match "
                         "Pod's node affinity/selector."]),
        ("quota q -n w", ["secrets 1 5"]),
        ("pdb pdb -n w", ["Min available: 1"]),
        # kubectl 1.20 has no order for them.
        ("cm cm -n w", ["a: ---- 1", "b: ---- 2"]),
        ("pvc disk -n w", ["StorageClass: fast"]),
        ("ns w", ["Resource Quotas"]),
        ("clusterrole kubevirt.io:migrate",
         ["kubevirt.io/migrate [] [] [update]"]),
    ]
    for arguments, parts in cases:
        text = cluster.kubectl("describe", *arguments.split())
        for part in parts:
            assert part in " ".join(text.split()), f"{arguments}:\n{text}"


def test_long_lists_come_in_pieces(cluster, namespace):
    api = cluster.api()
    for i in range(7):
        api.create(f"/api/v1/namespaces/{namespace}/configmaps",
                   {"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": f"c{i}", "labels": {"a": "b"}}})
    text = cluster.kubectl("get", "cm", "-n", namespace, "-l", "a=b",
                           "--chunk-size=3", "--no-headers")
    assert [line.split()[0] for line in text.splitlines()] == \
        [f"c{i}" for i in range(7)]
