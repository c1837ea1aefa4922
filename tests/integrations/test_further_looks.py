"""Beyond the plan: models of what was bought, what is bought further, and when that ends."""

import numpy as np
import pandas as pd
import pytest

from askwise.integrations.sklearn.beliefs import (
    Filled,
    Table,
    calibrating_power,
    cross_fitted,
    raised,
)
from askwise.integrations.sklearn.charged_plans import folds_of
from askwise.integrations.sklearn.columns import Columns
from askwise.integrations.sklearn.further_looks import Order, _best_threshold, at_stake
from askwise.sklearn import CostAwareClassifier


def gaussian(n, rng):
    """Two classes, five columns that are correlated."""
    y = rng.integers(2, size=n)
    x = rng.normal(size=(n, 5)) + np.outer(y, [1.0, 0.5, 0, 0, 0])
    x[:, 2] = x[:, 0] + 0.5 * x[:, 2]
    columns = Columns(tuple("abcde"), (None,) * 5)
    return Table(columns, x, y, np.ones(n), folds_of(y), 2)


def test_columns_that_are_not_known_are_filled_with_what_is_expected():
    table = gaussian(400, np.random.default_rng(0))
    beliefs = Filled(table, np.ones(400, bool))
    every = np.ones((400, 5), bool)
    whole = beliefs.probabilities(table.cells, every)
    known = every.copy()
    known[:, 2] = False
    inputs = (table.cells - table.cells.mean(axis=0)) / table.cells.std(axis=0)
    others = [0, 1, 3, 4]
    covariance = inputs.T @ inputs / 400 + 0.05 * np.eye(5)
    across = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, 2])
    inputs[:, 2] = inputs[:, others] @ across
    expected = beliefs._model.predict_proba(inputs)
    np.testing.assert_allclose(beliefs.probabilities(table.cells, known), expected, atol=1e-5)
    assert not np.allclose(whole, expected, atol=1e-3)


@pytest.mark.parametrize("rows", [300, 1_200])
def test_what_is_not_known_is_not_read(rows):
    table = gaussian(rows, np.random.default_rng(0))
    known = np.zeros((rows, 5), bool)
    known[:, 0] = True
    known[::2, 1] = True
    model = cross_fitted(table, known)
    hidden = np.where(known, table.cells, 99.0)
    leaves = np.zeros(rows, np.int64)
    assert np.array_equal(
        model.probabilities(table.cells, known, leaves),
        model.probabilities(hidden, known, leaves),
    )


def test_probabilities_are_calibrated_by_the_likeliest_power():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 4_000)
    y = (rng.random(4_000) < p).astype(int)
    true = np.column_stack([1 - p, p])
    power = calibrating_power(raised(true, 2.0), y, np.ones(4_000))  # far too sure
    assert power == pytest.approx(0.5, abs=0.06)


def test_a_threshold_is_what_gains_most_of_all_that_there_are():
    rng = np.random.default_rng(0)
    for _ in range(50):
        stake, more = rng.integers(6, size=40) / 6, rng.normal(0.2, 1, 40)
        threshold = _best_threshold(stake, more)
        gains = {t: more[stake > t].sum() for t in (*(np.unique(stake) - 0.01), 2.0)}
        best = max(gains.values())
        goes = stake > threshold
        if goes.any():
            assert more[goes].sum() == pytest.approx(best)
            assert best > np.sqrt((more[goes] ** 2).sum())
        else:
            most = max(gains, key=gains.get)
            assert best <= np.sqrt((more[stake > most] ** 2).sum()) + 1e-12


def test_what_is_at_stake_is_what_the_best_action_may_lose():
    rewards = np.array([[1.0, 0.9], [0.0, 1.0]])
    p = np.array([[0.5, 0.5], [0.99, 0.01]])
    np.testing.assert_allclose(at_stake(p, rewards), [0.05, 0.01])


def test_further_looks_are_bought_in_their_order():
    order = Order({7: [2, 0, 1]}, [1, 3])
    known = np.array([[True, False, False, False], [False, False, False, True]])
    after = order.known_after(known, np.array([7, 8]), 1)
    assert after.tolist() == [[True, False, True, False], [False, True, False, True]]


@pytest.fixture(scope="module")
def cells():
    """What counts is the sum of eight columns: two of them do not say it."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(900, 8)), columns=list("abcdefgh"))
    return x[:600], x[600:], *np.split((x.sum(axis=1) > 0).to_numpy(), [600])


@pytest.fixture(scope="module")
def classifier(cells):
    x, _, y, _ = cells
    return CostAwareClassifier(reward_value=1000, max_observations=2).fit(x, y)


def test_more_is_bought_where_it_pays_and_nothing_else_is_read(classifier, cells):
    *fitted, x, y = (cells[0], cells[2], cells[1], cells[3])
    looks = classifier.looks(x)
    assert max(len(row) for row in looks) > classifier.max_observations
    plan = CostAwareClassifier(**classifier.get_params() | {"further_looks": 0})
    assert classifier.score(x, y) > plan.fit(*fitted).score(x, y) + 0.1
    assert min(len(row) for row in looks) < 8
    spend = classifier.spend(x)
    np.testing.assert_allclose(spend, [len(row) for row in looks])
    for row in range(0, len(x), 9):
        one = x.iloc[[row]]
        hidden = one.assign(**{name: 1e6 for name in one if name not in looks[row]})
        assert np.allclose(classifier.predict_proba(hidden), classifier.predict_proba(one))
        assert classifier.looks(hidden) == [looks[row]]


def test_the_plan_comes_first(classifier, cells):
    _, x, _, _ = cells
    for row, looks in enumerate(classifier.looks(x)[::7]):
        known, one = {}, x.iloc[7 * row]
        while wanted := classifier.policy_.wanted(known):
            assert looks[len(known)] == wanted[0]
            known[wanted[0]] = one[wanted[0]]


def test_nothing_is_random(classifier, cells):
    x, x_test, y, _ = cells
    again = CostAwareClassifier(**classifier.get_params()).fit(x, y)
    assert np.array_equal(again.predict_proba(x_test), classifier.predict_proba(x_test))
