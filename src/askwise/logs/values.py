"""V(ψ), what a policy is expected to gain from a state on: the control variate of DR.

    V(ψ) = β r(h(ψ), ψ)                          where the policy acts
    V(ψ) = Σ_x p(x | ψ, i) (V(ψ_x) − price)      where it looks at i

p and r come from a model, or from a part of the log. However wrong they are, the estimate stays
without bias; the nearer to the truth, the narrower its interval.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askwise._support.typing import AcquisitionName, Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.errors import ModelError
from askwise.estimation.models import Model
from askwise.logs.agreement import Agreement
from askwise.logs.counting import Decisions, count_decisions
from askwise.policy import Policy

Values = Callable[[int], float]

Reward = Callable[[int, int], float]
"""r(a, ψ) of a state and an action."""
Weights = Callable[[int, int], Floats]
"""What the probabilities of the outcomes of a look are in proportion to: of a state, a look."""


def values_by(policy: Policy, reward: Reward, weights: Weights) -> Values:
    """V(ψ) by these rewards and probabilities."""
    lattice, beta = policy.lattice, policy.problem.reward_value
    known: dict[int, float] = {}

    def value(state: int) -> float:
        if state not in known:
            looks = policy.looks(state)
            if looks:
                weight = weights(state, looks[0])
                children = lattice.children(state, looks[0])
                spent = lattice.spent(state)
                gains = [value(child) - (lattice.spent(child) - spent) for child in children]
                total = float(weight.sum())
                known[state] = float(weight @ np.array(gains)) / total if total > 0 else gains[0]
            else:
                action = policy.act(state)
                known[state] = beta * reward(state, action) - policy.problem.actions[action].cost
        return known[state]

    return value


def values_of_model(policy: Policy, model: Model) -> Values:
    """By a known population."""
    if not isinstance(model, Model):
        raise ModelError(f"model must be a Model, such as table.model(), got {model!r}")
    if model.problem != policy.problem:
        raise ModelError("the policy and the model are of two different problems")
    probability, rewards = model.marginals(policy.lattice)
    return values_by(
        policy,
        lambda state, action: float(rewards[state, action]),
        lambda state, look: probability[list(policy.lattice.children(state, look))],
    )


def values_of_log(policy: Policy, decisions: Decisions, acquisition: AcquisitionName) -> Values:
    """By the counters of a part of the log, with one imagined case of the average in each state."""
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
    """How often each outcome of an observation came, among all who looked."""
    digits = decisions.digits[:, i]
    seen = digits >= 0
    counts = np.bincount(digits[seen], weights=decisions.counts[seen], minlength=outcomes) + 1.0
    shares: Floats = counts / counts.sum()
    return shares


def _came(statistics: Statistics, acquisition: AcquisitionName, state: int, look: int) -> Integers:
    """The counts that p̂ of the outcomes of a look is proportional to."""
    lattice = statistics.lattice
    rows = statistics.rows_of(np.array(lattice.children(state, look), np.int64))
    slot = lattice.step(lattice.subset_of(state), look).slot
    by_row = statistics.visits if acquisition == "simultaneous" else statistics.transitions[:, slot]
    came: Integers = by_row[rows]
    return came


def values_of_rows(
    policy: Policy, agreement: Agreement, rewards: Floats, weights: Floats
) -> Values:
    """By rows in which everything is known: the mean of those that acted as the policy would.

    Each is weighted by one over its propensity, because which rows did was not left to chance.
    """
    beta, ends = policy.problem.reward_value, agreement.states[:, 0]
    overall = float(weights @ rewards) / max(float(weights.sum()), 1e-300)
    states, place = np.unique(ends, return_inverse=True)
    total = np.bincount(place, weights)
    imagined = float(weights.sum()) / max(1, int((weights > 0).sum()))  # one more of the average
    mean = (np.bincount(place, weights * rewards) + imagined * overall) / (
        total + imagined + 1e-300
    )
    known = dict(zip(states.tolist(), (beta * mean).tolist(), strict=True))
    return lambda state: known.get(state, beta * overall)
