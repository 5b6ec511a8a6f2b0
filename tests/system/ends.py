# SPDX-License-Identifier: Apache-2.0
"""How migrations end, also those that are gone soon afterwards.

A migration goes with the instance that it was for, so that whoever asks for one
later may find nothing. A watch sees everything.
"""

import contextlib
import socket
import threading

from embedded import PATIENCE, VMIM
from kubeapi import path_of, wait_for

FINAL = ("Succeeded", "Failed")


def code_of(vmim):
    """(code, message) of why a migration failed; ("", "") of a success."""
    for condition in vmim["status"].get("conditions", []):
        if condition["type"] == "ferry.io/Failure":
            return condition["reason"], condition["message"]
    return "", ""


class Ends:
    """Watches the migrations of a cluster while the block runs."""

    def __init__(self, cluster):
        self._seen = {}
        self._watch = cluster.api().watch(
            path_of("kubevirt.io/v1", VMIM, "default"))
        self._watch.connection.sock.settimeout(None)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            while (event := self._watch.next()) is not None:
                made = event["object"]
                if made.get("status", {}).get("phase") in FINAL:
                    self._seen[made["metadata"]["name"]] = made
        except OSError:
            return  # closed

    def wait(self, name):
        """The migration as it ended."""
        return wait_for(f"the end of migration {name}",
                        lambda: self._seen.get(name), PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._watch.connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self._watch.close()
