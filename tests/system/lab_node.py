# SPDX-License-Identifier: Apache-2.0
"""A node: a network namespace with ferry-proxy, and the one pod on it."""

import os

import rpc
from lab_pod import SOCKETS
from lab_space import wait_until

USER = "nobody"


class Node:
    """`name` is what its certificate says; `address` is on the migration
    network, as is `address6`."""

    def __init__(self, space, network, name, address, address6):
        self.name = name
        self.network = network
        self.address = address
        self.address6 = address6
        self.pod = None
        self.proxy = None
        self._space = space

    @property
    def control(self):
        return os.path.join(self._space.directory, self.name + ".sock")

    def start_proxy(self, binary, pki, *options):
        """ferry-proxy as a daemon; returns when it answers."""
        self.proxy = self._space.spawn(
            f"{self.name}-proxy",
            [binary, "serve", "--control", self.control, "--user", USER,
             "--allow-dir", self.pod.outside("/run"), "--bind", "mig0",
             "--ca", f"{pki}/ca.crt", "--cert", f"{pki}/{self.name}.crt",
             "--key-file", f"{pki}/{self.name}.key",
             "--log-format", "json", *options],
            self.network)

        def answers():
            assert self.proxy.running(), \
                f"{self.name}: ferry-proxy ended: {self.proxy.output()}"
            try:
                return self.call("status") is not None
            except (FileNotFoundError, ConnectionRefusedError):
                return False

        wait_until(answers, 10, f"ferry-proxy on {self.name}")

    def stop_proxy(self):
        if self.proxy and self.proxy.running():
            self.proxy.stop()

    def call(self, method, params=None, fds=()):
        return rpc.call(self.control, method, params, fds)

    def listener(self, side, key):
        """What the proxy says about a listener; None if it has none."""
        for entry in self.call(f"{side}.list"):
            if entry["key"] == key:
                return entry
        return None

    def stop_listener(self, side, key):
        """Stops it if it is there."""
        if not self.proxy.running():
            return
        try:
            self.call(f"{side}.stop", {"key": key})
        except rpc.RpcError as error:
            if error.kind != "NotFound":
                raise

    def target_params(self, key, source, **more):
        return {"key": key, "peer": source.name,
                "dir": self.pod.outside(SOCKETS),
                "controlSocket": self.pod.libvirt_socket, **more}

    def source_params(self, key, target, listening, **more):
        """`listening` is what target.start returned."""
        return {"key": key, "peer": target.name,
                "dir": self.pod.outside(SOCKETS),
                "address": listening["address"],
                "ports": listening["ports"],
                "owner": {"uid": 0, "gid": 0}, **more}
