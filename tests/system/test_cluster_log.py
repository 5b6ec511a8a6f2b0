# SPDX-License-Identifier: Apache-2.0
"""The logs of pods: ferry-cluster asks the kubelet of the pod's node.

The kubelet is an HTTPS server of the test that wants to see the API server's
certificate, as a real one does.
"""

import contextlib
import http.client
import http.server
import os
import ssl
import subprocess
import threading
import urllib.parse

import pytest

from clusters import Cluster
from kubeapi import wait_for

PODS = "/api/v1/namespaces/default/pods"
DEADLINE = 60


def make_certificate(cluster, directory, signed=True):
    """The paths of a certificate for 127.0.0.1 and of its key."""
    cert, key = (os.path.join(directory, f"kubelet-{signed}.{end}")
                 for end in ("crt", "key"))
    pki = os.path.join(cluster.dir, "pki")
    ca = ["-CA", f"{pki}/ca.crt", "-CAkey", f"{pki}/ca.key"] if signed else []
    subprocess.run(
        ["openssl", "req", "-x509", *ca, "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-keyout", key,
         "-out", cert, "-subj", "/O=system:nodes/CN=system:node:n1",
         "-addext", "subjectAltName=IP:127.0.0.1",
         "-addext", "basicConstraints=critical,CA:FALSE",
         "-addext", "extendedKeyUsage=serverAuth"],
        check=True, capture_output=True)
    return cert, key


class Kubelet:
    """Answers as it is told to, and remembers what it was asked."""

    def __init__(self, cluster, signed=True):
        self.seen = []
        self.answer = lambda request: request.send(200, b"")
        context = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH,
            cafile=os.path.join(cluster.dir, "pki", "ca.crt"))
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(
            *make_certificate(cluster, cluster.scratch, signed))
        kubelet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def send(self, code, body):
                self.send_response(code)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def begin(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()

            def chunk(self, data):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

            def do_GET(self):
                subject = dict(
                    pair for part in self.connection.getpeercert()["subject"]
                    for pair in part)
                kubelet.seen.append((self.path, subject))
                kubelet.answer(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.server.daemon_threads = True
        # The handshake in the request's thread, not in the one that accepts.
        self.server.socket = context.wrap_socket(
            self.server.socket, server_side=True,
            do_handshake_on_connect=False)
        self.server.handle_error = lambda *_: None
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(name="kubelet")
def kubelet_(cluster):
    kubelet = Kubelet(cluster)
    place(cluster, kubelet.port)
    yield kubelet
    kubelet.close()


def place(cluster, port):
    """Makes the node, with its kubelet on this port, and its pods."""
    api = cluster.api()
    if api.request("GET", "/api/v1/nodes/n1").code == 404:
        api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node",
                                     "metadata": {"name": "n1"}})
        api.create(PODS, pod("p", "c"))
        api.create(PODS, pod("many", "a", "b"))
    api.patch("/api/v1/nodes/n1/status", {"status": {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}})


def pod(name, *containers, node="n1"):
    spec = {"containers": [{"name": c, "image": "i"} for c in containers]}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": spec}


def refusal(cluster, path):
    """Code, reason and message of an error."""
    answer = cluster.api().request("GET", path)
    status = answer.json()
    assert status["kind"] == "Status" and status["code"] == answer.code
    return answer.code, status.get("reason"), status["message"]


def test_kubectl_shows_what_the_kubelet_answers(cluster, kubelet):
    kubelet.answer = lambda request: request.send(200, b"one\ntwo\n")
    assert cluster.kubectl("logs", "p") == "one\ntwo\n"
    assert cluster.kubectl("logs", "many", "-c", "b", "--previous",
                           "--tail=5", "--since=1m") == "one\ntwo\n"
    (first, subject), (second, _) = kubelet.seen
    assert urllib.parse.urlsplit(first).path == "/containerLogs/default/p/c"
    second = urllib.parse.urlsplit(second)
    assert second.path == "/containerLogs/default/many/b"
    assert urllib.parse.parse_qs(second.query) == {
        "previous": ["true"], "tailLines": ["5"], "sinceSeconds": ["60"]}
    assert subject == {"commonName": "kube-apiserver-kubelet-client",
                       "organizationName": "system:masters"}


def test_a_log_is_text_whatever_the_client_accepts(cluster, kubelet):
    kubelet.answer = lambda request: request.send(200, b"\xff\x00line\n")
    answer = cluster.api().request("GET", f"{PODS}/p/log",
                                   headers={"Accept": "text/plain"})
    assert answer.code == 200
    assert answer.headers["Content-Type"] == "text/plain"
    assert answer.body == b"\xff\x00line\n"


def test_a_followed_log_arrives_line_by_line(cluster, kubelet):
    go_on, gone = threading.Event(), threading.Event()

    def follow(request):
        request.begin()
        request.chunk(b"first\n")
        assert go_on.wait(DEADLINE)
        request.chunk(b"second\n")
        request.connection.settimeout(DEADLINE)
        with contextlib.suppress(OSError):
            request.connection.recv(1)  # until the other side closes
        gone.set()

    kubelet.answer = follow
    api = cluster.api()
    connection = api.connect()
    response = api.start("GET", f"{PODS}/p/log?follow=true",
                         connection=connection)
    assert response.readline() == b"first\n"
    go_on.set()
    assert response.readline() == b"second\n"
    response.close()
    connection.close()
    assert gone.wait(DEADLINE), "the kubelet still sends to nobody"


def test_errors_of_the_kubelet_become_a_status(cluster, kubelet):
    waiting = b'container "c" in pod "p" is waiting to start: ContainerCreating'
    cases = [
        (400, waiting, (400, "BadRequest", waiting.decode())),
        (500, b"no disk", (500, "InternalError",
                           "Internal error occurred: no disk")),
        (404, b"404 page not found\n",
         (404, "NotFound", "the server could not find the requested resource "
                           "( pods/log p)")),
        (403, b"Forbidden (user=x)",
         (403, "Forbidden", "Forbidden (user=x) ( pods/log p)")),
    ]
    for code, body, want in cases:
        kubelet.answer = lambda request, c=code, b=body: request.send(c, b)
        assert refusal(cluster, f"{PODS}/p/log") == want


def test_a_kubelet_that_breaks_off_does_not_look_complete(cluster, kubelet):
    def cut(request):
        request.begin()
        request.chunk(b"half")
        request.close_connection = True

    kubelet.answer = cut
    api = cluster.api()
    with pytest.raises((OSError, http.client.HTTPException)):
        api.start("GET", f"{PODS}/p/log", connection=api.connect()).read()


def test_requests_that_cannot_be_met_say_why(cluster, kubelet):
    assert refusal(cluster, f"{PODS}/many/log") == (
        400, "BadRequest", "a container name must be specified for pod many, "
                           "choose one of: [a b]")
    assert refusal(cluster, f"{PODS}/p/log?container=x") == (
        400, "BadRequest", "container x is not valid for pod p")
    assert refusal(cluster, f"{PODS}/none/log") == (
        404, "NotFound", 'pods "none" not found')
    assert refusal(cluster, f"{PODS}/p/log?tailLines=-1")[0] == 422
    assert kubelet.seen == []


def test_a_pod_without_a_node_has_no_log_yet(cluster, kubelet):
    api = cluster.api()
    waiting = pod("waiting", "c", node=None)
    waiting["spec"]["nodeSelector"] = {"there": "is-none"}
    api.create(PODS, waiting)
    answer = api.request("GET", f"{PODS}/waiting/log")
    assert (answer.code, answer.body) == (204, b"")
    assert cluster.kubectl("logs", "waiting") == ""
    assert kubelet.seen == []


def test_a_kubelet_that_is_not_there_is_named(cluster, kubelet):
    kubelet.server.shutdown()
    kubelet.server.socket.close()
    at = f"127.0.0.1:{kubelet.port}"
    assert refusal(cluster, f"{PODS}/p/log") == (
        500, None, f'Get "https://{at}/containerLogs/default/p/c": dial tcp '
                   f"{at}: connect: connection refused")


def test_a_kubelet_that_is_somebody_else_is_not_believed(cluster):
    kubelet = Kubelet(cluster, signed=False)
    kubelet.answer = lambda request: request.send(200, b"lies\n")
    place(cluster, kubelet.port)
    try:
        code, _, message = refusal(cluster, f"{PODS}/p/log")
        assert code == 500 and "certificate" in message
        assert kubelet.seen == []
        assert cluster.kubectl(
            "logs", "p", "--insecure-skip-tls-verify-backend") == "lies\n"
    finally:
        kubelet.close()


def test_only_who_may_read_logs_gets_them(cluster, kubelet):
    kubelet.answer = lambda request: request.send(200, b"secret\n")
    kubeconfig = cluster.user_kubeconfig("nobody")
    answer = cluster.api(kubeconfig).request("GET", f"{PODS}/p/log")
    assert answer.code == 403
    assert answer.json()["message"] == (
        'pods "p" is forbidden: User "nobody" cannot get resource "pods/log" '
        'in API group "" in the namespace "default"')
    assert kubelet.seen == []


def test_a_client_that_does_not_read_makes_the_kubelet_wait(cluster, kubelet):
    total, chunk = 64 * 1024 * 1024, b"x" * 65536
    sent = [0]

    def pour(request):
        request.begin()
        while sent[0] < total:
            request.chunk(chunk)
            sent[0] += len(chunk)
        request.chunk(b"")

    kubelet.answer = pour
    api = cluster.api()
    connection = api.connect()
    response = api.start("GET", f"{PODS}/p/log", connection=connection)
    before = []

    def stands_still():
        before.append(sent[0])
        return len(before) > 25 and len(set(before[-25:])) == 1

    wait_for("the kubelet to wait", stands_still)
    assert sent[0] < total / 2
    got = 0
    while data := response.read1(1024 * 1024):
        got += len(data)
    assert got == total
    connection.close()


def test_stopping_the_server_ends_followed_logs():
    go_on = threading.Event()

    def follow(request):
        request.begin()
        request.chunk(b"first\n")
        go_on.wait(DEADLINE)

    with Cluster() as cluster:
        kubelet = Kubelet(cluster)
        try:
            kubelet.answer = follow
            place(cluster, kubelet.port)
            api = cluster.api()
            response = api.start("GET", f"{PODS}/p/log?follow=true",
                                 connection=api.connect())
            assert response.readline() == b"first\n"
            assert cluster.stop() == 0
        finally:
            go_on.set()
            kubelet.close()
