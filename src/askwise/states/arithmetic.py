"""Every partial state ψ as one integer, by nothing but the numbers of outcomes.

Ψ is the union of Ψ⁺(I) over the subsets I with |I| ≤ m. Subsets are ordered by size, then
lexicographically. The states of one subset are contiguous. They are ordered as numbers whose digits
are the values of its members in the order of declaration (mixed radix, the first member leading):

    index(ψ) = offset(I) + Σ_j ψ[i_j] · stride_j,     stride_j = X_{j+1} · X_{j+2} ⋯

Array order is therefore tie order: fewer observations first, then the order of declaration. A
child is arithmetic on its parent's index, so there is no table of children; what is stored grows
with the number of subsets, not of states.

Given observations are the leading digits of every state, also of those of the empty subset. A
context is a combination of given values, and a case begins in the state of its context.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from askwise._support.typing import Choices, Flags, Integers
from askwise.errors import TooLargeError
from askwise.states.layout import Step, Steps, build_layout, count_products, count_states, said

MOST_SUBSETS = 5_000_000
FEW_SUBSETS = 100_000
MOST_STATES = 2**61
"""So that every state is a number of 64 bits."""


class States:
    """The states of observations with so many outcomes, and the relations between them.

    `outcomes` are those of what can be bought, then those of what is given. `requires` has, for
    each that can be bought, those that must be known before; none, if it is left out.
    """

    def __init__(
        self,
        outcomes: Sequence[int],
        buyable: int,
        m: int,
        requires: Sequence[Sequence[int]] | None = None,
    ) -> None:
        radices, given = list(outcomes[:buyable]), list(outcomes[buyable:])
        self.buyable = buyable
        """How many observations can be bought; the others are given."""
        self.has_given = bool(given)
        self.outcomes: Integers = np.array(outcomes, np.int64)
        """How many outcomes each observation has, those that are given last."""
        self.m = m
        """The most observations in a state, without the given ones."""
        self.contexts = count_products(given)
        """In how many states a case can begin."""
        self.size = self.contexts * count_states(radices, m)
        """Ψ_tot, the empty state included."""
        subsets = count_states([1] * len(radices), m) * self.contexts
        if subsets > MOST_SUBSETS or self.size > MOST_STATES:
            most = (
                f"subsets, more than the {MOST_SUBSETS:,} that are supported: lower "
                if subsets > MOST_SUBSETS
                else f"subsets, more than the {MOST_STATES:,} states that can be numbered: lower "
            )
            times = f" for {said(self.contexts)} contexts" if given else ""
            raise TooLargeError(
                f"{len(radices)} observations with max_observations={m} make "
                f"{said(self.size)} states in {said(subsets)} {most}"
                f"max_observations, or the number of observations or of their values{times}"
            )
        self.requires = [()] * buyable if requires is None else [tuple(r) for r in requires]
        """What must be known before each observation is bought."""
        self.has_requirements = any(self.requires)
        self.layout = build_layout(
            np.array(radices, np.int64), m, np.array(given, np.int64), self.requires
        )
        # bisection takes a tenth of the time in a list; a large one is not worth its memory
        offsets = self.layout.offsets
        self._offsets = offsets.tolist() if len(offsets) <= FEW_SUBSETS else offsets
        self._members: dict[int, tuple[int, ...]] = {}
        self._may_look: dict[int, tuple[int, ...]] = {}
        self.steps = Steps(self._step)

    @property
    def subsets(self) -> int:
        """The number of subsets with at most m members."""
        return len(self.layout.sizes)

    @property
    def context_subsets(self) -> int:
        """The number of subsets in all contexts."""
        return len(self.layout.context_offsets) - 1

    def context_subset(self, subset: int, context: int) -> int:
        """A subset in a context, as its place in `layout.context_offsets`."""
        return subset * self.contexts + context

    def context(self, index: int) -> int:
        """The context of a state: the state in which its case began, if nothing was on file."""
        subset, offsets = self.subset_of(index), self.layout.offsets
        states = int(offsets[subset + 1] - offsets[subset]) // self.contexts
        return (index - int(offsets[subset])) // states

    @property
    def most_outcomes(self) -> int:
        """Ψ_max: the most states that one further observation can lead to."""
        return int(self.layout.radices.max()) if self.m else 1

    def subset(self, observations: tuple[int, ...]) -> int:
        """The subset of these observations (in ascending order)."""
        binomials, n, k = self.layout.binomials, len(self.layout.radices), len(observations)
        end = int(self.layout.levels[k + 1])
        return end - 1 - sum(int(binomials[n - 1 - i, k - j]) for j, i in enumerate(observations))

    def subset_of(self, index: int) -> int:
        """The subset whose states contain this one."""
        if not 0 <= index < self.size:
            raise IndexError(f"state {index} is not one of the {self.size} states")
        return bisect_right(self._offsets, index) - 1

    def members(self, subset: int) -> tuple[int, ...]:
        """The observations of a subset, in ascending order."""
        members = self._members.get(subset)
        if members is None:
            members = tuple(self.layout.members[subset, : self.layout.sizes[subset]].tolist())
            self._members[subset] = members
        return members

    def is_open(self, subset: int, observation: int) -> bool:
        """Whether all is known in the states of the subset that the observation requires."""
        requires = self.requires[observation]
        return not requires or set(requires) <= set(self.members(subset))

    def needs(self, observation: int) -> list[int]:
        """All that must be known before an observation is bought, each after what it requires."""
        found: list[int] = []
        for other in self.requires[observation]:
            found += [i for i in (*self.needs(other), other) if i not in found]
        return found

    def in_order(self, observations: Sequence[int]) -> list[int]:
        """The same observations, each after those of them that it requires."""
        if not self.has_requirements:
            return list(observations)
        found: list[int] = []
        for observation in observations:
            before = [i for i in self.needs(observation) if i in observations]
            found += [i for i in (*before, observation) if i not in found]
        return found

    def may_look(self, index: int) -> tuple[int, ...]:
        """The observations that may be bought next in a state, if any more may."""
        subset = self.subset_of(index)
        found = self._may_look.get(subset)
        if found is None:
            known, every = self.members(subset), range(self.buyable)
            found = tuple(i for i in every if i not in known and self.is_open(subset, i))
            self._may_look[subset] = found
        return found

    @cached_property
    def open_subsets(self) -> Integers:
        """The subsets that can be bought from nothing: what a member requires is a member."""
        layout = self.layout
        is_open = np.ones(self.subsets, np.bool_)
        for i, requires in enumerate(self.requires):
            for other in requires:
                has, needs = (layout.members == i).any(axis=1), (layout.members == other)
                is_open &= ~has | needs.any(axis=1)
        return np.flatnonzero(is_open)

    @cached_property
    def are_open(self) -> Flags:
        """Whether each subset can be bought from nothing."""
        is_open = np.zeros(self.subsets, np.bool_)
        is_open[self.open_subsets] = True
        return is_open

    @cached_property
    def subsets_by_width(self) -> list[tuple[Integers, Integers]]:
        """The open subsets with equally many states, and the states of each, at [subset, place]."""
        firsts, found = self.layout.offsets[self.open_subsets], []
        widths = np.diff(self.layout.offsets)[self.open_subsets]
        for width in np.unique(widths).tolist():
            here = widths == width
            found.append((self.open_subsets[here], firsts[here, None] + np.arange(width)))
        return found

    def parts(self, subset: int) -> list[int]:
        """Every subset of a subset, itself and the empty one included."""
        members = self.members(subset)
        return [
            self.subset(tuple(i for j, i in enumerate(members) if chosen >> j & 1))
            for chosen in range(1 << len(members))
        ]

    def domain(self, index: int) -> tuple[int, ...]:
        """dom(ψ): the observations that have a value in this state."""
        return self.members(self.subset_of(index))

    def digits(self, index: int) -> list[tuple[int, int]]:
        """The (observation, value) pairs of a state, as integers; those that are given go last."""
        subset = self.subset_of(index)
        offsets = self.layout.offsets
        states = int(offsets[subset + 1] - offsets[subset]) // self.contexts
        context, rest = divmod(index - int(offsets[subset]), states)
        pairs = []
        for i, stride in zip(self.members(subset), self.layout.strides[subset], strict=False):
            digit, rest = divmod(rest, int(stride))
            pairs.append((i, digit))
        for i, stride in enumerate(self.layout.given.tolist(), start=self.buyable):
            digit, context = divmod(context, stride)
            pairs.append((i, digit))
        return pairs

    def index_of(self, digits: Mapping[int, int]) -> int:
        """The state in which each observation i has the value digits[i]."""
        observations = tuple(sorted(i for i in digits if i < self.buyable))
        subset = self.subset(observations)
        strides, first = self.layout.strides[subset], int(self.layout.offsets[subset])
        states = (int(self.layout.offsets[subset + 1]) - first) // self.contexts
        context = sum(
            digits[i] * stride
            for i, stride in enumerate(self.layout.given.tolist(), start=self.buyable)
        )
        place = sum(digits[i] * int(strides[j]) for j, i in enumerate(observations))
        return int(first + context * states + place)

    def path(self, start: int, end: int) -> list[tuple[int, int]]:
        """The steps from a state to a larger one in the order of declaration: (i, state)."""
        subset, state, path = self.subset_of(start), start, []
        known = self.members(subset)
        for i, digit in self.digits(end):
            if i < self.buyable and i not in known:
                step = self.step(subset, i)
                subset, state = step.subset, step.child(state, digit)
                path.append((i, state))
        return path

    def states(self, subset: int) -> range:
        """Ψ⁺(I): the states in which exactly the observations of the subset have a value."""
        return range(int(self.layout.offsets[subset]), int(self.layout.offsets[subset + 1]))

    def block(self, subset: int) -> slice:
        """`states` of a subset as the slice of an array that is indexed by state."""
        return slice(int(self.layout.offsets[subset]), int(self.layout.offsets[subset + 1]))

    def states_of(self, subset: int, digits: Choices | Integers) -> Integers:
        """The state of each row of digits, in which just the subset and what is given are known.

        A row has a digit for every observation, those that are given last.
        """
        layout, members = self.layout, list(self.members(subset))
        first, end = layout.offsets[subset : subset + 2].tolist()
        context = digits[:, self.buyable :].astype(np.int64) @ layout.given
        place = digits[:, members].astype(np.int64) @ layout.strides[subset, : len(members)]
        states: Integers = first + context * ((end - first) // self.contexts) + place
        return states

    def states_in(self, context: int) -> tuple[Integers, Integers]:
        """The states of a context, subset by subset, and where each subset begins among them."""
        firsts = self.layout.context_offsets[context : -1 : self.contexts]
        ends = self.layout.context_offsets[context + 1 :: self.contexts]
        states = np.concatenate([np.arange(a, b) for a, b in zip(firsts, ends, strict=True)])
        return states, np.concatenate([[0], np.cumsum(ends - firsts)])

    def children(self, index: int, observation: int) -> range:
        """Ψ⁺(ψ, i): the states that buying i can lead to, one for each of its values."""
        step = self.step(self.subset_of(index), observation)
        if step.slot < 0:
            return range(0)
        first = step.child(index, 0)
        return range(first, first + step.radix * step.stride, step.stride)

    def children_of_subset(self, subset: int, observation: int) -> Integers:
        """(states of the subset, outcomes): `children` of every state of a subset."""
        step, states = self.step(subset, observation), self.states(subset)
        if step.slot < 0:
            return np.empty((len(states), 0), np.int64)
        return step.children(np.arange(states.start, states.stop))

    def step(self, subset: int, observation: int) -> Step:
        """The effect of buying the observation on the states of the subset."""
        return self.steps[subset, observation]

    def _step(self, subset: int, observation: int) -> Step:
        layout, domain = self.layout, self.members(subset)
        if observation in domain or len(domain) == self.m:
            return Step(subset, -1, 1, 1, 0, 0)
        union = tuple(sorted((*domain, observation)))
        above, slot = self.subset(union), union.index(observation)
        return Step(
            above,
            slot,
            int(layout.strides[above, slot]),
            int(layout.radices[observation]),
            int(layout.offsets[subset]),
            int(layout.offsets[above]),
        )

    def slot(self, index: int, observation: int) -> int:
        """The place of an observation in the state's domain: where its last step is counted."""
        return self.domain(index).index(observation)

    def substates(self, index: int) -> list[int]:
        """Every state that this one extends (ψ' ⪯ ψ), itself and the empty one included."""
        pairs, size = self.digits(index), len(self.domain(index))
        return [
            self.index_of({i: x for j, (i, x) in enumerate(pairs) if j >= size or chosen >> j & 1})
            for chosen in range(1 << size)
        ]

    def is_substate(self, smaller: int, larger: int) -> bool:
        """Larger ⪰ smaller: the larger state knows all that the smaller one does, and agrees."""
        return set(self.digits(smaller)) <= set(self.digits(larger))

    def consistent(self, full: Mapping[int, int], index: int) -> bool:
        """φ ~ ψ: the full state agrees with the partial one wherever that has a value."""
        return all(full[i] == x for i, x in self.digits(index))
