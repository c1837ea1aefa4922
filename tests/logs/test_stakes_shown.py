"""Everything that is shown for a stake names it: trees, fits, estimates, the command line."""

import pandas as pd
import pytest
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app
from askwise.simulation.environments import breast_cancer


def by_rule():
    """mri, then treat if it is positive."""
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=1)],
        actions=["wait", aw.Action("treat", cost=2)],
        rewards=(-10, 20),
    )
    does = {"neg": "wait", "pos": "treat"}
    return problem, aw.Policy.from_rule(
        problem, lambda known: does[known["mri"]] if known else "mri"
    )


HAND = {
    "mri": ["neg", "neg", "pos", "pos"],
    "action": ["wait", "treat", "treat", "wait"],
    "reward": [20.0, -10.0, 5.0, -10.0],
    "propensity": [0.5, 0.5, 0.8, 0.2],
    "stake": [1.0, 3.0, 2.0, 10.0],
}


def test_the_command_line_knows_stakes(tmp_path):
    problem, _ = by_rule()
    problem.save(tmp_path / "problem.yaml")
    log = {name: cells * 30 for name, cells in HAND.items() if name != "stake"}
    pd.DataFrame(log | {"amount": HAND["stake"] * 30}).to_csv(tmp_path / "log.csv", index=False)

    def run(*words):
        found = CliRunner().invoke(app, [str(word) for word in words])
        assert found.exit_code == 0, found.output
        return found.output

    saved, log_file = tmp_path / "start.askwise", tmp_path / "log.csv"
    said = ["--problem", tmp_path / "problem.yaml", "--stake", "amount", "--save", saved]
    text = run("fit", log_file, *said)
    assert "4 times on average" in text
    assert text.count("or a stake of 4") == 1  # the tree names it
    assert "recommends for a stake of 1" in text
    assert "recommend(stake=4)" in text
    assert "--stake..." not in text
    learner = aw.load(saved)
    assert str(learner.recommend(stake=4.0).tree()) in text
    assert str(aw.worth(learner, stake=4.0)) in run("worth", saved, "--stake", 4)
    assert "For a stake of 4" in run("worth", saved, "--stake", 4)
    assert "For a stake of 1. The log that it began with has stakes, 4 on average" in run(
        "worth", saved
    )
    explained = run("explain", saved, "--stake", 4)
    assert aw.worth(learner, stake=4.0).below_tree() in explained
    assert explained.count("or a stake of 4") == 1
    value = aw.off_policy(learner.recommend(), str(log_file), stake="amount")
    assert str(value) in run("evaluate", log_file, "--policy", saved, "--stake", "amount")
    wrong = CliRunner().invoke(app, ["worth", str(saved), "--stake", "0"])
    assert wrong.exit_code != 0
    assert "stake must be a finite number above 0" in str(wrong.exception)


def test_what_is_recommended_names_its_stake():
    problem, _ = by_rule()
    found = aw.fit({name: cells * 30 for name, cells in HAND.items()}, problem)
    assert repr(found).endswith("; recommends for a stake of 4, the mean of the log>")
    assert "it recommends, for a stake of 4, the mean of the log:" in found._repr_html_()
    for policy in (found.recommend(), found.learner().recommend(stake=4.0)):
        assert "for a stake of 4, of value" in repr(policy)
        assert str(policy.tree()).endswith("\n\nFor a stake of 4.")
        assert "For a stake of 4." in policy.tree().html()
        assert str(aw.explain(found)).count("or a stake of 4") == 1
        assert aw.explain(found)._repr_html_().count("or a stake of 4") == 1
    for policy in (found.recommend(stake=1), found.learner().recommend()):
        assert "stake" not in repr(policy) + str(policy.tree())


def test_a_large_tree_is_folded_after_a_fit(tmp_path):
    looks = [aw.Observation("mri", values=["neg", "pos"], cost=3)]
    looks += [aw.Observation("grade", values=[1, 2], cost=2)]
    problem = aw.Problem(observations=looks, actions=["wait", "treat"], reward_value=100)
    problem.save(tmp_path / "problem.yaml")
    rows = {"mri": ["neg", "neg", "pos", "pos"] * 99, "grade": [1, 2] * 198}
    rows["best"] = ["wait", "treat", "treat", "wait"] * 99  # both are needed
    pd.DataFrame(rows).to_csv(tmp_path / "log.csv", index=False)
    words = ["fit", tmp_path / "log.csv", "--problem", tmp_path / "problem.yaml", "--label", "best"]
    found = aw.fit(rows, problem, label="best", rng=0).recommend()
    for more, options in (([], {}), (["--max-depth", 1], {"max_depth": 1})):
        run = CliRunner().invoke(app, [*map(str, [*words, *more])])
        assert run.exit_code == 0
        assert str(found.tree(**options)) in run.output
    assert str(found.tree()) not in run.output
    page = tmp_path / "page.html"
    CliRunner().invoke(app, [*map(str, [*words, "--html", page, "--min-share", 0.9])])
    assert found.tree(min_share=0.9).svg() in page.read_text()


def test_estimates_name_their_stakes():
    problem, _ = by_rule()
    log = {name: cells * 30 for name, cells in HAND.items()}
    without = {name: column for name, column in log.items() if name != "stake"}
    learner = aw.fit(log, problem).learner()
    policy = learner.recommend(stake=4.0)
    assert "\nrows have their own stakes, 4 on average" in str(aw.off_policy(policy, log))
    assert "\nevery row has a stake of 4" in str(aw.off_policy(policy, without))
    assert "stake" not in str(aw.off_policy(learner.recommend(), without))
    same = aw.off_policy(policy, without | {"stake": [4.0] * 120})
    assert same == aw.off_policy(policy, without)


def test_worth_names_the_stake_that_it_is_for():
    model = breast_cancer(cost=5.0)
    assert "\n\nFor a stake of 4." in str(aw.worth(model, stake=4))
    assert "For a stake of 4." in aw.worth(model, stake=4)._repr_html_()
    assert "stake" not in str(aw.worth(model))


@pytest.mark.parametrize("name", ["learner", "seq-oos"])
def test_a_learner_of_a_log_with_stakes_says_that_numbers_are_for_a_stake_of_1(name, tmp_path):
    """The fit answers for the mean of the log, and its learner for a stake of 1."""
    problem, _ = by_rule()
    log = {
        "mri": ["neg", "pos"] * 40,
        "wait": [20, -10] * 40,
        "treat": [-10, 5] * 40,
        "stake": [1, 1, 3, 11] * 20,
    }
    fit = aw.fit(log, problem)
    assert "For a stake of 4." in str(aw.worth(fit))
    said = "For a stake of 1. The log that it began with has stakes, 4 on average: say stake=4, or"
    learner = fit.learner(name, rng=0)
    learner.save(tmp_path / "desk.askwise")
    for one in (learner, aw.load(tmp_path / "desk.askwise")):
        assert said in str(aw.worth(one))
        assert said in str(aw.explain(one))
        assert "began with" not in str(aw.worth(one, stake=4.0))
    for command in ("worth", "explain"):
        found = CliRunner().invoke(app, [command, str(tmp_path / "desk.askwise")]).output
        assert said.replace("stake=4", "--stake 4") in found
    del log["stake"]
    assert "stake" not in str(aw.worth(aw.fit(log, problem).learner(rng=0)))
