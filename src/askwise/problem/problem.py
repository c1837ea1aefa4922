"""Declares a decision problem: what can be bought, what can be decided, and what it costs."""

import copy
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import msgspec

from askwise._support.documents import prepare, read_document, write_document
from askwise._support.html import of_problem
from askwise.errors import ProblemError
from askwise.problem.actions import Action, as_actions, as_declared
from askwise.problem.amounts import check_reward_value
from askwise.problem.checks import as_tuple, check_distinct, is_whole
from askwise.problem.observation import Observation
from askwise.problem.panels import Panel, check_panels
from askwise.problem.requirements import check_requirements
from askwise.problem.rewards import Range, check_range, money_of, share_of

_ONE = float("1")
"""The default reward value. It is compared by identity, to tell whether another was declared."""


class _Declared(msgspec.Struct, frozen=True, kw_only=True):
    """The first fields of a problem file, as the file has them: an action may be a plain name.

    `Problem.actions` has an `Action` for each. It stands before the field of the same name, which
    is read and written here.
    """

    observations: Sequence[Observation]
    actions: Sequence[str | Action]

    @property
    def _declared_actions(self) -> Sequence[str | Action]:
        declared: Sequence[str | Action] = vars(_Declared)["actions"].__get__(self)
        return declared

    def _declare_actions(self, actions: Sequence[Action]) -> None:
        """Keeps a plain name for every action that costs and requires nothing."""
        vars(_Declared)["actions"].__set__(self, as_declared(actions))


class Problem(
    _Declared,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    dict=True,
):
    """A decision problem: the observations D, the actions A, the most observations in a case (m),
    and β.

    observations: What can be bought, each an `Observation`.
    actions: What can be decided, each an `Action` or its name. Ties go to the first.
    max_observations: The most observations that a case may buy. The default is all of them.
    reward_value: β, the worth of one unit of reward in the currency of the costs, from 1e-9 to 1e9.
    Costs and fees are from 0 to 1e9; `askwise.problem.amounts` says why.
    rewards: The lowest and the highest amount that an action can earn, if rewards are money. Use it
    instead of `reward_value`; β is then the difference, and every reward and gain is an amount.
    panels: Groups of observations that are cheaper together, each a `Panel`.

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
        actions = as_actions(self._declared_actions)
        for what, number in (("observations", len(observations)), ("actions", len(actions))):
            if number > _MOST:
                raise ProblemError(f"{number} {what}: at most {_MOST} are supported")
        check_requirements(
            {o.name: o.given for o in observations},
            {o.name: o.requires for o in observations},
            actions,
        )
        most = _checked_most(self.max_observations, observations)
        panels = as_tuple(self.panels, "panels")
        check_panels(panels, {o.name: o.given for o in observations})
        reward_value, rewards = _checked_rewards(self.reward_value, self.rewards)
        self._declare_actions(actions)
        for field, kept in (
            ("observations", observations),
            ("max_observations", most),
            ("reward_value", reward_value),
            ("panels", panels),
            ("rewards", rewards),
        ):
            msgspec.structs.force_setattr(self, field, kept)

    @cached_property  # type: ignore[misc]  # it stands before a field, see _Declared
    def actions(self) -> tuple[Action, ...]:
        """The actions A, with their costs and requirements."""
        return as_actions(self._declared_actions)

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions, in the order of declaration."""
        return tuple(action.name for action in self.actions)

    @property
    def has_rules(self) -> bool:
        """Whether an action has a cost, or an action or observation requires an observation."""
        return not all(a.is_plain for a in self.actions) or any(
            o.requires for o in self.observations
        )

    @property
    def has_requirements(self) -> bool:
        """Whether an action or an observation requires an observation."""
        return any(a.requires for a in self.actions) or any(o.requires for o in self.observations)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a problem from a `.yaml`, `.yml` or `.json` file, and refuses unknown fields."""
        return read_document(path, cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a `.yaml`, `.yml` or `.json` file that `Problem.load` reads back as an equal
        problem.
        """
        document = msgspec.to_builtins(self)
        if self.rewards is not None:
            document.pop("reward_value", None)  # it follows from them
        write_document(path, document)

    def priced(self, prices: Mapping[str, float]) -> Self:
        """Returns the same problem at other prices, {name: cost}; the others stay."""
        if not isinstance(prices, Mapping):
            raise ProblemError(f"prices must be {{name: cost}}, got {prices!r}")
        known = {o.name for o in self.observations}
        for name in prices:
            if name in self.action_names and name not in known:
                raise ProblemError(
                    f"prices: {name!r} is an action, and prices are those of observations. Its "
                    f"cost is set where the problem is declared: Action({name!r}, cost=...)"
                )
            if name not in known:
                raise ProblemError(
                    f"prices: unknown observation {name!r}, expected one of: "
                    f"{', '.join(o.name for o in self.observations)}"
                )
        priced = [
            msgspec.structs.replace(o, cost=prices[o.name]) if o.name in prices else o
            for o in self.observations
        ]
        other = copy.copy(self)  # all else was checked, and no check of the whole is about prices
        msgspec.structs.force_setattr(other, "observations", tuple(priced))
        return other

    def supposing(self, prices: Mapping[str, float]) -> Self:
        """Returns the same problem at hypothetical prices, which may exceed the limits for declared
        ones.

        If an observation is cheaper within a panel, its lowest price becomes the given one, and its
        other prices change by the same amount.
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

    def with_free(self, name: str) -> Self:
        """Returns the same problem with an observation that costs nothing, alone and in panels;
        the fees of its panels stay."""
        other = self.supposing({name: 0.0})
        free = tuple(map(copy.copy, other.observations))
        for observation in free:
            if observation.name == name:
                msgspec.structs.force_setattr(observation, "cost", 0.0)
        msgspec.structs.force_setattr(other, "observations", free)
        panels = tuple(
            panel.dearer({name: -(panel.prices or {}).get(name, 0.0)}) for panel in other.panels
        )
        msgspec.structs.force_setattr(other, "panels", panels)
        return other

    def least_price(self, observation: Observation) -> float:
        """The lowest price of an observation, if its cheapest panel was paid for."""
        name = observation.name
        within = [p.prices[name] for p in self.panels if p.prices and name in p.prices]
        return min([observation.cost, *within])

    @property
    def lowest_reward(self) -> float:
        """The lowest that an action can earn, in the currency: gain = lowest + β r − Σ c."""
        return 0.0 if self.rewards is None else self.rewards[0]

    def as_share(self, reward: object) -> float:
        """The share r of a reported reward: (x − low) / β if rewards are money, else itself.

        >>> problem = Problem(observations=[Observation("mri", values=[0, 1], cost=9)],
        ...                   actions=["wait", "treat"], rewards=(-500, 30))
        >>> problem.as_share(-235), problem.as_money(0.5)
        (0.5, -235.0)
        """
        return share_of(reward, self.rewards)

    def as_money(self, share: float) -> float:
        """The reported reward of a share r: low + β r if rewards are money, else r."""
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


def _checked_most(most: int | None, observations: Sequence[Observation]) -> int:
    """Returns m, the most observations that a case may buy; all of them for None."""
    buyable = sum(not o.given for o in observations)
    if most is None:
        return buyable
    if not is_whole(most) or not 0 <= most <= buyable:
        which = "observations" if buyable == len(observations) else "observations not given"
        raise ProblemError(
            f"max_observations must be a whole number from 0 to {buyable}, "
            f"the number of {which}, got {most!r}"
        )
    return int(most)


def _checked_rewards(reward_value: float, rewards: Range | None) -> tuple[float, Range | None]:
    """Returns β, and the range of rewards if they are money."""
    if rewards is None:
        return check_reward_value(reward_value), None
    rewards = check_range(rewards)
    between = rewards[1] - rewards[0]
    if reward_value is not _ONE and reward_value != between:
        raise ProblemError(
            "rewards and reward_value exclude each other: with rewards a reward is money "
            f"already, so leave reward_value out, got {reward_value!r}"
        )
    return check_reward_value(between), rewards
