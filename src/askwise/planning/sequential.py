r"""Chooses the next observation to buy, by optimistic dynamic programming.

From the states of m observations down to the empty one,

    Q̂(ψ, ∅) = β r̂*(ψ)                      r̂*(ψ) = max_a r̂(a, ψ) − cost(a)/β
    Q̂(ψ, i) = −c_i + max  Σ_{ψ' in Ψ⁺(ψ, i)} p̃(ψ') F̂(ψ')
                     s.t. Σ |p̃(ψ') − p̂(ψ' | ψ, i)| ≤ conf₂(N(ψ, i)),  Σ p̃(ψ') = 1,  p̃ ≥ 0
    F̂(ψ) = max_i Q̂(ψ, i),     ĝ(ψ) = argmax_i Q̂(ψ, i)     over i in D \ dom(ψ) and ∅,

A state of m observations has only ∅. An action or an observation counts only where everything that
it requires is known. `_kernels.planning.optimism.optimistic_mean` solves the maximum over p̃ in
closed form. In a panel c_i is the price of the next observation (`states/prices.py`), and a
refunded outcome is worth F̂(ψ') + c_i. With known probabilities and rewards and zero radii this is
ordinary dynamic programming, and F̂ of the empty state is F*_0.
"""

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Choices, Floats
from askwise.estimation.estimates import Estimates
from askwise.states import Lattice
from askwise.states.prices import Tariff


class SequentialPlan(NamedTuple):
    """The optimistic value of every state, and the observation to buy there."""

    values: Floats
    """F̂(ψ), indexed by state."""
    look: Choices
    """ĝ(ψ): an observation, or −1 to stop and act."""


def plan_sequential(
    lattice: Lattice,
    estimates: Estimates,
    *,
    tariff: Tariff | None = None,
    margin: float = 0.0,
) -> SequentialPlan:
    """F̂(ψ) and ĝ(ψ) for every state. An observation is bought only if it is better by more than
    `margin`.

    The prices are those of the problem, unless others are given.
    """
    from askwise._kernels.planning.plans import sequential

    values = np.empty(lattice.size)
    look = np.empty(lattice.size, np.int16)
    stop = lattice.problem.reward_value * estimates.reward
    sequential(
        lattice.layout,
        lattice.tariff if tariff is None else tariff,
        lattice.most_earned,
        stop,
        estimates.weight,
        estimates.radii.outcomes,
        estimates.radii.per_outcome,
        estimates.radii.cap,
        margin,
        values,
        look,
    )
    return SequentialPlan(values, look)


def look_values(lattice: Lattice, estimates: Estimates, ahead: Floats) -> Floats:
    """Q̂(ψ, i) at [ψ, i], if the state that an observation leads to is worth `ahead`.

    With `ahead` = F̂ these are the values of the plan; with β r̂* those of a last observation. The
    value is −∞ where i may not be bought.
    """
    from askwise._kernels.planning.look_values import look_values

    values = np.empty((lattice.size, lattice.buyable))
    radii = estimates.radii
    widths = radii.outcomes, radii.per_outcome, radii.cap
    look_values(lattice.layout, lattice.tariff, ahead, estimates.weight, *widths, values)
    return values
