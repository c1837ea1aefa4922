"""Policies that now and then try something else, by the tag of the case.

A policy that only does what it thinks best never learns that it is wrong. These do, with chances
that shrink as a state becomes familiar: where they would act they may look once more (`chance`),
and act on a less settled opinion (`daring`, with the chance `dare`). What a case tries depends on
the tables and its tag, one random number, and on nothing else. `tree` and `evaluate` show the
policy without its tries.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from askwise._kernels.policy.draws import ACTS, ANY, LOOKS, STOP, WHICH, tried, uniform
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.policy.policy import Path, Policy, Propensities, SequentialPolicy, SimultaneousPolicy
from askwise.policy.propensities import one_more_look, remaining, set_chances
from askwise.states import Lattice


class Tries(NamedTuple):
    """What to try, and how likely."""

    favourite: Integers
    """The observation to look at in each state, −1 for none; or a subset in each context, when
    buying a set."""
    chance: Floats
    """How likely one looks once more in each state, or tries another set."""
    daring: Choices
    """Another action for each state."""
    dare: Floats
    """How likely it is taken."""


class TryingSequentialPolicy(SequentialPolicy):
    """Buys one after the other, and now and then one more."""

    def __init__(
        self,
        lattice: Lattice,
        following: Choices,
        actions: Choices,
        values: Floats,
        tries: Tries,
        frequency: Floats | None = None,
    ) -> None:
        super().__init__(lattice, following, actions, values, frequency=frequency)
        self.tries = tries

    def copy(self) -> TryingSequentialPolicy:
        """The same policy with tables of its own."""
        tables = (self.following.copy(), self.actions.copy(), self.values.copy())
        return TryingSequentialPolicy(self.lattice, *tables, self.tries, self.frequency)

    def looks_in_case(self, state: int, tag: int) -> tuple[int, ...]:
        """The one observation to buy now."""
        planned = self.following.item(state)
        if planned >= 0:
            return (planned,)
        tries = self.tries
        chance = tries.chance.item(state)
        if not chance:  # most often, once a state is familiar
            return ()
        i = tried(uniform(tag, 4 * state + LOOKS), chance, tries.favourite.item(state))
        if i == ANY:
            known = self.lattice.domain(state)
            unknown = [i for i in range(self.lattice.buyable) if i not in known]
            i = unknown[int(uniform(tag, 4 * state + WHICH) * len(unknown))]
        return () if i == STOP else (i,)

    def action_in_case(self, state: int, tag: int) -> int:
        """The action of a case with that tag."""
        return _action(self, state, tag)

    def chances(self, start: int, path: Path, looks: tuple[int, ...], action: int) -> Propensities:
        """Of each look, then of stopping and the action; now, since the tables are large."""
        steps, state, planned = [], start, self.following.item
        for i, reached in path:
            steps.append(1.0 if planned(state) == i else self._chance_of(state, i))
            state = reached
        if looks:
            i = looks[0]
            steps.append(1.0 if planned(state) == i else self._chance_of(state, i))
        if action >= 0:
            stops = 1.0 - self.tries.chance.item(state) if planned(state) < 0 else 0.0
            steps.append(stops * _chance(self, state, action))
        return tuple(steps)

    def _chance_of(self, state: int, i: int) -> float:
        """Of looking at i, which is not what the policy itself would do."""
        if self.following.item(state) >= 0:
            return 0.0
        chance, favourite = self.tries.chance.item(state), self.tries.favourite.item(state)
        unknown = self.lattice.buyable - len(self.lattice.domain(state))
        return one_more_look(i, chance, favourite, unknown)

    def run(
        self, statistics: Statistics, tags: Integers, values: Choices, rewards: Floats
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""
        from askwise._kernels.learners.explored_runs import run_trying_sequential

        states, actions = np.empty(len(tags), np.int64), np.empty(len(tags), np.int16)
        run_trying_sequential(
            self.lattice.layout,
            self.following,
            self.actions,
            *self.tries,
            tags,
            values,
            rewards,
            UNIT,
            statistics.counters,
            states,
            actions,
        )
        return states, actions


class TryingSimultaneousPolicy(SimultaneousPolicy):
    """Buys a set at once, and now and then another one."""

    def __init__(
        self,
        lattice: Lattice,
        sets: Integers,
        actions: Choices,
        values: Floats,
        tries: Tries,
        frequency: Floats | None = None,
    ) -> None:
        super().__init__(lattice, sets, actions, values, frequency=frequency)
        self.tries = tries

    def copy(self) -> TryingSimultaneousPolicy:
        """The same policy with tables of its own."""
        tables = (self.sets.copy(), self.actions.copy(), self.values.copy())
        return TryingSimultaneousPolicy(self.lattice, *tables, self.tries, self.frequency)

    def looks_in_case(self, state: int, tag: int) -> tuple[int, ...]:
        """What of the case's set is not known yet."""
        lattice, tries = self.lattice, self.tries
        context = lattice.context(state)
        chance, favourite = tries.chance.item(context), tries.favourite.item(context)
        subset = tried(uniform(tag, LOOKS), chance, favourite)
        if subset == STOP:
            subset = self.sets.item(context)
        elif subset == ANY:
            subset = int(uniform(tag, WHICH) * lattice.subsets)
        return remaining(lattice, lattice.members(subset), lattice.domain(state))

    def action_in_case(self, state: int, tag: int) -> int:
        """The action of a case with that tag."""
        return _action(self, state, tag)

    def chances(self, start: int, path: Path, looks: tuple[int, ...], action: int) -> Propensities:
        """Of the set, then of the action; no table is needed later, but a few of their cells."""
        context = self.lattice.context(start) if self.lattice.contexts > 1 else 0
        sets = (self.sets.item(context), self.tries.favourite.item(context))
        acts = _chance(self, path[-1][1] if path else start, action)
        cells = (*sets, self.tries.chance.item(context), acts)
        return partial(set_chances, self.lattice, start, path, looks, action, *cells)

    def run(
        self, statistics: Statistics, tags: Integers, values: Choices, rewards: Floats
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""
        from askwise._kernels.learners.explored_runs import run_trying_simultaneous

        states, actions = np.empty(len(tags), np.int64), np.empty(len(tags), np.int16)
        run_trying_simultaneous(
            self.lattice.layout,
            self.sets,
            self.actions,
            *self.tries,
            tags,
            values,
            rewards,
            UNIT,
            statistics.counters,
            states,
            actions,
        )
        return states, actions


TryingPolicy = TryingSequentialPolicy | TryingSimultaneousPolicy


def with_tries(policy: Policy, tries: Tries) -> TryingPolicy:
    """The same policy, and what it tries beside."""
    for array in tries:
        array.setflags(write=False)
    lattice, actions, values = policy.lattice, policy.actions, policy.values
    if isinstance(policy, SequentialPolicy):
        return TryingSequentialPolicy(
            lattice, policy.following, actions, values, tries, policy.frequency
        )
    assert isinstance(policy, SimultaneousPolicy)
    tables = (policy.sets, actions, values)
    return TryingSimultaneousPolicy(lattice, *tables, tries, policy.frequency)


def no_tries(policy: Policy) -> TryingPolicy:
    """The same policy, which does not try anything."""
    one_by_one = isinstance(policy, SequentialPolicy)
    return with_tries(policy, empty_tries(policy.lattice, one_by_one=one_by_one))


def empty_tries(lattice: Lattice, *, one_by_one: bool) -> Tries:
    """Tables of the right shape, in which nothing is tried."""
    places = lattice.size if one_by_one else lattice.contexts
    return Tries(
        favourite=np.full(places, -1 if one_by_one else 0, np.int64),
        chance=np.zeros(places),
        daring=np.zeros(lattice.size, np.int16),
        dare=np.zeros(lattice.size),
    )


def _action(policy: TryingPolicy, state: int, tag: int) -> int:
    dare = policy.tries.dare.item(state)
    if dare and uniform(tag, 4 * state + ACTS) < dare:
        return policy.tries.daring.item(state)
    return policy.actions.item(state)


def _chance(policy: TryingPolicy, state: int, action: int) -> float:
    """Of the action: the daring one with the chance `dare`, else the policy's."""
    tries = policy.tries
    dare = tries.dare.item(state)
    chance = 1.0 - dare if policy.actions.item(state) == action else 0.0
    return chance + dare if tries.daring.item(state) == action else chance
