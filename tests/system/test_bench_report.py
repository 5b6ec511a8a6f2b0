# SPDX-License-Identifier: Apache-2.0
"""The statistics and verdicts of ./run bench, on numbers made for the case."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "bench"))

import peers  # noqa: E402
import report  # noqa: E402


def record(number, peer, **figures):
    return {"round": number, "peer": peer, "figures": figures}


def rounds(peer, figure, values):
    return [record(number, peer, **{figure: value})
            for number, value in enumerate(values) if value is not None]


def bound(figure, **changes):
    values = {"text": "what is bounded", "subject": "ferry tls",
              "figure": figure, "is_floor": True, "limit": 1.5}
    return report.Bound(**{**values, **changes})


def test_the_median_ignores_one_bad_round():
    records = rounds("a", "gibs_1", [1.0, 1.1, 0.2, 1.2, 9.0])
    assert report.median(records, "a", "gibs_1") == 1.1


def test_what_was_not_measured_has_no_median():
    assert report.median([], "a", "gibs_1") is None
    assert report.median(rounds("a", "cpu_1", [1.0]), "a", "gibs_1") is None


def test_ratios_are_taken_within_rounds_that_have_both():
    ours = {0: 2.0, 1: 4.0, 2: 9.0}
    theirs = {1: 2.0, 0: 2.0, 3: 1.0}
    assert report.paired_ratios(ours, theirs) == [1.0, 2.0]


def test_paired_ratios_are_not_moved_by_drift_that_hits_both():
    # The machine becomes five times slower; the ratio of medians of separate
    # runs would say anything, the paired one says 2.
    records = (rounds("ferry tls", "gibs_1", [2.0, 1.0, 0.4])
               + rounds("haproxy tls", "gibs_1", [1.0, 0.5, 0.2]))
    verdict = report.judge(bound("gibs_1", against_kind="tls"),
                           peers.PEERS, records)
    assert verdict["value"] == pytest.approx(2.0)
    assert verdict["holds"] is True
    assert verdict["rounds"] == 3


@pytest.mark.parametrize("is_higher_better,name", [(True, "b"), (False, "a")])
def test_the_best_peer_depends_on_the_direction(is_higher_better, name):
    records = rounds("a", "x", [1, 1, 9]) + rounds("b", "x", [2, 2, 0])
    assert report.best_peer(records, ["a", "b", "c"], "x",
                            is_higher_better) == name


def test_ferry_is_not_its_own_best_peer():
    names = report.compared_names(peers.PEERS, "tls")
    assert "haproxy tls" in names
    assert not [name for name in names if name.startswith("ferry")]


def test_a_floor_fails_below_and_holds_at_its_limit():
    peer = rounds("nginx tls", "gibs_1", [1.0])
    for ours, holds in ((1.5, True), (1.49, False)):
        records = rounds("ferry tls", "gibs_1", [ours]) + peer
        verdict = report.judge(bound("gibs_1", against_kind="tls"),
                               peers.PEERS, records)
        assert verdict["holds"] is holds
        assert verdict["against"] == "nginx tls"


def test_a_ceiling_is_judged_against_the_lowest_peer():
    records = (rounds("ferry tls", "cpu_1", [1.4])
               + rounds("nginx tls", "cpu_1", [3.0])
               + rounds("stunnel tls", "cpu_1", [2.0]))
    verdict = report.judge(
        bound("cpu_1", is_floor=False, limit=0.65, against_kind="tls"),
        peers.PEERS, records)
    assert verdict["against"] == "stunnel tls"
    assert verdict["value"] == pytest.approx(0.7)
    assert verdict["holds"] is False


def test_a_bound_on_ones_own_figure_is_paired_too():
    records = (rounds("ferry tls", "gibs_64", [0.8, 1.8, 2.7])
               + rounds("ferry tls", "gibs_4", [1.0, 2.0, 3.0]))
    verdict = report.judge(
        bound("gibs_64", limit=0.9, against_figure="gibs_4"),
        peers.PEERS, records)
    assert verdict["value"] == pytest.approx(0.9)
    assert verdict["spread"] == pytest.approx([0.8, 0.9])


def test_an_absolute_bound_takes_the_median_as_it_is():
    records = rounds("ferry tls", "idle_kib", [17.0, 50.0, 18.0])
    verdict = report.judge(bound("idle_kib", is_floor=False, limit=40),
                           peers.PEERS, records)
    assert (verdict["value"], verdict["holds"]) == (18.0, True)


@pytest.mark.parametrize("records", [
    [], rounds("ferry tls", "gibs_1", [1.0]),
    rounds("nginx tls", "gibs_1", [1.0]),
    rounds("ferry tls", "gibs_1", [1.0, None])
    + rounds("nginx tls", "gibs_1", [None, 1.0])])
def test_a_bound_without_both_sides_is_neither_held_nor_broken(records):
    verdict = report.judge(bound("gibs_1", against_kind="tls"),
                           peers.PEERS, records)
    assert verdict["holds"] is None
    assert "not measured" in report.verdict_line(verdict)


def test_every_bound_names_a_row_and_peers_that_exist():
    names = {peer.name for peer in peers.PEERS}
    figures = {figure for figure, _, _, _ in report.COLUMNS}
    for each in report.BOUNDS:
        assert each.subject in names
        assert each.figure in figures
        assert each.against_figure is None or each.against_figure in figures
        assert (each.against_kind is None
                or report.compared_names(peers.PEERS, each.against_kind))


def test_a_verdict_shows_value_limit_and_opponent():
    records = (rounds("ferry tls", "gibs_1", [1.2, 1.4])
               + rounds("nginx tls", "gibs_1", [1.0, 1.0]))
    line = report.verdict_line(report.judge(
        bound("gibs_1", against_kind="tls"), peers.PEERS, records))
    assert line.split()[0] == "FAIL"
    for part in ("1.30", ">= 1.5", "2 rounds", "1.20 to 1.40", "nginx tls"):
        assert part in line


def test_the_table_has_a_line_per_peer_and_dashes_for_gaps():
    selected = [peer for peer in peers.PEERS
                if peer.name in ("ferry tls", "ferry plain", "raw unix")]
    records = [record(0, "ferry tls", gibs_1=1.234, idle_kib=17.04),
               record(0, "raw unix", gibs_1=4.5, cpu_1=0.0)]
    lines = report.table(selected, records)
    rows = {line[:11].strip(): line[11:].split() for line in lines[2:] if line}
    assert rows["ferry tls"] == ["1.23"] + ["-"] * 9 + ["17.0"]
    assert rows["ferry plain"] == ["-"] * 11
    # Without a relay there is no relay's CPU time, not even none.
    assert rows["raw unix"][3] == "-"
