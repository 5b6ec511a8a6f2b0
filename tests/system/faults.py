# SPDX-License-Identifier: Apache-2.0
"""An API server that misbehaves on demand: a proxy in front of a real one.

    with Faults(cluster, kubeconfig) as faults:
        controllers.start(kubeconfig=faults.kubeconfig)
        faults.plan("lost", is_create("pods"))     # the next one
        faults.plague(seed, 0.05)                  # one in twenty, any kind
        faults.cut_watches()

Clients speak HTTPS (HTTP/1.1) with the proxy, which speaks for the user of the
kubeconfig. Each request is noted. Chance comes from the seed alone; the order
in which requests arrive does not.

Kinds of faults:
    409, 410, 500, 503, 504   answered so, the server is not asked
    429, 429-later            without and with Retry-After: 1
    503-later                 the same
    hang                      never answered; the server is not asked
    500-done                  done by the server, and answered with 500, as
                              when its store did not answer in time
    lost                      done by the server, then the connection breaks
    lost-slowly               done by the server, never answered
    reset                     the connection is reset, the server is not asked
Those that hang end with release_hung() or close(), or when the client goes,
having waited long enough: a time-out.
"""

import collections
import contextlib
import http.client
import json
import os
import random
import socket
import ssl
import struct
import tempfile
import threading
import time
import urllib.parse

import yaml

from faults_seen import Seen, is_work, is_write
from kubeapi import read_kubeconfig
from proxies import DEADLINE, run_quietly

REASONS = {409: "Conflict", 410: "Expired", 429: "TooManyRequests",
           500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}
ANSWERS = {"409": (409, None), "410": (410, None), "429": (429, None),
           "429-later": (429, "1"), "500": (500, None), "503": (503, None),
           "503-later": (503, "1"), "504": (504, None)}
BREAKS = ("500-done", "hang", "lost", "lost-slowly", "reset")
KINDS = (*ANSWERS, *BREAKS)
# Nothing that takes as long as a client's patience, and no 410, which is for
# watches and pages only.
QUICK = ("409", "429", "429-later", "500", "500-done", "503", "503-later",
         "504", "lost", "reset")
# The server, or the way to it, is silent: they take as long as a client waits.
SLOW_KINDS = ("hang", "lost-slowly")
READ_SIZE = 65536
HOP_HEADERS = ("connection", "keep-alive", "transfer-encoding",
               "content-length", "host", "accept-encoding")


class Broken(Exception):
    """The connection to the client is to end."""


class _Connection:
    """One connection of a client, one request after the other."""

    def __init__(self, faults, raw):
        self.faults = faults
        self.raw = raw
        self.sock = None
        self.file = None
        self.server = None
        self.watching = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            self.raw.settimeout(None)
            self.raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sock = self.faults.inside.wrap_socket(self.raw,
                                                       server_side=True)
            self.file = self.sock.makefile("rb")
            while (head := self.read_head()) is not None:
                self.serve(*head)
        except (Broken, OSError, ValueError, http.client.HTTPException):
            pass
        finally:
            self.close()

    def read_head(self):
        line = self.file.readline()
        if not line:
            return None
        method, target, _ = line.decode("ascii").split()
        headers = http.client.parse_headers(self.file)
        body = self.file.read(int(headers.get("Content-Length", 0)))
        return method, target, headers, body

    def serve(self, method, target, headers, body):
        seen = self.faults.note(method, target, body)
        if seen.fault in ANSWERS:
            self.refuse(*ANSWERS[seen.fault])
            return
        if seen.fault == "reset":
            self.reset()
        if seen.fault == "hang":
            self.faults.hang(self)
        if seen.is_write and self.faults.before_write:
            self.faults.before_write(seen)
        response = self.ask(method, target, headers, body)
        seen.code = response.status
        if seen.is_watch and response.status == 200:
            self.stream(seen, response)
            return
        data = response.read()
        if seen.is_write and self.faults.after_write:
            self.faults.after_write(seen)
        if seen.fault == "500-done":
            self.refuse(500, None)
            return
        if seen.fault == "lost":
            self.reset()
        if seen.fault == "lost-slowly":
            self.faults.hang(self)
        self.answer(response.status, response.getheaders(), data)

    def ask(self, method, target, headers, body):
        """The server's answer, its body unread."""
        wanted = {name: value for name, value in headers.items()
                  if name.lower() not in HOP_HEADERS}
        for last in (False, True):
            if self.server is None:
                self.server = self.faults.connect()
                last = True
            try:
                self.server.request(method, target, body or None, wanted)
                return self.server.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError):
                self.server.close()
                self.server = None
                if last:
                    raise
        raise AssertionError("not reached")

    def answer(self, code, headers, data):
        lines = [f"HTTP/1.1 {code} {http.client.responses.get(code, '')}"]
        lines += [f"{name}: {value}" for name, value in headers
                  if name.lower() not in HOP_HEADERS]
        lines += [f"Content-Length: {len(data)}", "", ""]
        self.sock.sendall("\r\n".join(lines).encode() + data)

    def refuse(self, code, later):
        data = json.dumps({
            "kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Failure", "message": "a fault that a test asked for",
            "reason": REASONS[code], "code": code}).encode()
        headers = [("Content-Type", "application/json")]
        if later:
            headers.append(("Retry-After", later))
        self.answer(code, headers, data)

    def stream(self, seen, response):
        self.sock.sendall(b"HTTP/1.1 200 OK\r\n"
                          b"Content-Type: application/json\r\n"
                          b"Transfer-Encoding: chunked\r\n\r\n")
        self.watching = seen
        self.server.sock.settimeout(None)
        try:
            while data := response.read1(READ_SIZE):
                self.sock.sendall(f"{len(data):x}\r\n".encode() + data
                                  + b"\r\n")
        finally:
            was, self.watching = self.watching, None
        if was is None:
            self.reset()
        self.sock.sendall(b"0\r\n\r\n")

    def cut(self):
        """Ends the watch in the middle; from another thread."""
        self.watching = None
        with contextlib.suppress(OSError, AttributeError):
            self.server.sock.shutdown(socket.SHUT_RDWR)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        raise Broken

    def end(self):
        """From another thread."""
        self.cut()
        with contextlib.suppress(OSError, AttributeError):
            (self.sock or self.raw).shutdown(socket.SHUT_RDWR)

    def close(self):
        self.faults.forget(self)
        for each in (self.file, self.sock or self.raw, self.server):
            with contextlib.suppress(OSError):
                if each:
                    each.close()


class Faults:
    """The proxy. before_write and after_write, when set, are called with
    each write before the server gets it and before the client learns of it."""

    def __init__(self, cluster, kubeconfig=None):
        self.directory = tempfile.mkdtemp(dir=cluster.scratch,
                                          prefix="faults-")
        self.lock = threading.Lock()
        self.calm = threading.Condition(self.lock)
        self.seen = []
        self.plans = []
        self.chance = None
        self.before_write = self.after_write = None
        self.hung = 0
        self.waits = []  # seconds, of clients that went while they hung
        self.generation = 0
        self.closed = False
        self.connections = set()
        self._read(kubeconfig or cluster.kubeconfig)
        self.inside = self._certificate()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        self.kubeconfig = self._write_kubeconfig()
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    # --- what a test asks for ----------------------------------------------

    def plan(self, kind, match=is_work, count=1):
        """The next count requests that match get this fault."""
        assert kind in KINDS, kind
        with self.lock:
            self.plans.append([kind, match, count])

    def plague(self, seed, rate, kinds=QUICK, match=is_work):
        """From now on each request that matches gets one with this rate."""
        with self.lock:
            self.chance = (random.Random(seed), rate, kinds, match)

    def heal(self, release=True):
        """No more faults; what hangs breaks, if it is released."""
        with self.lock:
            self.plans.clear()
            self.chance = None
        if release:
            self.release_hung()

    def forget_seen(self):
        """Forgets the requests so far; how many had which fault, and for how
        long those waited that hung until the client went."""
        with self.lock:
            counts = collections.Counter(s.fault for s in self.seen if s.fault)
            waits, self.waits, self.seen = self.waits, [], []
        return counts, waits

    def pending(self):
        """How many planned faults have not happened."""
        with self.lock:
            return sum(count for _kind, _match, count in self.plans)

    def release_hung(self):
        with self.calm:
            self.generation += 1
            self.calm.notify_all()

    def cut_watches(self, part=""):
        """Ends all watches whose path has this in it; how many."""
        with self.lock:
            found = [c for c in self.connections
                     if c.watching and part in c.watching.path]
        for connection in found:
            connection.cut()
        return len(found)

    def reset_all(self):
        """Breaks every connection, whatever it is about."""
        with self.lock:
            found = list(self.connections)
        for connection in found:
            connection.end()

    def writes(self):
        """The writes so far, without those of leases."""
        with self.lock:
            return [s for s in self.seen if is_write(s)]

    # --- for its connections -----------------------------------------------

    def note(self, method, target, body):
        path, _, query = target.partition("?")
        with self.lock:
            seen = Seen(len(self.seen) + 1, method, path,
                        dict(urllib.parse.parse_qsl(query)), body)
            self.seen.append(seen)
            seen.fault = self._planned(seen) or self._by_chance(seen)
        return seen

    def _planned(self, seen):
        for plan in self.plans:
            kind, match, _count = plan
            if match(seen):
                plan[2] -= 1
                if plan[2] == 0:
                    self.plans.remove(plan)
                return kind
        return ""

    def _by_chance(self, seen):
        if self.chance is None:
            return ""
        dice, rate, kinds, match = self.chance
        if not match(seen) or dice.random() >= rate:
            return ""
        return dice.choice(kinds)

    def hang(self, connection):
        """Returns never; raises when the fault is over."""
        begun = time.monotonic()
        with self.calm:
            until = self.generation
            self.hung += 1
            self.calm.notify_all()
            while until == self.generation and not self.closed and \
                    not is_gone(connection.sock):
                self.calm.wait(0.2)
            self.hung -= 1
            if until == self.generation:
                self.waits.append(time.monotonic() - begun)
        raise Broken

    def connect(self):
        connection = http.client.HTTPSConnection(
            self.server.hostname, self.server.port, context=self.outside,
            timeout=DEADLINE)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def forget(self, connection):
        with self.lock:
            self.connections.discard(connection)

    # --- insides -----------------------------------------------------------

    def _read(self, kubeconfig):
        parts = read_kubeconfig(kubeconfig, self.directory)
        self.server = urllib.parse.urlsplit(parts["server"])
        self.outside = ssl.create_default_context(cafile=parts["ca_file"])
        self.outside.load_cert_chain(parts["cert_file"], parts["key_file"])

    def _certificate(self):
        self.cert = os.path.join(self.directory, "proxy.crt")
        key = os.path.join(self.directory, "proxy.key")
        run_quietly("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                    "-subj", "/CN=faults", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                    self.cert)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, key)
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _write_kubeconfig(self):
        path = os.path.join(self.directory, "kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump({
                "apiVersion": "v1", "kind": "Config",
                "current-context": "faults",
                "clusters": [{"name": "faults", "cluster": {
                    "server": self.url,
                    "certificate-authority": self.cert}}],
                "users": [{"name": "faults", "user": {"token": "unused"}}],
                "contexts": [{"name": "faults", "context": {
                    "cluster": "faults", "user": "faults"}}]}, file)
        return path

    def _accept(self):
        while not self.closed:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections.add(_Connection(self, raw))

    def close(self):
        self.closed = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(DEADLINE)
        self.heal()
        self.reset_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def is_gone(sock):
    """The client has closed the connection."""
    try:
        with contextlib.suppress(ssl.SSLWantReadError):
            sock.settimeout(0)
            return sock.recv(1) == b""
        return False
    except OSError:
        return True
    finally:
        with contextlib.suppress(OSError):
            sock.settimeout(None)
