"""Real patients: the Wisconsin Diagnostic Breast Cancer table that scikit-learn ships.

569 fine-needle aspirates with measurements of the cell nuclei. Six of them can be bought here; each
is cut into three at its terciles. The prices are declared, not known: the mean of a measurement
costs 1, the mean of its three largest nuclei ("worst") costs 3, since more nuclei must be outlined.
The reward is 1 for the right answer, else 0.
"""

from __future__ import annotations

import numpy as np

from askwise.problem import Observation, Problem
from askwise.simulation.environments.table import Table

PRICES = {
    "mean radius": 1.0,
    "mean texture": 1.0,
    "mean concavity": 1.0,
    "worst texture": 3.0,
    "worst perimeter": 3.0,
    "worst concave points": 3.0,
}
VALUES = ("low", "middle", "high")


def wisconsin(*, max_observations: int = 3, reward_value: float = 100.0) -> Table:
    """Returns the table as an environment; needs scikit-learn.

    >>> import askwise as aw
    >>> round(aw.oracle.sequential(wisconsin().model()).value, 2)
    92.97
    """
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = {name: data.data[:, k] for k, name in enumerate(data.feature_names)}
    problem = Problem(
        observations=[Observation(n, values=VALUES, cost=price) for n, price in PRICES.items()],
        actions=["benign", "malignant"],
        max_observations=max_observations,
        reward_value=reward_value,
    )
    frame = {name: _terciles(columns[name]) for name in PRICES}
    frame["benign"] = (data.target == 1).astype(float).tolist()
    frame["malignant"] = (data.target == 0).astype(float).tolist()
    return Table(problem, frame)


def _terciles(column: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[str]:
    cuts = np.quantile(column, [1 / 3, 2 / 3])
    return [VALUES[k] for k in np.searchsorted(cuts, column, side="right")]
