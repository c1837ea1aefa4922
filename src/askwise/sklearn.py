"""The short path to `askwise.integrations.sklearn`."""

from askwise.integrations.sklearn import CostAwareClassifier

__all__ = ["CostAwareClassifier"]
