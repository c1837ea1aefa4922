"""Which counters the ledger keeps: (kind, cell, place) → a whole number.

| kind | cell | place |
| --- | --- | --- |
| `cases`, and each array of `counting.Statistics` by name | a row, or 0 | a column, or 0 |
| `tally.` and the name of what a model counts beside them | a row | a column, or 0 |
| `status` | a `Status` | 0 |
| `bought` | an observation | 0 |
| `day` | days since 1970, UTC | a place in `DAILY` |
| `block` | a block of cases (`case_blocks.py`) | a place in `BY_BLOCK` |
| `memory` | 0: blocks that were examined, 1: the oldest that is remembered | 0 |
| `repriced` | an observation: how often it got a new price | 0 |
| `erased ` and any of those kinds: what erased cases added to it | | |
| `drift` | days since 1970, UTC: how often a change was found | 0 |

Learners learn from the first two kinds; where they forget, each of those is kept by block, as
`name@block` (`replanning/memory.py`), and `paid_sums` is all that was ever paid beside it. The
dashboard and the summary show the others.
"""

from __future__ import annotations

from collections.abc import Mapping

TALLY = "tally."
"""Goes before the name of what a model counts beside the statistics."""

MEMORY, DRIFT = "memory", "drift"
"""What a project that forgets counts beside."""

ERASED = "erased"
"""Goes before the kind of a counter, with a space: what erased cases have added to it."""

REPRICED = "repriced"
"""How often an observation got a new price."""

DAY = 86_400_000_000
"""Microseconds."""

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
"""What is counted of each day, by its place; reward in units of 2⁻³⁰, spend of 2⁻²⁰."""

BY_BLOCK = ("acted", "rewarded", "reward", "spend", "awaited", "spend_high", "reward_high")
"""What is counted of each block of cases; awaited are those that acted and have no reward yet."""

HIGH = 1 << 30
"""Spending and rewards are counted as two numbers, the multiples of this many units and the rest:
2³³ steps cannot make either of them too large for 64 bits, whatever they cost or have at stake."""


def spend_of(amounts: Mapping[str, int]) -> int:
    """What was spent on a day or in a block, in units of 2⁻²⁰."""
    return amounts["spend_high"] * HIGH + amounts["spend"]


def reward_of(amounts: Mapping[str, int]) -> int:
    """What was earned on a day or in a block, each reward times its stake, in units of 2⁻³⁰."""
    return amounts["reward_high"] * HIGH + amounts["reward"]
