"""Reads the cells of a data frame: outcomes, rewards, orders of observations, propensities.

`askwise.logs.sql` has the same rules for DuckDB, which reads files of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from askwise._support.typing import Choices, Floats
from askwise.errors import CaseError, TableError
from askwise.problem import Observation, Problem
from askwise.problem.amounts import check_stake
from askwise.problem.bins import is_missing
from askwise.problem.booleans import BOOLEANS, as_text, boolean_places
from askwise.problem.observation import UNAVAILABLE
from askwise.problem.rewards import Range, range_words, remedy_of_cell, shares_of, unrounded
from askwise.states import Lattice

ABSENT = -1
"""The digit of an observation that was not made."""

NO_PROPENSITY = (
    "the cell is empty, expected a propensity above 0, up to 1: fill it in, or leave such rows out"
)

T = TypeVar("T")


def printed_values(observation: Observation) -> dict[str, int]:
    """The places of the values, and of what they stand for, by how these print in text files."""
    printed: dict[str, int] = {}
    for place, value in enumerate(observation.values):
        if str(value) in printed:
            raise TableError(
                f"observation {observation.name!r} has two values that print as {str(value)!r}: "
                "a cell of the log could be either, so rename one of them"
            )
        printed[str(value)] = place
    for text, place in observation.places.items():
        if text is not None:
            printed.setdefault(str(text), place)
    return printed


def is_whole(name: str) -> bool:
    """Whether a name is a whole number as it prints, of 15 digits at most."""
    return len(name) <= 15 and name.lstrip("-").isdecimal() and str(int(name)) == name


def digits_of(observation: Observation, column: Sequence[Any], *, may_be_absent: bool) -> Choices:
    """Returns the outcome of every cell as its index.

    If observations may be absent, an empty cell means that one was not made, and a failure is
    marked. Else an empty cell is a failure, which may be marked too.
    """
    printed = printed_values(observation)
    whole = {value: x for x, value in enumerate(observation.values) if isinstance(value, int)}
    booleans = boolean_places(observation.values)

    def digit(cell: Any) -> int:
        cell = as_text(cell)
        is_text = isinstance(cell, str)
        if isinstance(cell, float | np.floating) and observation.edges is None:
            cell = int(cell) if float(cell).is_integer() else cell  # whole numbers with gaps
        is_whole = isinstance(cell, int | np.integer) and not isinstance(cell, bool)
        if is_text or (is_whole and observation.edges is None):
            place = printed.get(str(cell))
            if place is None and is_text and whole:
                place = whole.get(_number(cell))  # 1.0, as files have whole numbers with gaps
            if place is None and is_text:
                place = booleans.get(cell.strip().lower())
            if place is not None:
                return place
        if is_text and cell == UNAVAILABLE and (may_be_absent or observation.fails):
            return observation.place(None)
        if is_text and not cell.strip():
            cell = None
        elif is_text and observation.takes_numbers:
            cell = _number(cell)
        if may_be_absent and is_missing(cell):
            return ABSENT
        return observation.place(cell)

    return np.array(_each(observation.name, column, digit), np.int16)


def rewards_of(name: str, column: Sequence[Any], within: Range | None) -> Floats:
    """The reward in every cell, from 0 to 1; money is no boolean."""
    low, high = within or (0.0, 1.0)

    def reward(cell: Any) -> float:
        text = as_text(cell)
        truth = text.strip().lower() if isinstance(text, str) else ""
        try:
            is_boolean = truth in BOOLEANS and within is None
            number = float(BOOLEANS.index(truth)) if is_boolean else float(text)
            found = unrounded(number, within)
        except (TypeError, ValueError):
            found = float("nan")
        if not low <= found <= high:
            raise CaseError(
                f"{expected_reward(within)}, got {cell!r}; {remedy_of_cell(text, within)}"
            )
        return found

    return shares_of(np.array(_each(name, column, reward), np.float64), within)


def stakes_of(name: str, column: Sequence[Any], problem: Problem) -> Floats:
    """How many times the reward of each row counts."""

    def stake(cell: Any) -> float:
        return check_stake(_number(cell), problem.reward_value)

    return np.array(_each(name, column, stake), np.float64)


def expected_reward(within: Range | None) -> str:
    """The expected content of a cell, for a message."""
    return f"expected a reward {range_words(within)}"


def expected_action(actions: Sequence[str]) -> str:
    """The expected content of an empty cell, for the end of a message."""
    return f"expected an action, one of: {', '.join(actions)}; fill it in, or leave such rows out"


def actions_of(name: str, column: Sequence[Any], actions: Sequence[str]) -> Choices:
    """The action that every cell names, as its place."""
    places = {action: place for place, action in enumerate(actions)}
    booleans = boolean_places(actions)

    def action(cell: Any) -> int:
        if is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
            raise CaseError(f"the cell is empty, {expected_action(actions)}")
        cell = as_text(cell)
        place = places.get(str(cell)) if isinstance(cell, str | int | np.integer) else None
        if place is None and isinstance(cell, str):
            place = booleans.get(cell.strip().lower())
        number = _number(cell) if place is None else None
        if isinstance(number, float) and number.is_integer():
            place = places.get(str(int(number)))  # 1.0, as files have whole numbers with gaps
        if place is None:
            raise CaseError(f"unknown action {cell!r}, expected one of: {', '.join(actions)}")
        return place

    return np.array(_each(name, column, action), np.int16)


def orders_of(name: str, column: Sequence[Any], lattice: Lattice) -> list[tuple[int, ...]]:
    """Returns the observations of every row in the order of purchase, as integers."""

    def order(parts: tuple[Any, ...]) -> tuple[int, ...]:
        looks = tuple(lattice.to_buy(part) for part in parts)
        if len(set(looks)) < len(looks):
            raise CaseError(f"an observation is named twice in {', '.join(parts)!r}")
        return looks

    return _each(name, [parts_of(cell) for cell in column], order)


def propensities_of(
    name: str, column: Sequence[Any], *, may_be_unknown: bool = False
) -> list[tuple[float, ...]]:
    """Returns the probabilities in every cell: one for the whole case, or one for each step."""

    def propensities(parts: tuple[Any, ...]) -> tuple[float, ...]:
        numbers = tuple(_number(part) for part in parts)
        for number, part in zip(numbers, parts, strict=True):
            if not (isinstance(number, float) and 0 < number <= 1):
                raise CaseError(f"expected a propensity above 0, up to 1, got {part!r}")
        if not numbers and not may_be_unknown:
            raise CaseError(NO_PROPENSITY)
        return numbers

    return _each(name, [parts_of(cell) for cell in column], propensities)


def parts_of(cell: Any) -> tuple[Any, ...]:
    """The parts of a cell that holds a list, as such or as a text with commas."""
    if isinstance(cell, str):
        return tuple(part.strip() for part in cell.split(",")) if cell.strip() else ()
    if isinstance(cell, list | tuple | np.ndarray):
        return tuple(cell)
    return () if is_missing(cell) else (cell,)


def _number(cell: Any) -> Any:
    """The number that a text is; anything else as it is."""
    if isinstance(cell, bool):
        return cell
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell


def _each(name: str, column: Sequence[Any], read: Callable[[Any], T]) -> list[T]:
    """Every cell as read, each distinct one once; an error names the column and the row."""
    known: dict[Hashable, T] = {}
    found = []
    for row, cell in enumerate(column):
        try:
            key = (type(cell), cell)  # 1, 1.0 and True are equal, but not the same
            if key not in known:
                known[key] = read(cell)
            found.append(known[key])
        except (CaseError, TypeError) as error:
            raise TableError(f"column {name!r}, row {row}: {error}") from None
    return found
