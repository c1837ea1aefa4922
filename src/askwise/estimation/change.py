"""Whether two samples of cases contradict each other, because the world has changed.

Of every action in every state, and of every outcome of every look, the shares in the two samples
differ by

    z = (s₁/n₁ − s₂/n₂) / √( p (1 − p) (1/n₁ + 1/n₂) ),     p = (s₁ + s₂) / (n₁ + n₂)

which is nearly standard normal if nothing has changed, and at most that for rewards between 0 and
1. Of k such cells that were counted often enough, the largest z² and, for rewards, Σ z² are too
large by chance with a given probability only: a change in one cell shows in the first, a small one
everywhere in the second.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from askwise._typing import Floats
from askwise.statistics import UNIT, Statistics

LEAST = 5.0
"""How often a cell, and its opposite, must be expected in the smaller sample."""


def contradict(new: Statistics, old: Statistics, *, chance: float) -> bool:
    """Whether they differ by more than they would with this chance if nothing had changed."""
    states = new.states[new.states >= 0]
    mine, theirs = new.rows_of(states), old.rows_of(states)
    rewards = squares(
        new.reward_sums[mine] * UNIT,
        new.action_counts[mine],
        old.reward_sums[theirs] * UNIT,
        old.action_counts[theirs],
    )
    parcels = np.searchsorted(new.lattice.layout.parcels, states, side="right") - 1
    seen = squares(
        new.visits[mine],
        new.subset_visits[parcels],
        old.visits[theirs],
        old.subset_visits[parcels],
    )
    steps = squares(
        new.transitions[mine],
        new.steps_before(states),
        old.transitions[theirs],
        old.steps_before(states),
    )
    cells = np.concatenate([rewards, seen, steps])
    if not len(cells):
        return False
    if cells.max() > _largest(len(cells), chance / 2):
        return True
    return len(rewards) > 0 and rewards.sum() > _total(len(rewards), chance / 2)


def squares(*samples: npt.NDArray[Any]) -> Floats:
    """z² of every cell that was counted often enough in both samples: s₁, n₁, s₂, n₂."""
    s1, n1, s2, n2 = (np.asarray(a, np.float64).ravel() for a in samples)
    total = np.maximum(1.0, n1 + n2)
    p = (s1 + s2) / total
    enough = np.minimum(n1, n2) * np.minimum(p, 1.0 - p) >= LEAST
    s1, n1, s2, n2, p = s1[enough], n1[enough], s2[enough], n2[enough], p[enough]
    z: Floats = (s1 / n1 - s2 / n2) ** 2 / (p * (1.0 - p) * (1.0 / n1 + 1.0 / n2))
    return z


def _largest(cells: int, chance: float) -> float:
    """What the largest of so many squares exceeds with this chance at most.

    The chance that one z² exceeds x is at most e^(−x/2).
    """
    return 2.0 * math.log(cells / chance)


def _total(cells: int, chance: float) -> float:
    """What the sum of so many squares exceeds with this chance at most (Laurent, Massart 2000)."""
    x = math.log(1.0 / chance)
    return cells + 2.0 * math.sqrt(cells * x) + 2.0 * x
