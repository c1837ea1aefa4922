"""Optimism in the face of uncertainty: mean rewards, and distributions in an L1 ball."""

import math

import numpy as np

from askwise._kernels.jit import jit, jit_inlined, jit_internal, jit_no_arrays
from askwise._support.typing import Choices, Floats, Integers, Weights

FEW = 8
"""Up to so many outcomes every threshold is tried. Beyond, bisection finds the threshold."""

MOST_APART = 2.0
"""The largest distance Σ|p − q| of two distributions. A wider radius has no further effect."""

CHUNK = 256
"""States are handled in chunks, so that square roots and divisions are vectorised."""


DOUBT = 1.0
"""As much variance as that of four tosses of a coin is added, because few equal rewards are weak
evidence.
"""


@jit_inlined
def part_of_coin(earned: float, mean: float, graded: float) -> float:
    """Return the variance of the rewards of one action in one state, relative to a coin's.

    With S = Σr, the squared deviations of n rewards sum to Σr² − S²/n. Those of rewards of 0 or 1
    with the same sum would sum to S − S²/n. The difference is G = Σr(1 − r), so the ratio is 1 − G
    / (S − S²/n + DOUBT). It is exactly 1 if all rewards are 0 or 1, and never 0.
    """
    return 1.0 - graded / (earned * (1.0 - mean) + DOUBT)


@jit_inlined
def off_by_variance(earned: float, mean: float, graded: float, width: float) -> float:
    """Return the narrower of two valid bounds n · conf₁ that use the variance
    (`estimation/tight.py`).

    The first uses only the mean r̂, with r̂(1 − r̂), the variance of a coin. The second subtracts a
    lower bound of the mean of r(1 − r), from G = Σr(1 − r). G is 0 if all rewards are 0 or 1.
    """
    coin = earned * (1.0 - mean)
    lean = width * max(0.0, 1.0 - 2.0 * mean)
    off = lean + math.sqrt(lean * lean + 2.0 * width * coin)
    if graded > 0.0:
        missing = max(0.0, graded - math.sqrt(0.5 * width * graded))
        lean = width * max(0.0, 4.0 / 3.0 - 2.0 * mean)
        varied = 2.0 * width * max(0.0, coin - missing)
        off = min(off, lean + math.sqrt(lean * lean + varied))
    return off


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
    """r̂*(ψ) = max_a min(1, r̂(a, ψ) + conf₁(a, ψ)) − cost(a)/β and the first action that reaches
    it.

    conf₁ = √(width / n), so r̂ + conf₁ = (Σr + √(width · n)) / n. An action that was never tried
    counts 1. With `by_variance` = 1, conf₁ is that of `off_by_variance`. Otherwise, with `measured`
    = 1, it is narrower where rewards are graded. The states of subset I begin with
    `first_states[I]`. `action_offsets[I, a]` is −cost(a)/β, or −∞ where a is not allowed. It is
    empty if actions have no costs and no requirements.
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
        for cell in range(0 if measured == 0.0 or by_variance > 0.0 else cells):
            if flat_graded[first + cell] > 0:
                n = float(flat_counts[first + cell])
                earned = flat_sums[first + cell] * unit
                part = part_of_coin(earned, earned / n, flat_graded[first + cell] * unit)
                rewards[cell] = min(1.0, (earned + math.sqrt(width * n * part)) / n)
        for cell in range(0 if by_variance == 0.0 else cells):
            n = float(flat_counts[first + cell])
            earned = flat_sums[first + cell] * unit
            rest = flat_graded[first + cell] * unit
            off = off_by_variance(earned, earned / max(1.0, n), rest, width)
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
    """Compute `optimistic_rewards` of one state of a subset, to the same bits: reward and
    action.
    """
    best = -math.inf
    choice = 0
    for action in range(counts.shape[1]):
        n = float(counts[state, action])
        earned = sums[state, action] * unit
        mean = earned / max(1.0, n)
        rest = graded[state, action] * unit
        if by_variance > 0.0:
            off = off_by_variance(earned, mean, rest, width)
        else:
            part = part_of_coin(earned, mean, rest) if measured > 0.0 and rest > 0.0 else 1.0
            off = math.sqrt(width * n * part)
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
    """Return the maximum of Σ p̃ v with Σ|p̃ − p̂| ≤ conf₂, Σ p̃ = 1 and p̃ ≥ 0, in closed form.

    The outcomes have the values value[first], value[first + stride], …. Their weights w are
    weight[first_weight], weight[first_weight + weight_stride], …. With n = Σ w, p̂ = w / n and
    conf₂ = min(cap, √(width / max(1, n))). The best p̃ moves a mass of conf₂/2 from the worst
    outcomes to the best outcome v*. Any distribution is possible if nothing was counted (n = 0) or
    if conf₂ is 2. The mean is then v* itself, to the bit, so that such observations are ties.

    `is_few` says whether there are at most FEW outcomes, including outcomes without weight that
    were left out. It decides which sum computes the loss, and so how the loss is rounded.
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
    """Compute `optimistic_mean` of at most FEW outcomes for many observations at once, to the same
    bits.

    `value[x, lane]` and `weight[x, lane]` are the value and the weight of outcome x. The values are
    turned into deficits. `best`, `total` and `kept` are work space.
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
    """Return the loss that remains after taking a budget b of weight from the worst outcomes.

    With deficits d = best − v it is the maximum of Σ w min(d, τ) − τ b over the thresholds τ among
    the deficits. This is the dual of taking b from the largest deficits. The largest τ whose
    outcomes with d ≥ τ weigh at least b reaches it. Outcomes as good as the best add exactly
    nothing, so equal alternatives stay equal to the last bit. With a budget the weights are whole
    numbers. So outcomes without weight, and the way τ is found, do not change a bit.
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
    middle = high  # most often the worst outcome decides
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
