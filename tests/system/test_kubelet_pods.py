# SPDX-License-Identifier: Apache-2.0
"""ferry-kubelet runs pods: their life from creation to the last trace."""

import pytest

from kubelets import Site, pod


@pytest.fixture(scope="module")
def site():
    with Site() as made:
        made.start_kubelets("--restart-backoff", "200ms")
        yield made


def test_a_pod_runs_and_its_log_can_be_read(site):
    site.create(pod("hello", "echo hello; echo oops >&2; sleep 1000"))
    found = site.wait_ready("hello")
    assert found["status"]["podIP"].startswith("10.99.1.")
    assert site.cluster.kubectl("logs", "hello") == "hello\noops\n"
    site.delete("pod", "hello")
    site.wait_clean(site.nodes[0])
