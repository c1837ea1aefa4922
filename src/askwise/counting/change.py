"""Tests whether two samples of cases differ by more than chance, because the population changed.

There is a share for every action in every state, and for every outcome of every observation. It is
p₁ = s₁/n₁ in one sample, p₂ = s₂/n₂ in the other, and p in both together. If nothing has changed,
the likelihood ratio

    g = 2 n₁ kl(p₁, p) + 2 n₂ kl(p₂, p),     kl(x, p) = x log(x/p) + (1 − x) log((1 − x)/(1 − p))

is nearly χ² with one degree of freedom, and at most that for rewards between 0 and 1. Chernoff's
bound limits the probability that it is large, however rare the outcome is; a normal approximation
would raise alarms over rare outcomes. Over k such cells, the test uses the largest g and, for
rewards, the sum of all g. A change in one cell shows in the first, a small change everywhere in the
second.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Floats
from askwise.counting.statistics import Statistics
from askwise.counting.units import UNIT

LEAST = 5.0
"""How often an observation or an action must have been counted in each sample. In the sum of all
cells it is also how often a reward of 1, and of 0, must be expected.
"""


def contradict(new: Statistics, old: Statistics, *, chance: float) -> bool:
    """Whether two samples differ by more than this probability allows if nothing has changed."""
    states = new.states[new.states >= 0]
    mine, theirs = new.rows_of(states), old.rows_of(states)
    # whatever was ever counted: those that are stored although nothing was are not the same in
    # dense and sparse statistics, and the number of cells must be
    used = _is_used(new)[mine] | _is_used(old)[theirs]
    states, mine, theirs = states[used], mine[used], theirs[used]
    rewards = Cells(
        new.reward_sums[mine] * UNIT,
        new.action_counts[mine],
        old.reward_sums[theirs] * UNIT,
        old.action_counts[theirs],
    )
    context_subsets = np.searchsorted(new.lattice.layout.context_offsets, states, side="right") - 1
    seen = Cells(
        new.visits[mine],
        new.subset_visits[context_subsets],
        old.visits[theirs],
        old.subset_visits[context_subsets],
    )
    steps = Cells(
        new.transitions[mine],
        new.steps_before(states),
        old.transitions[theirs],
        old.steps_before(states),
    )
    ratios = np.concatenate([cells.ratios for cells in (rewards, seen, steps)])
    if not len(ratios):
        return False
    if ratios.max() > largest_by_chance(len(ratios), chance / 2):
        return True
    sure = rewards.ratios[rewards.expected >= LEAST]
    return len(sure) > 0 and sure.sum() > total_by_chance(len(sure), chance / 2)


def _is_used(statistics: Statistics) -> npt.NDArray[np.bool_]:
    """Whether anything was counted, for each row."""
    used: npt.NDArray[np.bool_] = statistics.visits > 0
    for counts in (statistics.transitions, statistics.action_counts):
        used |= counts.any(axis=1)
    return used


class Cells:
    """Shares in two samples, of what was counted often enough in both: s₁ of n₁, s₂ of n₂."""

    def __init__(self, *samples: npt.NDArray[Any]) -> None:
        s1, n1, s2, n2 = (np.asarray(a, np.float64).ravel() for a in samples)
        enough = np.minimum(n1, n2) >= LEAST
        s1, n1, s2, n2 = s1[enough], n1[enough], s2[enough], n2[enough]
        p = (s1 + s2) / (n1 + n2)
        self.expected: Floats = np.minimum(n1, n2) * np.minimum(p, 1.0 - p)
        """How often the rarer of yes and no is expected in the smaller sample."""
        self.ratios: Floats = 2.0 * (n1 * divergence(s1 / n1, p) + n2 * divergence(s2 / n2, p))
        """g of each cell."""


def divergence(x: Floats, p: Floats) -> Floats:
    """kl(x, p) of each pair; p is 0 or 1 only where x is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        yes = np.where(x > 0.0, x * np.log(x / p), 0.0)
        no = np.where(x < 1.0, (1.0 - x) * np.log((1.0 - x) / (1.0 - p)), 0.0)
    both: Floats = np.maximum(0.0, yes + no)
    return both


def largest_by_chance(cells: int, chance: float) -> float:
    """The value that the largest of so many ratios exceeds with at most this probability.

    One of them exceeds x with a probability of at most 2 e^(−x/2): Chernoff's bound, on either
    side.
    """
    return 2.0 * math.log(2.0 * cells / chance)


def total_by_chance(cells: int, chance: float) -> float:
    """The value that the sum of so many squares exceeds with at most this probability (Laurent,
    Massart 2000).
    """
    x = math.log(1.0 / chance)
    return cells + 2.0 * math.sqrt(cells * x) + 2.0 * x
