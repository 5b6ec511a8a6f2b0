# SPDX-License-Identifier: Apache-2.0
"""Bytes: all of them, in order, with their ends, and nothing else."""

import json
import os
import socket
import subprocess
import threading

import pytest

from proxies import DEADLINE, STREAMER, dial, receive_all, wait_for

# More on request: FERRY_STREAMS=1000000 ./run test -k random
STREAMS = int(os.environ.get("FERRY_STREAMS", "4000"))
SEED = int(os.environ.get("FERRY_SEED", "1"))
IDLE = 1000


def run_streamer(bench, streams, at_once=16, most=300000, seed=SEED):
    done = subprocess.run(
        [STREAMER, bench.socket_a(), bench.socket_b(), str(streams),
         str(at_once), str(most), str(seed)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


# Together at least 10,000 in every run.
@pytest.mark.parametrize("options,streams", [
    (["--engine", "record"], STREAMS),
    (["--plain"], STREAMS),
    (["--engine", "libssl"], STREAMS // 2),
    (["--engine", "record", "--threads", "1"], STREAMS // 4),
], ids=["tls", "plain", "libssl", "one-thread"])
def test_random_streams_arrive_unchanged(bench, options, streams):
    target, source = bench.pair("--log-level", "warning", *options)
    result = run_streamer(bench, streams)
    assert result["streams"] == streams
    assert target.stop() == 0
    assert source.stop() == 0
    assert target.reasons() == []
    assert source.reasons() == []


def test_engines_talk_to_each_other(bench):
    bench.pair("--log-level", "warning", target=["--engine", "libssl"],
               source=["--engine", "record"])
    run_streamer(bench, 300, most=2000000)


@pytest.mark.parametrize("mode", [[], ["--plain"]], ids=["tls", "plain"])
def test_half_close_passes_both_ways(bench, mode):
    sink = bench.sink()
    bench.pair(*mode)
    near = bench.connect()
    far = sink.accept()
    near.sendall(b"question")
    near.shutdown(socket.SHUT_WR)
    assert receive_all(far) == b"question"
    far.sendall(b"answer")
    far.close()
    assert receive_all(near) == b"answer"


@pytest.mark.parametrize("mode", [[], ["--plain"]], ids=["tls", "plain"])
def test_the_target_may_speak_first(bench, mode):
    """In plain mode: raw bytes come right behind the last TLS record."""
    sink = bench.sink()
    bench.pair(*mode)
    for _ in range(20):
        near = dial(bench.socket_a())
        far = sink.accept()
        far.sendall(b"banner" * 1000)
        far.close()
        assert receive_all(near) == b"banner" * 1000
        near.close()


def test_connections_arrive_in_the_order_they_were_made(bench):
    sink = bench.sink()
    bench.pair()
    for _ in range(10):
        near = [dial(bench.socket_a()) for _ in range(9)]
        for number, connection in enumerate(near):
            connection.sendall(bytes([number]))
        far = [sink.accept() for _ in near]
        assert [connection.recv(1)[0] for connection in far] == list(range(9))
        for connection in near + far:
            connection.close()


class SlowFirst:
    """A TCP relay that makes the first connection wait until told to go."""

    def __init__(self, port):
        self._to = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.go = threading.Event()
        self.others = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self):
        first = True
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(near, first),
                             daemon=True).start()
            first = False

    def _relay(self, near, first):
        if first:
            self.go.wait(DEADLINE)
        with near, socket.create_connection(self._to) as far:
            if not first:
                self.others.release()
            back = threading.Thread(target=_copy, args=(far, near),
                                    daemon=True)
            back.start()
            _copy(near, far)
            back.join()

    def close(self):
        self.go.set()
        self._listener.close()


def _copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def test_a_slow_first_connection_is_not_overtaken(bench):
    """What wedges a parallel migration: the second connection comes first."""
    sink = bench.sink()
    _, ready = bench.target()
    tcp = next(t for t, channel in ready["ports"].items() if channel == 49152)
    slow = bench.keep(SlowFirst(int(tcp)))
    bench.source({"address": "127.0.0.1", "ports": {str(slow.port): 49152}})
    near = [bench.connect() for _ in range(5)]
    for number, connection in enumerate(near):
        connection.sendall(bytes([number]))
    for _ in near[1:]:
        assert slow.others.acquire(timeout=DEADLINE)
    sink.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):
        sink.socket.accept()
    sink.socket.settimeout(DEADLINE)
    slow.go.set()
    far = [sink.accept() for _ in near]
    assert [connection.recv(1)[0] for connection in far] == list(range(5))


def test_idle_connections_cost_little_and_live_on(bench):
    sink = bench.sink(backlog=4096)
    target, source = bench.pair("--peer-timeout", "2s", "--log-level",
                                "warning")
    warm = bench.connect()
    sink.accept().close()
    warm.close()
    before = target.memory_kib() + source.memory_kib()
    pairs = []
    for _ in range(IDLE):
        near = bench.connect()
        far = bench.keep(sink.accept())
        near.sendall(b"x")
        assert far.recv(1) == b"x"
        pairs.append((near, far))
    used = target.memory_kib() + source.memory_kib() - before
    assert used / IDLE < 40, f"{used / IDLE:.1f} KiB per connection"
    # Longer than the peer timeout: keepalive answers, nobody is dead.
    deadline = 5
    with pytest.raises(TimeoutError):
        wait_for("a stream to die", lambda: target.reasons() +
                 source.reasons(), deadline)
    for near, far in pairs:
        far.sendall(b"y")
        assert near.recv(1) == b"y"


def test_back_pressure_reaches_the_sender_and_memory_stays_bounded(bench):
    sink = bench.sink()
    target, source = bench.pair("--log-level", "warning")
    near = bench.connect()
    far = sink.accept()
    before = target.memory_kib() + source.memory_kib()
    near.settimeout(2)
    sent = 0
    block = bytes(1 << 20)
    with pytest.raises(TimeoutError):
        while True:
            sent += near.send(block)
    grown = target.memory_kib() + source.memory_kib() - before
    assert grown < 4 * 1024, f"{grown} KiB for one stalled stream"
    near.settimeout(DEADLINE)
    near.shutdown(socket.SHUT_WR)
    assert len(receive_all(far)) == sent


def test_streams_go_on_over_ipv6(bench):
    sink = bench.sink()
    _, ready = bench.target(bind="::1")
    assert ready["address"] == "::1"
    bench.source(ready)
    near = bench.connect()
    near.sendall(b"six")
    assert sink.accept().recv(10) == b"six"


def test_a_target_without_a_program_refuses_and_says_so(bench):
    target, source = bench.pair()
    assert receive_all(bench.connect()) == b""
    target.wait_reason("LocalMissing")
    source.wait_reason("LocalMissing")
    # QEMU may come later: the next connection is dialled anew.
    sink = bench.sink()
    near = bench.connect()
    near.sendall(b"now")
    assert sink.accept().recv(10) == b"now"


def test_all_channels_are_carried(bench):
    sinks = {c: bench.sink(channel=c) for c in (0, 49152, 49153)}
    bench.pair(target=["--block"])
    for channel, sink in sinks.items():
        near = bench.connect(channel=channel)
        near.sendall(str(channel).encode())
        assert sink.accept().recv(10) == str(channel).encode()
