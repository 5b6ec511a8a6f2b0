# SPDX-License-Identifier: Apache-2.0
"""What Prometheus reads of a cluster with a real migration."""

import re
import ssl
import subprocess
import urllib.request

import pytest

from embedded import PATIENCE, Embedded
from kubeapi import wait_for
from runbook_text import RUNBOOK
from runbooks import Shell
from scraped import Scraped

CONTROLLER_PORT = 8444
HANDLER_PORT = 8443
SLOW = "8Mi"
TRANSFER = ("data_bytes_total", "data_remaining_bytes", "data_processed_bytes",
            "dirty_memory_rate_bytes", "memory_transfer_rate_bytes")
_COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.S | re.M)


def fetch(address, port, path="/metrics"):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with urllib.request.urlopen(f"https://{address}:{port}{path}", timeout=60,
                                context=context) as answer:
        return answer.read().decode()


def address_of(cluster, node):
    for each in cluster.get("nodes", node)["status"]["addresses"]:
        if each["type"] == "InternalIP":
            return each["address"]
    raise AssertionError(f"{node} has no address")


def scrape_handler(cluster, node):
    return Scraped(fetch(address_of(cluster, node), HANDLER_PORT))


def scrape_controller(cluster):
    node = address_of(cluster, "node1")
    return Scraped(fetch(node.rsplit(".", 1)[0] + ".254", CONTROLLER_PORT))


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster():
    with Embedded() as cluster:
        yield cluster


@pytest.fixture(scope="module", name="machine")
def fixture_machine(cluster):
    return cluster.start_machine("vm1")


@pytest.fixture(scope="module", name="seen")
def fixture_seen(cluster, machine):
    """What was read while the machine left, and when it had arrived."""
    source = machine.node
    with machine.policy(bandwidthPerMigration=SLOW):
        name = machine.begin_migration()
        machine.wait_copying(name, percent=5)
        during = (scrape_handler(cluster, source), scrape_controller(cluster))
    ended = machine.wait_migration(name, patience=2 * PATIENCE)
    target = machine.node
    assert target != source

    def counted():
        handler = scrape_handler(cluster, source)
        return handler if handler.value(
            "ferry_handler_migration_downtime_seconds_count") else None

    return {"source": source, "target": target, "vmim": name,
            "progress": ended["status"]["migrationState"]["progress"],
            "handler": during[0], "controller": during[1],
            "left": wait_for("the source to count it", counted, PATIENCE),
            "arrived": scrape_handler(cluster, target),
            "after": scrape_controller(cluster)}


def test_a_transfer_has_kubevirts_names_and_labels(seen):
    for name in TRANSFER:
        full = f"kubevirt_vmi_migration_{name}"
        assert seen["handler"].labels(full) == {"namespace", "name", "node"}
        seen["handler"].value(full, namespace="default", name="vm1",
                              node=seen["source"])
    total, remaining, processed = (
        seen["handler"].value(f"kubevirt_vmi_migration_{name}")
        for name in TRANSFER[:3])
    assert total > 100 << 20
    assert 0 < remaining < total
    assert processed > 0


def test_the_transfer_is_gone_when_it_is_over(seen):
    for when in ("left", "arrived"):
        for name in TRANSFER:
            assert not seen[when].find(f"kubevirt_vmi_migration_{name}")


def test_both_nodes_count_the_migration(seen):
    name = "ferry_handler_migration_seconds_count"
    assert seen["left"].value(name, side="source", result="succeeded") == 1
    assert seen["left"].value(name, side="source", result="failed") == 0
    assert seen["arrived"].value(name, side="target", result="succeeded") == 1
    assert seen["arrived"].value("ferry_handler_machines",
                                 phase="Running") == 1


def test_a_handler_passes_on_what_its_proxy_counts(seen):
    for node in ("left", "arrived"):
        assert seen[node].value("ferry_handler_proxy_up") == 1
        assert seen[node].value("ferry_handler_ready") == 1
        assert seen[node].find("ferry_proxy_failures_total")
        assert seen[node].value("ferry_proxy_certificate_not_after_seconds",
                                use="server") > 0


def test_both_proxies_tell_what_they_carried(cluster, seen):
    """Of the whole process: the migration's own have gone with it."""
    copied = seen["progress"]["bytesProcessed"]
    for node, side, family in (
            (seen["source"], "source", "ferry_proxy_sent_bytes_total"),
            (seen["target"], "target", "ferry_proxy_received_bytes_total")):
        # What a handler passes on may be some seconds old.
        found = wait_for(f"{family} of {node}", lambda n=node, f=family: (
            s := scrape_handler(cluster, n)).value(f) > copied / 2 and s,
            PATIENCE)
        assert not found.labels(family)
        assert found.value("ferry_proxy_handshakes_total", side=side) > 0
        assert sum(found.find("ferry_proxy_handshake_failures_total",
                              side=side)) == 0
        assert found.labels("ferry_proxy_handshake_failures_total") == {
            "side", "reason"}


def test_the_controller_tells_of_what_goes_on(seen):
    assert seen["controller"].value(
        "kubevirt_vmi_migrations_in_running_phase") == 1
    assert seen["controller"].value(
        "kubevirt_vm_migrating_status_last_transition_timestamp_seconds",
        name="vm1", namespace="default") > 0
    assert seen["controller"].find(
        "ferry_migration_waiting_since_timestamp_seconds", vmi="vm1",
        vmim=seen["vmim"], namespace="default")


def test_the_controller_tells_how_it_went(seen):
    after = seen["after"]
    assert after.value("kubevirt_vmi_migration_succeeded", vmi="vm1",
                       vmim=seen["vmim"], namespace="default") == 1
    assert after.value("ferry_migration_seconds_count",
                       result="succeeded") == 1
    assert after.value("ferry_migration_transfer_seconds_count") == 1
    assert after.value("ferry_migration_transfer_seconds_sum") > 0
    downtime = after.value("ferry_migration_downtime_seconds_sum")
    assert downtime > 0
    assert downtime == pytest.approx(seen["left"].value(
        "ferry_handler_migration_downtime_seconds_sum"))
    # Here all nodes have one clock: what is left out is the way of a message.
    blackout = after.value("ferry_migration_blackout_seconds_sum")
    assert after.value("ferry_migration_blackout_seconds_count") == 1
    assert 0 < blackout <= downtime
    assert blackout == pytest.approx(seen["left"].value(
        "ferry_handler_migration_blackout_seconds_sum"))
    assert blackout == pytest.approx(seen["progress"]["blackoutMs"] / 1000)
    assert after.value("ferry_migration_phase_seconds_count",
                       phase="Running") == 1
    assert after.value("ferry_migration_phase_seconds_sum",
                       phase="Running") > 0
    assert after.labels("ferry_migration_wait_seconds_count") == {"cause"}
    assert not after.find("ferry_migration_waiting_since_timestamp_seconds")
    assert after.value(
        "kubevirt_vm_migrating_status_last_transition_timestamp_seconds",
        name="vm1", namespace="default") == 0


def test_prometheus_understands_every_line(seen):
    for when in ("handler", "controller", "left", "arrived", "after"):
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=seen[when].text,
            text=True, check=False, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=PATIENCE)
        # KubeVirt's names are what they are; lint may dislike them.
        assert "error while linting" not in done.stdout, done.stdout
        assert done.returncode in (0, 3), done.stdout


def test_the_commands_of_the_alerts_entries_run(cluster, seen):
    shell = Shell(cluster, VM="vm1", MIGRATION=seen["vmim"])
    with open(RUNBOOK, encoding="utf-8") as file:
        alerts = file.read().split("\n## Alerts\n")[1].split("\n## ")[0]
    lines = [line for block in _COMMANDS.findall(alerts)
             for line in block.splitlines()]
    assert lines
    for line in lines:
        shell.run(line)


def test_a_handler_is_healthy_and_ready(cluster):
    address = address_of(cluster, "node1")
    assert fetch(address, HANDLER_PORT, "/healthz") == "ok"
    assert fetch(address, HANDLER_PORT, "/readyz") == "ok"
