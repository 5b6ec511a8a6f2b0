# SPDX-License-Identifier: Apache-2.0
"""What the server says about itself: discovery, OpenAPI, health."""

import pytest

from kubeapi import wait_for

V2 = ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;"
      "as=APIGroupDiscoveryList,application/json")
CORE = ["configmaps", "events", "namespaces", "nodes",
        "persistentvolumeclaims", "persistentvolumes", "pods",
        "resourcequotas", "secrets", "serviceaccounts", "services"]
GROUPS = ["admissionregistration.k8s.io", "apiextensions.k8s.io",
          "apiregistration.k8s.io", "authentication.k8s.io",
          "authorization.k8s.io", "coordination.k8s.io", "events.k8s.io",
          "networking.k8s.io", "policy", "rbac.authorization.k8s.io",
          "scheduling.k8s.io", "storage.k8s.io"]


def test_the_version_is_told(api):
    version = api.get("/version")
    assert version["major"] == "1"
    assert version["gitVersion"].startswith(
        f"v1.{version['minor'].rstrip('+')}")
    for key in ("gitCommit", "gitTreeState", "buildDate", "goVersion",
                "compiler", "platform"):
        assert key in version


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_told(api, path):
    answer = api.request("GET", path)
    assert answer.code == 200 and answer.text() == "ok"
    assert answer.headers["Content-Type"].startswith("text/plain")
    text = api.request("GET", path + "?verbose").text()
    assert "[+]ping ok" in text
    assert text.strip().endswith("check passed")


def test_metrics_are_told(api):
    answer = api.request("GET", "/metrics", headers={"Accept": "*/*"})
    assert answer.code == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert "# TYPE " in answer.text()


def test_the_core_group(api):
    answer = api.get("/api")
    assert answer["kind"] == "APIVersions"
    assert answer["versions"] == ["v1"]
    assert answer["serverAddressByClientCIDRs"]


def test_the_groups(api, widgets):
    answer = api.get("/apis")
    assert answer["kind"] == "APIGroupList"
    groups = {g["name"]: g for g in answer["groups"]}
    assert set(GROUPS) <= set(groups)
    own = groups[widgets.group]
    assert own["preferredVersion"] == {
        "groupVersion": f"{widgets.group}/v1", "version": "v1"}
    assert [v["version"] for v in own["versions"]] == ["v1", "v1beta1"]
    one = api.get(f"/apis/{widgets.group}")
    assert one["kind"] == "APIGroup"
    assert one["versions"] == own["versions"]


def resources(api, path):
    answer = api.get(path)
    assert answer["kind"] == "APIResourceList"
    return {r["name"]: r for r in answer["resources"]}


def test_the_resources_of_the_core_group(api):
    found = resources(api, "/api/v1")
    assert set(CORE) <= set(found)
    pods = found["pods"]
    assert pods["kind"] == "Pod" and pods["namespaced"] is True
    assert pods["shortNames"] == ["po"]
    assert "all" in pods["categories"]
    assert set(pods["verbs"]) >= {"create", "delete", "deletecollection",
                                  "get", "list", "patch", "update", "watch"}
    assert found["nodes"]["namespaced"] is False
    assert set(found["pods/status"]["verbs"]) == {"get", "patch", "update"}
    assert found["pods/binding"]["verbs"] == ["create"]
    assert found["serviceaccounts/token"]["group"] == "authentication.k8s.io"


def test_the_resources_of_a_custom_group(api, widgets):
    for version in ("v1", "v1beta1"):
        found = resources(api, f"/apis/{widgets.group}/{version}")
        assert set(found) == {"widgets", "widgets/status"}
        entry = found["widgets"]
        assert entry["singularName"] == "widget"
        assert entry["kind"] == "Widget"
        assert entry["shortNames"] == ["wdgt"]
        assert entry["categories"] == ["conformance"]
        assert set(entry["verbs"]) == {
            "create", "delete", "deletecollection", "get", "list", "patch",
            "update", "watch"}
        assert set(found["widgets/status"]["verbs"]) == {
            "get", "patch", "update"}


def aggregated(api, path):
    answer = api.request("GET", path, headers={"Accept": V2})
    assert answer.code == 200
    kind = answer.headers["Content-Type"]
    if "as=APIGroupDiscoveryList" not in kind:
        pytest.skip("this server has no aggregated discovery")
    body = answer.json()
    version = "v2" if "v=v2;" in kind + ";" else "v2beta1"
    assert body["kind"] == "APIGroupDiscoveryList"
    assert body["apiVersion"] == f"apidiscovery.k8s.io/{version}"
    return answer, body


def test_all_in_one_answer(api, widgets):
    def found():
        _, body = aggregated(api, "/apis")
        return [g for g in body["items"]
                if g["metadata"]["name"] == widgets.group]

    (own,) = wait_for("the group to be listed", found)
    assert [v["version"] for v in own["versions"]] == ["v1", "v1beta1"]
    (entry,) = own["versions"][0]["resources"]
    assert entry["resource"] == "widgets"
    assert entry["responseKind"] == {"group": widgets.group, "version": "v1",
                                     "kind": "Widget"}
    assert entry["scope"] == "Namespaced"
    assert entry["singularResource"] == "widget"
    assert entry["shortNames"] == ["wdgt"]
    assert entry["categories"] == ["conformance"]
    assert entry["subresources"][0]["subresource"] == "status"
    _, body = aggregated(api, "/api")
    (core,) = body["items"]
    pods = next(r for r in core["versions"][0]["resources"]
                if r["resource"] == "pods")
    eviction = next(s for s in pods["subresources"]
                    if s["subresource"] == "eviction")
    assert eviction["responseKind"] == {"group": "policy", "version": "v1",
                                        "kind": "Eviction"}


def test_it_is_not_sent_twice(api, widgets):
    answer, _ = aggregated(api, "/apis")
    tag = answer.headers["ETag"]
    again = api.request("GET", "/apis", headers={"Accept": V2,
                                                 "If-None-Match": tag})
    assert again.code == 304 and again.body == b""


def openapi(api, name):
    index = api.get("/openapi/v3")
    url = index["paths"][name]["serverRelativeURL"]
    assert url.startswith(f"/openapi/v3/{name}?hash=")
    return api.get(url)


def gvk(group, version, kind):
    return {"group": group, "version": version, "kind": kind}


def test_openapi_describes_custom_kinds(api, widgets):
    name = f"apis/{widgets.group}/v1"
    wait_for("the description", lambda: name in
             api.get("/openapi/v3")["paths"])
    document = openapi(api, name)
    assert document["openapi"].startswith("3.0")
    path = document["paths"][
        f"/{name}/namespaces/{{namespace}}/widgets/{{name}}"]
    patch = path["patch"]
    assert patch["x-kubernetes-group-version-kind"] == gvk(
        widgets.group, "v1", "Widget")
    parameters = {p["name"] for p in patch["parameters"]}
    assert {"fieldValidation", "dryRun"} <= parameters
    (schema,) = [s for s in document["components"]["schemas"].values()
                 if gvk(widgets.group, "v1", "Widget") in
                 s.get("x-kubernetes-group-version-kind", [])]
    size = schema["properties"]["spec"]["properties"]["size"]
    assert size["type"] == "integer" and size["maximum"] == 100


def test_openapi_describes_core_kinds(api):
    document = openapi(api, "api/v1")
    (schema,) = [s for s in document["components"]["schemas"].values()
                 if gvk("", "v1", "Pod") in
                 s.get("x-kubernetes-group-version-kind", [])]
    assert set(schema["properties"]) >= {"apiVersion", "kind", "metadata",
                                         "spec", "status"}
    assert schema["description"]


def test_openapi_v2_is_for_old_clients(api):
    answer = api.request("GET", "/openapi/v2", headers={
        "Accept": "application/com.github.proto-openapi.spec.v2@v1.0"
                  "+protobuf"})
    assert answer.code == 200
    assert len(answer.body) > 1000
