# SPDX-License-Identifier: Apache-2.0
"""Who may talk to whom: every way to be refused, each with its own reason."""

import json
import os
import shutil
import socket
import ssl
import subprocess

import pytest

from proxies import PROXY, receive_all, run_quietly, tcp_port, wait_for

LONG_AGO = ("20200101000000Z", "20200201000000Z")
FAR_AHEAD = ("20380101000000Z", "20390101000000Z")


def other_ca(bench, name):
    """Credentials of a node from a CA that nobody else trusts."""
    directory = bench.pki.path("other")
    subprocess.run([PROXY, "pki", "ca", directory], check=True)
    subprocess.run([PROXY, "pki", "node", directory, name], check=True)
    return ["--cert", os.path.join(directory, name + ".crt"), "--key-file",
            os.path.join(directory, name + ".key"), "--ca",
            bench.pki.path("ca.crt")]


# What is wrong with a node's certificate, and the code for it.
CERTIFICATES = {
    "expired": (lambda b, n: b.pki.node_dated("x", n, *LONG_AGO),
                "CertificateExpired"),
    "not-yet-valid": (lambda b, n: b.pki.node_dated("x", n, *FAR_AHEAD),
                      "CertificateNotYetValid"),
    "wrong-ca": (other_ca, "WrongCA"),
    "wrong-node": (lambda b, n: b.pki.node("node-c"), "WrongNode"),
}


def check_nothing_came(sink):
    sink.socket.settimeout(0)
    with pytest.raises(BlockingIOError):
        sink.socket.accept()


@pytest.mark.parametrize("engine", ["record", "libssl"])
@pytest.mark.parametrize("case", CERTIFICATES)
def test_a_source_with_a_bad_certificate_is_refused(bench, case, engine):
    make, reason = CERTIFICATES[case]
    sink = bench.sink()
    target, ready = bench.target("--engine", engine)
    source, _ = bench.source(ready, "--engine", engine,
                             credentials=make(bench, "node-a"))
    assert receive_all(bench.connect()) == b""
    target.wait_reason(reason)
    # The source hears of it by an alert, which has no word for "wrong node".
    refused = wait_for("the source's reason", source.reasons)
    assert refused[0] in (reason, "PeerAlert", "BadCertificate",
                          "WrongPurpose"), source.log()
    check_nothing_came(sink)


@pytest.mark.parametrize("case", CERTIFICATES)
def test_a_target_with_a_bad_certificate_is_refused(bench, case):
    make, reason = CERTIFICATES[case]
    sink = bench.sink()
    _, ready = bench.target(credentials=make(bench, "node-b"))
    source, _ = bench.source(ready)
    assert receive_all(bench.connect()) == b""
    source.wait_reason(reason)
    check_nothing_came(sink)


def test_a_certificate_for_another_purpose_is_refused_at_the_start(bench):
    bench.pki.node_dated("x", "node-b", "20200101000000Z", "20380101000000Z",
                         usage="codeSigning")
    done = subprocess.run(
        [PROXY, "target", "--key", "k1", "--peer", "node-a", "--dir", bench.b,
         "--user", "nobody", *bench.pki.options("x")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"server: the certificate is not meant for" in done.stderr


def tls_client(bench, with_certificate=True, alpn=("ferry/1",), newest=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(bench.pki.path("ca.crt"))
    if with_certificate:
        context.load_cert_chain(bench.pki.path("node-a.crt"),
                                bench.pki.path("node-a.key"))
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if newest:
        context.maximum_version = newest
    return context


# What a stranger may try with TLS of its own.
CLIENTS = {
    "no-certificate": ({"with_certificate": False}, "NoCertificate"),
    "wrong-alpn": ({"alpn": ("http/1.1",)}, "WrongALPN"),
    "no-alpn": ({"alpn": None}, "WrongALPN"),
    "tls-1.2": ({"newest": ssl.TLSVersion.TLSv1_2}, "TLSVersion"),
}


@pytest.mark.parametrize("case", CLIENTS)
def test_a_stranger_is_refused(bench, case):
    how, reason = CLIENTS[case]
    target, ready = bench.target()
    with socket.create_connection(("127.0.0.1", tcp_port(ready)), 60) as raw:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            with tls_client(bench, **how).wrap_socket(raw) as client:
                client.send(b"x")
                if not client.recv(1):
                    raise ConnectionError("closed")
    target.wait_reason(reason)


def test_plain_bytes_on_a_tls_port_are_refused(bench):
    target, ready = bench.target()
    with socket.create_connection(("127.0.0.1", tcp_port(ready)), 60) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n")
        receive_all(raw)
    target.wait_reason("NotTLS")


def test_reasons_are_in_the_status_too(bench):
    daemon = bench.daemon("b")
    client = bench.client(daemon)
    ready = client.call("target.start", {"key": "k1", "peer": "node-a",
                                         "dir": bench.b})
    with socket.create_connection(("127.0.0.1", tcp_port(ready)), 60) as raw:
        raw.sendall(b"hello, this is not TLS, is it?")
        receive_all(raw)
    wait_for("the count", lambda: client.call("status")["failures"].get(
        "NotTLS") == 1)
    listed = client.call("target.list")[0]
    assert listed["failures"] == {"NotTLS": 1}
    assert listed["lastFailure"]["reason"] == "NotTLS"
    assert 'ferry_proxy_failures_total{reason="NotTLS"} 1' in client.call(
        "metrics")["text"]


@pytest.mark.parametrize("field,value,reason", [
    ("key", "k2", "WrongMigration"), ("plain", True, "WrongMode")])
def test_a_request_for_something_else_is_refused(bench, field, value, reason):
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    bench.sink()
    ready = bench.client(daemon_b).call("target.start", {
        "key": "k1", "peer": "node-a", "dir": bench.b})
    params = {"key": "k1", "peer": "node-b", "dir": bench.a, **ready}
    params[field] = value
    bench.client(daemon_a).call("source.start", params)
    assert receive_all(bench.connect(key=params["key"])) == b""
    daemon_b.wait_reason(reason)
    daemon_a.wait_reason(reason)  # told in the answer


def test_a_request_for_another_channel_is_refused(bench):
    target, ready = bench.target()
    swapped = dict(ready, ports={str(tcp_port(ready, 0)): 49152,
                                 str(tcp_port(ready)): 0})
    source, _ = bench.source(swapped)
    assert receive_all(bench.connect()) == b""
    target.wait_reason("WrongChannel")
    source.wait_reason("WrongChannel")


def replace(bench, name, with_name):
    """Renews files as a careful issuer does: the key first, by rename."""
    for suffix in (".key", ".crt"):
        new = bench.pki.path(name + suffix + ".tmp")
        shutil.copy(bench.pki.path(with_name + suffix), new)
        os.rename(new, bench.pki.path(name + suffix))


def exchange(bench, sink, data=b"ping"):
    connection = bench.connect()
    accepted = sink.accept()
    connection.sendall(data)
    assert accepted.recv(100) == data
    return connection, accepted


# Keys that other authorities than ours give to nodes: options of `openssl req`.
FOREIGN_KEYS = {
    "p-384": ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "rsa": ["rsa:2048"],
    "rsa-pss": ["rsa-pss", "-pkeyopt", "rsa_keygen_bits:2048"],
    "ed25519": ["ed25519"],
    "ed448": ["ed448"],
}


def foreign_pki(bench, kind):
    """Credentials by node, all of them and the CA with keys of one kind."""
    def path(name):
        return bench.pki.path(f"{kind}-{name}")

    def make(name, *extensions):
        arguments = [part for one in extensions for part in ("-addext", one)]
        run_quietly("openssl", "req", "-x509", "-newkey", *FOREIGN_KEYS[kind],
                    "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout",
                    path(name + ".key"), "-out", path(name + ".crt"),
                    *(["-CA", path("ca.crt"), "-CAkey", path("ca.key")]
                      if name != "ca" else []), *arguments)

    make("ca", "basicConstraints=critical,CA:TRUE",
         "keyUsage=critical,keyCertSign")
    for node in ("node-a", "node-b"):
        make(node, "basicConstraints=critical,CA:FALSE",
             "extendedKeyUsage=serverAuth,clientAuth",
             f"subjectAltName=URI:spiffe://ferry.io/node/{node}")
    return {node: bench.pki.options(f"{kind}-{node}", ca=f"{kind}-ca.crt")
            for node in ("node-a", "node-b")}


@pytest.mark.parametrize("kind", FOREIGN_KEYS)
def test_certificates_may_have_keys_of_any_kind(bench, kind):
    credentials = foreign_pki(bench, kind)
    sink = bench.sink()
    _, ready = bench.target(credentials=credentials["node-b"])
    bench.source(ready, credentials=credentials["node-a"])
    for end in exchange(bench, sink):
        end.close()


def test_renewed_certificates_are_used_and_old_streams_go_on(bench):
    sink = bench.sink()
    bench.pki.node_dated("old", "node-b", *LONG_AGO)
    bench.pki.node("good")
    bench.pki.node_dated("good", "node-b", "20200101000000Z",
                         "20380101000000Z")
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    client_b = bench.client(daemon_b)
    ready = client_b.call("target.start", {
        "key": "k1", "peer": "node-a", "dir": bench.b})
    bench.client(daemon_a).call("source.start", {
        "key": "k1", "peer": "node-b", "dir": bench.a, **ready})
    first = exchange(bench, sink)

    def reloads():
        return client_b.call("status")["credentials"]["server"]["reloads"]

    replace(bench, "node-b", "old")
    wait_for("the expired certificate to be read", lambda: reloads() >= 1)
    assert receive_all(bench.connect()) == b""
    daemon_a.wait_reason("CertificateExpired")

    before = reloads()
    replace(bench, "node-b", "good")
    wait_for("the renewed certificate", lambda: reloads() > before)
    exchange(bench, sink)
    first[0].sendall(b"still here")
    assert first[1].recv(100) == b"still here"


def test_a_broken_renewal_changes_nothing(bench):
    sink = bench.sink()
    target, _ = bench.pair()
    exchange(bench, sink)
    with open(bench.pki.path("node-b.crt"), "w", encoding="ascii") as file:
        file.write("-----BEGIN CERTIFICATE-----\nnonsense\n")
    wait_for("the complaint", lambda: "cannot be used" in target.log())
    exchange(bench, sink)


def test_credentials_can_be_set_per_use(bench):
    sink = bench.sink()
    bench.pki.node("client-a")
    path = bench.pki.path
    _, ready = bench.target(
        "--server-cert", path("node-b.crt"), "--server-key",
        path("node-b.key"), "--server-ca", path("ca.crt"), peer="client-a",
        credentials=["--log-level", "info"])
    bench.source(ready, "--client-cert", path("client-a.crt"), "--client-key",
                 path("client-a.key"), "--migration-ca", path("ca.crt"),
                 credentials=["--log-level", "info"])
    exchange(bench, sink)


def test_the_stream_tells_its_cipher(bench):
    sink = bench.sink()
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    ready = bench.client(daemon_b).call("target.start", {
        "key": "k1", "peer": "node-a", "dir": bench.b})
    client = bench.client(daemon_a)
    client.call("source.start", {
        "key": "k1", "peer": "node-b", "dir": bench.a, **ready})
    exchange(bench, sink)
    stream = client.call("source.list")[0]["streams"][0]
    assert stream["cipher"] == "TLS_AES_128_GCM_SHA256", json.dumps(stream)
    assert stream["peer"] == f"127.0.0.1:{tcp_port(ready)}"
