"""A bandit that buys everything: UCB1 in each full state × doubling."""

from __future__ import annotations

from askwise._support.typing import RandomSource
from askwise.learners.baselines.fixed_set import UCB1, check_exploration
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.problem import Problem
from askwise.states import Lattice


class ContextualUCB(BaseLearner):
    """The paper's benchmark buys everything, for any m, and plays UCB1 in each full state.

    The paper gives no radius. This is that of Auer et al. (2002), in each full state separately:
    the action with the highest

        r̂(a, φ) + exploration · √(2 log n(φ) / N(a, φ)),    n(φ) = Σ_a N(a, φ),

    untried ones first, in the order of declaration. r̂, N and n are those when the round began: a
    round ends when some N(a, φ) has doubled.

    exploration: scales the radius; 1 is UCB1's.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = ContextualUCB(patients.problem, exploration=0.2)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    73.3
    """

    name = "contextual-ucb"

    def __init__(
        self, problem: Problem, *, exploration: float = 1.0, rng: RandomSource = None
    ) -> None:
        lattice = Lattice(problem, max_observations=lattice_of(problem).buyable)
        strategy = UCB1(lattice.subsets - 1, check_exploration(exploration))
        super().__init__(lattice, strategy, {"exploration": strategy.exploration}, rng=rng)
