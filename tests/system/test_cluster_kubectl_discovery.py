# SPDX-License-Identifier: Apache-2.0
"""kubectl asks what is served, and what it means."""

import json

from kubectls import MINOR


def test_explain_knows_every_field(cluster):
    text = cluster.kubectl("explain", "vmim.spec")
    assert "VirtualMachineInstanceMigration" in text
    assert "  vmiName\t<string>" in text
    text = cluster.kubectl("explain", "pod.spec.containers")
    assert "  image\t<string>" in text
    text = cluster.kubectl("explain", "--recursive", "vmi.status")
    assert "migrationState" in text and "targetNode" in text
    text = cluster.kubectl("explain", "migrationpolicy.spec.selectors")
    assert "namespaceSelector" in text
    done = cluster.kubectl_raw("explain", "vmi.nope")
    assert done.returncode == 1
    assert 'field "nope" does not exist' in done.stderr


def test_every_kind_that_is_served_can_be_explained(cluster):
    lines = cluster.kubectl("api-resources", "--no-headers").splitlines()
    assert len(lines) > 35
    for line in lines:
        name, version, kind = (line.split()[i] for i in (0, -3, -1))
        text = cluster.kubectl("explain", name, f"--api-version={version}")
        assert kind in text and "DESCRIPTION:" in text, line
        assert "metadata" in text.split("FIELDS:")[1], line


def test_discovery(cluster):
    text = cluster.kubectl("api-resources", "--api-group=kubevirt.io",
                           "--no-headers")
    kinds = [line.split() for line in text.splitlines()]
    assert kinds == [
        ["kubevirts", "kv,kvs", "kubevirt.io/v1", "true", "KubeVirt"],
        ["virtualmachineinstancemigrations", "vmim,vmims", "kubevirt.io/v1",
         "true", "VirtualMachineInstanceMigration"],
        ["virtualmachineinstances", "vmi,vmis", "kubevirt.io/v1", "true",
         "VirtualMachineInstance"],
        ["virtualmachines", "vm,vms", "kubevirt.io/v1", "true",
         "VirtualMachine"]]
    cluster_wide = cluster.kubectl("api-resources", "--namespaced=false",
                                   "-o", "name").split()
    assert "nodes" in cluster_wide and "pods" not in cluster_wide
    assert "migrationpolicies.migrations.kubevirt.io" in cluster_wide
    evictable = cluster.kubectl("api-resources", "--verbs=list,delete",
                                "-o", "name").split()
    assert "pods" in evictable and "bindings" not in evictable
    versions = cluster.kubectl("api-versions").split()
    for version in ("v1", "kubevirt.io/v1", "policy/v1", "events.k8s.io/v1",
                    "migrations.kubevirt.io/v1alpha1"):
        assert version in versions


def test_version_cluster_info_and_top(cluster):
    both = json.loads(cluster.kubectl("version", "-o", "json"))
    assert both["clientVersion"]["minor"].rstrip("+") == str(MINOR)
    assert both["serverVersion"]["major"] == "1"
    assert both["serverVersion"]["gitVersion"].startswith("v1.")
    info = cluster.kubectl("cluster-info")
    assert "Kubernetes control plane" in info and cluster.url in info
    for what in ("nodes", "pods"):
        done = cluster.kubectl_raw("top", what)
        assert (done.returncode, done.stderr) == (
            1, "error: Metrics API not available\n")
    assert cluster.kubectl("get", "--raw", "/readyz") == "ok"
    assert "readyz check passed" in cluster.kubectl("get", "--raw",
                                                    "/readyz?verbose")
