# SPDX-License-Identifier: Apache-2.0
"""./run bench cluster: ferry-cluster under the load of other processes.

The same measures with 1,000, 10,000 and 50,000 machines in the store, each
the median of several rounds. The bounds are multiples of what kube-apiserver
1.26 with etcd does on two such cores (docs/benchmarks.md).
"""
import argparse
import base64
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

from figures import Bound, at, judge, ratio, table, verdict_line

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = (1000, 10000, 50000)
CLIENTS = (1, 32)
WATCHERS = 100
WATCH_RATE = 1000
LIST = "/apis/kubevirt.io/v1/namespaces/bench/virtualmachineinstances"
START_DEADLINE = 120
MIB = 1024 * 1024

# (operations per second at 32 clients) of kube-apiserver 1.26 with etcd.
BASE = {"create": 767, "update": 525, "get": 1734}
BASE_MEMORY_MIB = 2267 + 186
FACTOR = 5
# With fifty times the objects a cost that grows with their number would leave
# a fiftieth; caches that no longer hold everything may take up to half.
GROWTH_FLOOR = 0.5


def bounds(sizes):
    middle = 10000 if 10000 in sizes else sizes[-1]
    small, large = sizes[0], sizes[-1]
    rows = [Bound(f"{op}s per second, 32 clients, {middle} objects", "/s",
                  True, FACTOR * BASE[op], at(middle, f"{op}_32"))
            for op in ("create", "update", "get")]
    rows += [
        Bound(f"list of {middle} machines", "s", False, 1.0,
              at(middle, "list_seconds")),
        Bound(f"{WATCHERS} watchers: writes per second", "/s", True,
              0.95 * WATCH_RATE, at(middle, "watch_rate")),
        Bound(f"{WATCHERS} watchers at {WATCH_RATE} writes/s: delivery p99",
              "ms", False, 50, at(middle, "watch_p99")),
        Bound(f"{WATCHERS} watchers: share of events delivered", "", True, 1,
              at(middle, "watch_share")),
        Bound(f"memory with {middle} machines", "MiB", False,
              BASE_MEMORY_MIB / 10, at(middle, "memory_mib")),
        Bound(f"start with {large} machines", "s", False, 3.0,
              at(large, "start_seconds")),
    ]
    if large != small:
        rows += [Bound(f"{op}s, 32 clients: {large} objects to {small}", "x",
                       True, GROWTH_FLOOR, ratio(f"{op}_32", large, small))
                 for op in ("create", "update", "get")]
        rows.append(Bound(f"list time per object: {large} to {small}", "x",
                          False, 1.5, ratio("list_us_each", large, small)))
    return rows


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="./run bench cluster",
        description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write all numbers")
    parser.add_argument("--rounds", type=int, default=3, metavar="N",
                        help="rounds of each measure (default 3)")
    parser.add_argument("--seconds", type=float, default=3, metavar="N",
                        help="how long a round is (default 3)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)),
                        metavar="N,N", help="numbers of objects (default "
                        "1000,10000,50000)")
    parser.add_argument("--build", metavar="DIR",
                        default=os.environ.get("FERRY_BUILD", ROOT / "build"),
                        help="where meson built (default: build)")
    return parser.parse_args(arguments)


class Server:
    """A ferry-cluster with its credentials in files."""

    def __init__(self, build, directory):
        self.program = build / "src/cluster/ferry-cluster"
        self.kubeload = build / "tests/bench/kubeload"
        self.directory = pathlib.Path(directory)
        self.home = self.directory / "cluster"
        for path in (self.program, self.kubeload):
            if not path.exists():
                sys.exit(f"bench: {path} is missing; build it first")
        subprocess.run([self.program, "init", "--dir", self.home, "--port",
                        "0"], check=True, stdout=subprocess.DEVNULL)
        self.process = None
        self.target = None

    def start(self):
        """Seconds from exec to the line that says it is ready."""
        begun = time.monotonic()
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "serve", "--dir", self.home, "--log-format",
                 "json"], stdout=subprocess.PIPE, stderr=log)
        line = self.process.stdout.readline()
        taken = time.monotonic() - begun
        if not line:
            sys.exit("bench: ferry-cluster did not start:\n"
                     + (self.directory / "log").read_text())
        url = urllib.parse.urlsplit(json.loads(line)["url"])
        self.target = [url.hostname, str(url.port), *self.credentials()]
        return taken

    def credentials(self):
        config = json.loads(self.kubectl("config", "view", "--raw", "-o",
                                         "json"))
        cluster = config["clusters"][0]["cluster"]
        user = config["users"][0]["user"]
        paths = []
        for name, data in (
                ("ca", cluster["certificate-authority-data"]),
                ("cert", user["client-certificate-data"]),
                ("key", user["client-key-data"])):
            path = self.directory / name
            path.write_bytes(base64.b64decode(data))
            path.chmod(0o600)
            paths.append(str(path))
        return paths

    def load(self, *arguments):
        done = subprocess.run([self.kubeload, *self.target,
                               *map(str, arguments)],
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def kubectl(self, *arguments):
        return subprocess.run(
            ["kubectl", "--kubeconfig", self.home / "admin.kubeconfig",
             *arguments], check=True, stdout=subprocess.PIPE).stdout

    def memory_mib(self):
        for line in pathlib.Path(
                f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / MIB
        return 0

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        user, system = fields.rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process.stdout.close()
        self.process = None


def measure_operations(server, plan, add):
    for clients in CLIENTS:
        for op in ("create", "update", "get"):
            before = server.cpu_seconds()
            got = server.load("ops", op, "vmim", clients, plan.seconds)
            if got["errors"]:
                sys.exit(f"bench: {got['errors']} of {op} failed")
            add(f"{op}_{clients}", got["operations"] / got["seconds"])
            add(f"{op}_{clients}_p50", got["p50_ms"])
            add(f"{op}_{clients}_p99", got["p99_ms"])
            add(f"{op}_{clients}_cpu_us", (server.cpu_seconds() - before)
                / got["operations"] * 1e6)


def measure_list(server, size, add):
    got = server.load("list", LIST)
    if got["code"] != 200:
        sys.exit(f"bench: the list was answered {got['code']}")
    add("list_seconds", got["seconds"])
    add("list_mb", got["bytes"] / 1e6)
    add("list_us_each", got["seconds"] / size * 1e6)


def measure_watch(server, plan, add):
    got = server.load("watch", WATCHERS, WATCH_RATE, plan.seconds + 2)
    add("watch_rate", got["written"] / got["seconds"])
    add("watch_p50", got["p50_ms"])
    add("watch_p99", got["p99_ms"])
    add("watch_share", got["events"] / got["expected"])


def measure_size(build, size, plan):
    values = {}

    def add(name, value):
        values.setdefault(name, []).append(value)

    with tempfile.TemporaryDirectory(prefix="ferry-bench-") as directory:
        server = Server(build, directory)
        try:
            server.start()
            server.kubectl("create", "namespace", "bench")
            server.load("ops", "create", "vmi", 32, f"{size}x")
            add("memory_mib", server.memory_mib())
            for _ in range(plan.rounds):
                measure_list(server, size, add)
                measure_operations(server, plan, add)
                measure_watch(server, plan, add)
            for _ in range(plan.rounds):
                server.kill()
                add("start_seconds", server.start())
        finally:
            server.kill()
    return values


ROWS = (
    ("create/s, 1 client", "create_1", "{:.0f}"),
    ("create/s, 32 clients", "create_32", "{:.0f}"),
    ("  p50 / p99 ms", ("create_32_p50", "create_32_p99"), "{:.1f}"),
    ("  server CPU us each", "create_32_cpu_us", "{:.0f}"),
    ("update/s, 1 client", "update_1", "{:.0f}"),
    ("update/s, 32 clients", "update_32", "{:.0f}"),
    ("  p50 / p99 ms", ("update_32_p50", "update_32_p99"), "{:.1f}"),
    ("get/s, 1 client", "get_1", "{:.0f}"),
    ("get/s, 32 clients", "get_32", "{:.0f}"),
    ("  p50 / p99 ms", ("get_32_p50", "get_32_p99"), "{:.1f}"),
    ("list of all machines, s", "list_seconds", "{:.3f}"),
    ("  MB", "list_mb", "{:.1f}"),
    (f"{WATCHERS} watchers, writes/s", "watch_rate", "{:.0f}"),
    ("  delivery p50 / p99 ms", ("watch_p50", "watch_p99"), "{:.1f}"),
    ("memory MiB", "memory_mib", "{:.0f}"),
    ("start s", "start_seconds", "{:.2f}"),
)


def main(arguments):
    plan = parse_arguments(arguments)
    build = pathlib.Path(plan.build).resolve()
    sizes = sorted(int(size) for size in plan.sizes.split(","))
    if shutil.which("kubectl") is None:
        sys.exit("bench: kubectl is not installed")
    results = {}
    for size in sizes:
        print(f"bench: {size} objects ...", file=sys.stderr)
        results[size] = measure_size(build, size, plan)
    verdicts = [judge(bound, results) for bound in bounds(sizes)]
    print(f"{os.cpu_count()} cores, Linux {platform.release()}; medians of "
          f"{plan.rounds} rounds of {plan.seconds:g} s; VMIMs are created, "
          "updated and read, machines are listed\n")
    print("\n".join(table("objects", ROWS, results, sizes)))
    print("\nbounds:")
    print("\n".join(map(verdict_line, verdicts)))
    if plan.json:
        pathlib.Path(plan.json).write_text(json.dumps(
            {"results": results, "bounds": verdicts}, indent=1))
    return 0 if all(v["holds"] is not False for v in verdicts) else 1
