"""The variance of the rewards of an action, from all that it earned.

Rewards of 0 or 1 with the mean u have the variance u(1 − u), a coin's. The variance of other
rewards is less by the mean of r(1 − r):

    v = E[r²] − u² = u(1 − u) − E[r(1 − r)]

A single state is little evidence for v. If a rare loss has not come there yet, its rewards have no
variance at all. So the estimate uses what the action earned in all states, and has a lower bound,

    least = min(ρ · LEAST_VARIANCE, v of all states together)

where ρ is the variance of rewards within states, relative to a coin's. If all rewards are 0 or 1, ρ
is 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Floats, Integers

COINS = 0.25
"""ρ is shrunk towards 1 by the variance of one toss of a coin."""


class RewardVariances(NamedTuple):
    """The variances of each action, with ρ rewards of 1 and ρ of 0 added to the counted ones."""

    usual: Floats
    """The mean of r."""
    usually_graded: Floats
    """The mean of r(1 − r)."""
    least: Floats
    """The lower bound of the variance in a state."""


def reward_variances(n: Floats, earned: Floats, graded: Floats, coins: Floats) -> RewardVariances:
    """From N, Σr and Σr(1 − r) of each action, and from Σ_ψ (Σr − (Σr)²/N), the variation of
    coins.
    """
    from askwise._kernels.estimation.joint_rewards import LEAST_VARIANCE

    part = 1.0 - graded / (coins + COINS)
    usual = (earned + part) / (n + 2.0 * part)
    usually_graded = graded / (n + 2.0 * part)
    of_all = usual * (1.0 - usual) - usually_graded
    return RewardVariances(usual, usually_graded, np.minimum(LEAST_VARIANCE * part, of_all))


def varied_as_coins(n: Floats | Integers, earned: Floats) -> Floats:
    """Σ_ψ (S − S²/N) of each action, from [ψ, a]: the variation of rewards of 0 or 1."""
    found: Floats = (earned - earned * earned / np.maximum(1.0, n)).sum(axis=0)
    return found
