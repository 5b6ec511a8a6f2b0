# SPDX-License-Identifier: Apache-2.0
"""ferry-cluster keeps what it acknowledged: crashes, full disks, backups."""

import errno
import http.client
import json
import os
import ssl
import subprocess
import threading

import pytest

from clusters import CLUSTER, Cluster
from proxies import wait_for

CRASHES = 50
WRITERS = 8
CONFIGMAPS = "/api/v1/namespaces/storm/configmaps"
BROKEN = (http.client.HTTPException, OSError, ssl.SSLError, ValueError)


def configmap(name, value, rv=None):
    meta = {"name": name}
    if rv:
        meta["resourceVersion"] = rv
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta,
            "data": {"value": str(value)}}


class Writer(threading.Thread):
    """Creates and updates objects of its own until the server is gone.

    `acknowledged` has, for each name, the last value that was answered for and
    one that was sent and perhaps not answered any more.
    """

    def __init__(self, cluster, number, acknowledged):
        super().__init__()
        self.api = cluster.api()
        self.number = number
        self.acknowledged = acknowledged
        self.count = 0

    def run(self):
        try:
            while True:
                self.write_one()
        except BROKEN:
            pass
        finally:
            self.api.close()

    def write_one(self):
        self.count += 1
        name = f"w{self.number}-{self.count % 20}"
        value = (self.acknowledged.get(name) or [0])[0] + 1
        exists = name in self.acknowledged
        self.acknowledged.setdefault(name, [0, 0])[1] = value
        if exists and self.acknowledged[name][0]:
            answer = self.api.request("PUT", f"{CONFIGMAPS}/{name}",
                                      configmap(name, value))
        else:
            answer = self.api.request("POST", CONFIGMAPS,
                                      configmap(name, value))
            if answer.code == 409:  # written, but the answer was lost
                answer = self.api.request("PUT", f"{CONFIGMAPS}/{name}",
                                          configmap(name, value))
        assert answer.code in (200, 201), answer
        self.acknowledged[name] = [value, value]


class Watcher(threading.Thread):
    """Follows the collection over crashes, and checks that nothing is missed.

    It lists once and only ever resumes: a 410 would be a gap.
    """

    def __init__(self, cluster, api):
        super().__init__()
        self.cluster = cluster
        listed = api.get(CONFIGMAPS)
        self.rv = listed["metadata"]["resourceVersion"]
        self.state = {i["metadata"]["name"]: i for i in listed["items"]}
        self.problems = []
        self.stop = False
        self.events = 0

    def run(self):
        while not self.stop:
            try:
                self.follow()
            except BROKEN:
                continue

    def follow(self):
        api = self.cluster.api()
        with api.watch(f"{CONFIGMAPS}?resourceVersion={self.rv}"
                       "&timeoutSeconds=300") as watch:
            while not self.stop:
                event = watch.next()
                if event is None:
                    return
                self.take(event)

    def take(self, event):
        if event["type"] == "ERROR":
            self.problems.append(f"error {event['object']}")
            self.stop = True
            return
        meta = event["object"]["metadata"]
        if int(meta["resourceVersion"]) <= int(self.rv):
            self.problems.append(f"{meta['resourceVersion']} came after "
                                 f"{self.rv}")
        known = meta["name"] in self.state
        if event["type"] == "ADDED" and known:
            self.problems.append(f"{meta['name']} was added twice")
        if event["type"] == "MODIFIED" and not known:
            self.problems.append(f"{meta['name']} was modified before it was "
                                 "added")
        self.rv = meta["resourceVersion"]
        self.state[meta["name"]] = event["object"]
        self.events += 1


def check_acknowledged(stored, acknowledged):
    for name, (answered, sent) in acknowledged.items():
        if not answered and name not in stored:
            continue
        assert name in stored, f"{name} is lost"
        value = int(stored[name]["data"]["value"])
        assert value in (answered, sent), \
            f"{name} is {value}; {answered} was answered, {sent} was sent"


def test_kill_in_a_storm_of_writes_loses_nothing():
    acknowledged = {}
    written = 0
    with Cluster() as cluster:
        api = cluster.api()
        api.create("/api/v1/namespaces", {"metadata": {"name": "storm"}})
        watcher = Watcher(cluster, api)
        watcher.start()
        for round_ in range(CRASHES):
            writers = [Writer(cluster, n, acknowledged)
                       for n in range(WRITERS)]
            for writer in writers:
                writer.start()
            # Some writes, a different number each time.
            goal = 20 + 7 * (round_ % 10)
            wait_for("writes", lambda w=writers, g=goal:
                     sum(x.count for x in w) >= g)
            cluster.kill()
            for writer in writers:
                writer.join()
                written += writer.count
            cluster.start()
            api = cluster.api()
            stored = {i["metadata"]["name"]: i
                      for i in api.get(CONFIGMAPS)["items"]}
            check_acknowledged(stored, acknowledged)
            # What came through unanswered is what counts from now on.
            for name in list(acknowledged):
                if name in stored:
                    value = int(stored[name]["data"]["value"])
                    acknowledged[name] = [value, value]
                else:
                    del acknowledged[name]
            api.close()
        api = cluster.api()
        final = api.get(CONFIGMAPS)
        last = max(int(i["metadata"]["resourceVersion"])
                   for i in final["items"])
        try:
            wait_for("the watcher to catch up", lambda:
                     watcher.problems or int(watcher.rv) >= last)
        finally:
            watcher.stop = True
            # One more event ends its wait.
            api.create(CONFIGMAPS, configmap("end", 1))
            watcher.join()
        assert not watcher.problems, watcher.problems
        for item in final["items"]:
            name = item["metadata"]["name"]
            assert watcher.state[name] == item, name
        assert written > CRASHES * 20


def test_a_second_server_on_the_directory_is_refused():
    with Cluster() as cluster:
        done = subprocess.run(
            [CLUSTER, "serve", "--dir", cluster.dir, "--listen",
             "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert "use" in done.stderr or "lock" in done.stderr, done.stderr
        cluster.kubectl("get", "ns")


def test_backup_while_it_runs_and_restore(tmp_path):
    backup = str(tmp_path / "backup.db")
    with Cluster() as cluster:
        cluster.kubectl("create", "configmap", "kept", "--from-literal=a=b")
        subprocess.run([CLUSTER, "backup", "--dir", cluster.dir, backup],
                       check=True)
        cluster.kubectl("create", "configmap", "later", "--from-literal=a=b")
        before = cluster.api().get("/api/v1/namespaces/default/configmaps")
        assert cluster.stop() == 0
        for name in os.listdir(cluster.dir):
            if name.startswith("state.db"):
                os.unlink(os.path.join(cluster.dir, name))
        subprocess.run([CLUSTER, "restore", "--dir", cluster.dir, backup],
                       check=True)
        cluster.start()
        after = cluster.api().get("/api/v1/namespaces/default/configmaps")
        names = [i["metadata"]["name"] for i in after["items"]]
        assert "kept" in names and "later" not in names
        # Whoever saw more than the backup has must list again.
        assert int(after["metadata"]["resourceVersion"]) > \
            int(before["metadata"]["resourceVersion"])


def test_restore_leaves_a_state_that_is_there_alone(tmp_path):
    backup = str(tmp_path / "backup.db")
    with Cluster() as cluster:
        subprocess.run([CLUSTER, "backup", "--dir", cluster.dir, backup],
                       check=True)
        done = subprocess.run([CLUSTER, "restore", "--dir", cluster.dir,
                               backup], stderr=subprocess.PIPE, text=True,
                              check=False)
        assert done.returncode == 1 and done.stderr
        cluster.kubectl("get", "ns")


@pytest.fixture(name="small_disk")
def small_disk_fixture(tmp_path):
    """A file system of 24 MiB."""
    path = tmp_path / "disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs",
                    str(path)], check=True)
    yield str(path)
    subprocess.run(["umount", "-l", str(path)], check=True)


def fill(path):
    """Takes all space there is."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        while True:
            os.write(fd, b"x" * 4096)
    except OSError as error:
        assert error.errno == errno.ENOSPC
    finally:
        os.close(fd)


def test_full_disk_refuses_writes_and_goes_on_reading(small_disk):
    filler = os.path.join(small_disk, "filler")
    directory = os.path.join(small_disk, "cluster")
    with Cluster(directory=directory) as cluster:
        api = cluster.api()
        api.create("/api/v1/namespaces", {"metadata": {"name": "storm"}})
        api.create(CONFIGMAPS, configmap("before", 1))
        fill(filler)
        answer = None
        acknowledged = []
        for i in range(2000):
            answer = api.request("POST", CONFIGMAPS,
                                 {**configmap(f"full-{i}", "y" * 30000)})
            if answer.code != 201:
                break
            acknowledged.append(f"full-{i}")
        assert answer.code == 500, answer
        status = answer.json()
        assert status["kind"] == "Status" and "full" in status["message"], \
            status
        # Reads and watches go on.
        listed = api.get(CONFIGMAPS)
        names = {i["metadata"]["name"] for i in listed["items"]}
        assert names >= {"before", *acknowledged}
        assert f"full-{len(acknowledged)}" not in names
        os.unlink(filler)
        api.create(CONFIGMAPS, configmap("after", 1))
        cluster.kill()
        cluster.start()
        names = {i["metadata"]["name"]
                 for i in cluster.api().get(CONFIGMAPS)["items"]}
        assert names >= {"before", "after", *acknowledged}
        assert f"full-{len(acknowledged)}" not in names


def test_a_damaged_state_is_named_and_not_served():
    with Cluster() as cluster:
        assert cluster.stop() == 0
        path = os.path.join(cluster.dir, "state.db")
        with open(path, "r+b") as file:
            file.write(b"this is no database, certainly not one of ours")
        done = subprocess.run(
            [CLUSTER, "serve", "--dir", cluster.dir], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert "state.db" in done.stderr, done.stderr


def test_init_keeps_a_cluster_that_is_there():
    with Cluster() as cluster:
        done = subprocess.run([CLUSTER, "init", "--dir", cluster.dir],
                              stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1
        assert "already" in done.stderr
        cluster.kubectl("get", "ns")


def test_termination_answers_and_ends_watches():
    with Cluster() as cluster:
        api = cluster.api()
        with api.watch("/api/v1/namespaces") as watch:
            assert watch.next()["type"] == "ADDED"
            assert cluster.stop() == 0
            while watch.next() is not None:
                pass
        log = [json.loads(line) for line in cluster.log().splitlines()]
        assert any("stopping" in entry["msg"] for entry in log)
