"""V(ψ), what a policy is expected to gain from a state on: the control variate of DR.

    V(ψ) = stake · (low + β R(ψ)) − C(ψ)
    R(ψ) = r(h(ψ), ψ),             C(ψ) = the cost of h(ψ)                where the policy acts
    R(ψ) = Σ_x p(x | ψ, i) R(ψ_x), C(ψ) = Σ_x p(x | ψ, i) (C(ψ_x) + price)  where it looks at i

p and r come from a model, or from a part of the log. However wrong they are, the estimate stays
without bias; the nearer to the truth, the narrower its interval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from askwise._support.typing import AcquisitionName, Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.errors import ModelError
from askwise.estimation.models import Model
from askwise.logs.agreement import Agreement
from askwise.logs.counting import Decisions, count_decisions
from askwise.policy import Policy


class Expected(NamedTuple):
    """The expected result of a policy from a state on."""

    reward: float
    """R(ψ), from 0 to 1."""
    spend: float
    """C(ψ)."""


Values = Callable[[int], Expected]

Reward = Callable[[int, int], float]
"""r(a, ψ) of a state and an action."""
Weights = Callable[[int, int], Floats]
"""The weights of the outcomes of an observation, by state and observation."""


def values_by(policy: Policy, reward: Reward, weights: Weights) -> Values:
    """R(ψ) and C(ψ) by these rewards and probabilities."""
    lattice = policy.lattice
    known: dict[int, Expected] = {}

    def value(state: int) -> Expected:
        if state not in known:
            looks = policy.looks(state)
            if looks:
                weight = weights(state, looks[0])
                children = lattice.children(state, looks[0])
                spent = lattice.spent(state)
                after = np.array([value(child) for child in children])
                after[:, 1] += [lattice.spent(child) - spent for child in children]
                total = float(weight.sum())
                mean = weight @ after / total if total > 0 else after[0]
                known[state] = Expected(*mean.tolist())
            else:
                action = policy.act(state)
                cost = policy.problem.actions[action].cost
                known[state] = Expected(reward(state, action), cost)
        return known[state]

    return value


def nothing_of(policy: Policy) -> Values:
    """Without anything to go by, a gain of 0."""
    problem = policy.problem
    nothing = Expected(-problem.lowest_reward / problem.reward_value, 0.0)
    return lambda state: nothing


def values_of_model(policy: Policy, model: Model) -> Values:
    """Returns the values under a known population."""
    if not isinstance(model, Model):
        raise ModelError(f"model must be a Model, such as table.model(), got {model!r}")
    if model.problem != policy.lattice.per_unit.problem:
        raise ModelError(
            "the policy and the model are of two different problems: take a model of policy.problem"
        )
    probability, rewards = model.marginals(policy.lattice)
    return values_by(
        policy,
        lambda state, action: float(rewards[state, action]),
        lambda state, look: probability[list(policy.lattice.children(state, look))],
    )


def values_of_log(policy: Policy, decisions: Decisions, acquisition: AcquisitionName) -> Values:
    """Returns the values by the counters of a part of the log, with one average case added to each
    state.
    """
    lattice = policy.lattice
    statistics = count_decisions(lattice, decisions, acquisition)
    counts, sums = statistics.action_counts, statistics.reward_sums
    mean = float(sums.sum()) * UNIT / max(1, int(counts.sum()))
    by_action = (sums.sum(axis=0) * UNIT + mean) / (counts.sum(axis=0) + 1)
    shares = [_shares(decisions, i, int(n)) for i, n in enumerate(lattice.layout.radices)]

    def reward(state: int, action: int) -> float:
        row = statistics.row(state)
        earned = float(sums[row, action]) * UNIT + float(by_action[action])
        return earned / (float(counts[row, action]) + 1)

    def weights(state: int, look: int) -> Floats:
        came = _came(statistics, acquisition, state, look)
        weight: Floats = came + shares[look]
        return weight

    return values_by(policy, reward, weights)


def _shares(decisions: Decisions, i: int, outcomes: int) -> Floats:
    """The share of each outcome of an observation, among all cases that bought it."""
    digits = decisions.digits[:, i]
    seen = digits >= 0
    counts = np.bincount(digits[seen], weights=decisions.counts[seen], minlength=outcomes) + 1.0
    shares: Floats = counts / counts.sum()
    return shares


def _came(statistics: Statistics, acquisition: AcquisitionName, state: int, look: int) -> Integers:
    """The counts to which p̂ of the outcomes of an observation is proportional."""
    lattice = statistics.lattice
    rows = statistics.rows_of(np.array(lattice.children(state, look), np.int64))
    slot = lattice.step(lattice.subset_of(state), look).slot
    by_row = statistics.visits if acquisition == "simultaneous" else statistics.transitions[:, slot]
    came: Integers = by_row[rows]
    return came


def values_of_rows(
    policy: Policy, agreement: Agreement, rewards: Floats, weights: Floats
) -> Values:
    """Returns the mean of complete rows that acted as the policy would. Each row is weighted by one
    over its propensity, because those rows are no random sample.
    """
    costs, ends = [action.cost for action in policy.problem.actions], agreement.states[:, 0]
    if not weights.any():
        return nothing_of(policy)
    overall = float(weights @ rewards) / float(weights.sum())
    states, place = np.unique(ends, return_inverse=True)
    total = np.bincount(place, weights)
    imagined = float(weights.sum()) / int((weights > 0).sum())  # one more of the average
    mean = (np.bincount(place, weights * rewards) + imagined * overall) / (total + imagined)
    known = dict(zip(states.tolist(), mean.tolist(), strict=True))
    return lambda state: Expected(known.get(state, overall), costs[policy.act(state)])
