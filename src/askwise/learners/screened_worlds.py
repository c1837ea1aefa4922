"""Worlds of the few observations of a shortlist, for the additive strategy."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from askwise.estimation.additive import AdditivePosterior
from askwise.estimation.estimates import Estimates
from askwise.estimation.tabular_posterior import TabularPosterior
from askwise.states import Lattice

Screened: TypeAlias = AdditivePosterior | TabularPosterior
"""The posterior of the few observations of a shortlist."""


def at_stake_of(screened: Screened, world: Estimates, few: Lattice) -> tuple[Screened, Estimates]:
    """Returns a world of the few at another stake and prices."""
    if few is not screened.shortlist.lattice:
        screened = screened._replace(shortlist=screened.shortlist._replace(lattice=few))
        if few.stake != 1.0 and few.action_offsets is not None:
            # at another stake the costs of actions count differently: use the world of the means
            world = screened.draw_estimates(np.random.default_rng(0), spread=0.0)
    return screened, world


def blindly(screened: Screened, world: Estimates) -> float:
    """The mean reward of the best action without observations."""
    contexts = screened.shortlist.lattice.contexts
    weight = world.weight[:contexts]
    return float(world.reward[:contexts] @ weight / weight.sum())
