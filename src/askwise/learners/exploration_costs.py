"""What is explored: the limit on its cost, the actions that are tried, and the spread of the world
that is planned for.

All costs are in units of β. docs/decisions-learning.md has how the constants were chosen.
"""

from __future__ import annotations

import math

import numpy as np

from askwise._support.typing import Choices, Floats

SPREAD = 0.5
"""The spread of the planned world in the first thousand cases, relative to the posterior's."""
WIDENING = 0.15
"""The growth of the spread with every tenfold of cases after them, up to the full posterior.

Wider draws find what the learner has missed. Early, when much is uncertain, they cost more than
they find.
"""
FIRST_CASES = 200
FIRST = 0.05
LATER = 0.2
LATER_IF_IT_CHANGES = 0.8
"""A larger limit, since in a changing world an observation may become worth buying later."""
SELDOM = 2.0
"""An action that was taken less than `SELDOM` n^(1/3) times in all n cases is tried, whatever the
model expects. The model is a Gaussian, whose tails are too thin for the first few rewards of an
action: if by chance they are all low, a better action would hardly be drawn again.
"""
ALLOWANCE = 0.8
MOST_OF_EARNINGS = 0.5
LEFT = 2.5


def near_spread(opened: int) -> float:
    """Returns the spread of the world that is planned for, after a number of cases."""
    return min(1.0, SPREAD + WIDENING * max(0.0, math.log10((1 + opened) / 1_000)))


def most_spent(opened: int, *, forgets: bool = False) -> float:
    """Returns the limit on the cost of exploration in a case, if all full states are modelled.

    The limit is FIRST + LATER / √t in the first 200 cases, and LATER / √t after them. For a learner
    that forgets, t is the number of cases that it remembers.
    """
    later = LATER_IF_IT_CHANGES if forgets else LATER
    return FIRST * (opened < FIRST_CASES) + later / math.sqrt(1 + opened)


def actions_to_try(second: Floats, plan: Choices, taken: Floats) -> Choices:
    """Returns the action to try in each state, instead of the plan's.

    It is the best of the others in a second world, if that action was taken seldom, counted over
    all states. Else it is the best of all, which is often the plan's own. `second` has the rewards
    in that world net of the actions' costs, and `taken` the number of cases, both at [ψ, a].
    """
    every, others = np.arange(len(plan)), second.copy()
    others[every, plan] = -np.inf
    other = others.argmax(axis=1)
    cases = taken.sum(axis=0, dtype=np.float64)
    # cubes of whole numbers are exact, while a cube root has another last bit on some processors
    is_seldom = cases * cases * cases < SELDOM**3 * cases.sum()
    is_tried = is_seldom[other] & (
        others[every, other] > -np.inf
    )  # it may require more than is known
    action: Choices = np.where(is_tried, other, second.argmax(axis=1)).astype(np.int16)
    return action


def most_spent_among_many(opened: int, worth: float, value: float) -> float:
    """Returns the limit on the cost of exploration in a case, among many observations.

    The limit, for a plan of value v that is worth w more than acting without information, is

        max(½ ALLOWANCE / √t, ⅔ min(MOST_OF_EARNINGS, 2 w) min(1, LEFT (1 − v)) / t^(1/3)).
    """
    t = max(1.0, float(opened))
    earning = min(MOST_OF_EARNINGS, 2 * worth) * min(1.0, LEFT * max(0.0, 1.0 - value))
    return float(max(0.5 * ALLOWANCE * t**-0.5, 2 / 3 * earning * t ** (-1 / 3)))
