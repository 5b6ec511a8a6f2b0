# SPDX-License-Identifier: Apache-2.0
"""Admission webhooks, answered by a server in the test's own process."""

import socket
import threading

import pytest

from callbacks import ADMISSION, SERVICE, SERVICE_NAMESPACE, review
from kubeapi import has_vanished, path_of, wait_for
from objects import configmap

VALIDATING = "ValidatingWebhookConfiguration"
MUTATING = "MutatingWebhookConfiguration"


def configmaps(ns, name=None, **query):
    return path_of("v1", "configmaps", ns, name, **query)


@pytest.fixture
def install(api, ns, callbacks, removed_later):
    """Puts hooks in place; returns when the first of them is asked."""
    def make(kind, *hooks, probe=None):
        plural = kind.lower() + "s"
        name = f"{ns}-{plural[:3]}"
        removed_later(path_of(ADMISSION, plural, name=name))
        # A hook of its own tells when the configuration is in use.
        callbacks.answer("/ready", lambda request: (200, review(request)))
        ready = callbacks.hook("ready", ns, path="/ready", objectSelector={
            "matchLabels": {"conformance.ferry.io/probe": "true"}})
        api.create(path_of(ADMISSION, plural),
                   callbacks.configuration(kind, name, ready, *hooks))
        body = configmap("probe", labels={
            "conformance.ferry.io/probe": "true"})

        def used():
            api.request("POST", configmaps(ns, dryRun="All"), body)
            return callbacks.calls("/ready")

        wait_for("the webhooks to be used", used)
        with callbacks.lock:
            callbacks.seen.clear()
        return path_of(ADMISSION, plural, name=name)
    return make


def deny(**status):
    return lambda request: (200, review(request, False, **(
        {"status": status} if status else {})))


def test_what_is_asked(api, ns, callbacks, install):
    install(VALIDATING, callbacks.hook("all", ns, timeout=7))
    api.create(configmaps(ns), {"metadata": {"generateName": "g-"},
                                "data": {"k": "v"}})
    (call,) = callbacks.calls("/allow")
    assert call.method == "POST"
    assert call.query == {"timeout": "7s"}
    assert call.headers["Content-Type"] == "application/json"
    body = call.json()
    assert body["kind"] == "AdmissionReview"
    assert body["apiVersion"] == "admission.k8s.io/v1"
    request = body["request"]
    assert request["uid"]
    assert request["kind"] == {"group": "", "version": "v1",
                               "kind": "ConfigMap"}
    assert request["resource"] == {"group": "", "version": "v1",
                                   "resource": "configmaps"}
    assert request["requestKind"] == request["kind"]
    assert request["requestResource"] == request["resource"]
    assert request["name"].startswith("g-")
    assert request["namespace"] == ns
    assert request["operation"] == "CREATE"
    assert request["userInfo"]["username"]
    assert "system:authenticated" in request["userInfo"]["groups"]
    assert request["object"]["data"] == {"k": "v"}
    assert request["object"]["kind"] == "ConfigMap"
    assert request["oldObject"] is None
    assert request["dryRun"] is False
    assert request["options"]["kind"] == "CreateOptions"
    assert request["options"]["apiVersion"] == "meta.k8s.io/v1"


def test_each_operation_shows_old_and_new(api, ns, callbacks, install):
    install(VALIDATING, callbacks.hook(
        "all", ns, operations=["CREATE", "UPDATE", "DELETE"]))
    api.create(configmaps(ns), configmap("a", {"k": "1"}))
    api.patch(configmaps(ns, "a"), {"data": {"k": "2"}})
    api.delete(configmaps(ns, "a"))
    requests = [c.json()["request"] for c in callbacks.calls("/allow")]
    assert [(r["operation"], (r["oldObject"] or {}).get("data"),
             (r["object"] or {}).get("data")) for r in requests] == [
        ("CREATE", None, {"k": "1"}), ("UPDATE", {"k": "1"}, {"k": "2"}),
        ("DELETE", {"k": "2"}, None)]
    assert [r["options"]["kind"] for r in requests] == [
        "CreateOptions", "UpdateOptions", "DeleteOptions"]


def test_a_denial_is_told(api, ns, callbacks, install):
    callbacks.answer("/deny", deny(message="no way"))
    install(VALIDATING, callbacks.hook("deny", ns, path="/deny"))
    answer = api.request("POST", configmaps(ns), configmap("a"))
    assert answer.code == 400 or answer.code == 403, answer
    assert answer.json()["message"] == (
        'admission webhook "deny.conformance.ferry.io" denied the request: '
        'no way')
    assert has_vanished(api, configmaps(ns, "a"))


def test_a_denial_keeps_code_reason_and_causes(api, ns, callbacks, install):
    cause = {"reason": "FieldValueInvalid", "message": "too odd",
             "field": "data.k"}
    callbacks.answer("/deny", deny(code=422, reason="Invalid", message="odd",
                                   details={"causes": [cause]}))
    install(VALIDATING, callbacks.hook("deny", ns, path="/deny"))
    status = api.refuse(422, "Invalid", "POST", configmaps(ns),
                        configmap("a"))
    assert status["details"]["causes"] == [cause]
    callbacks.answer("/deny", deny(code=409, reason="Conflict"))
    status = api.refuse(409, "Conflict", "POST", configmaps(ns),
                        configmap("a"))
    assert "denied the request" in status["message"]


def test_updates_and_deletes_can_be_denied(api, ns, callbacks, install):
    callbacks.answer("/deny", deny(code=403, message="not that"))
    install(VALIDATING, callbacks.hook("deny", ns, path="/deny",
                                       operations=["UPDATE", "DELETE"]))
    made = api.create(configmaps(ns), configmap("a", {"k": "1"}))
    assert api.request("PATCH", configmaps(ns, "a"), {"data": {"k": "2"}}, {
        "Content-Type": "application/merge-patch+json"}).code == 403
    assert api.request("DELETE", configmaps(ns, "a")).code == 403
    assert api.get(configmaps(ns, "a")) == made
    with callbacks.lock:
        callbacks.answers["/deny"] = lambda r: (200, review(r))
    api.delete(configmaps(ns, "a"))


def test_warnings_reach_the_client(api, ns, callbacks, install):
    callbacks.answer("/warn", lambda r: (200, review(
        r, warnings=["careful now", "really"])))
    install(VALIDATING, callbacks.hook("warn", ns, path="/warn"))
    answer = api.request("POST", configmaps(ns), configmap("a"))
    assert answer.code == 201
    assert answer.warnings() == ["careful now", "really"]


def test_rules_choose(api, ns, callbacks, install, widgets):
    install(VALIDATING,
            callbacks.hook("status", ns, path="/allow/status",
                           resources=["widgets/status"],
                           operations=["UPDATE"]),
            callbacks.hook("spec", ns, path="/allow/spec",
                           resources=["widgets"], operations=["*"]))
    path = widgets.path(ns, "a")
    api.create(widgets.path(ns), widgets.make("a"))
    api.patch(path + "/status", {"status": {"phase": "x"}})
    api.create(configmaps(ns), configmap("other"))
    assert len(callbacks.calls("/allow/spec")) == 1
    (call,) = callbacks.calls("/allow/status")
    assert call.json()["request"]["subResource"] == "status"


def test_selectors_choose(api, ns, callbacks, install):
    install(VALIDATING, callbacks.hook("some", ns, objectSelector={
        "matchExpressions": [{"key": "watch", "operator": "Exists"}]}))
    api.create(configmaps(ns), configmap("a"))
    assert callbacks.calls("/allow") == []
    api.create(configmaps(ns), configmap("b", labels={"watch": "me"}))
    assert len(callbacks.calls("/allow")) == 1


def test_other_versions_are_equivalent(api, ns, callbacks, install, widgets):
    hook = callbacks.hook("new", ns, resources=["widgets"],
                          matchPolicy="Equivalent")
    hook["rules"][0]["apiGroups"] = [widgets.group]
    hook["rules"][0]["apiVersions"] = ["v1"]
    exact = {**hook, "name": "exact.conformance.ferry.io",
             "matchPolicy": "Exact",
             "clientConfig": {**hook["clientConfig"]}}
    exact["clientConfig"]["url"] += "/exact"
    install(VALIDATING, hook, exact)
    api.create(widgets.path(ns, version="v1beta1"),
               widgets.make("a", version="v1beta1"))
    (call,) = callbacks.calls("/allow")
    request = call.json()["request"]
    assert request["kind"]["version"] == "v1"
    assert request["requestKind"]["version"] == "v1beta1"
    assert request["object"]["apiVersion"] == f"{widgets.group}/v1"
    assert callbacks.calls("/allow/exact") == []


def test_a_patch_changes_the_object(api, ns, callbacks, install):
    callbacks.answer("/patch", lambda r: (200, review(r, patch=[
        {"op": "add", "path": "/data/added", "value": "yes"},
        {"op": "remove", "path": "/data/k"}])))
    install(MUTATING, callbacks.hook("patch", ns, path="/patch"))
    made = api.create(configmaps(ns), configmap("a", {"k": "v"}))
    assert made["data"] == {"added": "yes"}
    assert api.get(configmaps(ns, "a")) == made


def test_mutations_come_before_validation(api, ns, callbacks, install,
                                          widgets):
    sizes = []

    def validate(request):
        sizes.append(request.json()["request"]["object"]["spec"])
        return 200, review(request)

    callbacks.answer("/size", lambda r: (200, review(r, patch=[
        {"op": "replace", "path": "/spec/size", "value": 77}])))
    callbacks.answer("/check", validate)
    install(MUTATING, callbacks.hook("size", ns, path="/size",
                                     resources=["widgets"]))
    install(VALIDATING, callbacks.hook("check", ns, path="/check",
                                       resources=["widgets"]))
    made = api.create(widgets.path(ns), widgets.make("a", {"size": 1}))
    assert made["spec"]["size"] == 77
    assert sizes == [made["spec"]]  # with defaults and mutations


def test_the_name_is_told_after_a_patch_too(api, ns, callbacks, install):
    names = []

    def validate(request):
        names.append(request.json()["request"]["name"])
        return 200, review(request)

    callbacks.answer("/patch", lambda r: (200, review(r, patch=[
        {"op": "add", "path": "/data", "value": {"k": "v"}}])))
    callbacks.answer("/check", validate)
    install(MUTATING, callbacks.hook("patch", ns, path="/patch"))
    install(VALIDATING, callbacks.hook("check", ns, path="/check"))
    names.clear()
    for name in ("a", "n" * 40):
        api.create(configmaps(ns), {"metadata": {"name": name}})
    assert names == ["a", "n" * 40]


def test_what_a_patch_makes_must_be_valid(api, ns, callbacks, install,
                                          widgets):
    callbacks.answer("/size", lambda r: (200, review(r, patch=[
        {"op": "replace", "path": "/spec/size", "value": 777}])))
    install(MUTATING, callbacks.hook("size", ns, path="/size",
                                     resources=["widgets"]))
    api.refuse(422, "Invalid", "POST", widgets.path(ns), widgets.make("a"))


def test_mutations_happen_one_after_the_other(api, ns, callbacks, install):
    def appending(letter):
        def answer(request):
            value = request.json()["request"]["object"]["data"]["k"]
            return 200, review(request, patch=[
                {"op": "replace", "path": "/data/k", "value": value + letter}])
        return answer

    callbacks.answer("/one", appending("1"))
    callbacks.answer("/two", appending("2"))
    install(MUTATING, callbacks.hook("one", ns, path="/one"),
            callbacks.hook("two", ns, path="/two"))
    assert api.create(configmaps(ns), configmap("a", {"k": "x"}))["data"] == {
        "k": "x12"}


def test_reinvocation_happens_when_asked_for(api, ns, callbacks, install):
    def once(request):
        data = request.json()["request"]["object"]["data"]
        patch = [] if "late" in data else [
            {"op": "add", "path": "/data/late", "value": "yes"}]
        return 200, review(request, patch=patch)

    install(MUTATING,
            callbacks.hook("again", ns, path="/allow/again",
                           reinvocationPolicy="IfNeeded"),
            callbacks.hook("never", ns, path="/allow/never"),
            callbacks.hook("once", ns, path="/once"))
    callbacks.answer("/once", once)
    api.create(configmaps(ns), configmap("a", {"k": "v"}))
    assert len(callbacks.calls("/allow/again")) == 2
    assert len(callbacks.calls("/allow/never")) == 1


def test_dry_runs_are_told_and_side_effects_refused(api, ns, callbacks,
                                                    install):
    install(VALIDATING,
            callbacks.hook("dry", ns, sideEffects="NoneOnDryRun"))
    api.create(configmaps(ns, dryRun="All"), configmap("a"))
    (call,) = callbacks.calls("/allow")
    assert call.json()["request"]["dryRun"] is True


@pytest.fixture(name="mute")
def mute_fixture():
    """A port of the loopback that somebody has and nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_failures_refuse_or_are_ignored(api, ns, callbacks, install,
                                        mute):
    nobody = callbacks.hook("fail", ns, failurePolicy="Fail",
                            operations=["CREATE"])
    nobody["clientConfig"]["url"] = f"https://{callbacks.address}:{mute}/x"
    nobody["objectSelector"] = {"matchLabels": {"strict": "yes"}}
    lax = {**nobody, "name": "lax.conformance.ferry.io",
           "failurePolicy": "Ignore",
           "objectSelector": {"matchLabels": {"strict": "no"}}}
    install(VALIDATING, nobody, lax)
    status = api.refuse(500, "InternalError", "POST", configmaps(ns),
                        configmap("a", labels={"strict": "yes"}))
    text = ('failed calling webhook "fail.conformance.ferry.io": failed to '
            f'call webhook: Post "https://{callbacks.address}:{mute}/x?'
            f'timeout=10s": dial tcp {callbacks.address}:{mute}: connect: '
            'connection refused')
    assert status["message"] == "Internal error occurred: " + text
    assert status["details"]["causes"] == [{"message": text}]
    api.create(configmaps(ns), configmap("b", labels={"strict": "no"}))


@pytest.mark.parametrize("answer", [
    (500, "broken"), (200, "not json"), (200, {"kind": "Status"}),
    (404, "nothing")])
def test_answers_that_make_no_sense_are_failures(api, ns, callbacks, install,
                                                 answer):
    callbacks.answer("/odd", lambda request: answer)
    install(VALIDATING, callbacks.hook("odd", ns, path="/odd"))
    status = api.refuse(500, "InternalError", "POST", configmaps(ns),
                        configmap("a"))
    assert status["message"].startswith(
        'Internal error occurred: failed calling webhook '
        '"odd.conformance.ferry.io"'), status
    assert has_vanished(api, configmaps(ns, "a"))


def test_an_answer_to_something_else_is_a_failure(api, ns, callbacks,
                                                  install):
    def wrong(request):
        answer = review(request)
        answer["response"]["uid"] = "another"
        return 200, answer

    callbacks.answer("/odd", wrong)
    install(VALIDATING, callbacks.hook("odd", ns, path="/odd"))
    api.refuse(500, "InternalError", "POST", configmaps(ns), configmap("a"))


def test_slow_hooks_time_out(api, ns, callbacks, install):
    go_on = threading.Event()

    def slow(request):
        go_on.wait(20)
        return 200, review(request)

    callbacks.answer("/slow", slow)
    hook = callbacks.hook("slow", ns, path="/slow", timeout=1)
    hook["objectSelector"] = {"matchLabels": {"strict": "yes"}}
    lax = {**hook, "name": "lax.conformance.ferry.io",
           "failurePolicy": "Ignore",
           "objectSelector": {"matchLabels": {"strict": "no"}}}
    install(VALIDATING, hook, lax)
    try:
        status = api.refuse(500, "InternalError", "POST", configmaps(ns),
                            configmap("a", labels={"strict": "yes"}))
        assert "context deadline exceeded" in status["message"]
        assert has_vanished(api, configmaps(ns, "a"))
        api.create(configmaps(ns), configmap("b", labels={"strict": "no"}))
    finally:
        go_on.set()


def test_a_service_may_answer(api, ns, callbacks, install, removed_later):
    removed_later(path_of("v1", "services", SERVICE_NAMESPACE, SERVICE))
    api.create(path_of("v1", "services", SERVICE_NAMESPACE), {
        "metadata": {"name": SERVICE}, "spec": {
            "type": "ExternalName", "externalName": callbacks.address}})
    hook = callbacks.hook("service", ns)
    hook["clientConfig"] = {
        "caBundle": callbacks.ca,
        "service": {"name": SERVICE, "namespace": SERVICE_NAMESPACE,
                    "port": callbacks.port, "path": "/allow/service"}}
    install(VALIDATING, hook)
    api.create(configmaps(ns), configmap("a"))
    assert len(callbacks.calls("/allow/service")) == 1


def test_the_certificate_is_checked(api, ns, callbacks, install):
    hook = callbacks.hook("untrusted", ns)
    hook["clientConfig"].pop("caBundle")
    install(VALIDATING, hook)
    status = api.refuse(500, "InternalError", "POST", configmaps(ns),
                        configmap("a"))
    assert "failed to call webhook" in status["message"]
    assert callbacks.calls("/allow") == []


@pytest.mark.parametrize("change, field", [
    (lambda h: h.update(name="short"), "webhooks[0].name"),
    (lambda h: h.pop("sideEffects"), "webhooks[0].sideEffects"),
    (lambda h: h.update(sideEffects="Some"), "webhooks[0].sideEffects"),
    (lambda h: h.update(admissionReviewVersions=["v0"]),
     "webhooks[0].admissionReviewVersions"),
    (lambda h: h.update(timeoutSeconds=31), "webhooks[0].timeoutSeconds"),
    (lambda h: h.update(failurePolicy="Maybe"), "webhooks[0].failurePolicy"),
    (lambda h: h["clientConfig"].update(url="http://example.org"),
     "webhooks[0].clientConfig.url"),
    (lambda h: h.update(clientConfig={}), "webhooks[0].clientConfig"),
    (lambda h: h["rules"][0].update(operations=[]),
     "webhooks[0].rules[0].operations"),
])
def test_wrong_configurations_are_refused(api, ns, callback_server,
                                          removed_later, change, field):
    hook = callback_server.hook("x", ns)
    change(hook)
    removed_later(path_of(ADMISSION, "validatingwebhookconfigurations",
                          name=f"{ns}-wrong"))
    status = api.refuse(422, "Invalid", "POST", path_of(
        ADMISSION, "validatingwebhookconfigurations"),
        callback_server.configuration(VALIDATING, f"{ns}-wrong", hook))
    fields = [c["field"] for c in status["details"]["causes"]]
    assert any(f.startswith(field) for f in fields), status


def test_configurations_are_defaulted(api, ns, callback_server,
                                      removed_later):
    hook = {"name": "a.conformance.ferry.io", "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/"}}
    removed_later(path_of(ADMISSION, "mutatingwebhookconfigurations",
                          name=f"{ns}-defaults"))
    made = api.create(path_of(ADMISSION, "mutatingwebhookconfigurations"),
                      callback_server.configuration(
                          MUTATING, f"{ns}-defaults", hook))
    now = made["webhooks"][0]
    assert now["failurePolicy"] == "Fail"
    assert now["matchPolicy"] == "Equivalent"
    assert now["timeoutSeconds"] == 10
    assert now["reinvocationPolicy"] == "Never"
    assert now["namespaceSelector"] == {}
    assert now["objectSelector"] == {}
