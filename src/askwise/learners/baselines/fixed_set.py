"""The same set is always bought, and a bandit plays in each of its states."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from askwise._support.typing import Choices, Floats, Integers, RandomSource
from askwise.counting import Statistics
from askwise.errors import CaseError, OptionError
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice


class UCB1(Strategy):
    """A fixed set × UCB1 in each of its states × doubling."""

    acquisition = Simultaneous()
    honours_rules = True

    def __init__(self, subset: int, exploration: float) -> None:
        self.subset = subset
        self.exploration = exploration

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Returns the set, with the actions of the highest index."""
        actions, _ = ucb_actions(now.statistics, self.exploration, lattice)
        nothing_known = np.full(lattice.context_subsets, math.nan)
        return Policy(SetTable(lattice, self.subset, actions, nothing_known))


class FixedSet(BaseLearner):
    """Buys the given observations in every case, then plays UCB1 in the resulting state.

    P. Auer, N. Cesa-Bianchi, P. Fischer: Finite-time analysis of the multiarmed bandit problem
    (2002): the action with the highest r̂(a, ψ) + √(2 log n(ψ) / N(a, ψ)), n(ψ) = Σ_a N(a, ψ). The
    index is computed again when a count has doubled, as in every learner here.

    observations: the names to buy; none by default.
    exploration: scales the radius; 1 is UCB1's.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = FixedSet(patients.problem, observations=["WHO score"], exploration=0.2)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    58.2
    """

    name = "fixed-set"

    def __init__(
        self,
        problem: Problem,
        *,
        observations: Sequence[str] | str = (),
        exploration: float = 1.0,
        rng: RandomSource = None,
    ) -> None:
        lattice, exploration = lattice_of(problem), check_exploration(exploration)
        chosen = members_of(lattice, observations)
        strategy = UCB1(lattice.subset(chosen), exploration)
        options = {"observations": list(lattice.names_of(chosen)), "exploration": exploration}
        super().__init__(lattice, strategy, options, rng=rng)


def members_of(lattice: Lattice, observations: Sequence[str] | str) -> tuple[int, ...]:
    """The indices of the observations to buy, in ascending order. Bad input raises one error."""
    names = [observations] if isinstance(observations, str) else observations
    try:
        chosen = tuple(sorted({lattice.to_buy(name) for name in names}))
    except CaseError as error:
        raise OptionError(f"observations: {error}") from None
    if len(chosen) > lattice.m:
        raise OptionError(f"observations: {len(chosen)} of them, expected at most {lattice.m}")
    for i in chosen:
        lacking = [j for j in lattice.requires[i] if j not in chosen]
        if lacking:
            name, others = lattice.names_of((i,))[0], ", ".join(lattice.names_of(tuple(lacking)))
            raise OptionError(f"observations: {name!r} requires {others} too")
    return chosen


def first_observations(problem: Problem) -> list[str]:
    """The first m observations that can be bought, which are the default.

    One that requires another of them comes after it.
    """
    rest = [o for o in problem.observations if not o.given]
    known, chosen = {o.name for o in problem.observations if o.given}, list[str]()
    while rest and len(chosen) < problem.m:
        first = next(o for o in rest if known.issuperset(o.requires))
        rest.remove(first)
        known.add(first.name)
        chosen.append(first.name)
    return chosen


def net_in(lattice: Lattice, subset: int, index: Floats) -> Floats:
    """The indices of actions less their costs, in units of β, in the states of a set, at [ψ, a].

    An action that is not allowed there has −∞.
    """
    offsets = lattice.action_offsets
    return index if offsets is None else index + offsets[subset]


def digits_in(lattice: Lattice, subset: int) -> Integers:
    """(states, observations): the values known in each state of a set, given ones last."""
    known = [[x for _, x in lattice.digits(state)] for state in lattice.states(subset)]
    return np.array(known, np.int64).reshape(len(known), -1)


def outcomes_in(lattice: Lattice, subset: int) -> list[int]:
    """The number of outcomes of each of these observations."""
    known = lattice.digits(lattice.states(subset)[0])
    return [len(lattice.observations[i].outcomes) for i, _ in known]


def ucb_actions(
    statistics: Statistics, exploration: float, lattice: Lattice
) -> tuple[Choices, Floats]:
    """The action of the highest UCB1 index in each state, and that index; untried ones first.

    The cost of an action is subtracted from its index, in units of the lattice's β.
    """
    tried = statistics.action_counts > 0
    n = np.maximum(1, statistics.action_counts)
    seen = np.maximum(1, statistics.action_counts.sum(axis=1, keepdims=True))
    index = statistics.mean_rewards() + exploration * np.sqrt(2 * np.log(seen) / n)
    index = lattice.net(index)
    index[~tried & (index > -np.inf)] = np.inf
    return index.argmax(axis=1).astype(np.int16), index.max(axis=1)


def check_exploration(exploration: float) -> float:
    """The option as a float, or an error that names it."""
    if isinstance(exploration, bool) or not (
        isinstance(exploration, int | float) and 0 <= exploration < math.inf
    ):
        raise OptionError(f"exploration must be a finite number of at least 0, got {exploration!r}")
    return float(exploration)
