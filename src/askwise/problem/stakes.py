"""The problem of a case with a stake, whose reward counts several times.

    gain = stake · (low + β r) − Σ c

So β and the range of rewards are multiplied by the stake. For planning, this is the same as
dividing all prices by the stake.
"""

from __future__ import annotations

import copy

import msgspec

from askwise._support.numbers import shown
from askwise.problem.problem import Problem


def for_stake(stake: float, before: str = "") -> str:
    """Returns "for a stake of 20", after some words, or "" if the stake is 1."""
    return "" if stake == 1.0 else f"{before}for a stake of {shown(stake)}"


def problem_at_stake(problem: Problem, stake: float) -> Problem:
    """Returns the same problem for a case whose reward counts that many times."""
    other = copy.copy(problem)
    msgspec.structs.force_setattr(other, "reward_value", problem.reward_value * stake)
    if problem.rewards is not None:
        low, high = problem.rewards
        msgspec.structs.force_setattr(other, "rewards", (low * stake, high * stake))
    return other
