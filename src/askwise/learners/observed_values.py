"""Reports of a case become integers of the lattice. Bad input raises an error before any change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from askwise._support.numbers import as_price
from askwise.errors import CaseError, ProblemError
from askwise.problem import Seen
from askwise.problem.bins import is_number
from askwise.states import Lattice

if TYPE_CHECKING:
    from askwise.learners.cases import Case


def observed(
    case: Case, values: Mapping[str, Seen], *, unasked: bool = False
) -> list[tuple[int, int]]:
    """(observation, outcome) of each value; wanted ones come first."""
    lattice, looks = case.lattice, case.looks
    positions, digits = lattice.positions, lattice.digits_of
    if type(values) is not dict and not isinstance(values, Mapping):
        kind = type(values).__name__
        raise CaseError(f"observe takes {{name: value}}, a mapping, got a {kind}")
    if unasked:
        check_awaits_reward(case)
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
        if len(lattice.members(case.subset)) + len(seen) > lattice.m:
            raise CaseError(
                f"case {case.id} knows {len(lattice.members(case.subset))} observations: with "
                f"{len(seen)} more they are over max_observations, {lattice.m}"
            )
        seen.sort(key=lambda pair: pair[0] not in looks)
        _check_policy_covers(case, seen)
    return seen


def _check_policy_covers(case: Case, seen: list[tuple[int, int]]) -> None:
    """Raises if the case follows a rule that does not lead to what people saw."""
    if case.policy is not None:
        state = _state_after(case, seen)
        case.policy.in_state(state).looks_in_case(state, case.tag)


def plan_after(case: Case, values: Mapping[str, Seen], *, unasked: bool = False) -> None:
    """Plans for the state that these values lead to, if the policy has no plan for it yet.

    The case does not change, and later finds the plan in its policy.
    """
    if case.policy is not None:
        case.policy.in_state(_state_after(case, observed(case, values, unasked=unasked)))


def _state_after(case: Case, seen: list[tuple[int, int]]) -> int:
    lattice, state = case.lattice, case.state_index
    for i, digit in seen:
        state = lattice.step(lattice.subset_of(state), i).child(state, digit)
    return state


def prices_told(
    lattice: Lattice, values: Mapping[str, Seen], paid: Mapping[str, float]
) -> tuple[Lattice, dict[str, float]]:
    """The lattice at the prices that were paid for these values, and these prices."""
    try:
        priced = lattice.priced(paid)
    except ProblemError as error:
        raise CaseError(f"paid: {str(error).removeprefix('prices: ')}") from None
    for name in paid:
        if name not in values:
            raise CaseError(f"paid: observation {name!r} is not among what was observed")
        if any(panel.prices and name in panel.prices for panel in lattice.problem.panels):
            raise CaseError(f"paid: what {name!r} costs depends on its panel: it cannot be told")
    # a refunded failure is no evidence for the price
    told = {
        name: amount
        for name, amount in paid.items()
        if values[name] is not None or lattice.fails(name) != "refunded"
    }
    return priced, told


def share_of_reward(case: Case, reward: object) -> float:
    """The reported reward from 0 to 1. An error says what else may be meant."""
    problem = case.lattice.problem
    try:
        return problem.as_share(reward)
    except CaseError as error:
        if reward is None or (isinstance(reward, float) and math.isnan(reward)):
            raise CaseError(
                f"{error}; cancel() a case whose reward will never be known, and "
                "reward_by_default(…) sets a provisional one"
            ) from None
        if case.stake == 1.0 or not is_number(reward):
            raise
        each = float(reward) / case.stake  # type: ignore[arg-type]
        try:
            problem.as_share(each)
        except CaseError:
            raise error from None
        raise CaseError(
            f"{str(error).partition(';')[0]}; rewards are per unit of stake, and case {case.id} "
            f"has a stake of {as_price(case.stake)}: report {as_price(each)}"
        ) from None


def check_awaits_reward(case: Case) -> None:
    """Raises if the case is cancelled or has its reward, real or default."""
    if case.is_cancelled or case.share is not None:
        if not case.is_cancelled and not case.is_rewarded:
            raise CaseError(
                f"case {case.id} has a reward by default already: report the real one with "
                "reward(…)"
            )
        what = "is cancelled" if case.is_cancelled else "has its reward"
        raise CaseError(f"case {case.id} {what} already")


def check_allowed(case: Case, action: int) -> None:
    """Raises if the action requires an unknown observation."""
    if not case.lattice.allows(case.state_index, action):
        name = case.lattice.problem.action_names[action]
        wants = ", ".join(case.lattice.problem.actions[action].requires)
        raise CaseError(f"action {name!r} requires {wants}, case {case.id} knows {case.state}")


def wanted_names(case: Case) -> str:
    """The wanted names, for a message."""
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
