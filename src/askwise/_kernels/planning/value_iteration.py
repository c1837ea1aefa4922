"""Extended value iteration on the two-stage decision process, as in UCRL2."""

import math

import numpy as np

from askwise._kernels.jit import jit
from askwise._kernels.planning.optimism import FEW, remaining_loss
from askwise._support.typing import Choices, Floats, Integers


@jit
def extended_value_iteration(
    offsets: Integers,
    reward: Floats,
    counts: Integers,
    visits: Integers,
    subset_reward: Floats,
    width: float,
    precision: float,
    most_iterations: int,
    out_action: Choices,
) -> int:
    """Compute the optimistic policy: fill the action of every state, and return the subset to buy.

    The start state has one choice for each subset. It earns `subset_reward` and leads to one of the
    subset's states, counted in `visits`. A state ψ has one choice for each action. It earns
    `reward[ψ, a]` and leads back to the start. Neither distribution is known: every distribution
    over all states within √(width / N) of the counts is possible. The iteration is damped by half,
    because the process has period 2.
    """
    states, actions = counts.shape
    subsets = len(offsets) - 1
    value = np.zeros(states)
    start = 0.0
    choice = 0
    for _ in range(most_iterations):
        best = max(start, value.max())
        new_start = -math.inf
        for subset in range(subsets):
            first = offsets[subset]
            end = offsets[subset + 1]
            n = 0
            for state in range(first, end):
                n += visits[state]
            mean = best
            if n > 0:
                moved = min(1.0, 0.5 * math.sqrt(width / n))
                if moved < 1.0:
                    outcomes = end - first
                    few = outcomes <= FEW
                    loss = remaining_loss(
                        value, visits, first, 1, first, 1, outcomes, best, moved * n, few
                    )
                    mean = best - loss / n
            if subset_reward[subset] + mean > new_start:
                new_start = subset_reward[subset] + mean
                choice = subset
        lowest = new_start - start
        highest = lowest
        for state in range(states):
            new = -math.inf
            for action in range(actions):
                n = counts[state, action]
                kept = 0.0 if n == 0 else 1.0 - min(1.0, 0.5 * math.sqrt(width / n))
                candidate = reward[state, action] + best - kept * (best - start)
                if candidate > new:
                    new = candidate
                    out_action[state] = action
            change = new - value[state]
            lowest = min(lowest, change)
            highest = max(highest, change)
            value[state] += 0.5 * change
        start += 0.5 * (new_start - start)
        if highest - lowest < precision:
            break
    return choice
