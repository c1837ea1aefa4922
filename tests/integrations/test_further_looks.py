"""Beyond the plan: models of what was bought, what is bought further, and when that ends."""

import pickle

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from askwise.integrations.sklearn import beliefs
from askwise.integrations.sklearn.beliefs import (
    Boosted,
    CrossFitted,
    Filled,
    Fitted,
    Masks,
    Table,
    calibrating_power,
    cross_fitted,
    fitted_to,
    raised,
)
from askwise.integrations.sklearn.charged_plans import folds_of
from askwise.integrations.sklearn.columns import Columns
from askwise.integrations.sklearn.further_looks import (
    Step,
    _best_threshold,
    _likely_classes,
    at_stake,
)
from askwise.integrations.sklearn.order_of_looks import (
    Order,
    models_of_looks,
    steps_to,
    worth_of,
)
from askwise.integrations.sklearn.prices import Prices
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
    masks = Masks(known, [known] * 5)
    model = cross_fitted(table, fitted_to(table, masks), masks)
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


def test_steps_are_judged_by_classes_and_by_the_likeliest_model():
    table = gaussian(50, np.random.default_rng(0))
    truth = np.eye(2)[table.labels]
    good, bad = 0.8 * truth + 0.1, 0.4 * truth + 0.3
    told = Told([0.0] * 5)
    models = [CrossFitted(told, 1.0, held) for held in (bad, good, bad)]
    steps = [Step(k, model, np.zeros(50)) for k, model in enumerate(models)]
    np.testing.assert_allclose(_likely_classes(steps, table), 0.9 * truth + 0.05)


def test_further_looks_are_bought_in_their_order():
    order = Order([2, 0, 3])
    known = np.array([[True, False, False, False], [False, False, True, False]])
    assert order.known_after(known, 0).tolist() == known.tolist()
    after = order.known_after(known, 1)
    assert after.tolist() == [[True, False, True, False], [True, False, True, False]]
    after = order.known_after(known, 2)
    assert after.tolist() == [[True, False, True, True], [True, False, True, True]]


def test_steps_grow_and_end_with_all():
    assert steps_to(0) == [0]
    assert steps_to(1) == [0, 1]
    assert steps_to(5) == [0, 1, 2, 3, 4, 5]
    assert steps_to(57) == [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 57]


class Told:
    """A model that is told: the logit of class 1 is the sum of what is known of these columns."""

    def __init__(self, slopes):
        self.slopes = np.array(slopes)

    def probabilities(self, cells, known):
        p = 1 / (1 + np.exp(-np.where(known, cells, 0.0) @ self.slopes))
        return np.column_stack([1 - p, p])


def test_what_a_column_is_worth_is_what_is_lost_when_it_is_shuffled():
    """As scikit-learn's own permutation importance, in rows that count."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.inspection import permutation_importance

    table = gaussian(2_000, np.random.default_rng(0))
    told = Told([2.0, 1.0, 0.0, 0.5, 0.0])

    class Peer(ClassifierMixin, BaseEstimator):
        def fit(self, x, y):
            self.classes_ = np.array([0, 1])
            return self

        def predict_proba(self, x):
            return told.probabilities(x, np.ones(x.shape, bool))

    every = np.ones((2_000, 5), bool)
    counted = np.arange(2_000) < 1_500
    weights = np.repeat(counted[:, None].astype(float), 5, axis=1)
    found = worth_of(table, Fitted(told, [told] * 5), every, range(5), weights)
    peer = Peer().fit(None, None)
    x, y = table.cells[counted], table.labels[counted]
    theirs = permutation_importance(peer, x, y, scoring="neg_log_loss", n_repeats=20)
    np.testing.assert_allclose(found, theirs.importances_mean, atol=0.04)
    assert found[2] == found[4] == 0


@pytest.mark.parametrize("rows", [600, 1_200])
def test_columns_that_say_the_same_do_not_both_come_first(rows):
    """Two copies of the best column are worth little beside each other, yet one comes early."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=rows)
    x = rng.normal(size=(rows, 6)) + np.outer(y, [2.0, 0, 1.0, 0.8, 0, 0])
    x[:, 1] = x[:, 0] + 0.01 * rng.normal(size=rows)
    table = Table(Columns(tuple("abcdef"), (None,) * 6), x, y, np.ones(rows), folds_of(y), 2)
    known = np.zeros((rows, 6), bool)
    whole = fitted_to(table, Masks(~known, [~known] * 5))
    nothing = Masks(known, [known] * 5)
    prices = Prices(np.ones(6), ())
    order, models = models_of_looks(table, nothing, np.ones(rows), whole, prices, 6)
    assert order.columns[0] in (0, 1)
    assert set(order.columns[1:3]) == {2, 3}
    likely = [np.log(m.held[np.arange(rows), y]).mean() for m in models.values()]
    assert likely[0] < likely[1] < likely[2] < likely[3]
    dear = Prices(np.where(np.arange(6) < 2, 1_000.0, 1.0), ())
    order, _ = models_of_looks(table, nothing, np.ones(rows), whole, dear, 6)
    assert set(order.columns[:2]) == {2, 3}
    assert len(models_of_looks(table, nothing, np.ones(rows), whole, prices, 2)[0].columns) == 2


def test_boosting_is_the_same_with_weights_as_with_rows_that_often():
    """Columns of many values are cut before: 1,200 values, and weights 1 and 2."""
    rng = np.random.default_rng(0)
    table = gaussian(1_200, rng)
    table = table._replace(weights=1.0 + (np.arange(1_200) % 2))
    every, rows = np.ones((1_200, 5), bool), np.ones(1_200, bool)
    weighed = Boosted(table, rows, every)
    often = np.repeat(np.arange(1_200), table.weights.astype(int))
    again = table._replace(
        cells=table.cells[often], labels=table.labels[often], weights=np.ones(len(often))
    )
    repeated = Boosted(again, np.ones(len(often), bool), every[often])
    fresh = gaussian(2_000, np.random.default_rng(1))
    place = np.arange(2_000), fresh.labels
    known = np.ones((2_000, 5), bool)
    losses = [
        -np.log(np.maximum(m.probabilities(fresh.cells, known)[place], 1e-6)).mean()
        for m in (weighed, repeated)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=0.06)


def test_models_of_folds_are_not_kept_after_they_have_judged_their_rows():
    table = gaussian(1_000, np.random.default_rng(0))
    every = np.ones((1_000, 5), bool)
    masks = Masks(every, [every] * 5)
    fitted = fitted_to(table, masks)
    kept, alone = (len(pickle.dumps(x)) for x in (cross_fitted(table, fitted, masks), fitted[0]))
    assert kept < 1.5 * alone


def test_rows_know_what_the_plan_without_them_buys():
    plans = Masks(np.zeros((4, 1), bool), [np.full((4, 1), k == 1) for k in range(2)])
    assert plans.own(np.array([0, 1, 1, 0])).ravel().tolist() == [False, True, True, False]
    assert not plans.is_all
    assert plans.each(np.ones_like).is_all


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


def test_the_plan_is_judged_without_the_rows_that_judge_it():
    """On noise alone a plan seems to be right in the rows that it was made for, and is not."""
    own, held = [], []
    for seed in range(4):  # the mean: a single table of noise is right in up to 62 % by chance
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(300, 8)), rng.integers(2, size=300)
        classifier = CostAwareClassifier(costs=0.01, luck_charge=0.0, further_looks=0).fit(x, y)
        apart = classifier._learned._held_back(100.0)[0].argmax(axis=1)
        own.append(classifier.score(x, y))
        held.append((apart == classifier._learned._table.labels).mean())
    assert np.mean(own) > 0.62
    assert np.mean(held) < 0.55


@pytest.mark.parametrize("rows", [400, 1200])
def test_models_of_small_tables_use_one_thread(monkeypatch, rows):
    """Threads that wait for each other take many times longer beside other work."""
    used = []

    def watched(kind):
        class Watched(kind):
            def fit(self, *args, **rest):
                used.extend(one["num_threads"] for one in threadpool_info())
                return super().fit(*args, **rest)

            def predict_proba(self, *args):
                used.extend(one["num_threads"] for one in threadpool_info())
                return super().predict_proba(*args)

        return Watched

    for name in ("HistGradientBoostingClassifier", "LogisticRegression"):
        monkeypatch.setattr(beliefs, name, watched(getattr(beliefs, name)))
    random = np.random.default_rng(0)
    x = random.normal(size=(rows, 3))
    y = x.sum(axis=1) > 0
    with threadpool_limits(2):
        CostAwareClassifier(reward_value=30).fit(x, y).predict(x)
        assert {one["num_threads"] for one in threadpool_info()} == {2}
    assert set(used) == {1}
