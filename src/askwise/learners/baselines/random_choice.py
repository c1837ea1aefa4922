"""No learning at all."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from askwise.learners.acquisition import Simultaneous
from askwise.learners.base import BaseLearner
from askwise.policy import Path, Propensities, SimultaneousPolicy
from askwise.policy.propensities import random_chances
from askwise.states import Lattice


class RandomChoice(BaseLearner):
    """Buys a random set and takes a random action: the floor, and the fairest data there is.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = RandomChoice(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=2_000, rng=0).gain.mean()), 1)
    17.1
    """

    name = "random-choice"
    way = Simultaneous()
    doubles = False

    @property
    def round_length(self) -> int:
        """Every case is a round."""
        return 1

    def plan(self) -> RandomPolicy:
        """Another one for every case."""
        return random_policy(self.lattice, self.rng)


class RandomPolicy(SimultaneousPolicy):
    """Drawn for one case. Its chances are those of the draw, and need none of its tables."""

    def copy(self) -> RandomPolicy:
        """The same policy with tables of its own."""
        tables = (self.sets.copy(), self.actions.copy(), self.values.copy())
        return RandomPolicy(self.lattice, *tables, self.row_of, self.frequency)

    def chances(self, start: int, path: Path, looks: tuple[int, ...], action: int) -> Propensities:
        """Of the set, then of the action, before the policy was drawn."""
        return partial(random_chances, self.lattice, start, path, looks, action)


def random_policy(lattice: Lattice, rng: np.random.Generator) -> RandomPolicy:
    """A uniformly random set with uniformly random actions."""
    subset = int(rng.integers(lattice.subsets))
    actions = np.zeros(lattice.size, np.int16)
    states = lattice.states(subset)
    chosen = rng.integers(len(lattice.problem.actions), size=len(states))
    actions[states.start : states.stop] = chosen
    return RandomPolicy(lattice, subset, actions, np.full(lattice.context_subsets, math.nan))
