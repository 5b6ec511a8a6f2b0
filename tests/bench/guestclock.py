# SPDX-License-Identifier: Apache-2.0
"""Asks a guest for its own time every few milliseconds, and finds by how much
its clock has fallen back when it was moved.

A guest's clock stands while the guest does. Between the guest's time and ours
lies a constant, which a move increases by the time the guest stood still; what
an answer takes to arrive only adds to it, so the least of some answers counts.

The asking is done by a process of its own, this file run as a program:
guestclock.py ADDRESS INTERVAL_MS prints "ready" with the first answer, and one
line of JSON when its standard input is closed.
"""
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time

PORT = 37
AROUND = 25  # answers before and after a moment that are looked at
PATIENCE_SECONDS = 30


class GuestClock:
    """Asks until stop(), which returns the milliseconds the guest stood."""

    def __init__(self, space, network, address, interval_ms=10):
        self._process = space.spawn(
            "guestclock", ["/usr/bin/python3", os.path.abspath(__file__),
                           address, str(interval_ms)], network,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._read("the first answer")

    def _read(self, what):
        out = self._process.popen.stdout
        ready, _, _ = select.select([out], [], [], PATIENCE_SECONDS)
        assert ready, f"the guest's clock: still waiting for {what}"
        return out.readline()

    def stop(self):
        self._process.popen.stdin.close()
        answers = json.loads(self._read("all answers"))
        self._process.popen.stdout.close()
        self._process.wait(PATIENCE_SECONDS)
        return stood_ms(answers)


def stood_ms(answers):
    """answers: [our time, the guest's] in seconds, in order."""
    lag = [ours - guests for ours, guests in answers]
    steps = [min(lag[at:at + AROUND]) - min(lag[max(0, at - AROUND):at])
             for at in range(1, len(lag))]
    return round(max(steps) * 1000, 1) if steps else None


def main():
    address, interval = sys.argv[1], float(sys.argv[2]) / 1000
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    answers = []
    due = time.monotonic()
    while True:
        now = time.monotonic()
        if now >= due:
            due = max(due + interval, now)
            try:
                sock.sendto(b"", (address, PORT))
            except OSError:  # as good as lost: no route, no neighbour
                pass
        readable, _, _ = select.select([sock, sys.stdin], [], [],
                                       max(0, due - time.monotonic()))
        if sock in readable:
            try:
                data = sock.recv(64)
            except OSError:  # an answer that says that nobody is there
                continue
            if len(data) == 8:
                if not answers:
                    print("ready", flush=True)
                answers.append((time.monotonic(),
                                struct.unpack("!Q", data)[0] / 1e9))
        if sys.stdin in readable:
            break
    print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main()
