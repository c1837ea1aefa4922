"""`askwise evaluate` on both kinds of logs, and what `askwise fit` checks before it computes."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app, main

CLINIC = """\
observations:
  - {name: mri, values: [neg, pos], cost: 9}
actions: [wait, treat]
reward_value: 100
"""


@pytest.fixture
def later(tmp_path, monkeypatch):
    """Rows kept aside, with a fitted learner beside them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ill = rng.random(600) < 0.4
    rows = pd.DataFrame({"mri": np.where(ill, "pos", "neg"), "well": 1.0 - ill, "cured": 1.0 * ill})
    rows["best"] = np.where(ill, "treat", "wait")
    (tmp_path / "clinic.yaml").write_text(CLINIC, encoding="utf-8")
    aw.fit(rows[:300], aw.Problem.load("clinic.yaml"), label="best").learner(rng=0).save(
        "a.askwise"
    )
    rows[300:].to_csv("later.csv", index=False)
    return rows[300:]


def askwise(*arguments):
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(capsys, monkeypatch, *arguments):
    """The one line on stderr; nothing else was printed before."""
    monkeypatch.setattr("sys.argv", ["askwise", *arguments])
    with pytest.raises(SystemExit):
        main()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    "columns", [["--label", "best"], ["--reward", "wait=well", "--reward", "treat=cured"]]
)
def test_rows_kept_aside_are_scored_as_by_the_library(later, columns):
    said = askwise("evaluate", "later.csv", "--policy", "a.askwise", *columns)
    policy = aw.load("a.askwise").recommend()
    score = policy.evaluate(later, label="best")
    assert score.gain.value == 91.0
    assert "buy mri (9)" in said
    assert f"gain for each case, with the interval of 95%:\n\n{score}\n" in said


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize(
    ("more", "named"),
    [
        ([], "nor what was done and what that earned (--action and --reward); its columns"),
        (["--label", "worst"], "later.csv has no column 'worst'"),
        (["--label", "best", "--order", "mri"], "--order mri is for logged decisions, but --label"),
        (["--label", "best", "--reward", "well"], "--reward well is for logged decisions"),
        (
            ["--reward", "wait=well", "--reward", "treat=cured", "--propensity", "best"],
            "--propensity best is for logged decisions, but --reward action=column makes",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(capsys, monkeypatch, more, named):
    assert named in refused(
        capsys, monkeypatch, "evaluate", "later.csv", "--policy", "a.askwise", *more
    )


@pytest.fixture
def named(later):
    """The same rows, with the rewards in columns that have the names of the actions."""
    rows = later.drop(columns="best").rename(columns={"well": "wait", "cured": "treat"})
    rows.to_csv("named.csv", index=False)
    return rows


def test_evaluate_finds_columns_with_the_names_of_the_actions_as_fit_does(named):
    assert aw.fit("named.csv", aw.Problem.load("clinic.yaml")).kind == "complete records"
    said = askwise("evaluate", "named.csv", "--policy", "a.askwise")
    assert str(aw.load("a.askwise").recommend().evaluate(named)) in said


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("columns", [[], ["--reward", "wait=wait"]])
def test_compare_refuses_complete_records_and_says_what_to_do(capsys, monkeypatch, columns):
    how = ("compare", "named.csv", "--policy", "a.askwise", "--against", "wait")
    said = refused(capsys, monkeypatch, *how, *columns)
    assert "the log has complete records" in said
    assert "askwise evaluate scores a policy on complete records: to compare two" in said


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "later.csv", "--problem", "clinic.yaml", "--label", "best"],
        ["explain", "a.askwise"],
    ],
)
@pytest.mark.parametrize(
    ("page", "named"),
    [("none/a.html", "--html none/a.html: there is no folder none"), ("a.txt", "'a.txt'")],
)
def test_a_page_that_cannot_be_written_is_refused_first(
    capsys, monkeypatch, arguments, page, named
):
    assert named in refused(capsys, monkeypatch, *arguments, "--html", page)


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize(
    "more",
    [
        ["--problem", "clinic.yaml"],
        ["--save", "b.askwise"],
        ["--html", "b.html"],
        ["--learner", "seq-oos"],
        ["--option", "budget=1"],
        ["--acquisition", "sequential"],
    ],
)
def test_a_draft_refuses_what_only_a_fit_has(capsys, monkeypatch, more):
    draft = ["fit", "later.csv", "--guess-problem", "--label", "best"]
    said = refused(capsys, monkeypatch, *draft, *more)
    assert said == (
        f"askwise: {more[0]} goes with a fit, and --guess-problem only drafts: leave out one of "
        "them\n"
    )


@pytest.mark.usefixtures("later")
def test_a_share_out_of_its_range_is_explained_with_the_usage():
    result = CliRunner().invoke(app, ["explain", "a.askwise", "--min-share", "3"])
    assert result.exit_code == 2
    assert "less than or equal to 1" in result.output


@pytest.mark.usefixtures("later")
def test_a_file_that_is_no_csv_is_one_line(capsys, monkeypatch, tmp_path):
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 20)
    for more in (["--guess-problem"], ["--problem", "clinic.yaml"]):
        said = refused(capsys, monkeypatch, "fit", "binary.csv", "--label", "best", *more)
        assert "binary.csv: it is not in UTF-8" in said
