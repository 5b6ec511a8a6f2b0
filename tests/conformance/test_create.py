# SPDX-License-Identifier: Apache-2.0
"""Creating objects: names, metadata, dry run, and what is refused."""

import re

import pytest

from kubeapi import has_vanished, path_of, wait_gone
from objects import configmap

SUBDOMAIN = ("a lowercase RFC 1123 subdomain must consist of lower case "
             "alphanumeric characters, '-' or '.', and must start and end "
             "with an alphanumeric character")


def configmaps(ns, name=None, **query):
    return path_of("v1", "configmaps", ns, name, **query)


def test_a_new_object_gets_what_the_server_owns(api, ns, widgets):
    made = api.create(widgets.path(ns), widgets.make("a"))
    meta = made["metadata"]
    assert meta["name"] == "a" and meta["namespace"] == ns
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
                        meta["uid"])
    assert int(meta["resourceVersion"]) > 0
    assert meta["generation"] == 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
                        meta["creationTimestamp"])
    assert api.get(widgets.path(ns, "a")) == made


def test_what_the_server_owns_cannot_be_given(api, ns, widgets):
    body = widgets.make("a", uid="3f8f9b4e-0000-4000-8000-000000000000",
                        generation=17, selfLink="/nowhere",
                        creationTimestamp="2001-01-01T00:00:00Z",
                        deletionTimestamp="2001-01-01T00:00:00Z")
    meta = api.create(widgets.path(ns), body)["metadata"]
    assert meta["generation"] == 1
    assert meta["uid"] != body["metadata"]["uid"]
    assert meta["creationTimestamp"] > "2020"
    assert "deletionTimestamp" not in meta
    assert "selfLink" not in meta


def test_a_name_is_given_once(api, ns, widgets):
    api.create(widgets.path(ns), widgets.make("a"))
    status = api.refuse(409, "AlreadyExists", "POST", widgets.path(ns),
                        widgets.make("a"))
    assert status["message"] == f'{widgets.resource} "a" already exists'
    assert status["details"] == {"name": "a", "group": widgets.group,
                                 "kind": "widgets"}
    api.create(configmaps(ns), configmap("a"))
    status = api.refuse(409, "AlreadyExists", "POST", configmaps(ns),
                        configmap("a"))
    assert status["message"] == 'configmaps "a" already exists'
    assert status["details"] == {"name": "a", "kind": "configmaps"}


def test_a_name_is_free_in_each_namespace_and_again_later(api, new_namespace):
    one, other = new_namespace(), new_namespace()
    first = api.create(configmaps(one), configmap("a"))
    api.create(configmaps(other), configmap("a"))
    api.delete(configmaps(one, "a"))
    second = api.create(configmaps(one), configmap("a"))
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


def test_generate_name_makes_names_that_differ(api, ns):
    body = {"metadata": {"generateName": "some-"}}
    names = [api.create(configmaps(ns), body)["metadata"]["name"]
             for _ in range(20)]
    assert len(set(names)) == 20
    for name in names:
        assert re.fullmatch(r"some-[bcdfghjklmnpqrstvwxz2456789]{5}", name)


def test_a_name_wins_over_generate_name(api, ns):
    made = api.create(configmaps(ns), configmap("a", generateName="b-"))
    assert made["metadata"]["name"] == "a"
    assert made["metadata"]["generateName"] == "b-"


def test_without_a_name_it_is_refused(api, ns, widgets):
    body = widgets.make("x")
    del body["metadata"]["name"]
    status = api.refuse(422, "Invalid", "POST", widgets.path(ns), body)
    assert status["message"] == (
        f'Widget.{widgets.group} "" is invalid: metadata.name: Required '
        f'value: name or generateName is required')
    assert status["details"]["causes"] == [{
        "reason": "FieldValueRequired",
        "message": "Required value: name or generateName is required",
        "field": "metadata.name"}]


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "dot.",
                                  "space here", "a..b"])
def test_a_bad_name_is_refused(api, ns, name):
    status = api.refuse(422, "Invalid", "POST", configmaps(ns),
                        configmap(name))
    assert status["message"].startswith(
        f'ConfigMap "{name}" is invalid: metadata.name: Invalid value: '
        f'"{name}": {SUBDOMAIN}'), status["message"]
    assert status["details"]["kind"] == "ConfigMap"
    assert status["details"]["causes"][0]["reason"] == "FieldValueInvalid"
    assert status["details"]["causes"][0]["field"] == "metadata.name"


def test_a_name_of_253_characters_is_the_longest(api, ns):
    api.create(configmaps(ns), configmap("a" * 253))
    status = api.refuse(422, "Invalid", "POST", configmaps(ns),
                        configmap("a" * 254))
    assert "must be no more than 253 characters" in status["message"]


def test_a_namespace_is_named_as_a_label(api):
    status = api.refuse(422, "Invalid", "POST", path_of("v1", "namespaces"),
                        {"metadata": {"name": "with.dot"}})
    assert "a lowercase RFC 1123 label must consist of" in status["message"]


def test_bad_labels_and_annotations_are_refused(api, ns):
    for metadata, field in (
            ({"labels": {"a b": "c"}}, "metadata.labels"),
            ({"labels": {"a": "not ok"}}, "metadata.labels"),
            ({"annotations": {"a b": "c"}}, "metadata.annotations")):
        status = api.refuse(422, "Invalid", "POST", configmaps(ns),
                            configmap("a", **metadata))
        assert status["details"]["causes"][0]["field"].startswith(field), \
            status


def test_the_namespace_of_body_and_url_must_agree(api, ns):
    status = api.refuse(400, "BadRequest", "POST", configmaps(ns),
                        configmap("a", namespace="other"))
    assert "does not match the namespace" in status["message"]


def test_a_resource_version_cannot_be_given(api, ns):
    answer = api.request("POST", configmaps(ns),
                         configmap("a", resourceVersion="5"))
    assert answer.code == 500
    assert answer.json()["message"] == \
        "resourceVersion should not be set on objects to be created"
    assert has_vanished(api, configmaps(ns, "a"))


def test_another_kind_is_refused(api, ns, widgets):
    body = configmap("a")
    body["kind"] = "Secret"
    status = api.refuse(400, "BadRequest", "POST", configmaps(ns), body)
    assert status["message"].startswith(
        'Secret in version "v1" cannot be handled as a ConfigMap')
    body = widgets.make("x")
    body["kind"] = "Gadget"
    status = api.refuse(422, "Invalid", "POST", widgets.path(ns), body)
    assert status["message"] == (
        f'Gadget.{widgets.group} "x" is invalid: kind: Invalid value: '
        f'"Gadget": must be Widget')


def test_another_version_is_refused(api, ns, widgets):
    status = api.refuse(400, "BadRequest", "POST", widgets.path(ns),
                        widgets.make("x", version="v1beta1"))
    assert status["message"] == (
        f"the API version in the data ({widgets.group}/v1beta1) does not "
        f"match the expected API version ({widgets.group}/v1)")


def test_kind_may_be_left_out_of_core_objects_only(api, ns, widgets):
    made = api.create(configmaps(ns), {"metadata": {"name": "a"}})
    assert made["kind"] == "ConfigMap" and made["apiVersion"] == "v1"
    status = api.refuse(400, "BadRequest", "POST", widgets.path(ns),
                        {"metadata": {"name": "a"}, "spec": {"size": 1}})
    assert "Object 'Kind' is missing" in status["message"]


def test_the_namespace_must_exist(api):
    status = api.refuse(404, "NotFound", "POST",
                        configmaps("conformance-missing"), configmap("a"))
    assert status["message"] == 'namespaces "conformance-missing" not found'
    assert status["details"] == {"name": "conformance-missing",
                                 "kind": "namespaces"}


def test_nothing_is_added_to_a_namespace_that_goes(api, new_namespace):
    ns = new_namespace()
    api.create(configmaps(ns), configmap(
        "held", finalizers=["conformance.ferry.io/held"]))
    gone = api.delete(path_of("v1", "namespaces", name=ns))
    assert gone["status"]["phase"] == "Terminating"
    status = api.refuse(403, "Forbidden", "POST", configmaps(ns),
                        configmap("y"))
    assert status["message"] == (
        f'configmaps "y" is forbidden: unable to create new content in '
        f'namespace {ns} because it is being terminated')
    assert status["details"]["causes"] == [{
        "reason": "NamespaceTerminating", "field": "metadata.namespace",
        "message": f"namespace {ns} is being terminated"}]
    api.patch(configmaps(ns, "held"), {"metadata": {"finalizers": None}})
    wait_gone(api, path_of("v1", "namespaces", name=ns))


@pytest.mark.parametrize("body", ['{"metadata": ', "", "[]", "{]"])
def test_what_is_no_object_is_refused(api, ns, body):
    api.refuse(400, "BadRequest", "POST", configmaps(ns), body)


def test_broken_json_is_shown(api, ns):
    status = api.refuse(400, "BadRequest", "POST", configmaps(ns),
                        '{"bad json')
    assert status["message"].startswith(
        "the object provided is unrecognized (must be of type ConfigMap): "
        "couldn't get version/kind; json parse error: unexpected end of JSON "
        "input ({")


def test_wrong_types_are_refused(api, ns, widgets):
    body = configmap("a")
    body["data"] = {"k": 5}
    status = api.refuse(400, "BadRequest", "POST", configmaps(ns), body)
    assert status["message"] == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: '
        'cannot unmarshal number into Go struct field ConfigMap.data of type '
        'string')
    status = api.refuse(422, "Invalid", "POST", widgets.path(ns),
                        widgets.make("a", {"size": 1, "code": 5}))
    assert status["message"] == (
        f'Widget.{widgets.group} "a" is invalid: spec.code: Invalid value: '
        f'"integer": spec.code in body must be of type string: "integer"')
    assert status["details"]["causes"][0]["reason"] == \
        "FieldValueTypeInvalid"


def test_an_unknown_content_type_is_refused(api, ns):
    status = api.refuse(415, "UnsupportedMediaType", "POST", configmaps(ns),
                        "{}", headers={"Content-Type": "text/plain"})
    assert status["message"].startswith(
        "the body of the request was in an unknown format - accepted media "
        "types include: application/json, application/yaml")


def test_yaml_is_understood(api, ns):
    made = api.create(configmaps(ns), "metadata:\n  name: a\ndata:\n  k: |\n"
                      "    two\n    lines\n",
                      headers={"Content-Type": "application/yaml"})
    assert made["data"] == {"k": "two\nlines\n"}


def test_protobuf_is_understood(api, ns):
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    entry = field(1, b"key") + field(2, b"value")
    raw = field(1, field(1, b"from-protobuf")) + field(2, entry)
    envelope = b"k8s\0" + field(1, field(1, b"v1") + field(2, b"ConfigMap")) \
        + field(2, raw)
    made = api.create(configmaps(ns), envelope, headers={
        "Content-Type": "application/vnd.kubernetes.protobuf"})
    assert made["metadata"]["name"] == "from-protobuf"
    assert made["data"] == {"key": "value"}


def test_too_much_is_refused(api, ns):
    big = configmap("a", {"k": "x" * (3 * 1024 * 1024)})
    status = api.refuse(413, "RequestEntityTooLarge", "POST", configmaps(ns),
                        big)
    assert "limit is 3145728" in status["message"]
    status = api.refuse(422, "Invalid", "POST", configmaps(ns),
                        configmap("a", {"k": "x" * (1024 * 1024 + 1)}))
    assert "1048576 bytes" in status["message"]
    assert status["details"]["causes"][0]["reason"] == "FieldValueTooLong"
    status = api.refuse(422, "Invalid", "POST", configmaps(ns), configmap(
        "a", annotations={"k": "x" * (256 * 1024)}))
    assert "metadata.annotations: Too long" in status["message"]


def test_a_dry_run_leaves_nothing_behind(api, ns, widgets):
    made = api.create(widgets.path(ns, dryRun="All"),
                      widgets.make("a", {"size": 2}))
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"]
    assert not made["metadata"].get("resourceVersion")
    assert made["spec"]["color"] == "red"  # the default is in
    assert has_vanished(api, widgets.path(ns, "a"))
    api.refuse(422, "Invalid", "POST", widgets.path(ns, dryRun="All"),
               widgets.make("a", {"size": 1000}))
    api.create(widgets.path(ns), widgets.make("a"))
    api.refuse(409, "AlreadyExists", "POST", widgets.path(ns, dryRun="All"),
               widgets.make("a"))


def test_dry_run_has_one_value(api, ns):
    status = api.refuse(422, "Invalid", "POST", configmaps(ns, dryRun="Foo"),
                        configmap("a"))
    assert status["message"].startswith(
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value')
    assert status["details"]["causes"][0]["field"] == "dryRun"
    assert status["details"]["causes"][0]["reason"] == \
        "FieldValueNotSupported"


def test_status_is_left_out_when_it_has_its_own_path(api, ns, widgets):
    body = widgets.make("a")
    body["status"] = {"phase": "Done"}
    assert "status" not in api.create(widgets.path(ns), body)


def with_unknown(widgets, name):
    body = widgets.make(name, {"size": 1, "bogus": 1})
    body["metadata"]["foo"] = "bar"
    return body


def test_strict_field_validation_refuses_what_is_unknown(api, ns, widgets):
    path = widgets.path(ns, fieldValidation="Strict")
    status = api.refuse(400, "BadRequest", "POST", path,
                        with_unknown(widgets, "a"))
    assert status["message"] == (
        'Widget in version "v1" cannot be handled as a Widget: strict '
        'decoding error: unknown field "metadata.foo", unknown field '
        '"spec.bogus"')
    api.create(path, widgets.make("a"))
    body = configmap("a", {"k": "v"})
    body["bogus"] = 1
    status = api.refuse(400, "BadRequest", "POST",
                        configmaps(ns, fieldValidation="Strict"), body)
    assert 'strict decoding error: unknown field "bogus"' in status["message"]


def test_strict_field_validation_refuses_duplicates(api, ns, widgets):
    body = (f'{{"apiVersion": "{widgets.group}/v1", "kind": "Widget",'
            f'"metadata": {{"name": "a"}},'
            f'"spec": {{"size": 1, "size": 2}}}}')
    status = api.refuse(400, "BadRequest", "POST",
                        widgets.path(ns, fieldValidation="Strict"), body)
    assert 'duplicate field "spec.size"' in status["message"]
    answer = api.request("POST", widgets.path(ns), body)
    assert answer.code == 201
    assert answer.json()["spec"]["size"] == 2  # the last one
    assert answer.warnings() == ['duplicate field "spec.size"']


@pytest.mark.parametrize("mode", ["Warn", None])
def test_unknown_fields_are_warned_of_and_pruned(api, ns, widgets, mode):
    answer = api.request("POST", widgets.path(ns, fieldValidation=mode),
                         with_unknown(widgets, "a"))
    assert answer.code == 201
    assert sorted(answer.warnings()) == ['unknown field "metadata.foo"',
                                         'unknown field "spec.bogus"']
    assert "bogus" not in answer.json()["spec"]
    assert "foo" not in answer.json()["metadata"]


def test_unknown_fields_may_be_pruned_silently(api, ns, widgets):
    answer = api.request("POST", widgets.path(ns, fieldValidation="Ignore"),
                         with_unknown(widgets, "a"))
    assert answer.code == 201
    assert answer.warnings() == []
    assert "bogus" not in answer.json()["spec"]


def test_field_validation_has_three_values(api, ns):
    status = api.refuse(422, "Invalid", "POST",
                        configmaps(ns, fieldValidation="Zork"),
                        configmap("a"))
    assert "fieldValidation: Unsupported value: \"Zork\"" in \
        status["message"]
