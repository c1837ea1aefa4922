"""Policies that now and then try something else, by the tag of the case.

A policy that only does what it thinks best never learns that it is wrong. These do, with chances
that shrink as a state becomes familiar: where they would act they may look once more (`chance`),
and act on a less settled opinion (`daring`, with the chance `dare`). What a case tries depends on
the tables and its tag, one random number, and on nothing else. `tree` and `evaluate` show the
policy without its tries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._typing import Choices, Floats, Integers
from askwise.lattice import Lattice
from askwise.policy import Policy, SequentialPolicy, SimultaneousPolicy
from askwise.statistics import UNIT, Statistics


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
        wanted = int(self.following[state])
        if wanted >= 0:  # as `look_of` begins; calling it takes twenty times as long
            return (wanted,)
        from askwise._kernels.trying import look_of

        subset, tries = self.lattice.subset_of(state), self.tries
        layout = self.lattice.layout
        i = int(look_of(layout, subset, state, tag, self.following, tries.favourite, tries.chance))
        return () if i < 0 else (i,)

    def action_in_case(self, state: int, tag: int) -> int:
        """The action of a case with that tag."""
        return _action(self, state, tag)

    def run(
        self, statistics: Statistics, tags: Integers, values: Choices, rewards: Floats
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""
        from askwise._kernels.trying import run_trying_sequential

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
        from askwise._kernels.trying import set_of

        lattice, tries = self.lattice, self.tries
        context, tables = lattice.context(state), (tries.favourite, tries.chance)
        subset = int(set_of(tag, context, self.sets, lattice.subsets, *tables))
        known = lattice.domain(state)
        rest = tuple(i for i in lattice.members(subset) if i not in known)
        return rest[: lattice.m - len(known)]

    def action_in_case(self, state: int, tag: int) -> int:
        """The action of a case with that tag."""
        return _action(self, state, tag)

    def run(
        self, statistics: Statistics, tags: Integers, values: Choices, rewards: Floats
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""
        from askwise._kernels.trying import run_trying_simultaneous

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
    from askwise._kernels.trying import action_of

    return int(action_of(state, tag, policy.actions, policy.tries.daring, policy.tries.dare))
