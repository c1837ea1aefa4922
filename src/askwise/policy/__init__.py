"""What to buy and what to do, as frozen tables; what is explored beside, and how likely it was."""

from askwise.policy.policy import Policy
from askwise.policy.tables import PathTable, SetTable
from askwise.policy.trees.growing import START

__all__ = ["START", "PathTable", "Policy", "SetTable"]
