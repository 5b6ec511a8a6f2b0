# SPDX-License-Identifier: Apache-2.0
"""Of two controllers one works, and the other goes on where it stopped."""

import pytest

from controllers import Controllers


@pytest.fixture(name="controllers")
def controllers_(cluster):
    with Controllers(cluster, 2, faults=True) as made:
        yield made


def test_one_of_two_leads_and_the_other_takes_over(controllers):
    first = controllers.leader()
    (second,) = controllers.others()
    assert second.metrics()["kubevirt_virt_controller_leading_status"] == 0
    first.kill()
    controllers.free_lease()
    assert controllers.leader() is second
    first.start()
    assert controllers.others() == [first]


def test_a_leader_that_stops_gives_the_lead_to_the_other(controllers):
    first = controllers.leader()
    assert first.stop() == 0
    assert controllers.leader() is not first
