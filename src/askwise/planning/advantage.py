"""Plans from estimates that are inconsistent: the value of an observation is measured against
itself.

Shrunk estimates violate the law of total expectation: the mean of r(a, ψ') over the outcomes of an
observation need not be r(a, ψ). An observation after which the same action always follows would
then seem to be worth something. So its worth is measured against acting without it in the same
outcomes:

    Q(ψ, i) = β r*(ψ) + Σ p(ψ' | ψ, i) (F(ψ') − c) − max_a Σ p(ψ' | ψ, i) β r(a, ψ')
    V(I)    = β r*(∅) + Σ p(ψ) (β r*(ψ) − c(ψ))    − max_a Σ p(ψ) β r(a, ψ)

Here c is the cost of the observation with that outcome, and c(ψ) is what was spent in ψ. The cost
of an action is subtracted from what it earns. Acting without the observation is limited to the
actions allowed in ψ, or in ∅. With consistent estimates these are the plans of
`planning.sequential` and `planning.simultaneous`. Where no case was ever seen, nothing is bought.

A plan selects the best of many observations, and after each the best of several actions. So it also
selects some that are overestimated by chance. If an observation is uninformative, action a is δ_a =
β (r*(ψ) − r(a, ψ)) behind the best one in each of its outcomes. It is estimated from n records
there, and s more like the state before. So it seems to be ahead by N(−δ_a, τ_a²), τ_a = β σ_a √n /
(n + s), where σ_a is the standard deviation of the difference in one record. So an uninformative
observation seems to be worth

    Σ p(ψ' | ψ, i) max_a E max(0, N(−δ_a, τ_a²)),   E max(0, N(−δ, τ²)) = τ φ(δ/τ) − δ Φ(−δ/τ),

and a multiple of that may be subtracted (`Luck`): much where actions are close and records few,
nothing where the best action is clear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Floats
from askwise.planning.sequential import SequentialPlan
from askwise.planning.simultaneous import SimultaneousPlan
from askwise.states import Lattice


class Luck(NamedTuple):
    """The charge of an observation: what it would seem to be worth if it were uninformative."""

    cases: Floats
    """n(ψ): the number of records behind the estimates."""
    spread: Floats
    """At [ψ, a]: the standard deviation of the difference between a and the best action in one
    record.
    """
    strength: Floats
    """The number of records by which the states of each subset are drawn towards their parents."""
    charge: float
    """The multiple that is charged."""


def plan_paths_by_advantage(
    lattice: Lattice,
    probability: Floats,
    reward: Floats,
    *,
    margin: float,
    luck: Luck | None = None,
    rebate: Floats | None = None,
) -> SequentialPlan:
    """F(ψ) and the best next observation; `reward` is r(a, ψ) at [ψ, a].

    `rebate` is how much less than in the lattice an observation costs after a subset, at
    [subset, i]. So prices may depend on the order of purchases, which c(ψ) cannot: then F(ψ) is
    what follows from ψ on, whatever was spent before.
    """
    from askwise._kernels.planning.advantage import paths_by_advantage

    values, look = np.empty(lattice.size), np.empty(lattice.size, np.int16)
    beta, offsets = lattice.problem.reward_value, lattice.action_offsets
    if luck is None:
        luck = Luck(probability, np.zeros((0, 0)), np.zeros(0), 0.0)
    paths_by_advantage(
        lattice.layout,
        beta,
        beta * lattice.net(reward).max(axis=1),
        lattice.state_costs,
        luck.cases,
        probability,
        np.ascontiguousarray(reward),
        np.zeros((lattice.subsets, reward.shape[1])) if offsets is None else offsets,
        luck.spread,
        luck.strength,
        luck.charge,
        np.zeros((0, 0)) if rebate is None else rebate,
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
    earned, best = beta * reward, beta * net.max(axis=1) - lattice.state_costs
    for subsets, states in lattice.subsets_by_width:
        p = probability[states].reshape(len(subsets), contexts, -1) / came[:, None]
        mean = np.einsum("ngs,ngsa->nga", p, earned[states].reshape(*p.shape, -1))
        blindly = (mean if offsets is None else mean + beta * offsets[0]).max(axis=2)
        values[subsets] = blind + (p * best[states].reshape(p.shape)).sum(axis=2) - blindly
    sets = (values >= values.max(axis=0) - margin).argmax(axis=0)
    return SimultaneousPlan(values.ravel(), sets)
