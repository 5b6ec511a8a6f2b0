# SPDX-License-Identifier: Apache-2.0
"""The proxy that injects faults does so, and is a plain proxy otherwise."""

import http.client
import threading

import pytest

from faults import ANSWERS, Faults
from faults_seen import is_create, is_write
from kubeapi import Api, read_kubeconfig, wait_for

GONE = (http.client.RemoteDisconnected, ConnectionError)


@pytest.fixture(name="faults")
def faults_(cluster):
    with Faults(cluster) as made:
        yield made


@pytest.fixture(name="client")
def client_(faults, tmp_path):
    made = Api(**read_kubeconfig(faults.kubeconfig, str(tmp_path)))
    yield made
    made.close()


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name}}


def test_without_faults_it_is_the_server(cluster, client, namespace, faults):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    made = client.create(path, config_map("one"))
    assert cluster.api().get(f"{path}/one") == made
    with client.watch(f"{path}?resourceVersion="
                      f"{made['metadata']['resourceVersion']}") as watch:
        client.delete(f"{path}/one")
        assert watch.next()["type"] == "DELETED"
    assert [(s.method, s.code) for s in faults.writes()] == [
        ("POST", 201), ("DELETE", 200)]


@pytest.mark.parametrize("kind", sorted(ANSWERS))
def test_a_planned_answer_comes_once(client, namespace, faults, kind):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    faults.plan(kind, is_write)
    code, later = ANSWERS[kind]
    client.get(path)
    answer = client.request("POST", path, config_map("two"))
    assert answer.code == code and answer.json()["code"] == code
    assert answer.headers.get("Retry-After") == later
    client.create(path, config_map("two"))


def test_what_is_done_may_be_answered_with_a_failure(cluster, client,
                                                     namespace, faults):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    faults.plan("500-done", is_create("configmaps"))
    assert client.request("POST", path, config_map("done")).code == 500
    assert cluster.api().request("GET", f"{path}/done").code == 200


@pytest.mark.parametrize("kind, done", [("reset", False), ("lost", True)])
def test_a_broken_connection(cluster, client, namespace, faults, kind, done):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    client.get(path)
    faults.plan(kind, is_create("configmaps"), count=2)
    with pytest.raises(GONE):
        client.request("POST", path, config_map("three"))
    found = cluster.api().request("GET", f"{path}/three").code
    assert found == (200 if done else 404)


@pytest.mark.parametrize("kind, done", [("hang", False),
                                        ("lost-slowly", True)])
def test_what_hangs_ends_when_it_is_released(cluster, client, namespace,
                                             faults, kind, done):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    faults.plan(kind, is_create("configmaps"), count=2)
    failed = []

    def ask():
        try:
            client.request("POST", path, config_map("four"))
        except GONE as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_for("a request that hangs", lambda: faults.hung)
    found = cluster.api().request("GET", f"{path}/four").code
    assert found == (200 if done else 404)
    # kubeapi tries a second time, on a new connection.
    wait_for("the end", lambda: faults.release_hung() or failed)
    thread.join()


def test_a_watch_is_cut_without_an_end(client, namespace, faults):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    client.create(path, config_map("five"))
    with client.watch(path) as watch:
        assert watch.next()["type"] == "ADDED"
        assert faults.cut_watches("configmaps") == 1
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            watch.response.read()


def test_chance_depends_on_the_seed_alone(client, namespace, faults):
    path = f"/api/v1/namespaces/{namespace}/configmaps"

    def codes(seed):
        faults.plague(seed, 0.5, kinds=("500", "503"))
        return [client.request("GET", path).code for _ in range(40)]
    first = codes(7)
    assert set(first) == {200, 500, 503}
    assert codes(7) == first
    assert codes(8) != first
    faults.heal()
    assert client.request("GET", path).code == 200
