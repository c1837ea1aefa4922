"""No learning at all: a uniform draw × simultaneous × a round for every case."""

from __future__ import annotations

import math

import numpy as np

from askwise._support.typing import Choices, RandomSource
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.policy.exploration import UniformDraw
from askwise.problem import Problem
from askwise.states import Lattice


class Uniform(Strategy):
    """Another policy for every case, drawn uniformly."""

    acquisition = Simultaneous()
    honours_rules = True
    doubles = False

    def round_length(self, now: Progress) -> int:
        """Every case is a round."""
        return 1

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Returns another policy for every case."""
        return random_policy(lattice, now.rng)


class RandomChoice(BaseLearner):
    """Buys a random set and takes a random action: a lower bound, and unbiased data.

    >>> from askwise.simulation import simulate
    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = RandomChoice(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=2_000, rng=0).gain.mean()), 1)
    17.1
    """

    name = "random-choice"
    _why_not_served = "it plans anew for every case"

    def __init__(self, problem: Problem, *, rng: RandomSource = None) -> None:
        super().__init__(lattice_of(problem), Uniform(), {}, rng=rng)


def random_policy(lattice: Lattice, rng: np.random.Generator) -> Policy:
    """A uniformly random set with uniformly random actions, of those that are allowed."""
    subset = int(lattice.open_subsets[rng.integers(len(lattice.open_subsets))])
    unknown = np.full(lattice.context_subsets, math.nan)
    table = SetTable(lattice, subset, random_actions(lattice, subset, rng), unknown)
    return Policy(table, UniformDraw())


def random_actions(lattice: Lattice, subset: int, rng: np.random.Generator) -> Choices:
    """A uniformly random action of those allowed in each state of the set, elsewhere the first."""
    may_act = lattice.may_act
    first = may_act.argmax(axis=1).astype(np.int16)
    actions: Choices = np.repeat(first, np.diff(lattice.layout.offsets))
    states, allowed = lattice.states(subset), np.flatnonzero(may_act[subset])
    chosen = allowed[rng.integers(len(allowed), size=len(states))]
    actions[states.start : states.stop] = chosen
    return actions
