"""The interface: a problem, and a way to draw cases."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from askwise._support.typing import Choices, Floats
from askwise.problem import Problem

CHUNK = 16_384
"""Cases drawn at a time. Part of what a seed means: another size is another stream."""


class Draws(NamedTuple):
    """Some cases, with all that could be seen and all that could be earned in them."""

    values: Choices
    """(cases, D): the value of each observation, as its place among the values."""
    rewards: Floats
    """(cases, A): what each action would earn, in the currency if the problem has `rewards`."""


class Environment(Protocol):
    """Something that cases can be drawn from."""

    @property
    def problem(self) -> Problem:
        """What can be bought and decided there."""

    def draw(self, rng: np.random.Generator, cases: int) -> Draws:
        """So many independent cases."""


def stream(environment: Environment, rng: np.random.Generator, cases: int) -> Iterator[Draws]:
    """`cases` cases in chunks. However many are asked for, one seed means one stream."""
    while cases > 0:
        draws = environment.draw(rng, CHUNK)
        yield Draws(draws.values[:cases], draws.rewards[:cases])
        cases -= CHUNK
