"""What no log may hold, wherever it is: no rows, looks beyond m, an order of other looks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askwise._support.typing import Integers
from askwise.counting import MOST_CASES
from askwise.errors import TableError
from askwise.logs.counting import Decisions
from askwise.logs.roles import Roles
from askwise.states import Lattice


def check_rows(rows: int) -> None:
    """There must be some, and not more than can be counted."""
    if rows == 0:
        raise TableError("the log has no rows")
    if rows > MOST_CASES:
        raise TableError(f"the log has {rows:,} rows: at most {MOST_CASES:,} can be counted")


def check_most(lattice: Lattice, decisions: Decisions) -> None:
    """No row may have looked at more than m: that is no state of the problem."""
    looked = decisions.digits[:, : lattice.buyable] >= 0
    many = looked.sum(axis=1)
    if many.max() > lattice.m:
        looks = lattice.names_of(tuple(np.flatnonzero(looked[many.argmax()]).tolist()))
        raise TableError(
            f"a row looked at {len(looks)} observations ({', '.join(looks)}), but the problem "
            f"allows max_observations={lattice.m}: what was done there is of no state of it"
        )


def check_propensities(
    lengths: Integers, steps: Integers, where: Callable[[int], str], *, may_be_unknown: bool = False
) -> None:
    """Each row has one propensity of the whole course, or one for each of its steps."""
    odd = (lengths != 1) & (lengths != steps) & ~((lengths == 0) & may_be_unknown)
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        wanted = "1" if steps[row] == 1 else f"1, or {steps[row]}"
        raise TableError(
            f"{where(row)}: {lengths[row]} propensities, expected {wanted}: one for each "
            "look in the order, then one for the action (with acquisition='simultaneous', one for "
            "the set and one for the action; where every row saw everything, one for the action)"
        )


def steps_of(roles: Roles, decisions: Decisions) -> Integers:
    """How many steps each row took: looks and acting, or a set and acting, or just acting."""
    if roles.acquisition == "sequential":
        of_order = np.array([len(order) + 1 for order in decisions.distinct], np.int64)
        steps: Integers = of_order[decisions.orders]
        return steps
    is_known = roles.acquisition is None and bool((decisions.digits >= 0).all())
    return np.full(len(decisions.actions), 1 if is_known else 2, np.int64)


def in_its_order(
    lattice: Lattice, roles: Roles, decisions: Decisions, where: Callable[[int], str]
) -> Decisions:
    """The decisions, whose orders must be those of the looks that were taken.

    A look that an order names, and whose cell is empty, has failed, if it can.
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
        said = "names it" if named[row, i] else "does not name it"
        seen = "has a value" if looked[row, i] else "has none"
        raise TableError(
            f"{where(row)}: observation {name!r} {seen}, but column {roles.order!r} {said}"
        )
    return decisions._replace(digits=digits)
