"""The short path to `askwise.integrations.sklearn`."""

from askwise.integrations.sklearn import CostAwareClassifier, CostAwareRegressor

__all__ = ["CostAwareClassifier", "CostAwareRegressor"]
