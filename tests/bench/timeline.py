# SPDX-License-Identifier: Apache-2.0
"""When which step of a migration was made, from what anybody can see: watches
of the API, and the logs of handlers and proxies."""
import contextlib
import datetime
import http.client
import json
import os
import socket
import threading
import time

from kubeapi import path_of, wait_for

WATCHED = {"pods": "v1", "virtualmachineinstances": "kubevirt.io/v1",
           "virtualmachineinstancemigrations": "kubevirt.io/v1"}
MIGRATION_LABEL = "kubevirt.io/migrationJobUID"

# A step, and what it ends with.
STEPS = (
    ("pod created", "the controller has seen the migration and made its pod"),
    ("scheduled", "the pod has a node"),
    ("container runs", "the kubelet: network, volumes, crun"),
    ("launcher answers", "the launcher has started, libvirtd with it"),
    ("handed off", "the controller has told both handlers"),
    ("network made", "bridge and tap in the target's pod"),
    ("prepared", "the target's launcher expects the machine"),
    ("proxy listens", "the target's ports"),
    ("ports published", "written, and seen by the source"),
    ("source sockets", "the source's proxy listens in the pod"),
    ("start written", "startTimestamp"),
    ("migrate called", "the source's launcher has called libvirt"),
    ("first byte", "libvirt has started QEMU on the target and memory flows"),
)


class Watcher(threading.Thread):
    """Notes when which object was seen."""

    def __init__(self, api, version, plural):
        super().__init__(daemon=True)
        self.seen = []
        self._watch = api.watch(path_of(version, plural, "default"))
        self.start()

    def run(self):
        with contextlib.suppress(OSError, ValueError, AttributeError,
                                 http.client.HTTPException):
            for event in iter(self._watch.next, None):
                self.seen.append((time.time(), event["object"]))

    def close(self):
        # Wakes up the thread, for which closing would wait.
        with contextlib.suppress(OSError):
            self._watch.connection.sock.shutdown(socket.SHUT_RDWR)
        self.join()
        self._watch.close()


class Timeline:
    """Watches a cluster until stop()."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._api = cluster.api()
        self._offsets = {path: os.path.getsize(path)
                         for path in self._paths()}
        self._watchers = {plural: Watcher(self._api, version, plural)
                          for plural, version in WATCHED.items()}

    def _paths(self):
        directory = os.path.join(self._cluster.dir, "log")
        return [os.path.join(directory, name)
                for name in sorted(os.listdir(directory))
                if name.startswith(("ferry-handler", "ferry-proxy"))]

    def close(self):
        for watcher in self._watchers.values():
            watcher.close()

    def first(self, plural, condition):
        """When an object that fulfils the condition was first seen."""
        for when, thing in self._watchers[plural].seen:
            if condition(thing):
                return when
        return None

    def wait(self, what, plural, condition, patience):
        """The first object seen that fulfils the condition; looks at what the
        watches have brought, so that waiting costs the cluster nothing."""
        def found():
            return next((thing for _, thing in self._watchers[plural].seen
                         if condition(thing)), None)

        return wait_for(what, found, patience)

    def logged(self, program, node, text):
        """When a program of a node first logged a line with this text."""
        path = os.path.join(self._cluster.dir, "log",
                            f"{program}-{node}.log")
        with open(path, encoding="utf-8", errors="replace") as file:
            file.seek(self._offsets[path])
            for line in file:
                if text in line:
                    stamp = json.loads(line)["timestamp"]
                    return datetime.datetime.fromisoformat(
                        stamp.replace("Z", "+00:00")).timestamp()
        return None

    def steps(self, began, vmim, machine):
        """{step: milliseconds since the migration was created}."""
        uid = vmim["metadata"]["uid"]
        state = vmim["status"]["migrationState"]
        source, target = state["sourceNode"], state["targetNode"]

        def pod(condition):
            return self.first("pods", lambda p: p["metadata"].get(
                "labels", {}).get(MIGRATION_LABEL) == uid and condition(p))

        def vmi(member):
            def has(thing):
                its = thing.get("status", {}).get("migrationState", {})
                return its.get("migrationUid") == uid and member in its
            return self.first("virtualmachineinstances", has)

        def step(node, name):
            return self.logged("ferry-handler", node,
                               f"machine default/{machine}: {name} is done")

        def runs(thing):
            return any("running" in s.get("state", {}) for s in thing.get(
                "status", {}).get("containerStatuses", []))

        seen = (
            pod(lambda p: True),
            pod(lambda p: p["spec"].get("nodeName")),
            pod(runs),
            self.logged("ferry-handler", target, "the launcher of pod"),
            vmi("migrationUid"),
            step(target, "network"),
            step(target, "prepare"),
            step(target, "listen-target"),
            vmi("targetDirectMigrationNodePorts"),
            step(source, "listen-source"),
            vmi("startTimestamp"),
            step(source, "migrate"),
            self.logged("ferry-proxy", source, '"channel":"direct"'),
        )
        return {name: (when - began) * 1000
                for (name, _), when in zip(STEPS, seen) if when is not None}
