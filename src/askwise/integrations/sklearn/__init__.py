"""A scikit-learn classifier that buys features one after the other, and stops when none pays.

Apart from the rest of askwise: only this room imports scikit-learn.
"""

from askwise._support.extras import need

need("sklearn", "sklearn")

from askwise.integrations.sklearn.classifier import CostAwareClassifier  # noqa: E402  (first say what is missing)

__all__ = ["CostAwareClassifier"]
