"""Counts what people did instead of the advice: how often, and with what result.

These counts are separate from what learners use. People who overrule often know more about a case
than the learner, so the result says little about the action in that state.
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
    """How often people took an action instead of the advice, or before there was advice."""

    action: str
    cases: int
    """The number of cases."""
    rewarded: int
    """The number of these cases that have their reward."""
    reward: float | None
    """The mean reward of these cases as reported, per unit of stake; None if there is none."""


class Overrides:
    """Counts how often people overruled, by action, and how often they observed unasked."""

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self.overruled: Integers = np.zeros((len(lattice.problem.actions), 3), np.int64)
        """By action: cases, rewards that came, and their sum in units of 2⁻³⁰."""
        self.unasked: Integers = np.zeros(lattice.buyable, np.int64)
        """How often each observation was made without being asked for."""

    def arrays(self) -> Iterator[tuple[str, Integers]]:
        """Both arrays with their names."""
        yield "overruled", self.overruled
        yield "unasked", self.unasked

    def count(self, action: int, times: int = 1) -> None:
        """Counts that people took this action instead of the advice."""
        self.overruled[action, CASES] += times

    def count_reward(self, action: int, reward: float, before: float | None) -> None:
        """Counts the reward of such a case, perhaps instead of an earlier reward."""
        self.overruled[action, REWARDED] += before is None
        self.overruled[action, REWARD] += round(reward / UNIT) - round((before or 0.0) / UNIT)

    def count_unasked(self, observation: int) -> None:
        """Counts that people made this observation without being asked."""
        self.unasked[observation] += 1

    @property
    def cases(self) -> int:
        """How often people took another action than advised."""
        return int(self.overruled[:, CASES].sum())

    def by_action(self) -> list[Overruled]:
        """The actions that people took, how often, and with what mean reward."""
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
        """The observations that people made without being asked, and how often."""
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
