# SPDX-License-Identifier: Apache-2.0
"""The dashboard in a browser, of a cluster with a real migration.

FERRY_SCREENSHOTS names a directory to keep pictures of it in.
"""

import contextlib
import os
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from browsers import Browser
from clusters import CLUSTER
from embedded import PATIENCE, Embedded
from kubeapi import wait_for
from lines import read_line

PAGE = "/apis/subresources.kubevirt.io/v1/ui"
SLOW = "8Mi"
# Pages that the guest writes, of 16 MiB: more than goes over in a second, so
# that it is seen at it until it is paused to let it finish.
BUSY = "16,6000"
PAUSED_AFTER = {"completionTimeoutPerGiB": 30, "allowWorkloadDisruption": True}
TOP, BOTTOM = 2, 98  # of a plot's 100
UNSCHEDULABLE = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
_SERVES = re.compile(r"Starting to serve on (\S+)")


@contextlib.contextmanager
def proxied(kubeconfig):
    """The API as a browser reaches it, with a person's rights; its URL."""
    with subprocess.Popen(
            ["kubectl", "--kubeconfig", kubeconfig, "proxy", "--port=0"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True) as proxy:
        try:
            line = read_line(proxy.stdout)
            yield "http://" + _SERVES.search(line).group(1)
        finally:
            proxy.terminate()
            proxy.wait(PATIENCE)


def kubeconfig_of(cluster, user):
    """The path of a kubeconfig for somebody."""
    path = os.path.join(cluster.scratch, f"{user}.kubeconfig")
    with open(path, "wb") as file:
        subprocess.run(
            [CLUSTER, "kubeconfig", "--dir",
             os.path.join(cluster.dir, "cluster"), "--user", user,
             "--group=system:authenticated"], check=True, stdout=file,
            timeout=PATIENCE)
    return path


def keep_picture(browser, name):
    where = os.environ.get("FERRY_SCREENSHOTS")
    if where:
        browser.screenshot(os.path.join(where, name))


def plotted(browser, line):
    """The points of a plot's line, right and down from its upper left."""
    return points_of(browser.run(
        "const line = document.querySelector('#running .' + arguments[0]);"
        "return line ? line.getAttribute('points') : '';", line))


def points_of(text):
    return [tuple(map(float, point.split(","))) for point in text.split()]


def check_plots(browser):
    """What remains goes down from the left to the right; what the guest writes
    begins where QEMU has measured it, after the first round."""
    wait_for("the guest to be seen writing", lambda: len(
        plotted(browser, "dirty")) >= 3, PATIENCE)
    lines = browser.run(
        "return ['remaining', 'dirty'].map(name => document.querySelector("
        "'#running .' + name).getAttribute('points'));")
    lines = [points_of(line) for line in lines]
    assert lines[0][0][0] == 0 < lines[1][0][0]
    for points in lines:
        across = [x for x, _ in points]
        assert across == sorted(across)
        assert across[-1] == 100
        assert all(TOP <= y <= BOTTOM for _, y in points)
        # The highest reaches the top.
        assert min(y for _, y in points) == TOP
    remaining = [y for _, y in lines[0]]
    assert max(remaining) > remaining[0]
    captions = browser.run(
        "return [...document.querySelectorAll('#running figcaption')]"
        ".map(each => each.innerText);")
    assert len(captions) == 2
    assert re.match(r"Memory that remains, .*, at most [1-9]", captions[0])
    assert re.match(r"What the guest writes, .*, at most [1-9].*/s$",
                    captions[1])


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="url")
def fixture_url(cluster):
    with proxied(cluster.kubeconfig) as url:
        yield url


@pytest.fixture(scope="module", name="machine")
def fixture_machine(cluster):
    return cluster.start_machine("vm1", dirty=BUSY)


@pytest.fixture(scope="module", name="browser")
def fixture_browser(url, machine):
    with Browser() as browser:
        browser.open(url + PAGE)
        wait_for("the page to show " + machine.name,
                 lambda: any("default/vm1" in row
                             for row in browser.rows("#machines")), PATIENCE)
        yield browser


def test_nodes_and_machines_are_shown(browser, machine):
    def counted():
        rows = {row[0]: row[1:] for row in browser.rows("#nodes")}
        return rows if any(row[1] == "1" for row in rows.values()) else None

    nodes = wait_for("the machine to be counted", counted, PATIENCE)
    assert set(nodes) == {"node1", "node2"}
    assert nodes[machine.node] == ["ready", "1", "0", "0"]
    row = browser.rows("#machines")[0]
    assert row[1:4] == ["Running", machine.node, "128Mi"]
    assert row[4] == "yes"
    assert browser.text("#running") == "none"


def test_a_migration_is_followed_and_then_stands_in_the_history(
        browser, machine):
    source = machine.node
    with machine.policy(bandwidthPerMigration=SLOW, **PAUSED_AFTER):
        name = machine.begin_migration()
        machine.wait_copying(name, percent=5)

        wait_for("the plot to have some points", lambda: len(
            plotted(browser, "remaining")) >= 3, PATIENCE)
        check_plots(browser)
        card = browser.text("#running")
        keep_picture(browser, "migration.png")
    assert name in card and source in card
    for word in ("copied", "remaining", "rate", "guest writes", "round"):
        assert word in card
    machine.wait_phase(name, "Succeeded", patience=2 * PATIENCE)

    def told():
        rows = [row for row in browser.rows("#history") if row[1:2] == [name]]
        return rows[0] if rows else None

    row = wait_for("the history to have it", told, PATIENCE)
    assert row[0] == "default/vm1" and row[2] == "Succeeded"
    assert row[3] == f"{source} → {machine.node}"
    assert re.fullmatch(r"\d+ ms", row[6])
    wait_for("nothing to be under way",
             lambda: browser.text("#running") == "none", PATIENCE)
    keep_picture(browser, "history.png")


def test_one_that_never_got_to_a_node_says_why(cluster, browser, machine):
    cluster.create({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "nowhere", "annotations": {UNSCHEDULABLE: "1"}},
        "spec": {"vmiName": machine.name,
                 "addedNodeSelector": {"example.com/no": "such"}}})
    machine.wait_migration("nowhere", "Failed")

    def told():
        return next((row for row in browser.rows("#history")
                     if row[1:2] == ["nowhere"]), None)

    row = wait_for("the history to have it", told, PATIENCE)
    keep_picture(browser, "failure.png")
    assert row[2:4] == ["Failed", ""]
    assert row[7].startswith("UnschedulableTimeout: ")
    # The sentence leaves names and times their room.
    assert browser.run(
        "return [...document.querySelectorAll('#history td:not(:last-child)')]"
        ".filter(cell => { const range = document.createRange();"
        " range.selectNodeContents(cell);"
        " return range.getClientRects().length > 1; })"
        ".map(cell => cell.innerText);") == []


def test_the_page_asks_nobody_else_and_breaks_no_rule(browser, url):
    asked = browser.run("return performance.getEntriesByType('resource')"
                        ".map(entry => entry.name);")
    assert asked
    assert all(each.startswith((url, "data:")) for each in asked)
    assert browser.complaints() == []
    assert browser.text("#state").startswith("as of")


def test_who_has_no_rights_does_not_get_the_page(cluster):
    with proxied(kubeconfig_of(cluster, "nobody")) as url:
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url + PAGE, timeout=60)
        assert refused.value.code == 403
        refused.value.close()


def test_who_may_only_view_is_told_what_he_may_not_see(cluster, browser):
    cluster.kubectl("create", "clusterrolebinding", "viewer",
                    "--clusterrole=kubevirt.io:view", "--user=viewer")
    with proxied(kubeconfig_of(cluster, "viewer")) as url:
        browser.open(url + PAGE)
        wait_for("the machine to be shown",
                 lambda: any("default/vm1" in row
                             for row in browser.rows("#machines")), PATIENCE)
        assert browser.text("#state") == "nodes: 403 Forbidden"
        assert browser.rows("#nodes") == [["none"]]
