"""Plans within a budget, beside all plans of small tables."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from askwise.sklearn import CostAwareClassifier

EXACT = {"luck_charge": 0.0, "shrinkage": 1e-3, "further_looks": 0}


def all_plans(columns, left):
    """All trees of at most `left` looks: None to stop, or a column and a tree for each value."""
    yield None
    if left:
        for i in columns:
            rest = list(all_plans([k for k in columns if k != i], left - 1))
            for low, high in product(rest, rest):
                yield i, low, high


def of_plan(plan, x, y, costs, rows):
    """How many rows are right, and what is spent."""
    if plan is None:
        return (max(y[rows].sum(), (~y[rows]).sum()) if len(rows) else 0), 0.0
    i, *parts = plan
    found = [of_plan(p, x, y, costs, rows[x[rows, i] == v]) for v, p in enumerate(parts)]
    return sum(r for r, _ in found), costs[i] * len(rows) + sum(c for _, c in found)


@pytest.mark.parametrize("seed", range(12))
def test_no_plan_within_the_budget_is_clearly_better(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(2, size=(400, 3))
    chance = rng.dirichlet([0.7, 0.7], size=8)[x @ [1, 2, 4], 0]
    y, costs = rng.random(400) < chance, np.round(rng.uniform(0.5, 3, 3), 1)
    plans = [of_plan(plan, x, y, costs, np.arange(400)) for plan in all_plans([0, 1, 2], 2)]
    for share in (0.25, 0.5, 0.75):
        most = share * costs.sum()
        best = max(right for right, spent in plans if spent <= most * 400 + 1e-6) / 400
        found = CostAwareClassifier(
            costs=costs, max_observations=2, reward_value=1e4, max_spend=most, **EXACT
        ).fit(x.astype(float), y)
        assert found.cost_ <= most + 1e-9
        assert found.score(x.astype(float), y) >= best - 0.015


def lenders(rows, rng):
    """An expensive column that is informative, and cheap ones that are not enough."""
    income, age, paid = rng.normal(size=rows), rng.integers(18, 80, rows), rng.random(rows) < 0.3
    score = 1.2 * income + 0.5 * (age > 50) + 0.6 * paid - 0.2
    label = np.where(rng.random(rows) < 1 / (1 + np.exp(-2 * score)), "bad", "good")
    return pd.DataFrame({"income": income, "age": age, "paid": paid}), label


def test_a_budget_for_one_column_buys_it():
    """The plan that is best at some reward value buys two columns, or none."""
    rng = np.random.default_rng(0)
    (x, y), (x_test, y_test) = lenders(1000, rng), lenders(4000, rng)
    costs = {"income": 2.0, "age": 0.5, "paid": 0.5}
    alone = CostAwareClassifier(costs=2.0, reward_value=300, further_looks=0)
    alone.fit(x[["income"]], y)
    options = {"costs": costs, "reward_value": 300, "max_spend": 2.0}
    for further in (0, "auto"):
        within = CostAwareClassifier(**options, further_looks=further).fit(x, y)
        assert within.cost_ <= 2.0 + 1e-9
        assert within.score(x_test, y_test) >= alone.score(x_test[["income"]], y_test) - 0.01


def test_further_looks_are_within_the_budget_of_the_training_rows():
    """Plans without a fold may buy less than the plan of all rows: 1.85 was spent of 1.6."""
    x, y = make_classification(400, 6, n_informative=4, n_redundant=0, random_state=4)
    classifier = CostAwareClassifier(max_spend=1.6).fit(x, y)
    assert 1.2 < classifier.cost_ <= 1.6
