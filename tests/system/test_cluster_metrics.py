# SPDX-License-Identifier: Apache-2.0
"""What /metrics of ferry-cluster counts."""

import re


def metrics(api):
    """{name with labels: value} of the Prometheus text."""
    text = api.get("/metrics")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r'[a-z_]+({[a-z]+="[^"]*"})? \d+', line)
               for line in lines), text
    return {name: int(value)
            for name, value in (line.rsplit(" ", 1) for line in lines)}


def responses(values, code):
    return values[f'ferry_cluster_responses_total{{code="{code}xx"}}']


def test_answers_objects_and_watches_are_counted(cluster, namespace):
    api = cluster.api()
    before = metrics(api)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    api.create(path, {"metadata": {"name": "counted"}})
    for _ in range(3):
        assert api.request("GET", path + "/missing").code == 404
    with api.watch(path) as watch:
        assert watch.next()["type"] == "ADDED"
        after = metrics(api)
    assert responses(after, 4) >= responses(before, 4) + 3
    assert responses(after, 2) > responses(before, 2)
    objects = 'apiserver_storage_objects{resource="configmaps"}'
    assert after[objects] > before[objects]
    assert after["ferry_cluster_watches"] >= 1
    assert after["ferry_cluster_watch_events_total"] > \
        before["ferry_cluster_watch_events_total"]
    assert after["ferry_cluster_store_revision"] > \
        before["ferry_cluster_store_revision"]
