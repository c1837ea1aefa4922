"""UCRL2 on the problem as a plain two-stage decision process."""

from __future__ import annotations

import math

import numpy as np

from askwise._support.typing import RandomSource
from askwise.errors import OptionError
from askwise.learners.baselines.fixed_set import check_exploration
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice

MOST_ITERATIONS = 10_000


class ExtendedValueIteration(Strategy):
    """Optimistic processes × simultaneous × no exploration × doubling."""

    acquisition = Simultaneous()
    honours_rules = True

    def __init__(self, delta: float, exploration: float) -> None:
        self.delta = delta
        self.exploration = exploration

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The best policy of the most favourable process."""
        from askwise._kernels.planning.value_iteration import extended_value_iteration

        size = lattice.size + 1
        choices = max(lattice.subsets, len(lattice.problem.actions))
        t = 2 * now.t - 1
        scale = self.exploration**2
        reward_width = scale * 7 / 2 * math.log(2 * size * choices * t / self.delta)
        width = scale * 14 * size * math.log(2 * choices * t / self.delta)
        counts = now.statistics.action_counts
        radius = np.sqrt(reward_width / np.maximum(1, counts))
        reward = np.where(counts > 0, np.minimum(1.0, now.statistics.mean_rewards() + radius), 1.0)
        costs, acting = lattice.subset_costs, float(lattice.action_costs.max())
        full = lattice.problem.reward_value + costs.max() + acting
        reward = lattice.net(reward)  # −∞ where an action is not allowed
        if acting:
            reward = reward + acting / lattice.problem.reward_value
        looking = np.where(np.isfinite(lattice.set_prices), costs.max() - costs, -np.inf)
        actions = np.zeros(lattice.size, np.int16)
        sets = np.zeros(lattice.contexts, np.int64)
        for context in range(lattice.contexts):  # each context is a separate process
            states, offsets = lattice.states_in(context)
            chosen = np.zeros(len(states), np.int16)
            sets[context] = extended_value_iteration(
                offsets,
                lattice.problem.reward_value / full * reward[states],
                counts[states],
                counts[states].sum(axis=1),
                looking / full,
                width,
                1 / math.sqrt(t),
                MOST_ITERATIONS,
                chosen,
            )
            actions[states] = chosen
        return Policy(SetTable(lattice, sets, actions, np.full(lattice.context_subsets, math.nan)))


class UCRL2(BaseLearner):
    """Regret-minimising reinforcement learning that does not use the structure of observations.

    T. Jaksch, R. Ortner, P. Auer: Near-optimal regret bounds for reinforcement learning (2010). The
    start state chooses a set I, a state ψ an action, which leads back to the start. With S states,
    A' the most choices in one and t steps, two a case,

        |r̃ − r̂| ≤ √(7 log(2 S A' t / δ) / (2 N)),     Σ|p̃ − p̂| ≤ √(14 S log(2 A' t / δ) / N)

    and extended value iteration finds the best policy of the best such process. It does not use
    that a set leads to its own states, that a state leads back, or that a case is evidence for
    every subset of its set. Sim-OOS gains by using this. Costs are known, those of actions too;
    gains are scaled to [0, 1]. A set or an action that is not allowed is no choice.

    delta: the bound holds with probability 1 − delta.
    exploration: scales both radii; 1 is UCRL2's, which hardly learns in 200,000 cases.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = UCRL2(patients.problem, exploration=0.02)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    29.4
    """

    name = "ucrl2"

    def __init__(
        self,
        problem: Problem,
        *,
        delta: float = 0.1,
        exploration: float = 1.0,
        rng: RandomSource = None,
    ) -> None:
        lattice = lattice_of(problem)
        if not (isinstance(delta, int | float) and 0 < delta < 1):
            raise OptionError(f"delta must be a number between 0 and 1, got {delta!r}")
        strategy = ExtendedValueIteration(float(delta), check_exploration(exploration))
        options = {"delta": strategy.delta, "exploration": strategy.exploration}
        super().__init__(lattice, strategy, options, rng=rng)
