# SPDX-License-Identifier: Apache-2.0
"""./run bench migration: live migration by Ferry beside virsh alone.

The same guest (512 MiB, 300 MiB of it in use, idle and then changing its
memory) is moved by `virsh migrate` straight over TCP, with one connection and
with several, through socat, and by Ferry from the VMIM on.
"""
import argparse
import importlib
import json
import os
import pathlib
import platform
import signal
import statistics
import sys
import time

from backed import back_free_memory
from report import PAIRED_ROUNDS

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEMORY_MIB = 512
BACKED_MIB = 2 * MEMORY_MIB  # the guest anew, and buffers on the way
# Memory in use and pages changed per second; little of it is read meanwhile,
# because reading is work for an emulated processor.
LOADS = {"idle": "300,0 gsweep=2", "dirtying": "300,1000 gsweep=2"}
PARALLEL_MAX = 8
CPUS_PER_CONNECTION = 2
FERRY = "ferry"
STRAIGHT = "tcp"
SOCAT = "socat"
START_LIMIT_MS = 3000
MEMORY_LIMIT_KB = 40000


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="./run bench migration",
        description=__doc__.splitlines()[0].split(": ", 1)[1])
    parser.add_argument("--json", metavar="FILE", help="write all numbers")
    parser.add_argument("--rounds", type=int, default=PAIRED_ROUNDS,
                        metavar="N", help="moves of each kind (default "
                        f"{PAIRED_ROUNDS})")
    parser.add_argument("--loads", default=",".join(LOADS), metavar="NAME,..",
                        help=f"what the guest does (default "
                        f"{','.join(LOADS)})")
    parser.add_argument("--build", metavar="DIR",
                        default=os.environ.get("FERRY_BUILD", ROOT / "build"),
                        help="where meson built (default: build)")
    return parser.parse_args(arguments)


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def own_connections():
    """How many Ferry uses here; see parallel() in src/handler/steps.c."""
    count = min(PARALLEL_MAX, os.cpu_count() // CPUS_PER_CONNECTION)
    return count if count > 1 else 0


def straight_name(connections):
    return f"{STRAIGHT}, {connections} connections" if connections \
        else STRAIGHT


# The straight way with the same flags as Ferry: what it is compared with.
EQUAL = straight_name(own_connections())
STRAIGHT_WAYS = {straight_name(count): count for count
                 in sorted({0, own_connections(), PARALLEL_MAX})}
WAYS = (*STRAIGHT_WAYS, SOCAT, FERRY)


def ways(lab, ferry):
    """{name: function that moves the guest once}."""
    def alone(other, move, **how):
        def measure():
            with other.resting():
                back_free_memory(BACKED_MIB)
                return move(**how)
        return measure

    table = {name: alone(ferry, lab.move, parallel=count)
             for name, count in STRAIGHT_WAYS.items()}
    table[SOCAT] = alone(ferry, lab.move, through_socat=True)
    table[FERRY] = alone(lab, ferry.move)
    return table


def measure_load(cluster, load, rounds):
    """Each way once per round, in turns; records, and memory."""
    straight = importlib.import_module("straight")
    ferried = importlib.import_module("ferried")
    records = []
    say(f"{load}: starting the guests")
    lab = straight.Site(MEMORY_MIB, LOADS[load])
    try:
        ferry = ferried.Site(cluster, MEMORY_MIB, LOADS[load])
        table = ways(lab, ferry)
        # Once each, so that nobody is the first to touch anything.
        table[STRAIGHT]()
        table[FERRY]()
        names = list(table)
        for number in range(rounds):
            shift = number % len(names)
            for name in names[shift:] + names[:shift]:
                figures = table[name]()
                say(f"{load}, round {number + 1} of {rounds}: {name}: "
                    f"{figures['copy_s']:.2f} s, "
                    f"{figures['clock_gap_ms']:.0f} ms")
                records.append({"load": load, "round": number, "way": name,
                                **figures})
        memory = ferry.memory()
        ferry.close()
    finally:
        lab.close()
    return records, memory


def of(records, load, way, figure):
    """{round: value}."""
    return {r["round"]: r[figure] for r in records
            if r["load"] == load and r["way"] == way and r.get(figure)}


def median(records, load, way, figure):
    values = of(records, load, way, figure).values()
    return statistics.median(values) if values else None


def ratio(records, load, figure, to):
    """Median of Ferry's to another's within each round; and all of them."""
    own, other = (of(records, load, way, figure) for way in (FERRY, to))
    values = [own[n] / other[n] for n in sorted(own.keys() & other.keys())]
    return (statistics.median(values) if values else None), values


RATIOS = (
    # figure, what it is, limit
    ("copy_s", "time of the copy", 1.15),
    ("clock_gap_ms", "downtime by the guest's clock", 1.2),
    ("ping_gap_ms", "downtime by pings", 1.2),
)


def judge(records, loads, memory):
    """Verdicts as report.verdict_line prints them."""
    verdicts = []

    def add(text, limit, value, values, against=None):
        verdicts.append({
            "bound": text, "limit": limit, "is_floor": False, "value": value,
            "holds": None if value is None else value <= limit,
            "against": against, "rounds": len(values),
            "spread": [min(values), max(values)] if values else None})

    for load in loads:
        for figure, text, limit in RATIOS:
            value, values = ratio(records, load, figure, EQUAL)
            add(f"{load}: {text}, to the straight one", limit, value, values,
                EQUAL)
    starts = [r["steps"]["first byte"] for r in records
              if "first byte" in r.get("steps", {})]
    add("VMIM created to copy started, ms", START_LIMIT_MS,
        statistics.median(starts) if starts else None, starts)
    total = sum(pss for pss, _ in memory.values()) * 1.024
    add("handler, proxy and launcher of a node, kB", MEMORY_LIMIT_KB, total,
        [total])
    return verdicts


def way_table(records, loads):
    lines = [f"{'':<22}{'copy s':>9}{'clock ms':>10}{'ping ms':>9}"
             f"{'all s':>8}   ratio of Ferry's to it: copy, clock, ping"]
    for load in loads:
        lines.append(load)
        for way in WAYS:
            copy, clock, ping, total = (
                median(records, load, way, figure) for figure in
                ("copy_s", "clock_gap_ms", "ping_gap_ms", "total_s"))
            text = (f"  {way:<20}{copy:>9.2f}{clock:>10.0f}{ping:>9.0f}"
                    f"{'' if total is None else f'{total:.2f}':>8}")
            if way != FERRY:
                text += "   " + ", ".join(
                    f"{ratio(records, load, figure, way)[0]:.2f}"
                    for figure, _, _ in RATIOS)
            lines.append(text)
    return lines


def step_table(records, steps):
    """Medians of when each step was made, and what it took."""
    lines = [f"{'ms since the VMIM was created':<32}{'at':>8}{'took':>8}"]
    before = 0.0
    for name, what in steps:
        values = [r["steps"][name] for r in records
                  if name in r.get("steps", {})]
        if not values:
            lines.append(f"  {name:<30}{'-':>8}")
            continue
        at = statistics.median(values)
        lines.append(f"  {name:<30}{at:>8.0f}{at - before:>8.0f}   {what}")
        before = at
    return lines


def memory_table(memory):
    lines = [f"{'KiB, one machine on the node':<32}{'PSS':>8}{'RSS':>8}"]
    lines += [f"  {name:<30}{pss:>8}{rss:>8}"
              for name, (pss, rss) in memory.items()]
    return lines


def main(arguments):
    plan = parse_arguments(arguments)
    # As an exception, so that everything is cleaned up.
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(143))
    os.environ["FERRY_BUILD"] = str(pathlib.Path(plan.build).resolve())
    # What follows finds its programs by FERRY_BUILD as it is read.
    sys.path.insert(0, str(ROOT / "tests" / "system"))
    report = importlib.import_module("report")
    loads = [load for load in LOADS if load in plan.loads.split(",")]
    records, memory = [], {}
    say("starting a cluster")
    with importlib.import_module("ferried").start_cluster() as cluster:
        for load in loads:
            some, memory = measure_load(cluster, load, plan.rounds)
            records += some
    verdicts = judge(records, loads, memory)
    print(f"{os.cpu_count()} cores, Linux {platform.release()}; {MEMORY_MIB} "
          f"MiB guest under emulation, {plan.rounds} rounds, medians\n")
    steps = importlib.import_module("timeline").STEPS
    for lines in (way_table(records, loads), step_table(records, steps),
                  memory_table(memory)):
        print("\n".join(lines) + "\n")
    print("bounds:")
    print("\n".join(map(report.verdict_line, verdicts)))
    if plan.json:
        pathlib.Path(plan.json).write_text(json.dumps(
            {"records": records, "memory": memory, "bounds": verdicts},
            indent=1), encoding="utf-8")
    return 0 if all(v["holds"] is not False for v in verdicts) else 1
