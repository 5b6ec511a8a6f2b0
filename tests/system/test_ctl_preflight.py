# SPDX-License-Identifier: Apache-2.0
"""What nodes are asked from elsewhere: ferryctl preflight measures and predicts,
ferryctl doctor has nothing but a kubeconfig, and migrations keep what was
predicted of them."""

import json
import os
import subprocess

import pytest

from embedded import FERRYCTL, PATIENCE, Embedded
from kubeapi import Api, read_kubeconfig, wait_for
from persons import person
from test_metrics import scrape_controller

PROBES = "pathprobes.ferry.io"
PROBES_PATH = "/apis/ferry.io/v1alpha1/namespaces/default/pathprobes"
ERROR_COUNT = "ferry_migration_prediction_error_ratio_count"


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="machine")
def fixture_machine(cluster):
    """One that writes to its memory, faster than a slow policy allows."""
    return cluster.start_machine("vm1", dirty="64,8000")


def ferryctl(cluster, *arguments, status=0, **environment):
    """What it says, run as somebody with a kubeconfig on another computer."""
    done = subprocess.run(
        [FERRYCTL, *arguments], text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        timeout=PATIENCE,
        env={**os.environ, "KUBECONFIG": cluster.kubeconfig, **environment})
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def preflight(cluster, *arguments, **more):
    return json.loads(ferryctl(cluster, "preflight", "vm1", "-o", "json",
                               *arguments, **more))


def found(result, what):
    """The checks of that name, as (result, detail)."""
    return [(check["result"], check["detail"]) for check in result["checks"]
            if check["what"] == what]


def other_node(cluster, machine):
    return next(n for n in cluster.node_names() if n != machine.node)


def listeners(cluster):
    """How many each proxy has."""
    text = json.loads(ferryctl(cluster, "doctor", "--dir", cluster.dir, "-o",
                               "json"))
    return [node["status"]["listeners"] for node in text["facts"]["nodes"]]


def test_preflight_measures_and_predicts(cluster, machine):
    other = other_node(cluster, machine)
    result = preflight(cluster)
    assert result["moves"], result
    measured = result["measured"][other]
    assert measured["path"]["bytes"] > 0
    assert measured["path"]["bytesPerSecond"] > 0
    assert measured["path"]["handshakeUs"] > 0
    assert measured["guest"]["memoryBytes"] == 128 << 20
    assert measured["prediction"]["verdict"] == "Converges"
    assert measured["prediction"]["copyMs"] > 0
    for what in ("policy", "limits", "certificate", "version", "path",
                 "guest", "prediction"):
        assert {found_as for found_as, _ in found(result, what)} == {"ok"}, \
            what
    # Nothing stays: neither the question nor what was listened on.
    assert json.loads(cluster.kubectl("get", PROBES, "-A", "-o",
                                      "json"))["items"] == []
    wait_for("the listeners to go", lambda: not any(listeners(cluster)),
             PATIENCE)


def test_a_guest_that_writes_too_fast_is_foreseen(cluster, machine):
    def refused():
        done = subprocess.run(
            [FERRYCTL, "preflight", "vm1", "-o", "json"], check=False,
            text=True, stdout=subprocess.PIPE, timeout=PATIENCE,
            env={**os.environ, "KUBECONFIG": cluster.kubeconfig})
        result = json.loads(done.stdout)
        verdict = result["measured"][other]["prediction"]["verdict"]
        return (done.returncode, result) if verdict != "Converges" else None

    other = other_node(cluster, machine)
    with machine.policy(bandwidthPerMigration="1Mi"):
        # A guest of a busy computer may stand still for the second.
        status, result = wait_for("a guest that writes", refused, PATIENCE)
        assert result["measured"][other]["prediction"]["verdict"] == \
            "DoesNotConverge"
        assert status == 3 and not result["moves"]
        assert "allow post-copy" in found(result, "prediction")[0][1]
    with machine.policy(bandwidthPerMigration="1Mi", allowPostCopy=True):
        result = wait_for("the same with post-copy", refused, PATIENCE)[1]
        assert result["moves"]
        assert result["measured"][other]["prediction"]["mode"] == "PostCopy"


def test_nothing_is_measured_when_that_is_not_wanted(cluster, machine):
    assert machine.name == "vm1"
    result = preflight(cluster, "--no-measure")
    assert result["moves"] and result["measured"] == {}
    assert not found(result, "path") and not found(result, "prediction")


def test_a_node_without_an_agent_is_said(cluster, machine):
    other = other_node(cluster, machine)
    cluster.kill("ferry-handler", other)
    try:
        result = preflight(cluster, status=3)
        assert ("fail", f"that of {other} does not answer") in \
            found(result, "agent")
        assert found(result, "path")[0][1].startswith("TargetSilent")
    finally:
        cluster.complete()
    wait_for("the agent to be back", lambda: subprocess.run(
        [FERRYCTL, "preflight", "vm1"], check=False,
        stdout=subprocess.DEVNULL, timeout=PATIENCE,
        env={**os.environ, "KUBECONFIG": cluster.kubeconfig}).returncode == 0,
             PATIENCE)


def test_doctor_needs_no_more_than_a_kubeconfig(cluster, machine):
    assert machine.name == "vm1"
    text = ferryctl(cluster, "doctor")
    for words in ("path to node1", "path to node2", "certificate",
                  "ok    agent ", "ok    migration network   mig0, ",
                  "Nothing is wrong with the proxies"):
        assert words in text, text


def wait_well(cluster):
    wait_for("doctor to find nothing wrong", lambda: "Nothing is wrong" in (
        subprocess.run([FERRYCTL, "doctor"], check=False, text=True,
                       stdout=subprocess.PIPE, timeout=PATIENCE,
                       env={**os.environ,
                            "KUBECONFIG": cluster.kubeconfig}).stdout),
             PATIENCE)


def test_a_node_whose_proxy_is_away_says_so(cluster, machine):
    """Its agent answers for it, at once."""
    other = other_node(cluster, machine)
    cluster.kill("ferry-proxy", other)
    try:
        text = ferryctl(cluster, "doctor", status=3)
        result = preflight(cluster, status=3)
    finally:
        cluster.complete()
    assert text.count("ok    agent ") == 2
    assert text.count("FAIL  proxy ") == 1 and "proxy.sock'" in text
    assert f"The proxy (ferry-proxy) of {other} does not answer" in text
    assert f"FAIL  path to {other}" in text and "TargetRefused: " \
        f"the ferry-proxy of {other} does not answer" in text
    [(verdict, detail)] = found(result, "proxy")
    assert verdict == "fail" and \
        detail.startswith(f"that of {other} does not answer: ")
    assert not found(result, "agent")
    wait_well(cluster)


def test_an_agent_that_is_away_is_not_taken_for_its_proxy(cluster, machine):
    other = other_node(cluster, machine)
    with cluster.stopped("ferry-handler", other):
        text = ferryctl(cluster, "doctor", status=3)
    assert f"The agent (ferry-handler) of {other} does not answer" in text
    assert "FAIL  agent               its ferry-handler" in text
    assert "FAIL  proxy" not in text
    assert "TargetSilent: the agent of the target node" in text
    wait_well(cluster)


def test_the_roles_that_the_manual_names_are_enough(cluster, machine):
    assert machine.name == "vm1"
    olga = person(cluster, "olga", everywhere=["ferry.io:operate",
                                               "kubevirt.io:migrate"])
    result = preflight(cluster, KUBECONFIG=olga)
    assert result["verdict"] == "Moves"
    assert {check["result"] for check in result["checks"]} == {"ok"}, result
    looks = person(cluster, "lukas", everywhere=["ferry.io:operate"])
    assert "Nothing is wrong" in ferryctl(cluster, "doctor", KUBECONFIG=looks)
    assert "Not seen" not in ferryctl(cluster, "explain", "vm1",
                                      KUBECONFIG=looks)
    # Who may not move it does not know what admission would say.
    result = preflight(cluster, "--no-measure", status=4, KUBECONFIG=looks)
    assert [check["what"] for check in result["checks"]
            if check["result"] == "unknown"] == ["admission"]


def test_who_may_not_look_gets_no_verdict(cluster, machine):
    """Neither of the two: one who may do all in the namespace, and another who
    sees nothing but the machine."""
    assert machine.name == "vm1"
    here = person(cluster, "hugo", here=["admin", "kubevirt.io:migrate"])
    result = preflight(cluster, "--no-measure", status=4, KUBECONFIG=here)
    assert result["verdict"] == "Unknown" and not result["moves"]
    assert found(result, "nodes") == [("unknown", "may not be looked at")]
    assert found(result, "quota") == [] and found(result, "pod")[0][0] == "ok"
    mia = person(cluster, "mia", here=["kubevirt.io:migrate"], rules=[{
        "apiGroups": ["kubevirt.io"], "resources": ["virtualmachineinstances"],
        "verbs": ["get"]}])
    result = preflight(cluster, status=4, KUBECONFIG=mia)
    for what in ("nodes", "pod", "quota", "policy", "limits"):
        assert [verdict for verdict, _ in found(result, what)] == \
            ["unknown"], what
    text = ferryctl(cluster, "preflight", "vm1", status=4, KUBECONFIG=mia)
    assert "would not move" not in text
    assert "without the rights to look at what is marked with ?" in text


def test_a_node_writes_its_own_answer_only(cluster, machine):
    """Even one that was broken into."""
    source, other = machine.node, other_node(cluster, machine)
    probe = {"apiVersion": "ferry.io/v1alpha1", "kind": "PathProbe",
             "metadata": {"name": "p"},
             "spec": {"sourceNode": source, "targetNode": "nowhere"}}
    cluster.create(probe)
    api = Api(**read_kubeconfig(
        os.path.join(cluster.dir, other, "handler.kubeconfig"),
        cluster.scratch))
    try:
        refused = api.refuse(
            422, "Invalid", "PATCH", PROBES_PATH + "/p/status",
            {"status": {"source": {"node": other}}}, kind="merge")
        assert f"is not for '{other}' to write" in refused["message"]
    finally:
        api.close()
        cluster.kubectl("delete", PROBES, "p")


def test_a_migration_keeps_what_was_predicted_of_it(cluster, machine):
    with machine.policy(bandwidthPerMigration="16Mi", allowPostCopy=True):
        name = machine.begin_migration()
        machine.wait_copying(name)
        during = ferryctl(cluster, "doctor", name)
        machine.wait_migration(name)
    for words in ("channel 0 ", "channel 49152", "target listener",
                  "source listener", "TLS handshake", "port map", "exists"):
        assert words in during, during
    assert "is missing" not in during
    state = cluster.get("vmim", name)["status"]["migrationState"]
    assert state["prediction"]["rateBytesPerSecond"] > 0
    assert state["prediction"]["actual"]["copyMs"] > 0
    assert state["prediction"]["actual"]["mode"] == state["mode"]
    page = ferryctl(cluster, "explain", name)
    assert "Predicted when it began" in page and "Actual: " in page
    assert scrape_controller(cluster).value(ERROR_COUNT) == 1


def test_a_machine_that_has_moved_may_go_back(cluster, machine):
    """Its pod has the labels of the migration that it came with."""
    before = machine.node
    machine.migrate(addedNodeSelector={
        "kubernetes.io/hostname": other_node(cluster, machine)})
    assert machine.node != before
    result = preflight(cluster, "--no-measure")
    assert result["moves"], result
    machine.migrate()
    assert machine.node == before
