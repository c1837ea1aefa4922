r"""The best sequential policy for what is believed, less the looks that do not pay.

The plan is dynamic programming over the lattice (`planning/sequential.py`), with p̂ as if it were
the truth. It picks the best of many looks, so it picks lucky ones too. Every look is therefore
judged again, from the last ones up, also by cases that do not speak for themselves. Of the n(ψ)
cases in a state, R(ψ) would be classified rightly by the others (`shrinkage.LeftOut`), and n(ψ) p̂*
are believed to be. Believing both alike, acting at once and looking on are worth

    β (R(ψ) + n(ψ) p̂*(ψ)) / 2     and     Σ_{ψ' in Ψ⁺(ψ, i)} G(ψ') − c_i n(ψ),

and G(ψ) is the larger. A look that gains nothing over acting at once is not bought; nor is one
after which the same is done whatever it shows.
"""

from __future__ import annotations

import numpy as np

from askwise._kernels.radii import Radii
from askwise.estimation.estimates import Estimates
from askwise.integrations.sklearn.shrinkage import Beliefs, LeftOut
from askwise.planning import plan_sequential
from askwise.policy import START, PathTable, Policy
from askwise.states import Lattice

HAIR = 1e-9
"""Differences of sums, relative to β n, that are no differences."""


def policy_of(lattice: Lattice, beliefs: Beliefs) -> Policy:
    """The pruned policy; its value is G per case."""
    beta = lattice.problem.reward_value
    best = beliefs.probability.max(axis=1)
    actions = beliefs.probability.argmax(axis=1).astype(np.int16)
    weight = np.repeat(beliefs.weight[:, None], lattice.m, axis=1)
    estimates = Estimates(best, actions, weight, Radii())
    values, following = plan_sequential(lattice, estimates, margin=HAIR * beta)
    left_out = LeftOut(lattice, beliefs)

    def prune(state: int) -> tuple[float, set[int]]:
        """G(ψ), and what is done in the states below."""
        cases = int(beliefs.counts[state].sum())
        gain = beta * (left_out.right(state) + cases * float(best[state])) / 2
        done = {int(actions[state])}
        look = int(following[state])
        if look >= 0:
            below = [prune(child) for child in lattice.children(state, look)]
            worth = sum(gain for gain, _ in below) - lattice.costs[look] * cases
            ways = set().union(*(ways for _, ways in below))
            if worth > gain + HAIR * beta * cases and ways != done:
                gain, done = worth, ways
            else:
                following[state] = -1
        if cases:
            values[state] = gain / cases
        return gain, done

    prune(START)
    return Policy(PathTable(lattice, following, actions, values))
