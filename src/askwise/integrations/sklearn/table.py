r"""A table of numbers as observations: prices, bins, and the choice of columns.

A lattice of all columns would be too large, so a few are chosen first. The information of column i
about the label Y given column j, in nats, less its expected value under independence, is

    I(Y; X_i | X_j) = Σ p(x_i, x_j, y) log p(x_i, y | x_j) / (p(x_i | x_j) p(y | x_j)) − df / 2n.

It is small if i is uninformative, or redundant given j. So i is judged by the chosen column that
leaves it the least information (Fleuret, 2004, "Fast binary feature selection with conditional
mutual information"):

    adds(i) = min(I(Y; X_i), min_{j chosen} I(Y; X_i | X_j)).

Columns are chosen in turn by adds(i) and by adds(i) / c_i, until the lattice is full. So both
informative expensive columns and cheap ones are considered. If a plan of fewer looks, but at least
three, has room for all columns that are informative alone, it is made as well, and the one that
expects the higher gain is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, time
from typing import Any, NamedTuple

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.errors import OptionError, ProblemError
from askwise.integrations.sklearn.alike import merge_alike
from askwise.integrations.sklearn.beliefs import Table
from askwise.integrations.sklearn.columns import Rare, moment_at, seconds_at
from askwise.integrations.sklearn.labelled import by_name
from askwise.problem import Observation, cuts
from askwise.problem.amounts import check_amount
from askwise.problem.bins import is_number
from askwise.states.layout import count_states

MOST_COMPARED = 40
"""The most columns that others are compared with. Later comparisons hardly change the ranking."""

MOST_REPEATED = 1_000_000
"""The most rows in the search for cuts, with each row repeated by its weight."""

MOST_APART = 10
"""The most categories of a column that are kept separate although they are alike."""

LEAST_DEPTH = 3
"""The least number of looks to which a plan is reduced to have room for all columns."""

UNKNOWN = -1
"""The digit of a missing cell in a column without missing cells in the training rows."""


class Look(NamedTuple):
    """A column as an observation that can be bought."""

    observation: Observation
    group: Integers | None
    """For a column of categories, the outcome of each category."""

    @property
    def outcomes(self) -> int:
        """The number of outcomes."""
        return len(self.observation.outcomes)


def prices_of(costs: Any, names: Sequence[str]) -> list[float]:
    """Returns a price for each column, from a number, a sequence or {name: price}; 1 for None."""
    if costs is None:
        return [1.0] * len(names)
    if hasattr(costs, "columns"):
        raise OptionError(
            "costs must be a number, a sequence or {name: price}, got a data frame: give one of "
            "its columns, or its row of prices as {name: price}"
        )
    named = costs if isinstance(costs, Mapping) else by_name(costs)
    if named is not None:
        given = _prices_by_name(named, names)
    elif is_number(costs):
        given = [costs] * len(names)
    elif isinstance(costs, str) or not hasattr(costs, "__len__"):
        raise OptionError(f"costs must be a number, a sequence or {{name: price}}, got {costs!r}")
    else:
        given = list(costs)
        if len(given) != len(names):
            raise OptionError(
                f"costs: {len(given)} prices for {len(names)} features, expected one each"
            )
    for name, price in zip(names, given, strict=True):
        check_amount(price, f"costs: the price of {name!r}", OptionError)
    return [float(price) for price in given]


def _prices_by_name(costs: Mapping[Any, Any], names: Sequence[str]) -> list[Any]:
    """Returns the price of each column in order; the names must be those of the columns."""
    for name in costs:
        if name not in names:
            known = ", ".join(names)
            raise OptionError(
                f"costs: unknown feature {name!r}, expected one of: {known}{_unnamed(names)}"
            )
    missing = [name for name in names if name not in costs]
    if missing:
        raise OptionError(
            f"costs: the price of {missing[0]!r} is missing: give a price for every feature, 0 if "
            "it is free, or leave the column out"
        )
    return [costs[name] for name in names]


def _unnamed(names: Sequence[str]) -> str:
    """Returns the remedy if the columns have no names of their own, as after a transformer."""
    if list(names) != [f"x{k}" for k in range(len(names))]:
        return ""
    return (
        "; the rows had no names of columns that are texts: after transformers, say "
        "set_output(transform='pandas'), or give prices in the order of the columns"
    )


def observations_of(
    table: Table, stakes: Floats, costs: Sequence[float], bins: int
) -> list[Look | None]:
    """Returns the observation of each column; None if the column has one value only.

    Numbers are cut where they separate the labels best. A column that separates nothing alone may
    do so together with another one (x ≠ y), so it is cut once, in the middle. Missing cells are an
    outcome of their own.

    Categories that are alike in a column may differ together with another one. So up to
    `MOST_APART` categories of a column are separate outcomes. If there are more, categories share
    an outcome if their classes are distributed alike, both by plain weights and by `stakes`.
    """
    often = _times(table.weights)
    at_most_once = stakes / (stakes / table.weights).max()  # else luck seems to be evidence
    repeated = [str(label) for label in np.repeat(table.labels, often)]
    made: list[Look | None] = []
    for k, (column, name) in enumerate(zip(table.cells.T, table.columns.names, strict=True)):
        rest: dict[str, Any] = {"cost": costs[k]}
        if np.isnan(column).any():
            rest["fails"] = "charged"
        categories = table.columns.categories[k]
        if categories is not None:
            group: Integers = np.arange(len(categories))
            if len(categories) > MOST_APART:
                both = table.weights, at_most_once
                group = merge_alike(*(_counts(column, len(categories), table, w) for w in both))
            made.append(_of_categories(name, categories, group, rest))
            continue
        cells: Any = np.repeat(column, often)
        if k in table.columns.dates:
            cells = _moments(cells)
        edges = cuts.supervised(cells, repeated, bins) or cuts.quantiles(cells, 2)
        try:
            observation = Observation.binned(name, edges=edges, **rest) if edges else None
        except ProblemError as error:
            raise ProblemError(f"feature {name!r} cannot be cut into bins: {error}") from None
        made.append(None if observation is None else Look(observation, None))
    return made


def _moments(cells: Floats) -> list[date | None]:
    """Returns a column of dates as moments, or as days if all are beginnings of days."""
    moments = {x: moment_at(x) for x in np.unique(cells[~np.isnan(cells)]).tolist()}
    are_days = all(moment.time() == time() for moment in moments.values())
    found = {x: moment.date() if are_days else moment for x, moment in moments.items()}
    return [found.get(x) for x in cells.tolist()]


def _times(weights: Floats) -> Integers:
    """Returns the repetitions of each row in the search for cuts: its weight, if all are whole."""
    whole: Integers = np.rint(weights).astype(np.int64)
    is_whole = np.array_equal(whole, weights) and whole.sum() <= MOST_REPEATED
    return whole if is_whole else np.ones_like(whole)


def _counts(column: Floats, values: int, table: Table, stakes: Floats) -> Floats:
    """Returns the weight of the rows with each value and class, (values, classes)."""
    there = ~np.isnan(column)
    counts = np.zeros((values, table.classes))
    np.add.at(counts, (column[there].astype(np.int64), table.labels[there]), stakes[there])
    return counts


def _of_categories(
    name: str, categories: tuple[Any, ...], group: Integers, rest: dict[str, Any]
) -> Look | None:
    """Returns the observation of categories. Those of a group share an outcome with all names."""
    number = int(group.max(initial=-1)) + 1
    if number + ("fails" in rest) < 2:
        return None
    members = [[c for c, g in zip(categories, group, strict=True) if g == k] for k in range(number)]
    values = [" or ".join(map(str, together)) for together in members]
    if Rare.OTHER in categories:
        rest["other"] = values[group[categories.index(Rare.OTHER)]]
    taken: set[str] = set()  # 1 and 1.0 may be two categories
    texts = [[t for c in together for t in _printed(c, taken)] for together in members]
    if texts != [[value] for value in values]:  # so the policy reads the categories of the table
        rest["stands_for"] = texts
    return Look(Observation(name, values=values, **rest), group)


def _printed(category: Any, taken: set[str]) -> list[str]:
    """Returns the texts of a category. Files have 1.0 as 1, and rare categories have no text."""
    is_whole = isinstance(category, float) and category.is_integer()
    texts = [str(category), str(int(category))] if is_whole else [str(category)]
    found = [text for text in texts if category is not Rare.OTHER and text not in taken]
    taken.update(found)
    return found


def digits_of(column: Floats, look: Look) -> Integers:
    """Returns the place of the outcome of each cell; `UNKNOWN` if the cell has no outcome."""
    observation, group = look.observation, look.group
    if group is None:
        assert observation.edges is not None
        edges = np.array(
            [seconds_at(edge) if isinstance(edge, date) else edge for edge in observation.edges],
            np.float64,
        )
        digits = np.searchsorted(edges, column, side="right")
    else:
        known = column >= 0
        digits = np.where(known, group[np.where(known, column, 0.0).astype(np.int64)], UNKNOWN)
    missing = len(observation.values) if observation.fails else UNKNOWN
    return np.where(np.isnan(column), missing, digits).astype(np.int64)


def choose(
    digits: Sequence[Integers],
    labels: Integers,
    weights: Floats,
    looks: Sequence[Look],
    m: int,
    most_states: int,
) -> list[int]:
    """Returns the columns that add most to those before, as many as the lattice has room for."""
    radices = [look.outcomes for look in looks]
    classes = int(labels.max()) + 1
    nothing = np.zeros_like(labels)
    adds = {
        i: information(digits[i], radices[i], nothing, 1, labels, classes, weights)
        for i in range(len(digits))
    }
    chosen: list[int] = []
    while adds:
        by_price = len(chosen) % 2 == 1
        costs = {i: looks[i].observation.cost for i in adds}
        best = max(adds, key=lambda i: _per(adds[i], costs[i]) if by_price else adds[i])
        within = [radices[i] for i in (*chosen, best)]
        if chosen and count_states(within, min(m, len(within))) > most_states:
            break
        chosen.append(best)
        del adds[best]
        if len(chosen) > MOST_COMPARED:
            continue  # the remaining columns keep their last rank
        for i, before in adds.items():
            beside = (digits[best], radices[best])
            more = information(digits[i], radices[i], *beside, labels, classes, weights)
            adds[i] = min(before, more)
    return sorted(chosen)


def depth_with_room(
    digits: Sequence[Integers],
    labels: Integers,
    weights: Floats,
    looks: Sequence[Look],
    m: int,
    most_states: int,
) -> int:
    """Returns the most looks with which all informative columns have room, at most m.

    A plan of more looks has fewer columns, and so it may be worse. If the informative columns have
    no room with `LEAST_DEPTH` looks either, the result is m.
    """
    classes, nothing = int(labels.max()) + 1, np.zeros_like(labels)
    radices = [
        look.outcomes
        for column, look in zip(digits, looks, strict=True)
        if information(column, look.outcomes, nothing, 1, labels, classes, weights) > 0
    ]
    for depth in range(m, min(m, LEAST_DEPTH) - 1, -1):
        if not radices or count_states(radices, min(depth, len(radices))) <= most_states:
            return depth
    return m


def _per(added: float, price: float) -> float:
    if price == 0:
        return math.inf if added > 0 else 0.0
    return max(added, 0.0) / price


def information(
    digits: Integers,
    radix: int,
    beside: Integers,
    others: int,
    labels: Integers,
    classes: int,
    weights: Floats,
) -> float:
    """Returns I(Y; X | X_j) less its expected value under noise, 1/2n a degree of freedom."""
    place = (beside * radix + digits) * classes + labels
    counts: Any = np.bincount(place, weights, minlength=others * radix * classes)
    table: Floats = counts.reshape(others, radix, classes)
    by_value, by_label, by_other = table.sum(axis=2), table.sum(axis=1), table.sum(axis=(1, 2))
    freedom = ((by_value > 0).sum(axis=1) - 1).clip(0) @ ((by_label > 0).sum(axis=1) - 1).clip(0)
    found = _n_log_n(table) - _n_log_n(by_value) - _n_log_n(by_label) + _n_log_n(by_other)
    return float(found - freedom / 2) / float(weights.sum())


def _n_log_n(counts: Floats) -> float:
    return float((counts * np.log(np.maximum(counts, 1e-300))).sum())
