"""The counters of the ledger: (kind, cell, place) → a whole number.

| kind | cell | place |
| --- | --- | --- |
| `cases`, and each array of `counting.Statistics` by name | a row, or 0 | a column, or 0 |
| `tally.` and the name of a further counter of a model | a row | a column, or 0 |
| `status` | a `Status` | 0 |
| `bought` | an observation | 0 |
| `day` | days since 1970, UTC | a place in `DAILY` |
| `block` | a block of cases (`case_blocks.py`) | a place in `BY_BLOCK` |
| `day rest`, `block rest` | the same | a place in `REST` |
| `day stake`, `block stake` | the same | a place in `STAKE` |
| `memory` | 0: blocks that were examined, 1: the oldest that is remembered | 0 |
| `repriced` | an observation: how often it got a new price | 0 |
| `erased ` and any of those kinds: what erased cases added to it | | |
| `drift` | days since 1970, UTC: how often a change was found | 0 |

Learners learn from the first two kinds. If a learner forgets, each of these is kept by block, as
`name@block` (`replanning/memory.py`), and `paid_sums` without a block is all that was ever paid.
The dashboard and the summary show the other kinds.
"""

from __future__ import annotations

from collections.abc import Mapping

TALLY = "tally."
"""The prefix of counters that a model keeps beside the statistics."""

MEMORY, DRIFT = "memory", "drift"
"""Further counters of a project that forgets."""

ERASED = "erased"
"""The prefix, with a space, of counters of what erased cases have added to a kind."""

REPRICED = "repriced"
"""How often an observation got a new price."""

DAY = 86_400_000_000
"""A day in microseconds."""

DAILY = (
    "opened",
    "acted",
    "rewarded",
    "reward",
    "spend",
    "cancelled",
    "spend_high",
    "reward_high",
)
"""The counters of each day, by place; rewards in units of 2⁻³⁰, spend in units of 2⁻²⁰."""

BY_BLOCK = ("acted", "rewarded", "reward", "spend", "awaited", "spend_high", "reward_high")
"""The counters of each block of cases; `awaited` cases acted but have no reward yet."""

HIGH = 1 << 30
"""Spend and rewards are counted as two numbers: the multiples of this many units, and the rest.

So neither exceeds 64 bits within 2³³ steps, at any prices and stakes.
"""


REST_OF = {"day": "day rest", "block": "block rest"}
"""The kind in which the rests of another kind are counted."""

REST = ("spend_rest", "reward_rest", "steps")
"""The rounding errors of amounts that are counted in whole units, in `FINE` parts of a unit, and
the number of steps. So a thousand cases of 12.4, which is no whole number of units, sum to exactly
a thousand times 12.4. An older askwise did not count them, so its days and blocks lack them.
"""

FINE = 1 << 30
"""The parts of a unit that are counted: 2³³ rests cannot be too large for 64 bits."""

SPEND_PARTS, REWARD_PARTS = 1 << 50, 1 << 60
"""How many parts make up 1, in the currency and of a reward."""


STAKE_OF = {"day": "day stake", "block": "block stake"}
"""The kind in which stakes other than 1 are counted."""

STAKE = ("stake_high", "stake", "staked")
"""What the stakes of rewarded cases are more than 1, in units of 2⁻³⁰, as two numbers like spend;
and of how many cases with another stake than 1. An older askwise did not count it."""

STAKE_UNIT = 2.0**-30


def split(amount: float, unit: float) -> tuple[int, int]:
    """An amount in whole units, and its rest in parts of one; the unit is a power of two."""
    units = round(amount / unit)
    return units, round(amount / unit * FINE) - units * FINE


def spend_of(amounts: Mapping[str, int]) -> int:
    """Returns the spend of a day or of a block, in parts."""
    return (amounts["spend_high"] * HIGH + amounts["spend"]) * FINE + amounts["spend_rest"]


def reward_of(amounts: Mapping[str, int]) -> int:
    """Returns the earnings of a day or of a block, each reward times its stake, in parts."""
    return (amounts["reward_high"] * HIGH + amounts["reward"]) * FINE + amounts["reward_rest"]


def stake_of(amounts: Mapping[str, int]) -> int:
    """The sum of the stakes of rewarded cases, in units of 2⁻³⁰."""
    more = amounts["stake_high"] * HIGH + amounts["stake"]
    return amounts["rewarded"] * round(1.0 / STAKE_UNIT) + more
