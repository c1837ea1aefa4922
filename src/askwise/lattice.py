"""Every partial state ψ as one integer.

Ψ is the union of Ψ⁺(I) over the subsets I with |I| ≤ m. Subsets are ordered by size, then
lexicographically; the states of one subset stand together, ordered as numbers whose digits are the
values of its members in the order of declaration (mixed radix, the first member leading):

    index(ψ) = offset(I) + Σ_j ψ[i_j] · stride_j,     stride_j = X_{j+1} · X_{j+2} ⋯

Array order is therefore tie order: fewer observations first, then the order of declaration. A
child is arithmetic on its parent's index, so there is no table of children; what is stored grows
with the number of subsets, not of states.

Observations that are given are the leading digits of every state, of the empty subset's too: a
case begins in one of as many states as there are contexts, combinations of given values.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from askwise._typing import Floats, Integers
from askwise.errors import CaseError, TooLargeError
from askwise.prices import Tariff, tariff_of
from askwise.problem import Fails, Problem, Seen, Value

MOST_SUBSETS = 5_000_000
FEW_SUBSETS = 100_000
MOST_STATES = 2**61
"""So that every state is a number of 64 bits."""


class Layout(NamedTuple):
    """The lattice as the kernels take it."""

    radices: Integers
    """X_i, the number of outcomes of each observation that can be bought."""
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
    given: Integers
    """How far apart two values of each given observation are among the contexts."""
    parcels: Integers
    """(subsets · contexts + 1): where the states of each subset in each context begin."""


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


class Steps(dict[tuple[int, int], Step]):
    """The step of each (subset, observation), worked out when it is first asked for."""

    def __init__(self, find: Callable[[int, int], Step]) -> None:
        self._find = find

    def __missing__(self, key: tuple[int, int]) -> Step:
        step = self[key] = self._find(*key)
        return step


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
        places = range(len(problem.observations))
        self.order = sorted(places, key=lambda i: problem.observations[i].given)
        """The places in the problem of the lattice's observations: those that are given go last."""
        self.observations = tuple(problem.observations[i] for i in self.order)
        """What can be bought, in the order of declaration, then what is given."""
        self.buyable = sum(not o.given for o in self.observations)
        """How many of them can be bought."""
        self.has_given = self.buyable < len(self.observations)
        outcomes = [len(o.outcomes) for o in self.observations]
        radices, given = outcomes[: self.buyable], outcomes[self.buyable :]
        self.outcomes: Integers = np.array(outcomes, np.int64)
        """How many outcomes each observation has, those that are given last."""
        self.problem = problem
        self.m = problem.m if max_observations is None else max_observations
        """The most observations in a state, beside those given; the problem's, unless given."""
        self.contexts = math.prod(given)
        """In how many states a case can begin."""
        self.size = self.contexts * count_states(radices, self.m)
        """Ψ_tot, the empty state included."""
        subsets = count_states([1] * len(radices), self.m) * self.contexts
        if subsets > MOST_SUBSETS or self.size > MOST_STATES:
            most = (
                f"subsets, more than the {MOST_SUBSETS:,} that are supported: lower "
                if subsets > MOST_SUBSETS
                else f"subsets, more than the {MOST_STATES:,} states that can be numbered: lower "
            )
            times = f" for {self.contexts:,} contexts" if given else ""
            raise TooLargeError(
                f"{len(radices)} observations with max_observations={self.m} make "
                f"{self.size:,} states in {subsets:,} {most}"
                f"max_observations, or the number of observations or of their values{times}"
            )
        self.layout = _build(np.array(radices, np.int64), self.m, np.array(given, np.int64))
        self._states = (
            tuple(
                (o.name, o.values, o.given, o.fails, o.edges, o.other) for o in problem.observations
            ),
            problem.actions,
            self.m,
        )
        # bisection takes a tenth of the time in a list; a large one is not worth its memory
        offsets = self.layout.offsets
        self._offsets = offsets.tolist() if len(offsets) <= FEW_SUBSETS else offsets
        self._names: dict[tuple[int, ...], tuple[str, ...]] = {}
        self.on_file: tuple[int, ...] = ()
        """What nobody has to buy, so that it does not pay for a panel either."""
        self.positions: Mapping[str, int] = {o.name: i for i, o in enumerate(self.observations)}
        self._members: dict[int, tuple[int, ...]] = {}
        self.steps = Steps(self._step)
        self.digits_of: list[dict[object, int]] = [
            {v: x for x, v in enumerate(o.outcomes)} for o in self.observations
        ]

    def __eq__(self, other: object) -> bool:
        """Whether the states are the same; prices are not part of them."""
        return isinstance(other, Lattice) and self._states == other._states

    def __hash__(self) -> int:
        return hash((self.size, self.m))

    def __repr__(self) -> str:
        return f"<Lattice of {self.size:,} states in {self.subsets:,} subsets>"

    # --- readable states ---------------------------------------------------------------------

    def position(self, name: str) -> int:
        """The observation of that name, as its place in the problem."""
        try:
            return self.positions[name]
        except (KeyError, TypeError):
            known = ", ".join(self.positions)
            raise CaseError(f"unknown observation {name!r}, expected one of: {known}") from None

    def fails(self, name: str) -> Fails | None:
        """What becomes of the price if a look at it fails; None if it cannot."""
        return self.observations[self.position(name)].fails

    def to_buy(self, name: str) -> int:
        """The observation of that name, which must be one that can be bought."""
        i = self.position(name)
        if i >= self.buyable:
            raise CaseError(f"observation {name!r} is given: it is not bought")
        return i

    def names_of(self, observations: tuple[int, ...]) -> tuple[str, ...]:
        """The names of these observations."""
        names = self._names.get(observations)
        if names is None:
            names = tuple(self.observations[i].name for i in observations)
            self._names[observations] = names
        return names

    def digit(self, observation: int, value: Seen) -> int:
        """The value of that observation, as its place among its outcomes; None is a failure."""
        # True == 1 and 1.0 == 1, but neither was declared.
        if type(value) in (str, int) or (
            isinstance(value, str | int | np.integer | None) and not isinstance(value, bool)
        ):
            digit = self.digits_of[observation].get(value)
            if digit is not None:
                return digit
        return self.observations[observation].place(value)

    def action(self, name: str) -> int:
        """The action of that name, as its place in the problem."""
        actions = self.problem.actions
        if name not in actions:
            raise CaseError(f"unknown action {name!r}, expected one of: {', '.join(actions)}")
        return actions.index(name)

    def index(self, state: Mapping[str, Seen]) -> int:
        """The integer of a readable state, in which all that is given has a value."""
        if not isinstance(state, Mapping):
            raise CaseError(f"a state is {{name: value}}, got {state!r}")
        digits = {self.position(n): self.digit(self.position(n), v) for n, v in state.items()}
        for i in range(self.buyable, len(self.observations)):
            if i not in digits:
                name = self.observations[i].name
                raise CaseError(f"observation {name!r} is given: known={{{name!r}: …}} is missing")
        bought = len(digits) - (len(self.observations) - self.buyable)
        if bought > self.m:
            raise CaseError(f"a state of {bought} observations, expected at most {self.m}")
        return self.index_of(digits)

    def state(self, index: int) -> dict[str, Value | None]:
        """The readable state of an integer: what is given first, then what was looked at."""
        pairs, bought = self.digits(index), len(self.domain(index))
        known = [*pairs[bought:], *pairs[:bought]]
        return {self.observations[i].name: self.observations[i].outcomes[x] for i, x in known}

    # --- states and subsets as integers --------------------------------------------------------

    @property
    def subsets(self) -> int:
        """The number of subsets with at most m members."""
        return len(self.layout.sizes)

    @property
    def parcels(self) -> int:
        """The number of subsets in all contexts."""
        return len(self.layout.parcels) - 1

    def parcel(self, subset: int, context: int) -> int:
        """A subset in a context, as its place in `layout.parcels`."""
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

    @cached_property
    def tariff(self) -> Tariff:
        """The prices of what can be bought."""
        names = {self.observations[i].name for i in self.on_file}
        return tariff_of(self.observations[: self.buyable], self.problem.panels, names)

    @property
    def costs(self) -> Floats:
        """c_i of every observation that can be bought, without the fees of panels."""
        return self.tariff.cost

    @cached_property
    def subset_costs(self) -> Floats:
        """c(I) for each subset: prices summed in the order of declaration, then fees."""
        members = self.layout.members
        costs = np.array([*self.costs, 0.0])  # −1 costs nothing
        total = np.zeros(self.subsets)
        for member in members.T:
            total += costs[member]
        for k, fee in enumerate(self.tariff.fee.tolist()):
            total += np.where(self.tariff.belongs(k)[members].any(axis=1), fee, 0.0)
        return total

    def costs_of(self, states: Integers) -> Floats:
        """What was spent in each of these states."""
        subsets = np.searchsorted(self.layout.offsets, states, side="right") - 1
        if not self.tariff.has_refunds:
            costs: Floats = self.subset_costs[subsets]
            return costs
        members, places = self.layout.members[subsets], states - self.layout.offsets[subsets]
        digits = places[:, None] // self.layout.strides[subsets] % self.layout.radices[members]
        charged = np.where(digits == self.tariff.refunded[members], -1, members)
        prices, total = np.array([*self.costs, 0.0]), np.zeros(len(states))
        for member in charged.T:
            total += prices[member]
        for k, fee in enumerate(self.tariff.fee.tolist()):
            total += np.where(self.tariff.belongs(k)[charged].any(axis=1), fee, 0.0)
        return total

    def spent(self, index: int) -> float:
        """What was spent in a state."""
        if not self.tariff.has_refunds:
            return float(self.subset_costs[self.subset_of(index)])
        return self.tariff.cost_of(self.charged(index))

    def charged(self, index: int) -> list[int]:
        """What was bought in a state and not refunded, in ascending order."""
        refunded = self.tariff.refunded
        return [i for i, x in self.digits(index) if i < self.buyable and x != refunded[i]]

    def price(self, index: int, looks: tuple[int, ...]) -> float:
        """What these looks cost together in a state."""
        if self.tariff.is_plain:
            return sum(self.observations[i].cost for i in looks)
        before = self.charged(index)
        return self.tariff.cost_of(sorted((*before, *looks))) - self.tariff.cost_of(before)

    @cached_property
    def refunds(self) -> Floats:
        """What is given back in each state: c(I) less what was spent there."""
        subsets = np.repeat(np.arange(self.subsets), np.diff(self.layout.offsets))
        back: Floats = self.subset_costs[subsets] - self.costs_of(np.arange(self.size))
        return back

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
        """Ψ⁺(I): the states in which just the observations of the subset have a value."""
        return range(int(self.layout.offsets[subset]), int(self.layout.offsets[subset + 1]))

    def states_in(self, context: int) -> tuple[Integers, Integers]:
        """The states of a context, subset by subset, and where each subset begins among them."""
        firsts = self.layout.parcels[context : -1 : self.contexts]
        ends = self.layout.parcels[context + 1 :: self.contexts]
        states = np.concatenate([np.arange(a, b) for a, b in zip(firsts, ends, strict=True)])
        return states, np.concatenate([[0], np.cumsum(ends - firsts)])

    def children(self, index: int, observation: int) -> range:
        """Ψ⁺(ψ, i): the states that looking at i can lead to, one for each of its values."""
        step = self.step(self.subset_of(index), observation)
        if step.slot < 0:
            return range(0)
        first = step.child(index, 0)
        return range(first, first + step.radix * step.stride, step.stride)

    def step(self, subset: int, observation: int) -> Step:
        """What looking at the observation does to the states of the subset."""
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

    def priced(self, prices: Mapping[str, float], on_file: Sequence[int] = ()) -> Lattice:
        """The same states at other prices; what is on file opens no panel."""
        other = copy.copy(self)
        other.problem = self.problem.priced(prices)
        other.observations = tuple(other.problem.observations[i] for i in self.order)
        other.on_file = (*self.on_file, *on_file)
        for name in ("tariff", "subset_costs", "refunds"):
            other.__dict__.pop(name, None)
        return other

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


def count_states(radices: list[int], m: int) -> int:
    """Ψ_tot = Σ_{|I| ≤ m} Π_{i in I} X_i, exactly and without building anything."""
    of_size = [1] + [0] * m
    for radix in radices:
        for k in range(m, 0, -1):
            of_size[k] += of_size[k - 1] * radix
    return sum(of_size)


def _build(radices: Integers, m: int, outcomes_given: Integers) -> Layout:
    n = len(radices)
    contexts = int(outcomes_given.prod())
    given = contexts // np.cumprod(outcomes_given)  # the first leading
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
    states = values.prod(axis=1)
    offsets = np.concatenate([[0], np.cumsum(contexts * states)])
    levels = np.concatenate([[0], np.cumsum([len(b) for b in blocks])])
    parcels = offsets
    if contexts > 1:
        parcels = np.concatenate([[0], np.cumsum(np.repeat(states, contexts))])
    return Layout(radices, members, sizes, strides, offsets, levels, binomials, given, parcels)
