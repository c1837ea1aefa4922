"""The classifier that buys features: scikit-learn's checks, and ours against plain recounting."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import askwise as aw
from askwise._support.numbers import as_price
from askwise.integrations.sklearn.class_estimates import (
    LeaveOneOut,
    count_classes,
    estimate_classes,
)
from askwise.integrations.sklearn.table import _information, choose, observations_of, prices_of
from askwise.sklearn import CostAwareClassifier
from askwise.states import Lattice

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


# --- what is counted and estimated ----------------------------------------------------------------


@st.composite
def records(draw):
    """A lattice of two or three observations and records of two or three classes."""
    radices = draw(st.lists(st.integers(2, 3), min_size=2, max_size=3))
    classes, m = draw(st.integers(2, 3)), draw(st.integers(0, len(radices)))
    problem = aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=list(range(r)), cost=1.0) for i, r in enumerate(radices)
        ],
        actions=[str(c) for c in range(classes)],
        max_observations=m,
        reward_value=draw(st.sampled_from([1.0, 10.0, 100.0])),
    )
    row = st.tuples(*(st.integers(0, r - 1) for r in radices), st.integers(0, classes - 1))
    rows = np.array(draw(st.lists(row, min_size=1, max_size=12)), np.int64)
    return Lattice(problem), rows[:, :-1].T, rows[:, -1], classes


def contains(lattice, state, digits, case):
    return all(digits[i][case] == x for i, x in lattice.digits(state))


@given(records())
def test_a_record_is_a_case_in_every_state_it_contains(made):
    lattice, digits, labels, classes = made
    counts = count_classes(lattice, digits, labels, classes)
    for state in range(lattice.size):
        inside = [y for k, y in enumerate(labels) if contains(lattice, state, digits, k)]
        assert counts[state].tolist() == np.bincount(inside, minlength=classes).tolist()


def plain_estimate(known, rows, classes, shrinkage):
    """p̂ of what is known, by the equation, from the rows themselves."""
    labels = [row[-1] for row in rows if all(row[i] == x for i, x in known.items())]
    prior = np.full(classes, 1 / classes)
    if known:
        less = [{i: x for i, x in known.items() if i != j} for j in known]
        prior = np.exp(
            np.mean([np.log(plain_estimate(k, rows, classes, shrinkage)) for k in less], axis=0)
        )
        prior /= prior.sum()
    found = np.bincount(np.array(labels, np.int64), minlength=classes)
    return (found + shrinkage * prior) / (len(labels) + shrinkage)


@settings(max_examples=40)
@given(records(), st.sampled_from([0.5, 8.0]))
def test_estimates_are_those_of_the_equation(made, shrinkage):
    lattice, digits, labels, classes = made
    estimates = estimate_classes(
        lattice, count_classes(lattice, digits, labels, classes), shrinkage
    )
    rows = [(*case, y) for *case, y in zip(*digits, labels, strict=True)]
    for state in range(lattice.size):
        plain = plain_estimate(dict(lattice.digits(state)), rows, classes, shrinkage)
        np.testing.assert_allclose(estimates.probability[state], plain, rtol=1e-9)


@settings(max_examples=40)
@given(records())
def test_a_case_that_is_left_out_is_one_that_was_never_counted(made):
    lattice, digits, labels, classes = made
    left_out = LeaveOneOut(
        lattice, estimate_classes(lattice, count_classes(lattice, digits, labels, classes), 2.0)
    )
    rows = [(*case, y) for *case, y in zip(*digits, labels, strict=True)]
    for state in range(lattice.size):
        known, surely, perhaps = dict(lattice.digits(state)), 0, 0
        for k, y in enumerate(labels):
            if contains(lattice, state, digits, k):
                without = plain_estimate(known, rows[:k] + rows[k + 1 :], classes, 2.0)
                best = np.isclose(without, without.max(), rtol=1e-12)
                perhaps += best[y]  # of equals, rounding picks one
                surely += best[y] and best.sum() == 1
        assert surely <= left_out.right(state) <= perhaps


def test_what_a_column_adds_is_the_information_of_scikit_learn():
    rng = np.random.default_rng(0)
    x, j, y = rng.integers(3, size=(3, 400))
    y = np.where(rng.random(400) < 0.5, (x + j) % 3, y)
    alone = _information(x, 3, np.zeros_like(x), 1, y, 3)
    assert alone == pytest.approx(mutual_info_score(x, y) - 4 / 800)
    beside = sum(np.mean(j == k) * mutual_info_score(x[j == k], y[j == k]) for k in range(3))
    assert _information(x, 3, j, 3, y, 3) == pytest.approx(beside - 12 / 800)


def test_a_copy_of_a_column_adds_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=500)
    strong, weak = (np.where(rng.random(500) < p, y, 1 - y) for p in (0.9, 0.7))
    columns = [aw.Observation(n, values=[0, 1], cost=1) for n in ("strong", "copy", "weak")]
    assert choose([strong, strong, weak], y, columns, 2, most_states=9) == [0, 2]
    assert choose([strong, strong, weak], y, columns, 2, most_states=1000) == [0, 1, 2]


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
    options = {"costs": prices, "max_observations": 3, "max_states": 20_000}
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


def leaves(policy, state=0):
    looks = policy.looks(state)
    if not looks:
        return [state]
    return [leaf for c in policy.lattice.children(state, looks[0]) for leaf in leaves(policy, c)]


@settings(max_examples=30)
@given(records())
def test_the_value_is_what_is_gained_where_it_acts_and_no_look_is_idle(made):
    from askwise.integrations.sklearn.pruning import policy_of

    lattice, digits, labels, classes = made
    counts = count_classes(lattice, digits, labels, classes)
    estimates = estimate_classes(lattice, counts, 2.0)
    policy, left_out = policy_of(lattice, estimates), LeaveOneOut(lattice, estimates)
    beta, gain = lattice.problem.reward_value, 0.0
    for leaf in leaves(policy):
        n = counts[leaf].sum()
        gain += beta * (left_out.right(leaf) + n * estimates.probability[leaf].max()) / 2
        gain -= n * lattice.spent(leaf)
    assert policy.value * len(labels) == pytest.approx(gain)
    at_once = beta * (left_out.right(0) + len(labels) * estimates.probability[0].max()) / 2
    assert policy.value * len(labels) >= at_once - 1e-6
    if policy.looks(0):
        done = {policy.act(leaf) for leaf in leaves(policy)}
        assert done != {policy.act(0)}


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
    blind = CostAwareClassifier(max_observations=0).fit(IRIS.data, IRIS.target)
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
    search = GridSearchCV(CostAwareClassifier(), {"bins": [2, 4]}, cv=3)
    assert search.fit(IRIS.data, IRIS.target).best_params_ == {"bins": 4}


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": {"a": 1}}, "no price for the feature 'b'"),
        ({"costs": {"a": 1, "b": 1, "c": 1}}, "unknown feature 'c', expected one of: a, b"),
        ({"costs": [1]}, "1 prices for 2 features"),
        ({"costs": [1, -1]}, "the price of 'b' must be a finite number of at least 0, got -1"),
        ({"costs": [1, np.nan]}, "the price of 'b' must be"),
        ({"costs": "dear"}, "costs must be a number, a sequence or {name: price}, got 'dear'"),
        ({"max_observations": -1}, "max_observations must be a whole number of at least 0"),
        ({"max_observations": 1.5}, "max_observations must be a whole number"),
        ({"bins": 1}, "bins must be a whole number of at least 2, got 1"),
        ({"max_states": 0}, "max_states must be"),
        ({"reward_value": 0}, "reward_value must be a finite number above 0, got 0"),
        ({"shrinkage": -2.0}, "shrinkage must be a finite number above 0, got -2.0"),
    ],
)
def test_a_wrong_option_is_named(options, message):
    x = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.0]})
    with pytest.raises(aw.AskwiseError) as caught:
        CostAwareClassifier(**options).fit(x, [0, 1, 0, 1])
    assert message in str(caught.value)


def test_labels_that_are_too_few_are_refused(wine):
    with pytest.raises(aw.AskwiseError, match="178 rows in X, but 3 labels in y"):
        wine.accuracy_against_spend(WINE.data, [0, 1, 2])


def test_prices_in_every_form():
    assert prices_of(None, ["a", "b"]) == [1, 1]
    assert prices_of(2, ["a", "b"]) == [2, 2]
    assert prices_of(np.array([1, 2]), ["a", "b"]) == [1, 2]
    assert prices_of({"b": 1, "a": 2}, ["a", "b"]) == [2, 1]


def test_a_column_that_never_varies_cannot_be_cut():
    table = np.array([[1.0, 0.0, np.nan], [1.0, 1.0, np.nan]])
    made = observations_of(table, np.array([0, 1]), ["a", "b", "c"], [1.0] * 3, 4)
    assert [o is None for o in made] == [True, False, True]
