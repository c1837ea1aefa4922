"""What a policy buys, and its gain: exactly under a model, or row by row on complete records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import UNIT
from askwise.errors import ModelError
from askwise.estimation.complete_records import CompleteRecords
from askwise.estimation.models import Model
from askwise.policy.scores import Outcomes
from askwise.problem import Seen
from askwise.problem.amounts import check_stake

if TYPE_CHECKING:
    from askwise.policy.policy import Policy


def check_model(policy: Policy, model: object) -> None:
    """Raises if it is not a model of the policy's problem, which may be for another stake."""
    if not isinstance(model, Model):
        raise ModelError(f"expected a Model, such as table.model(), got {type(model).__name__}")
    if model.problem != policy.lattice.per_unit.problem:
        raise ModelError("the policy and the model are of two different problems")


def gain_under(
    policy: Policy, model: Model, state: Mapping[str, Seen] | None, stake: float | None = None
) -> float:
    """Returns ρ(π), or F^π(ψ) with a state, for a policy without a mixture.

    The cases have this stake, or the one that the policy is for.
    """
    lattice, problem = policy.lattice, policy.problem
    if stake is not None:
        unit = lattice.per_unit
        problem = unit.at_stake(check_stake(stake, unit.problem.reward_value)).problem
    probability, reward = model.marginals(lattice)
    open_states, before, total = list(range(lattice.contexts)), 0.0, 1.0
    if state is not None:
        known = lattice.index(state)
        open_states, before = [known], lattice.spent(known)
        total = float(probability[known])
        if total == 0.0:
            raise ModelError(f"{dict(state)!r} never comes in this model: its probability is 0")
    gain = 0.0
    open_states = [s for s in open_states if probability[s] > 0]
    while open_states:
        reached = [open_states.pop()]
        looks = policy.looks(reached[0])
        for i in looks:
            reached = [child for s in reached for child in lattice.children(s, i)]
        if looks:
            open_states.extend(s for s in reached if probability[s] > 0)
            continue
        (end,) = reached
        action = policy.act(end)
        spent = lattice.spent(end) - before + problem.actions[action].cost
        gain += probability[end] * (problem.reward_value * reward[end, action] - spent)
    return problem.lowest_reward + float(gain / total)


def observations_bought(policy: Policy) -> tuple[str, ...]:
    """Returns the names of all observations that the policy may buy in a case."""
    lattice, bought = policy.lattice, set[int]()
    if policy.mixture is not None:
        names = {name for _, part in policy.parts for name in part.observations}
        return tuple(o.name for o in lattice.observations if o.name in names)
    open_states = list(range(lattice.contexts))
    while open_states:
        reached = [open_states.pop()]
        looks = policy.looks(reached[0])
        bought.update(looks)
        for i in looks:
            reached = [child for s in reached for child in lattice.children(s, i)]
        open_states.extend(reached if looks else [])
    return lattice.names_of(tuple(sorted(bought)))


def outcomes_on(policy: Policy, records: CompleteRecords, stakes: Floats) -> Outcomes:
    """Returns the results on complete records with these stakes. In a mixture each policy has its
    share of every record.
    """
    found = [_followed(part, records, stakes, share) for share, part in policy.parts]
    return Outcomes(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _followed(policy: Policy, records: CompleteRecords, stakes: Floats, share: float) -> Outcomes:
    lattice, digits = policy.lattice, records.digits
    n = len(digits)
    action, spend, looks = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
    every: Integers = np.arange(n, dtype=np.int64)
    open_states = _by_state(every, lattice.states_of(0, digits))
    while open_states:
        state, rows = open_states.popitem()
        wanted = policy.looks(state)
        looks[rows] += len(wanted)
        if wanted:
            open_states.update(_after(policy, digits, state, rows, wanted))
            continue
        action[rows] = policy.act(state)
        cost = policy.problem.actions[policy.act(state)].cost
        spend[rows] = lattice.spent(state) + cost
    earned: Floats = records.units[every, action] * np.float64(UNIT)
    squares: Floats = earned - records.graded[every, action] * UNIT
    rows_of: Floats = share * records.counts.astype(np.float64)
    return Outcomes(rows_of, share * earned, share * squares, spend, looks, stakes)


def _after(
    policy: Policy, digits: Choices, state: int, rows: Integers, looks: tuple[int, ...]
) -> dict[int, Integers]:
    """Returns the states of the rows after these purchases."""
    reached = {state: rows}
    for i in looks:
        split: dict[int, Integers] = {}
        for before, some in reached.items():
            children = np.array(policy.lattice.children(before, i), np.int64)
            split.update(_by_state(some, children[digits[some, i]]))
        reached = split
    return reached


def _by_state(rows: Integers, states: Integers) -> dict[int, Integers]:
    """Returns the rows in each state."""
    order = np.argsort(states, kind="stable")
    distinct, first = np.unique(states[order], return_index=True)
    parts = np.split(rows[order], first[1:])
    return dict(zip(distinct.tolist(), parts, strict=True))
