# SPDX-License-Identifier: Apache-2.0
"""Objects for tests of the control plane: nodes, machines, migrations.

They say as little as they can; what a test is about it says itself.
"""

import datetime
import hashlib

VMIS = "/apis/kubevirt.io/v1/virtualmachineinstances"
VMIMS = "/apis/kubevirt.io/v1/virtualmachineinstancemigrations"
PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"
CPU_MODEL = "Played"
CPU_FEATURE = "played-feature"
CPU_VENDOR = "PlayedVendor"
MIGRATION_FINALIZER = "kubevirt.io/migrationJobFinalize"
NODE_LABEL = "kubevirt.io/nodeName"
TARGET_LABEL = "kubevirt.io/migrationTargetNodeName"
PLENTY = {"cpu": "10000", "memory": "100Ti", "ephemeral-storage": "100Ti",
          "pods": "100000", "devices.kubevirt.io/kvm": "100000",
          "devices.kubevirt.io/tun": "100000",
          "devices.kubevirt.io/vhost-net": "100000"}


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime(
        "%Y-%m-%dT%H:%M:%SZ")


def namespaced(path, namespace, name=None, sub=None):
    """The path of a kind, for one namespace, one object, one subresource."""
    head, kind = path.rsplit("/", 1)
    made = f"{head}/namespaces/{namespace}/{kind}"
    if name:
        made += f"/{name}"
    return f"{made}/{sub}" if sub else made


def key_of(obj):
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


def node(name, labels=None):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {
        "name": name, "labels": {
            "kubernetes.io/hostname": name,
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "kubevirt.io/schedulable": "true",
            f"cpu-model.node.kubevirt.io/{CPU_MODEL}": "true",
            f"cpu-model-migration.node.kubevirt.io/{CPU_MODEL}": "true",
            f"host-model-cpu.node.kubevirt.io/{CPU_MODEL}": "true",
            "host-model-required-features.node.kubevirt.io/"
            f"{CPU_FEATURE}": "true",
            f"cpu-feature.node.kubevirt.io/{CPU_FEATURE}": "true",
            f"cpu-vendor.node.kubevirt.io/{CPU_VENDOR}": "true",
            **(labels or {})}}}


def node_status(allocatable=None, ready="True"):
    amounts = {**PLENTY, **(allocatable or {})}
    return {"status": {
        "capacity": amounts, "allocatable": amounts,
        # Without a heartbeat a node is given up after a minute.
        "conditions": [{"type": "Ready", "status": ready,
                        "reason": "Played", "lastHeartbeatTime": now()}],
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}}


def vmi(name, labels=None, annotations=None, spec=None):
    """A small machine that may move; spec is laid over its own."""
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": name, "labels": labels or {},
                         "annotations": annotations or {}},
            "spec": {
                "domain": {
                    "memory": {"guest": "64Mi"},
                    "devices": {"interfaces": [{"name": "default",
                                                "masquerade": {}}]}},
                "networks": [{"name": "default", "pod": {}}],
                **(spec or {})}}


def vm(name, strategy="Always", labels=None, spec=None):
    """A VirtualMachine whose instances are like vmi()'s."""
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
            "metadata": {"name": name},
            "spec": {"runStrategy": strategy, "template": {
                "metadata": {"labels": labels or {}},
                "spec": vmi(name, spec=spec)["spec"]}}}


def running(machine, on):
    """The same machine, as the node says that it runs there."""
    meta = machine["metadata"]
    return {**machine,
            "metadata": {**meta, "labels": {**meta.get("labels", {}),
                                            NODE_LABEL: on}},
            "status": {"phase": "Running", "nodeName": on,
                       **booted_status([])}}


def booted_status(conditions):
    """What a node writes about a machine that it has started."""
    own = ("LiveMigratable", "StorageLiveMigratable")
    return {"selinuxContext": "none", "migrationMethod": "LiveMigration",
            "migrationTransport": "Unix",
            "conditions": [c for c in conditions if c["type"] not in own]
            + [{"type": kind, "status": "True"} for kind in own]}


def launcher(machine, on):
    """The pod of a machine that was not made by a controller."""
    meta = machine["metadata"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "generateName": f"virt-launcher-{meta['name']}-",
        "labels": {"kubevirt.io": "virt-launcher",
                   "kubevirt.io/created-by": meta["uid"],
                   "vm.kubevirt.io/name": meta["name"]},
        "annotations": {"kubevirt.io/domain": meta["name"]},
        "ownerReferences": [{
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance", "name": meta["name"],
            "uid": meta["uid"], "controller": True,
            "blockOwnerDeletion": True}]},
        "spec": {"nodeName": on, "restartPolicy": "Never",
                 "nodeSelector": {"kubevirt.io/schedulable": "true"},
                 "containers": [{"name": "compute",
                                 "image": "ferry-launcher:v1"}]}}


def vmim(machine, name=None, annotations=None, spec=None):
    """A migration as it is after admission."""
    meta = {"name": name} if name else {"generateName": "kubevirt-migrate-vm-"}
    return {"apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {
                **meta, "finalizers": [MIGRATION_FINALIZER],
                "labels": {"kubevirt.io/vmi-name": machine},
                "annotations": {
                    "kubevirt.io/latest-observed-api-version": "v1",
                    "kubevirt.io/storage-observed-api-version": "v1",
                    **(annotations or {})}},
            "spec": {"vmiName": machine, **(spec or {})}}


def kubevirt(migrations=None, annotations=None, **configuration):
    """The KubeVirt object, with what it says about migrations."""
    return {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
            "metadata": {"name": "kubevirt", "namespace": "kubevirt",
                         "annotations": annotations or {}},
            "spec": {"configuration": {
                **configuration, "migrations": migrations or {}}}}


def digest(reference):
    """The image with the digest that every node finds under this name."""
    if "@sha256:" in reference:
        return reference
    image = reference.rsplit(":", 1)[0]
    return f"{image}@sha256:" + hashlib.sha256(reference.encode()).hexdigest()


def container_status(pod, container, started):
    """The status of a container that runs and is ready."""
    images = {v["name"]: v["image"]["reference"]
              for v in pod["spec"].get("volumes", []) if "image" in v}
    mounts = [{"name": m["name"], "mountPath": m["mountPath"],
               "volumeStatus": {"image": {
                   "imageRef": digest(images[m["name"]])}}}
              for m in container.get("volumeMounts", [])
              if m["name"] in images]
    return {"name": container["name"], "image": container["image"],
            "imageID": digest(container["image"]), "restartCount": 0,
            "ready": True, "started": True,
            "state": {"running": {"startedAt": started}},
            **({"volumeMounts": mounts} if mounts else {})}
