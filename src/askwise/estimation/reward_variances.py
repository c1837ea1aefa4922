"""How much the rewards of an action vary, by all that it earned.

Rewards of 0 or 1 with the mean u have the variance u(1 − u), a coin's. Others have less, by the
mean of r(1 − r):

    v = E[r²] − u² = u(1 − u) − E[r(1 − r)]

A single state says little of it: one in which the loss that is rare has not come yet has none at
all. So it leans on what the action earned in all states, and has a least value,

    least = min(ρ · LEAST_VARIANCE, v of all states together)

ρ being the part of a coin's variance that rewards have within states. If all are 0 or 1 it is 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Floats, Integers

COINS = 0.25
"""What ρ leans on 1 by: the variance of one toss of a coin."""


class RewardVariances(NamedTuple):
    """Of each action, with ρ rewards of 1 and ρ of 0 beside those that came."""

    usual: Floats
    """The mean of r,"""
    usually_graded: Floats
    """and of r(1 − r)."""
    least: Floats
    """Which no state's variance is below."""


def reward_variances(n: Floats, earned: Floats, graded: Floats, coins: Floats) -> RewardVariances:
    """From N, Σr and Σr(1 − r) of each action, and Σ_ψ (Σr − (Σr)²/N): what coins would vary."""
    from askwise._kernels.estimation.joint_rewards import LEAST_VARIANCE

    part = 1.0 - graded / (coins + COINS)
    usual = (earned + part) / (n + 2.0 * part)
    usually_graded = graded / (n + 2.0 * part)
    of_all = usual * (1.0 - usual) - usually_graded
    return RewardVariances(usual, usually_graded, np.minimum(LEAST_VARIANCE * part, of_all))


def varied_as_coins(n: Floats | Integers, earned: Floats) -> Floats:
    """Σ_ψ (S − S²/N) of each action, at [ψ, a]: by how much rewards of 0 or 1 would vary."""
    found: Floats = (earned - earned * earned / np.maximum(1.0, n)).sum(axis=0)
    return found
