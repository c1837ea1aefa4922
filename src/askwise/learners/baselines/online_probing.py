"""Exponential weights over whole policies, learned from cases that buy all they may."""

from __future__ import annotations

import math

import numpy as np

from askwise._support.typing import Floats, Integers, RandomSource
from askwise.learners.baselines.epoch_greedy import ExploresApart
from askwise.learners.baselines.random_choice import random_actions
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress
from askwise.policy import Policy, SetTable
from askwise.problem import Problem
from askwise.states import Lattice


class Probing(ExploresApart):
    """A case probes with a falling probability. The other cases follow a policy that is drawn."""

    def __init__(self, lattice: Lattice) -> None:
        super().__init__(lattice)
        self._round: Integers = np.array([1, 1, 1])
        """Whether the round probes, how many cases it has, and 1/p of their probability p."""

    def arrays(self) -> dict[str, Integers]:
        """What probing cases earned, and the current round."""
        return {**super().arrays(), "probing_round": self._round}

    def is_exploring(self, now: Progress) -> bool:
        """As it was drawn when the round was planned."""
        return bool(self._round[0])

    def weight(self, now: Progress) -> int:
        """1/p, the number of cases that a probe stands for."""
        return int(self._round[2])

    def round_length(self, now: Progress) -> int:
        """As it was drawn when the round was planned."""
        return max(1, int(self._round[1]))

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Returns m observations with random actions, or a policy drawn by exponential weights."""
        if lattice is now.lattice:  # else it is for one case of the round
            self._draw_round(now)
        if self._round[0]:
            sets = np.full(lattice.contexts, now.rng.choice(largest_sets(lattice)))
            if lattice.problem.has_rules:
                actions = random_actions(lattice, int(sets[0]), now.rng).astype(np.int64)
            else:
                actions = now.rng.integers(len(lattice.problem.actions), size=lattice.size)
        else:
            by_set, by_action = self.log_weights(lattice, now.t)
            sets = (by_set + now.rng.gumbel(size=by_set.shape)).argmax(axis=0)
            actions = (by_action + now.rng.gumbel(size=by_action.shape)).argmax(axis=1)
        unknown = np.full(lattice.context_subsets, math.nan)
        return Policy(SetTable(lattice, sets, actions.astype(np.int16), unknown))

    def log_weights(self, lattice: Lattice, t: int) -> tuple[Floats, Floats]:
        """Log P(I) at [subset, context] and log P(h(ψ) = a) at [ψ, a], each up to a constant.

        Weights of policies are products over states. So their sum over all h of a set is the
        product of the sums over a, and no list of policies is needed.
        """
        explored, beta = self.explored, lattice.problem.reward_value
        actions, contexts = explored.sums.shape[1], lattice.contexts
        sizes = np.diff(lattice.layout.context_offsets)
        log_prior = math.log(lattice.subsets) + int(sizes.max()) * math.log(actions)
        seen = np.repeat(chances_to_see(lattice), contexts)
        may_be = np.repeat(np.isfinite(lattice.set_prices), contexts)
        cases = explored.by_set(explored.visits)[:contexts]
        spread = (
            actions / seen[may_be].min() * inverse_chances(t - 1) * cases / max(1.0, cases.sum())
        )
        rate = np.sqrt(2 * log_prior / np.maximum(1.0, spread))  # of each context
        scale = np.tile(rate, lattice.subsets) / (np.where(may_be, seen, 1.0) * beta)
        by_state = np.repeat(scale, sizes)
        by_action = by_state[:, None] * explored.gains()
        top = by_action.max(axis=1)
        together = top + np.log(np.exp(by_action - top[:, None]).mean(axis=1))
        by_set = explored.by_set(together) - scale * explored.by_set(explored.spent())
        by_set[~may_be] = -np.inf
        return by_set.reshape(-1, contexts), by_action

    def _draw_round(self, now: Progress) -> None:
        exploited = now.round > 1 and not self._round[0]
        if exploited:
            self._round[:2] = 1, 1  # with the probability of the cases before it
            return
        self._round[2] = inverse_chance(now.t)
        if now.rng.random() < 1 / self._round[2]:
            self._round[:2] = 1, 1
        else:
            self._round[:2] = 0, now.rng.geometric(1 / self._round[2])


def inverse_chance(t: int) -> int:
    """1/p_t = ⌈t^(1/3)⌉, a whole number, so that sums of it are exact."""
    root = round(math.pow(t, 1 / 3))
    return root + (root**3 < t)


def inverse_chances(t: int) -> int:
    """The sum of 1/p_s over the cases s = 1 … t."""
    root = inverse_chance(t) if t else 1
    whole = sum(j * (j**3 - (j - 1) ** 3) for j in range(1, root))
    return whole + root * (t - (root - 1) ** 3)


def largest_sets(lattice: Lattice) -> list[int]:
    """The sets of m observations; with requirements, the sets that no other one contains."""
    if not lattice.has_requirements:
        return [s for s in range(lattice.subsets) if len(lattice.members(s)) == lattice.m]
    sets = {int(s): set(lattice.members(int(s))) for s in lattice.open_subsets}
    return [s for s, part in sets.items() if not any(part < other for other in sets.values())]


def chances_to_see(lattice: Lattice) -> Floats:
    """For each subset I, the probability that a uniformly drawn largest set contains I."""
    if lattice.has_requirements:
        largest = [set(lattice.members(s)) for s in largest_sets(lattice)]
        parts = [set(lattice.members(subset)) for subset in range(lattice.subsets)]
        return np.array([np.mean([part <= whole for whole in largest]) for part in parts])
    d, m = lattice.buyable, lattice.m
    k = [len(lattice.members(subset)) for subset in range(lattice.subsets)]
    return np.array([math.comb(d - n, m - n) / math.comb(d, m) for n in k])


class OnlineProbing(BaseLearner):
    """Draws a whole policy by exponential weights, which it learns from occasional probes.

    N. Zolghadr, G. Bartók, R. Greiner, A. György, C. Szepesvári: Online learning with costly
    features and labels (2013), the case of labels that are paid for: with probability p_t, of order
    t^(−1/3), a case buys all that it may and the label, and learns the loss of every predictor. All
    others follow a predictor drawn by exponential weights and learn nothing. An observed loss
    counts 1/p_t times.

    Here a predictor is a policy (I, h), and the label cannot be bought. A probing case takes one of
    the A actions at random instead, and its reward counts A times for policies that take this
    action. It buys m observations, drawn uniformly, and so sees all of I with a probability q(I).
    The prior is uniform over sets, and then over h. With p_s = 1/⌈s^(1/3)⌉ and the sum over probes
    that saw all of I,

        P(I, h) ∝ exp( η_t Σ_s (A r_s [a_s = h(ψ_s)] − c(I)/β) / (p_s q(I)) ),
        η_t = √( 2 log N / Σ_{s<t} A / (p_s q) ),

    where N is the number of sets times the number of h of the largest set, and q is the least q(I).
    Apart from prices, the mean square of a case's contribution is at most A / (p_s q). With given
    observations, each context counts separately.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = OnlineProbing(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    48.8
    """

    name = "online-probing"
    _why_not_served = "it learns from more than counters hold"

    def __init__(self, problem: Problem, *, rng: RandomSource = None) -> None:
        lattice = lattice_of(problem)
        super().__init__(lattice, Probing(lattice), {}, rng=rng)
