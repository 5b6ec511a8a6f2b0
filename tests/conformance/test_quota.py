# SPDX-License-Identifier: Apache-2.0
"""ResourceQuotas: admission, usage, and the words of a refusal."""

import pytest

from kubeapi import path_of, wait_for
from objects import pod


@pytest.fixture
def limit(api, ns):
    """Makes a quota and waits until it counts."""
    def make(name, hard, **spec):
        path = path_of("v1", "resourcequotas", ns, name)
        api.create(path_of("v1", "resourcequotas", ns), {
            "metadata": {"name": name}, "spec": {"hard": hard, **spec}})
        wait_for("the quota to be counted", lambda: set(api.get(path).get(
            "status", {}).get("used", {})) == set(hard))
        return path
    return make


def secret(name):
    return {"metadata": {"name": name}}


def used(api, path):
    return api.get(path)["status"]["used"]


def wait_used(api, path, amounts):
    wait_for(f"the usage to be {amounts}", lambda: used(api, path) == amounts)


def test_no_more_than_allowed(api, ns, limit):
    path = limit("few", {"secrets": "2"})
    secrets = path_of("v1", "secrets", ns)
    api.create(secrets, secret("a"))
    api.create(secrets, secret("b"))
    status = api.refuse(403, "Forbidden", "POST", secrets, secret("c"))
    assert status["message"] == (
        'secrets "c" is forbidden: exceeded quota: few, requested: '
        'secrets=1, used: secrets=2, limited: secrets=2')
    assert status["details"] == {"name": "c", "kind": "secrets"}
    wait_used(api, path, {"secrets": "2"})
    assert api.get(path)["status"]["hard"] == {"secrets": "2"}


def test_what_is_gone_can_be_used_again(api, ns, limit):
    path = limit("few", {"count/secrets": "1"})
    secrets = path_of("v1", "secrets", ns)
    api.create(secrets, secret("a"))
    api.refuse(403, "Forbidden", "POST", secrets, secret("b"))
    wait_used(api, path, {"count/secrets": "1"})
    api.delete(f"{secrets}/a")
    wait_used(api, path, {"count/secrets": "0"})
    api.create(secrets, secret("b"))


def test_what_was_there_before_counts(api, ns, limit):
    secrets = path_of("v1", "secrets", ns)
    for name in "abc":
        api.create(secrets, secret(name))
    path = limit("few", {"secrets": "2"})
    assert used(api, path) == {"secrets": "3"}
    api.refuse(403, "Forbidden", "POST", secrets, secret("d"))


def test_a_higher_limit_lets_more_in(api, ns, limit):
    path = limit("few", {"secrets": "0"})
    secrets = path_of("v1", "secrets", ns)
    api.refuse(403, "Forbidden", "POST", secrets, secret("a"))
    api.patch(path, {"spec": {"hard": {"secrets": "1"}}})
    wait_for("the limit to hold", lambda: api.get(path)["status"]["hard"] ==
             {"secrets": "1"})
    api.create(secrets, secret("a"))


def test_a_dry_run_uses_nothing(api, ns, limit):
    path = limit("few", {"secrets": "1"})
    api.create(path_of("v1", "secrets", ns, dryRun="All"), secret("a"))
    assert used(api, path) == {"secrets": "0"}
    api.create(path_of("v1", "secrets", ns), secret("a"))
    api.refuse(403, "Forbidden", "POST",
               path_of("v1", "secrets", ns, dryRun="All"), secret("b"))


def test_custom_kinds_are_counted(api, ns, limit, widgets):
    key = f"count/{widgets.resource}"
    limit("few", {key: "1"})
    api.create(widgets.path(ns), widgets.make("a"))
    status = api.refuse(403, "Forbidden", "POST", widgets.path(ns),
                        widgets.make("b"))
    assert status["message"] == (
        f'{widgets.resource} "b" is forbidden: exceeded quota: few, '
        f'requested: {key}=1, used: {key}=1, limited: {key}=1')


def busy(name, cpu, memory):
    body = pod(name)
    body["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": cpu, "memory": memory}}
    return body


def test_pods_are_measured(api, ns, limit):
    path = limit("compute", {"requests.cpu": "1", "memory": "1Gi",
                             "pods": "5"})
    pods = path_of("v1", "pods", ns)
    api.create(pods, busy("a", "600m", "512Mi"))
    status = api.refuse(403, "Forbidden", "POST", pods,
                        busy("b", "500m", "256Mi"))
    assert status["message"] == (
        'pods "b" is forbidden: exceeded quota: compute, requested: '
        'requests.cpu=500m, used: requests.cpu=600m, limited: '
        'requests.cpu=1')
    api.create(pods, busy("c", "0.4", "256Mi"))
    wait_used(api, path, {"requests.cpu": "1", "memory": "768Mi",
                          "pods": "2"})


def test_pods_must_say_what_is_limited(api, ns, limit):
    limit("compute", {"requests.cpu": "1"})
    status = api.refuse(403, "Forbidden", "POST", path_of("v1", "pods", ns),
                        pod("p"))
    assert "failed quota: compute: must specify requests.cpu" in \
        status["message"]


def test_storage_is_measured(api, ns, limit):
    limit("disk", {"requests.storage": "10Gi", "persistentvolumeclaims": "5"})
    claims = path_of("v1", "persistentvolumeclaims", ns)

    def claim(name, size):
        return {"metadata": {"name": name}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "resources": {"requests": {"storage": size}}}}

    api.create(claims, claim("a", "8Gi"))
    status = api.refuse(403, "Forbidden", "POST", claims, claim("b", "3Gi"))
    assert ("exceeded quota: disk, requested: requests.storage=3Gi, used: "
            "requests.storage=8Gi, limited: requests.storage=10Gi") in \
        status["message"]


def test_scopes_choose_what_counts(api, ns, limit):
    path = limit("best", {"pods": "1"}, scopes=["BestEffort"])
    pods = path_of("v1", "pods", ns)
    api.create(pods, busy("measured", "1m", "1Mi"))
    api.create(pods, pod("a"))
    api.refuse(403, "Forbidden", "POST", pods, pod("b"))
    wait_used(api, path, {"pods": "1"})
