# SPDX-License-Identifier: Apache-2.0
"""Watches: order, resumption, selectors, ends."""

import json
import threading
import time

import pytest

from kubeapi import path_of
from objects import configmap, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@pytest.fixture
def at(ns):
    return lambda name=None, **query: path_of("v1", "configmaps", ns, name,
                                              **query)


@pytest.fixture
def put(api, at):
    """Creates or changes ConfigMaps; returns their resourceVersions."""
    def write(name, value, **labels):
        patch = {"data": {"v": str(value)}, "metadata": {"labels": labels}}
        answer = api.request("PATCH", at(name), patch, headers={
            "Content-Type": "application/merge-patch+json"})
        if answer.code == 404:
            return version(api.create(at(), configmap(
                name, {"v": str(value)}, labels=labels)))
        assert answer.code == 200, answer
        return version(answer.json())
    return write


def version(item):
    return int(item["metadata"]["resourceVersion"])


def brief(event):
    return event["type"], event["object"]["metadata"]["name"]


def now(api, at):
    return api.get(at(limit=1))["metadata"]["resourceVersion"]


def test_changes_come_in_order(api, at, put):
    with api.watch(at(resourceVersion=now(api, at))) as watch:
        versions = [put("a", 1), put("b", 1), put("a", 2)]
        api.delete(at("a"))
        events = [watch.next() for _ in range(4)]
    assert [brief(e) for e in events] == [
        ("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert [version(e["object"]) for e in events[:3]] == versions
    assert version(events[3]["object"]) > versions[2]
    assert events[2]["object"]["data"] == {"v": "2"}
    assert events[3]["object"]["data"] == {"v": "2"}
    assert events[0]["object"]["kind"] == "ConfigMap"
    assert events[0]["object"]["apiVersion"] == "v1"


def test_the_stream_begins_at_once(api, at):
    with api.watch(at(resourceVersion=now(api, at))) as watch:
        assert watch.response.status == 200
        assert watch.response.headers["Content-Type"] == "application/json"
        assert watch.response.headers["Transfer-Encoding"] == "chunked"


@pytest.mark.parametrize("start", [None, "", "0"])
def test_without_a_version_what_is_there_comes_first(api, at, put, start):
    put("a", 1)
    put("b", 1)
    put("a", 2)
    selector = "metadata.name!=kube-root-ca.crt"
    with api.watch(at(resourceVersion=start, fieldSelector=selector)) as watch:
        first = sorted(brief(watch.next()) for _ in range(2))
        assert first == [("ADDED", "a"), ("ADDED", "b")]
        put("c", 1)
        assert brief(watch.next()) == ("ADDED", "c")


def test_a_watch_goes_on_where_another_ended(api, at, put):
    start = now(api, at)
    for n in range(30):
        put(f"n{n % 7}", n)
    api.delete(at("n3"))
    with api.watch(at(resourceVersion=start)) as watch:
        whole = [watch.next() for _ in range(31)]
    versions = [version(e["object"]) for e in whole]
    assert versions == sorted(set(versions))
    for cut in (1, 10, 29, 30):
        with api.watch(at(resourceVersion=versions[cut - 1])) as watch:
            rest = [watch.next() for _ in range(31 - cut)]
        assert rest == whole[cut:]


def test_resuming_in_a_storm_misses_and_repeats_nothing(api, at, clients, ns):
    writer = clients.admin()
    start = now(api, at)
    total = 150
    written = []

    def storm():
        for n in range(total):
            path = path_of("v1", "configmaps", ns)
            written.append(version(writer.create(
                path, configmap(f"s{n:03d}", labels={"storm": "yes"}))))

    thread = threading.Thread(target=storm)
    thread.start()
    seen = []
    try:
        while len(seen) < total:
            with api.watch(at(resourceVersion=start,
                              labelSelector="storm")) as watch:
                for _ in range(min(13, total - len(seen))):
                    event = watch.next()
                    assert event["type"] == "ADDED", event
                    seen.append(version(event["object"]))
            start = seen[-1]
    finally:
        thread.join()
    assert seen == written


def test_list_then_watch_leaves_no_gap(api, at, put, clients):
    put("a", 0)
    writer = clients.admin()
    done = threading.Event()

    def storm():
        n = 0
        while not done.is_set():
            n += 1
            writer.patch(at("a"), {"data": {"v": str(n)}})

    thread = threading.Thread(target=storm)
    thread.start()
    try:
        for _ in range(10):
            listed = api.get(at(fieldSelector="metadata.name=a"))
            value = int(listed["items"][0]["data"]["v"])
            start = listed["metadata"]["resourceVersion"]
            with api.watch(at(resourceVersion=start,
                              fieldSelector="metadata.name=a")) as watch:
                for _ in range(5):
                    value += 1
                    event = watch.next()
                    assert event["type"] == "MODIFIED"
                    assert event["object"]["data"]["v"] == str(value)
    finally:
        done.set()
        thread.join()


def test_watches_of_all_namespaces(api, widgets, new_namespace):
    one, other = new_namespace(wait=False), new_namespace(wait=False)
    start = api.get(widgets.path(limit=1))["metadata"]["resourceVersion"]
    with api.watch(widgets.path(resourceVersion=start)) as watch:
        api.create(widgets.path(one), widgets.make("a"))
        api.create(widgets.path(other), widgets.make("b"))
        seen = []
        while len(seen) < 2:
            event = watch.next()
            meta = event["object"]["metadata"]
            if meta["namespace"] in (one, other):
                seen.append((meta["namespace"], meta["name"]))
    assert seen == [(one, "a"), (other, "b")]


def test_selections_are_entered_and_left(api, at, put):
    start = now(api, at)
    with api.watch(at(resourceVersion=start,
                      labelSelector="in=yes")) as watch:
        put("a", 1)
        put("a", 2, **{"in": "yes"})
        event = watch.next()
        assert brief(event) == ("ADDED", "a")
        assert event["object"]["data"]["v"] == "2"
        put("a", 3, **{"in": "yes"})
        assert brief(watch.next()) == ("MODIFIED", "a")
        last = put("a", 4, **{"in": "no"})
        event = watch.next()
        assert brief(event) == ("DELETED", "a")
        assert event["object"]["data"]["v"] == "3"  # as it was inside
        assert version(event["object"]) == last
        put("a", 5, **{"in": "no"})
        put("b", 1, **{"in": "yes"})
        assert brief(watch.next()) == ("ADDED", "b")
        api.delete(at("a"))
        api.delete(at("b"))
        assert brief(watch.next()) == ("DELETED", "b")


def test_one_object_is_watched_by_its_name(api, at, put):
    start = now(api, at)
    with api.watch(at(resourceVersion=start,
                      fieldSelector="metadata.name=a")) as watch:
        put("b", 1)
        put("a", 1)
        assert brief(watch.next()) == ("ADDED", "a")
        put("b", 2)
        api.delete(at("b"))
        api.delete(at("a"))
        assert brief(watch.next()) == ("DELETED", "a")


def test_field_selectors_follow_changes(api, ns):
    pods = path_of("v1", "pods", ns)
    start = api.get(pods)["metadata"]["resourceVersion"]
    with api.watch(path_of("v1", "pods", ns, resourceVersion=start,
                           fieldSelector="status.phase=Failed")) as watch:
        api.create(pods, pod("p"))
        api.patch(f"{pods}/p/status", {"status": {"phase": "Failed"}})
        event = watch.next()
        assert brief(event) == ("ADDED", "p")
        api.delete(f"{pods}/p", {"gracePeriodSeconds": 0})
        event = watch.until(lambda e: e["type"] == "DELETED")
        assert brief(event) == ("DELETED", "p")


def test_a_forgotten_version_is_gone(api, at, forgotten):
    with api.watch(at(resourceVersion=forgotten)) as watch:
        event = watch.next()
        assert event["type"] == "ERROR"
        status = event["object"]
        assert status["kind"] == "Status" and status["status"] == "Failure"
        assert status["code"] == 410 and status["reason"] == "Expired"
        assert status["message"].startswith(
            f"too old resource version: {forgotten} (")
        assert watch.next() is None


def test_a_bad_version_is_refused(api, at):
    answer = api.request("GET", at(watch="true", resourceVersion="abc"))
    assert answer.code in (400, 500), answer
    assert "abc" in answer.json()["message"]


def test_a_watch_ends_in_time(api, at, put):
    start = time.monotonic()
    put("a", 1)
    with api.watch(at(timeoutSeconds=1,
                      fieldSelector="metadata.name=a")) as watch:
        assert [brief(e) for e in watch.rest()] == [("ADDED", "a")]
    assert 0.5 < time.monotonic() - start < 20


def test_bad_selectors_are_refused(api, at):
    api.refuse(400, "BadRequest", "GET", at(watch="true",
                                            labelSelector="a b"))
    api.refuse(400, "BadRequest", "GET", at(watch="true",
                                            fieldSelector="spec.foo=1"))


def test_the_old_paths_work(api, ns, at, put):
    start = now(api, at)
    put("a", 1)
    with api.watch(f"/api/v1/watch/namespaces/{ns}/configmaps"
                   f"?resourceVersion={start}") as watch:
        assert brief(watch.next()) == ("ADDED", "a")


def test_tables_are_watched(api, ns, widgets):
    start = api.get(widgets.path(ns))["metadata"]["resourceVersion"]
    connection = api.connect()
    path = widgets.path(ns, watch="true", resourceVersion=start)
    try:
        response = api.start("GET", path, headers={"Accept": TABLE},
                             connection=connection)
        api.create(widgets.path(ns), widgets.make("a", {"size": 5}))
        api.patch(widgets.path(ns, "a"), {"spec": {"size": 6}})
        first, second = (json.loads(response.readline()) for _ in range(2))
    finally:
        connection.close()
    assert first["type"] == "ADDED" and second["type"] == "MODIFIED"
    assert first["object"]["kind"] == "Table"
    assert first["object"]["columnDefinitions"][1]["name"] == "Size"
    assert first["object"]["rows"][0]["cells"][:2] == ["a", 5]
    assert not second["object"].get("columnDefinitions")
    assert second["object"]["rows"][0]["cells"][:2] == ["a", 6]


def test_both_versions_see_the_same_events(api, ns, widgets):
    start = api.get(widgets.path(ns))["metadata"]["resourceVersion"]
    watches = [api.watch(widgets.path(ns, version=v, resourceVersion=start))
               for v in ("v1", "v1beta1")]
    try:
        api.create(widgets.path(ns), widgets.make("a"))
        for watch, name in zip(watches, ("v1", "v1beta1")):
            event = watch.next()
            assert brief(event) == ("ADDED", "a")
            assert event["object"]["apiVersion"] == f"{widgets.group}/{name}"
    finally:
        for watch in watches:
            watch.close()


def test_many_watch_at_once(api, at, put):
    start = now(api, at)
    watches = [api.watch(at(resourceVersion=start)) for _ in range(20)]
    try:
        versions = [put(f"m{n}", n) for n in range(10)]
        for watch in watches:
            assert [version(watch.next()["object"])
                    for _ in range(10)] == versions
    finally:
        for watch in watches:
            watch.close()


def test_initial_events_end_with_a_bookmark(api, at, put):
    put("a", 1)
    put("b", 1)
    path = at(sendInitialEvents="true", allowWatchBookmarks="true",
              resourceVersionMatch="NotOlderThan", timeoutSeconds=30,
              fieldSelector="metadata.name!=kube-root-ca.crt")
    answer = None
    try:
        watch = api.watch(path)
    except AssertionError as refusal:
        answer = str(refusal)
    if answer:
        assert " 422 " in answer, answer
        pytest.skip("this server has no sendInitialEvents")
    with watch:
        assert sorted(brief(watch.next()) for _ in range(2)) == [
            ("ADDED", "a"), ("ADDED", "b")]
        mark = watch.next()
        assert mark["type"] == "BOOKMARK"
        meta = mark["object"]["metadata"]
        assert meta["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert mark["object"]["kind"] == "ConfigMap"
        assert int(meta["resourceVersion"]) > 0
        put("c", 1)
        assert brief(watch.next()) == ("ADDED", "c")


@pytest.mark.first
def test_a_watch_stays_open(long_watch):
    """While the other tests run; see the next one."""
    assert long_watch.response.status == 200


@pytest.mark.last
def test_bookmarks_tell_how_far_a_watch_has_come(api, long_watch, at, put):
    event = long_watch.next()
    assert event["type"] == "BOOKMARK", event
    assert event["object"]["kind"] == "ConfigMap"
    assert set(event["object"]["metadata"]) <= {"resourceVersion",
                                                "creationTimestamp"}
    mark = version(event["object"])
    # Nothing that it selects has changed, and yet it has come further.
    assert mark > long_watch.start
    with api.watch(at(resourceVersion=mark)) as watch:
        put("c", 1)
        watch.until(lambda e: brief(e) == ("ADDED", "c"))
