"""The states of a problem: readable, and priced.

The states as integers, and their relations, are in `states/arithmetic.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.errors import CaseError
from askwise.problem import Fails, Problem, Seen, Value
from askwise.problem.stakes import problem_at_stake
from askwise.states.arithmetic import States
from askwise.states.prices import Tariff, tariff_of

UNAFFORDABLE = 1e15
"""Times β: a price at which no policy buys."""


_OF_PRICES = ("tariff", "is_plain", "subset_costs", "state_costs", "set_prices", "refunds")
"""The attributes that are recomputed at other prices."""


class Lattice(States):
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
        self.problem = problem
        self.order = sorted(places, key=lambda i: problem.observations[i].given)
        """The places in the problem of the lattice's observations: those that are given go last."""
        self.observations = tuple(problem.observations[i] for i in self.order)
        """The buyable observations in the order of declaration, then the given ones."""
        super().__init__(
            [len(o.outcomes) for o in self.observations],
            sum(not o.given for o in self.observations),
            problem.m if max_observations is None else max_observations,
            self._requirements(),
        )
        self._states = (
            tuple(
                (o.name, o.values, o.given, o.fails, o.edges, o.other) for o in problem.observations
            ),
            problem.action_names,
            problem.reward_value,
            problem.rewards,
            self.m,
        )
        self._names: dict[tuple[int, ...], tuple[str, ...]] = {}
        self.stake = 1.0
        """How many times the reward of a case counts; `at_stake` makes others."""
        self._per_unit: Lattice | None = None
        self.on_file: tuple[int, ...] = ()
        """The observations on file. They are not bought, so they do not pay for a panel either."""
        self.positions: Mapping[str, int] = {o.name: i for i, o in enumerate(self.observations)}
        self.digits_of: list[dict[object, int]] = [o.places for o in self.observations]

    def __eq__(self, other: object) -> bool:
        """Whether the states, the actions and rewards are the same; prices may be others."""
        return isinstance(other, Lattice) and self._states == other._states

    def __hash__(self) -> int:
        return hash((self.size, self.m))

    def __repr__(self) -> str:
        return f"<Lattice of {self.size:,} states in {self.subsets:,} subsets>"

    # --- readable states -------------------------------------------------------------------------

    def position(self, name: str) -> int:
        """The index of that observation in `observations`, where given ones come last."""
        try:
            return self.positions[name]
        except (KeyError, TypeError):
            known = ", ".join(self.positions)
            raise CaseError(f"unknown observation {name!r}, expected one of: {known}") from None

    def fails(self, name: str) -> Fails | None:
        """What happens to the price if the observation fails; None if it cannot fail."""
        return self.observations[self.position(name)].fails

    def to_buy(self, name: str) -> int:
        """The observation of that name, which must be one that can be bought."""
        i = self.position(name)
        if i >= self.buyable:
            raise CaseError(f"observation {name!r} is given: it is not bought")
        return i

    def names_of(self, observations: tuple[int, ...]) -> tuple[str, ...]:
        """The names of these observations."""
        try:
            return self._names[observations]
        except KeyError:
            names = tuple(self.observations[i].name for i in observations)
            self._names[observations] = names
            return names

    def digit(self, observation: int, value: Seen) -> int:
        """The value of that observation, as its place among its outcomes; None is a failure."""
        # True == 1 and 1.0 == 1, but neither was declared: `place` says what stands for True.
        if type(value) in (str, int) or (
            isinstance(value, str | int | np.integer | None) and not isinstance(value, bool)
        ):
            digit = self.digits_of[observation].get(value)
            if digit is not None:
                return digit
        return self.observations[observation].place(value)

    def action(self, name: str) -> int:
        """The action of that name, as its place in the problem."""
        actions = self.problem.action_names
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
        """Returns the readable state of an integer: given values first, then observed ones."""
        pairs, bought = self.digits(index), len(self.domain(index))
        known = [*pairs[bought:], *pairs[:bought]]
        return {self.observations[i].name: self.observations[i].outcomes[x] for i, x in known}

    # --- actions ---------------------------------------------------------------------------------

    @cached_property
    def action_offsets(self) -> Floats | None:
        """By how much what an action earns is less, in units of β, at [subset, a].

        −cost/β; −∞ where something that the action requires is not known. None if no action costs
        or requires anything, so that nothing takes longer.
        """
        actions = self.problem.actions
        if all(action.is_plain for action in actions):
            return None
        offsets = np.empty((self.subsets, len(actions)))
        for a, action in enumerate(actions):
            offsets[:, a] = -action.cost / self.problem.reward_value
            for name in action.requires:
                i = self.positions[name]
                if i < self.buyable:
                    offsets[~(self.layout.members == i).any(axis=1), a] = -np.inf
        return offsets

    @property
    def offsets_or_none(self) -> Floats:
        """`action_offsets` as kernels take them: of no subset, if there are none."""
        offsets = self.action_offsets
        return np.empty((0, len(self.problem.actions))) if offsets is None else offsets

    @cached_property
    def action_costs(self) -> Floats:
        """The cost of each action, in the currency."""
        return np.array([action.cost for action in self.problem.actions])

    def net(self, reward: Floats) -> Floats:
        """The rewards of actions less their costs, in units of β, at [ψ, a]; −∞ where not allowed.

        `reward` is r(a, ψ) at [ψ, a].
        """
        offsets = self.action_offsets
        if offsets is None:
            return reward
        net: Floats = reward + np.repeat(offsets, np.diff(self.layout.offsets), axis=0)
        return net

    @cached_property
    def may_act(self) -> Flags:
        """Whether each action is allowed in the states of each subset, at [subset, a]."""
        offsets = self.action_offsets
        if offsets is None:
            return np.ones((self.subsets, len(self.problem.actions)), np.bool_)
        return offsets > -np.inf

    def may_act_in(self, subset: int) -> Flags:
        """Whether each action is allowed in the states of a subset; of that one alone."""
        needs, known = self.action_needs, [-1, *self.members(subset)]
        allowed: Flags = np.array([np.isin(need, known).all() for need in needs])
        return allowed

    @property
    def most_earned(self) -> float:
        """The most that a case can gain: β, less the cost of the cheapest action."""
        offsets, beta = self.action_offsets, self.problem.reward_value
        return beta if offsets is None else beta * (1.0 + float(offsets.max()))

    def allows(self, index: int, action: int) -> bool:
        """Whether all that the action requires is known in a state."""
        offsets = self.action_offsets
        return offsets is None or offsets.item(self.subset_of(index), action) > -np.inf

    @cached_property
    def action_needs(self) -> Integers:
        """(A, …): what each action requires of what can be bought; −1 fills up."""
        needs = [
            [i for i in map(self.positions.__getitem__, action.requires) if i < self.buyable]
            for action in self.problem.actions
        ]
        widest = max(map(len, needs))
        return np.array([[*need, *[-1] * (widest - len(need))] for need in needs], np.int64)

    def _requirements(self) -> list[list[int]]:
        """What must be known before each observation that can be bought, as places."""
        buyable = [o for o in self.observations if not o.given]
        place = {o.name: i for i, o in enumerate(buyable)}
        return [[place[name] for name in o.requires if name in place] for o in buyable]

    # --- prices ----------------------------------------------------------------------------------

    @cached_property
    def tariff(self) -> Tariff:
        """The prices of what can be bought."""
        names = {self.observations[i].name for i in self.on_file}
        bought = [o.name for o in self.observations[: self.buyable]]
        return tariff_of(self.problem, bought, names)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every observation has one price; cached, because every answer asks for it."""
        return self.tariff.is_plain

    @property
    def costs(self) -> Floats:
        """c_i of every observation that can be bought, without the fees of panels: of what costs
        less within a panel, its lowest price."""
        return self.tariff.cost

    @cached_property
    def subset_costs(self) -> Floats:
        """c(I) for each subset: prices summed in the order of declaration, then fees."""
        return self.tariff.totals(self.layout.members)

    @cached_property
    def set_prices(self) -> Floats:
        """c(I) of every subset; ∞ where it cannot be bought at once from nothing."""
        if not self.has_requirements:
            return self.subset_costs
        return np.where(self.are_open, self.subset_costs, np.inf)

    @cached_property
    def state_costs(self) -> Floats:
        """The amount spent in every state."""
        return self.costs_of(np.arange(self.size))

    def costs_of(self, states: Integers) -> Floats:
        """The amount spent in each of these states."""
        subsets = np.searchsorted(self.layout.offsets, states, side="right") - 1
        if not self.tariff.has_refunds:
            costs: Floats = self.subset_costs[subsets]
            return costs
        members, places = self.layout.members[subsets], states - self.layout.offsets[subsets]
        digits = places[:, None] // self.layout.strides[subsets] % self.layout.radices[members]
        charged = np.where(digits == self.tariff.refunded[members], -1, members)
        return self.tariff.totals(charged)

    def spent(self, index: int, subset: int = -1) -> float:
        """The amount spent in a state, whose subset may be given.

        The prices of one case are not computed for all subsets, of which there may be many.
        """
        known: Floats | None = self.__dict__.get("subset_costs")
        if known is None or self.tariff.has_refunds:
            return self.tariff.cost_of(self.charged(index))
        return known.item(self.subset_of(index) if subset < 0 else subset)

    def charged(self, index: int) -> list[int]:
        """The observations bought in a state and not refunded, in ascending order."""
        refunded = self.tariff.refunded
        return [i for i, x in self.digits(index) if i < self.buyable and x != refunded[i]]

    def price(self, index: int, looks: tuple[int, ...]) -> float:
        """The price of these observations together in a state."""
        tariff = self.tariff
        if len(tariff.priced_fee):
            paid = self.charged(index)
            return tariff.cost_of(sorted([*paid, *looks])) - tariff.cost_of(paid)
        total = sum(self.observations[i].cost for i in looks)
        if not self.is_plain:
            due = {k for i in looks for k in self.tariff.panels_of(i)}
            due -= {k for i in self.charged(index) for k in self.tariff.panels_of(i)}
            total += sum(self.tariff.fee[k].item() for k in sorted(due))
        return total

    @cached_property
    def refunds(self) -> Floats:
        """The refund in each state: c(I) less the amount spent there."""
        subsets = np.repeat(np.arange(self.subsets), np.diff(self.layout.offsets))
        back: Floats = self.subset_costs[subsets] - self.state_costs
        return back

    def priced(self, prices: Mapping[str, float], on_file: Sequence[int] = ()) -> Lattice:
        """The same states at other prices; what is on file opens no panel."""
        if self.stake != 1.0:
            return self.per_unit.priced(prices, on_file).at_stake(self.stake)
        return self._at(self.problem.priced(prices), on_file)

    def supposing(self, prices: Mapping[str, float]) -> Lattice:
        """Returns the same states at hypothetical prices, which may exceed the limits for declared
        ones.
        """
        if self.stake != 1.0:
            return self.per_unit.supposing(prices).at_stake(self.stake)
        return self._at(self.problem.supposing(prices))

    def with_free(self, name: str) -> Lattice:
        """Returns the same states with an observation that costs nothing, alone and in panels."""
        if self.stake != 1.0:
            return self.per_unit.with_free(name).at_stake(self.stake)
        return self._at(self.problem.with_free(name))

    def at_stake(self, stake: float) -> Lattice:
        """Returns the same states and prices for a case whose reward counts that many times."""
        if stake == 1.0:
            return self
        other = copy.copy(self)
        other.problem, other.stake = problem_at_stake(self.problem, stake), self.stake * stake
        other._per_unit = self.per_unit
        other.__dict__.pop("action_offsets", None)  # they are in units of β
        return other

    @property
    def per_unit(self) -> Lattice:
        """The same states and prices at a stake of 1."""
        return self if self._per_unit is None else self._per_unit

    def _at(self, problem: Problem, on_file: Sequence[int] = ()) -> Lattice:
        other = copy.copy(self)
        other.problem = problem
        other.observations = tuple(other.problem.observations[i] for i in self.order)
        other.on_file = (*self.on_file, *on_file)
        for name in _OF_PRICES:
            other.__dict__.pop(name, None)
        return other

    def at_rate(self, rate: float) -> Lattice:
        """The same states at that many times their prices, fees included: to plan with, not to
        charge."""
        other = self._at(self.problem)
        other.tariff = self.tariff.at_rate(rate)
        return other

    def without(self, name: str) -> Lattice:
        """The same states at a price of one observation that no policy pays, failed or not."""
        other = self.supposing({name: UNAFFORDABLE * self.problem.reward_value})
        refunded = other.tariff.refunded.copy()
        refunded[other.to_buy(name)] = -1
        other.tariff = other.tariff._replace(refunded=refunded)
        return other
