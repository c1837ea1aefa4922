"""Policies are frozen tables of what to buy and what to do, with exploration and propensities."""

from askwise.policy.policy import Policy
from askwise.policy.tables import PathTable, SetTable
from askwise.policy.trees.growing import START

__all__ = ["START", "PathTable", "Policy", "SetTable"]
