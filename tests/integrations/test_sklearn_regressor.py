"""The regressor that buys features: scikit-learn's checks, and the losses that it plans with."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from askwise.errors import OptionError
from askwise.integrations.sklearn.regressor import _of_equal_parts
from askwise.sklearn import CostAwareRegressor


@parametrize_with_checks([CostAwareRegressor(further_looks=0, max_observations=2)])
def test_it_is_a_scikit_learn_regressor(estimator, check):
    check(estimator)


def houses(n, rng):
    """A flag says whether a house has one storey or two; a survey says how large it is."""
    storeys, size = rng.integers(1, 3, n), rng.random(n)
    return np.column_stack([storeys, size]).astype(float), 100.0 * storeys + 20.0 * size


def test_what_is_worth_its_price_is_bought():
    x, y = houses(400, np.random.default_rng(0))
    near = CostAwareRegressor(answers=[100, 110, 200, 210], loss_value=1, costs=[5, 20])
    near.fit(x, y)
    # the storeys tell 100 apart, 2,500 of squared loss; the size no more than some 30
    assert near.policy_.tree().outline().startswith("buy x0 (5)")
    assert near.cost_ == 5
    assert set(near.predict(x)) == {110.0, 210.0}  # of 100 to 120
    careful = CostAwareRegressor(answers=[100, 110, 200, 210], loss_value=10, costs=[5, 20])
    assert careful.fit(x, y).cost_ > 10  # the size, too, at least of the larger ones
    assert careful.score(x, y) > near.score(x, y)


def test_the_matrix_is_what_answers_lose():
    y = np.array([0.0, 1.0, 4.0, 6.0])
    regressor = CostAwareRegressor(answers=[0, 5], loss_value=2, max_observations=1)
    matrix = regressor.fit(y[:, None], y).classifier_.misclassification_costs
    # 0 and 1 are best answered by 0: 2 · mean(0, 1); by 5 they lose 2 · mean(25, 16)
    assert np.array_equal(matrix, [[1, 41], [52, 2]])
    absolute = CostAwareRegressor(answers=[0, 5], loss="absolute", loss_value=2)
    matrix = absolute.fit(y[:, None], y).classifier_.misclassification_costs
    assert np.array_equal(matrix, [[1, 9], [10, 2]])


def test_a_loss_of_ones_own():
    x, y = houses(400, np.random.default_rng(1))

    def too_low_is_dear(y, answer):
        return np.where(answer < y, 50.0 * (y - answer), answer - y)

    options = {"answers": [110, 160, 215], "costs": 1000.0, "loss_value": 1.0}
    found = CostAwareRegressor(loss=too_low_is_dear, **options).fit(x, y)
    assert set(found.predict(x)) == {215.0}  # nothing is bought, and too low is dear
    assert found.cost_ == 0
    with pytest.raises(OptionError, match="answer 160"):
        CostAwareRegressor(loss=lambda y, answer: 155 - answer + 0 * y, **options).fit(x, y)


def test_answers_of_equal_parts_count_rows_by_their_weight():
    y = np.array([1.0, 2.0, 3.0, 10.0])
    once = np.ones(4)
    assert _of_equal_parts(y, once, 2, is_median=False).tolist() == [1.5, 6.5]
    assert _of_equal_parts(y, once, 1, is_median=True).tolist() == [2.0]
    repeated = np.repeat(y, [2, 1, 1, 1])
    by_weight = _of_equal_parts(y, np.array([2.0, 1, 1, 1]), 2, is_median=False)
    assert by_weight.tolist() == _of_equal_parts(repeated, np.ones(5), 2, is_median=False).tolist()


def test_one_answer_buys_nothing():
    x, y = houses(50, np.random.default_rng(2))
    regressor = CostAwareRegressor(answers=1).fit(x, y)
    assert regressor.predict(x) == pytest.approx(y.mean())
    assert not regressor.spend(x).any()
    assert set(regressor.looks(x)) == {()}


@pytest.mark.parametrize(("start", "step"), [(1.7e9, 1.0), (1.0, 1e-12)])
def test_answers_that_agree_in_many_digits_are_told_apart(start, step):
    """Such as moments in unix seconds."""
    kind = np.arange(300) % 3
    answers = start + step * np.arange(3)
    regressor = CostAwareRegressor(answers=answers, further_looks=0)
    regressor.fit(kind[:, None].astype(float), answers[kind])
    assert sorted(regressor.answers_) == answers.tolist()
    assert (regressor.predict(kind[:, None].astype(float)) == answers[kind]).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"answers": 0}, "answers must be"),
        ({"answers": []}, "answers must be"),
        ({"answers": ["a"]}, "answers must be"),
        ({"answers": [1, float("nan")]}, "answers must be"),
        ({"loss": "cubic"}, "loss must be"),
        ({"loss_value": 0}, "loss_value must be"),
        ({"bins": 1}, "bins must be"),
    ],
)
def test_a_wrong_option_is_named(options, words):
    x, y = houses(50, np.random.default_rng(3))
    with pytest.raises(OptionError, match=words):
        CostAwareRegressor(**options).fit(x, y)
