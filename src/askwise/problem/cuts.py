"""Finds where to cut a column of numbers or dates into bins.

The distinct values v₁ < … < v_d leave d − 1 places for a cut. A set of cuts costs Σ c(bin), where n
is the number of cells in a bin:

    quantiles      c = n²                            bins as equal in size as ties allow
    a label        c = − Σ_y n_y log(n_y / n)        the least entropy
    an outcome     c = Σ (y − ȳ)²                    the least variance within bins

Dynamic programming over the start of the last bin finds the cheapest k bins:

    cost_k(j) = min_{i < j} cost_{k−1}(i) + c(i, j)

Supervised cuts must pay. One more bin has more parameters, and each costs ½ log N (BIC). They are
the place of the cut, and a mean or a share for each label but one. The chosen number of bins
minimises −log likelihood plus this cost.

With more than 300 places, only those at evenly spaced quantiles of the cells and of the distinct
values are considered.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from askwise._support.frames import cells_of, columns_of
from askwise._support.typing import Floats, Integers
from askwise.errors import OptionError, TableError
from askwise.problem.bins import Edge, as_date, as_number, edge_type, is_missing, is_number
from askwise.problem.observation import Fails, Observation
from askwise.problem.scales import Points, Scale, scale_of

MOST_PLACES = 300
"""The most places for a cut that are considered."""
MOST_BINS = 100


def quantiles(column: Any, bins: int = 4) -> list[Edge]:
    """Returns edges between bins of nearly equal size, fewer if there are too few distinct values.

    The column is a list, an array or a series of numbers or dates. Missing and infinite cells are
    ignored.

    >>> quantiles([31, 35, 42, 47, 51, 58, 64, 71])
    [40, 50, 60]
    """
    _check_bins(bins)
    points = _read(cells_of(column))
    groups = _group(points.values, bins)
    ends: Integers = np.concatenate([[0], groups.ends])
    plans = _plans(lambda i, j: (ends[j] - ends[i]).astype(np.float64) ** 2, groups, bins)
    return _edges(points.scale, groups, plans[-1].cuts)


def supervised(column: Any, label: Any, bins: int = 4) -> list[Edge]:
    """Returns the edges, at most bins − 1, that separate a label best; none if no cut pays.

    Texts and booleans are labels, and numbers are an outcome such as a reward. Rows in which either
    cell is missing are ignored.

    >>> supervised([31, 35, 42, 47, 51, 58, 64, 71], ["ill"] * 3 + ["well"] * 5)
    [45]
    """
    _check_bins(bins)
    cells, labels = cells_of(column), cells_of(label)
    if len(cells) != len(labels):
        raise TableError(f"{len(cells)} cells in the column, but {len(labels)} in the label")
    kept = [None if is_missing(y) else x for x, y in zip(cells, labels, strict=True)]
    points = _read(kept)
    groups, n = _group(points.values, bins), len(points.values)
    seen = [labels[row] for row in points.rows]
    is_label = all(isinstance(y, str | bool | np.bool_) for y in seen)
    sums = (_counts if is_label else _moments)(seen, np.searchsorted(groups.tops, points.values))
    sums = np.concatenate([np.zeros((1, sums.shape[1])), np.cumsum(sums, axis=0)])
    ends = np.concatenate([[0], groups.ends])

    def entropy(first: Integers, end: int) -> Floats:
        within, size = sums[end] - sums[first], (ends[end] - ends[first])[:, None]
        cost: Floats = -(within * np.log(np.maximum(within, 1) / size)).sum(axis=1)
        return cost

    def variance(first: Integers, end: int) -> Floats:
        total, squares = (sums[end] - sums[first]).T
        cost: Floats = np.maximum(0.0, squares - total**2 / (ends[end] - ends[first]))
        return cost

    plans = _plans(entropy if is_label else variance, groups, bins)
    fit = np.array([plan.cost for plan in plans])
    if not is_label:  # of a normal error; below a billionth, what is left is rounding
        fit = n / 2 * np.log(np.maximum(fit, 1e-9 * fit[0] + 1e-300))
    numbers = sums.shape[1]  # a cut and shares, or a cut and a mean
    charge = numbers / 2 * math.log(max(n, 1)) * np.arange(len(plans))
    return _edges(points.scale, groups, plans[int(np.argmin(fit + charge))].cuts)


def observations(
    frame: Any,
    costs: Mapping[str, float],
    *,
    label: str | None = None,
    bins: int = 4,
    rare: float = 0.01,
    fails: Fails = "charged",
) -> list[Observation]:
    """Drafts observations from the columns that have a price. Check the draft and change what does
    not fit.

    Numbers and dates are cut where they separate the column `label` best, or at quantiles without
    one. Texts are categories; those with a share below `rare` become "other". A column with missing
    cells is declared with `fails`.

    >>> frame = {"age": [31, 35, 42, 47, 51, 58, None], "region": ["north", "south"] * 3 + ["west"]}
    >>> for observation in observations(frame, {"age": 0.5, "region": 2.0}, bins=2, rare=0.2):
    ...     print(observation)
    Observation(name='age', values=('<45', '>=45'), cost=0.5, fails='charged', edges=(45,))
    Observation(name='region', values=('north', 'south', 'other'), cost=2.0, other='other')
    """
    columns = columns_of(frame, [*costs, *([label] if label else [])])
    drafted = []
    for name, cost in costs.items():
        cells = columns[name]
        present = [cell for cell in cells if not is_missing(cell)]
        rest: dict[str, Any] = {"cost": cost}
        if len(present) < len(cells):
            rest["fails"] = fails
        if all(isinstance(cell, bool | np.bool_) for cell in present):
            present = [str(bool(cell)).lower() for cell in present]  # as a log has them
        if present and all(isinstance(cell, str) for cell in present):
            drafted.append(_categories(name, present, rare, rest))
            continue
        try:
            edges = supervised(cells, columns[label], bins) if label else []
            edges = edges or quantiles(cells, bins)
        except TableError as error:
            raise TableError(f"column {name!r}, {error}") from None
        if not edges:
            raise TableError(
                f"column {name!r} has fewer than two values, so it tells nothing: leave it out"
            )
        drafted.append(Observation.binned(name, edges=edges, **rest))
    return drafted


def _categories(name: str, cells: list[str], rare: float, rest: dict[str, Any]) -> Observation:
    counts = Counter(map(str, cells))
    common = sorted(v for v, n in counts.items() if n >= rare * len(cells) and v != "other")
    if len(common) == len(counts):
        return Observation(name, values=common, **rest)
    return Observation(name, values=[*common, "other"], other="other", **rest)


def _check_bins(bins: object) -> None:
    number = as_number(bins)
    if not isinstance(number, int) or not 2 <= number <= MOST_BINS:
        raise OptionError(f"bins must be a whole number from 2 to {MOST_BINS}, got {bins!r}")


# --- what is to be cut ---------------------------------------------------------------------------


class _Column(NamedTuple):
    values: Points
    """The cells that hold something, as numbers,"""
    rows: list[int]
    """the rows that they stand in,"""
    scale: Scale
    """and the way back."""


class _Groups(NamedTuple):
    """Groups of neighbouring values. A cut may lie between two groups."""

    tops: Points
    """The highest value of each group,"""
    nexts: Points
    """the lowest of the next, for all but the last,"""
    ends: Integers
    """and how many cells there are up to its end."""


def _read(cells: Sequence[Any]) -> _Column:
    values, rows, kind = [], [], ""
    for row, cell in enumerate(cells):
        if is_missing(cell):
            continue
        value = as_number(cell)
        found: Edge | None = as_date(cell) if value is None else value
        if found is None:
            raise TableError(f"row {row}: expected a number or a date, got {cell!r}")
        kind = kind or edge_type(found)
        if edge_type(found) != kind:
            raise TableError(f"row {row}: expected {kind}, as in the rows above, got {cell!r}")
        if isinstance(found, int | float) and not is_number(found):
            continue
        values.append(found)
        rows.append(row)
    scale = scale_of(values)
    return _Column(scale.read(values), rows, scale)


def _group(values: Points, bins: int) -> _Groups:
    distinct, counts = np.unique(values, return_counts=True)
    ends = np.cumsum(counts)
    kept = np.arange(len(distinct))
    if len(distinct) > MOST_PLACES:
        half = MOST_PLACES // 2
        steps = bins * (half // bins)  # equal bins are among them
        wanted = len(values) * np.arange(1, steps) / steps
        above = np.searchsorted(ends[:-1], wanted).clip(1, len(ends) - 2)
        nearest = np.where(wanted - ends[above - 1] <= ends[above] - wanted, above - 1, above)
        spread = np.linspace(0, len(distinct) - 1, half).astype(np.int64)  # few cells, far apart
        kept = np.unique(np.concatenate([nearest, spread]))
    return _Groups(distinct[kept], distinct[kept[:-1] + 1], ends[kept])


def _counts(labels: Sequence[Any], group: Integers) -> Floats:
    """The number of each label in each group."""
    places = {y: k for k, y in enumerate(dict.fromkeys(labels))}
    counts = np.zeros((int(group.max(initial=-1)) + 1, len(places)))
    np.add.at(counts, (group, np.array([places[y] for y in labels], np.int64)), 1.0)
    return counts


def _moments(outcomes: Sequence[Any], group: Integers) -> Floats:
    """The sums of outcomes and of their squares in each group, centred and scaled."""
    for y in outcomes:
        number = as_number(y)
        if number is None or not is_number(number):
            raise TableError(f"the label must be texts, booleans, or finite numbers, got {y!r}")
    y = np.array([float(y) for y in outcomes])
    y = (y - y[0]) / max(np.abs(y - y[0]).max(), 1e-300)
    y -= y.mean()
    return np.column_stack([np.bincount(group, y), np.bincount(group, y * y)])


# --- where to cut it -----------------------------------------------------------------------------


class _Plan(NamedTuple):
    cost: float
    cuts: list[int]
    """Before which groups."""


def _plans(cost: Callable[[Integers, int], Floats], groups: _Groups, bins: int) -> list[_Plan]:
    """The cheapest cuts into 1, 2, …, `bins` bins; `cost(first, end)` is the cost of one bin."""
    n = len(groups.ends)
    if not n:
        return [_Plan(0.0, [])]
    pairs = np.full((n + 1, n + 1), np.inf)
    for end in range(1, n + 1):
        pairs[:end, end] = cost(np.arange(end), end)
    least, lasts = pairs[0], []
    plans = [_Plan(float(least[n]), [])]
    for _ in range(min(bins, n) - 1):
        total = least[:, None] + pairs
        lasts.append(np.argmin(total, axis=0))  # where the last bin begins
        least = np.min(total, axis=0)
        cuts = [n]
        for last in reversed(lasts):
            cuts.append(int(last[cuts[-1]]))
        plans.append(_Plan(float(least[n]), cuts[:0:-1]))
    return plans


def _edges(scale: Scale, groups: _Groups, cuts: Sequence[int]) -> list[Edge]:
    return scale.edges(
        [(groups.tops[cut - 1].item(), groups.nexts[cut - 1].item()) for cut in cuts]
    )
