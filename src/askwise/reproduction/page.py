"""Builds the page: figures, tables and text in one file that needs no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from askwise._support.pages import page, safe
from askwise.reproduction import figures
from askwise.reproduction.drawing import VARIABLES, inline, looks, style
from askwise.reproduction.statistics import MeanOfRuns
from askwise.reproduction.summary import Summary, display
from askwise.reproduction.words import PERCENT, answer, counted, listed, measured, number, tiles


@dataclass(frozen=True)
class Panel:
    """One of several small figures side by side."""

    title: str
    svg: str
    note: str = ""
    slopes: Sequence[tuple[str, list[str]]] = ()
    """(learner, the slope of its curve in each decade)."""


@dataclass(frozen=True)
class Pair:
    """The learned policy at one price, beside the best one."""

    price: float
    seed: int
    learned: str
    best: str


def render_page(summary: Summary) -> str:
    """The page as HTML, which needs no other file."""
    filters = {"number": number, "counted": counted, "listed": listed, "display": display}
    return page("reproduction", filters=filters, **_context(summary))


def _context(summary: Summary) -> dict[str, Any]:
    with style():
        pictures = _pictures(summary)
    focus = summary.focus
    return pictures | {
        "info": summary.info,
        "answer": answer(summary),
        "tiles": tiles(summary),
        "learners": summary.learners,
        "focus": focus,
        "focus_colour": f"--{VARIABLES[looks(summary.learners)[focus].colour]}",
        "baseline": summary.baseline,
        "plan": summary.plan,
        "intervals": _intervals(summary),
        "late": _late(summary),
        "pairs": _pairs(summary),
        "unlimited": _unlimited(summary),
        "every_case": [name for name in summary.learners if not summary.plans_rarely(name)],
        "timings": _timings(summary),
    }


def _pictures(summary: Summary) -> dict[str, Any]:
    alt = f"Mean gain per case against the price of one observation. {answer(summary)}"
    focus = display(summary.focus)
    found: dict[str, Any] = {}
    for narrow in (False, True):
        name = "narrow" if narrow else "wide"
        figure = figures.gain_against_price(summary, narrow=narrow)
        found[name] = safe(inline(figure, name=name, alt=alt))
    found["bought"] = [
        Panel(
            title=observation,
            svg=safe(
                inline(
                    figures.share_bought(summary, observation),
                    name=f"bought{place}",
                    alt=f"Share of cases in which {focus} and its oracle buy {observation}",
                )
            ),
        )
        for place, observation in enumerate(summary.info.observations)
    ]
    found["regret"] = [_regret(summary, price, theorem=False) for price in summary.three]
    found["theorem_regret"] = [
        _regret(summary, price, theorem=True)
        for price in summary.three
        if summary.with_theorem(price)
    ]
    found["rounds"] = [
        Panel(
            title=f"Price {price:g}",
            svg=safe(
                inline(
                    figures.rounds_over_time(summary, price),
                    name=f"rounds{place}",
                    alt=f"Rounds against cases at a price of {price:g}",
                )
            ),
        )
        for place, price in enumerate(summary.three)
        if any(summary.plans_rarely(name) for name in summary.learners)
    ]
    return found


def _regret(summary: Summary, price: float, *, theorem: bool) -> Panel:
    radii = "the theorems’ radii" if theorem else "practical radii"
    names = summary.with_theorem(price) if theorem else summary.learners
    names = [name for name in names if price in summary.ran(name)]
    slopes = {name: summary.slopes(name, price, theorem=theorem) for name in names}
    return Panel(
        title=f"Price {price:g}, {radii}",
        svg=safe(
            inline(
                figures.regret_over_time(summary, price, theorem=theorem),
                name=f"{'theorem' if theorem else 'regret'}{summary.three.index(price)}",
                alt=f"Cumulative regret against cases at a price of {price:g}, with {radii}",
            )
        ),
        note="" if theorem else _below_zero(summary, price),
        slopes=[
            (display(name), [number(x, 2) if isfinite(x) else "–" for x in found])
            for name, found in slopes.items()
            if found
        ],
    )


def _below_zero(summary: Summary, price: float) -> str:
    """The learners whose regret cannot be drawn on a logarithmic scale."""
    gone = []
    for name in summary.learners:
        if price in summary.ran(name):
            values = summary.regret(name, price)[1]
            if values and values[-1].mean <= 0:
                gone.append(f"{display(name)} ends at {number(values[-1].mean, 0)}")
    return f"Not drawn, below zero: {listed(gone)}." if gone else ""


def _intervals(summary: Summary) -> str:
    """The widths of the intervals of Figure 1."""
    cells = [summary.gain(name, price) for name in summary.learners for price in summary.ran(name)]
    halves = [value.half for value in cells if value.known]
    if not halves:
        return ""
    return f"on average ±{sum(halves) / len(halves):.2g}, at most ±{max(halves):.2g}"


def _late(summary: Summary) -> list[dict[str, Any]]:
    """The table of late gains: one row a price, one cell a learner."""
    rows = []
    for price in summary.prices:
        cells: list[tuple[str, str] | None] = []
        for name in summary.learners:
            if price not in summary.ran(name):
                cells.append(None)
                continue
            share = summary.late_share(name, price)
            percent = _percent(share)
            cells.append((percent, measured(summary.late_gain(name, price))))
        rows.append({"price": price, "cells": cells, "oracle": summary.oracle(price)})
    return rows


def _percent(share: MeanOfRuns | None) -> str:
    return "–" if share is None else number(share.mean) + PERCENT


def _pairs(summary: Summary) -> list[Pair]:
    plan = summary.plan(summary.focus)
    found = []
    for price in summary.turning:
        if price not in summary.ran(summary.focus):
            continue
        cell = min(summary.at(summary.focus, price), key=lambda cell: cell.seed)
        oracle = summary.oracle(price)
        best = oracle.tree_sequential if plan == "sequential" else oracle.tree_simultaneous
        found.append(Pair(price=price, seed=cell.seed, learned=cell.tree, best=best))
    return found


def _unlimited(summary: Summary) -> bool:
    """Whether the baseline bought more observations than the oracles may."""
    return summary.baseline is not None and (
        summary.info.max_observations < len(summary.info.observations)
    )


def _timings(summary: Summary) -> list[tuple[str, int, float, float]]:
    """(learner, runs, seconds a run, microseconds a case)."""
    found = []
    for name in summary.learners:
        cells = [cell for cell in summary.cells if cell.learner == name]
        seconds = sum(cell.seconds for cell in cells)
        steps = max(1, sum(cell.steps for cell in cells))
        found.append((name, len(cells), seconds / len(cells), 1e6 * seconds / steps))
    return found
