"""The interface of environments: a problem, and a way to draw cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from askwise._support.typing import Choices, Floats
from askwise.problem import Problem

CHUNK = 16_384
"""The number of cases drawn at a time. A seed gives another stream with another size."""


class Draws(NamedTuple):
    """A number of cases, each with all values and with the reward of every action."""

    values: Choices
    """(cases, D): the value of each observation, as its index among the values."""
    rewards: Floats
    """(cases, A): the reward of each action; money if the problem has `rewards`."""

    def first(self, cases: int) -> Draws:
        """The first of them."""
        return Draws(self.values[:cases], self.rewards[:cases])


class StakedDraws(Draws):
    """Some cases, each with a stake."""

    stakes: Floats
    """(cases): how many times the reward of each counts."""

    @classmethod
    def of(cls, draws: Draws, stakes: Floats) -> StakedDraws:
        """These cases, with their stakes."""
        staked = cls(*draws)
        staked.stakes = stakes
        return staked

    def first(self, cases: int) -> StakedDraws:
        """The first of them."""
        return StakedDraws.of(super().first(cases), self.stakes[:cases])


class Environment(Protocol):
    """The interface of an environment: anything that cases can be drawn from."""

    @property
    def problem(self) -> Problem:
        """The problem of its cases."""

    def draw(self, rng: np.random.Generator, cases: int) -> Draws:
        """Draws a number of independent cases."""


def stream(environment: Environment, rng: np.random.Generator, cases: int) -> Iterator[Draws]:
    """Yields `cases` cases in chunks. One seed gives one stream, however many are drawn."""
    while cases > 0:
        yield environment.draw(rng, CHUNK).first(cases)
        cases -= CHUNK
