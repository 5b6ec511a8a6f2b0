# SPDX-License-Identifier: Apache-2.0
"""Evictions, and the budgets that may refuse them."""

import pytest

from kubeapi import has_vanished, path_of, wait_for
from objects import pod


@pytest.fixture
def run(api, ns):
    """Makes pods that look as if they ran and were ready."""
    def make(name):
        pods = path_of("v1", "pods", ns)
        made = api.create(pods, pod(name, node="conformance-no-node",
                                    labels={"app": "x"}))
        api.patch(f"{pods}/{name}/status", {"status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}]}})
        return made
    yield make
    api.delete(path_of("v1", "pods", ns), {"gracePeriodSeconds": 0})


@pytest.fixture
def budget(api, ns):
    """Makes a PodDisruptionBudget, ready when it allows so many."""
    def make(allowed, **spec):
        path = path_of("policy/v1", "poddisruptionbudgets", ns, "pdb")
        api.create(path_of("policy/v1", "poddisruptionbudgets", ns), {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "pdb"},
            "spec": {"selector": {"matchLabels": {"app": "x"}}, **spec}})
        settle(path, allowed)
        return path

    def settle(path, allowed):
        def settled():
            item = api.get(path)
            status = item.get("status", {})
            return (status.get("observedGeneration") ==
                    item["metadata"]["generation"] and
                    status.get("disruptionsAllowed") == allowed)
        wait_for(f"the budget to allow {allowed}", settled)

    make.settle = settle
    return make


def evict(api, ns, name, code=201, query="", **more):
    path = path_of("v1", "pods", ns, name, "eviction") + query
    body = {"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": ns}, **more}
    answer = api.request("POST", path, body)
    assert answer.code == code, answer
    return answer


def test_an_eviction_deletes(api, ns, run):
    run("p")
    answer = evict(api, ns, "p").json()
    assert answer["kind"] == "Status" and answer["status"] == "Success"
    meta = api.get(path_of("v1", "pods", ns, "p"))["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 30


def test_options_are_passed_on(api, ns, run):
    run("p")
    evict(api, ns, "p", deleteOptions={"gracePeriodSeconds": 0})
    assert has_vanished(api, path_of("v1", "pods", ns, "p"))


def test_a_dry_run_evicts_nothing(api, ns, run):
    run("p")
    evict(api, ns, "p", query="?dryRun=All")
    evict(api, ns, "p", deleteOptions={"dryRun": ["All"]})
    meta = api.get(path_of("v1", "pods", ns, "p"))["metadata"]
    assert "deletionTimestamp" not in meta


def test_a_budget_refuses(api, ns, run, budget):
    run("p")
    path = budget(0, minAvailable=1)
    answer = evict(api, ns, "p", 429)
    assert "Retry-After" not in answer.headers
    status = answer.json()
    assert status["reason"] == "TooManyRequests"
    assert status["message"] == ("Cannot evict pod as it would violate the "
                                 "pod's disruption budget.")
    assert status["details"]["causes"] == [{
        "reason": "DisruptionBudget",
        "message": "The disruption budget pdb needs 1 healthy pods and has 1 "
                   "currently"}]
    evict(api, ns, "p", 429, query="?dryRun=All")
    assert "deletionTimestamp" not in api.get(
        path_of("v1", "pods", ns, "p"))["metadata"]
    run("q")
    budget.settle(path, 1)
    evict(api, ns, "p")
    evict(api, ns, "q", 429)


def test_a_budget_counts_the_healthy(api, ns, run, budget):
    for name in ("a", "b", "c"):
        run(name)
    path = budget(1, minAvailable=2)
    status = api.get(path)["status"]
    assert status["currentHealthy"] == 3
    assert status["desiredHealthy"] == 2
    assert status["expectedPods"] == 3
    api.patch(path_of("v1", "pods", ns, "a", "status"), {"status": {
        "conditions": [{"type": "Ready", "status": "False"}]}})
    budget.settle(path, 0)
    evict(api, ns, "b", 429)


def test_others_are_not_protected(api, ns, run, budget):
    run("p")
    budget(0, minAvailable=1)
    api.create(path_of("v1", "pods", ns), pod("other"))
    evict(api, ns, "other")
    assert has_vanished(api, path_of("v1", "pods", ns, "other"))


def test_an_eviction_is_checked(api, ns, run):
    made = run("p")
    path = path_of("v1", "pods", ns, "p", "eviction")
    status = api.refuse(400, "BadRequest", "POST", path, {
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": "q", "namespace": ns}})
    assert status["message"] == \
        "name in URL does not match name in Eviction object"
    evict(api, ns, "none", 404)
    evict(api, ns, "p", 409, deleteOptions={"preconditions": {
        "uid": "00000000-0000-0000-0000-000000000000"}})
    evict(api, ns, "p", deleteOptions={"preconditions": {
        "uid": made["metadata"]["uid"]}})


def test_discovery_shows_evictions(api):
    resources = {r["name"]: r for r in api.get("/api/v1")["resources"]}
    entry = resources["pods/eviction"]
    assert (entry["kind"], entry["group"], entry["version"]) == (
        "Eviction", "policy", "v1")
