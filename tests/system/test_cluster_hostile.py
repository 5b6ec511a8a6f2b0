# SPDX-License-Identifier: Apache-2.0
"""Requests made to do harm: each gets an error, and nobody else suffers."""

import base64
import json
import urllib.parse

import pytest

from hostile import bounded_memory, check_alive, prompt, raw_tls, read_all, \
    resident, status_line
from kubeapi import PATCH_TYPES, wait_for

MIB = 1024 * 1024
BODY_MAX = 3 * MIB
CM = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
YAML = {"Content-Type": "application/yaml"}
PROTO = {"Content-Type": "application/vnd.kubernetes.protobuf"}
MERGE, JSON_PATCH, STRATEGIC = (
    {"Content-Type": PATCH_TYPES[kind]}
    for kind in ("merge", "json", "strategic"))


@pytest.fixture(scope="module", autouse=True)
def target(cluster):
    """Something to patch."""
    api = cluster.api()
    api.create(CM, {"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": "x"}, "data": {"a": "b"}})
    api.create("/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
        "spec": {"nodeSelector": {"there": "is-none"},
                 "containers": [{"name": "c", "image": "i"}]}})


def config_map(data="{}", more=""):
    return ('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"y"},'
            f'"data":{data}{more}}}')


def metadata(text):
    return ('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"y",'
            f'{text}}}}}')


def keys(count, value):
    return json.dumps({f"k{i}": value for i in range(count)})


def yaml_bomb():
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    for i in range(12):
        this, before = chr(ord("b") + i), chr(ord("a") + i)
        lines.append(f"{this}: &{this} [{','.join(['*' + before] * 9)}]")
    return "\n".join(lines)


def operations(*ops):
    return json.dumps(list(ops))


def selector(text, kind="labelSelector"):
    return f"{CM}?{kind}={urllib.parse.quote(text)}"


def token(text):
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


TEST_OP = {"op": "test", "path": "/kind", "value": "ConfigMap"}
COPIES = [{"op": "copy", "from": "/data", "path": f"/data/c{i}"}
          for i in range(60)]

# name, method, path, body, headers, code, part of the message
TABLE = [
    # bodies
    ("too large", "POST", CM, config_map() + " " * BODY_MAX, None, 413,
     "Request entity too large: limit is 3145728"),
    ("a value too large", "POST", CM,
     config_map('{"a":"%s"}' % ("x" * 2 * MIB)), None, 422, "Too long"),
    ("deep arrays", "POST", CM, config_map("[" * MIB), None, 400, "nested"),
    ("deep objects", "POST", CM, config_map('{"a":' * 400000), None, 400,
     "nested"),
    ("deep yaml", "POST", CM, "a: " + "[" * 100000, YAML, 400, ""),
    ("aliases in yaml", "POST", CM, yaml_bomb(), YAML, 400, ""),
    ("empty", "POST", CM, "", None, 400, "(<empty>)"),
    ("a number too large", "POST", "/api/v1/namespaces/default/pods",
     json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "y"},
                 "spec": {"priority": 0}}).replace(
                     '"priority": 0', '"priority": ' + "9" * 100000), None,
     400, ""),
    ("a quantity too large", "POST",
     "/api/v1/namespaces/default/resourcequotas",
     json.dumps({"apiVersion": "v1", "kind": "ResourceQuota",
                 "metadata": {"name": "q"},
                 "spec": {"hard": {"pods": "1e999999999"}}}), None, 400, ""),
    ("no utf-8", "POST", CM, b'{"kind":"\xff\xfe","data":{"\xc0\xaf":1}}',
     None, 400, "json parse error"),
    ("a NUL", "POST", CM, b'{"kind":"Config\0Map"}', None, 400, ""),
    ("half a surrogate pair", "POST", CM, config_map('{"a":"\\ud800"'), None,
     400, ""),
    ("many keys", "POST", CM, config_map(keys(190000, "")), None, 500,
     "too large"),
    ("many labels", "POST", CM, metadata(f'"labels":{keys(150000, "!")}'),
     None, 422, "metadata.labels"),
    ("many unknown fields", "POST", f"{CM}?fieldValidation=Strict",
     config_map("{}", "," + keys(200000, 1)[1:-1]), None, 400,
     'unknown field "k0"'),
    ("many duplicate fields", "POST", f"{CM}?fieldValidation=Strict",
     config_map("{" + ",".join(['"a":"b"'] * 300000) + "}"), None, 400,
     'duplicate field "data.a"'),
    ("noise as protobuf", "POST", CM, b"k8s\0" + bytes(range(256)) * 100,
     PROTO, 400, ""),
    ("an endless length in protobuf", "POST", CM,
     b"k8s\0\x12" + b"\xff" * 8 + b"\x7f", PROTO, 400, ""),
    # selectors, tokens, queries
    ("a long selector", "GET", selector("a" * 60000), None, None, 400,
     "unable to parse requirement"),
    ("a selector of parentheses", "GET", selector("a in " + "(" * 20000),
     None, None, 400, "unable to parse requirement"),
    ("a selector of negations", "GET", selector("!" * 20000), None, None, 400,
     "unable to parse requirement"),
    ("a NUL in a selector", "GET", f"{CM}?labelSelector=a%00b", None, None,
     400, ""),
    ("no utf-8 in a selector", "GET", f"{CM}?labelSelector=%ff%fe", None,
     None, 400, ""),
    ("a field nobody knows", "GET", selector("x" * 60000, "fieldSelector"),
     None, None, 400, "invalid selector"),
    ("a query too long", "GET", selector(",".join(
        f"a{i}!=b" for i in range(6000))), None, None, 400, "longer than"),
    ("a limit too large", "GET", f"{CM}?limit={'9' * 30}", None, None, 400,
     "value out of range"),
    *[(f"a token of garbage, {i}", "GET", f"{CM}?limit=1&continue={text}",
       None, None, 400, "continue") for i, text in enumerate((
           "x", "!!!!", "A" * 40000, token("{}"), token("[" * 9000),
           token('{"v":"meta.k8s.io/v1","rv":"x","start":1}'),
           token('{"v":"meta.k8s.io/v9","rv":1,"start":"a"}')))],
    ("a path too long", "GET", "/api/v1/namespaces/" + "a" * 5000, None, None,
     400, ""),
    ("a NUL in a path", "GET", f"{CM}/a%00b", None, None, 400, ""),
    ("no utf-8 in a path", "GET", f"{CM}/%ff%fe", None, None, 404,
     'configmaps "\\xff\\xfe" not found'),
    # patches
    ("too many operations", "PATCH", f"{CM}/x", operations(*[TEST_OP] * 10001),
     JSON_PATCH, 413,
     "The allowed maximum operations in a JSON patch is 10000, got 10001"),
    ("copies of copies", "PATCH", f"{CM}/x", operations(
        {"op": "add", "path": "/data/a", "value": "x" * 1000}, *COPIES),
     JSON_PATCH, 422, ""),
    ("a long pointer", "PATCH", f"{CM}/x", operations(
        {"op": "add", "path": "/a" * 500000, "value": 1}), JSON_PATCH, 422,
     ""),
    ("a move into itself", "PATCH", f"{CM}/x", operations(
        {"op": "move", "from": "/data", "path": "/data/a"}), JSON_PATCH, 422,
     ""),
    ("no patch at all", "PATCH", f"{CM}/x", "{}", JSON_PATCH, 400,
     "error decoding patch"),
    ("a deep merge", "PATCH", f"{CM}/x", '{"a":' * 100000, MERGE, 400,
     "error decoding patch"),
    ("a patch that makes it too large", "PATCH", f"{CM}/x",
     json.dumps({"data": {"a": "x" * 2 * MIB}}), MERGE, 422, "Too long"),
    ("a strategic patch of many containers", "PATCH",
     "/api/v1/namespaces/default/pods/x", json.dumps({"spec": {
         "containers": [{"name": f"a{i}", "image": "i"}
                        for i in range(30000)]}}), STRATEGIC, 422, ""),
    ("an order of many elements", "PATCH",
     "/api/v1/namespaces/default/pods/x", json.dumps({"spec": {
         "$setElementOrder/containers": [{"name": f"b{i}"}
                                         for i in range(80000)]}}),
     STRATEGIC, 0, ""),
]


def send(cluster, api, case):
    """Code and message of the answer, which must come soon."""
    _, method, path, body, headers, _, _ = case
    with prompt(cluster):
        answer = api.request(method, path, body, headers)
    status = answer.json()
    if answer.code >= 400:
        assert status["kind"] == "Status", status
        assert (status["status"], status["code"]) == ("Failure", answer.code)
        assert status["message"], status
    return answer.code, status.get("message", "")


@pytest.mark.parametrize("case", TABLE, ids=[case[0] for case in TABLE])
def test_a_hostile_request_is_an_error(cluster, case):
    code, message = send(cluster, cluster.api(), case)
    # 0: harmless after all, whatever the answer is; but soon.
    assert code == case[5] or case[5] == 0, (code, message[:500])
    assert case[6] in message, message[:500]
    check_alive(cluster)


def test_hostile_requests_leave_no_memory_behind(cluster):
    api = cluster.api()
    for case in TABLE:  # once, so that everything has been used
        send(cluster, api, case)
    # A large block that malloc keeps, or gives back, is no leak: it comes once.
    with bounded_memory(cluster, 64):
        for case in TABLE * 4:
            send(cluster, api, case)
    check_alive(cluster)


def definition(plural, schema):
    return {"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.bad.example.com"},
            "spec": {"group": "bad.example.com", "scope": "Namespaced",
                     "names": {"kind": plural.capitalize(), "plural": plural},
                     "versions": [{"name": "v1", "served": True,
                                   "storage": True, "schema": {
                                       "openAPIV3Schema": schema}}]}}


def nested(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


SCHEMAS = [
    ("deep", nested(40)),
    ("huge", {"type": "object", "properties": {
        f"p{i}": {"type": "string"} for i in range(60000)}}),
    ("unbalanced", {"type": "object", "properties": {
        "a": {"type": "string", "pattern": "(" * 10000}}}),
    ("repeated", {"type": "object", "properties": {
        "a": {"type": "string",
              "pattern": "((((a{1,100}){1,100}){1,100}){1,100})"}}}),
]


@pytest.mark.parametrize("name, schema", SCHEMAS, ids=[s[0] for s in SCHEMAS])
def test_a_hostile_schema_is_refused(cluster, name, schema):
    api = cluster.api()
    with bounded_memory(cluster, 64):
        answer = api.request("POST", CRDS, definition(name + "s", schema))
    assert answer.code in (400, 422), answer
    assert answer.json()["kind"] == "Status"
    check_alive(cluster)


PATTERNS = [("^(a+)+$", "a" * 60000 + "!"),
            ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60000),
            ("(x+x+)+y", "x" * 60000)]


def test_a_pattern_that_explodes_ends_soon(cluster):
    api = cluster.api()
    plural = "patterns"
    api.create(CRDS, definition(plural, {"type": "object", "properties": {
        f"p{i}": {"type": "string", "pattern": pattern}
        for i, (pattern, _) in enumerate(PATTERNS)}}))
    path = f"/apis/bad.example.com/v1/namespaces/default/{plural}"
    wait_for("the kind", lambda: api.request("GET", path).code == 200)
    for i, (_, text) in enumerate(PATTERNS):
        with prompt(cluster):
            status = api.refuse(422, "Invalid", "POST", path, {
                "apiVersion": "bad.example.com/v1", "kind": "Patterns",
                "metadata": {"name": "a"}, f"p{i}": text})
        assert f"p{i}" in status["message"]
    check_alive(cluster)


def test_an_endless_body_is_cut_off(cluster):
    """The answer is there before the body would be; then the line is cut."""
    api = cluster.api()
    before = resident(cluster)
    with raw_tls(cluster, api) as sock:
        sock.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\n"
                     b"Content-Type: application/json\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n" % CM.encode())
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        sent = 0
        try:
            while sent < 200 * MIB:
                sock.sendall(chunk)
                sent += MIB
        except OSError:
            pass
        assert sent < 100 * MIB, "it takes all of it"
    assert resident(cluster) - before < 32 * 1024
    with raw_tls(cluster, api) as sock:
        sock.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\n"
                     b"Content-Length: 99999999999\r\n\r\n" % CM.encode())
        assert status_line(read_all(sock)).startswith("HTTP/1.1 413 ")
    check_alive(cluster)
