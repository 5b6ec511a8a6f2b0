# SPDX-License-Identifier: Apache-2.0
"""A client for JSON-RPC on a unix socket, as src/rpc speaks it.

Written against src/rpc/rpc.h and not with src/rpc itself, so that the tests
see what is on the wire.
"""

import array
import itertools
import json
import socket

PROTOCOL = 1


class RpcError(Exception):
    """The error object that a method answered with."""

    def __init__(self, error):
        self.code = error["code"]
        self.kind = (error.get("data") or {}).get("kind")
        super().__init__(f"{error['message']} ({self.kind or self.code})")


class Client:
    """One connection; use it as a context manager or close() it."""

    def __init__(self, path, timeout=10, notify=False):
        self._notices = []
        self._ids = itertools.count(1)
        self._rest = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(path)
            self.peer = self.call("hello", {"protocol": PROTOCOL,
                                            "program": "tests",
                                            "version": "0",
                                            "notify": notify})
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self._socket.close()

    def call(self, method, params=None, fds=()):
        """Returns the result; descriptors travel with the request."""
        number = next(self._ids)
        request = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:
            request["params"] = params
        self._send(json.dumps(request).encode() + b"\n", fds)
        reply = json.loads(self._receive_line())
        while "method" in reply:
            self._notices.append(reply)
            reply = json.loads(self._receive_line())
        if reply.get("id") != number:
            raise ConnectionError(f"unexpected message {reply}")
        if "error" in reply:
            raise RpcError(reply["error"])
        return reply["result"]

    def notice(self):
        """What the server says next without having been asked; the timeout is
        the deadline."""
        if self._notices:
            return self._notices.pop(0)["params"]
        return json.loads(self._receive_line())["params"]

    def _send(self, message, fds):
        rights = []
        if fds:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                       array.array("i", fds))]
        sent = self._socket.sendmsg([message], rights)
        # Not without a rest: a server that has answered by now and ended makes
        # even an empty send fail.
        if sent < len(message):
            self._socket.sendall(message[sent:])

    def _receive_line(self):
        while b"\n" not in self._rest:
            data = self._socket.recv(65536)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return line


def call(path, method, params=None, fds=()):
    """One call on a connection of its own."""
    with Client(path) as client:
        return client.call(method, params, fds)
