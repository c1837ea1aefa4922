"""Every partial state ψ as one integer.

Ψ is the union of Ψ⁺(I) over the subsets I with |I| ≤ m. Subsets are ordered by size, then
lexicographically; the states of one subset stand together, ordered as numbers whose digits are the
values of its members in the order of declaration (mixed radix, the first member leading):

    index(ψ) = offset(I) + Σ_j ψ[i_j] · stride_j,     stride_j = X_{j+1} · X_{j+2} ⋯

Array order is therefore tie order: fewer observations first, then the order of declaration. A
child is arithmetic on its parent's index, so there is no table of children; what is stored grows
with the number of subsets, not of states.
"""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from askwise._typing import Floats, Integers
from askwise.errors import CaseError, TooLargeError
from askwise.problem import Problem, Value

MOST_SUBSETS = 5_000_000
MOST_STATES = 2**61
"""So that every state is a number of 64 bits."""


class Layout(NamedTuple):
    """The lattice as the kernels take it."""

    radices: Integers
    """X_i, the number of values of each observation."""
    members: Integers
    """(subsets, m): the observations of each subset, in order; −1 fills up."""
    sizes: Integers
    """|I| for each subset."""
    strides: Integers
    """(subsets, m): how far apart two values of a member are inside its subset."""
    offsets: Integers
    """(subsets + 1): where the states of each subset begin."""
    levels: Integers
    """(m + 2): where the subsets of each size begin."""
    binomials: Integers
    """(D + 1, m + 1): n choose k, for ranking a subset."""


class Step(NamedTuple):
    """What looking at an observation does to the states of a subset."""

    subset: int
    """The subset with the observation added."""
    slot: int
    """The place of the observation there; −1 if it is known already, or m are."""
    stride: int
    radix: int
    start: int
    """Where the states of the subset begin."""
    above: int
    """Where those of the larger subset begin."""

    def child(self, state: int, digit: int) -> int:
        """The state in which the observation has this value."""
        _, _, stride, radix, start, above = self
        place = state - start
        return above + place + place // stride * stride * (radix - 1) + digit * stride


class Lattice:
    """The states of a problem, and the relations between them.

    >>> from askwise import Observation, Problem
    >>> lattice = Lattice(Problem(
    ...     observations=[
    ...         Observation("mammogram", values=["low", "mid", "high"], cost=1),
    ...         Observation("mri", values=["neg", "pos"], cost=9),
    ...     ],
    ...     actions=["wait", "treat"],
    ... ))
    >>> lattice.size
    12
    >>> lattice.index({"mri": "pos"}), lattice.state(5)
    (5, {'mri': 'pos'})
    """

    def __init__(self, problem: Problem, *, max_observations: int | None = None) -> None:
        radices = [len(o.values) for o in problem.observations]
        self.problem = problem
        self.m = problem.m if max_observations is None else max_observations
        """The most observations in a state; the problem's, unless given."""
        self.size = count_states(radices, self.m)
        """Ψ_tot, the empty state included."""
        subsets = count_states([1] * len(radices), self.m)
        if subsets > MOST_SUBSETS or self.size > MOST_STATES:
            most = (
                f"subsets, more than the {MOST_SUBSETS:,} that are supported: lower "
                if subsets > MOST_SUBSETS
                else f"subsets, more than the {MOST_STATES:,} states that can be numbered: lower "
            )
            raise TooLargeError(
                f"{len(radices)} observations with max_observations={self.m} make "
                f"{self.size:,} states in {subsets:,} {most}"
                "max_observations, or the number of observations or of their values"
            )
        self.layout = _build(np.array(radices, np.int64), self.m)
        self._names: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._positions = {o.name: i for i, o in enumerate(problem.observations)}
        self._steps: dict[tuple[int, int], Step] = {}
        self._digits = [{v: x for x, v in enumerate(o.values)} for o in problem.observations]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lattice) and (self.problem, self.m) == (other.problem, other.m)

    def __hash__(self) -> int:
        return hash((self.size, self.m))

    def __repr__(self) -> str:
        return f"<Lattice of {self.size:,} states in {self.subsets:,} subsets>"

    # --- readable states ---------------------------------------------------------------------

    def position(self, name: str) -> int:
        """The observation of that name, as its place in the problem."""
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            known = ", ".join(self._positions)
            raise CaseError(f"unknown observation {name!r}, expected one of: {known}") from None

    def names_of(self, observations: tuple[int, ...]) -> tuple[str, ...]:
        """The names of these observations."""
        names = self._names.get(observations)
        if names is None:
            names = tuple(self.problem.observations[i].name for i in observations)
            self._names[observations] = names
        return names

    def digit(self, observation: int, value: Value) -> int:
        """The value of that observation, as its place among its values."""
        # True == 1 and 1.0 == 1, but neither was declared.
        if type(value) in (str, int) or (
            isinstance(value, str | int | np.integer) and not isinstance(value, bool)
        ):
            digit = self._digits[observation].get(value)
            if digit is not None:
                return digit
        declared = self.problem.observations[observation]
        known = ", ".join(map(repr, declared.values))
        raise CaseError(
            f"observation {declared.name!r} has no value {value!r}, expected one of: {known}"
        )

    def action(self, name: str) -> int:
        """The action of that name, as its place in the problem."""
        actions = self.problem.actions
        if name not in actions:
            raise CaseError(f"unknown action {name!r}, expected one of: {', '.join(actions)}")
        return actions.index(name)

    def index(self, state: Mapping[str, Value]) -> int:
        """The integer of a readable state."""
        if not isinstance(state, Mapping):
            raise CaseError(f"a state is {{name: value}}, got {state!r}")
        digits = {self.position(n): self.digit(self.position(n), v) for n, v in state.items()}
        if len(digits) > self.m:
            raise CaseError(f"a state of {len(digits)} observations, expected at most {self.m}")
        return self.index_of(digits)

    def state(self, index: int) -> dict[str, Value]:
        """The readable state of an integer."""
        observations = self.problem.observations
        return {observations[i].name: observations[i].values[x] for i, x in self.digits(index)}

    # --- states and subsets as integers --------------------------------------------------------

    @property
    def subsets(self) -> int:
        """The number of subsets with at most m members."""
        return len(self.layout.sizes)

    @property
    def most_outcomes(self) -> int:
        """Ψ_max: the most states that one further observation can lead to."""
        return int(self.layout.radices.max()) if self.m else 1

    @cached_property
    def costs(self) -> Floats:
        """c_i of every observation."""
        return np.array([o.cost for o in self.problem.observations])

    @cached_property
    def subset_costs(self) -> Floats:
        """Σ_{i in I} c_i for each subset, summed in the order of declaration."""
        costs = np.array([*self.costs, 0.0])  # −1 costs nothing
        total = np.zeros(self.subsets)
        for member in self.layout.members.T:
            total += costs[member]
        return total

    def subset(self, observations: tuple[int, ...]) -> int:
        """The subset of these observations (in ascending order)."""
        binomials, n, k = self.layout.binomials, len(self.layout.radices), len(observations)
        end = int(self.layout.levels[k + 1])
        return end - 1 - sum(int(binomials[n - 1 - i, k - j]) for j, i in enumerate(observations))

    def subset_of(self, index: int) -> int:
        """The subset whose states contain this one."""
        if not 0 <= index < self.size:
            raise IndexError(f"state {index} is not one of the {self.size} states")
        return int(self.layout.offsets.searchsorted(index, side="right")) - 1

    def members(self, subset: int) -> tuple[int, ...]:
        """The observations of a subset, in ascending order."""
        return tuple(self.layout.members[subset, : self.layout.sizes[subset]].tolist())

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
        """The (observation, value) pairs of a state, as integers."""
        subset = self.subset_of(index)
        rest = index - int(self.layout.offsets[subset])
        pairs = []
        for i, stride in zip(self.members(subset), self.layout.strides[subset], strict=False):
            digit, rest = divmod(rest, int(stride))
            pairs.append((i, digit))
        return pairs

    def index_of(self, digits: Mapping[int, int]) -> int:
        """The state in which each observation i has the value digits[i]."""
        observations = tuple(sorted(digits))
        subset = self.subset(observations)
        strides = self.layout.strides[subset]
        return int(self.layout.offsets[subset]) + sum(
            digits[i] * int(strides[j]) for j, i in enumerate(observations)
        )

    def states(self, subset: int) -> range:
        """Ψ⁺(I): the states in which just the observations of the subset have a value."""
        return range(int(self.layout.offsets[subset]), int(self.layout.offsets[subset + 1]))

    def children(self, index: int, observation: int) -> range:
        """Ψ⁺(ψ, i): the states that looking at i can lead to, one for each of its values."""
        step = self.step(self.subset_of(index), observation)
        if step.slot < 0:
            return range(0)
        first = step.child(index, 0)
        return range(first, first + step.radix * step.stride, step.stride)

    def step(self, subset: int, observation: int) -> Step:
        """What looking at the observation does to the states of the subset."""
        found = self._steps.get((subset, observation))
        if found is None:
            found = self._steps[subset, observation] = self._step(subset, observation)
        return found

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
        pairs = self.digits(index)
        return [
            self.index_of({i: x for j, (i, x) in enumerate(pairs) if chosen >> j & 1})
            for chosen in range(1 << len(pairs))
        ]

    def is_substate(self, smaller: int, larger: int) -> bool:
        """Larger ⪰ smaller: the larger state knows all that the smaller one does, and agrees."""
        return set(self.digits(smaller)) <= set(self.digits(larger))

    def consistent(self, full: Mapping[int, int], index: int) -> bool:
        """φ ~ ψ: the full state agrees with the partial one wherever that has a value."""
        return all(full[i] == x for i, x in self.digits(index))


def count_states(radices: list[int], m: int) -> int:
    """Ψ_tot = Σ_{|I| ≤ m} Π_{i in I} X_i, exactly and without building anything."""
    of_size = [1] + [0] * m
    for radix in radices:
        for k in range(m, 0, -1):
            of_size[k] += of_size[k - 1] * radix
    return sum(of_size)


def _build(radices: Integers, m: int) -> Layout:
    n = len(radices)
    binomials = np.array(
        [
            [min(math.comb(i, k), np.iinfo(np.int64).max) for k in range(m + 1)]
            for i in range(n + 1)
        ],
        np.int64,
    )
    # The k-subsets in lexicographic order: each (k−1)-subset followed by every later observation.
    level = np.empty((1, 0), np.int64)
    blocks = [np.full((1, m), -1, np.int64)]
    for k in range(1, m + 1):
        last = level[:, -1] if k > 1 else np.array([-1])
        following = n - 1 - last
        ends = np.cumsum(following)
        step = np.arange(ends[-1]) - np.repeat(ends - following, following)
        added = np.repeat(last, following) + 1 + step
        level = np.column_stack([np.repeat(level, following, axis=0), added])
        blocks.append(np.column_stack([level, np.full((len(level), m - k), -1, np.int64)]))
    members = np.concatenate(blocks)
    sizes = np.repeat(np.arange(m + 1), [len(b) for b in blocks])
    values = np.where(members >= 0, radices[members], 1)
    # stride_j = the product of the radices behind j
    strides = np.ones_like(members)
    for j in range(m - 2, -1, -1):
        strides[:, j] = strides[:, j + 1] * values[:, j + 1]
    offsets = np.concatenate([[0], np.cumsum(values.prod(axis=1))])
    levels = np.concatenate([[0], np.cumsum([len(b) for b in blocks])])
    return Layout(radices, members, sizes, strides, offsets, levels, binomials)
