"""What goes into a plan: prices, and radii at a time t."""

import math
from typing import NamedTuple

from askwise._kernels.jit import jit_internal
from askwise._kernels.radii import EPOCH, Schedule
from askwise._support.typing import Floats
from askwise.states.prices import Tariff

SOONEST = 64
"""The fewest cases for which the bounds of an exact plan are made to hold."""

PART = 64
"""They hold for this part of all cases so far: a longer time loosens them, a shorter one renews
them too often."""


SLACK = 1e-12
"""By how much, as a part of β, a bound is raised: rounding must not put it below what it bounds.

Where all actions cost, values are as large as that cost, and so is what rounding does to them.
"""


class Setting(NamedTuple):
    """What does not change while a learner learns."""

    cost: Floats
    """Of every observation, or of every subset."""
    tariff: Tariff
    action_offsets: Floats
    """−cost(a)/β at [subset, a], or −∞ where a is not allowed; of no subset if there are none."""
    top: float
    """The most that an action may earn less what it costs, in units of β: 1, unless all cost."""
    beta: float
    unit: float
    """What one unit of Σr is worth."""
    schedule: Schedule
    is_exact: bool
    """Whether the radii take t as it is, or hold it at the next power of two."""


class PlanInputs(NamedTuple):
    """Prices and radii, as in `Radii`: for k outcomes `width + width_per_outcome · k`."""

    cost: Floats
    tariff: Tariff
    action_offsets: Floats
    top: float
    beta: float
    most: float
    """β · top: what a state is worth in which an action may still earn 1."""
    unit: float
    reward_width: float
    width: float
    width_per_outcome: float
    cap: float
    by_variance: float
    measured: float
    slack: float
    """By how much every mean is raised, up to `most`: 0, unless they are bounds."""


@jit_internal
def inputs_at(setting: Setting, t: int, are_bounds: bool) -> PlanInputs:
    """`Schedule.at`, to the same bits."""
    schedule = setting.schedule
    log = math.log(max(schedule.earliest, float(t)))
    epochs = math.log(2.0 + log / EPOCH)
    return PlanInputs(
        setting.cost,
        setting.tariff,
        setting.action_offsets,
        setting.top,
        setting.beta,
        setting.beta * setting.top,
        setting.unit,
        schedule.reward + schedule.reward_slope * log + schedule.reward_epochs * epochs,
        schedule.outcomes + schedule.outcomes_slope * log + schedule.outcomes_epochs * epochs,
        schedule.per_outcome + schedule.per_outcome_slope * log,
        schedule.cap,
        schedule.by_variance,
        schedule.measured,
        SLACK * setting.beta * max(1.0, 2.0 - setting.top) if are_bounds else 0.0,
    )


@jit_internal
def horizon_of(setting: Setting, t: int) -> int:
    """Until which case the tables hold that are made for case t."""
    if setting.is_exact:
        return t + max(SOONEST, t // PART)
    horizon = 1
    while horizon < t:
        horizon *= 2
    return horizon
