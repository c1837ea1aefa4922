r"""The best sequential policy by the estimates of classes, less the looks that do not pay.

The plan is dynamic programming over the lattice (`planning/sequential.py`), with p̂ as if it were
the truth. It picks the best of many looks, so it picks lucky ones too. Every look is therefore
judged again, from the last ones up, also by cases that do not speak for themselves. Of the n(ψ)
cases in a state, R(ψ) would be classified rightly by the others (`class_estimates.LeaveOneOut`),
and n(ψ) p̂* are estimated to be. Trusting both alike, acting at once and looking on are worth

    β (R(ψ) + n(ψ) p̂*(ψ)) / 2     and     Σ_{ψ' in Ψ⁺(ψ, i)} G(ψ') − c_i n(ψ),

and G(ψ) is the larger. A look that gains nothing over acting at once is not bought; nor is one
after which the same is done whatever it shows.
"""

from __future__ import annotations

import numpy as np

from askwise._kernels.radii import Radii
from askwise.estimation.estimates import Estimates
from askwise.integrations.sklearn.class_estimates import ClassEstimates, LeaveOneOut
from askwise.planning import plan_sequential
from askwise.planning.trees import prune_looks
from askwise.policy import START, PathTable, Policy
from askwise.states import Lattice

TIE_TOLERANCE = 1e-9
"""Differences of sums, relative to β n, that are no differences."""


def policy_of(lattice: Lattice, classes: ClassEstimates) -> Policy:
    """The pruned policy; its value is G per case."""
    beta = lattice.problem.reward_value
    best = classes.probability.max(axis=1)
    actions = classes.probability.argmax(axis=1).astype(np.int16)
    weight = np.repeat(classes.weight[:, None], lattice.m, axis=1)
    estimates = Estimates(best, actions, weight, Radii())
    values, look = plan_sequential(lattice, estimates, margin=TIE_TOLERANCE * beta)
    left_out = LeaveOneOut(lattice, classes)
    gains: dict[int, float] = {}

    def cases_in(state: int) -> int:
        return int(classes.counts[state].sum())

    def gain(state: int) -> float:
        """G(ψ): that of acting at once, unless a look has been kept there."""
        if state not in gains:
            right = left_out.right(state) + cases_in(state) * float(best[state])
            gains[state] = beta * right / 2
        return gains[state]

    def pays(state: int, look: int, done: set[int]) -> bool:
        cases = cases_in(state)
        after = sum(gain(child) for child in lattice.children(state, look))
        worth = after - lattice.costs[look] * cases
        is_kept = worth > gain(state) + TIE_TOLERANCE * beta * cases and done != {
            int(actions[state])
        }
        if is_kept:
            gains[state] = worth
        return bool(is_kept)

    prune_looks(lattice, look, actions, START, pays)
    gain(START)
    for state, gained in gains.items():
        if cases := cases_in(state):
            values[state] = gained / cases
    return Policy(PathTable(lattice, look, actions, values))
