"""Optimism in the face of uncertainty: mean rewards, and distributions in an L1 ball."""

import math

import numpy as np

from askwise._kernels.jit import jit
from askwise._typing import Choices, Floats, Integers, Weights

FEW = 8
"""Up to so many outcomes the thresholds are tried one by one; beyond, they are sorted."""

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
def optimistic_mean(
    value: Floats,
    weight: Weights,
    slot: int,
    first: int,
    stride: int,
    outcomes: int,
    width: float,
) -> float:
    """Max Σ p̃ v over the p̃ with Σ|p̃ − p̂| ≤ conf₂, Σ p̃ = 1 and p̃ ≥ 0, in closed form.

    The outcomes are the states first, first + stride, …; p̂ = w / n with w = weight[·, slot] and
    n = Σ w; conf₂ = min(1, √(width / max(1, n))). The best p̃ moves conf₂/2 of mass to the best
    outcome v* and takes it from the worst. Nothing counted (n = 0): any distribution is possible.

    With deficits d = v* − v, what is still lost after taking b = n · conf₂/2 from the worst is

        max_τ  Σ w min(d, τ) − τ b,     τ one of the deficits

    (the dual of "remove at most b where it hurts most"). Outcomes as good as the best add exactly
    nothing, so alternatives that are equal stay equal to the last bit.
    """
    total = weight[first, slot]
    best = value[first]
    for x in range(1, outcomes):
        state = first + x * stride
        total += weight[state, slot]
        best = max(best, value[state])
    if total == 0:
        return best
    budget = 0.5 * total * min(1.0, math.sqrt(width / max(1.0, float(total))))
    if outcomes > FEW:
        loss = loss_by_sorting(value, weight, slot, first, stride, outcomes, best, budget)
        return best - loss / total
    loss = 0.0
    for y in range(outcomes):
        threshold = best - value[first + y * stride]
        kept = -threshold * budget
        for x in range(outcomes):
            state = first + x * stride
            kept += weight[state, slot] * min(best - value[state], threshold)
        loss = max(loss, kept)
    return best - loss / total


@jit
def loss_by_sorting(
    value: Floats,
    weight: Weights,
    slot: int,
    first: int,
    stride: int,
    outcomes: int,
    best: float,
    budget: float,
) -> float:
    """The same loss for many outcomes: finds the threshold, then sums in the order of the states.

    Equal deficits are taken together, and what is left of the budget is compared with whole
    numbers, so the order in which a sort leaves equals does not matter.
    """
    order = np.argsort(value[first : first + outcomes * stride : stride])
    at = 0
    while True:
        threshold = best - value[first + order[at] * stride]
        mass = weight[first + order[at] * stride, slot]
        at += 1
        while at < outcomes and best - value[first + order[at] * stride] == threshold:
            mass += weight[first + order[at] * stride, slot]
            at += 1
        if mass >= budget or at == outcomes:
            break
        budget -= mass
    loss = threshold * max(0.0, mass - budget)
    for x in range(outcomes):
        state = first + x * stride
        deficit = best - value[state]
        if deficit < threshold:
            loss += weight[state, slot] * deficit
    return loss
