# SPDX-License-Identifier: Apache-2.0
"""./run bench controller: ferry-controller with many machines.

Storms of migrations among 100, 1,000 and 10,000 machines on a ferry-cluster
whose nodes are played, and how long a migration waits for its controller while
5,000 others wait for a slot.
"""
import argparse
import importlib
import json
import os
import pathlib
import platform
import signal
import sys

from figures import Bound, at, cell, judge, ratio, table, verdict_line

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = (100, 1000, 10000)
STORM = 1000
WAITING = 5000
SAMPLES = 300


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="./run bench controller",
        description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write all numbers")
    parser.add_argument("--rounds", type=int, default=3, metavar="N",
                        help="storms for each number (default 3)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)),
                        metavar="N,N", help="numbers of machines (default "
                        "100,1000,10000)")
    parser.add_argument("--storm", type=int, default=STORM, metavar="N",
                        help="migrations at once, at most one per machine "
                        f"(default {STORM})")
    parser.add_argument("--waiting", type=int, default=WAITING, metavar="N",
                        help="migrations that wait while the latency is "
                        f"measured (default {WAITING})")
    parser.add_argument("--samples", type=int, default=SAMPLES, metavar="N",
                        help="latencies that are measured (default "
                        f"{SAMPLES})")
    parser.add_argument("--build", metavar="DIR",
                        default=os.environ.get("FERRY_BUILD", ROOT / "build"),
                        help="where meson built (default: build)")
    return parser.parse_args(arguments)


def bounds(sizes):
    """What must hold. The numbers of virt-controller v1.1 on such a machine
    are 17 pods/s and 0.018 CPU s each at 100 machines, 9 and 0.10 at 500,
    and 177 MB."""
    small, large = sizes[0], sizes[-1]
    rows = [
        Bound(f"target pods per second, {large} machines", "/s", True, 200,
              at(large, "pods_per_s")),
        Bound("writes of the controller per migration, Events not counted",
              "", False, 8, at(large, "writes")),
        Bound(f"memory with {large} machines", "MiB", False, 95.4,
              at(large, "memory_mib")),
        Bound("latency of an active migration among those that wait, p99",
              "ms", False, 50, at(large, "latency_p99_ms")),
    ]
    if small != large:
        rows.append(Bound(
            f"CPU per migration: {large} machines to {small}", "x", False,
            1.5, ratio("cpu_ms", large, small)))
    return rows


ROWS = (
    ("ready after s", "ready_s", "{:.2f}"),
    ("memory MiB, ready / most", ("memory_mib", "memory_most_mib"),
     "{:.0f}"),
    ("migrations at once", "storm", "{:.0f}"),
    ("all target pods after s", "pods_s", "{:.2f}"),
    ("  pods/s", "pods_per_s", "{:.0f}"),
    ("  CPU share of controller", "share_controller", "{:.2f}"),
    ("  CPU share of cluster", "share_cluster", "{:.2f}"),
    ("all done after s", "done_s", "{:.2f}"),
    ("CPU ms per migration", "cpu_ms", "{:.2f}"),
    ("writes per migration", "writes", "{:.2f}"),
    ("  of the migration's own", "writes_of_migrations", "{:.2f}"),
    ("Events per migration", "events", "{:.2f}"),
    ("reads per migration", "reads", "{:.2f}"),
    ("CPU s of the player", "player_s", "{:.2f}"),
    ("latency ms, p50 / p99", ("latency_p50_ms", "latency_p99_ms"),
     "{:.1f}"),
)


class Shown:
    """Prints rows of the table as soon as there is something in them."""

    def __init__(self, size):
        self.size = size
        self.known = {}

    def __call__(self, values):
        for label, names, form in ROWS:
            names = (names,) if isinstance(names, str) else names
            count = sum(len(values.get(name, ())) for name in names)
            if count == self.known.get(label, 0):
                continue
            self.known[label] = count
            print(f"  {label:<28}" + cell({self.size: values}, self.size,
                                          names, form), flush=True)


def main(arguments):
    plan = parse_arguments(arguments)
    # So that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    build = pathlib.Path(plan.build).resolve()
    os.environ["FERRY_BUILD"] = str(build)
    # What follows finds its programs by FERRY_BUILD as it is read.
    sys.path[:0] = [str(ROOT / "tests" / part)
                    for part in ("system", "conformance")]
    measure = importlib.import_module("storm").measure
    sizes = sorted(int(size) for size in plan.sizes.split(","))
    results = {}
    for size in sizes:
        print(f"{size} machines, as it goes:", flush=True)
        results[size] = measure(build, size, plan, size == sizes[-1],
                                Shown(size))
    verdicts = [judge(bound, results) for bound in bounds(sizes)]
    print(f"{os.cpu_count()} cores, Linux {platform.release()}; machines on "
          "played nodes; server, controller and player share the cores\n")
    print("\n".join(table("machines", ROWS, results, sizes)))
    print("\nbounds:")
    print("\n".join(map(verdict_line, verdicts)))
    if plan.json:
        pathlib.Path(plan.json).write_text(json.dumps(
            {"results": results, "bounds": verdicts}, indent=1),
            encoding="utf-8")
    return 0 if all(v["holds"] is not False for v in verdicts) else 1
