"""Plans from estimates that do not average out: what a look adds, counted against itself.

Estimates that lean on others where they are thin break the law of total expectation: the mean of
r(a, ψ') over the outcomes of a look need not be r(a, ψ). Then a look after which the same is done
whatever it shows would seem to be worth something. So its worth is counted from what acting blindly
earns in the same outcomes:

    Q(ψ, i) = β r*(ψ) + Σ p(ψ' | ψ, i) (F(ψ') − c) − max_a Σ p(ψ' | ψ, i) β r(a, ψ')
    V(I)    = β r*(∅) + Σ p(ψ) (β r*(ψ) − c(ψ))    − max_a Σ p(ψ) β r(a, ψ)

c being what the look costs with that outcome, c(ψ) what was spent in ψ. The cost of an action comes
off what it earns, and those that act blindly do what is allowed in ψ, or in ∅. With estimates that
do average out these are the plans of `planning.sequential` and `planning.simultaneous`. Where no
case was ever seen, nothing is bought.
"""

from __future__ import annotations

import numpy as np

from askwise._support.typing import Floats
from askwise.planning.sequential import SequentialPlan
from askwise.planning.simultaneous import SimultaneousPlan
from askwise.states import Lattice


def plan_paths_by_advantage(
    lattice: Lattice, probability: Floats, reward: Floats, *, margin: float
) -> SequentialPlan:
    """F(ψ) and the best next look; `reward` is r(a, ψ) at [ψ, a]."""
    beta = lattice.problem.reward_value
    spent = lattice.costs_of(np.arange(lattice.size))
    stop: Floats = beta * lattice.net(reward).max(axis=1)
    values, look = stop.copy(), np.full(lattice.size, -1, np.int16)
    offsets = lattice.action_offsets
    for subset in reversed(range(lattice.subsets)):
        members, here = lattice.members(subset), lattice.block(subset)
        if len(members) == lattice.m:
            continue
        best = stop[here].copy()
        best_look = np.full(len(best), -1, np.int16)
        seen = probability[here] > 0
        for i in range(lattice.buyable):
            if i in members or not lattice.is_open(subset, i):
                continue
            below = lattice.children_of_subset(subset, i)[seen]
            p = probability[below] / probability[here][seen][:, None]
            cost = spent[below] - spent[here][seen][:, None]
            earned = np.einsum("sx,sxa->sa", p, reward[below])
            blindly = beta * (earned if offsets is None else earned + offsets[subset]).max(axis=1)
            worth = stop[here][seen] + (p * (values[below] - cost)).sum(axis=1) - blindly
            better = worth > best[seen] + margin
            rows = np.flatnonzero(seen)[better]
            best[rows], best_look[rows] = worth[better], i
        values[here], look[here] = best, best_look
    return SequentialPlan(values, look)


def plan_sets_by_advantage(
    lattice: Lattice, probability: Floats, reward: Floats, *, margin: float
) -> SimultaneousPlan:
    """V(I) in each context, and the best set."""
    beta, contexts = lattice.problem.reward_value, lattice.contexts
    values = np.full((lattice.subsets, contexts), -np.inf)
    net, offsets = lattice.net(reward), lattice.action_offsets
    blind: Floats = beta * net[:contexts].max(axis=1)
    came = np.maximum(probability[:contexts], 1e-300)
    for subset in lattice.open_subsets.tolist():
        here = lattice.block(subset)
        p = probability[here].reshape(contexts, -1) / came[:, None]
        earned = beta * reward[here].reshape(contexts, p.shape[1], -1)
        spent = lattice.costs_of(np.arange(here.start, here.stop)).reshape(contexts, -1)
        mean = np.einsum("gs,gsa->ga", p, earned)
        blindly = (mean if offsets is None else mean + beta * offsets[0]).max(axis=1)
        best = beta * net[here].max(axis=1).reshape(contexts, -1)
        values[subset] = blind + (p * (best - spent)).sum(axis=1) - blindly
    sets = (values >= values.max(axis=0) - margin).argmax(axis=0)
    return SimultaneousPlan(values.ravel(), sets)
