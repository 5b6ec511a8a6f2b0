# SPDX-License-Identifier: Apache-2.0
"""Replacing and patching objects, conflicts, status, generation."""

import copy
import threading

import pytest

from kubeapi import PATCH_TYPES, path_of
from objects import configmap, definition, pod, unique

MODIFIED = ("the object has been modified; please apply your changes to the "
            "latest version and try again")


@pytest.fixture
def widget(api, ns, widgets):
    """A Widget, and where it is."""
    made = api.create(widgets.path(ns), widgets.make("a", {"size": 1}))
    return made, widgets.path(ns, "a")


@pytest.fixture
def cm(api, ns):
    """A ConfigMap, and where it is."""
    made = api.create(path_of("v1", "configmaps", ns),
                      configmap("cm", {"a": "1"}, labels={"app": "x"}))
    return made, path_of("v1", "configmaps", ns, "cm")


def rv(item):
    return int(item["metadata"]["resourceVersion"])


def test_an_update_replaces(api, widget):
    made, path = widget
    made["spec"] = {"size": 2, "color": "blue"}
    made["metadata"]["labels"] = {"new": "yes"}
    now = api.put(path, made)
    assert now["spec"]["size"] == 2 and now["spec"]["color"] == "blue"
    assert now["metadata"]["labels"] == {"new": "yes"}
    assert rv(now) > rv(made)
    assert now["metadata"]["generation"] == 2
    assert now["metadata"]["uid"] == made["metadata"]["uid"]
    assert api.get(path) == now


def test_a_stale_update_conflicts(api, widget, widgets):
    made, path = widget
    api.patch(path, {"spec": {"size": 2}})
    made["spec"]["size"] = 3
    status = api.refuse(409, "Conflict", "PUT", path, made)
    assert status["message"] == (
        f'Operation cannot be fulfilled on {widgets.resource} "a": '
        f'{MODIFIED}')
    assert status["details"] == {"name": "a", "group": widgets.group,
                                 "kind": "widgets"}
    assert api.get(path)["spec"]["size"] == 2


def test_a_stale_patch_conflicts_when_it_names_a_version(api, widget):
    made, path = widget
    api.patch(path, {"spec": {"size": 2}})
    stale = {"metadata": {"resourceVersion":
                          made["metadata"]["resourceVersion"]},
             "spec": {"size": 3}}
    status = api.refuse(409, "Conflict", "PATCH", path, stale, kind="merge")
    assert MODIFIED in status["message"]


def test_an_update_without_version_is_for_core_kinds(api, widget, cm,
                                                     widgets):
    made, path = widget
    del made["metadata"]["resourceVersion"]
    status = api.refuse(422, "Invalid", "PUT", path, made)
    assert status["message"] == (
        f'{widgets.resource} "a" is invalid: metadata.resourceVersion: '
        f'Invalid value: 0x0: must be specified for an update')
    made, path = cm
    assert api.put(path, configmap("cm", {"a": "2"}))["data"] == {"a": "2"}


def test_an_update_of_another_uid_conflicts(api, cm):
    made, path = cm
    made["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
    status = api.refuse(409, "Conflict", "PUT", path, made)
    assert "Precondition failed: UID in precondition: " \
        "11111111-2222-3333-4444-555555555555, UID in object meta: " in \
        status["message"]


def test_the_name_cannot_change(api, cm):
    made, path = cm
    made["metadata"]["name"] = "other"
    status = api.refuse(400, "BadRequest", "PUT", path, made)
    assert status["message"] == ("the name of the object (other) does not "
                                 "match the name on the URL (cm)")


def test_the_namespace_cannot_change(api, cm):
    made, path = cm
    made["metadata"]["namespace"] = "other"
    api.refuse(400, "BadRequest", "PUT", path, made)


def test_the_uid_cannot_be_patched(api, widget):
    _, path = widget
    status = api.refuse(422, "Invalid", "PATCH", path,
                        {"metadata": {"uid": "zzz"}}, kind="merge")
    assert 'metadata.uid: Invalid value: "zzz": field is immutable' in \
        status["message"]


def test_what_is_missing_is_not_created(api, ns, widgets):
    path = path_of("v1", "configmaps", ns, "no")
    status = api.refuse(404, "NotFound", "PUT", path, configmap("no"))
    assert status["message"] == 'configmaps "no" not found'
    assert status["details"] == {"name": "no", "kind": "configmaps"}
    status = api.refuse(404, "NotFound", "PATCH", widgets.path(ns, "no"), {},
                        kind="merge")
    assert status["message"] == f'{widgets.resource} "no" not found'


def test_a_version_must_be_a_number(api, cm):
    made, path = cm
    made["metadata"]["resourceVersion"] = "abc"
    answer = api.request("PUT", path, made)
    assert answer.code in (400, 422, 500), answer
    assert "abc" in answer.json()["message"]


def test_what_changes_nothing_writes_nothing(api, ns, widget, cm):
    made, path = widget
    with api.watch(path_of("v1", "configmaps", ns,
                           resourceVersion=rv(cm[0]))) as watch:
        assert api.put(path, made) == made
        assert api.patch(path, {"spec": {"size": 1}}) == made
        assert api.patch(path, [], kind="json") == made
        made, path = cm
        assert api.put(path, made) == made
        assert api.patch(path, {"data": {"a": "1"}}, kind="strategic") == made
        now = api.patch(path, {"data": {"a": "2"}})
        event = watch.next()
        assert event["type"] == "MODIFIED"
        assert rv(event["object"]) == rv(now)


def test_generation_counts_changes_of_the_spec(api, widget):
    _, path = widget

    def generation():
        return api.get(path)["metadata"]["generation"]

    api.patch(path, {"metadata": {"labels": {"a": "b"},
                                  "annotations": {"c": "d"}}})
    assert generation() == 1
    api.patch(path + "/status", {"status": {"phase": "Ready"}})
    assert generation() == 1
    api.patch(path, {"spec": {"size": 2}})
    assert generation() == 2
    api.patch(path, {"metadata": {"generation": 40}})
    assert generation() == 2


def test_without_status_subresource_status_counts_too(api, define, ns):
    kind = define(definition(
        f"c{unique()}.conformance.ferry.io", "plains", "Plain",
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    path = kind.path(ns, "a")
    api.create(kind.path(ns), kind.make("a"))
    now = api.patch(path, {"status": {"phase": "Ready"}})
    assert now["status"] == {"phase": "Ready"}
    assert now["metadata"]["generation"] == 2
    api.refuse(404, "NotFound", "PATCH", path + "/status",
               {"status": {"phase": "x"}}, kind="merge")


def test_status_is_written_by_its_own_path_only(api, widget):
    made, path = widget
    made["status"] = {"phase": "Wrong"}
    made["spec"]["size"] = 2
    now = api.put(path, made)
    assert "status" not in now and now["spec"]["size"] == 2
    assert "status" not in api.patch(path, {"status": {"phase": "Wrong"}})
    now["status"] = {"phase": "Right", "count": 3}
    now["spec"]["size"] = 50
    now["metadata"]["labels"] = {"a": "b"}
    later = api.put(path + "/status", now)
    assert later["status"] == {"phase": "Right", "count": 3}
    assert later["spec"]["size"] == 2
    assert "labels" not in later["metadata"]
    later = api.patch(path + "/status", {
        "spec": {"size": 60}, "metadata": {"labels": {"a": "b"}},
        "status": {"count": 4}})
    assert later["status"] == {"phase": "Right", "count": 4}
    assert later["spec"]["size"] == 2
    assert "labels" not in later["metadata"]
    assert api.get(path + "/status") == later
    status = api.refuse(409, "Conflict", "PUT", path + "/status", now)
    assert MODIFIED in status["message"]


def test_status_is_validated_and_not_created(api, widget):
    _, path = widget
    api.refuse(422, "Invalid", "PATCH", path + "/status",
               {"status": {"count": "many"}}, kind="merge")
    api.refuse(405, "MethodNotAllowed", "POST", path + "/status",
               {"status": {}})


def test_json_patches_do_their_operations(api, cm):
    _, path = cm
    now = api.patch(path, [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "add", "path": "/data/b", "value": "2"},
        {"op": "copy", "from": "/data/b", "path": "/data/c"},
        {"op": "move", "from": "/data/a", "path": "/data/d"},
        {"op": "replace", "path": "/data/b", "value": "22"},
        {"op": "add", "path": "/metadata/labels/with~1slash", "value": "y"},
        {"op": "remove", "path": "/metadata/labels/app"},
    ], kind="json")
    assert now["data"] == {"b": "22", "c": "2", "d": "1"}
    assert now["metadata"]["labels"] == {"with/slash": "y"}


def test_json_patches_work_on_arrays(api, widget):
    _, path = widget
    api.patch(path, {"spec": {"tags": ["a", "c"]}})
    now = api.patch(path, [
        {"op": "add", "path": "/spec/tags/1", "value": "b"},
        {"op": "remove", "path": "/spec/tags/0"},
    ], kind="json")
    assert now["spec"]["tags"] == ["b", "c"]
    now = api.patch(path, [{"op": "add", "path": "/spec/tags/-",
                            "value": "d"}], kind="json")
    assert now["spec"]["tags"] == ["b", "c", "d"]


@pytest.mark.parametrize("operation", [
    {"op": "test", "path": "/data/a", "value": "wrong"},
    {"op": "remove", "path": "/data/none"},
    {"op": "replace", "path": "/data/none", "value": "x"},
    {"op": "add", "path": "/none/deeper", "value": "x"},
])
def test_a_json_patch_is_done_whole_or_not_at_all(api, cm, operation):
    made, path = cm
    api.refuse(422, "Invalid", "PATCH", path, [
        {"op": "add", "path": "/data/first", "value": "x"}, operation],
        kind="json")
    assert api.get(path) == made


def test_a_json_patch_is_a_list(api, cm):
    _, path = cm
    status = api.refuse(400, "BadRequest", "PATCH", path, {"op": "add"},
                        kind="json")
    assert "json: cannot unmarshal object into Go value of type" in \
        status["message"]


def test_merge_patches_merge_objects_and_replace_the_rest(api, widget):
    _, path = widget
    api.patch(path, {"spec": {"notes": {"a": "1", "b": "2"},
                              "tags": ["x", "y"]}})
    now = api.patch(path, {"spec": {"notes": {"a": None, "c": "3"},
                                    "tags": ["z"]}})
    assert now["spec"]["notes"] == {"b": "2", "c": "3"}
    assert now["spec"]["tags"] == ["z"]
    assert now["spec"]["size"] == 1


def test_removing_the_last_label_removes_labels(api, cm):
    _, path = cm
    now = api.patch(path, {"metadata": {"labels": {"app": None}}})
    assert "labels" not in now["metadata"]


@pytest.mark.parametrize("kind", ["merge", "json", "strategic"])
def test_a_patch_must_be_json(api, cm, kind):
    api.refuse(400, "BadRequest", "PATCH", cm[1], '{"data": nope', kind=kind)


def test_a_patch_must_fit_the_schema(api, widget, cm):
    made, path = widget
    status = api.refuse(422, "Invalid", "PATCH", path,
                        {"spec": {"size": 101}}, kind="merge")
    assert "spec.size in body should be less than or equal to 100" in \
        status["message"]
    assert api.get(path) == made
    answer = api.request("PATCH", cm[1], {"data": 5}, headers={
        "Content-Type": PATCH_TYPES["merge"]})
    assert answer.code in (400, 422), answer


def test_strategic_patches_merge_lists_by_key(api, ns):
    body = pod("p")
    body["spec"]["containers"].append({"name": "side",
                                       "image": "example.org/side:1"})
    path = path_of("v1", "pods", ns, "p")
    api.create(path_of("v1", "pods", ns), body)
    now = api.patch(path, {"spec": {"containers": [
        {"name": "side", "image": "example.org/side:2"}]}}, kind="strategic")
    assert [(c["name"], c["image"]) for c in now["spec"]["containers"]] == [
        ("main", "example.org/none:1"), ("side", "example.org/side:2")]


def test_strategic_patches_delete_and_replace(api, ns):
    path = path_of("v1", "serviceaccounts", ns, "sa")
    api.create(path_of("v1", "serviceaccounts", ns), {
        "metadata": {"name": "sa"},
        "secrets": [{"name": "a"}, {"name": "b"}]})

    def names(item):
        return sorted(s["name"] for s in item.get("secrets", []))

    assert names(api.patch(path, {"secrets": [{"name": "c"}]},
                           kind="strategic")) == ["a", "b", "c"]
    assert names(api.patch(
        path, {"secrets": [{"name": "b", "$patch": "delete"}]},
        kind="strategic")) == ["a", "c"]
    assert names(api.patch(
        path, {"secrets": [{"$patch": "replace"}, {"name": "d"}]},
        kind="strategic")) == ["d"]
    assert names(api.patch(path, {"secrets": None},
                           kind="strategic")) == []


def test_strategic_patches_add_to_and_thin_primitive_lists(api, cm):
    _, path = cm
    prefix = "conformance.ferry.io/"
    api.patch(path, {"metadata": {"finalizers": [prefix + "a", prefix + "b"]}})
    now = api.patch(path, {"metadata": {"finalizers": [prefix + "c"]}},
                    kind="strategic")
    assert sorted(now["metadata"]["finalizers"]) == [prefix + n for n in "abc"]
    now = api.patch(path, {"metadata": {
        "$deleteFromPrimitiveList/finalizers": [prefix + "b"]}},
        kind="strategic")
    assert sorted(now["metadata"]["finalizers"]) == [prefix + "a", prefix + "c"]
    api.patch(path, {"metadata": {"finalizers": None}})


def test_strategic_patches_merge_maps_and_honour_the_directive(api, cm):
    _, path = cm
    now = api.patch(path, {"data": {"b": "2"}}, kind="strategic")
    assert now["data"] == {"a": "1", "b": "2"}
    now = api.patch(path, {"data": {"$patch": "replace", "c": "3"}},
                    kind="strategic")
    assert now["data"] == {"c": "3"}


def test_custom_kinds_know_no_strategic_patch(api, widget):
    _, path = widget
    status = api.refuse(415, "UnsupportedMediaType", "PATCH", path, {},
                        kind="strategic")
    assert "application/json-patch+json, application/merge-patch+json" in \
        status["message"]


def test_a_patch_says_of_what_kind_it_is(api, cm):
    answer = api.request("PATCH", cm[1], {}, headers={
        "Content-Type": "application/json"})
    assert answer.code == 415, answer


def test_force_is_for_apply_only(api, cm):
    status = api.refuse(422, "Invalid", "PATCH", cm[1] + "?force=true", {},
                        kind="merge")
    assert "force: Forbidden: may not be specified for non-apply patch" in \
        status["message"]


def test_field_validation_of_updates_and_patches(api, widget):
    made, path = widget
    wrong = copy.deepcopy(made)
    wrong["spec"]["bogus"] = 1
    status = api.refuse(400, "BadRequest", "PUT",
                        path + "?fieldValidation=Strict", wrong)
    assert 'unknown field "spec.bogus"' in status["message"]
    status = api.refuse(422, "Invalid", "PATCH",
                        path + "?fieldValidation=Strict",
                        {"spec": {"bogus": 1}}, kind="merge")
    assert 'strict decoding error: unknown field "spec.bogus"' in \
        status["message"]
    answer = api.request("PATCH", path, {"spec": {"bogus": 1}}, headers={
        "Content-Type": PATCH_TYPES["merge"]})
    assert answer.code == 200
    assert answer.warnings() == ['unknown field "spec.bogus"']
    assert api.get(path) == made


def test_a_dry_run_changes_nothing(api, widget, cm):
    made, path = widget
    changed = copy.deepcopy(made)
    changed["spec"]["size"] = 9
    assert api.put(path + "?dryRun=All", changed)["spec"]["size"] == 9
    assert api.patch(path + "?dryRun=All",
                     {"spec": {"size": 8}})["spec"]["size"] == 8
    assert api.patch(path + "/status?dryRun=All",
                     {"status": {"phase": "x"}})["status"]["phase"] == "x"
    assert api.get(path) == made
    api.refuse(422, "Invalid", "PATCH", path + "?dryRun=All",
               {"spec": {"size": 800}}, kind="merge")
    made, path = cm
    api.patch(path + "?dryRun=All", {"data": {"b": "2"}}, kind="strategic")
    assert api.get(path) == made


def in_threads(count, function):
    failures = []

    def run(number):
        try:
            function(number)
        except Exception as failure:  # handed to the test
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_optimistic_updates_lose_nothing(clients, widget):
    _, path = widget
    workers, rounds = 4, 10
    apis = [clients.admin() for _ in range(workers)]

    def count_up(number):
        for _ in range(rounds):
            while True:
                item = apis[number].get(path)
                item["spec"]["size"] += 1
                answer = apis[number].request("PUT", path, item)
                if answer.code == 200:
                    break
                assert answer.code == 409, answer

    in_threads(workers, count_up)
    assert apis[0].get(path)["spec"]["size"] == 1 + workers * rounds


def test_patches_of_different_fields_do_not_disturb_each_other(clients, cm):
    _, path = cm
    apis = [clients.admin() for _ in range(4)]

    def patch(number):
        for n in range(10):
            apis[number].patch(path, {"data": {f"{number}-{n}": "x"}})

    in_threads(4, patch)
    assert len(apis[0].get(path)["data"]) == 1 + 4 * 10


def test_both_versions_show_one_object(api, ns, widgets, widget):
    made, path = widget
    old = widgets.path(ns, "a", version="v1beta1")
    answer = api.request("GET", old)
    assert answer.warnings() == ["use v1 widgets"]
    item = answer.json()
    assert item["apiVersion"] == f"{widgets.group}/v1beta1"
    assert item["metadata"] == made["metadata"]
    item["spec"]["size"] = 5
    now = api.put(old, item)
    assert now["apiVersion"] == f"{widgets.group}/v1beta1"
    later = api.get(path)
    assert later["spec"]["size"] == 5
    assert later["apiVersion"] == f"{widgets.group}/v1"
    assert rv(later) == rv(now)
