# SPDX-License-Identifier: Apache-2.0
"""API groups that another server serves."""

import json
import threading

import pytest

from kubeapi import path_of, wait_for, wait_gone
from objects import unique

REGISTRATION = "apiregistration.k8s.io/v1"


def available(item):
    for condition in item.get("status", {}).get("conditions") or ():
        if condition["type"] == "Available":
            return condition
    return None


@pytest.fixture
def group():
    return f"a{unique()}.conformance.ferry.io"


@pytest.fixture
def register(api, removed_later, group):
    """Creates the APIService of the group's v1."""
    def make(service, **spec):
        path = path_of(REGISTRATION, "apiservices", name=f"v1.{group}")
        removed_later(path)
        api.create(path_of(REGISTRATION, "apiservices"), {
            "apiVersion": REGISTRATION, "kind": "APIService",
            "metadata": {"name": f"v1.{group}"},
            "spec": {"group": group, "version": "v1", "service": service,
                     "groupPriorityMinimum": 1000, "versionPriority": 15,
                     **spec}})
        return path
    return make


@pytest.fixture
def served(api, ns, callbacks, register, group):
    """A group served by the test's own server, once it is known."""
    resources = {"kind": "APIResourceList", "apiVersion": "v1",
                 "groupVersion": f"{group}/v1", "resources": [
                     {"name": "things", "singularName": "thing",
                      "namespaced": True, "kind": "Thing",
                      "verbs": ["get", "list"]}]}
    callbacks.answer(f"/apis/{group}/v1", lambda request: (
        (200, resources) if request.path.count("/") == 3 else
        (200, {"kind": "Thing", "apiVersion": f"{group}/v1",
               "metadata": {"name": request.path.rsplit("/", 1)[1]}})))
    api.create(path_of("v1", "services", ns), {
        "metadata": {"name": "callbacks"},
        "spec": {"type": "ExternalName", "externalName": callbacks.address}})
    path = register({"name": "callbacks", "namespace": ns,
                     "port": callbacks.port}, insecureSkipTLSVerify=True)
    wait_for("the server to be found", lambda: (available(
        api.get(path)) or {}).get("status") == "True")
    # Available is told a moment before requests are passed on.
    wait_for("the group", lambda: api.request(
        "GET", f"/apis/{group}/v1").code == 200)
    return path


def test_requests_are_passed_on(api, ns, callbacks, served, group):
    where = path_of(f"{group}/v1", "things", ns, "one")
    answer = api.get(where + "?a=b&c=%20d")
    assert answer["kind"] == "Thing"
    assert answer["metadata"]["name"] == "one"
    (call,) = callbacks.calls(where)
    assert call.method == "GET"
    assert call.query == {"a": "b", "c": " d"}


def test_the_user_is_named(api, clients, ns, callbacks, served, group):
    clients.user("conformance-boss", "system:masters").get(
        path_of(f"{group}/v1", "things", ns, "one"))
    (call,) = callbacks.calls(path_of(f"{group}/v1", "things", ns, "one"))
    assert call.headers["X-Remote-User"] == "conformance-boss"
    assert "system:masters" in call.headers.get_all("X-Remote-Group")
    assert "Authorization" not in call.headers
    assert "Impersonate-User" not in call.headers


def test_nobody_names_himself(api, ns, callbacks, served, group):
    where = path_of(f"{group}/v1", "things", ns, "one")
    api.get(where, headers={"X-Remote-User": "somebody-else"})
    (call,) = callbacks.calls(where)
    assert call.headers.get_all("X-Remote-User") != ["somebody-else"]


def test_bodies_are_passed_on(api, ns, callbacks, served, group):
    where = path_of(f"{group}/v1", "things", ns, "one", "shake")
    body = {"how": "x" * 100000}
    callbacks.answer(where, lambda request: (202, {
        "length": len(request.json()["how"]), "method": request.method}))
    assert api.expect(202, "PUT", where, body) == {"length": 100000,
                                                   "method": "PUT"}


def test_streams_are_passed_on(api, ns, callbacks, served, group):
    where = path_of(f"{group}/v1", "things", ns)
    go_on = threading.Event()

    def events(request):
        assert request.query["watch"] == "true"
        yield {"type": "ADDED", "object": {"metadata": {"name": "one"}}}
        go_on.wait(30)
        yield {"type": "ADDED", "object": {"metadata": {"name": "two"}}}

    callbacks.answer(where, lambda request: (200, events(request)))
    try:
        with api.watch(where) as watch:
            # It comes before the rest has been written.
            assert watch.next()["object"]["metadata"]["name"] == "one"
            go_on.set()
            assert watch.next()["object"]["metadata"]["name"] == "two"
            assert watch.next() is None
    finally:
        go_on.set()


def test_failures_are_passed_on(api, ns, callbacks, served, group):
    where = path_of(f"{group}/v1", "things", ns, "none")
    callbacks.answer(where, lambda request: (409, {
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "reason": "Conflict", "code": 409,
        "message": "not now"}))
    assert api.refuse(409, "Conflict", "POST", where, {})["message"] == \
        "not now"


def test_access_is_checked_first(clients, ns, callbacks, served, group):
    where = path_of(f"{group}/v1", "things", ns, "one")
    status = clients.user("conformance-nobody").refuse(
        403, "Forbidden", "GET", where)
    assert f'cannot get resource "things" in API group "{group}"' in \
        status["message"]
    assert callbacks.calls(where) == []


def test_discovery_shows_the_group(api, served, group):
    def listed():
        return [g for g in api.get("/apis")["groups"] if g["name"] == group]

    (entry,) = wait_for("the group to be listed", listed)
    assert entry["preferredVersion"]["groupVersion"] == f"{group}/v1"
    assert api.get(f"/apis/{group}")["versions"] == [
        {"groupVersion": f"{group}/v1", "version": "v1"}]
    assert api.get(f"/apis/{group}/v1")["resources"][0]["name"] == "things"


def test_without_a_service_it_is_unavailable(api, ns, register, group):
    path = register({"name": "absent", "namespace": ns, "port": 443},
                    insecureSkipTLSVerify=True)
    condition = wait_for("the verdict", lambda: available(api.get(path)))
    assert condition["status"] == "False"
    assert condition["reason"] == "ServiceNotFound"
    assert condition["message"] == f'service/absent in "{ns}" is not present'

    def refused():
        answer = api.request("GET", path_of(f"{group}/v1", "things", ns))
        return answer if answer.code == 503 else None

    assert wait_for("the group to be refused", refused).text().strip() == \
        "service unavailable"


def test_removing_it_ends_the_group(api, ns, served, group):
    api.delete(served)
    wait_gone(api, served)
    wait_for("the group to go", lambda: api.request(
        "GET", f"/apis/{group}/v1").code == 404)


@pytest.mark.parametrize("change, field", [
    ({"name": "v1.other.conformance.ferry.io"}, "metadata.name"),
    ({"groupPriorityMinimum": 0}, "spec.groupPriorityMinimum"),
    ({"versionPriority": 0}, "spec.versionPriority"),
    ({"caBundle": "eA=="}, "spec"),
])
def test_wrong_registrations_are_refused(api, ns, group, removed_later,
                                         change, field):
    spec = dict(change)
    name = spec.pop("name", f"v1.{group}")
    removed_later(path_of(REGISTRATION, "apiservices", name=name))
    body = {"metadata": {"name": name},
            "spec": {"group": group, "version": "v1",
                     "groupPriorityMinimum": 1, "versionPriority": 1,
                     "insecureSkipTLSVerify": True,
                     "service": {"name": "x", "namespace": ns}, **spec}}
    status = api.refuse(422, "Invalid", "POST",
                        path_of(REGISTRATION, "apiservices"), body)
    assert field in json.dumps(status["details"]["causes"])
