# SPDX-License-Identifier: Apache-2.0
"""./run bench proxy: ferry-proxy beside other relays, under the same load."""
import argparse
import dataclasses
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

import measure
import peers as peer_table
import plot
import report
import world

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("openssl", "haproxy", "nginx", "stunnel4", "socat", "ip")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="./run bench proxy", description=__doc__)
    parser.add_argument("--json", metavar="FILE",
                        help="write all numbers, raw ones too")
    parser.add_argument("--plot", metavar="FILE.png",
                        help="draw throughput and CPU")
    parser.add_argument("--rounds", type=int, metavar="N",
                        help="rounds in which every peer is measured once")
    parser.add_argument("--quick", action="store_true",
                        help="about 1.5 minutes: an indication, no verdict")
    parser.add_argument("--reads", action="store_true",
                        help="let the far end copy what arrives, as QEMU does")
    parser.add_argument("--only", metavar="PEER,PEER",
                        help="only peers whose names start like this")
    parser.add_argument("--measure", metavar="NAME,NAME",
                        help="only these of "
                        + ", ".join(measure.MEASURE_NAMES))
    parser.add_argument("--build", metavar="DIR",
                        default=os.environ.get("FERRY_BUILD", ROOT / "build"),
                        help="where meson built (default: build)")
    return parser.parse_args(arguments)


def select_peers(only):
    if not only:
        return list(peer_table.PEERS)
    wanted = only.split(",")
    chosen = [peer for peer in peer_table.PEERS
              if any(peer.name.startswith(name) for name in wanted)]
    for name in wanted:
        if not any(peer.name.startswith(name) for peer in chosen):
            sys.exit(f"bench: no peer is called '{name}'; there are: "
                     + ", ".join(peer.name for peer in peer_table.PEERS))
    return chosen


def select_measures(names):
    if not names:
        return measure.MEASURE_NAMES
    wanted = tuple(names.split(","))
    for name in wanted:
        if name not in measure.MEASURE_NAMES:
            sys.exit(f"bench: no measure is called '{name}'; there are: "
                     + ", ".join(measure.MEASURE_NAMES))
    return wanted


def find_tools(build, selected):
    build = pathlib.Path(build).resolve()
    tools = measure.Tools(build / "tests/bench/loadgen",
                          build / "src/proxy/ferry-proxy")
    needed = [tools.loadgen]
    if any(peer.name.startswith("ferry") for peer in selected):
        needed.append(tools.ferry_proxy)
    for path in needed:
        if not path.exists():
            sys.exit(f"bench: {path} is missing; build it first")
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    for name in PROGRAMS:
        if shutil.which(name) is None:
            sys.exit(f"bench: '{name}' is not installed; the packages needed "
                     "are listed in tests/bench/packages.txt")
    return tools


def first_line(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else "unknown"


def describe_machine(tools):
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = [line.split(":")[1].strip() for line in info.splitlines()
             if line.startswith("model name")]
    versions = {
        "openssl": first_line("openssl", "version"),
        "haproxy": first_line("haproxy", "-v"),
        "nginx": first_line("nginx", "-v"),
        "stunnel": first_line("stunnel4", "-version"),
        "socat": next((line for line in subprocess.run(
            ["socat", "-V"], capture_output=True, text=True,
            check=False).stdout.splitlines() if "version" in line), "unknown"),
    }
    if tools.ferry_proxy.exists():
        versions["ferry-proxy"] = first_line(tools.ferry_proxy, "--version")
    return {"cpu": model[0] if model else platform.machine(),
            "cores": os.cpu_count(), "kernel": platform.release(),
            "memory_kib": int(pathlib.Path("/proc/meminfo").read_text()
                              .split()[1]),
            "versions": versions}


def describe_settings(selected, plan):
    sysctls = {}
    for name in world.SYSCTLS:
        path = pathlib.Path("/proc/sys", name.replace(".", "/"))
        if path.exists():
            sysctls[name] = " ".join(path.read_text().split())
    return {"sysctls": sysctls, "rounds": plan.rounds,
            "seconds": plan.seconds, "patience": plan.patience,
            "far_end": "reads" if plan.reads else "discards",
            "block_bytes": 262144,
            "roundtrip_bytes": measure.ROUNDTRIP_BYTES,
            "clients": measure.CLIENTS,
            "idle_connections": measure.IDLE_CONNECTIONS,
            "peers": {peer.name: peer.settings for peer in selected}}


def foreign_share(records):
    shares = [record["foreign_cpu"] for record in records
              if record["measure"] != measure.IDLE]
    return sum(shares) / len(shares) if shares else 0.0


def result_document(machine, settings, session, verdicts):
    figures = {}
    for peer in session.peers:
        figures[peer.name] = {
            figure: report.median(session.records, peer.name, figure)
            for figure, _, _, _ in report.COLUMNS}
    return {"machine": machine, "settings": settings, "tls": session.proofs,
            "medians": figures, "aes_128_gcm_gibs": session.aes,
            "bounds": verdicts, "foreign_cpu": foreign_share(session.records),
            "records": session.records}


def print_report(machine, settings, session, verdicts):
    records = session.records
    congestion = settings["sysctls"].get("net.ipv4.tcp_congestion_control")
    print(f"{machine['cpu']}, {machine['cores']} cores, "
          f"Linux {machine['kernel']}, {machine['versions']['openssl'][:14]}, "
          f"TCP {congestion}")
    print(f"medians of {session.plan.rounds} interleaved rounds; CPU and "
          "memory of both relays together; kernel memory not counted\n")
    print("\n".join(report.table(session.peers, records)))
    aes = statistics.median(session.aes)
    print(f"\nopenssl speed AES-128-GCM, 16 KiB: {aes:.2f} GiB/s, so "
          f"{2 / aes:.2f} CPU s/GiB to encrypt and decrypt")
    share = foreign_share(records)
    if share > 0.05:
        print(f"The machine was not idle: other programs used {share:.0%} "
              "of it.")
    print("\nbounds")
    print("\n".join(report.verdict_line(verdict) for verdict in verdicts))
    if session.plan.rounds < report.PAIRED_ROUNDS:
        print(f"{session.plan.rounds} rounds are an indication only; a "
              f"verdict needs {report.PAIRED_ROUNDS}.")


def run_session(selected, plan, tools):
    with world.World() as place:
        session = measure.Session(place, selected, plan, tools,
                                  measure.say_on_stderr)
        try:
            session.run()
        except measure.MeasureError as error:
            sys.exit(f"bench: {error}")
        return session


def main(arguments):
    options = parse_arguments(arguments)
    selected = select_peers(options.only)
    tools = find_tools(options.build, selected)
    plan = measure.QUICK if options.quick else measure.FULL
    plan = dataclasses.replace(plan, rounds=options.rounds or plan.rounds,
                               measures=select_measures(options.measure),
                               reads=options.reads)
    start = time.monotonic()
    world.enter()
    session = run_session(selected, plan, tools)
    machine = describe_machine(tools)
    settings = describe_settings(selected, plan)
    verdicts = report.judge_all(selected, session.records)
    print_report(machine, settings, session, verdicts)
    if options.json:
        document = result_document(machine, settings, session, verdicts)
        document["duration_seconds"] = round(time.monotonic() - start)
        pathlib.Path(options.json).write_text(
            json.dumps(document, indent=1) + "\n")
    if options.plot:
        plot.draw(selected, session.records, options.plot,
                  f"Relaying unix - TCP - unix, {machine['cpu']}, "
                  f"{machine['cores']} cores")
    return 1 if any(verdict["holds"] is False for verdict in verdicts) else 0
