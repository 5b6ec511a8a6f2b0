# SPDX-License-Identifier: Apache-2.0
"""What tests with hostile clients share: memory, promptness, bare sockets."""

import contextlib
import os
import socket
import ssl

# Seconds of the server's CPU until an answer: how long that takes besides is
# for the others who use the computer to say.
PROMPT = 5


def cpu_seconds(cluster):
    """What the server has used of a CPU until now."""
    with open(f"/proc/{cluster.popen.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def prompt(cluster):
    """What is asked within is answered before the server has worked long."""
    before = cpu_seconds(cluster)
    yield
    taken = cpu_seconds(cluster) - before
    assert taken < PROMPT, f"it took {taken:.1f} s"


def resident(cluster):
    """The memory that the server uses now, in KiB."""
    with open(f"/proc/{cluster.popen.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file
                    if line.startswith("VmRSS:"))


def check_alive(cluster, api=None):
    """Others are served, and soon."""
    client = api or cluster.api()
    with prompt(cluster):
        client.get("/api/v1/namespaces/default")


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
