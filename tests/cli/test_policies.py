"""Stakes, budgets and weights on the command line; `askwise compare` and `askwise frontier`."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app
from askwise.cli.options import options_of
from askwise.errors import AskwiseError, OptionError
from askwise.simulation.environments import Population, Staked, Table, model_at_random
from logs.test_off_policy import PLAIN, courses_of, draws, logged

DESK = """\
observations:
  - {name: bureau, values: [good, poor], cost: 4.0}
actions: [approve, {name: review, cost: 2.0}]
rewards: [-50.0, 10.0]
"""


@pytest.fixture
def problem(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk.yaml").write_text(DESK, encoding="utf-8")
    return aw.Problem.load("desk.yaml")


def askwise(*arguments):
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments):
    with pytest.raises(AskwiseError) as caught:
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    return str(caught.value)


def write_log(path, rows=4_000, seed=0):
    """Looks half of the time, then acts by chance; stakes are 1 or 9."""
    rng = np.random.default_rng(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        names = ["bureau", "action", "reward", "stake", "order", "propensity"]
        writer = csv.writer(file)
        writer.writerow(names)
        for _ in range(rows):
            poor, looks, review = rng.random() < 0.1, rng.random() < 0.5, rng.random() < 0.5
            earned = 3.0 if review else -20.0 if poor else 10.0
            seen = ("poor" if poor else "good") if looks else ""
            steps = "0.5,0.5" if looks else "0.25"
            order = "bureau" if looks else ""
            action = "review" if review else "approve"
            writer.writerow([seen, action, earned, 1 if rng.random() < 0.5 else 9, order, steps])


def start(*more):
    write_log("log.csv")
    said = ("fit", "log.csv", "--problem", "desk.yaml", "--acquisition", "sequential")
    return askwise(*said, "--save", "start.askwise", *more)


def test_a_budget_is_an_option(problem):
    text = askwise(
        "simulate", "--problem", "desk.yaml", "--steps", "300", "--option", "budget=0.3",
        "--save", "d.askwise",
    )  # fmt: skip
    assert "Within 0.3 a case" in text
    assert "mean spend on observations" in text  # the budget is for them alone
    assert "mean cost of actions" in text
    assert aw.load("d.askwise").options["budget"] == aw.Budget(spend_per_case=0.3)
    read = options_of(aw.Learner, ["budget=spend_per_day=400, cases_per_day=200"])
    assert read["budget"] == aw.Budget(spend_per_day=400.0, cases_per_day=200.0)
    assert options_of(aw.Learner, ["budget=none"]) == {"budget": None}
    for wrong in ("budget=much", "budget=-1", "budget=spend_per_week=3"):
        with pytest.raises(OptionError, match=f"--option {wrong}|budget: expected some of"):
            options_of(aw.Learner, [wrong])


def test_every_case_of_a_simulation_may_have_a_stake(problem):
    text = askwise(
        "simulate", "--problem", "desk.yaml", "--steps", "300", "--stake", "20",
        "--save", "d.askwise",
    )  # fmt: skip
    learner = aw.Learner(problem, rng=0)
    population = Population(model_at_random(np.random.default_rng(0), problem))
    run = aw.simulate(
        learner, Staked(population, lambda rng, n: np.full(n, 20.0)), steps=300, rng=0
    )
    assert text.count("or a stake of 20") == 1
    assert str(learner.recommend(stake=20.0).tree()) in text
    assert f"{run.gain.mean():,.3f}" in text
    assert aw.load("d.askwise").statistics == learner.statistics
    for wrong in ("much", "0", "nan"):
        assert "stake" in refused("simulate", "--problem", "desk.yaml", "--stake", wrong)


def test_a_table_may_have_a_column_of_stakes(problem):
    rows = {"bureau": ["good", "poor"], "approve": [10.0, -20.0], "review": [3.0, 3.0]}
    rows["amount"] = [1.0, 40.0]
    with open("cases.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))
    askwise(
        "simulate", "--problem", "desk.yaml", "--table", "cases.csv", "--stake", "amount",
        "--steps", "100", "--save", "d.askwise",
    )  # fmt: skip
    learner = aw.Learner(problem, rng=0)
    aw.simulate(learner, Table(problem, rows, stake="amount"), steps=100, rng=0)
    assert aw.load("d.askwise").statistics == learner.statistics


def test_fit_takes_a_weight_and_options(problem):
    text = start("--weight", "0.25", "--option", "explore=false", "--option", "budget=1.5")
    assert "- The log that it began with weighs 25% of 4,000 logged decisions." in text
    loaded = aw.load("start.askwise")
    assert "25% of 4,000 logged decisions" in repr(loaded)
    assert (loaded.options["explore"], loaded.options["budget"].per_case) == (0.0, 1.5)
    text = refused("fit", "log.csv", "--problem", "desk.yaml", "--weight", "2")
    assert "weight must be a number above 0 and at most 1" in text


def test_evaluate_says_the_stake_of_what_it_shows(problem):
    start()
    learner = aw.load("start.askwise")
    command = ("evaluate", "log.csv", "--policy", "start.askwise", "--acquisition", "sequential")
    text = askwise(*command)
    assert text.startswith("what it does in cases with a stake of 1:\n")
    assert str(learner.recommend().tree()) in text
    assert "--at-stake 4.9" in text or "--at-stake 5.0" in text
    text = askwise(*command, "--at-stake", "5")
    assert text.startswith("what it does in cases with a stake of 5:\n")
    policy = learner.recommend(stake=5.0)
    assert str(policy.tree()) in text
    assert str(aw.off_policy(policy, "log.csv", acquisition="sequential")) in text
    policy.save("policy.askwise")
    command = ("evaluate", "log.csv", "--policy", "policy.askwise", "--acquisition", "sequential")
    assert str(aw.off_policy(policy, "log.csv", acquisition="sequential")) in askwise(*command)
    assert "which plans for no other" in refused(*command, "--at-stake", "2")


def test_compare_is_the_librarys(problem):
    start()
    write_log("later.csv", seed=1)
    today = aw.Policy.from_rule(problem, lambda known: "approve")
    today.save("today.askwise")
    best = aw.load("start.askwise").recommend(stake=5.0)
    how = ("compare", "later.csv", "--policy", "start.askwise", "--acquisition", "sequential")
    review = aw.Policy.from_rule(problem, lambda known: "review")
    names = ("start", "review")
    expected = aw.compare(best, review, log="later.csv", acquisition="sequential", names=names)
    assert expected.is_settled
    text = askwise(*how, "--against", "review", "--at-stake", "5")
    assert text == f"recommended for a stake of 5\n\n{expected}\n"
    assert "today gains" in askwise(*how, "--against", "today.askwise")
    same = (how[0], "log.csv", *how[2:])
    assert "start was chosen on these very rows" in askwise(*same, "--against", "review")
    rows = [line.split(",") for line in Path("later.csv").read_text("utf-8").splitlines()]
    without = "\n".join(",".join(row[:3] + row[4:]) for row in rows)  # no column of stakes
    Path("later.csv").write_text(without, encoding="utf-8")
    assert "review gains" in askwise(*how, "--against", "review", "--at-stake", "5")
    assert "nor action: approve, review" in refused(*how, "--against", "nothing")
    aw.compare(best, today).save("trial.askwise")
    assert "it holds a trial" in refused(*how, "--against", "trial.askwise")


def test_frontier_is_the_librarys_by_what_was_learned(problem, tmp_path):
    start()
    learner = aw.load("start.askwise")
    text = askwise("frontier", "start.askwise", "--stake", "9", "--figure", "f.svg")
    assert str(aw.oracle.frontier(learner.evidence(), stake=9.0)) in text
    assert (tmp_path / "f.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
    learner.recommend().save("policy.askwise")
    assert "expected a learner" in refused("frontier", "policy.askwise")
    text = refused("frontier", "start.askwise", "--figure", "f.xyz")
    assert text == "--figure f.xyz: expected a name that ends in .svg, .png or .pdf"


def test_the_frontier_of_sure_estimates_is_that_of_the_model():
    """With all records of a small population, the means are those of the records."""
    problem = aw.Problem(
        observations=[aw.Observation("bureau", values=["good", "poor"], cost=4.0)],
        actions=["approve", "review"],
        rewards=(-50.0, 10.0),
    )
    rows = {
        "bureau": ["good"] * 9 + ["poor"],
        "approve": [10.0] * 9 + [-20.0],
        "review": [3.0] * 10,
    }
    many = {name: column * 3_000 for name, column in rows.items()}
    estimated = aw.oracle.frontier(aw.fit(many, problem).evidence(), stake=9.0)
    true = aw.oracle.frontier(Table(problem, many).model(), stake=9.0)
    assert [p.gain for p in estimated] == pytest.approx([p.gain for p in true], rel=0.02)
    assert [p.spend for p in estimated] == pytest.approx([p.spend for p in true])


def test_a_saved_learner_is_evaluated_on_a_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    model = model_at_random(rng, PLAIN)
    log = logged(draws(rng, list(courses_of(rng, model, "in_order")), 300), by_step=True)
    log["p"] = log.pop("propensity")
    pd.DataFrame(log).to_csv("log.csv", index=False)
    learner = aw.fit("log.csv", PLAIN).learner()
    learner.save("fit.askwise")
    found = aw.off_policy(learner.recommend(), "log.csv", propensity="p")
    arguments = ["evaluate", "log.csv", "--policy", "fit.askwise", "--propensity", "p"]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    assert str(found) in result.stdout
    assert "gain for each case, with the interval of 95%:" in result.stdout
    pd.DataFrame(log).head(12).to_csv("log.csv", index=False)
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    assert "gain for each case:" in result.stdout
    assert "too few rows for an interval" in result.stdout
