# SPDX-License-Identifier: Apache-2.0
"""deploy/prometheus: what Prometheus itself says about it, and whether each
alert has an entry in the runbook."""

import os
import re
import subprocess

import pytest
import yaml

from proxies import REPOSITORY

HERE = os.path.join(REPOSITORY, "deploy", "prometheus")
KUBEVIRT_ALERTS = {"VMCannotBeEvicted", "KubeVirtVMIExcessiveMigrations",
                   "OutdatedVirtualMachineInstanceWorkloads",
                   "LowKVMNodesCount"}


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], cwd=HERE, text=True,
                          check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout


def load(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return yaml.safe_load(file)


def alerts():
    return [rule for group in load("rules.yaml")["groups"]
            for rule in group["rules"] if "alert" in rule]


def runbook_anchors():
    """The anchors that headings of the runbook have on a web page."""
    with open(os.path.join(REPOSITORY, "docs", "operations.md"),
              encoding="utf-8") as file:
        return {title.lower().replace(" ", "-")
                for title in re.findall(r"^#+ (.*)$", file.read(), re.M)}


def known_families():
    """Names that docs/metrics.md explains."""
    with open(os.path.join(REPOSITORY, "docs", "metrics.md"),
              encoding="utf-8") as file:
        return set(re.findall(r"`((?:ferry|kubevirt)_\w+)", file.read()))


def test_rules_are_understood():
    promtool("check", "rules", "rules.yaml")


def test_rules_fire_when_they_should_and_not_before():
    promtool("test", "rules", "rules_test.yaml")


def test_the_configuration_to_try_it_out_is_understood():
    promtool("check", "config", "prometheus.yaml")


def test_the_scrape_configuration_is_understood(tmp_path):
    config = load("scrape.yaml")
    # Debian's Prometheus is built without Kubernetes.
    found = config["scrape_configs"][0].pop("kubernetes_sd_configs")
    assert found == [{"role": "pod", "namespaces": {"names": ["kubevirt"]}}]
    path = tmp_path / "scrape.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    promtool("check", "config", str(path))


def test_kubevirts_alerts_have_its_names():
    assert KUBEVIRT_ALERTS <= {rule["alert"] for rule in alerts()}


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_has_a_runbook_entry_a_test_and_known_metrics(rule):
    url = rule["annotations"]["runbook_url"]
    assert url == f"docs/operations.md#{rule['alert'].lower()}"
    assert url.split("#")[1] in runbook_anchors()
    assert rule["labels"]["severity"] in ("warning", "critical")
    tested = {case["alertname"] for test in load("rules_test.yaml")["tests"]
              for case in test["alert_rule_test"] if case["exp_alerts"]}
    assert rule["alert"] in tested
    for name in re.findall(r"(?:ferry|kubevirt)_\w+", rule["expr"]):
        family = re.sub(r"_(bucket|count|sum)$", "", name)
        assert family in known_families(), name
