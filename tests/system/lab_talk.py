# SPDX-License-Identifier: Apache-2.0
"""A connection to the guest, which says back whatever it hears.

What is said is numbered, so that a byte that is lost, comes twice or comes from
another connection shows.
"""

import contextlib
import select
import socket
import threading
import time

PORT = 7
INTERVAL = 0.01  # seconds between two numbers
DEADLINE = 60


class Talker:
    """Talks from the moment it is made; stop() has heard all of it."""

    def __init__(self, network, address):
        self.said = bytearray()
        self.heard = bytearray()
        self.error = None
        self._over = threading.Event()
        with network.entered():
            self._socket = socket.create_connection((address, PORT),
                                                    timeout=DEADLINE)
        self._thread = threading.Thread(target=self._talk, daemon=True)
        self._thread.start()

    def _talk(self):
        try:
            number = 0
            while not self._over.wait(INTERVAL):
                number += 1
                line = b"%d\n" % number
                self._socket.sendall(line)
                self.said += line
                self._hear(0)
            self._socket.shutdown(socket.SHUT_WR)
            end = time.monotonic() + DEADLINE
            while self._hear(end - time.monotonic()):
                pass
        except OSError as error:
            self.error = error

    def _hear(self, seconds):
        """Whether more may come."""
        ready, _, _ = select.select([self._socket], [], [], max(0, seconds))
        data = self._socket.recv(65536) if ready else b""
        self.heard += data
        return bool(data)

    def wait_answer(self):
        """Until what is said from now on has been answered."""
        mark = len(self.said)
        end = time.monotonic() + DEADLINE
        while len(self.heard) <= mark:
            assert self._thread.is_alive(), f"the connection: {self.error}"
            assert time.monotonic() < end, "no answer on the connection"
            self._over.wait(INTERVAL)

    def stop(self):
        """Asserts that everything came back, once and in order."""
        self._over.set()
        self._thread.join(2 * DEADLINE)
        with contextlib.suppress(OSError):
            self._socket.close()
        assert self.error is None, self.error
        assert self.heard == self.said, \
            f"said {len(self.said)} bytes, heard {len(self.heard)}"
