# SPDX-License-Identifier: Apache-2.0
"""Deleting: answers, preconditions, finalizers, collections, pods."""

import datetime

import pytest

from kubeapi import has_vanished, path_of, wait_gone
from objects import configmap, pod

HELD = "conformance.ferry.io/held"


def configmaps(ns, name=None, **query):
    return path_of("v1", "configmaps", ns, name, **query)


def pods(ns, name=None, **query):
    return path_of("v1", "pods", ns, name, **query)


@pytest.fixture
def held(api, ns, widgets):
    """A Widget with a finalizer, and where it is."""
    made = api.create(widgets.path(ns),
                      widgets.make("a", finalizers=[HELD]))
    return made, widgets.path(ns, "a")


def test_the_answer_says_what_is_gone(api, ns, widgets):
    made = api.create(widgets.path(ns), widgets.make("a"))
    gone = api.delete(widgets.path(ns, "a"))
    assert gone["kind"] == "Status" and gone["status"] == "Success"
    assert gone["details"] == {"name": "a", "group": widgets.group,
                               "kind": "widgets",
                               "uid": made["metadata"]["uid"]}
    status = api.refuse(404, "NotFound", "GET", widgets.path(ns, "a"))
    assert status["message"] == f'{widgets.resource} "a" not found'
    api.refuse(404, "NotFound", "DELETE", widgets.path(ns, "a"))


@pytest.mark.parametrize("options", [
    None, {}, {"kind": "DeleteOptions", "apiVersion": "v1"},
    {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"},
    {"propagationPolicy": "Background"}, {"gracePeriodSeconds": 0}])
def test_options_come_in_several_shapes(api, ns, options):
    api.create(configmaps(ns), configmap("a"))
    api.delete(configmaps(ns, "a"), options)
    assert has_vanished(api, configmaps(ns, "a"))


def test_options_may_name_the_group_of_the_kind(api, ns, widgets):
    api.create(widgets.path(ns), widgets.make("a"))
    api.delete(widgets.path(ns, "a"), {"kind": "DeleteOptions",
                                       "apiVersion": f"{widgets.group}/v1"})
    assert has_vanished(api, widgets.path(ns, "a"))


def test_preconditions_must_hold(api, ns, widgets):
    made = api.create(widgets.path(ns), widgets.make("a"))
    path = widgets.path(ns, "a")
    uid = made["metadata"]["uid"]
    version = made["metadata"]["resourceVersion"]
    status = api.refuse(409, "Conflict", "DELETE", path,
                        {"preconditions": {"uid": "aaaa"}})
    assert status["message"] == (
        f'Operation cannot be fulfilled on Widget.{widgets.group} "a": the '
        f'UID in the precondition (aaaa) does not match the UID in record '
        f'({uid}). The object might have been deleted and then recreated')
    status = api.refuse(409, "Conflict", "DELETE", path,
                        {"preconditions": {"resourceVersion": "1"}})
    assert (f'the ResourceVersion in the precondition (1) does not match the '
            f'ResourceVersion in record ({version}). The object might have '
            f'been modified') in status["message"]
    assert api.get(path) == made
    api.delete(path, {"preconditions": {"uid": uid,
                                        "resourceVersion": version}})
    assert has_vanished(api, path)


@pytest.mark.parametrize("options", [
    {"propagationPolicy": "Zork"},
    {"propagationPolicy": "Background", "orphanDependents": True}])
def test_bad_options_are_refused(api, ns, options):
    api.create(configmaps(ns), configmap("a"))
    status = api.refuse(422, "Invalid", "DELETE", configmaps(ns, "a"),
                        options)
    assert status["message"].startswith('DeleteOptions.meta.k8s.io "" is '
                                        'invalid: propagationPolicy: ')
    assert not has_vanished(api, configmaps(ns, "a"))


def test_a_dry_run_deletes_nothing(api, ns):
    made = api.create(configmaps(ns), configmap("a"))
    api.delete(configmaps(ns, "a", dryRun="All"))
    api.delete(configmaps(ns, "a"), {"dryRun": ["All"]})
    api.delete(configmaps(ns, dryRun="All"))
    assert api.get(configmaps(ns, "a")) == made


def test_finalizers_hold_an_object(api, held):
    made, path = held
    gone = api.delete(path)
    meta = gone["metadata"]
    assert gone["kind"] == "Widget"
    assert meta["deletionTimestamp"]
    assert meta["deletionGracePeriodSeconds"] == 0
    assert meta["generation"] == made["metadata"]["generation"] + 1
    assert api.get(path) == gone
    assert api.delete(path) == gone  # again: nothing is written
    now = api.patch(path, {"metadata": {"finalizers": None}})
    assert "finalizers" not in now["metadata"]
    assert now["metadata"]["deletionTimestamp"]
    assert has_vanished(api, path)


def test_an_update_may_remove_the_last_finalizer(api, held):
    _, path = held
    gone = api.delete(path)
    del gone["metadata"]["finalizers"]
    api.put(path, gone)
    assert has_vanished(api, path)


def test_each_finalizer_holds(api, ns):
    api.create(configmaps(ns), configmap("a", finalizers=[HELD, HELD + "2"]))
    path = configmaps(ns, "a")
    api.delete(path)
    api.patch(path, {"metadata": {"finalizers": [HELD + "2"]}})
    assert not has_vanished(api, path)
    api.patch(path, {"metadata": {"finalizers": []}})
    assert has_vanished(api, path)


def test_none_is_added_while_deleting(api, held):
    _, path = held
    api.delete(path)
    status = api.refuse(422, "Invalid", "PATCH", path,
                        {"metadata": {"finalizers": [HELD, "b.io/y"]}},
                        kind="merge")
    assert ('metadata.finalizers: Forbidden: no new finalizers can be added '
            'if the object is being deleted, found new finalizers '
            '[]string{"b.io/y"}') in status["message"]
    api.patch(path, {"metadata": {"finalizers": None}})


def test_deletion_cannot_be_undone(api, held):
    _, path = held
    gone = api.delete(path)
    now = api.patch(path, {"metadata": {"deletionTimestamp": None,
                                        "labels": {"a": "b"}}})
    assert now["metadata"]["deletionTimestamp"] == \
        gone["metadata"]["deletionTimestamp"]
    assert now["metadata"]["labels"] == {"a": "b"}
    api.patch(path, {"metadata": {"finalizers": None}})


def test_watches_see_it_in_order(api, ns, held, widgets):
    made, path = held
    start = made["metadata"]["resourceVersion"]
    with api.watch(widgets.path(ns, resourceVersion=start)) as watch:
        api.delete(path)
        marked = watch.next()
        assert marked["type"] == "MODIFIED"
        assert marked["object"]["metadata"]["deletionTimestamp"]
        api.patch(path, {"metadata": {"finalizers": None}})
        last = watch.next()
        assert last["type"] == "DELETED"
        versions = [int(e["object"]["metadata"]["resourceVersion"])
                    for e in (marked, last)]
        assert int(start) < versions[0] < versions[1]


def test_a_collection_is_deleted_by_selector(api, ns):
    for name, group in (("a", "x"), ("b", "x"), ("c", "y")):
        api.create(configmaps(ns), configmap(name, labels={"group": group}))
    gone = api.delete(configmaps(ns, labelSelector="group=x"))
    assert gone["kind"] == "ConfigMapList"
    assert sorted(i["metadata"]["name"] for i in gone["items"]) == ["a", "b"]
    assert has_vanished(api, configmaps(ns, "a"))
    assert has_vanished(api, configmaps(ns, "b"))
    assert not has_vanished(api, configmaps(ns, "c"))
    api.delete(configmaps(ns, fieldSelector="metadata.name=c"))
    assert has_vanished(api, configmaps(ns, "c"))
    assert api.delete(configmaps(ns, labelSelector="group=x"))["items"] == []


def test_a_collection_respects_finalizers_and_namespaces(
        api, new_namespace, widgets):
    one, other = new_namespace(), new_namespace()
    api.create(widgets.path(one), widgets.make("a", finalizers=[HELD]))
    api.create(widgets.path(one), widgets.make("b"))
    api.create(widgets.path(other), widgets.make("a"))
    api.delete(widgets.path(one))
    assert has_vanished(api, widgets.path(one, "b"))
    left = api.get(widgets.path(one, "a"))
    assert left["metadata"]["deletionTimestamp"]
    assert not has_vanished(api, widgets.path(other, "a"))
    api.patch(widgets.path(one, "a"), {"metadata": {"finalizers": None}})


def test_system_namespaces_stay(api):
    status = api.refuse(403, "Forbidden", "DELETE",
                        path_of("v1", "namespaces", name="kube-system"))
    assert status["message"] == ('namespaces "kube-system" is forbidden: '
                                 'this namespace may not be deleted')


def test_a_namespace_takes_its_content_along(api, new_namespace, widgets):
    ns = new_namespace()
    api.create(configmaps(ns), configmap("a"))
    api.create(widgets.path(ns), widgets.make("a"))
    api.create(pods(ns), pod("p"))
    gone = api.delete(path_of("v1", "namespaces", name=ns))
    assert gone["metadata"]["deletionTimestamp"]
    assert gone["status"]["phase"] == "Terminating"
    assert gone["spec"]["finalizers"] == ["kubernetes"]
    wait_gone(api, path_of("v1", "namespaces", name=ns))
    assert has_vanished(api, configmaps(ns, "a"))
    assert has_vanished(api, widgets.path(ns, "a"))
    assert has_vanished(api, pods(ns, "p"))


def test_pods_nowhere_go_at_once(api, ns):
    api.create(pods(ns), pod("p"))
    gone = api.delete(pods(ns, "p"))
    assert gone["kind"] == "Pod"
    assert gone["metadata"]["deletionGracePeriodSeconds"] == 0
    assert has_vanished(api, pods(ns, "p"))


def lifetime(metadata):
    """Seconds from the creation to the announced end, by the server's clock."""
    start, end = (datetime.datetime.strptime(metadata[key],
                                             "%Y-%m-%dT%H:%M:%SZ")
                  for key in ("creationTimestamp", "deletionTimestamp"))
    return (end - start).total_seconds()


def test_pods_on_a_node_get_time_to_end(api, ns):
    api.create(pods(ns), pod("p", node="conformance-no-node"))
    gone = api.delete(pods(ns, "p"))
    meta = gone["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 30
    assert 30 <= lifetime(meta) < 45
    assert not has_vanished(api, pods(ns, "p"))
    shorter = api.delete(pods(ns, "p"), {"gracePeriodSeconds": 5})["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5
    assert 5 <= lifetime(shorter) < 20
    longer = api.delete(pods(ns, "p"), {"gracePeriodSeconds": 50})["metadata"]
    assert longer["deletionGracePeriodSeconds"] == 5
    api.delete(pods(ns, "p"), {"gracePeriodSeconds": 0})
    assert has_vanished(api, pods(ns, "p"))


def test_a_pod_says_how_much_time_it_wants(api, ns):
    api.create(pods(ns), pod("p", node="conformance-no-node", grace=7))
    assert api.delete(pods(ns, "p"))["metadata"][
        "deletionGracePeriodSeconds"] == 7
    api.delete(pods(ns, "p", gracePeriodSeconds=0))
    assert has_vanished(api, pods(ns, "p"))
