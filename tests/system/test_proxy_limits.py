# SPDX-License-Identifier: Apache-2.0
"""Limits and deadlines: nobody holds others up, nothing waits for ever."""

import contextlib
import os
import socket
import threading
import time

import pytest

from proxies import (DEADLINE, dial, receive_all, run_quietly, tcp_port,
                     wait_for)

MIB = 1 << 20


def drain(connection, counts, index):
    with contextlib.suppress(OSError):
        while data := connection.recv(1 << 20):
            counts[index] += len(data)


def push(connection):
    block = bytes(256 * 1024)
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(block)


@pytest.mark.parametrize("mode", [[], ["--plain"]], ids=["tls", "plain"])
@pytest.mark.parametrize("streams", [1, 4])
def test_the_bandwidth_limit_holds_for_the_sum(bench, mode, streams):
    rate = 16 * MIB  # so little that a busy computer comes near to it
    sink = bench.sink()
    bench.pair(*mode, source=["--bandwidth", str(rate)])
    counts = [0] * streams
    for index in range(streams):
        near, far = bench.connect(), bench.keep(sink.accept())
        threading.Thread(target=drain, args=(far, counts, index),
                         daemon=True).start()
        threading.Thread(target=push, args=(near,), daemon=True).start()
    wait_for("the streams to run", lambda: sum(counts) > 5 * MIB)
    first, start = sum(counts), time.monotonic()
    wait_for("80 MiB", lambda: sum(counts) - first > 80 * MIB)
    measured = (sum(counts) - first) / (time.monotonic() - start)
    # A busy machine may be slower; that is no fault of the limit.
    assert measured < 1.05 * rate, f"{measured / MIB:.1f} MiB/s"
    assert measured > 0.5 * rate, f"{measured / MIB:.1f} MiB/s"


def test_the_limit_can_be_changed_while_streams_run(bench):
    sink = bench.sink()
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    ready = bench.client(daemon_b).call("target.start", {
        "key": "k1", "peer": "node-a", "dir": bench.b})
    client = bench.client(daemon_a)
    client.call("source.start", {"key": "k1", "peer": "node-b",
                                 "dir": bench.a, "bandwidth": 1 * MIB,
                                 **ready})
    near, far = bench.connect(), bench.keep(sink.accept())
    counts = [0]
    threading.Thread(target=drain, args=(far, counts, 0), daemon=True).start()
    threading.Thread(target=push, args=(near,), daemon=True).start()
    wait_for("the first MiB", lambda: counts[0] > MIB // 2)
    client.call("bandwidth.set", {"side": "source", "key": "k1",
                                  "bandwidth": 0})
    wait_for("500 MiB without a limit", lambda: counts[0] > 500 * MIB)
    stalls = client.call("source.list")[0]["streams"][0]["stalls"]
    assert stalls["limit"]["count"] > 0


def test_half_a_client_hello_is_not_waited_for(bench):
    target, ready = bench.target("--handshake-timeout", "1s")
    with socket.create_connection(("127.0.0.1", tcp_port(ready)), 60) as raw:
        raw.sendall(bytes.fromhex("160301020001"))
        receive_all(raw)
    target.wait_reason("HandshakeTimeout")


def test_silent_clients_do_not_keep_others_out(bench):
    sink = bench.sink()
    target, ready = bench.target("--max-handshakes", "8",
                                 "--handshake-timeout", "60s")
    silent = [bench.keep(socket.create_connection(
        ("127.0.0.1", tcp_port(ready)))) for _ in range(30)]
    bench.source(ready)
    near = bench.connect()
    near.sendall(b"let me in")
    assert sink.accept().recv(100) == b"let me in"
    target.wait_reason("TooManyHandshakes")
    assert len(silent) == 30


def test_no_more_connections_than_allowed(bench):
    sink = bench.sink()
    bench.pair("--max-connections", "3")
    near = [bench.connect() for _ in range(4)]
    for connection in near:
        connection.sendall(b"x")
    far = [sink.accept() for _ in range(3)]
    sink.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):
        sink.socket.accept()
    # The fourth waited in its socket's queue and comes when one has gone.
    near[0].close()
    far[0].close()
    sink.socket.settimeout(DEADLINE)
    assert sink.accept().recv(1) == b"x"


def test_a_target_that_cannot_be_reached_fails_the_connection(bench):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    source, _ = bench.source({"address": "127.0.0.1",
                              "ports": {str(port): 49152}})
    assert receive_all(bench.connect()) == b""
    record = source.wait_reason("DialRefused")
    assert f"127.0.0.1:{port}" in record["msg"]
    assert record["channel"] == "direct"
    assert record["peer"] == "spiffe://ferry.io/node/node-b"


def test_a_target_that_accepts_and_says_nothing_is_given_up(bench):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        source, _ = bench.source({"address": "127.0.0.1",
                                  "ports": {str(port): 49152}},
                                 "--handshake-timeout", "1s")
        assert receive_all(bench.connect()) == b""
        source.wait_reason("HandshakeTimeout")


def test_a_dial_into_nowhere_times_out(bench, nodes):
    source = bench.process(
        "source", "source", "--key", "k1", "--peer", "node-b", "--dir",
        bench.a, "--address", "10.99.0.77", "--ports", "4000:49152",
        "--dial-timeout", "1s", *bench.options_a, netns=nodes.a)
    source.ready_line()
    assert receive_all(bench.connect()) == b""
    assert source.wait_reason("DialTimeout") or source.reasons()


class Nodes:
    """Two network namespaces with a wire between them."""

    def __init__(self):
        tag = f"{os.getpid():x}"
        self.a, self.b = f"ferry-{tag}-a", f"ferry-{tag}-b"
        for name in (self.a, self.b):
            run_quietly("ip", "netns", "add", name)
            run_quietly("ip", "-n", name, "link", "set", "lo", "up")
        run_quietly("ip", "-n", self.a, "link", "add", "mig0", "type", "veth",
                    "peer", "name", "mig0", "netns", self.b)
        for name, address in ((self.a, "10.99.0.1"), (self.b, "10.99.0.2")):
            run_quietly("ip", "-n", name, "address", "add", address + "/24",
                        "dev", "mig0")
            run_quietly("ip", "-n", name, "link", "set", "mig0", "up")

    def cut(self):
        """The wire goes silent: no reset, no unreachable."""
        for name in (self.a, self.b):
            run_quietly("ip", "netns", "exec", name, "nft", "add", "table",
                        "inet", "cut")
            for hook in ("input", "output"):
                run_quietly("ip", "netns", "exec", name, "nft", "add",
                            "chain", "inet", "cut", hook,
                            "{ type filter hook %s priority 0; policy drop; }"
                            % hook)

    def close(self):
        for name in (self.a, self.b):
            run_quietly("ip", "netns", "delete", name)


@pytest.fixture
def nodes(bench):
    return bench.keep(Nodes())


def pair_on_nodes(bench, nodes, *more):
    target = bench.process("target", "target", "--key", "k1", "--peer",
                           "node-a", "--dir", bench.b, "--bind", "mig0",
                           *bench.options_b, *more, netns=nodes.b)
    ready = target.ready_line()
    assert ready["address"] == "10.99.0.2"
    ports = ",".join(f"{t}:{c}" for t, c in ready["ports"].items())
    source = bench.process("source", "source", "--key", "k1", "--peer",
                           "node-b", "--dir", bench.a, "--address",
                           ready["address"], "--ports", ports,
                           *bench.options_a, *more, netns=nodes.a)
    source.ready_line()
    return target, source


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_both_ends_learn_of_a_dead_wire(bench, nodes, busy):
    sink = bench.sink()
    control = bench.sink(channel=0)
    target, source = pair_on_nodes(bench, nodes, "--peer-timeout", "3s")
    near, far = bench.connect(), sink.accept()
    near_control, far_control = bench.connect(channel=0), control.accept()
    near.sendall(b"x")
    assert far.recv(1) == b"x"
    if busy:
        threading.Thread(target=drain, args=(far, [0], 0),
                         daemon=True).start()
        threading.Thread(target=push, args=(near,), daemon=True).start()
    start = time.monotonic()
    nodes.cut()
    source.wait_reason("PeerDead")
    target.wait_reason("PeerDead")
    assert time.monotonic() - start < DEADLINE / 2
    assert receive_all(near_control) == b""
    assert receive_all(far_control) == b""


def test_a_slow_reader_is_not_taken_for_dead(bench):
    sink = bench.sink()
    target, source = bench.pair("--peer-timeout", "1s")
    near, far = bench.connect(), sink.accept()
    sent = 0
    near.settimeout(4)  # four times the peer timeout with a closed window
    with pytest.raises(TimeoutError):
        while True:
            sent += near.send(bytes(MIB))
    assert target.reasons() + source.reasons() == []
    near.settimeout(DEADLINE)
    near.shutdown(socket.SHUT_WR)
    assert len(receive_all(far)) == sent


def test_killing_one_proxy_cuts_the_other_side(bench):
    sink = bench.sink()
    target, source = bench.pair()
    near, far = bench.connect(), sink.accept()
    near.sendall(b"x")
    assert far.recv(1) == b"x"
    source.popen.kill()
    assert receive_all(far) == b""
    reasons = wait_for("the target's reason", target.reasons)
    assert reasons[0] in ("Truncated", "PeerReset")


def test_a_full_queue_of_the_local_socket_is_waited_out(bench):
    sink = bench.sink(backlog=0)
    bench.pair()
    near = [dial(bench.socket_a()) for _ in range(6)]
    for number, connection in enumerate(near):
        connection.sendall(bytes([number]))
    far = [sink.accept() for _ in near]
    assert [c.recv(1)[0] for c in far] == list(range(6))
    for connection in near + far:
        connection.close()
