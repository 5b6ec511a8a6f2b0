# SPDX-License-Identifier: Apache-2.0
"""What tests with hostile clients share: memory, promptness, bare sockets."""

import contextlib
import socket
import ssl
import time

PROMPT = 5  # seconds for an easy answer while others do their worst


def resident(cluster):
    """The memory that the server uses now, in KiB."""
    with open(f"/proc/{cluster.popen.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file
                    if line.startswith("VmRSS:"))


def check_alive(cluster, api=None):
    """Others are served, and soon."""
    client = api or cluster.api()
    start = time.monotonic()
    client.get("/api/v1/namespaces/default")
    taken = time.monotonic() - start
    assert taken < PROMPT, f"an easy answer took {taken:.1f} s"


@contextlib.contextmanager
def bounded_memory(cluster, mib):
    """What is done within may not leave the server larger than by this."""
    before = resident(cluster)
    yield
    grown = (resident(cluster) - before) / 1024
    assert grown < mib, f"the server grew by {grown:.0f} MiB"


def raw_tcp(cluster, receive_buffer=None):
    """A TCP connection to the server, without TLS."""
    sock = socket.socket()
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.settimeout(60)
    host, port = cluster.url.removeprefix("https://").split(":")
    sock.connect((host, int(port)))
    return sock


def raw_tls(cluster, api, **more):
    """A TLS connection as the API client would make, to write anything on."""
    return api.context.wrap_socket(
        raw_tcp(cluster, **more),
        server_hostname=api.url.hostname)


def read_all(sock):
    """What comes until the other side closes, however it does that."""
    data = b""
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while part := sock.recv(65536):
            data += part
    return data


def status_line(data):
    return data.split(b"\r\n", 1)[0].decode("latin-1")
