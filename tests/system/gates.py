# SPDX-License-Identifier: Apache-2.0
"""A gate in the way to a libvirtd: carries bytes both ways, until it is told
to hold one of them back, and cuts all when it is closed."""

import os
import select
import socket
import struct
import threading

TO = "to"      # from who connects
FROM = "from"  # from who listens

# How each message of libvirt's protocol goes on behind its length: program,
# version, procedure. This one is domainMigrateFinish3Params.
FINISH = struct.pack(">III", 0x20008086, 1, 306)


class Gate:
    """Listens on a path and connects to another."""

    def __init__(self, path, behind):
        self._behind = behind
        self.held = {}
        self._lock = threading.Lock()
        self._wake, self._woken = os.pipe()
        self._pairs = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def hold(self, direction):
        """Nothing more comes through in a direction; what would have is in
        `held`."""
        self.held[direction] = b""

    def release(self, direction):
        """What was held back comes through, and all that follows."""
        with self._lock:
            data = self.held.pop(direction)
            for pair in self._pairs:
                pair[direction == TO].sendall(data)

    def close(self):
        """Cuts all that goes through it."""
        os.close(self._woken)
        self._thread.join()
        os.close(self._wake)
        for sock in [self._listener, *sum(self._pairs, ())]:
            sock.close()

    def _accept(self):
        near, _ = self._listener.accept()
        far = socket.socket(socket.AF_UNIX)
        far.connect(self._behind)
        self._pairs.append((near, far))

    def _carry(self, pair, source):
        data = source.recv(65536)
        direction = TO if source is pair[0] else FROM
        with self._lock:
            if data and direction in self.held:
                self.held[direction] += data
                return
            if data:
                pair[source is pair[0]].sendall(data)
                return
        self._pairs.remove(pair)
        for sock in pair:
            sock.close()

    def _run(self):
        while True:
            ready, _, _ = select.select(
                [self._wake, self._listener, *sum(self._pairs, ())], [], [])
            if self._wake in ready:
                return
            if self._listener in ready:
                self._accept()
            for pair in list(self._pairs):
                for source in set(pair) & set(ready):
                    if pair in self._pairs:
                        self._carry(pair, source)
