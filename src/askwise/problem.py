"""What can be bought, what can be decided, and what it all costs."""

import math
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import msgspec

from askwise._documents import read_document, write_document
from askwise.errors import ProblemError

Value = str | int


class _Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str


class Observation(_Named, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that can be bought: an i in D with its values X_i and its cost c_i.

    >>> Observation("mri", values=["neg", "pos"], cost=9.0)
    Observation(name='mri', values=('neg', 'pos'), cost=9.0)
    """

    values: Sequence[Value]
    cost: float

    def __post_init__(self) -> None:
        who = f"observation {self.name!r}"
        _check_name(self.name, "an observation's name")
        values = _as_tuple(self.values, f"{who}: values")
        if not values:
            raise ProblemError(f"{who}: values is empty, expected at least one")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise ProblemError(f"{who}: value {value!r} must be a text or a whole number")
        _check_distinct(values, f"{who}: value")
        if not _is_number(self.cost) or self.cost < 0:
            raise ProblemError(
                f"{who}: cost must be a finite number of at least 0, got {self.cost!r}"
            )
        msgspec.structs.force_setattr(self, "values", values)
        msgspec.structs.force_setattr(self, "cost", float(self.cost))


class Problem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The observations D, the actions A, the most that may be bought in a case (m) and β.

    `reward_value` is what one unit of reward is worth in the currency of the costs.

    >>> problem = Problem(
    ...     observations=[Observation("mri", values=["neg", "pos"], cost=9.0)],
    ...     actions=["wait", "treat"],
    ...     reward_value=100.0,
    ... )
    >>> problem.max_observations
    1
    """

    observations: Sequence[Observation]
    actions: Sequence[str]
    max_observations: int | None = None
    reward_value: float = 1.0

    def __post_init__(self) -> None:
        observations: tuple[Any, ...] = _as_tuple(self.observations, "observations")
        actions = _as_tuple(self.actions, "actions")
        if not observations:
            raise ProblemError("observations is empty, expected at least one")
        for observation in observations:
            if not isinstance(observation, Observation):
                raise ProblemError(f"observations: expected an Observation, got {observation!r}")
        _check_distinct([o.name for o in observations], "observation")
        if not actions:
            raise ProblemError("actions is empty, expected at least one")
        for action in actions:
            _check_name(action, "an action")
        _check_distinct(actions, "action")
        for what, number in (("observations", len(observations)), ("actions", len(actions))):
            if number > _MOST:
                raise ProblemError(f"{number} {what}: at most {_MOST} are supported")
        most = len(observations) if self.max_observations is None else self.max_observations
        if not _is_whole(most) or not 0 <= most <= len(observations):
            raise ProblemError(
                f"max_observations must be a whole number from 0 to {len(observations)}, "
                f"the number of observations, got {most!r}"
            )
        if not _is_number(self.reward_value) or self.reward_value <= 0:
            raise ProblemError(
                f"reward_value must be a finite number above 0, got {self.reward_value!r}"
            )
        for field, kept in (
            ("observations", observations),
            ("actions", actions),
            ("max_observations", int(most)),
            ("reward_value", float(self.reward_value)),
        ):
            msgspec.structs.force_setattr(self, field, kept)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a `.yaml`, `.yml` or `.json` file, strictly."""
        return read_document(path, cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `.yaml`, `.yml` or `.json` file that `Problem.load` reads back as an equal."""
        write_document(path, self)

    @property
    def m(self) -> int:
        """The most observations that may be bought in a case."""
        assert self.max_observations is not None
        return self.max_observations


_MOST = 2**15 - 1  # choices are kept as 16-bit integers


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ProblemError(f"{what} must be a text that is not blank, got {name!r}")


def _check_distinct(names: Sequence[object], what: str) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise ProblemError(f"{what} {name!r} is given twice")
        seen.add(name)


def _as_tuple(items: object, what: str) -> tuple[object, ...]:
    # A text is a sequence of texts: values="yes" would silently mean "y", "e", "s".
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
        raise ProblemError(f"{what} must be a list, got {items!r}")
    # NumPy's whole numbers are as good as Python's.
    return tuple(int(i) if _is_whole(i) else i for i in items)


def _is_whole(number: object) -> bool:
    return isinstance(number, numbers.Integral) and not isinstance(number, bool)


def _is_number(number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        return False
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond every float
        return False
