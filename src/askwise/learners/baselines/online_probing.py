"""Exponential weights over whole policies, learned from cases that see all they may."""

from __future__ import annotations

import math

import numpy as np

from askwise._support.typing import Floats, Integers, RandomSource
from askwise.learners.baselines.epoch_greedy import ExploresApart
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress
from askwise.policy import Policy, SetTable
from askwise.problem import Problem
from askwise.states import Lattice


class Probing(ExploresApart):
    """A case probes with a probability that falls; the others follow a policy that is drawn."""

    def __init__(self, lattice: Lattice) -> None:
        super().__init__(lattice)
        self._round: Integers = np.array([1, 1])
        """Whether the round probes, and how many cases it has."""

    def arrays(self) -> dict[str, Integers]:
        """What probing cases earned, and the current round."""
        return {**super().arrays(), "probing_round": self._round}

    def is_exploring(self, now: Progress) -> bool:
        """As it was drawn when the round was planned."""
        return bool(self._round[0])

    def round_length(self, now: Progress) -> int:
        """As it was drawn when the round was planned."""
        return max(1, int(self._round[1]))

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """All that may be bought and any action, or a policy drawn by exponential weights."""
        if lattice is now.lattice:  # else it is for one case of the round
            self._draw_round(now)
        if self._round[0]:
            largest = [s for s in range(lattice.subsets) if len(lattice.members(s)) == lattice.m]
            sets = np.full(lattice.contexts, now.rng.choice(largest))
            actions = now.rng.integers(len(lattice.problem.actions), size=lattice.size)
        else:
            by_set, by_action = self.log_weights(lattice)
            sets = (by_set + now.rng.gumbel(size=by_set.shape)).argmax(axis=0)
            actions = (by_action + now.rng.gumbel(size=by_action.shape)).argmax(axis=1)
        unknown = np.full(lattice.context_subsets, math.nan)
        return Policy(SetTable(lattice, sets, actions.astype(np.int16), unknown))

    def log_weights(self, lattice: Lattice) -> tuple[Floats, Floats]:
        """Log P(I) at [subset, context] and log P(h(ψ) = a) at [ψ, a], each up to a constant.

        Weights of policies are products over states, so their sum over all h of a set is the
        product of the sums over a: it takes no list of policies.
        """
        explored, beta = self.explored, lattice.problem.reward_value
        actions = explored.sums.shape[1]
        contexts = lattice.contexts
        seen = explored.by_set(explored.visits)
        probes = seen[:contexts]
        most_states = int(np.diff(lattice.layout.context_offsets).max())
        policies = math.log(lattice.subsets) + most_states * math.log(actions)
        rate = np.sqrt(2 * policies / np.maximum(1, probes))  # of each context
        part = np.maximum(1, np.tile(probes, lattice.subsets)) / np.maximum(1, seen)
        scale = np.tile(rate, lattice.subsets) * part / (beta * actions)
        by_state = np.repeat(scale, np.diff(lattice.layout.context_offsets))
        by_action = by_state[:, None] * explored.gains()
        top = by_action.max(axis=1)
        together = top + np.log(np.exp(by_action - top[:, None]).mean(axis=1))
        by_set = explored.by_set(together) - scale * explored.by_set(explored.spent())
        return by_set.reshape(-1, contexts), by_action

    def _draw_round(self, now: Progress) -> None:
        probability = now.t ** (-1 / 3)
        exploited = now.round > 1 and not self._round[0]
        if exploited or now.rng.random() < probability:
            self._round[:] = 1, 1
        else:
            self._round[:] = 0, now.rng.geometric(probability)


class OnlineProbing(BaseLearner):
    """Draws a whole policy by exponential weights; now and then probes for what to weigh them by.

    N. Zolghadr, G. Bartók, R. Greiner, A. György, C. Szepesvári: Online learning with costly
    features and labels (2013), the case of labels that are paid for: with probability t^(−1/3) a
    case buys all that it may and the label, and learns the loss of every predictor; all others
    follow a predictor drawn by exponential weights and learn nothing.

    Here a predictor is a policy (I, h) and the label is not for sale: a probing case takes any of
    the A actions instead, and its reward counts A times for policies that take this one. Of n
    probes n(I) saw all of I. With any set, and then any h, as likely as another before,

        P(I, h) ∝ exp( √(2 log N / n) · n / n(I) Σ_s (β A r_s [a_s = h(ψ_s)] − c(I)) / (β A) ),

    where N is the number of sets times that of the h of the largest one.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = OnlineProbing(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    44.9
    """

    name = "online-probing"
    _why_not_served = "it learns from more than counters hold"

    def __init__(self, problem: Problem, *, rng: RandomSource = None) -> None:
        lattice = lattice_of(problem)
        super().__init__(lattice, Probing(lattice), {}, rng=rng)
