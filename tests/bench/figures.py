# SPDX-License-Identifier: Apache-2.0
"""Figures of several sizes, as a table, and the bounds they must keep.

Results are lists of values by size and name; a figure is their median.
"""
import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Bound:
    """What must hold; value is a function of the results."""
    text: str
    unit: str
    is_floor: bool
    limit: float
    value: object


def figure(results, size, name):
    values = results[size].get(name)
    return statistics.median(values) if values else None


def at(size, name):
    return lambda results: figure(results, size, name)


def ratio(name, of, to):
    """How the figure changes with the number of objects."""
    def value(results):
        above, below = figure(results, of, name), figure(results, to, name)
        return above / below if above and below else None
    return value


def cell(results, size, names, form):
    names = (names,) if isinstance(names, str) else names
    values = [figure(results, size, name) for name in names]
    return " / ".join("-" if value is None else form.format(value)
                      for value in values)


def table(head, rows, results, sizes):
    """Lines; a row is a label, the name of a figure or several, a format."""
    lines = [f"{head:<28}" + "".join(f"{size:>16}" for size in sizes)]
    for label, names, form in rows:
        lines.append(f"{label:<28}" + "".join(
            f"{cell(results, size, names, form):>16}" for size in sizes))
    return lines


def judge(bound, results):
    value = bound.value(results)
    holds = None if value is None else (
        value >= bound.limit if bound.is_floor else value <= bound.limit)
    return {"bound": bound.text, "limit": bound.limit, "value": value,
            "is_floor": bound.is_floor, "unit": bound.unit, "holds": holds}


def verdict_line(verdict):
    if verdict["value"] is None:
        return f"  -     {verdict['bound']}: not measured"
    mark = "ok  " if verdict["holds"] else "FAIL"
    sign = ">=" if verdict["is_floor"] else "<="
    return (f"  {mark}  {verdict['bound']}: {verdict['value']:.4g}"
            f"{verdict['unit']}, must be {sign} {verdict['limit']:.4g}")
