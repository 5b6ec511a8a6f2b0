# SPDX-License-Identifier: Apache-2.0
"""ferry-cluster where requests meet: webhooks that answer anything, writes
that race, deletions in bulk, and a server that stops in the middle."""

import resource
import signal
import threading

import pytest

from clusters import Cluster
from proxies import wait_for

from callbacks import ADMISSION, Callbacks, review
from kubeapi import path_of
from objects import configmap, pod

NS = "default"
RACES = 40


@pytest.fixture(scope="module")
def callbacks():
    with Callbacks("127.0.0.1") as server:
        yield server


@pytest.fixture
def cluster():
    with Cluster() as running:
        yield running


def configmaps(name=None, **query):
    return path_of("v1", "configmaps", NS, name, **query)


def pods(name=None, sub=None, **query):
    return path_of("v1", "pods", NS, name, sub, **query)


def install(api, kind, *hooks):
    """Configurations count as soon as they are answered for."""
    api.create(path_of(ADMISSION, kind.lower() + "s"),
               Callbacks.configuration(kind, "edges", *hooks))


def patching(*operations):
    return lambda request: (200, review(request, patch=list(operations)))


@pytest.mark.parametrize("value", [[5], {"a": 1}, "text"])
def test_a_webhook_cannot_break_the_types_of_metadata(cluster, callbacks,
                                                      value):
    api = cluster.api()
    callbacks.answer("/types", patching(
        {"op": "add", "path": "/metadata/finalizers", "value": value}))
    install(api, "MutatingWebhookConfiguration",
            callbacks.hook("types", NS, path="/types"))
    answer = api.request("POST", configmaps(), configmap("a"))
    assert 400 <= answer.code < 600 and answer.json()["kind"] == "Status"
    assert api.request("GET", configmaps("a")).code == 404


def test_a_webhook_cannot_change_what_is_the_servers(cluster, callbacks):
    api = cluster.api()
    made = api.create(configmaps(), configmap("a", {"k": "1"}))
    callbacks.answer("/own", patching(
        {"op": "add", "path": "/metadata/uid", "value": "other"},
        {"op": "add", "path": "/metadata/creationTimestamp",
         "value": "2001-01-01T00:00:00Z"},
        {"op": "add", "path": "/metadata/deletionTimestamp",
         "value": "2001-01-01T00:00:00Z"}))
    install(api, "MutatingWebhookConfiguration",
            callbacks.hook("own", NS, path="/own",
                           operations=("CREATE", "UPDATE")))
    created = api.create(configmaps(), configmap("b"))["metadata"]
    assert created["uid"] != "other"
    assert created["creationTimestamp"] > "2020"
    assert "deletionTimestamp" not in created
    api.request("PATCH", configmaps("a"), {"data": {"k": "2"}},
                {"Content-Type": "application/merge-patch+json"})
    assert api.get(configmaps("a"))["metadata"]["uid"] == \
        made["metadata"]["uid"]


@pytest.mark.parametrize("member", ["name", "namespace"])
def test_a_webhook_cannot_move_an_object(cluster, callbacks, member):
    api = cluster.api()
    api.create(configmaps(), configmap("a"))
    callbacks.answer("/move", patching(
        {"op": "add", "path": f"/metadata/{member}", "value": "kube-public"}))
    install(api, "MutatingWebhookConfiguration",
            callbacks.hook("move", NS, path="/move",
                           operations=("UPDATE",)))
    answer = api.request("PATCH", configmaps("a"), {"data": {"k": "2"}},
                         {"Content-Type": "application/merge-patch+json"})
    assert 400 <= answer.code < 600, answer
    for namespace in (NS, "kube-public"):
        path = path_of("v1", "configmaps", namespace, "kube-public")
        assert api.request("GET", path).code == 404


def test_a_binding_without_target_binds_nothing(cluster, callbacks):
    api = cluster.api()
    api.create(pods(), pod("a"))
    callbacks.answer("/target", patching(
        {"op": "remove", "path": "/target/name"}))
    install(api, "MutatingWebhookConfiguration",
            callbacks.hook("target", NS, path="/target",
                           resources=("pods/binding",)))
    answer = api.request("POST", pods("a", "binding"), {
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "n1"}})
    assert answer.code == 422, answer
    assert "True" not in [c["status"] for c in
                          api.get(pods("a")).get("status", {}).get(
                              "conditions", []) if c["type"] == "PodScheduled"]


def test_a_binding_counts_for_the_pod_it_names(cluster):
    api = cluster.api()
    api.create(pods(), pod("a"))
    binding = {"apiVersion": "v1", "kind": "Binding",
               "metadata": {"name": "a", "uid": "of-another"},
               "target": {"kind": "Node", "name": "n1"}}
    api.refuse(409, "Conflict", "POST", pods("a", "binding"), binding)
    assert "nodeName" not in api.get(pods("a"))["spec"]


def test_a_dry_run_finalizes_nothing(cluster):
    api = cluster.api()
    api.create("/api/v1/namespaces", {"metadata": {"name": "x"}})
    made = api.get("/api/v1/namespaces/x")
    made["spec"] = {}
    api.put("/api/v1/namespaces/x/finalize?dryRun=All", made)
    assert api.get("/api/v1/namespaces/x")["spec"] == \
        {"finalizers": ["kubernetes"]}


def test_a_long_list_is_sent_as_it_is_stored(cluster):
    """Line breaks are for people, who do not read megabytes."""
    api = cluster.api()
    for i in range(8):
        api.create(configmaps(), configmap(f"c{i}", {"k": "v" * 100000}))
    answer = api.request("GET", configmaps(pretty="true"))
    assert len(answer.json()["items"]) >= 8
    assert b"\n  " not in answer.body
    answer = api.request("GET", configmaps("c0", pretty="true"))
    assert b"\n  " in answer.body


def test_long_answers_carry_warnings_too(cluster):
    api = cluster.api()
    path = path_of("kubevirt.io/v1alpha3", "virtualmachineinstancemigrations",
                   NS)
    short = api.request("GET", path).warnings()
    assert short
    for i in range(3):
        api.create(path, {
            "apiVersion": "kubevirt.io/v1alpha3",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"name": f"m{i}", "annotations": {"a": "v" * 200000}},
            "spec": {"vmiName": "vm"}})
    long = api.request("GET", path)
    assert len(long.body) > 500000
    assert long.warnings() == short
    watch = api.request("GET", path + "?watch=true&timeoutSeconds=1")
    assert watch.warnings() == short


def test_it_takes_as_many_descriptors_as_it_may_have():
    own = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, own[1]))
    try:
        with Cluster() as cluster:
            assert resource.prlimit(cluster.popen.pid,
                                    resource.RLIMIT_NOFILE) == \
                (own[1], own[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, own)


def in_parallel(cluster, count, work):
    """work(api, number) in threads; what each returned."""
    results = [None] * count
    clients = [cluster.api() for _ in range(count)]

    def run(i):
        results[i] = work(clients[i], i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_what_is_refused_for_existing_can_be_read(cluster):
    """A refusal must not tell of a write that a crash could take back."""
    def race(api, _):
        for i in range(RACES):
            answer = api.request("POST", configmaps(), configmap(f"r{i}"))
            if answer.code == 409:
                seen = api.request("GET", configmaps(f"r{i}")).code
                if seen != 200:
                    return f"r{i} exists and is not there: {seen}"
        return None

    assert in_parallel(cluster, 4, race) == [None] * 4


def test_what_is_refused_for_being_gone_is_gone(cluster):
    api = cluster.api()
    for i in range(RACES):
        api.create(configmaps(), configmap(f"r{i}"))

    def race(api, _):
        for i in range(RACES):
            answer = api.request("DELETE", configmaps(f"r{i}"))
            if answer.code == 404:
                seen = api.request("GET", configmaps(f"r{i}")).code
                if seen != 404:
                    return f"r{i} is gone and is still there: {seen}"
        return None

    assert in_parallel(cluster, 4, race) == [None] * 4


def test_deleting_many_outlives_changes_and_history(callbacks):
    """Objects that change while webhooks are asked, and are forgotten."""
    entered, go_on = threading.Semaphore(0), threading.Event()

    def wait(request):
        entered.release()
        go_on.wait(30)
        return 200, review(request)

    with Cluster("--history", "1") as cluster:
        api, other = cluster.api(), cluster.api()
        for i in range(8):
            api.create(configmaps(), configmap(f"m{i}", labels={"m": "y"}))
        callbacks.answer("/slow", wait)
        install(api, "ValidatingWebhookConfiguration",
                callbacks.hook("slow", NS, path="/slow",
                               operations=("DELETE",), timeout=30))
        answers = []
        thread = threading.Thread(target=lambda: answers.append(
            api.request("DELETE", configmaps(labelSelector="m=y"))))
        thread.start()
        assert entered.acquire(timeout=30)
        for i in range(8):
            other.patch(configmaps(f"m{i}"), {"data": {"k": "v"}})
        for i in range(8):
            other.create(configmaps(), configmap(f"n{i}"))
        go_on.set()
        thread.join()
        assert answers[0].code == 200, answers[0]
        assert len(answers[0].json()["items"]) == 8
        left = api.get(configmaps(labelSelector="m=y"))["items"]
        assert left == []
        assert cluster.stop() == 0, cluster.log()


def test_stopping_ends_what_waits_for_a_webhook(callbacks):
    entered, go_on = threading.Semaphore(0), threading.Event()

    def wait(request):
        entered.release()
        go_on.wait(30)
        return 200, review(request)

    callbacks.answer("/stuck", wait)
    with Cluster() as cluster:
        api = cluster.api()
        api.create(configmaps(), configmap("a"))
        install(api, "ValidatingWebhookConfiguration",
                callbacks.hook("stuck", NS, path="/stuck", timeout=30,
                               operations=("CREATE", "UPDATE", "DELETE")))
        bodies = [("POST", configmaps(), configmap("b")),
                  ("PUT", configmaps("a"), configmap("a", {"k": "v"})),
                  ("DELETE", configmaps("a"), None),
                  ("DELETE", configmaps(), None)]

        def ask(method, path, body):
            try:
                cluster.api().request(method, path, body)
            except OSError:
                pass  # cut off, as is to be expected

        threads = [threading.Thread(target=ask, args=b) for b in bodies]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert entered.acquire(timeout=30)
        cluster.popen.send_signal(signal.SIGTERM)
        wait_for("the signal", lambda: "stopping" in cluster.log())
        assert cluster.stop() == 0, cluster.log()
        go_on.set()
        for thread in threads:
            thread.join()
