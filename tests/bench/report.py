# SPDX-License-Identifier: Apache-2.0
"""Turns measurements into medians, paired ratios, a table and verdicts.

Everything here is a pure function of the records (see measure.Session); the
unit tests are in tests/system/test_bench_report.py.
"""
import dataclasses
import statistics

# "At least as good" allows for this much noise.
MARGIN = 0.05
# Fewer paired rounds than this give an indication, no verdict to rely on.
PAIRED_ROUNDS = 5

COLUMNS = (
    # figure, heading above, heading, format
    ("gibs_1", "GiB/s", "1", "{:.2f}"),
    ("gibs_4", "", "4", "{:.2f}"),
    ("gibs_64", "", "64", "{:.2f}"),
    ("cpu_1", "CPU s/GiB", "1", "{:.2f}"),
    ("cpu_4", "", "4", "{:.2f}"),
    ("cpu_64", "", "64", "{:.2f}"),
    ("rtt_p50", "RTT us", "p50", "{:.0f}"),
    ("rtt_p99", "", "p99", "{:.0f}"),
    ("connections", "conn/s", "16", "{:.0f}"),
    ("cpu_connection", "", "CPU ms", "{:.2f}"),
    ("idle_kib", "idle KiB", "each", "{:.1f}"),
)


def by_round(records, peer, figure):
    """{round: value} of one figure of one peer."""
    return {record["round"]: record["figures"][figure] for record in records
            if record["peer"] == peer and figure in record["figures"]}


def median(records, peer, figure):
    """The median over the rounds; None if it was not measured."""
    values = by_round(records, peer, figure)
    return statistics.median(values.values()) if values else None


def paired_ratios(numerator, denominator):
    """The ratios of the rounds that have both values, in order of rounds."""
    return [numerator[number] / denominator[number]
            for number in sorted(numerator.keys() & denominator.keys())]


def best_peer(records, names, figure, is_higher_better):
    """The name with the best median of a figure; None if there is none."""
    medians = {name: median(records, name, figure) for name in names}
    measured = {name: value for name, value in medians.items()
                if value is not None}
    if not measured:
        return None
    choose = max if is_higher_better else min
    return choose(measured, key=measured.get)


@dataclasses.dataclass(frozen=True)
class Bound:
    """What must hold for `figure` of peer `subject`.

    The value is the ratio to the best of the peers compared as against_kind,
    or to another figure of the subject, or, without either, the plain median.
    """
    text: str
    subject: str
    figure: str
    is_floor: bool
    limit: float
    against_kind: str = None
    against_figure: str = None


BOUNDS = (
    Bound("TLS, 1 stream: throughput, to the best TLS peer's",
          "ferry tls", "gibs_1", True, 1.5, "tls"),
    Bound("TLS, 1 stream: CPU per GiB, to the best TLS peer's",
          "ferry tls", "cpu_1", False, 0.65, "tls"),
    Bound("plain, 1 stream: throughput, to the best plain peer's",
          "ferry plain", "gibs_1", True, 1.6, "plain"),
    Bound("plain, 1 stream: CPU per GiB, to the best plain peer's",
          "ferry plain", "cpu_1", False, 0.55, "plain"),
    Bound("plain, 1 stream: throughput, to haproxy's with splice",
          "ferry plain", "gibs_1", True, 1 - MARGIN, "splice"),
    Bound("plain, 1 stream: CPU per GiB, to haproxy's with splice",
          "ferry plain", "cpu_1", False, 1 + MARGIN, "splice"),
    Bound("TLS, 64 streams: throughput, to its own with 4",
          "ferry tls", "gibs_64", True, 0.9, against_figure="gibs_4"),
    Bound("plain, 64 streams: throughput, to its own with 4",
          "ferry plain", "gibs_64", True, 0.9, against_figure="gibs_4"),
    Bound("TLS: KiB per idle connection, both sides",
          "ferry tls", "idle_kib", False, 40),
    Bound("TLS: round trip p50, to the best TLS peer's",
          "ferry tls", "rtt_p50", False, 1 + MARGIN, "tls"),
    Bound("TLS: connections per second, to the best TLS peer's",
          "ferry tls", "connections", True, 1 - MARGIN, "tls"),
    Bound("plain: round trip p50, to the best plain peer's",
          "ferry plain", "rtt_p50", False, 1 + MARGIN, "plain"),
)


def compared_names(peers, kind):
    """The peers that Ferry is compared with under this name."""
    return [peer.name for peer in peers if peer.compared_as == kind]


def judge(bound, peers, records):
    """A verdict: the measured value, and whether the bound holds.

    `holds` is None when what the bound needs was not measured.
    """
    verdict = {"bound": bound.text, "limit": bound.limit,
               "is_floor": bound.is_floor, "value": None, "holds": None,
               "against": None, "rounds": 0, "spread": None}
    subject = by_round(records, bound.subject, bound.figure)
    values = list(subject.values())
    if bound.against_kind:
        name = best_peer(records, compared_names(peers, bound.against_kind),
                         bound.figure, bound.is_floor)
        verdict["against"] = name
        values = paired_ratios(subject, by_round(records, name, bound.figure)
                               if name else {})
    elif bound.against_figure:
        values = paired_ratios(
            subject, by_round(records, bound.subject, bound.against_figure))
    if not values:
        return verdict
    value = statistics.median(values)
    verdict.update(
        value=value, rounds=len(values), spread=[min(values), max(values)],
        holds=value >= bound.limit if bound.is_floor else value <= bound.limit)
    return verdict


def judge_all(peers, records):
    return [judge(bound, peers, records) for bound in BOUNDS]


def verdict_line(verdict):
    sign = ">=" if verdict["is_floor"] else "<="
    if verdict["value"] is None:
        return f"  -     {verdict['bound']}: not measured"
    mark = "ok  " if verdict["holds"] else "FAIL"
    low, high = verdict["spread"]
    against = f", {verdict['against']}" if verdict["against"] else ""
    return (f"  {mark}  {verdict['bound']}: {verdict['value']:.2f}, "
            f"must be {sign} {verdict['limit']:g} "
            f"({verdict['rounds']} rounds, {low:.2f} to {high:.2f}{against})")


def cell(records, peer, figure, form):
    value = median(records, peer.name, figure)
    if value is None or (peer.kind == "limit" and figure.startswith("cpu")):
        return "-"
    return form.format(value)


def table_line(label, width, cells):
    """Cells are right-aligned; a new group of columns stands off a little."""
    text = f"{label:<{width}}"
    for (_, above, _, _), content in zip(COLUMNS, cells):
        text += f"{content:>{10 if above else 8}}"
    return text.rstrip()


def table(peers, records):
    """The table as lines of text, a blank line between kinds of peers."""
    width = max(len(peer.name) for peer in peers)
    lines = [table_line("", width, [above for _, above, _, _ in COLUMNS]),
             table_line("", width, [below for _, _, below, _ in COLUMNS])]
    kind = peers[0].kind
    for peer in peers:
        if peer.kind != kind:
            lines.append("")
        kind = peer.kind
        lines.append(table_line(peer.name, width, [
            cell(records, peer, figure, form)
            for figure, _, _, form in COLUMNS]))
    return lines
