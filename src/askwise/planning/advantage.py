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

A plan picks the best of many looks, and after each the best of several actions, so it picks lucky
ones too. If a look tells nothing, the action a is δ_a = β (r*(ψ) − r(a, ψ)) behind the best one in
each of its outcomes; estimated from n records there, and s more like the state before, it seems to
be ahead by N(−δ_a, τ_a²), τ_a = β σ_a √n / (n + s), σ_a being the deviation of what it earns more
in one record. So a look that tells nothing seems to be worth

    Σ p(ψ' | ψ, i) max_a E max(0, N(−δ_a, τ_a²)),   E max(0, N(−δ, τ²)) = τ φ(δ/τ) − δ Φ(−δ/τ),

and a multiple of that may be taken off (`Luck`): much where actions are close and records few,
nothing where what is best is clear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Floats
from askwise.planning.sequential import SequentialPlan
from askwise.planning.simultaneous import SimultaneousPlan
from askwise.states import Lattice


class Luck(NamedTuple):
    """What a look is charged with: what it would seem to be worth if it told nothing."""

    cases: Floats
    """n(ψ): the records that estimates rest on."""
    spread: Floats
    """At [ψ, a]: the deviation of what a earns more than the best action in one record."""
    shrinkage: float
    """How many records the estimate of a state is drawn to its parents by."""
    charge: float
    """How many times that is charged."""


def plan_paths_by_advantage(
    lattice: Lattice,
    probability: Floats,
    reward: Floats,
    *,
    margin: float,
    luck: Luck | None = None,
) -> SequentialPlan:
    """F(ψ) and the best next look; `reward` is r(a, ψ) at [ψ, a]."""
    from askwise._kernels.planning.advantage import paths_by_advantage

    values, look = np.empty(lattice.size), np.empty(lattice.size, np.int16)
    beta, offsets = lattice.problem.reward_value, lattice.action_offsets
    if luck is None:
        luck = Luck(probability, np.zeros((0, 0)), 1.0, 0.0)
    paths_by_advantage(
        lattice.layout,
        beta,
        beta * lattice.net(reward).max(axis=1),
        lattice.costs_of(np.arange(lattice.size)),
        luck.cases,
        probability,
        np.ascontiguousarray(reward),
        np.zeros((lattice.subsets, reward.shape[1])) if offsets is None else offsets,
        luck.spread,
        luck.shrinkage,
        luck.charge,
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
