"""Cells and labels as tables have them: missing labels, empty columns, declared categories."""

import numpy as np
import pandas as pd
import pytest

import askwise as aw
from askwise.sklearn import CostAwareClassifier

ILL = np.array(["ill"] * 40 + ["healthy"] * 160, dtype=object)
ROWS = pd.DataFrame({"test": (ILL == "ill").astype(float), "age": np.arange(200) % 7.0})


def planned(**options):
    """A classifier that follows its plan, which takes less time to fit."""
    return CostAwareClassifier(further_looks=0, **options)


@pytest.mark.parametrize("more", [{}, {"town": "x"}], ids=["numbers", "with categories"])
@pytest.mark.parametrize(
    ("first", "message"),
    [
        (None, "y: the label of row 0 is missing"),
        (np.nan, "y: the label of row 0 is missing"),
        (pd.NA, "y: the label of row 0 is missing"),
        (" ", "y: the label of row 0 is an empty text"),
        (1, r"y has both 1 and 'ill'.*y.astype\(str\)"),
    ],
)
def test_labels_that_no_plan_can_name_are_refused_with_the_remedy(more, first, message):
    labels = ILL.copy()
    labels[0] = first
    for y in (labels, pd.Series(labels, index=range(500, 700)), pd.DataFrame({"y": labels})):
        with pytest.raises(aw.AskwiseError, match=message):
            planned().fit(ROWS.assign(**more), y)


def test_labels_of_every_type_are_taken():
    is_ill = ILL == "ill"
    for y in (pd.Series(ILL, dtype="category"), pd.Series(ILL, dtype="string"), is_ill * 1):
        assert planned().fit(ROWS, y).score(ROWS, y) == 1


@pytest.mark.parametrize("cells", [[None] * 200, [np.nan] * 200, [""] * 200, [pd.NaT] * 200])
@pytest.mark.parametrize("declared", ["from_dtype", ["town"]])
def test_a_column_without_any_cell_tells_nothing(cells, declared):
    """As in a fold in which a column that is mostly missing has no cell."""
    rows = ROWS.assign(town=pd.Series(cells))
    classifier = CostAwareClassifier(categorical_features=declared).fit(rows, ILL)
    for cell in ("x", "", None, 3.0, pd.Timestamp("2026-01-01")):
        new = ROWS.assign(town=pd.Series([cell] * 200))
        assert set(classifier.looks(new)) == {("test",)}
        assert classifier.score(new, ILL) == 1


def test_a_column_of_the_category_type_has_categories_though_they_are_numbers():
    code = np.tile([1, 2, 3], 100)
    labels = np.where(code == 2, "ill", "healthy")
    rows = pd.DataFrame({"code": pd.Categorical(code)})
    classifier = planned().fit(rows, labels)
    assert classifier.observations_[0].values == ("1", "2", "3")
    assert classifier.score(rows, labels) == 1
    table = rows.assign(label=labels)
    assert classifier.policy_.evaluate(table, label="label").reward.value == 1
    assert planned().fit(rows.astype(int), labels).observations_[0].edges is not None


def test_a_category_called_any_other_joins_the_rare_ones():
    town = np.array(["any other"] * 100 + ["a", "b", "c", "d"] * 70 + [f"v{k}" for k in range(20)])
    labels = np.where(np.isin(town, ["a", "b", "c", "d"]), "ill", "healthy")
    rows = pd.DataFrame({"town": town})
    classifier = planned().fit(rows, labels)
    assert classifier.observations_[0].values == ("a", "b", "c", "d", "any other")
    assert classifier.score(rows, labels) == 1
    new = pd.DataFrame({"town": ["any other", "v3", "unknown", "a"]})
    assert classifier.predict(new).tolist() == ["healthy"] * 3 + ["ill"]
    table = rows.assign(label=labels)
    assert classifier.policy_.evaluate(table, label="label").reward.value == 1


def test_a_row_alone_is_asked_for_as_a_table():
    rows = ROWS.assign(town="x")
    classifier = planned().fit(rows, ILL)
    for row in (rows.iloc[0], rows.iloc[0].to_dict(), rows.iloc[0].tolist()):
        with pytest.raises(aw.AskwiseError, match=r"X must be a table.*frame.iloc\[\[0\]\]"):
            classifier.predict(row)


def test_reward_values_are_checked_before_anything_is_planned():
    classifier = planned().fit(ROWS, ILL)
    for values in (30, "30", ["30"], [0], [-1.0], [np.nan]):
        with pytest.raises(aw.AskwiseError, match="reward_values must be numbers above 0"):
            classifier.accuracy_against_spend(ROWS, ILL, reward_values=values)


def test_a_name_with_a_line_break_is_refused_with_the_remedy():
    with pytest.raises(aw.AskwiseError, match=r"^X: .*'a\\nge' must be one line"):
        planned().fit(ROWS.rename(columns={"age": "a\nge"}), ILL)
