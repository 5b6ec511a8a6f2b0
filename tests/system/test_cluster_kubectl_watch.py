# SPDX-License-Identifier: Apache-2.0
"""kubectl waits: get -w, events --watch, wait for conditions and deletion."""

import json
import time

import pytest

from kubeapi import wait_for
from kubectls import HAS_EVENTS, HAS_WAIT_JSONPATH, MINOR, Following, event

VMI_KIND = "virtualmachineinstance.kubevirt.io"


def vmi(name, **status):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": name}, "spec": {"domain": {"devices": {}}},
            "status": status}


def migration(name):
    return {"apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"name": name}, "spec": {"vmiName": "vmi"}}


@pytest.fixture(name="paths")
def paths_(namespace):
    """Where things are in this namespace."""
    base = f"/apis/kubevirt.io/v1/namespaces/{namespace}"
    return {"vmi": f"{base}/virtualmachineinstances",
            "vmim": f"{base}/virtualmachineinstancemigrations",
            "events": f"/api/v1/namespaces/{namespace}/events",
            "cm": f"/api/v1/namespaces/{namespace}/configmaps"}


def test_get_w_shows_each_phase_of_a_migration(cluster, namespace, paths):
    api = cluster.api()
    api.create(paths["vmim"], migration("m"))
    with Following(cluster, "get", "vmim", "-n", namespace, "-w") as kubectl:
        assert kubectl.words() == ["NAME", "PHASE", "VMI"]
        assert kubectl.next().split() == ["m", "vmi"]
        for phase in ("Pending", "Running", "Succeeded"):
            api.patch(f"{paths['vmim']}/m/status",
                      {"status": {"phase": phase}})
            assert kubectl.words() == ["m", phase, "vmi"]
        api.create(paths["vmim"], migration("n"))
        assert kubectl.next().split() == ["n", "vmi"]
        api.delete(f"{paths['vmim']}/m")
        assert kubectl.words() == ["m", "Succeeded", "vmi"]


def test_get_w_of_one_object_leaves_out_the_others(cluster, namespace, paths):
    api = cluster.api()
    for name in ("a", "b"):
        api.create(paths["vmi"], vmi(name, phase="Scheduling"))
    with Following(cluster, "get", "vmi", "a", "-n", namespace, "-w") as \
            kubectl:
        assert kubectl.words()[0] == "NAME"
        assert kubectl.words() == ["a", "AGE", "Scheduling"]
        def changed():
            node = str(time.monotonic_ns())
            for name in ("b", "a"):
                api.patch(f"{paths['vmi']}/{name}", {
                    "status": {"phase": "Running", "nodeName": node}})
            return not kubectl.lines.empty()

        # kubectl leaves out what happens before its second request.
        wait_for("the watch", changed)
        line = kubectl.next()
        assert line.split()[0] == "a" and "Running" in line


def test_get_w_can_print_json_and_names(cluster, namespace, paths):
    api = cluster.api()
    with Following(cluster, "get", "cm", "-n", namespace, "-w",
                   "--watch-only", "-o", "name", "-l", "x") as kubectl:
        def seen():
            name = f"a{time.monotonic_ns()}"
            api.create(paths["cm"], {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "labels": {"x": "1"}}})
            return not kubectl.lines.empty()

        # Only what happens after it has begun is shown.
        wait_for("the watch", seen)
        assert kubectl.next().startswith("configmap/a")


def test_output_watch_events_names_the_changes(cluster, namespace, paths):
    api = cluster.api()
    api.create(paths["vmi"], vmi("a"))
    with Following(cluster, "get", "vmi", "-n", namespace, "-w",
                   "--output-watch-events") as kubectl:
        kubectl.until("ADDED")
        api.patch(f"{paths['vmi']}/a", {"status": {"phase": "Running"}})
        assert kubectl.next().split()[0] == "MODIFIED"
        api.delete(f"{paths['vmi']}/a")
        assert kubectl.next().split()[0] == "DELETED"


def test_events_with_a_field_selector_are_watched(cluster, namespace, paths):
    api = cluster.api()
    api.create(paths["events"], event("e1", namespace, "Migrating", "vmi1"))
    api.create(paths["events"], event("e2", namespace, "Started", "vmi1"))
    with Following(cluster, "get", "events", "-n", namespace,
                   "--field-selector", "reason=Migrating", "--watch") as \
            kubectl:
        assert kubectl.words() == ["LAST SEEN", "TYPE", "REASON", "OBJECT",
                                   "MESSAGE"]
        line = ["AGE", "Normal", "Migrating", "virtualmachineinstance/vmi1",
                "Migrating vmi1"]
        assert kubectl.words() == line
        api.create(paths["events"],
                   event("e3", namespace, "Started", "vmi2"))
        api.create(paths["events"],
                   event("e4", namespace, "Migrating", "vmi2"))
        assert kubectl.words() == [w.replace("vmi1", "vmi2") for w in line]


FIELDS = [
    ("involvedObject.name=vmi1", ["e1", "e2"]),
    ("involvedObject.kind=Pod", ["e4"]),
    ("involvedObject.name=vmi1,reason!=Started", ["e1"]),
    ("type=Normal,reason=Migrating", ["e1", "e3", "e4"]),
    ("type=Warning", []),
    ("metadata.name=e2", ["e2"]),
    ("source=test,involvedObject.kind!=Pod", ["e1", "e2", "e3"]),
]


def test_events_by_field(cluster, namespace, paths):
    api = cluster.api()
    for name, reason, about, kind in (
            ("e1", "Migrating", "vmi1", "VirtualMachineInstance"),
            ("e2", "Started", "vmi1", "VirtualMachineInstance"),
            ("e3", "Migrating", "vmi2", "VirtualMachineInstance"),
            ("e4", "Migrating", "p", "Pod")):
        api.create(paths["events"],
                   event(name, namespace, reason, about, kind))
    for fields, names in FIELDS:
        text = cluster.kubectl("get", "events", "-n", namespace, "-o", "name",
                               "--field-selector", fields)
        assert sorted(text.split()) == [f"event/{n}" for n in names], fields
    # The same events through the other group.
    text = cluster.kubectl("get", "events.events.k8s.io", "-n", namespace,
                           "-o", "jsonpath={.items[*].regarding.name}")
    assert sorted(text.split()) == ["p", "vmi1", "vmi1", "vmi2"]


def test_the_command_events(cluster, namespace, paths):
    """1.20 has none: there, get events shows the same in its order."""
    api = cluster.api()
    api.create(paths["events"], event("e1", namespace, "Migrating", "vmi1"))
    command = ("events",) if HAS_EVENTS else ("get", "events")
    kind = "VirtualMachineInstance"
    if not HAS_EVENTS:
        kind = kind.lower()
    with Following(cluster, *command, "-n", namespace, "--watch") as kubectl:
        assert kubectl.words() == ["LAST SEEN", "TYPE", "REASON", "OBJECT",
                                   "MESSAGE"]
        assert kubectl.words() == ["AGE", "Normal", "Migrating",
                                   f"{kind}/vmi1", "Migrating vmi1"]
        api.create(paths["events"],
                   event("e2", namespace, "Migrated", "vmi1"))
        assert kubectl.words()[2] == "Migrated"


def test_wait_for_a_condition(cluster, namespace, paths):
    api = cluster.api()
    api.create(paths["vmi"], vmi("a"))
    with Following(cluster, "wait", "vmi/a", "-n", namespace,
                   "--for=condition=Ready", "--timeout=60s") as kubectl:
        for status in ("False", "True"):
            api.patch(f"{paths['vmi']}/a", {"status": {
                "conditions": [{"type": "Ready", "status": status}]}})
        assert kubectl.next() == f"{VMI_KIND}/a condition met"
        assert kubectl.wait() == 0
    assert cluster.kubectl(
        "wait", "vmi", "--all", "-n", namespace, "--for=condition=Ready=true",
        "--timeout=60s") == f"{VMI_KIND}/a condition met\n"
    done = cluster.kubectl_raw("wait", "vmi/a", "-n", namespace,
                               "--for=condition=Ready=false", "--timeout=1s")
    assert (done.returncode, done.stderr) == (
        1, "error: timed out waiting for the condition on "
           "virtualmachineinstances/a\n")


def test_wait_for_a_value(cluster, namespace, paths):
    """By jsonpath; with 1.20, which has only conditions, by a watch."""
    api = cluster.api()
    api.create(paths["vmim"], migration("m"))
    arguments = ("wait", "vmim/m", "-n", namespace, "--timeout=60s",
                 "--for=jsonpath={.status.phase}=Succeeded") \
        if HAS_WAIT_JSONPATH else \
        ("get", "vmim", "-n", namespace, "-w", "-o",
         'jsonpath={.status.phase}{"\\n"}')
    with Following(cluster, *arguments) as kubectl:
        for phase in ("Running", "Succeeded"):
            api.patch(f"{paths['vmim']}/m/status",
                      {"status": {"phase": phase}})
        kubectl.until("m condition met" if HAS_WAIT_JSONPATH else "Succeeded")


def test_wait_for_deletion(cluster, namespace, paths):
    api = cluster.api()
    held = migration("m")
    held["metadata"]["finalizers"] = ["test.io/hold"]
    api.create(paths["vmim"], held)
    api.delete(f"{paths['vmim']}/m")
    with Following(cluster, "wait", "vmim/m", "-n", namespace,
                   "--for=delete", "--timeout=60s") as kubectl:
        api.patch(f"{paths['vmim']}/m", {"metadata": {"finalizers": None}})
        # 1.20 calls an object that is gone from the start an error.
        assert kubectl.wait() == 0 or MINOR < 24
    done = cluster.kubectl_raw("wait", "vmim/m", "-n", namespace,
                               "--for=delete", "--timeout=5s")
    assert done.returncode == (0 if MINOR >= 24 else 1)
    done = cluster.kubectl_raw("wait", "vmim/m", "-n", namespace,
                               "--for=condition=X", "--timeout=5s")
    assert done.returncode == 1 and "NotFound" in done.stderr


def test_a_deletion_that_waits_ends_with_the_object(cluster, namespace,
                                                    paths):
    api = cluster.api()
    held = migration("m")
    held["metadata"]["finalizers"] = ["test.io/hold"]
    api.create(paths["vmim"], held)
    with Following(cluster, "delete", "vmim", "m", "-n", namespace) as \
            kubectl:
        assert kubectl.next().endswith('"m" deleted')
        api.patch(f"{paths['vmim']}/m", {"metadata": {"finalizers": None}})
        assert kubectl.wait() == 0


def test_a_watch_goes_on_with_many_changes(cluster, namespace, paths):
    """Nothing is lost and nothing comes twice."""
    api = cluster.api()
    api.create(paths["cm"], {"apiVersion": "v1", "kind": "ConfigMap",
                             "metadata": {"name": "c"}})
    with Following(cluster, "get", "cm", "-n", namespace, "-w", "-o",
                   'jsonpath={.data.n}{"\\n"}', "--field-selector",
                   "metadata.name=c") as kubectl:
        assert kubectl.next() == ""
        for n in range(200):
            api.patch(f"{paths['cm']}/c", {"data": {"n": json.dumps(n)}})
        assert [kubectl.next() for _ in range(200)] == \
            [str(n) for n in range(200)]
