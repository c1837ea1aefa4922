"""Populations on which optimism is hard to keep (β = 1)."""

import numpy as np

from askwise import Model, Observation, Problem


def erratum() -> Model:
    """To look at y and then, after u, at x is best. One unlucky look at x after u seems to say no.

    Looking at x and then at y tells all about (u, c), where no action earns anything: if the first
    look at x after u shows c, conf₂ alone can make a learner look there again.
    """
    problem = Problem(
        observations=[
            Observation("x", values=["a", "b", "c"], cost=3 / 32),
            Observation("y", values=["u", "v"], cost=1 / 16),
        ],
        actions=["A", "B", "C"],
    )
    reward = np.zeros((3, 2, 3))
    reward[0, 0], reward[1, 0], reward[:, 1] = (1, 0.3, 0), (0.3, 1, 0), (0, 0, 0.3)
    return Model(problem, np.outer([0.4, 0.4, 0.2], [0.5, 0.5]), reward)


def parity() -> Model:
    """Two looks tell all together and nothing apart; acting blindly is nearly as good."""
    problem = Problem(
        observations=[Observation(n, values=[0, 1], cost=0.05) for n in ("left", "right")],
        actions=["even", "odd", "neither"],
    )
    reward = np.zeros((2, 2, 3))
    for left, right in np.ndindex(2, 2):
        reward[left, right, (left + right) % 2] = 0.9
        reward[left, right, 2] = 0.7
    return Model(problem, np.full((2, 2), 0.25), reward)


def rare() -> Model:
    """A look that pays only by what it shows once in twenty cases."""
    problem = Problem(
        observations=[
            Observation("scan", values=["no", "yes"], cost=0.015),
            Observation("age", values=["young", "old"], cost=0.01),
        ],
        actions=["wait", "treat"],
    )
    reward = np.zeros((2, 2, 2))
    reward[0], reward[1] = (0.8, 0.3), (0.0, 0.9)
    return Model(problem, np.outer([0.95, 0.05], [0.5, 0.5]), reward)


MODELS = {"erratum": erratum, "parity": parity, "rare": rare}
