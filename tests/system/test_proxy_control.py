# SPDX-License-Identifier: Apache-2.0
"""The control socket: what can be asked, and what remains when it fails."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest

from lines import read_line
from proxies import (DEADLINE, PROXY, REPOSITORY, receive_all, run_quietly,
                     tcp_port, wait_for)
from rpc import RpcError


@pytest.fixture
def target(bench):
    """A target daemon and a client of it."""
    daemon = bench.daemon("b")
    return daemon, bench.client(daemon)


def params(bench, **more):
    return {"key": "k1", "peer": "node-a", "dir": bench.b, **more}


def listening(pid):
    """TCP ports that a process listens on; others of its network do not count,
    they come and go with other tests."""
    own = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            own.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    found = set()
    for name in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{name}", encoding="ascii") as file:
            for line in list(file)[1:]:
                fields = line.split()
                if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
                    found.add(int(fields[1].split(":")[1], 16))
    return found


def test_channels_follow_from_the_kind_of_migration(bench, target):
    _, client = target
    without = client.call("target.start", params(bench))
    assert sorted(without["ports"].values()) == [0, 49152]
    with_disks = client.call("target.start", params(bench, key="k2",
                                                    block=True))
    assert sorted(with_disks["ports"].values()) == [0, 49152, 49153]


def test_the_same_start_changes_nothing(bench, target):
    _, client = target
    first = client.call("target.start", params(bench))
    assert client.call("target.start", params(bench)) == first
    # The same directory by another name is the same.
    by_fd = {k: v for k, v in params(bench).items() if k != "dir"}
    directory = os.open(bench.b, os.O_PATH)
    try:
        assert client.call("target.start", dict(by_fd, dirFd=0),
                           [directory]) == first
    finally:
        os.close(directory)
    assert len(client.call("target.list")) == 1


def test_other_arguments_replace_the_listener(bench, target):
    daemon, client = target
    first = client.call("target.start", params(bench))
    second = client.call("target.start", params(bench, block=True))
    assert len(second["ports"]) == 3
    assert len(client.call("target.list")) == 1
    old = {int(p) for p in first["ports"]} - {int(p) for p in second["ports"]}
    assert not old & listening(daemon.popen.pid)


def test_a_failed_start_leaves_nothing_behind(bench):
    """The second of two sockets cannot be made: the first one goes too."""
    daemon = bench.daemon("a")
    client = bench.client(daemon)
    os.mkdir(bench.socket_a())  # a directory where a socket should be
    with pytest.raises(RpcError, match="k1-49152-source.sock"):
        client.call("source.start", {
            "key": "k1", "peer": "node-b", "dir": bench.a,
            "address": "127.0.0.1", "ports": {"4000": 0, "4001": 49152}})
    assert os.listdir(bench.a) == [os.path.basename(bench.socket_a())]
    assert client.call("source.list") == []


def test_a_failed_target_start_leaves_no_port_open(bench, target):
    daemon, client = target
    other = client.call("target.start", params(bench, key="k2"))
    before = listening(daemon.popen.pid)
    assert {int(port) for port in other["ports"]} <= before
    # Two channels, one port.
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(RpcError, match=str(port)) as caught:
        client.call("target.start", params(bench, ports=f"{port}-{port}"))
    assert caught.value.kind == "LimitReached"
    assert listening(daemon.popen.pid) <= before
    assert [each["key"] for each in client.call("target.list")] == ["k2"]


def test_ports_come_from_the_range(bench, target):
    _, client = target
    with socket.create_server(("127.0.0.1", 0)) as probe:
        low = min(probe.getsockname()[1], 65000)
    ready = client.call("target.start", params(bench,
                                               ports=f"{low}-{low + 100}"))
    assert all(low <= int(port) <= low + 100 for port in ready["ports"])


@pytest.mark.parametrize("bind,kind,text", [
    ("10.200.0.0/16", "Unavailable", "10.200.0.0/16"),
    ("no-such-if", "NotFound", "no-such-if"),
    ("10.0.0.0/99", "Invalid", "10.0.0.0/99"),
])
def test_a_bind_that_has_no_address_is_named(bench, target, bind, kind, text):
    _, client = target
    with pytest.raises(RpcError) as caught:
        client.call("target.start", params(bench, bind=bind))
    assert caught.value.kind == kind
    assert text in str(caught.value)


@pytest.mark.parametrize("bind,address", [
    ("lo", "127.0.0.1"), ("127.0.0.0/8", "127.0.0.1"), ("::1", "::1")])
def test_bind_takes_interfaces_networks_and_addresses(bench, target, bind,
                                                      address):
    _, client = target
    ready = client.call("target.start", params(bench, bind=bind))
    assert ready["address"] == address


@pytest.mark.parametrize("bind,told", [
    ("lo", {"name": "lo", "address": "127.0.0.1"}),
    ("127.0.0.0/8", {"name": "127.0.0.0/8", "address": "127.0.0.1"}),
    ("no-such-if", {"name": "no-such-if",
                    "error": "there is no interface 'no-such-if'"}),
])
def test_status_tells_the_network_and_what_is_wrong_with_it(bench, bind, told):
    daemon = bench.daemon("b", "--bind", bind, name="bound")
    assert bench.client(daemon).call("status")["bind"] == told


@pytest.mark.parametrize("change,text", [
    ({"key": "../x"}, "key"), ({"key": ""}, "key"), ({"key": "k" * 65}, "key"),
    ({"peer": "a b"}, "a b"), ({"dir": "relative"}, "relative"),
    ({"dir": "/etc"}, "/etc"), ({"surprise": 1}, "surprise"),
    ({"bandwidth": -1}, "bandwidth"), ({"block": "yes"}, "block"),
    ({"dirFd": 3}, "dirFd"),
])
def test_bad_arguments_are_named(bench, target, change, text):
    _, client = target
    with pytest.raises(RpcError) as caught:
        client.call("target.start", params(bench, **change))
    assert text in str(caught.value)
    assert client.call("target.list") == []


@pytest.mark.parametrize("change,text", [
    ({"address": "example.org"}, "example.org"),
    ({"address": "0.0.0.0"}, "0.0.0.0"), ({"ports": {}}, "ports"),
    ({"ports": {"70000": 0}}, "70000"), ({"ports": {"4000": 7}}, "7"),
    ({"ports": {"4000": 0, "4001": 0}}, "control"),
    ({"owner": {"uid": -1}}, "uid"),
])
def test_bad_arguments_of_a_source_are_named(bench, change, text):
    client = bench.client(bench.daemon("a"))
    with pytest.raises(RpcError) as caught:
        client.call("source.start", {
            "key": "k1", "peer": "node-b", "dir": bench.a,
            "address": "127.0.0.1", "ports": {"4000": 49152}, **change})
    assert text in str(caught.value)
    assert os.listdir(bench.a) == []


def start_source(bench, client, **more):
    return client.call("source.start", {
        "key": "k1", "peer": "node-b", "dir": bench.a,
        "address": "127.0.0.1", "ports": {"4000": 49152}, **more})


def test_sockets_are_private_and_have_their_owner(bench):
    client = bench.client(bench.daemon("a"))
    result = start_source(bench, client, owner={"uid": 1234, "gid": 4321})
    path = result["sockets"]["49152"]
    assert path == bench.socket_a()
    status = os.stat(path)
    assert status.st_mode & 0o777 == 0o600
    assert (status.st_uid, status.st_gid) == (1234, 4321)
    client.call("source.stop", {"key": "k1"})
    assert not os.path.exists(path)


def test_a_stale_socket_is_replaced(bench):
    client = bench.client(bench.daemon("a"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stale:
        stale.bind(bench.socket_a())
    start_source(bench, client)
    bench.connect()


def test_a_link_is_not_followed(bench):
    client = bench.client(bench.daemon("a"))
    os.symlink("/tmp/elsewhere", bench.socket_a())
    with pytest.raises(RpcError) as caught:
        start_source(bench, client)
    assert caught.value.kind == "AlreadyExists"
    assert os.path.islink(bench.socket_a())
    assert not os.path.exists("/tmp/elsewhere")


def test_a_linked_directory_is_not_entered(bench):
    client = bench.client(bench.daemon("a"))
    os.symlink(bench.a, os.path.join(bench.directory, "link"))
    with pytest.raises(RpcError):
        start_source(bench, client,
                     dir=os.path.join(bench.directory, "link"))
    assert os.listdir(bench.a) == []


def test_a_target_does_not_dial_through_a_link(bench):
    target, source = bench.pair()
    elsewhere = os.path.join(bench.directory, "elsewhere.sock")
    sink = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bench.keep(sink)
    sink.bind(elsewhere)
    sink.listen(5)
    os.symlink(elsewhere, bench.socket_b())
    assert receive_all(bench.connect()) == b""
    target.wait_reason("LocalFailed")
    source.wait_reason("LocalFailed")


# What a handler does, then dies of; the daemons must not care.
CONTROLLER = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from rpc import Client
with Client(sys.argv[2]) as b, Client(sys.argv[3]) as a:
    ready = b.call("target.start", json.loads(sys.argv[4]))
    a.call("source.start", dict(json.loads(sys.argv[5]), **ready))
    print(json.dumps(ready), flush=True)
    sys.stdin.read()
"""


def test_streams_go_on_without_their_controller(bench):
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    sink = bench.sink()
    source_params = {"key": "k1", "peer": "node-b", "dir": bench.a}
    controller = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, os.path.dirname(__file__),
         daemon_b.control, daemon_a.control, json.dumps(params(bench)),
         json.dumps(source_params)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        ready = json.loads(read_line(controller.stdout, DEADLINE))
        near, far = bench.connect(), bench.keep(sink.accept())
        near.sendall(b"before")
        assert far.recv(100) == b"before"
    finally:
        controller.kill()
        controller.wait(DEADLINE)
        controller.stdin.close()
        controller.stdout.close()
    near.sendall(b"after")
    assert far.recv(100) == b"after"
    # The next controller finds and adopts everything.
    client_a, client_b = bench.client(daemon_a), bench.client(daemon_b)
    listed = client_b.call("target.list")
    assert [x["key"] for x in listed] == ["k1"]
    assert listed[0]["ports"] == ready["ports"]
    assert client_b.call("target.start", params(bench)) == ready
    client_a.call("source.start", dict(source_params, **ready))
    assert client_a.call("counters")["migrations"][0]["sentBytes"] == 11
    near.sendall(b"adopted")
    assert far.recv(100) == b"adopted"


def test_stopping_a_listener_cuts_its_streams(bench):
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    sink = bench.sink()
    ready = bench.client(daemon_b).call("target.start", params(bench))
    client = bench.client(daemon_a)
    client.call("source.start", {"key": "k1", "peer": "node-b",
                                 "dir": bench.a, **ready})
    near, far = bench.connect(), sink.accept()
    near.sendall(b"x")
    assert far.recv(1) == b"x"
    client.call("source.stop", {"key": "k1"})
    assert receive_all(near) == b""
    assert receive_all(far) == b""
    wait_for("the stream to be gone",
             lambda: client.call("status")["streams"] == 0)
    with pytest.raises(RpcError) as caught:
        client.call("source.stop", {"key": "k1"})
    assert caught.value.kind == "NotFound"


def test_a_listener_can_be_stopped_and_its_streams_finish(bench):
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    sink = bench.sink()
    clients = [bench.client(daemon) for daemon in (daemon_a, daemon_b)]
    ready = clients[1].call("target.start", params(bench))
    clients[0].call("source.start", {"key": "k1", "peer": "node-b",
                                     "dir": bench.a, **ready})
    near, far = bench.connect(), sink.accept()
    near.sendall(b"x")
    assert far.recv(1) == b"x"
    for client, side in zip(clients, ("source", "target")):
        client.call(f"{side}.stop", {"key": "k1", "finish": True})
        assert client.call(f"{side}.list") == []
    near.sendall(b"goodbye")
    assert far.recv(100) == b"goodbye"
    far.sendall(b"farewell")
    assert near.recv(100) == b"farewell"
    near.close()
    assert receive_all(far) == b""
    far.close()
    for client in clients:
        wait_for("the stream to be gone",
                 lambda c=client: c.call("status")["streams"] == 0)


def test_streams_that_are_to_finish_end_with_their_daemon(bench):
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    sink = bench.sink()
    ready = bench.client(daemon_b).call("target.start", params(bench))
    client = bench.client(daemon_a)
    client.call("source.start", {"key": "k1", "peer": "node-b",
                                 "dir": bench.a, **ready})
    near, far = bench.connect(), sink.accept()
    near.sendall(b"x")
    assert far.recv(1) == b"x"
    client.call("source.stop", {"key": "k1", "finish": True})

    def is_seen():
        """Whether it drains, or has ended, perhaps while it was asked."""
        try:
            return client.call("status")["draining"]
        except OSError:
            daemon_a.popen.wait(DEADLINE)
            return True

    for _ in range(2):  # drains, and does not wait for it any longer
        daemon_a.popen.send_signal(signal.SIGTERM)
        wait_for("the signal to be seen", is_seen)
    assert daemon_a.popen.wait(DEADLINE) == 0
    assert receive_all(far) == b""


def test_draining_lets_streams_finish_and_takes_no_new_ones(bench):
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    sink = bench.sink()
    client_a, client_b = bench.client(daemon_a), bench.client(daemon_b)
    ready = client_b.call("target.start", params(bench))
    client_a.call("source.start", {"key": "k1", "peer": "node-b",
                                   "dir": bench.a, **ready})
    near, far = bench.connect(), sink.accept()
    client_b.call("drain")
    wait_for("the drain", lambda: client_b.call("status")["draining"])
    with pytest.raises(RpcError, match="unable to process new migration"):
        client_b.call("target.start", params(bench, key="k2"))
    assert client_b.call("target.start", params(bench)) == ready  # adopted
    near.sendall(b"still carried")
    assert far.recv(100) == b"still carried"
    client_b.call("target.stop", {"key": "k1"})
    assert daemon_b.popen.wait(DEADLINE) == 0
    assert not os.path.exists(daemon_b.control)


def test_sigterm_drains_and_a_second_one_ends(bench):
    daemon = bench.daemon("b")
    client = bench.client(daemon)
    client.call("target.start", params(bench))
    daemon.popen.send_signal(signal.SIGTERM)
    wait_for("the drain", lambda: client.call("status")["draining"])
    daemon.popen.send_signal(signal.SIGTERM)
    assert daemon.popen.wait(DEADLINE) == 0


def test_a_dead_opener_lets_streams_finish(bench):
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    sink = bench.sink()
    ready = bench.client(daemon_b).call("target.start", params(bench))
    bench.client(daemon_a).call("source.start", {
        "key": "k1", "peer": "node-b", "dir": bench.a, **ready})
    near, far = bench.connect(), sink.accept()
    # The opener connects before it hands the socket over: only a byte that has
    # come through shows that it did.
    near.sendall(b"x")
    assert far.recv(1) == b"x"
    os.kill(daemon_b.pids()[1], signal.SIGKILL)
    wait_for("the daemon to notice", lambda: "opener" in daemon_b.log())
    near.sendall(b"carried")
    assert far.recv(100) == b"carried"
    assert receive_all(bench.connect()) == b""
    daemon_b.wait_reason("LocalFailed")


def test_counters_tell_bytes_stalls_and_age(bench):
    daemon_a, daemon_b = bench.daemon("a"), bench.daemon("b")
    sink = bench.sink()
    ready = bench.client(daemon_b).call("target.start", params(bench))
    client = bench.client(daemon_a)
    client.call("source.start", {"key": "k1", "peer": "node-b",
                                 "dir": bench.a, **ready})
    near, far = bench.connect(), sink.accept()
    writer = threading.Thread(target=near.sendall, args=(bytes(30 << 20),))
    writer.start()
    wait_for("a stall", lambda: client.call("counters")["stalls"]["network"][
        "count"] > 0)
    got = 0
    while got < 30 << 20:
        piece = far.recv(1 << 20)
        assert piece, f"it ended after {got} bytes"
        got += len(piece)
    writer.join(DEADLINE)
    assert not writer.is_alive()
    stream = client.call("counters")["migrations"][0]["streams"][0]
    assert stream["sentBytes"] == 30 << 20
    assert stream["channel"] == 49152
    assert stream["ageMs"] >= 0
    far.sendall(b"back")
    assert near.recv(10) == b"back"
    assert client.call("counters")["receivedBytes"] == 4
    near.close()
    far.close()
    wait_for("the end", lambda: client.call("counters")["streamsEnded"] == 1)
    text = client.call("metrics")["text"]
    assert ('ferry_proxy_migration_bytes_total{side="source",migration="k1",'
            f'direction="sent"}} {30 << 20}\n') in text
    # Of the whole process, also when streams and listeners are gone.
    for _ in range(2):
        assert f"\nferry_proxy_sent_bytes_total {30 << 20}\n" in text
        assert "\nferry_proxy_received_bytes_total 4\n" in text
        client.call("source.stop", {"key": "k1"})
        text = client.call("metrics")["text"]
        assert "ferry_proxy_listeners 0" in text
        client.call("source.start", {"key": "k1", "peer": "node-b",
                                     "dir": bench.a, **ready})
    check_exposition(text)


def check_exposition(text):
    """Every sample belongs to a family that was announced before it."""
    families = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            families.add(line.split()[2])
        elif not line.startswith("#"):
            name = line.split("{")[0].split(" ")[0]
            assert name in families, line
            float(line.rsplit(" ", 1)[1])


def handshakes(client, side):
    """How many were made, and those that failed by reason."""
    text = client.call("metrics")["text"]
    made = re.search(r'^ferry_proxy_handshakes_total{side="%s"} (\d+)$' % side,
                     text, re.M)
    failed = re.findall(r'^ferry_proxy_handshake_failures_total{side="%s",'
                        r'reason="(\w+)"} (\d+)$' % side, text, re.M)
    return int(made.group(1)), {reason: int(count) for reason, count in failed
                                if count != "0"}


def test_handshakes_are_counted_by_side_and_reason(bench):
    clients = [bench.client(bench.daemon(node)) for node in ("a", "b")]
    near, far = clients
    sink = bench.sink()
    ready = far.call("target.start", params(bench))
    near.call("source.start", {"key": "k1", "peer": "node-b", "dir": bench.a,
                               **ready})
    for client in clients:
        for side in ("source", "target"):
            assert handshakes(client, side) == (0, {})
    for _ in range(2):
        bench.connect()
        sink.accept().close()
    assert handshakes(near, "source") == (2, {})
    assert handshakes(far, "target") == (2, {})
    with socket.create_connection(("127.0.0.1", tcp_port(ready)),
                                  DEADLINE) as raw:
        raw.sendall(b"this is not TLS, is it?")
        receive_all(raw)
    wait_for("the failure to be counted",
             lambda: handshakes(far, "target") == (2, {"NotTLS": 1}))
    # Who cannot be reached has shaken no hands.
    far.call("target.stop", {"key": "k1"})
    assert receive_all(bench.connect()) == b""
    assert handshakes(near, "source") == (2, {})
    assert 'ferry_proxy_failures_total{reason="DialRefused"} 1' in near.call(
        "metrics")["text"]
    assert handshakes(near, "target") == handshakes(far, "source") == (0, {})


def test_a_target_of_another_node_is_a_failed_handshake(bench):
    near = bench.client(bench.daemon("a"))
    far = bench.client(bench.daemon("b"))
    bench.sink()
    ready = far.call("target.start", params(bench))
    near.call("source.start", {"key": "k1", "peer": "node-c", "dir": bench.a,
                               **ready})
    assert receive_all(bench.connect()) == b""
    wait_for("both to have counted it", lambda: (
        handshakes(near, "source") == (0, {"WrongNode": 1})
        and sum(handshakes(far, "target")[1].values()) == 1))


def fetch(port, request="GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
    with socket.create_connection(("127.0.0.1", port), DEADLINE) as client:
        client.sendall(request.encode())
        head, _, body = receive_all(client).decode().partition("\r\n\r\n")
    return head.splitlines(), body


def test_prometheus_can_ask_the_daemon_itself(bench):
    daemon = bench.daemon("b", "--metrics", "127.0.0.1:0")
    port = int(re.search(r"serving metrics at port (\d+)",
                         daemon.log()).group(1))
    bench.client(daemon).call("target.start", params(bench))
    head, body = fetch(port)
    assert head[0] == "HTTP/1.1 200 OK"
    assert "Content-Type: text/plain; version=0.0.4" in head
    assert f"Content-Length: {len(body)}" in head
    assert "ferry_proxy_listeners 1\n" in body
    check_exposition(body)
    assert fetch(port, "GET / HTTP/1.1\r\n\r\n")[0][0].split()[1] == "404"
    assert fetch(port, "PUT /metrics HTTP/1.1\r\n\r\n")[0][0].split()[
        1] == "405"
    # One that says nothing is let go, and the daemon serves on.
    with socket.create_connection(("127.0.0.1", port), DEADLINE) as silent:
        assert receive_all(silent) == b""
    assert fetch(port)[0][0] == "HTTP/1.1 200 OK"


def test_commands_talk_to_the_daemon(bench, target):
    daemon, client = target
    client.call("target.start", params(bench))

    def run(*arguments):
        return subprocess.run([PROXY, *arguments], check=True,
                              stdout=subprocess.PIPE,
                              timeout=DEADLINE).stdout.decode()

    at = ("--control", daemon.control)
    assert json.loads(run("status", *at))["listeners"] == 1
    assert json.loads(run("list", *at))["target"][0]["key"] == "k1"
    assert "ferry_proxy_listeners 1" in run("metrics", *at)
    called = json.loads(run("call", *at, "target.start",
                            json.dumps(params(bench))))
    assert set(called["ports"].values()) == {0, 49152}
    run("call", *at, "target.stop", '{"key": "k1"}')
    run("drain", *at)
    assert daemon.popen.wait(DEADLINE) == 0


def test_others_may_not_control(bench, target):
    daemon, _ = target
    os.chmod(daemon.control, 0o666)  # even if the file would let them
    done = subprocess.run(
        ["setpriv", "--reuid", "daemon", "--clear-groups", PROXY, "status",
         "--control", daemon.control],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        timeout=DEADLINE)
    assert done.returncode == 1
    assert done.stdout == b""


def test_a_daemon_replaces_the_socket_of_one_that_was_killed(bench, target):
    daemon, client = target
    client.call("target.start", params(bench))
    daemon.popen.kill()
    daemon.popen.wait(DEADLINE)
    assert os.path.exists(daemon.control)
    again = bench.daemon("b")
    assert bench.client(again).call("target.list") == []


def test_a_source_in_a_pod_is_reached_by_descriptor(bench):
    """The daemon may not open the directory; its controller hands it over."""
    hidden = os.path.join(bench.directory, "hidden")
    os.mkdir(hidden, 0o700)
    pod = os.path.join(hidden, "pod")
    os.mkdir(pod, 0o700)
    daemon = bench.daemon("a", name="narrow")
    client = bench.client(daemon)
    directory = os.open(pod, os.O_PATH)
    try:
        result = client.call("source.start", {
            "key": "k1", "peer": "node-b", "dirFd": 0,
            "address": "127.0.0.1", "ports": {"4000": 0}}, [directory])
    finally:
        os.close(directory)
    assert result["sockets"] == {"0": "k1-source.sock"}
    assert os.listdir(pod) == ["k1-source.sock"]
    client.call("source.stop", {"key": "k1"})
    assert os.listdir(pod) == []


def test_libvirts_socket_is_dialled_for_the_control_channel(bench, target):
    _, client = target
    libvirt = os.path.join(bench.b, "libvirt-sock")
    sink = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bench.keep(sink)
    sink.bind(libvirt)
    sink.listen(5)
    sink.settimeout(DEADLINE)
    ready = client.call("target.start", params(bench,
                                               controlSocket=libvirt))
    bench.source(ready)
    near = bench.connect(channel=0)
    near.sendall(b"rpc")
    far, _ = sink.accept()
    far.settimeout(DEADLINE)
    assert far.recv(10) == b"rpc"
    far.close()
    assert tcp_port(ready, 0) != tcp_port(ready)


def test_help_and_usage(bench):
    assert bench.directory

    def run(*arguments):
        return subprocess.run([PROXY, *arguments], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=DEADLINE)

    for command in ("serve", "target", "source", "pki", "call", "status",
                    "list", "metrics", "drain"):
        done = run(command, "--help")
        assert done.returncode == 0 and done.stdout.startswith(b"usage: ")
        assert done.stderr == b""
    assert run("--help").returncode == 0
    assert run("--version").stdout.startswith(b"ferry-proxy 0.")
    for wrong in ([], ["nonsense"], ["serve"], ["serve", "--nonsense"],
                  ["target", "--key"], ["source", "--ports", "1"],
                  ["pki", "x", "y"], ["serve", "--peer-timeout", "soon"]):
        done = run(*wrong)
        assert done.returncode == 2, wrong
        assert len(done.stderr.splitlines()) == 1, done.stderr
    run_quietly(PROXY, "--version")


def test_every_reason_is_in_the_manual(target):
    _, client = target
    text = client.call("metrics")["text"]
    codes = re.findall(r'ferry_proxy_failures_total{reason="(\w+)"}', text)
    assert len(codes) > 20
    with open(os.path.join(REPOSITORY, "man", "ferry-proxy.8"),
              encoding="utf-8") as file:
        listed = re.findall(r"\w+", " ".join(
            line for line in file if line.startswith(".It ")))
    assert [code for code in codes if code not in listed] == []
