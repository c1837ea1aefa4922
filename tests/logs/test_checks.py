"""What a log cannot tell, or cannot be, is named."""

import sys

import pandas as pd
import pytest

import askwise as aw
from askwise.errors import (
    MissingExtraError,
    OptionError,
    TableError,
    TooLargeError,
)
from inside import strategy_of
from log_rows import CLINIC, DECIDED, LABELLED, ROWS, saved


@pytest.mark.parametrize("kind", ["mapping", "csv", "parquet"])
@pytest.mark.parametrize(
    ("rows", "column", "cell", "options", "words"),
    [
        (ROWS, "mri", "maybe", {}, ["'mri'", "'maybe'", "row 1", "'neg'"]),
        (ROWS, "grade", None, {}, ["'grade'", "row 1", "fails="]),
        (ROWS, "grade", 3, {}, ["'grade'", "3", "row 1"]),
        (ROWS, "treat", 1.5, {}, ["'treat'", "1.5", "row 1", "from 0 to 1"]),
        (ROWS, "treat", float("nan"), {}, ["'treat'", "row 1", "from 0 to 1"]),
        (LABELLED, "truth", "up", {"label": "truth"}, ["'truth'", "row 1", "'up'", "wait, treat"]),
        (DECIDED, "age", "unavailable", {}, ["'age'", "row 1"]),
        (DECIDED, "action", "cut", {}, ["'action'", "'cut'", "row 1", "wait, treat"]),
        (DECIDED, "action", None, {}, ["'action'", "row 1"]),
        (DECIDED, "reward", -0.1, {}, ["'reward'", "-0.1", "row 1"]),
        (DECIDED, "propensity", "0.5,0", {}, ["'propensity'", "row 1"]),
        (DECIDED, "propensity", "1.5", {}, ["'propensity'", "1.5", "row 1"]),
        (DECIDED, "order", "mra", {}, ["'order'", "mra", "row 1"]),
        (DECIDED, "order", "age,age", {}, ["'order'", "age, age", "row 1", "twice"]),
        (DECIDED, "order", "grade", {}, ["row 1", "'age' has a value", "does not name it"]),
        (DECIDED, "order", "age,grade", {}, ["row 1", "'grade' has none", "names it"]),
    ],
)
def test_what_cannot_be_is_named(rows, column, cell, options, words, kind, tmp_path):
    bad = {name: list(cells) for name, cells in rows.items()}
    bad[column][1] = cell
    if kind != "mapping":
        bad = {name: [c if c is None else str(c) for c in cells] for name, cells in bad.items()}
    with pytest.raises(TableError) as error:
        aw.fit(saved(bad, tmp_path, kind), CLINIC, **options)
    for word in words:
        assert word.strip("'") in str(error.value)
    if kind == "csv":
        assert "log.csv" in str(error.value)
    assert "\n" not in str(error.value)


def test_more_looks_than_the_problem_allows_are_refused():
    rows = {name: [cells[0]] for name, cells in ROWS.items()} | {"action": ["wait"]}
    with pytest.raises(
        TableError, match=r"a row has 4 observations \(mri, age.* max_observations=3"
    ):
        aw.fit(rows, CLINIC, action="action", reward="wait")


def test_a_log_that_says_too_little_is_refused(tmp_path):
    rows = dict(ROWS)
    del rows["treat"]
    with pytest.raises(TableError, match=r"neither .*rewards=.* label=.*action= and reward="):
        aw.fit(rows, CLINIC)
    del rows["mri"]
    with pytest.raises(TableError, match="no column 'mri', it has: age"):
        aw.fit(rows, CLINIC, label="wait")
    with pytest.raises(OptionError, match="label='region' is an observation"):
        aw.fit(ROWS, CLINIC, label="region")
    with pytest.raises(TableError, match="no column 'zone'"):
        aw.fit(ROWS, CLINIC, label="zone")
    with pytest.raises(TableError, match="unknown action 'cut'"):
        aw.fit(ROWS, CLINIC, rewards={"cut": "treat"})
    with pytest.raises(OptionError, match="label and action or reward exclude each other"):
        aw.fit(ROWS, CLINIC, label="treat", action="wait")
    with pytest.raises(OptionError, match="order='x' is for logged decisions"):
        aw.fit(ROWS, CLINIC, order="x")
    with pytest.raises(OptionError, match="acquisition must be"):
        aw.fit(DECIDED, CLINIC, acquisition="blindly")
    with pytest.raises(OptionError, match="problem must be a Problem"):
        aw.fit(ROWS, "clinic.yaml")
    log = {name: cells for name, cells in DECIDED.items() if name != "order"}
    with pytest.raises(TableError, match="needs order="):
        aw.fit(log, CLINIC, acquisition="sequential")
    with pytest.raises(TableError, match=r"expected a path, .* got a int"):
        aw.fit(7, CLINIC)
    two = aw.Problem(
        observations=[aw.Observation("grade", values=[1, "1"], cost=1)], actions=["wait"]
    )
    with pytest.raises(TableError, match="two values that print as '1'"):
        aw.fit({"grade": [1], "wait": [1]}, two)


def test_files_that_cannot_be_read_are_named(tmp_path):
    def fails(name, content, message):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TableError, match=message) as error:
            aw.fit(tmp_path / name, CLINIC)
        assert "\n" not in str(error.value)

    with pytest.raises(FileNotFoundError, match=r"nothing\.csv"):
        aw.fit(tmp_path / "nothing.csv", CLINIC)
    header = ",".join(ROWS).encode()
    fails("a.csv", b"", "is empty")
    fails("b.csv", header + b"\n", "no rows")
    fails(
        "c.csv",
        header + b"\nneg,31\n",
        r"c\.csv: row 0 \(line 2 of the file\) has 2 cells, too few for 6 columns",
    )
    fails("d.csv", header + b"\n\xff\xfe,31,1,north,1,1\n", "UTF-8")
    fails("e.parquet", b"PAR1 or not", r"e\.parquet")
    fails("f.xlsx", b"", r"expected a name ending in \.csv")
    fails("g.csv", b"mri,mri\n", "two columns are called 'mri'")
    good = header + b"\nneg,31,1,north,1,1\n"
    (tmp_path / "x1.csv").write_bytes(good)
    (tmp_path / "x2.csv").write_bytes(good.replace(b"treat", b"other"))
    with pytest.raises(TableError, match=r"x\d\.csv has a column '(other|treat)', but .*x\d\.csv"):
        aw.fit(str(tmp_path / "x*.csv"), CLINIC)


def test_files_with_their_columns_in_another_order_are_one_log(tmp_path):
    frame = pd.DataFrame(ROWS)
    frame.to_csv(tmp_path / "1.csv", index=False)
    frame[frame.columns[::-1]].to_csv(tmp_path / "2.csv", index=False)
    twice = aw.fit(str(tmp_path / "*.csv"), CLINIC).statistics
    assert twice == aw.fit(pd.concat([frame, frame]), CLINIC).statistics


def test_without_duckdb_a_file_needs_the_extra_but_a_frame_does_not(tmp_path, monkeypatch):
    pd.DataFrame(ROWS).to_csv(tmp_path / "log.csv", index=False)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"duckdb.*askwise\[logs\]"):
        aw.fit(tmp_path / "log.csv", CLINIC)
    assert aw.fit(ROWS, CLINIC).rows == 3


def test_complete_records_in_too_many_subsets_are_not_counted_in_them(monkeypatch):
    """The default learner takes them as they are; learners from counters cannot."""
    monkeypatch.setattr("askwise.logs.fitting.MOST_SUBSETS", 14)
    fit = aw.fit(ROWS, CLINIC)
    assert repr(fit) == "<Fit of 3 complete records>"
    assert strategy_of(fit.learner()).log.cases == 3
    for ask in (lambda: fit.statistics, lambda: fit.learner("seq-oos")):
        with pytest.raises(TooLargeError, match="15 subsets"):
            ask()
