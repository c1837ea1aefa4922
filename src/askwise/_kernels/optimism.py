"""Optimism in the face of uncertainty: mean rewards, and distributions in an L1 ball."""

import math

import numpy as np

from askwise._kernels.jit import jit
from askwise._typing import Choices, Floats, Integers, Weights

SCANS = 8
"""How many thresholds are looked for one by one before all of them are sorted."""

CHUNK = 256
"""States handled together, so that the square roots and divisions are done several at a time."""


@jit
def optimistic_rewards(
    counts: Integers,
    sums: Integers,
    unit: float,
    width: float,
    out_reward: Floats,
    out_action: Choices,
) -> None:
    """r̂*(ψ) = max_a min(1, r̂(a, ψ) + conf₁(a, ψ)) and the first action that reaches it.

    conf₁ = √(width / n), so r̂ + conf₁ = (Σr + √(width · n)) / n. An action never tried counts 1.
    """
    states, actions = counts.shape
    flat_counts = counts.reshape(-1)
    flat_sums = sums.reshape(-1)
    rewards = np.empty(CHUNK * actions)
    for start in range(0, states, CHUNK):
        end = min(states, start + CHUNK)
        first = start * actions
        for cell in range((end - start) * actions):
            n = float(flat_counts[first + cell])
            reward = (flat_sums[first + cell] * unit + math.sqrt(width * n)) / max(1.0, n)
            rewards[cell] = reward if reward < 1.0 and n > 0.0 else 1.0
        for state in range(start, end):
            best = -1.0
            choice = 0
            for action in range(actions):
                reward = rewards[(state - start) * actions + action]
                better = reward > best
                best = reward if better else best
                choice = action if better else choice
            out_reward[state] = best
            out_action[state] = choice


@jit
def optimistic_mean(value: Floats, weight: Weights, first: int, end: int, width: float) -> float:
    """The most that Σ p̃ v can be, with Σ|p̃ − p̂| ≤ conf₂, Σ p̃ = 1 and p̃ ≥ 0, in closed form.

    Over the outcomes from `first` to before `end`, with p̂ = w / n, n = Σ w and conf₂ =
    min(1, √(width / max(1, n))). The best p̃ moves conf₂/2 of mass to the best outcome v* and takes
    it from the worst. Nothing counted (n = 0): any distribution is possible.
    """
    total = weight[first]
    best = value[first]
    for x in range(first + 1, end):
        total += weight[x]
        best = max(best, value[x])
    if total == 0:
        return best
    budget = 0.5 * total * min(1.0, math.sqrt(width / max(1.0, float(total))))
    return best - remaining_loss(value, weight, first, end, best, budget) / total


@jit
def remaining_loss(
    value: Floats, weight: Weights, first: int, end: int, best: float, budget: float
) -> float:
    """What is still lost against the best after taking `budget` of weight from the worst outcomes.

    With deficits d = best − v and a threshold τ, the largest such that the outcomes with d ≥ τ
    weigh at least the budget b, it is Σ w min(d, τ) − τ b. Outcomes as good as the best add exactly
    nothing, so alternatives that are equal stay equal to the last bit. With a budget the weights
    are whole numbers: however τ is found, and whatever outcomes of no weight there are, the result
    is the same to the bit.
    """
    worst = value[first]
    for x in range(first + 1, end):
        worst = min(worst, value[x])
    threshold = best - worst
    found = False
    for _ in range(SCANS):
        mass = weight[first] * 0
        below = 0.0
        for x in range(first, end):
            deficit = best - value[x]
            taken = deficit >= threshold
            mass += weight[x] if taken else 0
            below = max(below, 0.0 if taken else deficit)
        found = mass >= budget
        if found:
            break
        threshold = below
        if threshold == 0.0:
            return 0.0
    if not found:
        threshold = _threshold_by_sorting(value, weight, first, end, best, budget)
    loss = -threshold * budget
    for x in range(first, end):
        loss += weight[x] * min(best - value[x], threshold)
    return max(0.0, loss)


@jit
def _threshold_by_sorting(
    value: Floats, weight: Weights, first: int, end: int, best: float, budget: float
) -> float:
    """The same threshold when it lies far down."""
    mass = weight[first] * 0
    for x in np.argsort(value[first:end]):
        mass += weight[first + x]
        if mass >= budget:
            return best - value[first + x]
    return 0.0
