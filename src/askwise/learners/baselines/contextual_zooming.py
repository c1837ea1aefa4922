"""Contextual zooming: a bandit on balls of similar states, which shrink where it plays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Floats, Integers, RandomSource
from askwise.counting import UNIT
from askwise.errors import OptionError, TooLargeError
from askwise.learners.baselines.fixed_set import (
    check_exploration,
    digits_in,
    first_observations,
    members_of,
    net_in,
    outcomes_in,
)
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice

MOST_STATES = 500
"""The most states of the set, because the distances between all of them are stored."""

METRICS = ("one-hot", "ordered")


class Balls(NamedTuple):
    """The balls of one action; the first has radius 1 and holds every state."""

    centre: Integers
    radius: Floats
    n: Integers
    """How often the action was taken in each ball."""
    mean: Floats


class Zooming(Strategy):
    """A fixed set × balls of similar states, for each action × doubling."""

    acquisition = Simultaneous()
    honours_rules = True

    def __init__(self, lattice: Lattice, subset: int, metric: str, exploration: float) -> None:
        states = lattice.states(subset)
        if len(states) > MOST_STATES:
            raise TooLargeError(
                f"the set has {len(states):,} states, more than the {MOST_STATES:,} whose "
                "distances are kept: buy fewer observations"
            )
        self.subset = subset
        self.exploration = exploration
        self._block = slice(states.start, states.stop)
        self.distance = distances(
            digits_in(lattice, subset), outcomes_in(lattice, subset), is_ordered=metric == "ordered"
        )

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The set, with the action whose ball has the highest index in each state."""
        counts = now.statistics.action_counts[self._block]
        sums = np.asarray(now.statistics.reward_sums[self._block] * UNIT, np.float64)
        log_t = math.log(max(2, 1 << (now.t - 1).bit_length()))
        index = [self.index(counts[:, a], sums[:, a], log_t) for a in range(counts.shape[1])]
        actions = np.zeros(lattice.size, np.int16)
        actions[self._block] = net_in(lattice, self.subset, np.transpose(index)).argmax(axis=1)
        unknown = np.full(lattice.context_subsets, math.nan)
        return Policy(SetTable(lattice, self.subset, actions, unknown))

    def index(self, counts: Integers, sums: Floats, log_t: float) -> Floats:
        """The highest index of a ball that one action has in each state."""
        balls = self.balls(counts, sums, log_t)
        conf = self.conf(balls.n, log_t)
        before = balls.mean + balls.radius + conf
        apart = self.distance[balls.centre][:, balls.centre]
        is_larger = balls.radius[None, :] >= balls.radius[:, None]
        index = balls.radius + np.where(is_larger, before[None, :] + apart, np.inf).min(axis=1)
        holds = self.distance[balls.centre] <= balls.radius[:, None]
        # a ball's domain is what no smaller ball holds
        smallest = np.where(holds, balls.radius[:, None], np.inf).min(axis=0)
        in_domain = holds & (balls.radius[:, None] == smallest[None, :])
        found: Floats = np.where(in_domain, index[:, None], -np.inf).max(axis=0)
        return found

    def balls(self, counts: Integers, sums: Floats, log_t: float) -> Balls:
        """All balls: around states that were played, within balls that are full."""
        centre, radius = [0], [1.0]
        n, total = [int(counts.sum())], [float(sums.sum())]
        level, half = [0], 0.5
        nearest = self.distance[self.distance > 0].min(initial=np.inf)
        while level and half >= nearest / 2:
            full = [b for b in level if self.conf(np.array(n[b]), log_t) <= radius[b]]
            in_full = (self.distance[[centre[b] for b in full]] <= 2 * half).any(axis=0)
            covered = np.zeros(len(counts), bool)
            level = []
            for state in np.flatnonzero(in_full & (counts > 0)).tolist():
                if not covered[state]:
                    held = self.distance[state] <= half
                    covered |= held
                    level.append(len(centre))
                    centre.append(state)
                    radius.append(half)
                    n.append(int(counts[held].sum()))
                    total.append(float(sums[held].sum()))
            half /= 2
        size = np.maximum(1, n)
        return Balls(np.array(centre), np.array(radius), np.array(n), np.array(total) / size)

    def conf(self, n: Integers, log_t: float) -> Floats:
        """4 √(log T / (1 + n))."""
        return np.asarray(self.exploration * 4 * np.sqrt(log_t / (1 + n)))


class ContextualZooming(BaseLearner):
    """Buys a fixed set and plays a bandit on balls of similar states, smaller where it played more.

    After A. Slivkins: Contextual bandits with similarity information (2011). Every action begins
    with one ball of radius 1. A ball with conf(B) = 4 √(log T / (1 + n(B))) ≤ radius(B) is full,
    and a state played in it gets a ball of half its radius. A state belongs to the smallest balls
    that hold it, and the action is that of the ball with the highest

        index(B) = radius(B) + min ( r̂(B') + radius(B') + conf(B') + distance(B, B') ),

    over the balls B' of the same action that are no smaller. The distance of two states is the
    share of observations that differ ("one-hot"), or the mean distance of their values in the order
    of declaration ("ordered"). Actions have no similarity. T is the next power of two. The
    algorithm has no prices, so the set is given. The cost of an action is subtracted from the
    indices of its balls.

    The paper adds one ball at a time, and n(B) counts the cases in which B was chosen. Here all
    balls are computed from the counters when a count has doubled, in the order of states, and every
    case within a ball counts for it. So the learner can be saved, merged and given late rewards.
    Decisions differ from those of the paper's rule.

    observations: the names to buy; by default the first m.
    metric: "one-hot" or "ordered".
    exploration: scales conf; 1 is theirs.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = ContextualZooming(patients.problem, exploration=0.05)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    50.2
    """

    name = "contextual-zooming"

    def __init__(
        self,
        problem: Problem,
        *,
        observations: Sequence[str] | str | None = None,
        metric: str = METRICS[0],
        exploration: float = 1.0,
        rng: RandomSource = None,
    ) -> None:
        lattice, exploration = lattice_of(problem), check_exploration(exploration)
        if metric not in METRICS:
            raise OptionError(f"metric must be 'one-hot' or 'ordered', got {metric!r}")
        names = first_observations(problem) if observations is None else observations
        chosen = members_of(lattice, names)
        strategy = Zooming(lattice, lattice.subset(chosen), metric, exploration)
        options = {
            "observations": list(lattice.names_of(chosen)),
            "metric": metric,
            "exploration": exploration,
        }
        super().__init__(lattice, strategy, options, rng=rng)


def distances(digits: Integers, outcomes: Sequence[int], *, is_ordered: bool) -> Floats:
    """The distance of every two states, from 0 to 1."""
    apart = np.zeros((len(digits), len(digits)))
    for j, count in enumerate(outcomes):
        between = np.abs(digits[:, None, j] - digits[None, :, j])
        apart += between / max(1, count - 1) if is_ordered else between > 0
    return apart / max(1, len(outcomes))
