"""The problem that a case with a stake is: its reward counts that many times.

    gain = stake · (low + β r) − Σ c,

so β and the range of rewards are that many times what they are. To plan, that is the same as to
divide all prices by the stake.
"""

from __future__ import annotations

import copy

import msgspec

from askwise.problem.problem import Problem


def problem_at_stake(problem: Problem, stake: float) -> Problem:
    """The same problem in a case whose reward counts so many times."""
    other = copy.copy(problem)
    msgspec.structs.force_setattr(other, "reward_value", problem.reward_value * stake)
    if problem.rewards is not None:
        low, high = problem.rewards
        msgspec.structs.force_setattr(other, "rewards", (low * stake, high * stake))
    return other
