"""A log and live cases are one body of evidence, and an old log may count less."""

import numpy as np
import pytest

import askwise as aw
from askwise.errors import OptionError
from askwise.simulation.environments import Population
from askwise.testing import play, random_model

NAMES = ["learner", "seq-oos", "psrl"]


def log_of(model, cases, seed):
    """Looks one after the other in any order, actions at random."""
    rng = np.random.default_rng(seed)
    names = [o.name for o in model.problem.observations]
    rows = {name: [] for name in (*names, "order", "action", "reward")}
    for place in model.sample(rng, cases).tolist():
        looks = rng.permutation(len(names))[: rng.integers(model.problem.m + 1)].tolist()
        action = int(rng.integers(len(model.problem.actions)))
        for i, name in enumerate(names):
            rows[name].append(place[i] if i in looks else None)
        rows["order"].append([names[i] for i in looks])
        rows["action"].append(model.problem.action_names[action])
        rows["reward"].append(float(rng.random() < model.reward[tuple(place)][action]))
    return rows


def complete_log(model, cases, seed):
    rng = np.random.default_rng(seed)
    places = model.sample(rng, cases)
    rows = {o.name: places[:, i].tolist() for i, o in enumerate(model.problem.observations)}
    means = model.reward[tuple(places.T)]
    for a, name in enumerate(model.problem.action_names):
        rows[name] = (rng.random(cases) < means[:, a]).astype(float).tolist()
    return rows


def small_model(seed):
    return random_model(
        np.random.default_rng(seed), [2, 3, 2], actions=2, max_observations=2, highest_cost=0.05
    )


@pytest.mark.parametrize("name", NAMES)
def test_what_the_log_says_and_what_comes_later_add_up(name):
    model = small_model(1)
    fit = aw.fit(log_of(model, 400, 2), model.problem, acquisition="sequential")
    learner = fit.learner(name, rng=1)
    before = learner.statistics.copy()
    assert before == fit.statistics
    live = aw.learners.make(name, model.problem, rng=5)
    play(live, model, 150, np.random.default_rng(3))
    learner.merge(live.statistics)
    assert learner.statistics == fit.statistics + live.statistics
    assert learner.statistics.cases == 550
    play(learner, model, 50, np.random.default_rng(4))
    assert learner.statistics.cases == 600
    assert int(learner.statistics.action_counts.sum()) == 600


@pytest.mark.parametrize("kind", ["decisions", "records"])
@pytest.mark.parametrize("name", [None, "seq-oos"])
def test_a_weight_is_a_part_of_its_cases(kind, name):
    model = small_model(3)
    if kind == "decisions":
        fit = aw.fit(log_of(model, 3_000, 4), model.problem, acquisition="sequential")
    else:
        fit = aw.fit(complete_log(model, 3_000, 4), model.problem)
    half = fit.thinned(0.5)
    assert half.rows == pytest.approx(1_500, abs=120)
    assert "counts as 50% of its 3,000 cases" in half.notes[-1]
    assert half.statistics.cases == half.rows
    sums, all_sums = half.statistics.reward_sums, fit.statistics.reward_sums
    assert sums.sum() == pytest.approx(0.5 * all_sums.sum(), rel=0.1)
    learner = fit.learner(name, weight=0.5, rng=1)
    assert "50% of 3,000" in repr(learner) or learner.statistics.cases == half.rows
    whole = fit.learner(name, weight=1.0, rng=1)
    assert whole.statistics == fit.learner(name, rng=1).statistics
    again = fit.learner(name, weight=0.5, rng=1)
    assert again.statistics == learner.statistics


def test_an_old_log_that_misleads_is_outweighed_sooner():
    """What was best once is not any more: after as many live cases, less of the log is better."""
    model = small_model(8)
    turned = aw.Model(model.problem, model.probability, model.reward[..., ::-1])
    fit = aw.fit(complete_log(turned, 3_000, 1), model.problem)
    gains = {}
    for weight in (1.0, 0.05):
        found = []
        for seed in range(3):
            learner = fit.learner(weight=weight, rng=seed)
            aw.simulate(learner, Population(model), steps=2_000, rng=seed)
            found.append(learner.recommend().evaluate(model))
        gains[weight] = np.mean(found)
    assert gains[0.05] > gains[1.0] + 0.01


@pytest.mark.parametrize("weight", [0.0, -1.0, 1.5, float("nan"), "half"])
def test_a_weight_that_cannot_be(weight):
    model = small_model(3)
    fit = aw.fit(complete_log(model, 50, 4), model.problem)
    with pytest.raises(OptionError, match="weight must be a number above 0 and at most 1"):
        fit.learner(weight=weight)


@pytest.mark.parametrize("kind", ["records", "decisions"])
def test_what_a_log_weighs_is_said(tmp_path, kind):
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=0.1)],
        actions=["wait", "treat"],
    )
    rows = {"mri": ["neg", "neg", "pos"] * 1_000, "best": ["wait", "wait", "treat"] * 1_000}
    columns = {"label": "best"}
    if kind == "decisions":
        rows |= {"action": rows.pop("best"), "reward": [1.0] * 3_000}
        columns = {}
    fit = aw.fit(rows, problem, **columns)
    words = f"30% of 3,000 {'complete records' if kind == 'records' else 'logged decisions'}"
    old, whole = fit.learner(weight=0.3), fit.learner()
    assert f"0 cases after {words}, round" in repr(old)
    assert f"- The log that it began with weighs {words}." in str(aw.explain(old))
    assert "weighs" not in str(aw.explain(whole))
    assert "after 3,000" in repr(whole)
    old.save(tmp_path / "old.askwise")
    assert repr(aw.load(tmp_path / "old.askwise")) == repr(old)
    assert "15% of 3,000" in repr(fit.thinned(0.5).thinned(0.3).learner())
