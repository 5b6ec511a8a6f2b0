# SPDX-License-Identifier: Apache-2.0
"""A request that a proxy has seen, and ways to say which are meant."""

import dataclasses


@dataclasses.dataclass
class Seen:
    """A request; number counts those that are remembered, code is the server's
    answer or 0."""
    number: int
    method: str
    path: str
    query: dict
    body: bytes
    fault: str = ""
    code: int = 0

    @property
    def is_watch(self):
        return self.query.get("watch") in ("true", "1")

    @property
    def is_lease(self):
        return "/leases" in self.path

    @property
    def is_event(self):
        return self.method == "POST" and self.path.endswith("/events")

    @property
    def is_write(self):
        return self.method != "GET"

    def __str__(self):
        return f"{self.number} {self.method} {self.path} " \
               f"{self.fault or self.code}"


def is_work(seen):
    """Whatever is not about leases: these have a life of their own."""
    return not seen.is_lease and not seen.is_watch


def is_write(seen):
    return is_work(seen) and seen.is_write


def is_watch(part=""):
    """Watches whose path has this in it."""
    return lambda seen: seen.is_watch and part in seen.path


def is_create(kind):
    return lambda seen: seen.method == "POST" and \
        seen.path.endswith(f"/{kind}")


def is_patch(kind, sub=""):
    """Patches of objects of the kind, or of their subresource."""
    def matches(seen):
        parts = seen.path.split("/")
        tail = parts[-3:] if sub else parts[-2:]
        return seen.method == "PATCH" and tail[0] == kind and \
            (not sub or tail[-1] == sub)
    return matches
