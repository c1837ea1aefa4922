"""Plans from estimates that do not average out: what a look adds, counted against itself.

Estimates that lean on others where they are thin break the law of total expectation: the mean of
r(a, ψ') over the outcomes of a look need not be r(a, ψ). Then a look after which the same is done
whatever it shows would seem to be worth something. So its worth is counted from what acting blindly
earns in the same outcomes:

    Q(ψ, i) = β r*(ψ) + Σ p(ψ' | ψ, i) (F(ψ') − c) − max_a Σ p(ψ' | ψ, i) β r(a, ψ')
    V(I)    = β r*(∅) + Σ p(ψ) (β r*(ψ) − c(ψ))    − max_a Σ p(ψ) β r(a, ψ)

c being what the look costs with that outcome, c(ψ) what was spent in ψ. With estimates that do
average out these are the plans of `planning.sequential` and `planning.simultaneous`. Where no
case was ever seen, nothing is bought.
"""

from __future__ import annotations

import numpy as np

from askwise._support.typing import Floats
from askwise.planning.sequential import SequentialPlan
from askwise.planning.simultaneous import SimultaneousPlan
from askwise.states import Lattice


def plan_paths_by_advantage(
    lattice: Lattice,
    probability: Floats,
    reward: Floats,
    *,
    margin: float,
    cases: Floats | None = None,
    charge: Floats | None = None,
) -> SequentialPlan:
    """F(ψ) and the best next look; `reward` is r(a, ψ) at [ψ, a].

    A state was seen if it has `cases`, or else if it is likely at all. A look is charged `charge`
    of its state for each outcome but one that was seen after it.
    """
    from askwise._kernels.planning.advantage import paths_by_advantage

    values, look = np.empty(lattice.size), np.empty(lattice.size, np.int16)
    paths_by_advantage(
        lattice.layout,
        lattice.problem.reward_value,
        lattice.costs_of(np.arange(lattice.size)),
        probability if cases is None else cases,
        probability,
        np.ascontiguousarray(reward),
        np.zeros(lattice.size) if charge is None else charge,
        margin,
        values,
        look,
    )
    return SequentialPlan(values, look)


def plan_sets_by_advantage(
    lattice: Lattice, probability: Floats, reward: Floats, *, margin: float
) -> SimultaneousPlan:
    """V(I) in each context, and the best set."""
    beta, contexts = lattice.problem.reward_value, lattice.contexts
    values = np.empty((lattice.subsets, contexts))
    blind: Floats = beta * reward[:contexts].max(axis=1)
    came = np.maximum(probability[:contexts], 1e-300)
    for subset in range(lattice.subsets):
        here = lattice.block(subset)
        p = probability[here].reshape(contexts, -1) / came[:, None]
        earned = beta * reward[here].reshape(contexts, p.shape[1], -1)
        spent = lattice.costs_of(np.arange(here.start, here.stop)).reshape(contexts, -1)
        blindly = np.einsum("gs,gsa->ga", p, earned).max(axis=1)
        values[subset] = blind + (p * (earned.max(axis=2) - spent)).sum(axis=1) - blindly
    sets = (values >= values.max(axis=0) - margin).argmax(axis=0)
    return SimultaneousPlan(values.ravel(), sets)
