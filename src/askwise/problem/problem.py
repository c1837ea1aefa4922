"""What can be bought, what can be decided, and what it all costs."""

import copy
import os
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, Self

import msgspec
import numpy as np

from askwise._support.documents import prepare, read_document, write_document
from askwise._support.html import of_problem
from askwise.errors import CaseError, ProblemError
from askwise.problem.actions import Action, as_actions, as_said
from askwise.problem.amounts import check_amount, check_reward_value
from askwise.problem.bins import bin_of, checked_edges, checked_names, edge_type, is_missing
from askwise.problem.booleans import BOOLEANS, as_text, place_alike
from askwise.problem.checks import (
    as_tuple,
    check_distinct,
    check_name,
    checked_requires,
    is_value,
    is_whole,
)
from askwise.problem.panels import Panel, check_panels
from askwise.problem.requirements import check_requirements
from askwise.problem.rewards import check_range, money_of, share_of

Value = str | int

Seen = Value | bool | float | Decimal | date | np.generic | None
"""What may be said of a look: a value, a boolean, a number or a date for its bin, nothing."""

_ONE = float("1")
"""The reward value, unless another is said; this very object, to tell whether one was."""

_UNSAID = float("nan")
"""The cost of an observation that is given need not be said."""

Fails = Literal["charged", "refunded"]


class _Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str


class Observation(
    _Named,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    repr_omit_defaults=True,
):
    """Something that can be bought: an i in D with its values X_i and its cost c_i.

    given: it is known from the start in every case, for nothing.
    fails: it may return nothing, and the price is then "charged" or "refunded"; that is one more
    outcome beside the values, written None. A missing cell (None, NaN, NaT, pandas.NA) is one.
    edges: it is a number or a date, and the values are the bins between the edges.
    other: the value that stands for every text or whole number that is not declared.
    requires: the observations that must be known before this one is bought, or bought with it.

    True and false stand for the values that are called so, in any case, or for 1 and 0 where these
    are the two values; a whole number stands for the text that it prints as.

    >>> Observation("mri", values=["neg", "pos"], cost=9.0)
    Observation(name='mri', values=('neg', 'pos'), cost=9.0)
    """

    values: Sequence[Value] = ()
    cost: float = _UNSAID
    given: bool = False
    fails: Fails | None = None
    edges: Sequence[Any] | None = None  # numbers, dates, or ISO texts as they stand in a file
    other: Value | None = None
    requires: Sequence[str] = ()

    def __post_init__(self) -> None:
        who = f"observation {self.name!r}"
        check_name(self.name, "an observation's name")
        values = as_tuple(self.values, f"{who}: values")
        if self.edges is not None:
            edges = checked_edges(self.edges, who)
            values = checked_names(values, edges, who)
            if self.other is not None:
                raise ProblemError(f"{who}: it has edges, so nothing is other, got {self.other!r}")
            msgspec.structs.force_setattr(self, "edges", edges)
        if not values:
            raise ProblemError(f"{who}: values is empty, expected at least one")
        for value in values:
            if not is_value(value):
                raise ProblemError(f"{who}: value {value!r} must be a text or a whole number")
        check_distinct(values, f"{who}: value")
        if self.other is not None:
            if not is_value(self.other) or self.other not in values:
                known = ", ".join(map(repr, values))
                raise ProblemError(f"{who}: other must be one of {known}, got {self.other!r}")
            msgspec.structs.force_setattr(self, "other", values[values.index(self.other)])
        if not isinstance(self.given, bool):
            raise ProblemError(f"{who}: given must be true or false, got {self.given!r}")
        if self.fails not in (None, "charged", "refunded"):
            raise ProblemError(f"{who}: fails must be 'charged' or 'refunded', got {self.fails!r}")
        cost = 0.0 if self.given and self.cost is _UNSAID else self.cost
        if cost is _UNSAID:
            raise ProblemError(f"{who}: cost is missing")
        cost = check_amount(cost, f"{who}: cost")
        if self.given and cost > 0:
            raise ProblemError(f"{who}: it is given, so it costs nothing, got cost {self.cost!r}")
        requires = checked_requires(self.requires, who)
        if self.given and requires:
            raise ProblemError(f"{who}: it is given, so it requires nothing, got {requires!r}")
        msgspec.structs.force_setattr(self, "values", values)
        msgspec.structs.force_setattr(self, "cost", cost)
        msgspec.structs.force_setattr(self, "requires", requires)

    @classmethod
    def binned(cls, name: str, *, edges: Sequence[Any], **rest: Any) -> Self:
        """A number or a date, told apart by the bin that it is in; an edge is in the bin above it.

        The other arguments are those of `Observation`; `values` are other names for the bins.

        >>> Observation.binned("age", edges=[40, 50, 60], cost=1.0).values
        ('<40', '40-50', '50-60', '>=60')
        """
        return cls(name, edges=edges, **rest)

    @property
    def outcomes(self) -> tuple[Value | None, ...]:
        """What looking can show: a value, or None for a look that failed, if it can."""
        return (*self.values, None) if self.fails else tuple(self.values)

    @property
    def takes_numbers(self) -> bool:
        """Whether it takes any number, and finds its bin."""
        return self.edges is not None and not isinstance(self.edges[0], date)

    def place(self, seen: Seen) -> int:
        """The outcome that something undeclared stands for, as its place.

        That is a value that is called alike, a bin, none, or other.
        """
        text = as_text(seen)
        place = None
        if self.edges is None or isinstance(text, str):
            place = place_alike(self.values, text)
        if place is not None:
            return place
        if is_missing(seen):
            if self.fails:
                return len(self.values)
        elif self.edges is not None:
            place = bin_of(self.edges, seen)
            if place is not None:
                return place
        elif self.other is not None and is_value(text):
            return self.values.index(self.other)
        wanted = f"{edge_type(self.edges[0])}, or one of" if self.edges else "one of"
        known = ", ".join(map(repr, self.values))
        raise CaseError(
            f"observation {self.name!r} has no value {seen!r}, expected {wanted}: {known}"
            f"{self.remedy(seen)}"
        )

    def remedy(self, seen: Seen) -> str:
        """What to declare so that this is taken, for the end of a message."""
        if is_missing(seen):
            return "; declare fails= if it may be missing"
        if self.edges is not None:
            return ""
        if str(seen).strip().lower() in BOOLEANS:
            return "; declare values 'true' and 'false', or 1 and 0, to take booleans"
        return "; declare other= if more may come" if is_value(seen) else ""


class _Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What stands first in the file of a problem; an action that is a plain name stays one."""

    observations: Sequence[Observation]
    actions: Sequence[str | Action]


_DECLARED_ACTIONS = vars(_Declared)["actions"]
"""The field that files have. `Problem.actions` stands before it, with an `Action` for each name."""


class Problem(
    _Declared,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    dict=True,
):
    """The observations D, the actions A, the most that may be bought in a case (m) and β.

    `reward_value` is what one unit of reward is worth in the currency of the costs. It is from 1e-9
    to 1e9, and costs and fees are from 0 to 1e9: `askwise.problem.amounts` says why.

    `rewards` is said instead where rewards are money: the lowest and the highest that an action can
    earn. Then β is what lies between them, and all that is told and shown is in the currency.

    >>> problem = Problem(
    ...     observations=[Observation("mri", values=["neg", "pos"], cost=9.0)],
    ...     actions=["wait", "treat"],
    ...     reward_value=100.0,
    ... )
    >>> problem.max_observations
    1
    """

    max_observations: int | None = None
    reward_value: float = _ONE
    panels: Sequence[Panel] = ()
    rewards: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        observations: tuple[Any, ...] = as_tuple(self.observations, "observations")
        if not observations:
            raise ProblemError("observations is empty, expected at least one")
        for observation in observations:
            if not isinstance(observation, Observation):
                raise ProblemError(f"observations: expected an Observation, got {observation!r}")
        check_distinct([o.name for o in observations], "observation")
        actions = as_actions(_DECLARED_ACTIONS.__get__(self))
        for what, number in (("observations", len(observations)), ("actions", len(actions))):
            if number > _MOST:
                raise ProblemError(f"{number} {what}: at most {_MOST} are supported")
        check_requirements(
            {o.name: o.given for o in observations},
            {o.name: o.requires for o in observations},
            actions,
        )
        buyable = sum(not o.given for o in observations)
        most = buyable if self.max_observations is None else self.max_observations
        if not is_whole(most) or not 0 <= most <= buyable:
            which = "observations" if buyable == len(observations) else "observations not given"
            raise ProblemError(
                f"max_observations must be a whole number from 0 to {buyable}, "
                f"the number of {which}, got {most!r}"
            )
        panels = as_tuple(self.panels, "panels")
        check_panels(panels, {o.name: o.given for o in observations})
        reward_value, rewards = self.reward_value, self.rewards
        if rewards is not None:
            rewards = check_range(rewards)
            between = rewards[1] - rewards[0]
            if reward_value is not _ONE and reward_value != between:
                raise ProblemError(
                    "rewards and reward_value exclude each other: with rewards a reward is money "
                    f"already, so leave reward_value out, got {reward_value!r}"
                )
            reward_value = between
        reward_value = check_reward_value(reward_value)
        _DECLARED_ACTIONS.__set__(self, as_said(actions))
        for field, kept in (
            ("observations", observations),
            ("max_observations", int(most)),
            ("reward_value", reward_value),
            ("panels", panels),
            ("rewards", rewards),
        ):
            msgspec.structs.force_setattr(self, field, kept)

    @cached_property  # type: ignore[misc]  # the field behind it is _DECLARED_ACTIONS
    def actions(self) -> tuple[Action, ...]:
        """The actions A, with what they cost and require."""
        return as_actions(_DECLARED_ACTIONS.__get__(self))

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions, in the order of declaration."""
        return tuple(action.name for action in self.actions)

    @property
    def has_rules(self) -> bool:
        """Whether an action costs something, or anything requires an observation."""
        return not all(a.is_plain for a in self.actions) or any(
            o.requires for o in self.observations
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a `.yaml`, `.yml` or `.json` file, strictly."""
        return read_document(path, cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `.yaml`, `.yml` or `.json` file that `Problem.load` reads back as an equal."""
        document = msgspec.to_builtins(self)
        if self.rewards is not None:
            document.pop("reward_value", None)  # it follows from them
        write_document(path, document)

    def priced(self, prices: Mapping[str, float]) -> Self:
        """The same problem at other prices: {name: cost}, the others stay."""
        if not isinstance(prices, Mapping):
            raise ProblemError(f"prices must be {{name: cost}}, got {prices!r}")
        known = [o.name for o in self.observations]
        for name in prices:
            if name not in known:
                raise ProblemError(
                    f"prices: unknown observation {name!r}, expected one of: {', '.join(known)}"
                )
        priced = [
            msgspec.structs.replace(o, cost=prices[o.name]) if o.name in prices else o
            for o in self.observations
        ]
        return msgspec.structs.replace(self, observations=priced)

    def supposing(self, prices: Mapping[str, float]) -> Self:
        """The same problem at prices that nobody asked: those that are reckoned with may be larger
        than any that can be told.

        What costs less within a panel has its lowest price set to that, and the others rise or fall
        with it.
        """
        other = copy.copy(self)
        supposed = tuple(map(copy.copy, self.observations))
        more: dict[str, float] = {}
        for observation in supposed:
            if observation.name in prices:
                name, least = observation.name, self.least_price(observation)
                more[name] = float(prices[name]) - least
                price = observation.cost + more[name] if observation.cost > least else prices[name]
                msgspec.structs.force_setattr(observation, "cost", float(price))
        msgspec.structs.force_setattr(other, "observations", supposed)
        panels = tuple(panel.dearer(more) for panel in self.panels)
        msgspec.structs.force_setattr(other, "panels", panels)
        return other

    def least_price(self, observation: Observation) -> float:
        """What it costs at least, if a panel in which it costs less was paid for."""
        name = observation.name
        within = [p.prices[name] for p in self.panels if p.prices and name in p.prices]
        return min([observation.cost, *within])

    @property
    def lowest_reward(self) -> float:
        """The lowest that an action can earn, in the currency: gain = lowest + β r − Σ c."""
        return 0.0 if self.rewards is None else self.rewards[0]

    def as_share(self, reward: object) -> float:
        """R of a reward as it is told: (x − low) / β where rewards are money, else itself.

        >>> problem = Problem(observations=[Observation("mri", values=[0, 1], cost=9)],
        ...                   actions=["wait", "treat"], rewards=(-500, 30))
        >>> problem.as_share(-235), problem.as_money(0.5)
        (0.5, -235.0)
        """
        return share_of(reward, self.rewards)

    def as_money(self, share: float) -> float:
        """A reward as it is told, by its r: low + β r where rewards are money, else r."""
        return money_of(share, self.rewards)

    def _repr_html_(self) -> str:
        return of_problem(self)

    @property
    def m(self) -> int:
        """The most observations that may be bought in a case."""
        assert self.max_observations is not None
        return self.max_observations


_MOST = 2**15 - 1  # choices are kept as 16-bit integers

prepare(Problem)
