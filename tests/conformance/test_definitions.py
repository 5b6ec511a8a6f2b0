# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions, and what their schemas do to objects."""

import copy

import pytest

from conftest import establish
from kubeapi import has_vanished, path_of, wait_for, wait_gone
from objects import CRD_API, definition, unique, widget_definition

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.fixture
def group():
    return f"c{unique()}.conformance.ferry.io"


def conditions(item):
    return {c["type"]: c["status"] for c in item["status"]["conditions"] or ()}


def test_a_definition_tells_how_it_is_served(api, widgets):
    item = api.get(widgets.definition_path)
    now = conditions(item)
    assert now["Established"] == "True" and now["NamesAccepted"] == "True"
    assert item["status"]["acceptedNames"] == item["spec"]["names"]
    assert item["status"]["storedVersions"] == ["v1"]
    assert item["spec"]["conversion"] == {"strategy": "None"}


def test_names_are_filled_in(api, define, group):
    kind = define(definition(group, "gizmos", "Gizmo", ANYTHING))
    names = api.get(kind.definition_path)["spec"]["names"]
    assert names == {"plural": "gizmos", "singular": "gizmo",
                     "kind": "Gizmo", "listKind": "GizmoList"}


@pytest.mark.parametrize("change, field", [
    (lambda d: d["metadata"].update(name="wrong.example.com"),
     "metadata.name"),
    (lambda d: d["spec"].update(scope="Galaxy"), "spec.scope"),
    (lambda d: d["spec"]["names"].pop("kind"), "spec.names.kind"),
    (lambda d: d["spec"]["versions"][0].update(storage=False),
     "spec.versions"),
    (lambda d: d["spec"]["versions"][0].pop("schema"),
     "openAPIV3Schema"),
    (lambda d: d["spec"]["versions"][0].update(schema={
        "openAPIV3Schema": {"type": "string"}}),
     "openAPIV3Schema.type"),
    (lambda d: d["spec"]["versions"][0].update(schema={
        "openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}}),
     "openAPIV3Schema.properties[spec].type"),
    (lambda d: d["spec"]["versions"].append(d["spec"]["versions"][0]),
     "spec.versions"),
    (lambda d: d["spec"].update(preserveUnknownFields=True),
     "spec.preserveUnknownFields"),
])
def test_wrong_definitions_are_refused(api, group, removed_later, change,
                                       field):
    body = definition(group, "gizmos", "Gizmo", {
        "type": "object", "properties": {"spec": {"type": "object"}}})
    change(body)
    crds = path_of(CRD_API, "customresourcedefinitions")
    removed_later(f"{crds}/{body['metadata']['name']}")
    status = api.refuse(422, "Invalid", "POST", crds, body)
    fields = [c["field"] for c in status["details"]["causes"]]
    # Schemas are named by spec.validation or spec.versions[0].schema.
    assert any(f.endswith(field) or f.startswith(field + "[")
               for f in fields), status


def test_names_cannot_be_taken_twice(api, define, group):
    first = define(definition(group, "gizmos", "Gizmo", ANYTHING))
    body = definition(group, "gadgets", "Gizmo", ANYTHING)
    path = path_of(CRD_API, "customresourcedefinitions",
                   name=f"gadgets.{group}")
    api.create(path_of(CRD_API, "customresourcedefinitions"), body)
    try:
        def refused():
            item = api.get(path)
            return item if item.get("status", {}).get("conditions") else None
        now = conditions(wait_for("the verdict", refused))
        assert now["NamesAccepted"] == "False"
        assert now["Established"] == "False"
        assert api.request("GET", path_of(f"{group}/v1", "gadgets")).code \
            == 404
        api.delete(first.definition_path)
        wait_for("the names to be free", lambda: conditions(
            api.get(path))["Established"] == "True")
    finally:
        api.delete(path)
        wait_gone(api, path)


def test_defaults_are_filled_in(api, ns, widgets):
    made = api.create(widgets.path(ns), widgets.make("a", {
        "size": 1, "parts": [{"name": "x"}, {"name": "y", "weight": 1}]}))
    assert made["spec"] == {
        "size": 1, "color": "red", "deep": {"level": 3},
        "parts": [{"name": "x", "weight": 7}, {"name": "y", "weight": 1}]}
    now = api.patch(widgets.path(ns, "a"), {"spec": {"color": None}})
    assert now["spec"]["color"] == "red"


def test_null_is_dropped_where_it_may_not_be(api, ns, widgets):
    made = api.create(widgets.path(ns), widgets.make("a", {
        "size": 1, "color": None, "maybe": None}))
    assert made["spec"]["color"] == "red"
    assert made["spec"]["maybe"] is None


def test_what_no_schema_knows_is_pruned(api, ns, widgets):
    made = api.create(widgets.path(ns), widgets.make("a", {
        "size": 1, "bogus": 1, "deep": {"level": 1, "deeper": 2},
        "parts": [{"name": "x", "extra": 1}],
        "notes": {"any": "thing"},
        "free": {"all": {"is": ["kept", 1]}}}))
    assert made["spec"] == {
        "size": 1, "color": "red", "deep": {"level": 1},
        "parts": [{"name": "x", "weight": 7}], "notes": {"any": "thing"},
        "free": {"all": {"is": ["kept", 1]}}}


PREFIX = "spec.{0}: Invalid value: {1}: spec.{0} in body should "


@pytest.mark.parametrize("spec, reason, text", [
    ({"size": -1}, "FieldValueInvalid", PREFIX.format("size", "-1") +
     "be greater than or equal to 0"),
    ({"size": 101}, "FieldValueInvalid", PREFIX.format("size", "101") +
     "be less than or equal to 100"),
    ({"size": 1, "color": "pink"}, "FieldValueNotSupported",
     'spec.color: Unsupported value: "pink": supported values: "red", '
     '"green", "blue"'),
    ({"size": 1, "code": "A1"}, "FieldValueInvalid",
     PREFIX.format("code", '"A1"') + "match '^[a-z]+$'"),
    ({"size": "1"}, "FieldValueTypeInvalid",
     'spec.size: Invalid value: "string": spec.size in body must be of type '
     'integer: "string"'),
    ({"size": 1.5}, "FieldValueTypeInvalid",
     'spec.size in body must be of type integer: "number"'),
    ({"size": 1, "on": "yes"}, "FieldValueTypeInvalid",
     'spec.on in body must be of type boolean: "string"'),
    ({"color": "red"}, "FieldValueRequired", "spec.size: Required value"),
    ({"size": 1, "parts": [{"weight": 1}]}, "FieldValueRequired",
     "spec.parts[0].name: Required value"),
    ({"size": 1, "parts": [{"name": "a"}, {"name": "a"}]},
     "FieldValueDuplicate", "spec.parts[1]: Duplicate value"),
    ({"size": 1, "tags": ["a", "a"]}, "FieldValueDuplicate",
     'spec.tags[1]: Duplicate value: "a"'),
    ({"size": 1, "notes": {"a": 1}}, "FieldValueTypeInvalid",
     'spec.notes.a in body must be of type string: "integer"'),
    ({"size": 1, "port": True}, "FieldValueTypeInvalid",
     "spec.port in body must be of type"),
    ({"size": 1, "when": "yesterday"}, None,
     'spec.when in body must be of type date-time: "yesterday"'),
    ({"size": 1, "free": []}, "FieldValueTypeInvalid",
     'spec.free in body must be of type object: "array"'),
])
def test_values_must_fit(api, ns, widgets, spec, reason, text):
    status = api.refuse(422, "Invalid", "POST", widgets.path(ns),
                        widgets.make("a", spec))
    assert text in status["message"]
    assert status["message"].startswith(
        f'Widget.{widgets.group} "a" is invalid: ')
    causes = status["details"]["causes"]
    if reason:
        assert reason in [c["reason"] for c in causes], causes


def test_lengths_are_limited(api, ns, widgets):
    status = api.refuse(422, "Invalid", "POST", widgets.path(ns),
                        widgets.make("a", {"size": 1, "code": "toolong",
                                           "tags": ["a", "b", "c", "d"]}))
    fields = sorted(c["field"] for c in status["details"]["causes"])
    assert fields == ["spec.code", "spec.tags"], status


def test_all_that_is_wrong_is_told(api, ns, widgets):
    status = api.refuse(422, "Invalid", "POST", widgets.path(ns),
                        widgets.make("a", {"size": 500, "color": "pink",
                                           "on": 1}))
    assert len(status["details"]["causes"]) == 3
    assert f'Widget.{widgets.group} "a" is invalid: [' in status["message"]
    assert status["details"]["kind"] == "Widget"
    assert status["details"]["group"] == widgets.group


@pytest.mark.parametrize("spec", [
    {"size": 0, "port": 80}, {"size": 0, "port": "http"},
    {"size": 0, "ratio": 1}, {"size": 0, "ratio": 1.5},
    {"size": 0, "when": "2026-01-02T03:04:05Z"}, {"size": 1, "maybe": None},
    {"size": 100, "code": "abcde", "tags": ["a", "b", "c"]}])
def test_values_that_fit_are_kept(api, ns, widgets, spec):
    made = api.create(widgets.path(ns), widgets.make("a", spec))
    for name, value in spec.items():
        assert made["spec"][name] == value


def test_a_new_schema_holds_from_then_on(api, define, ns, group):
    schema = {"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"size": {"type": "integer"}}}}}
    kind = define(definition(group, "gizmos", "Gizmo", schema))
    api.create(kind.path(ns), kind.make("old", {"size": 500}))
    item = api.get(kind.definition_path)
    spec = item["spec"]["versions"][0]["schema"]["openAPIV3Schema"][
        "properties"]["spec"]["properties"]
    spec["size"]["maximum"] = 100
    spec["color"] = {"type": "string", "default": "red"}
    generation = item["metadata"]["generation"]
    item = api.put(kind.definition_path, item)
    assert item["metadata"]["generation"] == generation + 1
    dry = kind.path(ns, dryRun="All")
    wait_for("the schema to be used", lambda: api.request(
        "POST", dry, kind.make("new", {"size": 500})).code == 422)
    old = api.get(kind.path(ns, "old"))
    assert old["spec"] == {"size": 500, "color": "red"}  # defaulted on reading


def test_versions_may_come_and_go(api, define, ns, group):
    kind = define(definition(group, "gizmos", "Gizmo", ANYTHING))
    api.create(kind.path(ns), kind.make("a"))
    item = api.get(kind.definition_path)
    second = copy.deepcopy(item["spec"]["versions"][0])
    second["name"], second["storage"] = "v2", True
    item["spec"]["versions"][0]["storage"] = False
    item["spec"]["versions"].append(second)
    item = api.put(kind.definition_path, item)
    newer = kind.path(ns, "a", version="v2")
    wait_for("the version to be served",
             lambda: api.request("GET", newer).code == 200)
    assert api.get(newer)["apiVersion"] == f"{group}/v2"
    wait_for("it to be stored", lambda: sorted(api.get(
        kind.definition_path)["status"]["storedVersions"]) == ["v1", "v2"])
    api.patch(kind.definition_path, [
        {"op": "replace", "path": "/spec/versions/0/served",
         "value": False}], kind="json")
    wait_for("the version to be gone", lambda: api.request(
        "GET", kind.path(ns, "a")).code == 404)
    assert api.get(newer)["spec"] == {"size": 1}


def test_the_scope_decides_the_path(api, define, ns, group):
    kind = define(definition(group, "planets", "Planet", ANYTHING,
                             scope="Cluster"))
    made = api.create(kind.path(), kind.make("earth"))
    assert "namespace" not in made["metadata"]
    assert api.get(kind.path(name="earth")) == made
    assert api.request("GET", kind.path(ns)).code == 404


def test_without_columns_tables_show_the_age(api, define, ns, group):
    kind = define(definition(group, "gizmos", "Gizmo", ANYTHING))
    api.create(kind.path(ns), kind.make("a"))
    table = api.get(kind.path(ns), headers={"Accept": TABLE})
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Age"]


def test_a_definition_takes_its_objects_along(api, new_namespace, group):
    ns = new_namespace()
    kind = establish(api, definition(group, "gizmos", "Gizmo", ANYTHING))
    finalizer = "conformance.ferry.io/held"
    api.create(kind.path(ns), kind.make("free"))
    api.create(kind.path(ns), kind.make("held", finalizers=[finalizer]))
    try:
        item = api.delete(kind.definition_path)
        assert item["metadata"]["finalizers"] == [
            "customresourcecleanup.apiextensions.k8s.io"]
        assert conditions(item)["Terminating"] == "True"
        wait_for("the objects to be deleted", lambda: has_vanished(
            api, kind.path(ns, "free")))
        assert conditions(api.get(kind.definition_path))[
            "Terminating"] == "True"
        assert api.get(kind.path(ns, "held"))["metadata"][
            "deletionTimestamp"]
        status = api.refuse(405, "MethodNotAllowed", "POST", kind.path(ns),
                            kind.make("late"))
        assert status["message"] == ("create not allowed while custom "
                                     "resource definition is terminating")
    finally:
        api.request("PATCH", kind.path(ns, "held"),
                    {"metadata": {"finalizers": None}}, headers={
                        "Content-Type": "application/merge-patch+json"})
    wait_gone(api, kind.definition_path)
    answer = api.request("GET", kind.path(ns))
    assert answer.code == 404, answer


def test_a_kind_that_came_back_is_empty(api, ns, define, group):
    body = widget_definition(group)
    kind = establish(api, body)
    api.create(kind.path(ns), kind.make("a"))
    api.delete(kind.definition_path)
    wait_gone(api, kind.definition_path)
    kind = define(body)
    assert api.get(kind.path(ns))["items"] == []


def test_watches_end_with_the_definition(api, ns, group):
    kind = establish(api, definition(group, "gizmos", "Gizmo", ANYTHING))
    api.create(kind.path(ns), kind.make("a"))
    start = api.get(kind.path(ns))["metadata"]["resourceVersion"]
    with api.watch(kind.path(ns, resourceVersion=start)) as watch:
        api.delete(kind.definition_path)
        event = watch.next()
        assert event["type"] == "DELETED"
        assert watch.next() is None
    wait_gone(api, kind.definition_path)
