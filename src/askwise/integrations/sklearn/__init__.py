"""scikit-learn estimators that buy features one after the other, and stop when none pays.

No other package of askwise imports scikit-learn.
"""

from askwise._support.extras import need

need("sklearn", "sklearn")

from askwise.integrations.sklearn.classifier import CostAwareClassifier  # noqa: E402  (first say what is missing)
from askwise.integrations.sklearn.regressor import CostAwareRegressor  # noqa: E402

__all__ = ["CostAwareClassifier", "CostAwareRegressor"]
