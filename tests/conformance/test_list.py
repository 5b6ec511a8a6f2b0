# SPDX-License-Identifier: Apache-2.0
"""Lists: pages, selectors, versions, and the forms of an answer."""

import base64
import json

import pytest
import yaml

from kubeapi import path_of, wait_for
from objects import configmap, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io"


@pytest.fixture
def at(widgets, ns):
    """Paths of widgets in the test's namespace."""
    return lambda name=None, **query: widgets.path(ns, name, **query)


@pytest.fixture
def many(api, widgets, at):
    """Ten widgets, w0 to w9, with labels."""
    for n in range(10):
        labels = {"number": str(n), "parity": "even" if n % 2 == 0 else "odd"}
        if n % 5 == 0:
            labels["five"] = ""
        api.create(at(), widgets.make(f"w{n}", {"size": n}, labels=labels))


def names(answer):
    return [item["metadata"]["name"] for item in answer["items"]]


def test_a_list_is_ordered_and_has_a_version(api, at, many, widgets):
    answer = api.get(at())
    assert answer["kind"] == "WidgetList"
    assert answer["apiVersion"] == f"{widgets.group}/v1"
    assert names(answer) == [f"w{n}" for n in range(10)]
    newest = max(int(i["metadata"]["resourceVersion"])
                 for i in answer["items"])
    assert int(answer["metadata"]["resourceVersion"]) >= newest
    assert answer["items"][3] == api.get(at("w3"))


def test_nothing_is_a_list_too(api, widgets):
    answer = api.get(widgets.path("conformance-missing"))
    assert answer["items"] == []
    assert int(answer["metadata"]["resourceVersion"]) > 0


def test_all_namespaces_are_listed_together(api, widgets, new_namespace):
    one, other = new_namespace(), new_namespace()
    api.create(widgets.path(one), widgets.make("a", labels={"t": one}))
    api.create(widgets.path(other), widgets.make("a", labels={"t": one}))
    answer = api.get(widgets.path(labelSelector=f"t={one}"))
    assert {i["metadata"]["namespace"] for i in answer["items"]} == \
        {one, other}


def test_pages_make_up_the_list(api, at, many):
    seen, token = [], None
    whole = api.get(at())
    version = None
    while True:
        page = api.get(at(limit=4, **({"continue": token} if token else {})))
        seen += names(page)
        version = version or page["metadata"]["resourceVersion"]
        assert page["metadata"]["resourceVersion"] == version
        token = page["metadata"].get("continue")
        left = page["metadata"].get("remainingItemCount", 0)
        assert left == 10 - len(seen)
        if not token:
            break
        assert len(page["items"]) == 4
    assert seen == names(whole)


def test_a_limit_of_all_has_no_next_page(api, at, many):
    for limit in (10, 11, 0, -1):
        page = api.get(at(limit=limit))
        assert len(page["items"]) == 10
        assert not page["metadata"].get("continue")


def test_pages_do_not_see_later_changes(api, at, many, widgets):
    first = api.get(at(limit=3))
    api.create(at(), widgets.make("w3a"))
    api.delete(at("w5"))
    api.patch(at("w8"), {"spec": {"size": 88}})
    later = api.get(at(limit=100, **{
        "continue": first["metadata"]["continue"]}))
    assert names(first) + names(later) == [f"w{n}" for n in range(10)]
    assert {i["metadata"]["name"]: i["spec"]["size"]
            for i in later["items"]}["w8"] == 8
    assert later["metadata"]["resourceVersion"] == \
        first["metadata"]["resourceVersion"]


def test_pages_of_a_selection(api, at, many):
    page = api.get(at(limit=2, labelSelector="parity=even"))
    assert names(page) == ["w0", "w2"]
    assert "remainingItemCount" not in page["metadata"]
    page = api.get(at(limit=3, labelSelector="parity=even", **{
        "continue": page["metadata"]["continue"]}))
    assert names(page) == ["w4", "w6", "w8"]
    assert not page["metadata"].get("continue")


def test_what_few_have_is_found_in_pages_and_at_a_version(api, at, widgets):
    """Servers may have an index for this; it must not show."""
    for n in range(40):
        api.create(at(), widgets.make(
            f"w{n:02}", labels={"rare": "yes"} if n % 10 == 3 else {}))
    rare = ["w03", "w13", "w23", "w33"]
    before = api.get(at(labelSelector="rare=yes"))
    assert names(before) == rare
    page = api.get(at(labelSelector="rare=yes", limit=3))
    assert names(page) == rare[:3]
    api.patch(at("w13"), {"metadata": {"labels": {"rare": "no"}}})
    api.delete(at("w23"))
    api.patch(at("w07"), {"metadata": {"labels": {"rare": "yes"}}})
    assert names(api.get(at(labelSelector="rare=yes"))) == \
        ["w03", "w07", "w33"]
    assert names(api.get(at(labelSelector="rare in (no)"))) == ["w13"]
    assert names(api.get(at(
        labelSelector="rare=yes", resourceVersionMatch="Exact",
        resourceVersion=before["metadata"]["resourceVersion"]))) == rare
    assert names(api.get(at(
        labelSelector="rare=yes", limit=3,
        **{"continue": page["metadata"]["continue"]}))) == rare[3:]


@pytest.mark.parametrize("query, text", [
    ({"limit": "abc"}, 'strconv.ParseInt: parsing "abc": invalid syntax'),
    ({"continue": "garbage", "limit": "1"}, "continue key is not valid"),
])
def test_bad_pages_are_refused(api, at, query, text):
    status = api.refuse(400, "BadRequest", "GET", at(**query))
    assert text in status["message"]


def test_a_page_has_its_version_already(api, at, many):
    token = api.get(at(limit=1))["metadata"]["continue"]
    status = api.refuse(400, "BadRequest", "GET",
                        at(limit=1, resourceVersion=5, **{"continue": token}))
    assert status["message"] == ("specifying resource version is not allowed "
                                 "when using continue")


def test_an_old_page_can_be_taken_up_inconsistently(api, at, many, forgotten):
    if api.request("GET", at(resourceVersion=forgotten,
                             resourceVersionMatch="Exact")).code != 410:
        pytest.skip("the server has not compacted its history yet")
    token = api.get(at(limit=4))["metadata"]["continue"]
    inside = json.loads(base64.urlsafe_b64decode(token + "=="))
    inside["rv"] = forgotten
    token = base64.urlsafe_b64encode(
        json.dumps(inside).encode()).decode().rstrip("=")
    status = api.refuse(410, "Expired", "GET",
                        at(limit=100, **{"continue": token}))
    assert "The provided continue parameter is too old" in status["message"]
    rest = api.get(at(limit=100, **{
        "continue": status["metadata"]["continue"]}))
    assert names(rest) == [f"w{n}" for n in range(4, 10)]


@pytest.mark.parametrize("selector, wanted", [
    ("number=3", "3"), ("number==3", "3"), ("parity!=odd", "02468"),
    ("number in (1,2,99)", "12"), ("parity notin (even)", "13579"),
    ("five", "05"), ("!five", "12346789"), ("five=", "05"),
    ("parity=even,five", "0"), ("number in (0,5,7),!five", "7"),
    ("parity=even , number notin (0, 2)", "468"),
    ("nothing", ""), ("nothing!=x", "0123456789"),
    ("number>7", "89"), ("number<2", "01"), ("", "0123456789"),
])
def test_label_selectors(api, at, many, selector, wanted):
    assert names(api.get(at(labelSelector=selector))) == \
        [f"w{n}" for n in wanted]


@pytest.mark.parametrize("selector, text", [
    ("a b", "unable to parse requirement: found 'b', expected: in, notin, "
            "=, ==, !=, gt, lt"),
    ("a in b", "unable to parse requirement: found 'b' expected: '('"),
    ("==", "found '==', expected: !, identifier, or 'end of string'"),
    ("a in (", "unable to parse requirement: found '', expected: ',', ')' "
               "or identifier"),
    ("-a=b", "name part must consist of alphanumeric characters"),
    ("a=b c", "found 'c', expected: ',' or 'end of string'"),
])
def test_bad_label_selectors_are_refused(api, at, selector, text):
    status = api.refuse(400, "BadRequest", "GET", at(labelSelector=selector))
    assert text in status["message"]


@pytest.mark.parametrize("selector, wanted", [
    ("metadata.name=w3", "3"), ("metadata.name==w3", "3"),
    ("metadata.name!=w3", "012456789"),
    ("metadata.name!=w3,metadata.name!=w4", "01256789"),
    ("metadata.name=none", ""), ("", "0123456789"),
])
def test_field_selectors(api, at, many, selector, wanted):
    assert names(api.get(at(fieldSelector=selector))) == \
        [f"w{n}" for n in wanted]


def test_field_and_label_selectors_both_count(api, at, many):
    assert names(api.get(at(fieldSelector="metadata.name!=w0",
                            labelSelector="five"))) == ["w5"]


def test_the_namespace_is_a_field(api, at, many, ns, widgets):
    assert len(api.get(widgets.path(
        fieldSelector=f"metadata.namespace={ns}"))["items"]) == 10


@pytest.mark.parametrize("selector, text", [
    ("spec.size=1", "field label not supported: spec.size"),
    ("xx", "invalid selector: 'xx'; can't understand 'xx'"),
])
def test_bad_field_selectors_are_refused(api, at, selector, text):
    status = api.refuse(400, "BadRequest", "GET", at(fieldSelector=selector))
    assert text in status["message"]


def test_pods_are_selected_by_node_and_phase(api, ns):
    pods = path_of("v1", "pods", ns)
    api.create(pods, pod("a"))
    api.create(pods, pod("b", node="conformance-no-node"))
    api.patch(f"{pods}/b/status", {"status": {"phase": "Failed"}})

    def found(selector):
        return names(api.get(path_of("v1", "pods", ns,
                                     fieldSelector=selector)))

    assert found("spec.nodeName=conformance-no-node") == ["b"]
    assert found("spec.nodeName=") == ["a"]
    assert found("status.phase=Pending") == ["a"]
    assert found("status.phase!=Pending") == ["b"]
    assert found("spec.nodeName=conformance-no-node,status.phase!=Failed") \
        == []
    assert found("metadata.name=a") == ["a"]
    api.delete(f"{pods}/b", {"gracePeriodSeconds": 0})


def test_events_are_selected_by_what_they_are_about(api, ns):
    events = path_of("v1", "events", ns)
    for name, about, reason in (("e1", "x", "Good"), ("e2", "y", "Bad")):
        api.create(events, {
            "metadata": {"name": name}, "reason": reason, "type": "Normal",
            "message": "m", "involvedObject": {
                "kind": "ConfigMap", "namespace": ns, "name": about,
                "uid": f"uid-{about}"}})

    def found(selector):
        return names(api.get(path_of("v1", "events", ns,
                                     fieldSelector=selector)))

    assert found("involvedObject.name=x") == ["e1"]
    assert found("involvedObject.uid=uid-y") == ["e2"]
    assert found(f"involvedObject.kind=ConfigMap,involvedObject.namespace="
                 f"{ns},involvedObject.name=y") == ["e2"]
    assert found("reason=Good") == ["e1"]
    assert found("type=Warning") == []


def test_secrets_are_selected_by_type(api, ns):
    api.create(path_of("v1", "secrets", ns), {
        "metadata": {"name": "s"}, "type": "example.com/x"})
    assert names(api.get(path_of(
        "v1", "secrets", ns, fieldSelector="type=example.com/x"))) == ["s"]


def test_a_list_may_come_from_the_cache(api, at, many):
    # Which may be a little behind.
    wait_for("the cache to have all", lambda: len(
        api.get(at(resourceVersion=0))["items"]) == 10)


def test_a_list_not_older_than_a_version(api, at, many):
    version = api.get(at())["metadata"]["resourceVersion"]
    for match in ("NotOlderThan", None):
        answer = api.get(at(resourceVersion=version,
                            resourceVersionMatch=match))
        assert int(answer["metadata"]["resourceVersion"]) >= int(version)
        assert len(answer["items"]) == 10


def test_a_list_of_exactly_a_version(api, at, many):
    version = api.get(at())["metadata"]["resourceVersion"]
    api.delete(at("w3"))
    api.patch(at("w4"), {"spec": {"size": 44}})
    answer = api.get(at(resourceVersion=version,
                        resourceVersionMatch="Exact", limit=100))
    assert answer["metadata"]["resourceVersion"] == version
    assert names(answer) == [f"w{n}" for n in range(10)]
    assert answer["items"][4]["spec"]["size"] == 4
    assert len(api.get(at())["items"]) == 9


@pytest.mark.parametrize("query", [
    {"resourceVersion": 0, "resourceVersionMatch": "Exact"},
    {"resourceVersionMatch": "Exact"},
    {"resourceVersion": 5, "resourceVersionMatch": "Foo"},
])
def test_bad_version_matches_are_refused(api, at, query):
    status = api.refuse(422, "Invalid", "GET", at(**query))
    assert status["message"].startswith(
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ')


def test_a_version_that_is_no_number_is_refused(api, at):
    answer = api.request("GET", at(resourceVersion="abc"))
    assert answer.code in (400, 500)
    assert "abc" in answer.json()["message"]


def test_a_version_of_the_future_is_waited_for_in_vain(api, at, many):
    version = int(api.get(at())["metadata"]["resourceVersion"])
    status = api.refuse(504, "Timeout", "GET",
                        at(resourceVersion=version + 1000000))
    assert "Too large resource version" in status["message"]
    assert status["details"]["causes"][0]["reason"] == \
        "ResourceVersionTooLarge"


def column(table, name):
    index = [c["name"] for c in table["columnDefinitions"]].index(name)
    return [row["cells"][index] for row in table["rows"]]


def test_tables_show_the_columns_of_the_definition(api, at, many):
    table = api.get(at(), headers={"Accept": TABLE})
    assert table["kind"] == "Table"
    assert table["apiVersion"] == "meta.k8s.io/v1"
    assert [(c["name"], c["type"], c["priority"])
            for c in table["columnDefinitions"]] == [
        ("Name", "string", 0), ("Size", "integer", 0), ("Color", "string", 0),
        ("Phase", "string", 0), ("Code", "string", 1), ("Age", "date", 0)]
    assert table["columnDefinitions"][0]["format"] == "name"
    assert table["columnDefinitions"][2]["description"] == "How it looks"
    assert column(table, "Name") == [f"w{n}" for n in range(10)]
    assert column(table, "Size") == list(range(10))
    assert column(table, "Color") == ["red"] * 10
    assert column(table, "Phase") == [None] * 10
    assert all(age.endswith("s") for age in column(table, "Age"))
    row = table["rows"][1]["object"]
    assert row["kind"] == "PartialObjectMetadata"
    assert row["metadata"]["labels"]["number"] == "1"
    assert "spec" not in row
    assert int(table["metadata"]["resourceVersion"]) > 0


def test_a_table_of_one_object(api, at, many):
    api.patch(at("w2") + "/status", {"status": {"phase": "Fine"}})
    table = api.get(at("w2"), headers={"Accept": TABLE})
    assert table["kind"] == "Table"
    assert column(table, "Phase") == ["Fine"]


def test_tables_have_pages(api, at, many):
    table = api.get(at(limit=3), headers={"Accept": TABLE})
    assert len(table["rows"]) == 3
    assert table["metadata"]["remainingItemCount"] == 7
    table = api.get(at(limit=3, **{
        "continue": table["metadata"]["continue"]}),
        headers={"Accept": TABLE})
    assert column(table, "Name") == ["w3", "w4", "w5"]


def test_tables_include_as_much_as_asked_for(api, at, many):
    def first(include):
        return api.get(at(includeObject=include),
                       headers={"Accept": TABLE})["rows"][0]

    assert first("Object")["object"]["spec"]["size"] == 0
    assert first("Metadata")["object"]["kind"] == "PartialObjectMetadata"
    assert not first("None").get("object")
    api.refuse(400, "BadRequest", "GET", at(includeObject="Foo"),
               headers={"Accept": TABLE})


def test_tables_of_core_kinds(api, ns):
    api.create(path_of("v1", "configmaps", ns),
               configmap("a", {"x": "1", "y": "2"}))
    table = api.get(path_of("v1", "configmaps", ns,
                            fieldSelector="metadata.name=a"),
                    headers={"Accept": TABLE})
    assert [c["name"] for c in table["columnDefinitions"]] == [
        "Name", "Data", "Age"]
    assert table["rows"][0]["cells"][:2] == ["a", 2]
    api.create(path_of("v1", "pods", ns), pod("p"))
    table = api.get(path_of("v1", "pods", ns), headers={"Accept": TABLE})
    assert [c["name"] for c in table["columnDefinitions"]] == [
        "Name", "Ready", "Status", "Restarts", "Age", "IP", "Node",
        "Nominated Node", "Readiness Gates"]
    assert column(table, "Ready") == ["0/1"]
    assert column(table, "Status") == ["Pending"]
    assert column(table, "Node") == ["<none>"]
    table = api.get(path_of("v1", "namespaces", name=ns),
                    headers={"Accept": TABLE})
    assert table["rows"][0]["cells"][:2] == [ns, "Active"]


def test_metadata_alone(api, at, many):
    answer = api.get(at(), headers={"Accept": PARTIAL.format("List")})
    assert answer["kind"] == "PartialObjectMetadataList"
    assert answer["apiVersion"] == "meta.k8s.io/v1"
    assert names(answer) == [f"w{n}" for n in range(10)]
    assert "spec" not in answer["items"][0]
    answer = api.get(at("w1"), headers={"Accept": PARTIAL.format("")})
    assert answer["kind"] == "PartialObjectMetadata"
    assert answer["metadata"]["name"] == "w1"
    assert "spec" not in answer


def test_yaml(api, at, many):
    answer = api.request("GET", at("w1"), headers={
        "Accept": "application/yaml"})
    assert answer.code == 200
    assert answer.headers["Content-Type"] == "application/yaml"
    assert yaml.safe_load(answer.body)["metadata"]["labels"] == {
        "number": "1", "parity": "odd"}


@pytest.mark.parametrize("accept", [
    "text/html", "application/json;as=Table;v=v2;g=meta.k8s.io"])
def test_what_cannot_be_answered_is_not_acceptable(api, at, accept):
    status = api.refuse(406, "NotAcceptable", "GET", at(),
                        headers={"Accept": accept})
    assert status["message"].startswith(
        "only the following media types are accepted: application/json")


def test_anything_is_answered_as_json(api, at, many):
    for accept in ("*/*", "application/*", "text/html, */*"):
        answer = api.request("GET", at("w1"), headers={"Accept": accept})
        assert answer.code == 200
        assert answer.headers["Content-Type"] == "application/json"


def test_output_is_pretty_when_asked_for(api, at, many):
    assert b'\n  "kind"' in api.request("GET", at("w1", pretty="true")).body
    assert api.request("GET", at("w1")).body.count(b"\n") == 1
