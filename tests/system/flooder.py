#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A launcher that never stops talking; the first process of a pod.

Answers every call as if the machine ran, and sends its status as fast as the
handler reads it. How many it has sent is in "sent" beside the socket.
"""

import argparse
import json
import os
import socket
import threading


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--uid")
    parser.add_argument("--kubevirt-share-dir")
    return parser.parse_known_args()[0]


class Flooder:
    """One connection of the handler."""

    def __init__(self, connection, uid, note):
        self.connection = connection
        self.uid = uid
        self.note = note
        self.lock = threading.Lock()
        self.sent = 0

    def send(self, **message):
        text = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        with self.lock:
            self.connection.sendall(text.encode())

    def status(self):
        return {"version": "9.9.9", "libvirt": "9.0.0", "qemu": "7.2.0",
                "vmiUid": self.uid, "libvirtUp": True,
                "domain": {"state": "Running", "reason": "Booted",
                           "message": f"number {self.sent}"}}

    def flood(self):
        while True:
            self.send(method="status", params=self.status())
            self.sent += 1
            self.note(self.sent)

    def serve(self):
        for line in self.connection.makefile("r", encoding="utf-8"):
            request = json.loads(line)
            results = {
                "hello": {"protocol": 1, "program": "flooder",
                          "version": "0"},
                "versions": {"protocolMin": 1, "protocolMax": 1,
                             "program": "flooder", "version": "0"}}
            self.send(id=request["id"], result=results.get(
                request["method"], self.status()))
            if request["method"] == "versions":
                threading.Thread(target=self.flood, daemon=True).start()


def main():
    options = parse()
    directory = os.path.join(options.kubevirt_share_dir, "sockets")
    path = os.path.join(directory, "launcher-sock")
    counts = os.open(os.path.join(directory, "sent"),
                     os.O_WRONLY | os.O_CREAT, 0o644)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen()
    while True:
        connection = listener.accept()[0]
        flooder = Flooder(connection, options.uid, lambda n: os.pwrite(
            counts, b"%20d" % n, 0))
        threading.Thread(target=flooder.serve, daemon=True).start()


if __name__ == "__main__":
    main()
