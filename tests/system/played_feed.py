# SPDX-License-Identifier: Apache-2.0
"""A kind of object as an agent follows it: a list, then a watch."""

import contextlib
import http.client
import socket
import threading
import time

from kubeapi import ApiError, with_query
from played_objects import key_of
from proxies import DEADLINE

RETRY_PAUSE = 0.05  # seconds


class Feed:
    """Follows one kind and tells of each change; resumes what breaks."""

    def __init__(self, api, path, tell):
        self.api, self.path, self.tell = api, path, tell
        self.watch = None
        self.closed = False
        self.known = set()
        self.at = self.list()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def list(self):
        page = self.api.get(self.path)
        found = set()
        for obj in page.get("items", []):
            found.add(key_of(obj))
            self.tell(key_of(obj), obj)
        for key in self.known - found:
            self.tell(key, None)
        self.known = found
        return page["metadata"]["resourceVersion"]

    def run(self):
        while not self.closed:
            try:
                self.follow()
            except (OSError, ValueError, AttributeError,
                    http.client.HTTPException):
                time.sleep(RETRY_PAUSE)  # the server restarts, or we are closed

    def follow(self):
        try:
            self.watch = self.api.watch(with_query(
                self.path, resourceVersion=self.at, timeoutSeconds=50))
        except ApiError:
            self.at = self.list()
            return
        with self.watch:
            while (seen := self.watch.next()) is not None:
                if seen["type"] == "ERROR":
                    self.at = self.list()
                    return
                self.take(seen["type"], seen["object"])

    def take(self, kind, obj):
        if kind == "DELETED":
            self.known.discard(key_of(obj))
            self.tell(key_of(obj), None)
        else:
            self.known.add(key_of(obj))
            self.tell(key_of(obj), obj)
        # Afterwards: whoever asks how far it has come means what was told.
        self.at = obj["metadata"]["resourceVersion"]

    def close(self):
        self.closed = True
        with contextlib.suppress(OSError, AttributeError):
            self.watch.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(DEADLINE)
        self.api.close()
