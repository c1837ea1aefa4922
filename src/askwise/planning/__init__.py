"""Planners are pure functions from estimates to plans, one for each way to buy."""

from askwise.planning.sequential import SequentialPlan, look_values, plan_sequential
from askwise.planning.simultaneous import (
    SimultaneousPlan,
    plan_set_from,
    plan_simultaneous,
)

__all__ = [
    "SequentialPlan",
    "SimultaneousPlan",
    "look_values",
    "plan_sequential",
    "plan_set_from",
    "plan_simultaneous",
]
