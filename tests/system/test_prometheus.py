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
DEADLINE = 120  # seconds for promtool
_SERIES = re.compile(r'(\w+)(?:{(.*)})?$')
_LABEL = re.compile(r'(\w+)="([^"]*)"')
KUBEVIRT_ALERTS = {"VMCannotBeEvicted", "KubeVirtVMIExcessiveMigrations",
                   "OutdatedVirtualMachineInstanceWorkloads",
                   "LowKVMNodesCount"}


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], cwd=HERE, text=True,
                          check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=DEADLINE)
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


def scrape_job():
    return load("scrape.yaml")["scrape_configs"][0]


def endpoint():
    return load("podmonitor.yaml")["spec"]["podMetricsEndpoints"][0]


def snake(name):
    return re.sub(r"[A-Z]", lambda found: "_" + found.group().lower(), name)


def test_the_operator_reads_the_same_pods_by_the_same_labels():
    job, monitor = scrape_job(), load("podmonitor.yaml")
    assert job["scheme"] == endpoint()["scheme"]
    assert job["honor_labels"] is endpoint()["honorLabels"] is True
    assert job["tls_config"] == {snake(name): value for name, value in
                                 endpoint()["tlsConfig"].items()}
    assert job["kubernetes_sd_configs"][0]["namespaces"]["names"] == [
        monitor["metadata"]["namespace"]]
    # What the operator makes of a selector, a port and a name of a job.
    kept = {rule["source_labels"][0]: rule["regex"]
            for rule in job["relabel_configs"] if rule.get("action") == "keep"}
    assert kept == {
        "__meta_kubernetes_pod_container_port_name": endpoint()["port"],
        **{"__meta_kubernetes_pod_label_" + re.sub(r"\W", "_", name): value
           for name, value in
           monitor["spec"]["selector"]["matchLabels"].items()}}
    said = [{snake(name): value for name, value in rule.items()}
            for rule in endpoint()["relabelings"]]
    assert said == [
        {"target_label": "job", "replacement": job["job_name"]},
        *(rule for rule in job["relabel_configs"]
          if rule.get("action") != "keep")]


def read_by_the_operator(pod, node, own):
    """The labels that a series ends up with, of a pod with one container that
    is named as its label kubevirt.io says."""
    about = {"__meta_kubernetes_pod_node_name": node,
             "__meta_kubernetes_pod_label_kubevirt_io": pod["container"]}
    # The operator's own come first.
    labels = {"job": "kubevirt/ferry", "namespace": "kubevirt",
              "endpoint": endpoint()["port"], "instance": "10.0.0.1:8443",
              **pod}
    for rule in endpoint()["relabelings"]:
        labels[rule["targetLabel"]] = rule["replacement"] \
            if "replacement" in rule else about[rule["sourceLabels"][0]]
    if endpoint().get("honorLabels"):
        return {**labels, **own}
    renamed = {(f"exported_{name}" if name in labels else name): value
               for name, value in own.items()}
    return {**labels, **renamed}


def operators_series():
    """Series of rules_test.yaml that have the operator's labels."""
    for test in load("rules_test.yaml")["tests"]:
        for series in test["input_series"]:
            name, labels = _SERIES.match(series["series"]).groups()
            labels = dict(_LABEL.findall(labels or ""))
            if "endpoint" in labels:
                yield name, labels


def test_alerts_are_tried_with_the_operators_labels():
    added = {"job", "endpoint", "instance", "component", "pod", "container"}
    tried = list(operators_series())
    assert {name for name, _ in tried} == {
        "kubevirt_vmi_non_evictable", "kubevirt_vmi_migration_failed",
        "ferry_migration_waiting_since_timestamp_seconds", "up"}
    for name, labels in tried:
        # up is Prometheus' own, and has the labels of its target.
        own = {} if name == "up" else {
            label: value for label, value in labels.items()
            if label not in added}
        pod = {label: labels[label] for label in ("pod", "container")}
        assert read_by_the_operator(pod, labels["instance"], own) == labels


def test_the_example_lies_where_clusters_do():
    with open(os.path.join(REPOSITORY, "src", "ctl", "layout.h"),
              encoding="utf-8") as file:
        first, count = map(int, re.search(
            r"BLOCK_FIRST (\d+)\n#define LAYOUT_BLOCK_COUNT (\d+)",
            file.read()).groups())
    job = load("prometheus.yaml")["scrape_configs"][0]
    assert job["job_name"] == scrape_job()["job_name"]
    blocks = {int(target.split(".")[1]) for group in job["static_configs"]
              for target in group["targets"]}
    assert len(blocks) == 1 and blocks <= set(range(first, first + count))


def test_the_addresses_of_the_runbook_become_links(tmp_path):
    with open(os.path.join(HERE, "rules.yaml"), encoding="utf-8") as file:
        command = re.search(r"^#\t(sed .*)$", file.read(), re.M).group(1)
    made = subprocess.run(
        ["sh", "-c", command], cwd=HERE, check=True, timeout=DEADLINE,
        stdout=subprocess.PIPE, env={**os.environ,
                                     "BASE": "https://docs.example/ferry"})
    path = tmp_path / "rules.yaml"
    path.write_bytes(made.stdout)
    promtool("check", "rules", str(path))
    urls = {rule["alert"]: rule["annotations"]["runbook_url"]
            for group in yaml.safe_load(made.stdout)["groups"]
            for rule in group["rules"] if "alert" in rule}
    assert urls == {
        rule["alert"]: "https://docs.example/ferry/"
                       + rule["annotations"]["runbook_url"]
        for rule in alerts()}


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
