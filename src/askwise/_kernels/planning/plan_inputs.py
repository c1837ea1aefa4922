"""The inputs of a plan are prices, and radii at a time t."""

import math
from typing import NamedTuple

from askwise._kernels.jit import jit_internal
from askwise._kernels.radii import EPOCH, Schedule
from askwise._support.typing import Floats
from askwise.states.prices import Tariff

SOONEST = 64
"""The bounds of an exact plan hold for at least so many cases."""

PART = 64
"""The bounds hold for this part of all cases so far. A longer time loosens them, and a shorter one
renews them too often.
"""


SLACK = 1e-12
"""Every bound is raised by this part of β, so that rounding cannot put it below the exact value.

If all actions have a cost, values are as large as that cost, and so are rounding errors.
"""


class Setting(NamedTuple):
    """A setting does not change while a learner learns."""

    cost: Floats
    """The cost of every observation, or of every subset."""
    tariff: Tariff
    action_offsets: Floats
    """−cost(a)/β at [subset, a], or −∞ where a is not allowed; without rows if actions have no
    offsets.
    """
    top: float
    """The most that an action may earn less its cost, in units of β. It is 1 unless all actions
    have costs.
    """
    beta: float
    unit: float
    """The value of one unit of Σr."""
    schedule: Schedule
    is_exact: bool
    """Whether the radii use t itself, or t rounded up to the next power of two."""


class PlanInputs(NamedTuple):
    """Prices and radii, as in `Radii`: for k outcomes `width + width_per_outcome · k`."""

    cost: Floats
    tariff: Tariff
    action_offsets: Floats
    top: float
    beta: float
    most: float
    """β · top, the value of a state in which an action may still earn 1."""
    unit: float
    reward_width: float
    width: float
    width_per_outcome: float
    cap: float
    by_variance: float
    measured: float
    slack: float
    """Every mean is raised by this amount, up to `most`. It is 0 unless the means are bounds."""


@jit_internal
def inputs_at(setting: Setting, t: int, are_bounds: bool) -> PlanInputs:
    """Compute `Schedule.at`, to the same bits."""
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
    """Return the last case for which the tables hold that are made for case t."""
    if setting.is_exact:
        return t + max(SOONEST, t // PART)
    horizon = 1
    while horizon < t:
        horizon *= 2
    return horizon
