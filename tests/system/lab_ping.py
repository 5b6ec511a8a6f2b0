# SPDX-License-Identifier: Apache-2.0
"""Pings an address every few milliseconds and finds the longest silence.

The pinging is done by a process of its own, this file run as a program:
lab_ping.py ADDRESS INTERVAL_MS prints "ready" with the first reply and one
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

from lines import read_line

DEADLINE = 60  # seconds, for a reply or the end


class Pinger:
    """Starts pinging; gap_ms, sent and received are there after stop()."""

    def __init__(self, space, network, address, interval_ms):
        self.gap_ms = self.sent = self.received = None
        self._process = space.spawn(
            "ping", ["/usr/bin/python3", os.path.abspath(__file__), address,
                     str(interval_ms)], network,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._read()

    def _read(self):
        line = read_line(self._process.popen.stdout, DEADLINE)
        assert line, "what pings has ended"
        return line

    def stop(self):
        self._process.popen.stdin.close()
        figures = json.loads(self._read())
        self._process.popen.stdout.close()
        self._process.wait(10)
        for name, value in figures.items():
            setattr(self, name, value)


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xffff)
    return ~(total + (total >> 16)) & 0xffff


def request(identifier, sequence):
    header = struct.pack("!BBHHH", 8, 0, 0, identifier, sequence)
    return header[:2] + struct.pack("!H", checksum(header)) + header[4:]


def main():
    address, interval = sys.argv[1], float(sys.argv[2]) / 1000
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    sock.setblocking(False)
    identifier = os.getpid() & 0xffff
    sent = received = 0
    longest = 0.0
    last = None
    due = time.monotonic()

    while True:
        now = time.monotonic()
        if now >= due:
            due = max(due + interval, now)
            try:
                sock.sendto(request(identifier, sent & 0xffff), (address, 0))
            except OSError:  # as good as lost: no route, no neighbour
                pass
            sent += 1
        readable, _, _ = select.select([sock, sys.stdin], [], [],
                                       max(0, due - time.monotonic()))
        now = time.monotonic()
        if sock in readable:
            packet, sender = sock.recvfrom(2048)
            offset = (packet[0] & 15) * 4
            kind, _, _, number = struct.unpack_from("!BBHH", packet, offset)
            if (kind, number, sender[0]) != (0, identifier, address):
                continue
            if last is None:
                print("ready", flush=True)
            else:
                longest = max(longest, now - last)
            last = now
            received += 1
        if sys.stdin in readable:
            break

    if last is not None:
        longest = max(longest, time.monotonic() - last)
    print(json.dumps({"sent": sent, "received": received,
                      "gap_ms": round(longest * 1000)}), flush=True)


if __name__ == "__main__":
    main()
