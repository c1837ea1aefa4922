"""What people did in cases without being asked: how often, and how well it went.

It is counted apart from what learners learn from: who overrules often knows more of a case than the
learner does, so what came of it says little of what the action earns where just the state is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Integers
from askwise.counting.units import UNIT
from askwise.states import Lattice

CASES, REWARDED, REWARD = range(3)
"""The columns of `overruled`."""


class Overruled(NamedTuple):
    """What people did in place of what was advised, or before anything was."""

    action: str
    cases: int
    """How often,"""
    rewarded: int
    """how many of those have their reward,"""
    reward: float | None
    """and the mean of these as they were told, per unit of stake; None if there is none."""


class Overrides:
    """How often people overruled, by what they did, and looked at something unasked."""

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self.overruled: Integers = np.zeros((len(lattice.problem.actions), 3), np.int64)
        """By action: cases, rewards that came, and their sum in units of 2⁻³⁰."""
        self.unasked: Integers = np.zeros(lattice.buyable, np.int64)
        """How often each observation was looked at without being asked for."""

    def arrays(self) -> Iterator[tuple[str, Integers]]:
        """Both arrays with their names."""
        yield "overruled", self.overruled
        yield "unasked", self.unasked

    def count(self, action: int, times: int = 1) -> None:
        """People did this in a case in place of what was advised."""
        self.overruled[action, CASES] += times

    def count_reward(self, action: int, reward: float, before: float | None) -> None:
        """A case in which they did it got its reward, perhaps in place of the one before."""
        self.overruled[action, REWARDED] += before is None
        self.overruled[action, REWARD] += round(reward / UNIT) - round((before or 0.0) / UNIT)

    def count_unasked(self, observation: int) -> None:
        """People looked at this without being asked."""
        self.unasked[observation] += 1

    @property
    def cases(self) -> int:
        """How often people did something else than was advised."""
        return int(self.overruled[:, CASES].sum())

    def by_action(self) -> list[Overruled]:
        """What they did, how often, and with what mean reward."""
        problem, rows = self._lattice.problem, []
        # as many digits as a reward has in its units: -10, not -10.000000041
        unit = (problem.as_money(1.0) - problem.as_money(0.0)) * UNIT
        digits = -math.ceil(math.log10(unit))
        for name, row in zip(problem.action_names, self.overruled.tolist(), strict=True):
            cases, rewarded, total = row
            mean = round(problem.as_money(total * UNIT / rewarded), digits) if rewarded else None
            if cases:
                rows.append(Overruled(name, cases, rewarded, mean))
        return rows

    def looks(self) -> dict[str, int]:
        """How often they looked at what, if they did."""
        names = self._lattice.observations
        return {names[i].name: n for i, n in enumerate(self.unasked.tolist()) if n}

    def __iadd__(self, other: Overrides) -> Overrides:
        """Both together, in place."""
        self.overruled += other.overruled
        self.unasked += other.unasked
        return self

    def __repr__(self) -> str:
        did = ", ".join(f"{x.action} {x.cases:,} times" for x in self.by_action()) or "nothing"
        return f"<Overrides: people did {did}>"
