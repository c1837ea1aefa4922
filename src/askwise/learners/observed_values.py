"""What is told of a case, as integers of the lattice, or an error before anything changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from askwise.errors import CaseError, ProblemError
from askwise.problem import Seen
from askwise.states import Lattice

if TYPE_CHECKING:
    from askwise.learners.cases import Case


def observed(
    case: Case, values: Mapping[str, Seen], *, unasked: bool = False
) -> list[tuple[int, int]]:
    """(observation, outcome) of each value; what was asked for comes first."""
    lattice, looks = case.lattice, case.looks
    positions, digits = lattice.positions, lattice.digits_of
    if type(values) is not dict and not isinstance(values, Mapping):
        kind = type(values).__name__
        raise CaseError(f"observe takes {{name: value}}, a mapping, got a {kind}")
    if not values:
        raise CaseError(f"nothing was observed, case {case.id} wants: {wanted_names(case)}")
    seen = []
    for name, value in values.items():
        i = positions.get(name, -1)
        digit = digits[i].get(value) if type(value) is str and i in looks else None
        if digit is not None:  # the usual case, fast
            seen.append((i, digit))
            continue
        i = lattice.position(name)
        if i not in looks and not (unasked and _is_unknown(case, i)):
            raise CaseError(
                f"observation {name!r} {_why_not(case, i)} in case {case.id}, it wants: "
                f"{wanted_names(case)}{_remedy(case, i)}"
            )
        seen.append((i, lattice.digit(i, value)))
    if unasked:
        check_awaits_reward(case)
        if len(lattice.members(case.subset)) + len(seen) > lattice.m:
            raise CaseError(
                f"case {case.id} knows {len(lattice.members(case.subset))} observations: with "
                f"{len(seen)} more they are over max_observations, {lattice.m}"
            )
        seen.sort(key=lambda pair: pair[0] not in looks)
    return seen


def prices_told(
    lattice: Lattice, values: Mapping[str, Seen], paid: Mapping[str, float]
) -> tuple[Lattice, dict[str, float]]:
    """The lattice at the prices that were paid for these values, and what they say of prices."""
    try:
        priced = lattice.priced(paid)
    except ProblemError as error:
        raise CaseError(f"paid: {error}") from None
    for name in paid:
        if name not in values:
            raise CaseError(f"paid: observation {name!r} is not among what was observed")
        if any(panel.prices and name in panel.prices for panel in lattice.problem.panels):
            raise CaseError(f"paid: what {name!r} costs depends on its panel: it cannot be told")
    # a failure that is refunded says nothing of the price
    told = {
        name: amount
        for name, amount in paid.items()
        if values[name] is not None or lattice.fails(name) != "refunded"
    }
    return priced, told


def check_awaits_reward(case: Case) -> None:
    """Raise if nothing can happen to the case any more but its reward."""
    if case.is_cancelled or case.share is not None:
        what = "is cancelled" if case.is_cancelled else "has its reward"
        raise CaseError(f"case {case.id} {what} already")


def check_allowed(case: Case, action: int) -> None:
    """Raise if the action requires what is not known."""
    if not case.lattice.allows(case.state_index, action):
        name = case.lattice.problem.action_names[action]
        wants = ", ".join(case.lattice.problem.actions[action].requires)
        raise CaseError(f"action {name!r} requires {wants}, case {case.id} knows {case.state}")


def wanted_names(case: Case) -> str:
    """What a case wants, for a message."""
    return ", ".join(case.wanted) or "nothing"


def _is_unknown(case: Case, i: int) -> bool:
    return i < case.lattice.buyable and i not in case.lattice.members(case.subset)


def _why_not(case: Case, i: int) -> str:
    if i >= case.lattice.buyable:
        return "is given"
    return "is not wanted" if _is_unknown(case, i) else "is known already"


def _remedy(case: Case, i: int) -> str:
    is_open = not case.is_cancelled and case.share is None and _is_unknown(case, i)
    return "; unasked=True takes what people looked at all the same" if is_open else ""
