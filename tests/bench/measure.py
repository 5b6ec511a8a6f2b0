# SPDX-License-Identifier: Apache-2.0
"""Takes the measurements: rounds, order, one loadgen run per cell.

The speed of a shared machine drifts by tens of percent within minutes. So in
each round every peer is measured once per measure, one right after the other,
and the order is rotated from round to round: figures of one round may be
compared with each other, figures of different runs may not.

What other programs use meanwhile is known (all CPU time less our own). A run
that they disturbed is repeated, as long as the plan's patience lasts; the least
disturbed one counts, whatever its result.
"""
import dataclasses
import json
import os
import pathlib
import resource
import select
import socket
import statistics
import subprocess
import sys
import time

import peers as peer_table
from backed import back_free_memory

GIB = 2 ** 30
IDLE_CONNECTIONS = 1000
IDLE_SETTLE_SECONDS = 0.3
ROUNDTRIP_BYTES = 64
# On which cores the programs of one connection end up is luck, and it matters.
ROUNDTRIP_REPEAT = 5
CLIENTS = 16
# From which share of the machine on other programs disturb a measurement.
DISTURBED = 0.05
ATTEMPTS = 4
PAUSE_SECONDS = 0.5
BACKED_MIB = 256  # what 64 streams have on the way, and more


class MeasureError(Exception):
    """A peer or the load generator did not do its work."""


@dataclasses.dataclass(frozen=True)
class Tools:
    loadgen: pathlib.Path
    ferry_proxy: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Plan:
    rounds: int
    idle_rounds: int
    patience: float  # seconds to spend on repeating disturbed runs
    seconds: dict    # by measure name
    measures: tuple  # names of those to take
    reads: bool = False  # bulk data is copied at the far end


@dataclasses.dataclass(frozen=True)
class Measure:
    """One loadgen run. figures() turns its output into named values.

    With repeat it is run so often and the median of each figure counts.
    """
    name: str
    arguments: tuple
    figures: object
    repeat: int = 1


def streams(count):
    def figures(raw):
        gib = raw["bytes"] / GIB
        return {f"gibs_{count}": gib / raw["seconds"],
                f"cpu_{count}": raw["cpu_seconds"] / gib}
    return Measure(f"streams_{count}",
                   ("throughput", "--streams", str(count)), figures)


def roundtrip_figures(raw):
    return {"rtt_p50": raw["p50_us"], "rtt_p99": raw["p99_us"]}


def connection_figures(raw):
    if raw["failed"] > 0:
        raise MeasureError(f"{raw['failed']} connections failed")
    count = max(raw["connections"], 1)
    return {"connections": count / raw["seconds"],
            "cpu_connection": raw["cpu_seconds"] * 1000 / count}


MEASURES = (
    streams(1),
    streams(4),
    streams(64),
    Measure("roundtrip", ("roundtrip", "--size", str(ROUNDTRIP_BYTES)),
            roundtrip_figures, ROUNDTRIP_REPEAT),
    Measure("connections", ("connections", "--streams", str(CLIENTS)),
            connection_figures),
)
IDLE = "idle"
MEASURE_NAMES = (*(measure.name for measure in MEASURES), IDLE)

# Chosen so that a full run takes 6 to 9 minutes, a quick one about 1.5, on a
# machine with nothing else to do.
FULL = Plan(5, 3, 300, {
    "streams_1": 1.2, "streams_4": 1.0, "streams_64": 1.0,
    "roundtrip": 0.25, "connections": 0.8}, MEASURE_NAMES)
QUICK = Plan(2, 1, 15, {
    "streams_1": 0.35, "streams_4": 0.3, "streams_64": 0.3,
    "roundtrip": 0.1, "connections": 0.25}, MEASURE_NAMES)


class RawSite:
    """The limits: the same load without a relay in between."""

    def __init__(self, place, peer):
        self.peer = peer
        is_tcp = peer.name == peer_table.RAW_TCP
        self._listen = ("tcp:0" if is_tcp else
                        str(place.directory / "raw.sock"))
        self.group = None

    def addresses(self):
        return ["--listen", self._listen]

    def log(self):
        return ""

    def close(self):
        pass


class RelaySite:
    """A running relay pair, ready to be measured."""

    def __init__(self, place, peer, credentials, tools):
        self.peer = peer
        self._site = peer_table.Site(place, peer, credentials, tools)
        self.group = self._site.group
        try:
            peer.start(self._site)
        except (OSError, RuntimeError) as error:
            raise MeasureError(f"{peer.name}: {error}\n{self.log()}") \
                from error
        self.port = self._site.port
        self.exit = self._site.exit

    def addresses(self):
        return ["--listen", str(self._site.exit),
                "--connect", str(self._site.entry),
                "--cpu", str(self.group.cpu_stat)]

    def log(self):
        return self._site.log()

    def close(self):
        self._site.close()


def open_site(place, peer, credentials, tools):
    if peer.start is None:
        return RawSite(place, peer)
    return RelaySite(place, peer, credentials, tools)


def machine_busy_seconds():
    """CPU seconds that all programs together have used on this machine."""
    with open("/proc/stat", encoding="ascii") as file:
        field = [int(value) for value in file.readline().split()[1:]]
    user, nice, system, _idle, _wait, irq, softirq = field[:7]
    busy = user + nice + system + irq + softirq
    return busy / os.sysconf("SC_CLK_TCK")


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_loadgen(tools, site, arguments):
    """Runs the load generator; returns its JSON and the others' CPU share."""
    def own_seconds():
        relay = site.group.cpu_seconds() if site.group else 0
        return relay + children_seconds()

    back_free_memory(BACKED_MIB)
    start, busy, own = time.monotonic(), machine_busy_seconds(), own_seconds()
    done = subprocess.run([tools.loadgen, *arguments, *site.addresses()],
                          capture_output=True, text=True, check=False)
    elapsed = time.monotonic() - start
    foreign = (machine_busy_seconds() - busy) - (own_seconds() - own)
    if done.returncode != 0:
        raise MeasureError(f"{site.peer.name}: {arguments[0]}: "
                           f"{done.stderr.strip()}\n{site.log()}")
    share = max(0.0, foreign / (elapsed * os.cpu_count()))
    return json.loads(done.stdout), round(share, 3)


def measure_idle(tools, site):
    """KiB per idle connection of both relays together, their PSS counted."""
    run_loadgen(tools, site, ["roundtrip", "--seconds", "0.02"])
    before = site.group.memory_kib()
    command = [tools.loadgen, "idle", "--count", str(IDLE_CONNECTIONS),
               *site.addresses()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE) as process:
        if not process.stdout.readline():
            raise MeasureError(f"{site.peer.name}: idle connections do not "
                               f"open\n{site.log()}")
        time.sleep(IDLE_SETTLE_SECONDS)
        after = site.group.memory_kib()
        output, _ = process.communicate()
    alive = json.loads(output)["alive"] if output else 0
    if alive != IDLE_CONNECTIONS:
        raise MeasureError(f"{site.peer.name}: of {IDLE_CONNECTIONS} idle "
                           f"connections {alive} are left\n{site.log()}")
    return {"before_kib": before, "after_kib": after,
            "idle_kib": (after - before) / IDLE_CONNECTIONS}


def prove_tls(site, credentials):
    """What relay 2 negotiates; fails if it serves a nameless client."""
    def connect(*arguments):
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{site.port}",
             "-CAfile", credentials.ca, "-alpn", "ferry/1", *arguments],
            input="", capture_output=True, text=True, check=False, timeout=20)
        return done.stdout + done.stderr

    name = site.peer.name
    with socket.socket(socket.AF_UNIX) as sink:
        site.exit.unlink(missing_ok=True)
        sink.bind(str(site.exit))
        site.exit.chmod(0o666)
        sink.listen()
        connect("-ign_eof")
        if select.select([sink], [], [], 0.05)[0]:
            raise MeasureError(f"{name}: serves clients without certificate")
    text = connect("-cert", credentials.cert("source"),
                   "-key", credentials.key("source"))
    curve = site.peer.curve
    for expected in ("New, TLSv1.3", peer_table.SUITE, curve,
                     "Peer signature type: ECDSA"):
        if expected not in text:
            raise MeasureError(f"{name}: no '{expected}' in\n{text}")
    return f"TLSv1.3 {peer_table.SUITE} {curve} ECDSA"


def measure_aes(seconds):
    """GiB/s of `openssl speed` for AES-128-GCM on records of 16 KiB."""
    done = subprocess.run(
        ["openssl", "speed", "-mr", "-evp", "aes-128-gcm", "-bytes", "16384",
         "-seconds", str(seconds)],
        capture_output=True, text=True, check=True)
    line = [line for line in done.stdout.splitlines()
            if line.startswith("+F:")][-1]
    return float(line.split(":")[-1]) / GIB


class Session:
    """All measurements of a run, kept as they were taken."""

    def __init__(self, place, selected, plan, tools, say):
        self.peers = selected
        self.plan = plan
        self.records = []
        self.aes = []
        self.proofs = {}
        self._place = place
        self._tools = tools
        self._say = say
        self._credentials = peer_table.Credentials(place.directory / "pki")
        self._patience = plan.patience

    def run(self):
        self._check_peers()
        for number in range(self.plan.rounds):
            self._run_round(number)

    def _open(self, peer):
        return open_site(self._place, peer, self._credentials, self._tools)

    def _keep(self, number, peer, measure, raw, figures, foreign=0.0):
        self.records.append({
            "round": number, "peer": peer.name, "measure": measure,
            "figures": figures, "raw": raw, "foreign_cpu": foreign})

    def _check_peers(self):
        """Before anything is measured: does every peer do what it should?"""
        self._say("checking every peer: content, certificates, ciphers")
        for peer in self.peers:
            site = self._open(peer)
            # Many at once: what streams share is what gets mixed up.
            for count, seconds in (("1", "0.1"), ("64", "0.4")):
                run_loadgen(self._tools, site, [
                    "verify", "--streams", count, "--seconds", seconds])
            if peer.kind == "tls":
                self.proofs[peer.name] = prove_tls(site, self._credentials)
            site.close()

    def _take(self, site, arguments):
        """The least disturbed of a few attempts, and by how much it was."""
        best = run_loadgen(self._tools, site, arguments)
        for _ in range(ATTEMPTS - 1):
            if best[1] <= DISTURBED or self._patience <= 0:
                break
            start = time.monotonic()
            time.sleep(PAUSE_SECONDS)
            best = min(best, run_loadgen(self._tools, site, arguments),
                       key=lambda taken: taken[1])
            self._patience -= time.monotonic() - start
        return best

    def _measure(self, number, measure, site):
        seconds = str(self.plan.seconds[measure.name])
        arguments = [*measure.arguments, "--seconds", seconds]
        if self.plan.reads and measure.name.startswith("streams"):
            arguments.append("--reads")
        taken = [self._take(site, arguments) for _ in range(measure.repeat)]
        each = [measure.figures(raw) for raw, _ in taken]
        figures = {name: statistics.median(some[name] for some in each)
                   for name in each[0]}
        self._keep(number, site.peer, measure.name,
                   [raw for raw, _ in taken], figures,
                   statistics.mean(foreign for _, foreign in taken))

    def _run_round(self, number):
        sites = [self._open(peer) for peer in self.peers]
        shift = number * 5 % len(sites)
        order = sites[shift:] + sites[:shift]
        for measure in MEASURES:
            if measure.name not in self.plan.measures:
                continue
            self._say(f"round {number + 1} of {self.plan.rounds}: "
                      f"{measure.name}")
            for site in order:
                self._measure(number, measure, site)
        for site in sites:
            site.close()
        self.aes.append(measure_aes(1))
        if number < self.plan.idle_rounds and IDLE in self.plan.measures:
            self._run_idle(number)

    def _run_idle(self, number):
        """With fresh processes: used ones have memory at hand that hides it."""
        self._say(f"round {number + 1} of {self.plan.rounds}: idle")
        for peer in self.peers:
            if peer.kind == "limit":
                continue
            site = self._open(peer)
            raw = measure_idle(self._tools, site)
            self._keep(number, peer, IDLE, raw,
                       {"idle_kib": raw["idle_kib"]})
            site.close()


def say_on_stderr(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
