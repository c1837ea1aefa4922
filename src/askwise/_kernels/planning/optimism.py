"""Optimism in the face of uncertainty: mean rewards, and distributions in an L1 ball."""

import math

import numpy as np

from askwise._kernels.jit import jit, jit_inlined, jit_internal, jit_no_arrays
from askwise._support.typing import Choices, Floats, Integers, Weights

FEW = 8
"""Up to so many outcomes every threshold is tried; beyond, the right one is searched for."""

MOST_APART = 2.0
"""How far apart two distributions can be, as Σ|p − q|: a wider radius says no more."""

CHUNK = 256
"""States handled together, so that the square roots and divisions are done several at a time."""


DOUBT = 1.0
"""Beside what varied, as much as four tosses of a coin: few rewards that are alike say little."""


@jit_inlined
def part_of_coin(earned: float, mean: float, graded: float) -> float:
    """By which part of a coin's variance the rewards of one action in one state varied.

    With S = Σr, n rewards vary by Σr² − S²/n in all, and those of 0 or 1 with the same sum by
    S − S²/n. The difference is G = Σr(1 − r), so it is 1 − G / (S − S²/n + DOUBT): just 1 if all
    rewards are 0 or 1, and never 0.
    """
    return 1.0 - graded / (earned * (1.0 - mean) + DOUBT)


@jit
def optimistic_rewards(
    counts: Integers,
    sums: Integers,
    graded: Integers,
    unit: float,
    width: float,
    by_variance: float,
    measured: float,
    first_states: Integers,
    action_offsets: Floats,
    out_reward: Floats,
    out_action: Choices,
) -> None:
    """r̂*(ψ) = max_a min(1, r̂(a, ψ) + conf₁(a, ψ)) − cost(a)/β and the first action that reaches it.

    conf₁ = √(width / n), so r̂ + conf₁ = (Σr + √(width · n)) / n. An action never tried counts 1.
    With `by_variance` = 1 it is the narrower one of `Radii`; with `measured` = 1 it is narrower
    where rewards are graded. The states of subset I begin with `first_states[I]`;
    `action_offsets[I, a]` is −cost(a)/β, or −∞ where a is not allowed, and empty if there is no
    such thing.
    """
    states, actions = counts.shape
    subset = 0
    flat_counts = counts.reshape(-1)
    flat_sums = sums.reshape(-1)
    flat_graded = graded.reshape(-1)
    rewards = np.empty(CHUNK * actions)
    for start in range(0, states, CHUNK):
        end = min(states, start + CHUNK)
        first = start * actions
        cells = (end - start) * actions
        for cell in range(cells if by_variance == 0.0 else 0):
            n = float(flat_counts[first + cell])
            reward = (flat_sums[first + cell] * unit + math.sqrt(width * n)) / max(1.0, n)
            rewards[cell] = reward if reward < 1.0 and n > 0.0 else 1.0
        for cell in range(0 if measured == 0.0 else cells):
            if flat_graded[first + cell] > 0:
                n = float(flat_counts[first + cell])
                earned = flat_sums[first + cell] * unit
                part = part_of_coin(earned, earned / n, flat_graded[first + cell] * unit)
                rewards[cell] = min(1.0, (earned + math.sqrt(width * n * part)) / n)
        for cell in range(0 if by_variance == 0.0 else cells):
            n = float(flat_counts[first + cell])
            earned = flat_sums[first + cell] * unit
            mean = earned / max(1.0, n)
            lean = width * max(0.0, 1.0 - 2.0 * mean)
            variance = 2.0 * mean * (1.0 - mean)
            off = lean + math.sqrt(lean * lean + width * n * variance)
            reward = (earned + off) / max(1.0, n)
            rewards[cell] = reward if reward < 1.0 and n > 0.0 else 1.0
        for state in range(start, end if len(action_offsets) > 0 else start):
            while first_states[subset + 1] <= state:
                subset += 1
            for action in range(actions):
                rewards[(state - start) * actions + action] += action_offsets[subset, action]
        for state in range(start, end):
            best = -math.inf
            choice = 0
            for action in range(actions):
                reward = rewards[(state - start) * actions + action]
                better = reward > best
                best = reward if better else best
                choice = action if better else choice
            out_reward[state] = best
            out_action[state] = choice


@jit_internal
def optimistic_reward(
    counts: Integers,
    sums: Integers,
    graded: Integers,
    state: int,
    unit: float,
    width: float,
    by_variance: float,
    measured: float,
    subset: int,
    action_offsets: Floats,
) -> tuple[float, int]:
    """`optimistic_rewards` of one state of a subset, to the same bits: its reward and the action.

    One arithmetic for all radii: with `by_variance` = 0 what it adds is exactly nothing.
    """
    fixed = 1.0 - by_variance
    best = -math.inf
    choice = 0
    for action in range(counts.shape[1]):
        n = float(counts[state, action])
        earned = sums[state, action] * unit
        mean = earned / max(1.0, n)
        lean = width * by_variance * max(0.0, 1.0 - 2.0 * mean)
        variance = fixed + by_variance * 2.0 * mean * (1.0 - mean)
        if measured > 0.0 and graded[state, action] > 0:
            variance = part_of_coin(earned, mean, graded[state, action] * unit)
        off = lean + math.sqrt(lean * lean + width * n * variance)
        reward = (earned + off) / max(1.0, n)
        reward = reward if reward < 1.0 and n > 0.0 else 1.0
        if len(action_offsets) > 0:
            reward += action_offsets[subset, action]
        if reward > best:
            best = reward
            choice = action
    return best, choice


@jit_no_arrays
def optimistic_mean(
    value: Floats,
    weight: Weights,
    first: int,
    stride: int,
    first_weight: int,
    weight_stride: int,
    outcomes: int,
    width: float,
    cap: float,
    is_few: bool,
) -> float:
    """The most that Σ p̃ v can be, with Σ|p̃ − p̂| ≤ conf₂, Σ p̃ = 1 and p̃ ≥ 0, in closed form.

    The outcomes have the values value[first], value[first + stride], … and the weights
    weight[first_weight], weight[first_weight + weight_stride], …; p̂ = w / n with n = Σ w, and
    conf₂ = min(cap, √(width / max(1, n))). The best p̃ moves conf₂/2 of mass to the best outcome v*
    and takes it from the worst. Any distribution is possible where nothing was counted (n = 0), and
    where conf₂ is 2: the mean is then v* itself, to the bit, so that such looks are ties.

    `is_few` says whether there are at most FEW outcomes, those of no weight that were left out
    included: it decides by which sum, so by which rounding, the loss is worked out.
    """
    total = weight[first_weight]
    best = value[first]
    for x in range(1, outcomes):
        total += weight[first_weight + x * weight_stride]
        best = max(best, value[first + x * stride])
    if total == 0:
        return best
    radius = min(cap, math.sqrt(width / max(1.0, float(total))))
    if radius >= MOST_APART:
        return best
    budget = 0.5 * total * radius
    loss = remaining_loss(
        value, weight, first, stride, first_weight, weight_stride, outcomes, best, budget, is_few
    )
    return best - loss / total


@jit
def optimistic_means(
    value: Floats,
    weight: Floats,
    outcomes: int,
    lanes: int,
    width: float,
    cap: float,
    best: Floats,
    total: Floats,
    kept: Floats,
    out: Floats,
) -> None:
    """`optimistic_mean` of at most FEW outcomes for many looks side by side, to the same bits.

    `value[x, lane]` and `weight[x, lane]` are what outcome x of that look is worth and its weight;
    the values are turned into deficits. `best`, `total` and `kept` are room to work in.
    """
    for lane in range(lanes):
        best[lane] = value[0, lane]
        total[lane] = weight[0, lane]
    for x in range(1, outcomes):
        for lane in range(lanes):
            best[lane] = max(best[lane], value[x, lane])
            total[lane] += weight[x, lane]
    for x in range(outcomes):
        for lane in range(lanes):
            value[x, lane] = best[lane] - value[x, lane]
    out[:lanes] = 0.0
    for y in range(outcomes):
        for lane in range(lanes):
            n = total[lane]
            budget = 0.5 * n * min(cap, math.sqrt(width / max(1.0, n)))
            kept[lane] = -value[y, lane] * budget
        for x in range(outcomes):
            for lane in range(lanes):
                kept[lane] += weight[x, lane] * min(value[x, lane], value[y, lane])
        for lane in range(lanes):
            out[lane] = max(out[lane], kept[lane])
    for lane in range(lanes):
        n = total[lane]
        # n is 0 (any distribution: no loss), a probability, or a count of at least 1
        is_open = min(cap, math.sqrt(width / max(1.0, n))) >= MOST_APART
        loss = 0.0 if is_open else out[lane] / (n if n > 0.0 else 1.0)
        out[lane] = best[lane] - loss


@jit_no_arrays
def remaining_loss(
    value: Floats,
    weight: Weights,
    first: int,
    stride: int,
    first_weight: int,
    weight_stride: int,
    outcomes: int,
    best: float,
    budget: float,
    is_few: bool,
) -> float:
    """What is still lost against the best after taking a budget b of weight from the worst.

    With deficits d = best − v it is the largest of Σ w min(d, τ) − τ b over the thresholds τ among
    the deficits (the dual of taking b where it hurts most), reached by the largest τ whose outcomes
    with d ≥ τ weigh at least b. Outcomes as good as the best add exactly nothing, so alternatives
    that are equal stay equal to the last bit. With a budget the weights are whole numbers: outcomes
    of no weight, and the way τ is found, do not change a bit.
    """
    if is_few:
        loss = 0.0
        for y in range(outcomes):
            threshold = best - value[first + y * stride]
            kept = -threshold * budget
            for x in range(outcomes):
                deficit = best - value[first + x * stride]
                kept += weight[first_weight + x * weight_stride] * min(deficit, threshold)
            loss = max(loss, kept)
        return loss

    # Bisection: every outcome with d ≥ low weighs at least b, those with d > high weigh less.
    low = 0.0
    high = 0.0
    for x in range(outcomes):
        high = max(high, best - value[first + x * stride])
    middle = high  # most often it is the worst outcome that decides
    while low < high:
        mass = weight[first_weight] * 0
        above = high
        below = low
        for x in range(outcomes):
            deficit = best - value[first + x * stride]
            if deficit >= middle:
                mass += weight[first_weight + x * weight_stride]
                above = min(above, deficit)
            else:
                below = max(below, deficit)
        if mass >= budget:
            low = above
        else:
            high = below
        middle = max(0.5 * (low + high), math.nextafter(low, math.inf))
    loss = -low * budget
    for x in range(outcomes):
        deficit = best - value[first + x * stride]
        loss += weight[first_weight + x * weight_stride] * min(deficit, low)
    return max(0.0, loss)
