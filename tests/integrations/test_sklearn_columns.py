"""Columns of many categories and of dates: luck is not bought, and what they say is found."""

import math
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import askwise as aw
from askwise.integrations.sklearn import table as table_of_looks
from askwise.integrations.sklearn.alike import STRENGTHS, _log_marginal, merge_alike
from askwise.sklearn import CostAwareClassifier


def _noise(kind, seed, rows):
    random = np.random.default_rng(seed)
    number = random.integers(0, {"300 texts": 300, "50 texts": 50, "dates": 1000}[kind], rows)
    if kind == "dates":
        column = pd.Timestamp("2024-01-01") + pd.to_timedelta(number, unit="D")
    else:
        column = [f"t{k}" for k in number]
    labels = np.where(random.random(rows) < 0.7, "ok", "bad")
    return pd.DataFrame({"column": column, "x": random.normal(size=rows)}), labels


@pytest.mark.parametrize("kind", ["300 texts", "50 texts", "dates"])
@pytest.mark.parametrize("seed", range(5))
def test_columns_that_say_nothing_are_not_bought_for_their_luck(kind, seed):
    classifier = CostAwareClassifier(reward_value=100, further_looks=0)
    classifier.fit(*_noise(kind, seed, 1000))
    rows, labels = _noise(kind, 100 + seed, 5000)
    nothing = 100 * (labels == "ok").mean()
    assert classifier.evaluate(rows, labels).gain.value >= nothing - 1


def test_boosted_trees_take_a_category_of_more_than_255_values():
    rows, labels = _noise("300 texts", 0, 1000)
    classifier = CostAwareClassifier(reward_value=100).fit(rows, labels)
    new, said = _noise("300 texts", 1, 2000)
    nothing = 100 * (said == "ok").mean()
    assert classifier.evaluate(new, said).gain.value >= nothing - 1


def test_more_than_255_frequent_values_are_no_error():
    random = np.random.default_rng(0)
    town = np.repeat([f"t{k}" for k in range(300)], 9)
    rows = pd.DataFrame({"town": town})
    labels = random.random(len(town)) < 0.5
    classifier = CostAwareClassifier(reward_value=100).fit(rows, labels)
    assert len(classifier.predict(rows)) == len(town)


def test_what_a_category_of_some_values_says_is_found():
    random = np.random.default_rng(0)
    town = np.repeat([f"t{k:02}" for k in range(12)], 100)
    labels = random.random(1200) < np.where(town < "t06", 0.8, 0.3)
    rows = pd.DataFrame({"town": town, "x": random.normal(size=1200)})
    classifier = CostAwareClassifier(reward_value=100, further_looks=0).fit(rows, labels)
    assert classifier.spend(rows).min() == 1
    assert classifier.score(rows, labels) > 0.7


def test_rare_and_new_categories_share_an_outcome():
    town = ["a"] * 40 + ["b"] * 40 + ["c"] * 30 + ["d"] * 30 + [f"rare {k}" for k in range(60)]
    labels = np.array([0] * 80 + [1] * 120)
    rows = pd.DataFrame({"town": town})
    classifier = CostAwareClassifier(reward_value=100, further_looks=0).fit(rows, labels)
    (town,) = classifier.observations_
    assert town.values == ("a", "b", "c", "d", "any other")
    copied = pickle.loads(pickle.dumps(classifier))
    assert copied.predict(pd.DataFrame({"town": ["a", "rare 3", "never seen"]})).tolist() == [
        0,
        1,
        1,
    ]


def test_dates_are_cut_into_bins():
    days = pd.Series(pd.date_range("2024-01-01", periods=400))
    rows, labels = pd.DataFrame({"day": days}), np.array([0] * 200 + [1] * 200)
    classifier = CostAwareClassifier(reward_value=100).fit(rows, labels)
    (day,) = classifier.observations_
    assert day.edges is not None
    assert days[199].date() < day.edges[0] <= days[200].date()
    assert classifier.score(rows, labels) == 1.0
    later = pd.DataFrame({"day": pd.to_datetime(["2023-05-05", "2026-05-05", None])})
    assert classifier.predict(later).tolist()[:2] == [0, 1]
    zoned = pd.DataFrame({"day": days.dt.tz_localize("Europe/Berlin") + pd.Timedelta(hours=5)})
    assert CostAwareClassifier(reward_value=100).fit(zoned, labels).score(zoned, labels) == 1.0


def test_values_are_grouped_by_their_classes_only_if_that_is_no_luck():
    random = np.random.default_rng(0)
    sizes = np.append(np.full(49, 20), 21)
    ones = random.binomial(sizes, 0.3)
    group = merge_alike(np.column_stack([sizes - ones, ones]).astype(float))
    assert group.tolist() == [0] * 49 + [1]
    told = np.where(np.arange(50) < 25, 3, 17)
    assert (
        merge_alike(np.column_stack([20 - told, told]).astype(float)).tolist()
        == [0] * 25 + [1] * 25
    )


def _shops(rows, seed, share_of):
    """Records of shops, of which a share is fraud; `share_of` gives it for the number of a shop."""
    random = np.random.default_rng(seed)
    shop = random.integers(200, size=rows)
    fraud = (random.random(rows) < share_of(shop)).astype(int)
    return pd.DataFrame({"shop": np.array([f"s{k}" for k in range(200)])[shop]}), fraud


def _cost_of_shops(seed, share_of):
    """Returns the outcomes of the column, the cost of the decisions, and of doing nothing."""
    matrix = np.array([[0, 10], [150, 0]])
    classifier = CostAwareClassifier(costs=0, misclassification_costs=matrix, further_looks=0)
    classifier.fit(*_shops(6000, seed, share_of))
    rows, fraud = _shops(20_000, 100 + seed, share_of)
    (look,) = classifier.observations_
    return len(look.values), matrix[fraud, classifier.predict(rows)].mean(), 150 * fraud.mean()


@pytest.mark.parametrize("seed", range(3))
def test_the_luck_of_a_rare_dear_class_is_not_evidence(seed):
    """A record of fraud had the weight of 3.5 records, and noise was grouped in all columns."""
    outcomes, cost, nothing = _cost_of_shops(seed, lambda shop: np.full(len(shop), 0.02))
    assert outcomes == 2
    assert cost == pytest.approx(nothing)


def test_shops_of_a_rare_dear_class_are_found():
    outcomes, cost, nothing = _cost_of_shops(0, lambda shop: np.where(shop < 20, 0.14, 0.007))
    assert outcomes >= 2
    assert cost < 0.75 * nothing  # 0.64 by the true shares


@pytest.mark.parametrize("strength", STRENGTHS)
def test_evidence_by_chance_has_a_mean_of_at_most_one(strength):
    """The mean over all tables of two values, if no record weighs more than 1."""

    def mean_of_ratio(share, weights, sizes):
        p = np.array([1 - share, share]) * weights
        p /= p.sum()
        each = [
            math.comb(n, k)
            * share**k
            * (1 - share) ** (n - k)
            * math.exp(_log_marginal(counts, p, strength) - float(counts @ np.log(p)))
            for n in sizes
            for k in range(n + 1)
            for counts in [np.array([n - k, k]) * weights]
        ]
        return sum(each[: sizes[0] + 1]) * sum(each[sizes[0] + 1 :])

    for share in (0.02, 0.3):
        assert mean_of_ratio(share, np.ones(2), (30, 50)) == pytest.approx(1)
        assert mean_of_ratio(share, np.array([0.07, 1]), (30, 50)) < 1
    assert mean_of_ratio(0.02, np.array([0.23, 3.5]), (30, 50)) > 1


def _towns(rows=1500, seed=5):
    """Towns B, C and D are alike, and rare towns too; some cells are missing."""
    random = np.random.default_rng(seed)
    town = random.choice(["A", "B", "C", "D", None], rows, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    area = random.choice([10.0, 20.0, 30.5], rows)
    paid = random.random(rows) < 0.3
    chance = 0.1 + 0.5 * (town == "A") + 0.3 * paid
    label = np.where(random.random(rows) < chance, "bad", "good")
    return pd.DataFrame({"town": town, "area": area, "paid": paid}), label


@pytest.mark.parametrize("as_file", [False, True])
def test_the_policy_reads_the_categories_of_the_table(monkeypatch, tmp_path, as_file):
    """Categories that were merged are values of a row all the same."""
    monkeypatch.setattr(table_of_looks, "MOST_APART", 1)
    rows, labels = _towns()
    classifier = CostAwareClassifier(costs=[1, 1, 0.5], reward_value=100, further_looks=0)
    classifier.set_params(categorical_features=["town", "area", "paid"]).fit(rows, labels)
    values = {o.name: o.values for o in classifier.observations_}
    assert values["town"] == ("A", "B or C or D")
    policy = classifier.policy_
    for name, cell in [("town", "D"), ("town", "A"), ("area", 10.0), ("area", 30.5)]:
        look = next(o for o in classifier.observations_ if o.name == name)
        place = next(x for x, texts in enumerate(look.stands_for) if str(cell) in texts)
        said = {name: look.values[place]}
        assert policy.wanted({name: cell}) == policy.wanted(said)
        assert policy.action({name: cell}) == policy.action(said)
    table = rows.assign(label=labels)[rows["area"] != 30.5 if as_file else slice(None)]
    if as_file:
        table.to_csv(tmp_path / "rows.csv", index=False)
    found = policy.evaluate(str(tmp_path / "rows.csv") if as_file else table, label="label")
    kept = table[["town", "area", "paid"]]
    own = classifier.evaluate(kept, table["label"])
    assert found.gain.value == pytest.approx(own.gain.value)
    assert found.spend.value == pytest.approx(own.spend.value)
    case = policy.open()
    while case.wanted:
        case.observe({name: {"town": "C"}.get(name, rows[name][0]) for name in case.wanted})
    assert case.action in ("bad", "good")


def test_the_policy_reads_rare_and_new_categories_as_any_other():
    random = np.random.default_rng(0)
    town = np.array(["A"] * 500 + ["B"] * 500 + [f"t{k}" for k in range(60)])
    labels = random.random(len(town)) < np.where(town == "A", 0.8, 0.2)
    rows = pd.DataFrame({"town": town})
    classifier = CostAwareClassifier(reward_value=100, further_looks=0).fit(rows, labels)
    policy = classifier.policy_
    assert policy.action({"town": "t3"}) == policy.action({"town": "never seen"}) == "False"
    new = pd.DataFrame({"town": ["A", "t3", "never seen"], "label": ["True", "False", "False"]})
    assert policy.evaluate(new, label="label").reward.value == 1


def test_categories_that_are_alike_alone_may_differ_together():
    """Neither column tells anything alone; alike values were one outcome, and nothing was left."""
    random = np.random.default_rng(0)
    a, b = random.integers(5, size=3000), random.integers(5, size=3000)
    labels = random.integers(2, size=(5, 5))[a, b]
    rows = pd.DataFrame({"a": [f"a{k}" for k in a], "b": [f"b{k}" for k in b]})
    classifier = CostAwareClassifier(reward_value=100, further_looks=0)
    classifier.fit(rows[:2000], labels[:2000])
    assert classifier.score(rows[2000:], labels[2000:]) == 1


def test_many_categories_that_are_alike_share_an_outcome():
    random = np.random.default_rng(0)
    town = random.choice([f"t{k:02}" for k in range(14)], 1400)
    rows, labels = pd.DataFrame({"town": town}), town < "t07"
    classifier = CostAwareClassifier(reward_value=100, further_looks=0).fit(rows, labels)
    (look,) = classifier.observations_
    assert len(look.values) == 2
    assert classifier.score(rows, labels) == 1


def _ages(cells, **more):
    """A table whose first column tells the label."""
    return pd.DataFrame({"age": cells, **more}), np.array([0] * 200 + [1] * 200)


@pytest.mark.parametrize("more", [{}, {"town": "t"}], ids=["numbers", "with categories"])
def test_decimals_are_numbers(more):
    rows, labels = _ages([Decimal(k) / 10 for k in range(400)], **more)
    classifier = CostAwareClassifier(reward_value=100, further_looks=0).fit(rows, labels)
    (age,) = (o for o in classifier.observations_ if o.name == "age")
    assert age.edges == (20,)
    assert classifier.score(rows, labels) == 1
    found = classifier.policy_.evaluate(rows.assign(label=labels), label="label")
    assert found.reward.value == 1


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            pd.to_timedelta(np.arange(400), "D"),
            r"'age' has durations.*X\['age'\].dt.total_seconds\(\)",
        ),
        (
            pd.period_range("2024-01-01", periods=400),
            r"'age' has periods.*X\['age'\].dt.start_time",
        ),
    ],
)
def test_durations_and_periods_are_refused_with_the_remedy(cells, message):
    """They were categories, without a word, although they have an order."""
    rows, labels = _ages(cells, town="t")
    for asked in ("from_dtype", ["town"], None):
        classifier = CostAwareClassifier(categorical_features=asked, further_looks=0)
        with pytest.raises(aw.AskwiseError, match=message):
            classifier.fit(rows, labels)
    classifier.set_params(categorical_features=["age", "town"]).fit(rows, labels)


def test_an_empty_text_is_a_missing_cell():
    town = np.array(["a"] * 150 + [""] * 100 + ["b"] * 150)
    labels = np.array([0] * 150 + [1] * 100 + [0] * 150)
    fitted = [
        CostAwareClassifier(reward_value=100, further_looks=0).fit(rows, labels)
        for rows in (pd.DataFrame({"town": town}), pd.DataFrame({"town": town}).replace("", None))
    ]
    assert fitted[0].observations_ == fitted[1].observations_
    assert fitted[0].observations_[0].values == ("a", "b")
    for classifier in fitted:
        assert classifier.predict(pd.DataFrame({"town": ["a", "", None]})).tolist() == [0, 1, 1]
    table = pd.DataFrame({"town": town, "label": labels})
    assert fitted[0].policy_.evaluate(table, label="label").reward.value == 1


def test_categories_with_one_text_are_refused_with_the_remedy():
    rows, labels = _ages(pd.Series([1, "1"] * 200, dtype=object))
    with pytest.raises(aw.AskwiseError, match=r"'age' has both 1 and '1'.*X\['age'\].astype\(str"):
        CostAwareClassifier().fit(rows, labels)
