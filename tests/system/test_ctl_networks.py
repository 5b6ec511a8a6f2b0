# SPDX-License-Identifier: Apache-2.0
"""Clusters on one computer, and which of them has which network."""

import concurrent.futures
import contextlib
import subprocess

from embedded import Embedded, random_name

CLUSTERS = 3
BLOCK_FIRST, BLOCK_COUNT = 64, 128  # as in src/ctl/layout.h
OTHERS_MAX = 32  # clusters of other tests that there may be


def suggested(name):
    """The block that a name suggests."""
    number = 2166136261
    for byte in name.encode():
        number = (number ^ byte) * 16777619 % (1 << 32)
    return BLOCK_FIRST + number % BLOCK_COUNT


def names_of_one_block(count):
    """Names that all suggest the same block."""
    block, names = None, []
    while len(names) < count:
        name = random_name()
        if block in (None, suggested(name)):
            block = suggested(name)
            names.append(name)
    return names


@contextlib.contextmanager
def address(text):
    """Somebody has an address in this namespace, meanwhile."""
    subprocess.run(["ip", "address", "add", text, "dev", "lo"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "address", "del", text, "dev", "lo"],
                       check=True)


def test_clusters_that_begin_at_the_same_moment_have_networks_of_their_own():
    names = names_of_one_block(CLUSTERS)
    with contextlib.ExitStack() as stack:
        clusters = [stack.enter_context(Embedded(nodes=1, name=name, up=False))
                    for name in names]
        with concurrent.futures.ThreadPoolExecutor(CLUSTERS) as pool:
            list(pool.map(Embedded.complete, clusters))
        blocks = [cluster.state()["block"] for cluster in clusters]
        assert len(set(blocks)) == CLUSTERS, blocks
        assert all((block - suggested(names[0])) % BLOCK_COUNT < OTHERS_MAX
                   for block in blocks), blocks
        for cluster, block in zip(clusters, blocks):
            assert cluster.client.url.hostname == f"10.{block}.0.254"
            assert cluster.get("nodes", "node1")


def test_a_cluster_keeps_its_network_and_says_who_else_has_it():
    with Embedded(nodes=1, guest=False) as cluster:
        block = cluster.state()["block"]
        cluster.ferryctl("cluster", "down", "--keep-dir")
        up = ("cluster", "up", "--nodes", "1", "--name", cluster.name)
        with address(f"10.{block}.9.9/32"):
            done = cluster.ferryctl_raw(*up)
            assert done.returncode == 1
            assert f"10.{block}.0.0/16" in done.stderr
            assert "interface 'lo'" in done.stderr
        cluster.complete()
        assert cluster.state()["block"] == block
        assert cluster.get("nodes", "node1")
