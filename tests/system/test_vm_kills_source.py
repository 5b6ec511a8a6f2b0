# SPDX-License-Identifier: Apache-2.0
"""What a machine is made of is killed (-9) on the node that it leaves.

With its launcher, its QEMU or its pod the machine ends, and its VirtualMachine
starts it anew: it runs once, and the migration says what became of it.
"""

import os

import pytest

from embedded import Embedded
from kills import Kills
from phases import PHASES

WHATS = ("launcher", "qemu", "pod")
ENDED = ("Failed", "MachineEnded", "")
GONE = ("Failed", "MachineGone", "")


def by_node(code):
    return ("Failed", "ReportedByNode", code)


# Before the hand-off no node has a say.
EARLY = {what: [ENDED, GONE] for what in WHATS}
# The pod may be seen to end before the machine is, and the other way round.
HANDED = [ENDED, GONE, ("Failed", "MachineEnded", "SourcePodEnded"),
          ("Failed", "MachineEnded", "MachineEnded"),
          by_node("SourcePodEnded"), by_node("MachineEnded")]
EXPECTED = {
    "Pending": EARLY,
    "Scheduling": EARLY,
    "Scheduled": {what: HANDED for what in WHATS},
    "PreparingTarget": {what: HANDED for what in WHATS},
    "TargetReady": {what: HANDED for what in WHATS},
    # Who has lost its launcher says nothing; the target does.
    "Running": {"launcher": [by_node("NeverArrived")],
                "qemu": [by_node("MachineEnded")],
                "pod": [by_node("NeverArrived"), by_node("MachineEnded")]},
    # Of half a machine the target has the other, and gives it up.
    "PostCopy": {"launcher": [by_node("PostCopyFailed")],
                 "qemu": [by_node("MachineEnded"),
                          by_node("PostCopyFailed")],
                 "pod": [by_node("PostCopyFailed")]},
}


@pytest.fixture(scope="module", name="kills")
def fixture_kills():
    with Embedded() as cluster, Kills(cluster) as kills:
        yield kills


def expected(phase, whats):
    return {("source", what): (EXPECTED[phase][what], False)
            for what in whats}


@pytest.mark.parametrize("phase", PHASES)
def test_a_machine_whose_source_is_killed_is_started_anew(kills, phase):
    kills.run(phase, expected(phase, EXPECTED[phase]))


if os.environ.get("FERRY_DEEP"):
    @pytest.mark.parametrize("phase,what", [
        (phase, what) for phase in PHASES for what in EXPECTED[phase]])
    def test_a_machine_is_started_anew_after_each(kills, phase, what):
        kills.run(phase, expected(phase, [what]))
