"""A log as people have them, as a file and as four kinds of frame: all of them say the same."""

import datetime
import random

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app
from askwise.errors import TableError
from askwise.logs import draft
from askwise.logs.suspects import why_not_to_look
from askwise.simulation.environments import Table

NOON = datetime.datetime(2025, 3, 4, 12)
FORMS = ["csv of pandas", "csv of polars", "parquet", "dict", "pandas", "nullable", "polars"]
FORMS += ["pyarrow", "duckdb"]


def form_of(rows, form, folder):
    """The same log in another form."""
    if form == "csv of pandas":  # True, False
        pd.DataFrame(rows).to_csv(folder / "log.csv", index=False)
        return str(folder / "log.csv")
    if form == "csv of polars":  # true, false
        pl.DataFrame(rows, strict=False).write_csv(folder / "log.csv")
        return str(folder / "log.csv")
    if form == "parquet":
        pq.write_table(pa.table(rows), folder / "log.parquet")
        return str(folder / "log.parquet")
    if form == "duckdb":
        return duckdb.from_arrow(pa.table(rows))
    kinds = {
        "dict": lambda rows: rows,
        "pandas": pd.DataFrame,
        "nullable": lambda rows: pd.DataFrame(rows).convert_dtypes(),
        "polars": lambda rows: pl.DataFrame(rows, strict=False),
        "pyarrow": pa.table,
    }
    return kinds[form](rows)


def messy(n=240, *, gaps=True):
    """Identifiers, booleans, moments, missing cells, numbers as text, what it earned."""
    rng = random.Random(1)
    rows = {name: [] for name in ("customer_id", "ref", "row", "opened", "repeat", "score")}
    rows |= {"born": [], "region": [], "amount": [], "reward_of_lend": [], "good": []}
    start = datetime.datetime(2025, 1, 1, 8, 30)
    for k in range(n):
        good = rng.random() < 0.6
        rows["customer_id"].append(rng.randrange(10**6))
        rows["ref"].append(f"R-{k:05d}-{rng.randrange(99)}")
        rows["row"].append(k + 1)
        rows["opened"].append(start + datetime.timedelta(hours=37 * k))
        rows["repeat"].append(
            None if gaps and k % 17 == 0 else rng.random() < (0.8 if good else 0.2)
        )
        rows["score"].append(str(round(rng.gauss(640 if good else 590, 30))))
        rows["region"].append(rng.choice(["North", "south", None if gaps else "south"]))
        rows["born"].append(datetime.date(1960, 1, 1) + datetime.timedelta(days=997 * k % 16_000))
        rows["amount"].append(rng.choice([50, 100, 200]) + 0.5)
        rows["reward_of_lend"].append(float(good))
        rows["good"].append(good)
    return rows


@pytest.mark.parametrize("values", [["true", "false"], ["True", "False"], [0, 1], ["no", "true"]])
@pytest.mark.parametrize("form", FORMS)
def test_a_boolean_is_read_the_same_in_every_form(form, values, tmp_path):
    rows = {"seen": [True, None, False, True] * 10, "go": [1.0, 0.0, 0.5, 1.0] * 10}
    observation = aw.Observation("seen", values=values, cost=1, fails="charged")
    problem = aw.Problem(observations=[observation], actions=["go"])
    log = form_of(rows, form, tmp_path)
    if values == ["no", "true"]:  # nothing there is false
        with pytest.raises(TableError, match=r"'seen', row 2.*'[Ff]alse'"):
            aw.fit(log, problem)
        return
    fitted = aw.fit(log, problem)
    place = {str(v).lower(): x for x, v in enumerate(values)}
    counts = fitted.statistics.visits[1:].tolist()
    assert counts[place.get("true", place.get("1"))] == 20
    assert counts[place.get("false", place.get("0"))] == 10
    assert counts[2] == 10


@pytest.mark.parametrize("form", FORMS)
def test_booleans_are_labels_actions_and_rewards_in_every_form(form, tmp_path):
    problem = aw.Problem(
        observations=[aw.Observation("x", values=["a", "b"], cost=1)], actions=["true", "false"]
    )
    rows = {"x": ["a", "b"] * 10, "best": [True, False] * 10}
    expected = aw.fit({**rows, "best": ["true", "false"] * 10}, problem, label="best")
    assert aw.fit(form_of(rows, form, tmp_path), problem, label="best").statistics == (
        expected.statistics
    )
    rows = {"x": ["a", "b"] * 10, "action": [True, False] * 10, "reward": [False, True] * 10}
    told = {**rows, "action": ["true", "false"] * 10, "reward": [0.0, 1.0] * 10}
    expected = aw.fit(told, problem)
    assert aw.fit(form_of(rows, form, tmp_path), problem).statistics == expected.statistics


@pytest.mark.parametrize("form", FORMS)
def test_whole_numbers_with_gaps_are_labels_in_every_form(form, tmp_path):
    problem = aw.Problem(
        observations=[aw.Observation("x", values=["a", "b"], cost=1)], actions=["0", "1"]
    )
    rows = {"x": ["a", "b"] * 10, "best": [0.0, 1.0] * 10}
    fitted = aw.fit(form_of(rows, form, tmp_path), problem, label="best")
    assert fitted.statistics.action_counts.sum() > 0


@pytest.mark.parametrize("form", ["dict", "pandas", "polars", "pyarrow"])
def test_a_table_takes_booleans_as_the_command_line_does(form, tmp_path):
    problem = aw.Problem(
        observations=[aw.Observation("x", values=["True", "False"], cost=1)], actions=["go"]
    )
    rows = {"x": [True, False, True], "go": [1.0, 0.0, 1.0]}
    model = Table(problem, form_of(rows, form, tmp_path)).model()
    assert model.probability.tolist() == pytest.approx([2 / 3, 1 / 3])


@pytest.fixture(scope="module", name="told")
def told_fixture():
    """The messy rows as a dict, with their draft, their fit and its explanation."""
    rows = messy()
    drafted = draft(rows, label="good")
    fitted = aw.fit(rows, drafted.problem, label="good", rng=0)
    explained = str(aw.explain(fitted))
    assert str(aw.worth(fitted)) in explained  # so one comparison is of both
    return rows, drafted, fitted, explained


@pytest.mark.parametrize("form", FORMS)
def test_a_messy_log_is_drafted_fitted_and_explained_the_same(form, tmp_path, told):
    rows, expected, of_dict, explained = told
    log = form_of(rows, form, tmp_path)
    drafted = draft(log, label="good")
    assert set(drafted.left_out) == {"customer_id", "ref", "row", "opened", "reward_of_lend"}
    assert "timestamp" in drafted.left_out["opened"]
    assert "identifier" in drafted.left_out["customer_id"]
    assert "identifier" in drafted.left_out["ref"]
    assert "numbers the rows" in drafted.left_out["row"]
    assert "what came of a decision" in drafted.left_out["reward_of_lend"]
    assert drafted == expected
    by_name = {o.name: o for o in drafted.problem.observations}
    assert list(by_name) == ["repeat", "score", "born", "region", "amount"]
    assert by_name["repeat"].outcomes == ("false", "true", None)
    assert by_name["born"].edges is not None
    assert by_name["score"].takes_numbers
    assert drafted.problem.action_names == ("false", "true")
    for name, why in drafted.left_out.items():
        assert f"# left out: {name} {why}" in drafted.text()
    (tmp_path / "p.yaml").write_text(drafted.text())
    assert aw.Problem.load(tmp_path / "p.yaml") == drafted.problem
    fitted = aw.fit(log, drafted.problem, label="good", rng=0)
    assert fitted.statistics == of_dict.statistics
    assert str(aw.explain(fitted)) == explained


def test_the_command_line_says_what_a_draft_leaves_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    form_of(messy(), "csv of pandas", tmp_path)
    run = CliRunner().invoke
    arguments = ["fit", "log.csv", "--guess-problem", "--label", "good"]
    printed = run(app, [*arguments, "--output", "p.yaml"]).stdout
    assert "left out: customer_id looks like an identifier" in printed
    assert "left out: reward_of_lend looks like what came of a decision" in printed
    fitted = ["fit", "log.csv", "--problem", "p.yaml", "--label", "good", "--save", "l.askwise"]
    assert run(app, fitted).exit_code == 0
    for command in ("worth", "explain"):
        printed = run(app, [command, "l.askwise"]).stdout
        assert "score" in printed
    assert "Learned from 240 complete records by learner." in printed


def test_no_column_is_left_out_silently():
    rows = {**messy(), "action": ["x"] * 240, "order": ["y"] * 240}
    drafted = draft(rows, label="good")
    offered = {o.name for o in drafted.problem.observations}
    assert offered | set(drafted.left_out) | {"good"} == set(rows)
    assert "part of a decision" in drafted.left_out["action"]


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("customerId", list(range(5, 400, 7)), "identifier"),
        ("Customer ID", ["a", "b", "c"], "identifier"),
        ("id", [3, 1, 2], "identifier"),
        ("store_id", ["s1", "s2", "s3"] * 40, None),
        ("income", [20_000 + 37 * (k * k % 991) for k in range(500)], None),
        ("age", [30, 40, 50] * 20, None),
        ("at", [NOON + datetime.timedelta(hours=k * k % 991) for k in range(90)], "timestamp"),
        ("day", [NOON.date() + datetime.timedelta(days=k // 9) for k in range(90)], "timestamp"),
        ("born", [NOON.date() - datetime.timedelta(days=k * k % 991) for k in range(90)], None),
        ("shift", [NOON, NOON + datetime.timedelta(hours=8)] * 45, None),
        ("event_timestamp", [1_735_689_600 + k * k % 991 for k in range(9)], "timestamp"),
        ("ts", [NOON.date()] * 9, "timestamp"),
        ("ts", [1, 2, 3] * 30, None),
        ("temperature", [36.5 + k / 1000 for k in range(100)], None),
        ("comment", [f"text {k}" for k in range(100)], "free text"),
        ("treat_reward", [0.5] * 30, "what came of a decision"),
        ("treat", [0.5, 0.25] * 30, "called like an action"),
        ("outcome", ["good", "bad"] * 30, "what came of a decision"),
        ("previous_outcome", ["good", "bad"] * 30, None),
        ("idea", ["a", "b"] * 30, None),
    ],
)
def test_what_looks_like_no_observation(name, cells, expected):
    why = why_not_to_look(name, cells, ["treat", "wait"])
    assert why is None if expected is None else expected in why
