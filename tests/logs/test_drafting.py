"""A problem is drafted from a log, and the command line drafts, fits and saves."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app
from askwise.errors import (
    OptionError,
    TableError,
)
from askwise.logs import draft
from inside import strategy_of
from log_rows import CLINIC, DECIDED, ROWS

PATIENTS = {
    "age": [str(25 + k % 50) for k in range(200)],
    "mri": ["neg", "pos", "neg", ""] * 50,
    "name": [f"patient {k}" for k in range(200)],
    "unit": ["7"] * 200,
    "best": ["treat" if k % 50 >= 25 else "wait" for k in range(200)],
}


def write_csv(path, rows):
    pd.DataFrame(rows).to_csv(path, index=False)
    return str(path)


def test_a_draft_is_a_problem_that_the_log_fits(tmp_path):
    log = write_csv(tmp_path / "log.csv", PATIENTS)
    drafted = draft(log, label="best")
    age, mri = drafted.problem.observations
    assert age.edges == (50,)  # that is where the label changes
    assert mri.outcomes == ("neg", "pos", None)
    assert [o.cost for o in drafted.problem.observations] == [1.0, 1.0]
    assert drafted.problem.action_names == ("treat", "wait")
    assert set(drafted.left_out) == {"name", "unit"}
    (tmp_path / "draft.yaml").write_text(drafted.text())
    problem = aw.Problem.load(tmp_path / "draft.yaml")
    assert problem == drafted.problem
    assert problem == draft(PATIENTS, label="best").problem
    tree = aw.fit(log, problem, label="best").recommend().tree().outline()
    assert tree == "buy age (1)\n├─ <50 → wait\n└─ >=50 → treat"


def test_a_draft_of_decisions_takes_empty_cells_for_what_was_not_looked_at(tmp_path):
    rows = {
        "mri": ["neg", "pos", None, "unavailable"] * 50,
        "age": [31.0, None, 47.0, 52.0] * 50,
        "action": ["wait", "treat"] * 100,
        "reward": [0.5, 1.0] * 100,
        "order": ["mri,age", "mri", "age", "age,mri"] * 50,
    }
    problem = draft(rows).problem
    mri, age = problem.observations
    assert (mri.outcomes, mri.fails) == (("neg", "pos", None), "charged")
    assert age.fails is None
    assert aw.fit(rows, problem).rows == 200
    with pytest.raises(TableError, match=r"no column 'action'.* label="):
        draft(PATIENTS)
    with pytest.raises(OptionError, match="exclude each other"):
        draft(PATIENTS, label="best", action="best")
    with pytest.raises(TableError, match="200 different actions"):
        draft(PATIENTS, label="name")
    with pytest.raises(TableError, match="could be an observation"):
        draft({"unit": [1, 1], "a": [0, 1]}, rewards={"go": "a"})


def test_unavailable_in_complete_records_is_a_failure_and_no_value(tmp_path):
    rows = {
        "scan": ["ok", "poor", "unavailable", "ok"] * 50,
        "score": [1.5, 2.5, 3.5, "unavailable"] * 50,
        "go": [1.0, 0.0, 1.0, 0.0] * 50,
        "stop": [0.0, 1.0, 0.0, 1.0] * 50,
    }
    log = write_csv(tmp_path / "log.csv", rows)
    by_action = {"go": "go", "stop": "stop"}
    problem = draft(rows, rewards=by_action).problem
    scan, score = problem.observations
    assert scan.outcomes == ("ok", "poor", None)
    assert (scan.fails, score.fails) == ("charged", "charged")
    assert score.edges is not None
    assert problem == draft(log, rewards=by_action).problem
    assert aw.fit(rows, problem).rows == aw.fit(log, problem).rows == 200


def test_unavailable_with_a_label_is_counted_as_a_failure_by_the_checks():
    cells = [["ok", "poor", "unavailable"][k % 3] for k in range(300)]
    best = ["go" if cell == "ok" else "stop" for cell in cells]
    drafted = draft({"scan": cells, "best": best}, label="best")
    assert drafted.problem.observations[0].outcomes == ("ok", "poor", None)
    assert "scan alone tells the label in 300 of 300 rows" in drafted.remarks[0]


def test_a_column_with_line_breaks_is_left_out_with_the_reason(tmp_path):
    rows = {"a\nb": ["x", "y"] * 50, "note": ["x\ny", "z"] * 50, "mri": ["neg", "pos"] * 50}
    drafted = draft(rows | {"best": ["wait", "treat"] * 50}, label="best")
    assert [o.name for o in drafted.problem.observations] == ["mri"]
    assert drafted.left_out["note"] == (
        "value 'x\\ny' must be one line: write it without a line break"
    )
    (tmp_path / "draft.yaml").write_text(drafted.text())
    assert aw.Problem.load(tmp_path / "draft.yaml") == drafted.problem


def askwise(*arguments):
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_line_drafts_fits_and_saves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv("log.csv", PATIENTS)
    guess = ("fit", "log.csv", "--guess-problem", "--label", "best")
    assert "edges: [50]" in askwise(*guess)
    assert "drafted p.yaml" in askwise(*guess, "--output", "p.yaml")
    with pytest.raises(OptionError, match=r"p\.yaml: this file exists: remove it"):
        askwise(*guess, "--output", "p.yaml")
    with pytest.raises(OptionError, match=r"\.yaml or \.yml"):
        askwise(*guess, "--output", "p.json")
    fitted = ("fit", "log.csv", "--problem", "p.yaml", "--label", "best")
    printed = askwise(*fitted, "--save", "log.askwise")
    assert "200 complete records" in printed
    assert "- Every row has every observation" in printed
    assert "What to buy and do:\n\n" in printed
    assert "buy age (1)" in printed
    assert "├─ <50 → wait" in printed
    loaded = aw.load("log.askwise")
    problem = aw.Problem.load("p.yaml")
    fit = aw.fit("log.csv", problem, label="best")
    for kept, known in zip(strategy_of(loaded).log.records, fit.records, strict=True):
        assert np.array_equal(kept, known)
    assert loaded.recommend().tree() == fit.recommend().tree()
    assert "buy age (1)" in askwise(*fitted, "--learner", "sim-oos")
    with pytest.raises(OptionError, match="--guess-problem drafts one"):
        askwise("fit", "log.csv", "--label", "best")
    with pytest.raises(OptionError, match="--save"):
        askwise(*fitted, "--output", "x.yaml")
    with pytest.raises(OptionError, match="there is no folder"):
        askwise(*fitted, "--save", "nowhere/x.askwise")


def test_the_command_line_takes_rewards_and_decisions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CLINIC.save("clinic.yaml")
    write_csv("decided.csv", DECIDED)
    printed = askwise("fit", "decided.csv", "--problem", "clinic.yaml")
    assert "3 logged decisions, sequential" in printed
    write_csv("rows.csv", {"good": ROWS["wait"], **ROWS})
    rewards = ("--reward", "wait=good", "--reward", "treat=treat")
    assert "3 complete" in askwise("fit", "rows.csv", "--problem", "clinic.yaml", *rewards)
    with pytest.raises(OptionError, match="--reward is given 2 times"):
        askwise("fit", "rows.csv", "--problem", "clinic.yaml", "--reward", "a", "--reward", "b")
