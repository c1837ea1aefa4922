"""What to buy and what to do, as frozen tables; what is explored beside, and how likely it was."""

from askwise.policy.policy import (
    START,
    Path,
    Policy,
    Propensities,
    RowOf,
    SequentialPolicy,
    SimultaneousPolicy,
)

__all__ = [
    "START",
    "Path",
    "Policy",
    "Propensities",
    "RowOf",
    "SequentialPolicy",
    "SimultaneousPolicy",
]
