"""The joint cost of features: panels with a fee, and groups with discounts.

In a group with discounts, the first feature bought costs c_i and every later one d_i ≤ c_i. So the
spend depends on the order of purchases. The price of the next feature depends only on the set I of
bought features. It is c_i less the rebate

    R(I, i) = c_i − d_i if I has another feature of the group of i, else 0.

Plans use the rebates (`planning/advantage.py`). The spend is summed along the path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.errors import OptionError
from askwise.problem import Panel
from askwise.problem.bins import is_number
from askwise.states import Lattice

LEAST_PRICE = 1e-9
"""What a free column seems to cost, relative to the highest price or fee."""


class Prices(NamedTuple):
    """The costs, panels and discounts of the columns of a table."""

    costs: Floats
    panels: tuple[tuple[tuple[int, ...], float], ...]
    """The columns of each panel, and its fee."""
    groups: tuple[tuple[tuple[int, ...], Floats], ...] = ()
    """The columns of each group, and c_i − d_i of each."""

    def of(self, bought: Flags, rank: Integers | None = None) -> Floats:
        """Returns the spend of each row that bought these columns.

        `rank` has the place of each column in the order of a row. Only groups need it.
        """
        spent: Floats = bought @ self.costs
        for members, fee in self.panels:
            spent = spent + fee * bought[:, members].any(axis=1)
        for members, saved in self.groups:
            assert rank is not None
            here = bought[:, members]
            never = rank.max(initial=0) + 1
            first = np.where(here, rank[:, members], never).argmin(axis=1)
            spent = spent - here @ saved + np.where(here.any(axis=1), saved[first], 0.0)
        return spent

    def of_next(self, known: Flags) -> Floats:
        """Returns the price of each column for each row as its next purchase, at least `least`."""
        found = np.tile(self.costs, (len(known), 1))
        for panel, fee in self.panels:
            members = list(panel)
            found[:, members] += fee * ~known[:, members].any(axis=1, keepdims=True)
        for group, saved in self.groups:
            members = list(group)
            found[:, members] -= saved * known[:, members].any(axis=1, keepdims=True)
        return np.maximum(found, self.least)

    @property
    def least(self) -> float:
        """The price that a free column seems to have, because worth is divided by it."""
        dearest = max(float(self.costs.max()), *(fee for _, fee in self.panels), 0.0)
        return LEAST_PRICE * dearest if dearest > 0 else 1.0

    def ranks(self, leaves: Integers, paths: Mapping[int, list[int]]) -> Integers:
        """Returns the place of each column in the order of each row, from the row's last state.

        `paths` has the columns on the path to each state. Columns that are not on it come last.
        """
        number = len(self.costs)
        rank = np.full((len(leaves), number), number)
        for leaf in np.unique(leaves).tolist():
            places = np.full(number, number)
            for place, column in reversed(list(enumerate(paths[leaf]))):
                places[column] = place
            rank[leaves == leaf] = places
        return rank

    def rebates(self, lattice: Lattice, columns: Sequence[int]) -> Floats | None:
        """Returns R(I, i) at [I, i]; None without groups. `columns` has those of observations."""
        if not self.groups or not lattice.m:
            return None
        members = lattice.layout.members
        found = np.zeros((lattice.subsets, lattice.buyable))
        for group, saved in self.groups:
            less = dict(zip(group, saved.tolist(), strict=True))
            belongs = np.array([*(column in less for column in columns), False])
            is_open = belongs[members].any(axis=1)  # −1 is no member
            for i, column in enumerate(columns):
                found[is_open, i] += less.get(column, 0.0)
        return found


def continued(rank: Integers, later: Sequence[int]) -> Integers:
    """Returns the places of columns, if those that the plan did not buy follow in one order."""
    number = rank.shape[1]
    places = np.full(number, 2 * number)
    places[list(later)] = number + np.arange(len(later))
    found: Integers = np.where(rank < number, rank, places)
    return found


def check_panels(panels: Any, names: Collection[str]) -> tuple[Panel, ...]:
    """Checks that the members of panels are features, and returns the panels."""
    if not isinstance(panels, Iterable):
        raise OptionError(f"panels must be a list of askwise.Panel, got {panels!r}")
    found = tuple(panels)
    for panel in found:
        if not isinstance(panel, Panel):
            raise OptionError(f"panels: expected an askwise.Panel, got {panel!r}")
        if panel.prices is not None:
            raise OptionError(
                "panels: the classifier takes panels with a fee and a list of names, without "
                f"prices of their own, got {panel!r}"
            )
        for name in panel.observations:
            if name not in names:
                known = ", ".join(names)
                raise OptionError(f"panels: unknown feature {name!r}, expected one of: {known}")
    return found


def panels_among(panels: Sequence[Panel], names: Collection[str]) -> list[Panel]:
    """Returns the same panels with fewer features."""
    found = []
    for panel in panels:
        members = [name for name in panel.observations if name in names]
        if members:
            found.append(Panel(observations=members, fee=panel.fee))
    return found


def check_discounts(
    discounts: Any, names: Sequence[str], costs: Sequence[float]
) -> tuple[tuple[tuple[int, ...], Floats], ...]:
    """Returns the columns of each group, and c_i − d_i of each column."""
    if not isinstance(discounts, Iterable) or isinstance(discounts, str | Mapping):
        raise OptionError(f"discounts must be a list of {{name: price}}, got {discounts!r}")
    places = {name: k for k, name in enumerate(names)}
    found, grouped = [], set()
    for group in discounts:
        if not isinstance(group, Mapping):
            raise OptionError(f"discounts: expected {{name: price}}, got {group!r}")
        for name, price in group.items():
            if name not in places:
                known = ", ".join(names)
                raise OptionError(f"discounts: unknown feature {name!r}, expected one of: {known}")
            if name in grouped:
                raise OptionError(f"discounts: {name!r} is in two groups, expected one at most")
            grouped.add(name)
            cost = costs[places[name]]
            if not is_number(price) or not 0 <= price <= cost:
                raise OptionError(
                    f"discounts: the price of {name!r} must be a number from 0 to its cost, "
                    f"{cost:g}, got {price!r}"
                )
        if group:
            saved = [costs[places[name]] - float(price) for name, price in group.items()]
            found.append((tuple(places[name] for name in group), np.array(saved)))
    return tuple(found)
