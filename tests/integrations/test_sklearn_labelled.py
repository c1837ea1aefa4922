"""Options and tables with names: what is named is never taken by its place."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import askwise as aw
from askwise.sklearn import CostAwareClassifier, CostAwareRegressor

ILL = np.array(["ill"] * 40 + ["healthy"] * 160)
ROWS = pd.DataFrame({"test": (ILL == "ill").astype(float), "age": np.arange(200) % 7.0})
COSTS = pd.DataFrame([[0.0, 50.0], [5.0, 0.0]], ["ill", "healthy"], ["ill", "healthy"])
"""Missing an ill patient costs 50, a false alarm 5; `classes_` has the other order."""


def blind(costs):
    """The decision without any feature, if mistakes cost so much."""
    options = {"max_observations": 0, "further_looks": 0}
    classifier = CostAwareClassifier(misclassification_costs=costs, **options)
    return classifier.fit(ROWS, ILL).predict(ROWS)[0]


@pytest.mark.parametrize("rows", [["ill", "healthy"], ["healthy", "ill"]])
@pytest.mark.parametrize("columns", [["ill", "healthy"], ["healthy", "ill"]])
def test_a_frame_of_costs_is_read_by_its_names(rows, columns):
    assert blind(COSTS.loc[rows, columns]) == "ill"  # 0.8 × 5 is less than 0.2 × 50


def test_a_frame_without_names_has_the_order_of_the_classes():
    assert blind(pd.DataFrame([[0.0, 5.0], [50.0, 0.0]])) == "ill"
    assert blind(pd.DataFrame([[0.0, 50.0], [5.0, 0.0]])) == "healthy"


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (COSTS.rename(index={"ill": "sick"}), "the row 'sick' is no class, expected: healthy, ill"),
        (COSTS.rename(columns={"ill": "sick"}), "the column 'sick' is no class"),
        (COSTS.rename(index={"ill": "healthy"}), "there are 2 rows for the class 'healthy'"),
        (COSTS[["ill"]], "there are 0 columns for the class 'healthy'"),
        (pl.DataFrame({"ill": [0, 5], "healthy": [50, 0]}), "names its columns, but not its rows"),
    ],
)
def test_a_frame_of_costs_with_other_names_is_refused(costs, message):
    with pytest.raises(aw.AskwiseError, match=message):
        blind(costs)


def test_a_series_of_prices_is_read_by_its_names():
    prices = pd.Series({"age": 1.0, "test": 30.0})
    fitted = CostAwareClassifier(costs=prices, further_looks=0).fit(ROWS, ILL)
    assert {o.name: o.cost for o in fitted.observations_} == {"age": 1.0, "test": 30.0}
    numbered = CostAwareClassifier(costs=pd.Series([30.0, 1.0]), further_looks=0).fit(ROWS, ILL)
    assert numbered.observations_ == fitted.observations_
    with pytest.raises(aw.AskwiseError, match="unknown feature 'tset'"):
        CostAwareClassifier(costs=pd.Series({"age": 1.0, "tset": 30.0})).fit(ROWS, ILL)
    with pytest.raises(aw.AskwiseError, match="'age' is twice in the index"):
        CostAwareClassifier(costs=pd.Series([1.0, 2.0], ["age", "age"])).fit(ROWS, ILL)


def test_names_that_a_transformer_dropped_are_asked_for():
    flow = make_pipeline(SimpleImputer(), CostAwareClassifier(costs={"test": 1, "age": 1}))
    with pytest.raises(aw.AskwiseError, match=r"set_output\(transform='pandas'\)"):
        flow.fit(ROWS, ILL)
    flow.set_output(transform="pandas").fit(ROWS, ILL)


def test_a_price_that_is_missing_has_a_remedy():
    with pytest.raises(aw.AskwiseError, match="'age' is missing: give a price for every feature"):
        CostAwareClassifier(costs={"test": 1}).fit(ROWS, ILL)


def test_two_columns_with_one_name_are_named():
    twice = pd.concat([ROWS, ROWS[["age"]]], axis=1)
    with pytest.raises(aw.AskwiseError, match="X: two columns are called 'age': rename one"):
        CostAwareClassifier().fit(twice, ILL)


def test_texts_in_an_array_are_refused_with_the_remedy():
    with pytest.raises(aw.AskwiseError, match="categorical_features="):
        CostAwareClassifier().fit([["a", 1], ["b", 2]] * 20, [0, 1] * 20)
    rows = ROWS.assign(city="x")
    fitted = CostAwareClassifier(further_looks=0).fit(rows, ILL)
    with pytest.raises(aw.AskwiseError, match="feature 'age' had numbers in the training rows"):
        fitted.predict(rows.assign(age="old"))


def test_the_regressor_takes_discounts_too():
    y = 10.0 * ROWS["test"] + ROWS["age"]
    options = {"costs": 5.0, "answers": [0, 5, 10, 15], "further_looks": 0}
    alone = CostAwareRegressor(**options).fit(ROWS, y)
    together = CostAwareRegressor(discounts=[{"test": 0.0, "age": 0.0}], **options).fit(ROWS, y)
    assert together.cost_ < alone.cost_
    assert set(together.looks(ROWS)) != {()}
