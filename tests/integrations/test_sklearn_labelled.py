"""Options and tables with names: what is named is never taken by its place."""

from datetime import date

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
        (COSTS.reset_index(drop=True), "names its columns, but not its rows.*as its index too"),
        (COSTS.T.reset_index(drop=True).T, "names its rows, but not its columns"),
        (pd.DataFrame(np.ones((2, 3))), r"shape \(2, 3\)"),
    ],
)
def test_a_frame_of_costs_with_other_names_is_refused(costs, message):
    with pytest.raises(aw.AskwiseError, match=message):
        blind(costs)


def test_numbers_that_may_be_classes_or_places_are_not_guessed():
    """Without features, the class is predicted whose mistakes cost least."""

    def predicted(costs, classes):
        labels = np.repeat(classes, [100, 60, 40])
        options = {"max_observations": 0, "further_looks": 0}
        classifier = CostAwareClassifier(misclassification_costs=costs, **options)
        return classifier.fit(ROWS, labels).predict(ROWS)[0]

    third = np.array([[0, 1, 0.1], [1, 0, 0.1], [9, 9, 0]])  # to predict the third is cheap
    for classes in ([-1, 0, 1], [1, 2, 3]):
        with pytest.raises(aw.AskwiseError, match=r"counts its rows and columns from 0, but [01]"):
            predicted(pd.DataFrame(third), classes)
        assert predicted(pd.DataFrame(third, classes, classes), classes) == classes[2]
        assert predicted(third, classes) == classes[2]
    frame = pd.DataFrame(third)
    assert predicted(frame, [0, 1, 2]) == predicted(frame[[2, 0, 1]], [0, 1, 2]) == 2
    assert predicted(frame, ["a", "b", "c"]) == "c"


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([1, [2, 3]], r"the price of 'age' must be a finite number of at least 0, got \[2, 3\]"),
        (pd.DataFrame({"test": [1.0], "age": [2.0]}), "got a data frame: give one of its columns"),
        (pl.DataFrame({"test": [1.0], "age": [2.0]}), "got a data frame: give one of its columns"),
    ],
)
def test_prices_of_another_shape_are_refused(costs, message):
    with pytest.raises(aw.AskwiseError, match=message):
        CostAwareClassifier(costs=costs).fit(ROWS, ILL)


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


@pytest.mark.parametrize("more", [{}, {"city": "x"}], ids=["numbers", "with categories"])
def test_rows_to_predict_have_the_errors_of_the_training_rows(more):
    rows = ROWS.assign(**more)
    fitted = CostAwareClassifier(further_looks=0).fit(rows, ILL)
    with pytest.raises(aw.AskwiseError, match="X: two columns are called 'age': rename one"):
        fitted.predict(pd.concat([rows, rows[["age"]]], axis=1))
    for cell in (date(2026, 1, 1), [1, 2], 1j, "old"):
        wrong = rows.assign(age=pd.Series([cell] * 200, dtype=object))
        with pytest.raises(aw.AskwiseError, match="feature 'age' had numbers in the training rows"):
            fitted.predict(wrong)
    large = rows.assign(age=pd.Series([1, 10**400] * 100, dtype=object))
    for read in (fitted.predict, lambda x: CostAwareClassifier().fit(x, ILL)):
        with pytest.raises(aw.AskwiseError, match="feature 'age' has a whole number that is beyon"):
            read(large)


def test_lists_are_no_categories():
    rows = ROWS.assign(city="x")
    lists = rows.assign(city=pd.Series([[1, 2]] * 200))
    with pytest.raises(aw.AskwiseError, match=r"'city' has a cell that is no number.*\[1, 2\]"):
        CostAwareClassifier().fit(lists, ILL)
    fitted = CostAwareClassifier(further_looks=0).fit(rows, ILL)
    with pytest.raises(aw.AskwiseError, match=r"'city' has a cell that is no number.*\[1, 2\]"):
        fitted.predict(lists)


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
