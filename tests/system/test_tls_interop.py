# SPDX-License-Identifier: Apache-2.0
"""The TLS of src/tls against OpenSSL's own programs and stunnel.

tls_peer puts a stream of src/tls on a TCP port; the program at the other end
shares no code of ours. All data is compared, keys change on both sides, and
both sides must end as the protocol wants it.
"""

import hashlib
import json
import os
import random
import re
import socket
import subprocess
import threading

import pytest

from lines import Lines, read_all, read_line
from proxies import BUILD, PROXY

PEER = os.path.join(BUILD, "tests", "system", "tls_peer")
TIMEOUT = 60
BULK = 24 << 20
BULK_START = b"here begins the bulk"
ENGINES = {"record": [], "libssl": ["--libssl"]}


class Pki:
    def __init__(self, directory):
        self.directory = str(directory)
        subprocess.run([PROXY, "pki", "ca", self.directory], check=True,
                       timeout=TIMEOUT)
        for node in ("ours", "theirs"):
            subprocess.run([PROXY, "pki", "node", self.directory, node],
                           check=True, timeout=TIMEOUT)

    def path(self, name):
        return os.path.join(self.directory, name)

    def ours(self):
        return ["--cert", self.path("ours.crt"), "--key",
                self.path("ours.key"), "--ca", self.path("ca.crt"),
                "--peer", "theirs"]

    def openssl(self):
        return ["-cert", self.path("theirs.crt"), "-key",
                self.path("theirs.key"), "-CAfile", self.path("ca.crt"),
                "-verify_return_error"]


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
def processes():
    """Processes that end with the test."""
    started = []

    def start(command, **keywords):
        process = subprocess.Popen(command, **keywords)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(TIMEOUT)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


@pytest.fixture(scope="module")
def bulk(tmp_path_factory):
    """A file of random bytes, the same in each run, and its hash."""
    data = BULK_START + random.Random(7).randbytes(BULK - len(BULK_START))
    path = tmp_path_factory.mktemp("bulk") / "bulk"
    path.write_bytes(data)
    return str(path), hashlib.sha256(data).hexdigest()


def digest(path):
    with open(path, "rb") as content:
        return hashlib.sha256(content.read()).hexdigest()


def start_server(processes, pki, *options, **keywords):
    """tls_peer as a server; returns it and its port."""
    peer = processes([PEER, *pki.ours(), *options, "server", "0"],
                     stderr=subprocess.PIPE, **keywords)
    line = read_line(peer.stderr, TIMEOUT)
    assert line, "tls_peer did not start"
    return peer, int(line)


def start_client(processes, pki, port, *options, **keywords):
    return processes([PEER, *pki.ours(), *options, "client", str(port)],
                     stderr=subprocess.PIPE, **keywords)


def report(peer):
    """What tls_peer says at its end."""
    lines = read_all(peer.stderr, TIMEOUT).decode().splitlines()
    peer.wait(TIMEOUT)
    return json.loads(lines[-1])


def start_s_server(processes, pki, *options, **keywords):
    """openssl s_server; returns it, its lines and the port it chose."""
    server = processes(
        ["stdbuf", "-oL", "openssl", "s_server", "-accept", "127.0.0.1:0",
         "-naccept", "1", "-tls1_3", "-alpn", "ferry/1", "-Verify", "1",
         *pki.openssl(), *options], stdout=subprocess.PIPE, **keywords)
    lines = Lines(server.stdout)
    line = find(lines, b"ACCEPT ")
    return server, lines, int(re.match(rb"ACCEPT .*:(\d+)", line).group(1))


def find(lines, text):
    """The next line that holds text."""
    return lines.find(lambda line: text in line, TIMEOUT)


@pytest.mark.parametrize("cipher", ["TLS_AES_128_GCM_SHA256",
                                    "TLS_AES_256_GCM_SHA384"])
@pytest.mark.parametrize("engine", ENGINES)
def test_bulk_data_from_s_client(processes, pki, bulk, tmp_path, engine,
                                 cipher):
    path, expected = bulk
    received = tmp_path / "received"
    with open(received, "wb") as out:
        peer, port = start_server(processes, pki, *ENGINES[engine],
                                  "--expect", str(BULK),
                                  stdin=subprocess.DEVNULL, stdout=out)
    with open(path, "rb") as data:
        processes(["openssl", "s_client", "-connect", f"127.0.0.1:{port}",
                   "-tls1_3", "-alpn", "ferry/1", "-quiet", "-ciphersuites",
                   cipher, *pki.openssl()], stdin=data,
                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = report(peer)
    assert end["reason"] in ("None", "Truncated"), end
    assert end["cipher"] == cipher
    assert digest(received) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_bulk_data_to_s_server(processes, pki, bulk, tmp_path, engine):
    """Its tickets come first; then our keys change every 100 records."""
    path, expected = bulk
    _, lines, port = start_s_server(processes, pki, stdin=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)
    with open(path, "rb") as data:
        peer = start_client(processes, pki, port, *ENGINES[engine],
                            "--limit", "100", stdin=data,
                            stdout=subprocess.DEVNULL)
        end = report(peer)
    assert end["reason"] in ("None", "Truncated"), end
    assert end["sent"] == BULK
    if engine == "record":
        assert end["updatesSent"] >= BULK // 16384 // 100
    # The data stands amid what s_server has to say.
    said = lines.rest(TIMEOUT).replace(b"Read BLOCK\n", b"")
    start = said.find(BULK_START)
    assert start >= 0
    seen = hashlib.sha256(said[start:start + BULK])
    assert seen.hexdigest() == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_key_updates_by_s_client(processes, pki, engine):
    """k changes its key; K also asks for ours."""
    peer, port = start_server(processes, pki, *ENGINES[engine], "--echo",
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL)
    client = processes(["openssl", "s_client", "-connect",
                        f"127.0.0.1:{port}", "-tls1_3", "-alpn", "ferry/1",
                        *pki.openssl()], stdin=subprocess.PIPE,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = Lines(client.stdout)
    for i, command in enumerate(["k", "K", "k", "K", "K"]):
        client.stdin.write(b"%d before\n" % i)
        client.stdin.flush()
        find(lines, b"%d before" % i)
        client.stdin.write(command.encode() + b"\n")
        client.stdin.flush()
        find(lines, b"KEYUPDATE")
        client.stdin.write(b"%d after\n" % i)
        client.stdin.flush()
        find(lines, b"%d after" % i)
    client.stdin.write(b"Q\n")
    client.stdin.close()
    end = report(peer)
    assert end["reason"] == "None", end
    if engine == "record":
        assert end["updatesReceived"] == 5
        assert end["updatesSent"] == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_key_updates_by_s_server(processes, pki, engine):
    server, lines, port = start_s_server(
        processes, pki, stdin=subprocess.PIPE, stderr=subprocess.STDOUT)
    peer = start_client(processes, pki, port, *ENGINES[engine], "--echo",
                        "--ask", stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL)
    find(lines, b"CIPHER is")
    for i, command in enumerate(["k", "K", "K"]):
        server.stdin.write(b"%d before\n" % i)
        server.stdin.flush()
        find(lines, b"%d before" % i)
        server.stdin.write(command.encode() + b"\n")
        server.stdin.flush()
        find(lines, b"SSL_do_handshake ->")
        server.stdin.write(b"%d after\n" % i)
        server.stdin.flush()
        find(lines, b"%d after" % i)
    server.stdin.write(b"Q\n")
    server.stdin.flush()
    end = report(peer)
    assert end["reason"] in ("None", "Truncated"), end
    if engine == "record":
        # Its own three, and the answer to ours, which may be the first.
        assert end["updatesReceived"] in (3, 4)
        assert end["updatesSent"] == 3


def stunnel_config(pki, directory, **options):
    """Inetd mode: the socket is stdin, so that no port has to be guessed."""
    lines = {"foreground": "quiet", "syslog": "no", "debug": "err",
             "cert": pki.path("theirs.crt"), "key": pki.path("theirs.key"),
             "CAfile": pki.path("ca.crt"), "verifyChain": "yes",
             "sslVersion": "TLSv1.3", **options}
    path = directory / "stunnel.conf"
    path.write_text("".join(f"{k} = {v}\n" for k, v in lines.items()))
    return str(path)


def listen():
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(TIMEOUT)
    return listener, listener.getsockname()[1]


def send_and_collect(sock, path):
    """Sends the file and half-closes, while all that comes is hashed."""
    def send():
        with open(path, "rb") as data:
            sock.sendfile(data)
        sock.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    seen = hashlib.sha256()
    while chunk := sock.recv(65536):
        seen.update(chunk)
    sender.join(TIMEOUT)
    return seen.hexdigest()


@pytest.mark.parametrize("engine", ENGINES)
def test_stunnel_as_the_server(processes, pki, bulk, tmp_path, engine):
    """Both directions at once, both half-closed, keys changing."""
    path, expected = bulk
    tls_listener, tls_port = listen()
    plain_listener, plain_port = listen()
    config = stunnel_config(pki, tmp_path,
                            connect=f"127.0.0.1:{plain_port}")
    received = tmp_path / "received"
    with open(path, "rb") as data, open(received, "wb") as out, \
            tls_listener, plain_listener:
        peer = start_client(processes, pki, tls_port, *ENGINES[engine],
                            "--no-alpn", "--limit", "100", "--expect",
                            str(BULK), stdin=data, stdout=out)
        accepted, _ = tls_listener.accept()
        with accepted:
            processes(["stunnel4", config], stdin=accepted, stdout=accepted)
        plain, _ = plain_listener.accept()
        plain.settimeout(TIMEOUT)
        with plain:
            assert send_and_collect(plain, path) == expected
        end = report(peer)
    assert end["reason"] == "None", end
    assert digest(received) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_stunnel_as_the_client(processes, pki, bulk, tmp_path, engine):
    path, expected = bulk
    received = tmp_path / "received"
    near, far = socket.socketpair()
    near.settimeout(TIMEOUT)
    with open(path, "rb") as data, open(received, "wb") as out:
        peer, port = start_server(processes, pki, *ENGINES[engine],
                                  "--no-alpn", "--limit", "100", "--expect",
                                  str(BULK), stdin=data, stdout=out)
        config = stunnel_config(pki, tmp_path, client="yes",
                                connect=f"127.0.0.1:{port}")
        with far:
            processes(["stunnel4", config], stdin=far, stdout=far)
        with near:
            assert send_and_collect(near, path) == expected
        end = report(peer)
    assert end["reason"] == "None", end
    assert digest(received) == expected


def test_a_stranger_with_openssl_is_refused(processes, pki):
    """Without a certificate; s_client must show the alert it got."""
    peer, port = start_server(processes, pki, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL)
    client = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_3",
         "-alpn", "ferry/1", "-CAfile", pki.path("ca.crt"), "-ign_eof"],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT,
        check=False)
    assert report(peer)["reason"] == "NoCertificate"
    assert b"alert certificate required" in client.stderr
