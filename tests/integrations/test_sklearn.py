"""The classifier that buys features: scikit-learn's checks, and ours against plain recounting."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import askwise as aw
from askwise._support.numbers import as_price
from askwise.integrations.sklearn.table import prices_of
from askwise.sklearn import CostAwareClassifier, CostAwareRegressor

WINE = load_wine(as_frame=True)
IRIS = load_iris(as_frame=True)


@parametrize_with_checks([CostAwareClassifier()])
def test_it_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


def test_it_is_imported_only_when_asked_for():
    code = (
        "import sys, askwise; a = 'sklearn' in sys.modules; "
        "import askwise.sklearn; print(a, 'numba' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


# --- what it buys --------------------------------------------------------------------------------


def clinic(n, rng):
    """The patients of the README: one in five is ill, a mammogram errs one time in ten."""
    ill = rng.random(n) < 0.2
    high = ill ^ (rng.random(n) < 0.1)
    return pd.DataFrame({"mammogram": high, "mri": ill}).astype(float), ill


def test_with_many_records_it_is_the_best_policy():
    x, ill = clinic(20_000, np.random.default_rng(0))
    classifier = CostAwareClassifier(costs={"mammogram": 1, "mri": 9}).fit(x, ill)
    assert classifier.policy_.tree().outline().splitlines() == [
        "buy mammogram (1)",
        "├─ <1 → False",
        "└─ >=1 → buy mri (9)",
        "   ├─ <1 → False",
        "   └─ >=1 → True",
    ]
    assert classifier.cost_ == pytest.approx(1 + 9 * x.mammogram.mean())
    assert classifier.policy_.value == pytest.approx(94.66, abs=0.3)  # README: the best


def test_two_columns_that_tell_only_together_are_bought_together():
    x = np.random.default_rng(1).normal(size=(400, 2))
    y = (x[:, 0] > 0) != (x[:, 1] > 0)
    classifier = CostAwareClassifier().fit(x, y)
    assert classifier.score(x, y) > 0.9
    assert classifier.cost_ == 2


@pytest.fixture(scope="module")
def wine():
    prices = {name: 1.0 + k % 4 for k, name in enumerate(WINE.data.columns)}
    options = {"costs": prices, "max_observations": 3, "max_states": 20_000, "further_looks": 0}
    return CostAwareClassifier(**options).fit(WINE.data[::2], WINE.target[::2])


def test_it_decides_as_its_policy_does_case_by_case(wine):
    guesses, spend = wine.predict(WINE.data), wine.spend(WINE.data)
    for row, (_, cells) in enumerate(WINE.data.iterrows()):
        known, paid = {}, 0.0
        while wanted := wine.policy_.wanted(known):
            known[wanted[0]] = cells[wanted[0]]
            paid += wine.costs[wanted[0]]
        assert wine.policy_.action(known) == str(guesses[row])
        assert spend[row] == paid
        assert len(known) <= 3
    assert wine.cost_ == pytest.approx(spend[::2].mean())


def test_it_reads_nothing_but_what_it_buys(wine):
    for row in range(0, len(WINE.data), 7):
        cells = WINE.data.iloc[[row]]
        known = {}
        while wanted := wine.policy_.wanted(known):
            known[wanted[0]] = float(cells[wanted[0]].iloc[0])
        hidden = cells.assign(**{name: np.nan for name in cells if name not in known})
        assert np.array_equal(wine.predict_proba(hidden), wine.predict_proba(cells))


def test_what_is_dearer_than_a_right_answer_is_not_bought():
    classifier = CostAwareClassifier(costs=[5, 5, 200, 200]).fit(IRIS.data, IRIS.target)
    assert not any("petal" in line for line in classifier.policy_.tree().outline().splitlines())
    free = CostAwareClassifier(costs=0).fit(IRIS.data, IRIS.target)
    assert free.cost_ == 0
    assert free.score(IRIS.data, IRIS.target) > 0.9


def test_nothing_to_tell_apart_buys_nothing():
    x = np.ones((20, 2))
    classifier = CostAwareClassifier().fit(x, [0, 1, 1, 1] * 5)
    assert (classifier.predict(x) == 1).all()
    assert classifier.cost_ == 0
    assert classifier.observations_ == ()
    blind = CostAwareClassifier(max_observations=0, further_looks=0).fit(IRIS.data, IRIS.target)
    assert blind.cost_ == 0


# --- missing cells -------------------------------------------------------------------------------


def test_missing_cells_tell_something_if_there_were_some():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.5
    x = np.column_stack([np.where(y, np.nan, rng.normal(size=300))])
    x[:5] = rng.normal(size=(5, 1))  # now and then one that is there
    classifier = CostAwareClassifier().fit(x, y)
    assert classifier.predict([[np.nan]]).tolist() == [True]
    assert classifier.policy_.tree().outline().endswith("unavailable → True")


def test_an_unexpected_missing_cell_is_paid_and_tells_nothing():
    x, ill = clinic(2_000, np.random.default_rng(0))
    classifier = CostAwareClassifier(costs=[1, 9]).fit(x, ill)
    cells = pd.DataFrame({"mammogram": [1.0, np.nan, 1.0], "mri": [1.0, 1.0, np.nan]})
    assert classifier.spend(cells).tolist() == [10, 1, 10]
    start, after = classifier.predict_proba(cells)[1:]
    assert start[1] == pytest.approx(ill.mean(), abs=0.01)
    assert after[1] == pytest.approx(ill[x.mammogram == 1].mean(), abs=0.01)


# --- accuracy against spend ----------------------------------------------------------------------


def test_at_its_own_reward_value_the_curve_is_the_classifier(wine):
    x, y = WINE.data[1::2], WINE.target[1::2]
    (row,) = wine.accuracy_against_spend(x, y, reward_values=[wine.reward_value])
    assert row["accuracy"] == wine.score(x, y)
    assert row["spend"] == pytest.approx(wine.spend(x).mean())
    again = CostAwareClassifier(**wine.get_params() | {"reward_value": 5.0})
    again.fit(WINE.data[::2], WINE.target[::2])
    (row,) = wine.accuracy_against_spend(x, y, reward_values=[5.0])
    assert row["accuracy"] == again.score(x, y)
    assert row["spend"] == pytest.approx(again.spend(x).mean())


def test_the_curve_takes_labels_in_every_form(wine):
    x, y = WINE.data[1::2], WINE.target[1::2]
    rows = wine.accuracy_against_spend(x, y, reward_values=[100.0])
    assert rows[0]["accuracy"] == wine.score(x, y)
    for same in (y.to_frame(), y.to_numpy()[:, None], y.tolist(), y.astype(float)):
        assert wine.accuracy_against_spend(x, same, reward_values=[100.0]) == rows


def test_the_curve_stays_within_the_budget():
    x, y = WINE.data.iloc[:, :5], WINE.target
    free = CostAwareClassifier(further_looks=0).fit(x, y)
    within = CostAwareClassifier(further_looks=0, max_spend=0.6 * free.cost_).fit(x, y)
    own, more = within.accuracy_against_spend(x, y, reward_values=[100.0, 1000.0])
    assert own["accuracy"] == within.score(x, y)
    assert own["spend"] == pytest.approx(within.cost_)
    assert more["spend"] <= 0.6 * free.cost_ + 1e-9


def test_a_plot_shows_the_rows(wine):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    x, y = WINE.data[1::2], WINE.target[1::2]
    assert wine.plot(x, y, ax=axes) is axes
    rows = wine.accuracy_against_spend(x, y)
    np.testing.assert_allclose(
        axes.lines[0].get_xydata(), [(row["spend"], row["accuracy"]) for row in rows]
    )
    assert [text.get_text() for text in axes.texts] == [as_price(r["reward_value"]) for r in rows]


def test_it_can_be_tuned():
    search = GridSearchCV(CostAwareClassifier(further_looks=0), {"max_observations": [0, 2]}, cv=3)
    assert search.fit(IRIS.data, IRIS.target).best_params_ == {"max_observations": 2}


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": {"a": 1}}, "the price of 'b' is missing"),
        ({"costs": {"a": 1, "b": 1, "c": 1}}, "unknown feature 'c', expected one of: a, b"),
        ({"costs": [1]}, "1 prices for 2 features, expected one each"),
        ({"costs": [1, -1]}, "the price of 'b' must be a finite number of at least 0, got -1"),
        ({"costs": [1, np.nan]}, "the price of 'b' must be"),
        ({"costs": [1, 1e12]}, "costs: the price of 'b' must be at most 1,000,000,000"),
        ({"costs": "dear"}, "costs must be a number, a sequence or {name: price}, got 'dear'"),
        ({"max_observations": -1}, "max_observations must be a whole number of at least 0"),
        ({"max_observations": 1.5}, "max_observations must be a whole number"),
        ({"bins": 1}, "bins must be a whole number of at least 2, got 1"),
        ({"max_states": 0}, "max_states must be"),
        ({"reward_value": 0}, "reward_value must be a finite number above 0, got 0"),
        ({"shrinkage": -2.0}, "shrinkage must be 'auto' or a finite number above 0, got -2.0"),
        ({"shrinkage": "much"}, "shrinkage must be 'auto' or"),
        ({"luck_charge": -1}, "luck_charge must be a finite number of at least 0, got -1"),
        ({"further_looks": "all"}, "further_looks must be 'auto' or a whole number"),
        ({"max_spend": -1}, "max_spend must be None or a finite number of at least 0, got -1"),
        ({"panels": 3}, "panels must be a list of askwise.Panel, got 3"),
        ({"panels": ["a"]}, "panels: expected an askwise.Panel, got 'a'"),
        ({"panels": [aw.Panel(observations=["c"], fee=1)]}, "unknown feature 'c'"),
        ({"panels": [aw.Panel({"a": 1.0}, fee=1)]}, "without prices of their own"),
        ({"misclassification_costs": [[0, 1]]}, "a row and a column for each of the 2 classes"),
        (
            {"misclassification_costs": [[0, -1], [1, 0]]},
            "finite numbers of at least 0, got [[0, -1], [1, 0]]",
        ),
        (
            {"misclassification_costs": [[0, 0], [0, 0]]},
            "nothing is worth buying: give at least one a cost",
        ),
        ({"misclassification_costs": "dear"}, "misclassification_costs must be numbers"),
        ({"categorical_features": ["c"]}, "there is no column 'c', expected one of: a, b"),
        ({"categorical_features": [True]}, "1 booleans for 2 columns, expected one each"),
        ({"categorical_features": "all"}, "categorical_features must be 'from_dtype'"),
    ],
)
def test_a_wrong_option_is_named(options, message):
    x = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.0]})
    with pytest.raises(aw.AskwiseError) as caught:
        CostAwareClassifier(**options).fit(x, [0, 1, 0, 1])
    assert message in str(caught.value)


@pytest.mark.parametrize("method", ["evaluate", "accuracy_against_spend", "plot"])
def test_labels_that_are_no_classes_of_the_rows_are_refused(wine, method):
    for rows, y, message in [
        (178, [0, 1, 2], "178 rows in X, but 3 labels in y"),
        (178, WINE.target.astype(str), "'0' is not a class of the training rows, expected.*: 0, 1"),
        (0, [], "y is empty, expected the label of at least one row"),
    ]:
        with pytest.raises(aw.AskwiseError, match=message):
            getattr(wine, method)(WINE.data[:rows], y)


def test_weights_that_no_rows_have_are_refused():
    for kind in (CostAwareClassifier, CostAwareRegressor):
        with pytest.raises(
            aw.AskwiseError, match=r"sum to 1.78e\+302 rows.*times that a row count"
        ):
            kind().fit(WINE.data, WINE.target, sample_weight=np.full(178, 1e300))


def test_prices_in_every_form():
    assert prices_of(None, ["a", "b"]) == [1, 1]
    assert prices_of(2, ["a", "b"]) == [2, 2]
    assert prices_of(np.array([1, 2]), ["a", "b"]) == [1, 2]
    assert prices_of({"b": 1, "a": 2}, ["a", "b"]) == [2, 1]


# --- what mistakes cost ---------------------------------------------------------------------------


def test_a_matrix_of_costs_is_what_is_paid():
    """By hand: one in five is ill; missing it costs 50, a false alarm 5, the exact test 4."""
    ill = np.array([True] * 40 + [False] * 160)
    x = pd.DataFrame({"test": ill.astype(float)})
    matrix = [[0.0, 5.0], [50.0, 0.0]]  # rows are what is true
    options = {"misclassification_costs": matrix, "luck_charge": 0.0, "shrinkage": 1e-6}
    dear = CostAwareClassifier(costs=4.1, **options).fit(x, ill)
    assert dear.cost_ == 0
    assert dear.predict(x).all()  # 0.8 × 5 = 4 is less than 0.2 × 50, and than the test
    cheap = CostAwareClassifier(costs=3.9, **options).fit(x, ill)
    assert cheap.cost_ == pytest.approx(3.9)
    assert (cheap.predict(x) == ill).all()
    assert cheap.policy_.value == pytest.approx(50 - 3.9, abs=0.01)  # what is not lost of 50


def test_the_first_of_a_panel_pays_its_fee():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.integers(2, size=(400, 2)).astype(float), columns=["a", "b"])
    y = x.a.astype(int) * 2 + x.b.astype(int)
    panel = aw.Panel(observations=["a", "b"], fee=3.0)
    classifier = CostAwareClassifier(costs={"a": 1, "b": 2}, panels=[panel]).fit(x, y)
    assert set(classifier.spend(x)) == {6.0}
    assert {frozenset(row) for row in classifier.looks(x)} == {frozenset(["a", "b"])}


def test_no_more_is_spent_than_may_be():
    x, y = WINE.data.iloc[:, :5], WINE.target
    free = CostAwareClassifier(further_looks=0).fit(x, y)
    spends = []
    for most in (0.0, 0.5 * free.cost_, 0.9 * free.cost_, free.cost_ + 1):
        for further in (0, "auto"):
            within = CostAwareClassifier(max_spend=most, further_looks=further)
            spends.append(within.fit(x, y).cost_)
            assert spends[-1] <= most + 1e-9
    assert spends[0] == 0
    assert spends[-2] == free.cost_


# --- categories and weights -----------------------------------------------------------------------


def colours(n, rng):
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue", "grey"], n),
            "size": rng.normal(size=n),
            "is_new": rng.random(n) < 0.5,
        }
    )
    y = np.where(frame.colour.isin(["red", "blue"]), "warm", "cold")
    return frame, y


def test_categories_need_no_coding():
    x, y = colours(300, np.random.default_rng(0))
    classifier = CostAwareClassifier().fit(x, y)
    assert classifier.score(x, y) == 1
    assert set(classifier.looks(x)) == {("colour",)}
    (colour,) = (o for o in classifier.observations_ if o.name == "colour")
    assert set(colour.values) == {"blue", "red", "green", "grey"}
    unseen = x.head(3).assign(colour=["violet", None, "red"])
    assert classifier.spend(unseen).tolist() == [1, 1, 1]
    assert classifier.predict(unseen)[2] == "warm"
    assert classifier.predict_proba(unseen)[0].max() < 0.9


def test_categories_of_an_array_are_named_by_their_places():
    x, y = colours(300, np.random.default_rng(0))
    codes = np.column_stack([x.colour.map({"red": 0, "green": 1, "blue": 2, "grey": 3}), x["size"]])
    by_place = CostAwareClassifier(categorical_features=[0]).fit(codes, y)
    by_flag = CostAwareClassifier(categorical_features=[True, False]).fit(codes, y)
    assert by_place.score(codes, y) == by_flag.score(codes, y) == 1


def test_a_row_counts_as_often_as_it_weighs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 3))
    y = (x[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
    often = rng.integers(0, 4, 150)
    options = {"further_looks": 0}
    weighed = CostAwareClassifier(**options).fit(x, y, sample_weight=often)
    repeated = CostAwareClassifier(**options).fit(np.repeat(x, often, 0), np.repeat(y, often))
    np.testing.assert_allclose(weighed.predict_proba(x), repeated.predict_proba(x))
    assert weighed.cost_ == pytest.approx(repeated.cost_)
    with pytest.raises(ValueError, match="at least one non-zero"):
        CostAwareClassifier().fit(x, y, sample_weight=np.zeros(150))


def test_it_is_evaluated_on_rows_that_were_kept_aside(wine):
    found = wine.evaluate(WINE.data[1::2], WINE.target[1::2])
    right = wine.score(WINE.data[1::2], WINE.target[1::2])
    spend = wine.spend(WINE.data[1::2])
    assert found.reward.value == pytest.approx(right)
    assert found.spend.value == pytest.approx(spend.mean())
    assert found.gain.value == pytest.approx(100 * right - spend.mean())
    assert found.reward.low < right < found.reward.high
    assert found.looks == pytest.approx(np.mean([len(row) for row in wine.looks(WINE.data[1::2])]))
    table = WINE.data[1::2].assign(kind=WINE.target[1::2])
    by_policy = wine.policy_.evaluate(table, label="kind")  # the plan alone decides here
    assert by_policy.gain == pytest.approx(found.gain, abs=1e-5)
    with pytest.raises(aw.AskwiseError, match="7 is not a class of the training rows"):
        wine.evaluate(WINE.data[:2], [0, 7])
