# SPDX-License-Identifier: Apache-2.0
"""One migration under observation, and what must be true of it afterwards.

The controllers' proxies (faults.py) have seen every write, so that what was
done twice is found also where the second left no trace.
"""

import collections
import json

from invariants import ORDER
from kubeapi import has_vanished, wait_for
from played import wait_phase
from played_objects import VMIMS, VMIS, key_of, namespaced
from played_steps import FINAL, state, status

SUCCESS = ("Pending", "Scheduling", "Scheduled", "PreparingTarget",
           "TargetReady", "Running", "Succeeded")
EVENTS_OF_SUCCESS = {"SuccessfulCreate", "SuccessfulHandOver",
                     "SuccessfulMigration"}
EVENTS_OF_CANCEL = {"SuccessfulCreate", "SuccessfulHandOver",
                    "SuccessfulAbortMigration", "SuccessfulDelete",
                    "FailedMigration"}
# What may be told besides, where the server refuses what it is asked.
EVENTS_OF_TROUBLE = {"FailedHandOver", "FailedDelete", "FailedAbortMigration"}
END_DEADLINE = 120
DESCRIBED = 40  # requests, where something went wrong


def is_hand_off(patch, uid):
    """A JSON patch that writes the state of this migration."""
    return isinstance(patch, list) and any(
        op["path"] == "/status/migrationState" and op["op"] != "test"
        and op["value"].get("migrationUid") == uid for op in patch)


class Journey:
    """A migration that has just begun."""

    def __init__(self, controllers, played, machine, **more):
        self.controllers, self.played = controllers, played
        self.machine = machine
        self.source = status(played.settle(machine))["nodeName"]
        self.migration = played.migrate(machine, **more)
        self.uid = self.migration["metadata"]["uid"]
        self.path = namespaced(VMIMS, *key_of(self.migration).split("/"))

    def end(self, deadline=END_DEADLINE):
        """Waits for its end; the phase that it has then."""
        try:
            self.migration = wait_phase(self.played.api, self.migration,
                                        *FINAL, deadline=deadline)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.describe()}") from error
        return status(self.migration)["phase"]

    def describe(self):
        """What is known of it, for people."""
        name = self.machine.split("/")[1]
        asked = [str(s) for s in self.seen() if name in s.path
                 or name.encode() in s.body]
        return "\n".join([json.dumps(self.played.api.get(self.path), indent=1),
                          self.played.describe(self.machine),
                          *asked[-DESCRIBED:]])

    def tidy(self, deadline=END_DEADLINE):
        """Until nothing is left to do about it."""
        wait_for(f"{self.path} to be left alone", lambda: not self.played.api
                 .get(self.path)["metadata"].get("finalizers"), deadline)

    def cancel(self):
        self.played.api.delete(self.path)

    def seen(self):
        """All that controllers have asked of the server."""
        return [s for c in self.controllers.all for s in list(c.faults.seen)]

    def hand_offs(self):
        """How often a controller learned that it had handed it off."""
        here = namespaced(VMIS, *self.machine.split("/"))
        return len([s for s in self.seen() if s.method == "PATCH"
                    and s.path == here and s.code == 200
                    and is_hand_off(json.loads(s.body), self.uid)])

    def events(self):
        """How often each reason was told about the migration."""
        namespace, name = key_of(self.migration).split("/")
        found = collections.Counter()
        for event in self.played.api.get(
                f"/api/v1/namespaces/{namespace}/events")["items"]:
            about = event["involvedObject"]
            if about["kind"] == self.migration["kind"] and \
                    about["name"] == name:
                found[event["reason"]] += event.get("count") or 1
        return found

    def check_phases(self, *expected):
        """Each was entered once, in order."""
        stamps = [t["phase"] for t in status(self.migration)[
            "phaseTransitionTimestamps"]]
        assert stamps == list(expected), stamps
        assert stamps == sorted(stamps, key=ORDER.index)

    def check_success(self, missing=0, tolerated=frozenset()):
        """Moved once; of its events so many may be missing, and others are
        tolerated."""
        self.check_phases(*SUCCESS)
        assert len(self.played.targets[self.uid]) == 1
        assert self.played.handed[self.uid] == 1
        assert self.hand_offs() <= 1
        settled = self.played.settle(self.machine)
        assert status(settled)["nodeName"] != self.source
        self.wait_left_pod_gone()
        self.check_events(EVENTS_OF_SUCCESS, missing, tolerated)

    def wait_left_pod_gone(self):
        """Not only ended: its object, its address and its quota too."""
        left = state(self.played.machine(self.machine))["sourcePod"]
        self.played.wait_until(
            lambda: not any(key.endswith(f"/{left}")
                            for key in self.played.pods(self.machine)),
            f"{left}, which {self.machine} has left, to go")

    def end_canceled(self, deadline=END_DEADLINE):
        """Waits until it is gone, as those are that were deleted."""
        wait_for(f"{self.path} to go",
                 lambda: has_vanished(self.played.api, self.path), deadline)

    def check_canceled(self):
        """The machine is where it was, and nothing was done twice."""
        settled = self.played.settle(self.machine)
        assert status(settled)["nodeName"] == self.source
        assert len(self.played.targets[self.uid]) <= 1
        assert self.played.handed[self.uid] <= 1
        assert self.hand_offs() <= 1
        found = self.events()
        assert set(found) <= EVENTS_OF_CANCEL, found
        assert max(found.values(), default=1) == 1, found

    def check_events(self, expected, missing=0, tolerated=frozenset()):
        """None twice, and none lost but so many. Events are written behind
        everything else."""
        def told():
            return len(expected - self.events().keys()) <= missing
        wait_for(f"the events of {key_of(self.migration)}", told)
        found = self.events()
        assert set(found) <= expected | tolerated, found
        assert max(found.values(), default=1) == 1, found
