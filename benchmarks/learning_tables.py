"""The tables of benchmarks/learning.py, from its rows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
"""Of Student's t, 97.5 % with 1, 2, … degrees of freedom; ten seeds and more have the last."""


class Row(NamedTuple):
    """One learner in one population with one seed."""

    suite: str
    place: str
    half: str
    contestant: str
    seed: int
    cases: int
    micros: float
    """Of computing a case, planning included."""
    result: float
    """The score; or the regret a case in per cent of β where information is worth nothing."""
    is_regret: bool
    gain: float
    """The mean gain of the cases so far."""


def mean_and_half_width(results: Iterable[float]) -> tuple[float, float]:
    """A mean, and half of its 95 % interval."""
    numbers = np.array(list(results))
    if len(numbers) < 2:
        return float(numbers.mean()), float("nan")
    student = STUDENT[min(len(numbers), len(STUDENT) + 1) - 2]
    return float(numbers.mean()), float(student * numbers.std(ddof=1) / np.sqrt(len(numbers)))


def by_place(rows: Iterable[Row]) -> dict[tuple[str, str, str, int], list[Row]]:
    """Rows by suite, place, contestant and moment."""
    grouped = defaultdict(list)
    for row in rows:
        grouped[row.suite, row.place, row.contestant, row.cases].append(row)
    return dict(grouped)


def summary(rows: list[Row], suite: str, half: str, moments: Sequence[int]) -> Iterator[list[str]]:
    """For each contestant the mean score over the places of a half, at each moment."""
    for contestant in dict.fromkeys(row.contestant for row in rows if row.suite == suite):
        own = [r for r in rows if (r.suite, r.half, r.contestant) == (suite, half, contestant)]
        cells = [contestant]
        for n in moments:
            seeds = defaultdict(list)
            for row in own:
                if row.cases == n and not row.is_regret:
                    seeds[row.seed].append(row.result)
            mean, width = mean_and_half_width(map(np.mean, seeds.values())) if seeds else (0, 0)
            cells.append(f"{mean:.3f} ±{width:.3f}" if seeds else "–")
        yield [*cells, f"{np.mean([row.micros for row in own]):.1f}"]


def details(
    rows: list[Row], suite: str, contestant: str, moments: Sequence[int]
) -> Iterator[list[str]]:
    """For each place what a contestant reached at each moment."""
    grouped = by_place(rows)
    for place, half in dict.fromkeys((r.place, r.half) for r in rows if r.suite == suite):
        cells = [place, half]
        for n in moments:
            at = grouped.get((suite, place, contestant, n))
            cells.append(
                "{:.2f} ±{:.2f}".format(*mean_and_half_width(r.result for r in at)) if at else "–"
            )
        yield cells


def beaten(
    rows: list[Row], own: str, bounds: dict[str, tuple[float, float]], at: int = 20_000
) -> Iterator[list[str]]:
    """Where another earned more than `own` after so many cases, beyond both intervals.

    `bounds` are (blind, sequential oracle) of each place: whatever a learner buys and in whatever
    way, its gain is shown on this one scale.
    """
    grouped = by_place(rows)
    for (suite, place, contestant, n), theirs in grouped.items():
        mine = grouped.get((suite, place, own, n), [])
        if n != at or contestant.startswith(own) or not mine:
            continue
        blind, oracle = bounds[place]
        of_mine, of_theirs = (mean_and_half_width(r.gain for r in each) for each in (mine, theirs))
        if of_theirs[0] - of_mine[0] > of_theirs[1] + of_mine[1]:
            scaled = [
                f"{(mean - blind) / (oracle - blind):.2f} ±{width / (oracle - blind):.2f}"
                if oracle > blind
                else f"{mean - blind:+.2f} ±{width:.2f}"
                for mean, width in (of_theirs, of_mine)
            ]
            yield [place, mine[0].half, contestant, *scaled, f"{of_theirs[0] - of_mine[0]:.2f}"]


def show(console: Console, title: str, header: list[str], lines: Iterable[list[str]]) -> None:
    """One table."""
    table = Table(title=title, title_justify="left", header_style="")
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place == 0 else "right")
    for line in lines:
        table.add_row(*line)
    console.print(table)
