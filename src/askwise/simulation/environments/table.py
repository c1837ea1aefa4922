"""Replays cases from a table in which every value and every reward is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from askwise._support.frames import columns_of
from askwise._support.typing import Choices, Floats
from askwise.errors import CaseError, TableError
from askwise.estimation.models import Model
from askwise.problem import Problem
from askwise.problem.amounts import check_stake
from askwise.problem.booleans import as_text, boolean_places
from askwise.problem.observation import UNAVAILABLE
from askwise.problem.rewards import Range, range_words, remedy_of_cell, unrounded
from askwise.simulation.environments.base import Draws, StakedDraws
from askwise.states import Lattice


class Table:
    """An environment that draws rows from a table, with replacement.

    The columns with the names of the observations hold their values. One column for each action
    holds the reward that it would earn: from 0 to 1, or money if the problem has `rewards`. The
    table is any data frame that narwhals supports (pandas, Polars, PyArrow, …) or a mapping of
    column names to lists. Numbers and dates go into the bins of an observation with `edges`. A
    missing cell or the text "unavailable" is a failure, if the observation is declared with
    `fails`.
    `stake` names the column that says how many times the reward of a row counts. Rewards are then
    those of a stake of 1.

    >>> from askwise import Observation, Problem
    >>> problem = Problem(
    ...     observations=[Observation("mri", values=["neg", "pos"], cost=9)],
    ...     actions=["wait", "treat"],
    ... )
    >>> rows = {"mri": ["neg", "neg", "pos"], "well": [1, 1, 0], "cured": [0.5, 0.5, 1]}
    >>> table = Table(problem, rows, rewards={"wait": "well", "treat": "cured"})
    >>> table.model().probability
    array([0.66666667, 0.33333333])
    """

    def __init__(
        self,
        problem: Problem,
        frame: Any,
        *,
        rewards: Mapping[str, str] | None = None,
        stake: str | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise TableError(f"problem must be a Problem, got a {type(problem).__name__}")
        if rewards is not None and not isinstance(rewards, Mapping):
            raise TableError(f"rewards must be {{action: column}}, got {rewards!r}")
        self._problem = problem
        rewards = (
            {action: action for action in problem.action_names} if rewards is None else rewards
        )
        for action in rewards:
            if action not in problem.action_names:
                known = ", ".join(problem.action_names)
                raise TableError(f"rewards: unknown action {action!r}, expected one of: {known}")
        for action in problem.action_names:
            if action not in rewards:
                raise TableError(f"rewards: no column is given for the action {action!r}")
        names = [o.name for o in problem.observations]
        stakes = [] if stake is None else [stake]
        columns = columns_of(frame, [*names, *rewards.values(), *stakes])
        lattice = Lattice(problem, max_observations=0)  # only to read values
        self._values: Choices = np.column_stack(
            [_digits(lattice, lattice.position(name), columns[name]) for name in names]
        )
        self._rewards: Floats = np.column_stack(
            [
                _rewards(columns[rewards[action]], rewards[action], problem.rewards)
                for action in problem.action_names
            ]
        )
        if not len(self._values):
            raise TableError("the table has no rows")
        self._stakes = None if stake is None else _stakes(columns[stake], stake, problem)

    @property
    def problem(self) -> Problem:
        """The problem of the table."""
        return self._problem

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Table of {len(self):,} cases>"

    def draw(self, rng: np.random.Generator, cases: int) -> Draws:
        """Draws rows of the table with replacement."""
        rows = rng.integers(len(self), size=cases)
        draws = Draws(self._values[rows], self._rewards[rows])
        return draws if self._stakes is None else StakedDraws.of(draws, self._stakes[rows])

    def model(self) -> Model:
        """Returns the table as a model: frequencies as probabilities, and mean rewards."""
        shape = tuple(len(o.outcomes) for o in self._problem.observations)
        count = np.zeros(shape)
        earned = np.zeros((*shape, len(self._problem.actions)))
        place = tuple(self._values.T)
        np.add.at(count, place, 1.0)
        np.add.at(earned, place, self._rewards)
        low, high = self._problem.rewards or (0.0, 1.0)
        mean = np.clip(earned / np.maximum(1, count)[..., None], low, high)
        return Model(self._problem, count / len(self), mean)


def _digits(lattice: Lattice, i: int, column: list[Any]) -> Choices:
    observation = lattice.observations[i]
    name, values = observation.name, observation.values
    booleans = boolean_places(values)
    known: dict[tuple[type, Any], int] = {}  # 1, 1.0 and True are equal, but only one is declared
    digits = np.empty(len(column), np.int16)
    for row, value in enumerate(column):
        try:
            key = (type(value), value)
            if key not in known:
                text = as_text(value)
                truth = text.strip().lower() if isinstance(text, str) else ""
                is_truth = truth in booleans and text not in values
                says_failed = isinstance(text, str) and text == UNAVAILABLE and text not in values
                seen = None if says_failed and observation.fails else value
                known[key] = booleans[truth] if is_truth else lattice.digit(i, seen)
            digits[row] = known[key]
        except (CaseError, TypeError) as error:
            raise TableError(f"column {name!r}, row {row}: {error}") from None
    return digits


def _rewards(column: list[Any], name: str, within: Range | None) -> Floats:
    rewards = np.empty(len(column))
    low, high = within or (0.0, 1.0)
    for row, cell in enumerate(column):
        try:
            rewards[row] = unrounded(float(cell), within)
        except (TypeError, ValueError, OverflowError):
            rewards[row] = np.nan
        if not low <= rewards[row] <= high:
            raise TableError(
                f"column {name!r}, row {row}: expected a reward {range_words(within)}, "
                f"got {cell!r}; {remedy_of_cell(cell, within)}"
            )
    return rewards


def _stakes(column: list[Any], name: str, problem: Problem) -> Floats:
    stakes = np.empty(len(column))
    for row, cell in enumerate(column):
        try:
            stakes[row] = check_stake(cell, problem.reward_value)
        except CaseError as error:
            raise TableError(f"column {name!r}, row {row}: {error}") from None
    return stakes
