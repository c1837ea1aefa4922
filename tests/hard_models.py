"""Populations on which optimism is hard to keep (β = 1), for the tests of the guarantee."""

import numpy as np

import askwise as aw
from askwise.estimation.models import Model


def unlucky():
    """To look at y and then, after u, at x is best: 0.4406 a case.

    Looking at x and then at y tells all about (u, c), where no action earns anything. If the first
    look at x after u shows c, then conf₂ alone can make a learner look there again.
    """
    problem = aw.Problem(
        observations=[
            aw.Observation("x", values=["a", "b", "c"], cost=3 / 32),
            aw.Observation("y", values=["u", "v"], cost=1 / 16),
        ],
        actions=["A", "B", "C"],
        reward_value=1.0,
    )
    reward = np.zeros((3, 2, 3))
    reward[0, 0], reward[1, 0], reward[:, 1] = (1, 0.3, 0), (0.3, 1, 0), (0, 0, 0.3)
    return Model(problem, np.outer([0.4, 0.4, 0.2], [0.5, 0.5]), reward)


def parity():
    """Two looks tell all together and nothing apart; acting blindly is nearly as good."""
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=0.05) for n in ("left", "right")],
        actions=["even", "odd", "neither"],
    )
    reward = np.full((2, 2, 3), 0.7)
    for left, right in np.ndindex(2, 2):
        reward[left, right, :2] = 0.0
        reward[left, right, (left + right) % 2] = 0.9
    return Model(problem, np.full((2, 2), 0.25), reward)


def rare():
    """A look that pays only by what it shows once in twenty cases."""
    problem = aw.Problem(
        observations=[
            aw.Observation("scan", values=["no", "yes"], cost=0.015),
            aw.Observation("age", values=["young", "old"], cost=0.01),
        ],
        actions=["wait", "treat"],
    )
    reward = np.zeros((2, 2, 2))
    reward[0], reward[1] = (0.8, 0.3), (0.0, 0.9)
    return Model(problem, np.outer([0.95, 0.05], [0.5, 0.5]), reward)


def three():
    """Three looks of 2, 3 and 2 values, at most two of them."""
    rng = np.random.default_rng(3)
    problem = aw.Problem(
        observations=[
            aw.Observation(n, values=list(range(k)), cost=0.03)
            for n, k in (("p", 2), ("q", 3), ("r", 2))
        ],
        actions=["A", "B"],
        max_observations=2,
    )
    return Model(problem, rng.dirichlet(np.ones(12)), rng.random((12, 2)))


HARD = (unlucky, parity, rare, three)
