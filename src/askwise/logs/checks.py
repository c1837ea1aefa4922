"""Checks that hold for every log: it has rows, no row exceeds m, and orders match their row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from askwise._support.typing import Integers
from askwise.counting import MOST_CASES
from askwise.errors import TableError
from askwise.logs.counting import Decisions
from askwise.logs.near_names import order_is_missing
from askwise.logs.roles import Roles
from askwise.states import Lattice


def check_rows(rows: int) -> None:
    """Raises an error if there are no rows, or more than can be counted."""
    if rows == 0:
        raise TableError("the log has no rows")
    if rows > MOST_CASES:
        raise TableError(f"the log has {rows:,} rows: at most {MOST_CASES:,} can be counted")


def check_most(lattice: Lattice, decisions: Decisions) -> None:
    """Raises an error if a row has more than m observations, which is no state of the problem."""
    looked = decisions.digits[:, : lattice.buyable] >= 0
    many = looked.sum(axis=1)
    if many.max() > lattice.m:
        looks = lattice.names_of(tuple(np.flatnonzero(looked[many.argmax()]).tolist()))
        raise TableError(
            f"a row has {len(looks)} observations ({', '.join(looks)}), but the problem allows "
            f"max_observations={lattice.m}: raise it, or leave such rows out"
        )


def check_propensities(
    lengths: Integers,
    steps: Integers,
    where: Callable[[int], str],
    *,
    may_be_unknown: bool = False,
    without_order: Sequence[str] | None = None,
) -> None:
    """Raises an error unless each row has one propensity for the case, or one for each step.

    `without_order` has the columns of a log that does not say how observations were chosen.
    """
    odd = (lengths != 1) & (lengths != steps) & ~((lengths == 0) & may_be_unknown)
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        if without_order is not None and lengths[row] > 2:
            raise TableError(
                f"{where(row)}: {lengths[row]} propensities, one for each step of an order, but "
                f"{order_is_missing(without_order)}"
            )
        wanted = "1" if steps[row] == 1 else f"1, or {steps[row]}"
        raise TableError(
            f"{where(row)}: {lengths[row]} propensities, expected {wanted}: one for each "
            "observation in the order, then one for the action (with acquisition='simultaneous', "
            "one for the set and one for the action; if every row has every observation, one for "
            "the action)"
        )


def steps_of(roles: Roles, decisions: Decisions) -> Integers:
    """Returns the number of steps of each row: observations or a set, and the action."""
    if roles.acquisition == "sequential":
        of_order = np.array([len(order) + 1 for order in decisions.distinct], np.int64)
        steps: Integers = of_order[decisions.orders]
        return steps
    is_known = roles.acquisition is None and bool((decisions.digits >= 0).all())
    return np.full(len(decisions.actions), 1 if is_known else 2, np.int64)


def in_its_order(
    lattice: Lattice, roles: Roles, decisions: Decisions, where: Callable[[int], str]
) -> Decisions:
    """Returns the decisions, and checks that each order lists the observations of its row.

    If an order names an observation whose cell is empty, the observation failed, if it may fail.
    """
    if roles.order is None:
        return decisions
    named = np.zeros((len(decisions.distinct), lattice.buyable), np.bool_)
    for place, order in enumerate(decisions.distinct):
        named[place, list(order)] = True
    named = named[decisions.orders]
    digits = decisions.digits.copy()
    for i, o in enumerate(lattice.observations[: lattice.buyable]):
        if o.fails:
            digits[named[:, i] & (digits[:, i] < 0), i] = len(o.values)
    looked = digits[:, : lattice.buyable] >= 0
    odd = named != looked
    if odd.any():
        row, i = (int(place[0]) for place in np.nonzero(odd))
        name = lattice.observations[i].name
        if looked[row, i]:
            raise TableError(
                f"{where(row)}: observation {name!r} has a value, but column {roles.order!r} does "
                "not name it: name it where it was bought, or declare given= if it is known "
                "from the start in every case"
            )
        raise TableError(
            f"{where(row)}: observation {name!r} has none, but column {roles.order!r} names it: "
            "fill the cell in, or declare fails= if it was bought and gave no value"
        )
    return decisions._replace(digits=digits)
