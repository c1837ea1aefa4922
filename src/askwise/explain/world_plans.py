"""The best policies of one world at the prices of one observation, with their gains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Floats
from askwise.estimation.evidence import TIE_TOLERANCE, Beliefs
from askwise.policy.acquisition import Acquisition
from askwise.policy.expected_gain import ActedStates, acted_states
from askwise.policy.recommending import best_by
from askwise.states import Lattice


class PricedStates(NamedTuple):
    """The states at the prices of one observation."""

    name: str
    without: Lattice
    free: Lattice
    spent: Floats
    """The spend in each state if the observation is free."""
    paid: Floats
    """1 in the states in which it was paid for."""
    given: Lattice
    """The lattice if the observation costs nothing alone and in panels."""
    spent_if_given: Floats
    """The spend in each state under `given`."""

    @classmethod
    def of(cls, lattice: Lattice, name: str) -> PricedStates:
        """Returns the states of a lattice, at today's prices of all other observations."""
        free = lattice.supposing({name: 0.0})
        every = np.arange(lattice.size)
        spent = free.costs_of(every)
        paid = lattice.supposing({name: 1.0}).costs_of(every) - spent
        given = lattice.with_free(name)
        return cls(name, lattice.without(name), free, spent, paid, given, given.costs_of(every))


class WorldPlans:
    """The best policies of one world, and the gain of any policy in it."""

    def __init__(self, acquisition: Acquisition, world: Beliefs) -> None:
        self.acquisition, self.world = acquisition, world
        self.beta = world.lattice.problem.reward_value
        self.tolerance = 10 * TIE_TOLERANCE * self.beta

    def best(self, lattice: Lattice) -> tuple[ActedStates, float]:
        """Returns the states in which the best policy at the prices of a lattice acts, and its
        gain.
        """
        policy = best_by(self.acquisition, self.world, lattice)
        acted = acted_states(policy)
        if self.world.averages_out:
            return acted, policy.planned_value
        return acted, self.gain(acted, lattice.state_costs)

    def gain(self, acted: ActedStates, spent: Floats) -> float:
        """Returns the gain of a policy that spends c(ψ) in each state."""
        return acted.gain(self.world.probability, self.world.reward, self.beta, spent)

    def line(self, acted: ActedStates, at: PricedStates) -> tuple[float, float]:
        """A policy gains A − c s at a price c of an observation. Returns A and s."""
        share = self.world.probability[acted.states] @ at.paid[acted.states]
        return self.gain(acted, at.spent), float(share)

    def break_even(self, known: Sequence[ActedStates], at: PricedStates, nothing: float) -> float:
        """Returns the price at which the best policies gain as much as without the observation.

        The known policies include the best one at a price of 0. They give a lower bound of the
        price, and the search for better policies starts there.
        """
        price = self.break_even_of(known, at, nothing)
        while 0.0 < price < math.inf:
            acted, _ = self.best(at.free.supposing({at.name: price}))
            intercept, share = self.line(acted, at)
            if intercept - price * share <= nothing + self.tolerance:
                break
            following = math.inf if share <= TIE_TOLERANCE else (intercept - nothing) / share
            if following <= price:
                break
            price = following
        return price

    def plans(self, at: PricedStates) -> list[tuple[float, ActedStates]]:
        """Returns the best policies that buy, for prices from 0 to the break-even price.

        Each comes with the price from which on it is the best.
        """
        nothing, price = self.best(at.without)[1], 0.0
        found: list[tuple[float, ActedStates]] = []
        while price < math.inf:
            acted, _ = self.best(at.free.supposing({at.name: price}))
            intercept, share = self.line(acted, at)
            if intercept - price * share <= nothing + self.tolerance:
                break
            found.append((price, acted))
            following = math.inf if share <= TIE_TOLERANCE else (intercept - nothing) / share
            if following <= price:
                break
            price = following
        return found

    def pays_until(
        self, plans: Sequence[tuple[float, ActedStates]], at: PricedStates, nothing: float
    ) -> float:
        """Returns the price up to which another world's plans gain more than `nothing` here."""
        found, ends = 0.0, [*(price for price, _ in plans), math.inf][1:]
        for (price, acted), end in zip(plans, ends, strict=True):
            intercept, share = self.line(acted, at)
            above = intercept - nothing
            if above <= price * share + self.tolerance:
                break
            found = min(end, above / share if share > TIE_TOLERANCE else math.inf)
            if found < end:
                break
        return found

    def break_even_of(
        self, known: Sequence[ActedStates], at: PricedStates, nothing: float
    ) -> float:
        """Returns the highest price at which one of these policies gains as much as `nothing`."""
        found = 0.0
        for acted in known:
            intercept, share = self.line(acted, at)
            if intercept > nothing + self.tolerance:  # infinite if bought but never paid for
                is_paid = share > TIE_TOLERANCE
                found = max(found, (intercept - nothing) / share if is_paid else math.inf)
        return found
