"""The short path to `askwise.integrations.gym`."""

from askwise.integrations.gym import ID, CostlyObservations

__all__ = ["ID", "CostlyObservations"]
