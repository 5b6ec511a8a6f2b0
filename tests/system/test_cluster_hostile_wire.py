# SPDX-License-Identifier: Apache-2.0
"""Clients that keep to no rules: half a request, no end, nobody who reads."""

import contextlib
import json
import os
import resource
import select
import socket
import ssl
import time

import pytest

from clusters import Cluster
from hostile import bounded_memory, check_alive, raw_tcp, raw_tls, read_all, \
    resident, status_line
from kubeapi import wait_for

CM = "/api/v1/namespaces/default/configmaps"
HEAD = b"GET /version HTTP/1.1\r\nHost: x\r\n"
HANDSHAKE_DEADLINE = 10  # seconds the server gives for each of these
HEAD_DEADLINE = 20
WATCHERS = 1000
STORM = 1000
STORM_BYTES = 4096
DESCRIPTORS = 8192  # for as many connections as the tests make


@pytest.fixture(scope="module", name="cluster")
def cluster_():
    """One that was started with the few descriptors that a login gives."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(hard, DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, most))
    with Cluster() as cluster:
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, most))
        yield cluster
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))


@pytest.fixture(name="line")
def line_(cluster):
    """Makes TLS connections that are closed after the test."""
    with contextlib.ExitStack() as stack:
        def connect(**more):
            return stack.enter_context(
                raw_tls(cluster, cluster.api(), **more))

        yield connect


def client_hello():
    """The first bytes of a TLS connection."""
    here, there = socket.socketpair()
    with here, there:
        context = ssl.create_default_context()
        here.setblocking(False)
        with contextlib.suppress(ssl.SSLError, OSError):
            context.wrap_socket(here, server_hostname="x",
                                do_handshake_on_connect=False).do_handshake()
        return there.recv(65536)


def is_closed(sock):
    """Whether the other side has ended it; what it sent before is dropped."""
    try:
        while True:
            ready, _, _ = select.select([sock], [], [], 0)
            if not ready:
                return False
            if not sock.recv(65536):
                return True
    except OSError:
        return True


def test_half_open_connections_end_and_hold_up_nobody(cluster):
    hello = client_hello()
    assert len(hello) > 100
    api = cluster.api()
    with contextlib.ExitStack() as stack, bounded_memory(cluster, 64):
        shaking = [stack.enter_context(raw_tcp(cluster)) for _ in range(200)]
        for i, sock in enumerate(shaking):
            # Nothing at all, a byte, half of it, all but the last byte.
            sock.sendall(hello[:(0, 1, len(hello) // 2, -1)[i % 4]])
        heads = [stack.enter_context(raw_tls(cluster, api))
                 for _ in range(20)]
        for i, sock in enumerate(heads):
            sock.sendall(HEAD[:1 + i])
        check_alive(cluster)
        start = time.monotonic()
        wait_for("half handshakes to end",
                 lambda: all(map(is_closed, shaking)))
        assert time.monotonic() - start < HANDSHAKE_DEADLINE + 10
        check_alive(cluster)
        for sock in heads:
            assert status_line(read_all(sock)).startswith("HTTP/1.1 408 ")
        assert time.monotonic() - start < HEAD_DEADLINE + 15


def test_a_slow_body_holds_up_nobody(cluster, line):
    sock = line()
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap",
                       "metadata": {"name": "slow"}}).encode()
    sock.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n"
                 b"Content-Type: application/json\r\n\r\n"
                 % (CM.encode(), len(body)))
    for byte in body[:-1]:
        sock.sendall(bytes([byte]))
    check_alive(cluster)
    assert cluster.api().request("GET", f"{CM}/slow").code == 404
    sock.sendall(body[-1:])
    assert status_line(sock.recv(65536)) == "HTTP/1.1 201 Created"


NONSENSE = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"\r\n" * 1000 + b"nonsense\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    b"GET /version\0 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /version HTTP/1.1\r\nHost: x\r\nA\0B: c\r\n\r\n",
    b"GET /version HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
    b"GET /version HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
    b"Content-Length: 2\r\n\r\nab",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"fffffffffffffffff\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"1\r\nab\r\n",
    b"GET /version HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 5000 + b"\r\n",
    b"GET /version HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 500000 + b"\r\n\r\n",
    b"GET /" + b"x" * 500000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
]


@pytest.mark.parametrize("text", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_is_an_error_and_the_end(cluster, line, text):
    sock = line()
    with contextlib.suppress(OSError):
        sock.sendall(text)
    answer = read_all(sock)
    assert status_line(answer)[:10] in ("HTTP/1.1 4", "HTTP/1.1 5"), answer
    assert answer.count(b"HTTP/1.1 ") == 1
    check_alive(cluster)


def test_plain_http_and_noise_end_at_once(cluster):
    for text in (HEAD + b"\r\n", os.urandom(5000), b"\0" * 5000):
        with raw_tcp(cluster) as sock:
            sock.sendall(text)
            read_all(sock)
    check_alive(cluster)


def test_requests_behind_each_other_are_answered_in_order(line):
    sock = line()
    count = 200
    sock.sendall((HEAD + b"\r\n") * (count - 1) +
                 HEAD + b"Connection: close\r\n\r\n")
    assert read_all(sock).count(b"HTTP/1.1 200 OK") == count


def test_garbage_behind_a_watch_ends_it(cluster, line):
    """What is sent while a watch streams is no request that could be met."""
    sock = line()
    sock.sendall(b"GET %s?watch=true HTTP/1.1\r\nHost: x\r\n\r\n"
                 % CM.encode())
    assert status_line(sock.recv(65536)) == "HTTP/1.1 200 OK"
    with bounded_memory(cluster, 16):
        sent = 0
        try:
            while sent < 64 * 1024 * 1024:
                sock.sendall(b"\x80garbage " * 10000)
                sent += 90000
        except OSError:
            pass
        assert sent < 64 * 1024 * 1024, "it goes on reading"
    check_alive(cluster)


def test_many_connections_make_room_for_each_other(cluster):
    """More than the server keeps: the oldest idle ones go."""
    with contextlib.ExitStack() as stack, bounded_memory(cluster, 128):
        for i in range(4600):
            stack.enter_context(raw_tcp(cluster))
            if i % 500 == 0:
                check_alive(cluster)
        check_alive(cluster)


def watch_without_reading(cluster, api, path):
    sock = raw_tls(cluster, api, receive_buffer=4096)
    sock.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode())
    return sock


def test_watchers_that_never_read_cost_little(cluster):
    """A storm of writes before a thousand of them, and one who does read."""
    api = cluster.api()
    made = api.create(CM, {"apiVersion": "v1", "kind": "ConfigMap",
                           "metadata": {"name": "storm"}})
    path = (f"{CM}?watch=true&resourceVersion="
            f"{made['metadata']['resourceVersion']}")
    with contextlib.ExitStack() as stack:
        for _ in range(WATCHERS):
            stack.enter_context(watch_without_reading(cluster, api, path))
        before = resident(cluster)
        reader = stack.enter_context(api.watch(path.replace(
            "watch=true&", "")))
        slowest = 0
        for n in range(STORM):
            start = time.monotonic()
            api.patch(f"{CM}/storm", {"data": {
                "n": str(n), "filling": "x" * STORM_BYTES}})
            slowest = max(slowest, time.monotonic() - start)
        grown = (resident(cluster) - before) // 1024
        numbers = [int(reader.next()["object"]["data"]["n"])
                   for _ in range(STORM)]
        assert numbers == list(range(STORM))
        # All of them in full would be some 4 GiB.
        assert grown < 256, f"the server grew by {grown} MiB"
        assert slowest < 5, f"a write took {slowest:.1f} s"
        check_alive(cluster)
    wait_for("the server to notice that they are gone", lambda: resident(
        cluster) - before < 128 * 1024)
    check_alive(cluster)
