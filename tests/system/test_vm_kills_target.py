# SPDX-License-Identifier: Apache-2.0
"""What a machine is made of is killed (-9) on the node that it goes to, and
libvirtd where it comes from.

The machine stays where it is and goes on; libvirtd is started again, and is
missed only while it has something to do. In post-copy half of the machine is on
the target, and with that it is lost and started anew. FERRY_DEEP=1 kills one at
a time.
"""

import os

import pytest

from embedded import Embedded
from kills import Kills

SUCCEEDED = ("Succeeded", "", "")


def failed(*codes):
    """A migration failed by the word of the controller or of a node."""
    return [("Failed", *said) for code in codes
            for said in ((code, ""), (code, code), ("ReportedByNode", code))]


ENDED = failed("TargetPodEnded", "TargetPodRemoved")
LOST = failed("ConnectionLost", "ConnectFailed")
LIVES, ANEW = True, False
UNPREPARED = {
    ("target", "launcher"): (ENDED, LIVES),
    ("target", "libvirtd"): ([SUCCEEDED], LIVES),
    ("target", "pod"): (ENDED, LIVES),
}
EXPECTED = [
    ("Scheduling", UNPREPARED),
    ("Scheduled", UNPREPARED),
    ("PreparingTarget", UNPREPARED),
    # The source begins as soon as it may, and meets what it meets.
    ("TargetReady", {
        ("target", "launcher"): (ENDED + LOST, LIVES),
        ("target", "libvirtd"): ([SUCCEEDED] + LOST, LIVES),
        ("target", "pod"): (ENDED + LOST, LIVES),
    }),
    ("Running", {
        ("target", "launcher"): (ENDED + LOST, LIVES),
        ("target", "libvirtd"): (LOST, LIVES),
        ("target", "pod"): (ENDED + LOST, LIVES),
    }),
    ("Running", {
        ("target", "qemu"): (LOST + failed("TargetLost"), LIVES),
        ("source", "libvirtd"): (failed("LibvirtLost"), LIVES),
    }),
    ("PostCopy", {
        ("target", "launcher"): (ENDED, ANEW),
        ("target", "qemu"): (ENDED, ANEW),
        ("target", "pod"): (ENDED, ANEW),
    }),
    ("PostCopy", {
        ("source", "libvirtd"): ([SUCCEEDED], LIVES),
        ("target", "libvirtd"): ([SUCCEEDED], LIVES),
    }),
]


@pytest.fixture(scope="module", name="kills")
def fixture_kills():
    with Embedded() as cluster, Kills(cluster) as kills:
        yield kills


@pytest.mark.parametrize("phase,expected", EXPECTED)
def test_a_machine_outlives_its_target(kills, phase, expected):
    kills.run(phase, expected)


if os.environ.get("FERRY_DEEP"):
    @pytest.mark.parametrize("phase,victim,end", [
        (phase, victim, end) for phase, expected in EXPECTED
        for victim, end in expected.items()])
    def test_a_machine_outlives_each(kills, phase, victim, end):
        kills.run(phase, {victim: end})
