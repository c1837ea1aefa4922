"""What can be learned from a log, and how learners go on from it."""

from html import escape

import numpy as np
import pandas as pd
import pytest

import askwise as aw
from askwise.errors import (
    OptionError,
    StatisticsError,
    TableError,
)
from askwise.logs.counting import Decisions
from askwise.logs.notes import of_rewards
from inside import now_of, strategy_of
from log_rows import CLINIC, DECIDED, GIVEN, ROWS


def test_different_looks_without_a_word_on_how_they_were_chosen_are_refused():
    log = {name: cells for name, cells in DECIDED.items() if name not in ("order", "propensity")}
    with pytest.raises(
        TableError,
        match=r"no fair sample .* acquisition='simultaneous' .* acquisition='sequential'",
    ):
        aw.fit(log, CLINIC)
    assert aw.fit(log, CLINIC, acquisition="simultaneous").acquisition == "simultaneous"
    one = {name: cells[:1] for name, cells in log.items()}
    assert aw.fit(one, CLINIC).acquisition == "simultaneous"  # all rows looked at the same


def test_a_notebook_shows_a_fit_with_its_notes_and_what_it_recommends():
    for log, words in ((ROWS, "complete records"), (DECIDED, "sequential acquisition")):
        fit = aw.fit(log, CLINIC, rng=0)
        html = fit._repr_html_()
        assert words in html
        assert "<strong>Fit</strong>" in html
        assert all(escape(note) in html for note in fit.notes)
        assert escape(str(fit.recommend().tree()).splitlines()[1]) in html


DESK = aw.Problem(
    observations=[aw.Observation("photo", values=["pass", "fail"], cost=15)],
    actions=["pay", "check"],
    rewards=(-4000, 450),
)


def notes_on(rewards, tmp_path):
    """The notes on logs with these rewards: of decisions and of records, in memory and in files."""
    of_decisions = {"action": ["pay", "check", "check"], "reward": rewards}
    of_records = {"pay": rewards, "check": rewards[::-1]}
    for k, earned in enumerate((of_decisions, of_records)):
        log = {"photo": ["pass", "fail", "fail"]} | earned
        log = {name: cells * 20 for name, cells in log.items()}
        path = tmp_path / f"{k}.csv"
        pd.DataFrame(log).to_csv(path, index=False)
        notes = [aw.fit(source, DESK).notes for source in (log, str(path))]
        assert notes[0] == notes[1]
        yield " ".join(notes[0])


@pytest.mark.parametrize(
    ("rewards", "said"),
    [
        ([450, 450, 450], "All rewards of the log are equal (450). So it shows no action as"),
        ([-1.2, 0.45, -4], "standard deviation is below 0.05% of the range from -4,000 to 450. If"),
    ],
)
def test_a_note_says_that_rewards_are_equal_or_in_another_unit(tmp_path, rewards, said):
    for notes in notes_on(rewards, tmp_path):
        assert notes.count(said) == 1


@pytest.mark.parametrize("rewards", [[450, 450, 440], [-1200, 450, -4000]])
def test_rewards_that_differ_have_no_such_note(tmp_path, rewards):
    for notes in notes_on(rewards, tmp_path):
        assert "equal" not in notes
        assert "standard deviation" not in notes


def test_the_rewards_of_very_many_rows_do_not_overflow():
    """In units of 2⁻³⁰ the rewards of 2³³ rows may sum to more than an integer holds."""
    each, none = 2**31, np.zeros(8, np.int64)
    units = np.repeat([each * 2**30, 0], 4)
    log = Decisions(none[:, None], none, np.full(8, each), units, none, none, [()])
    assert of_rewards(DESK, log) == ()


def test_notes_say_what_can_be_learned():
    complete = aw.fit(ROWS, CLINIC)
    assert "every state of at most 3 observations is a fair sample" in complete.notes[0]
    ordered = " ".join(aw.fit(DECIDED, CLINIC).notes)
    assert "sets bought at once cannot be learned" in ordered
    assert "off_policy can estimate" in ordered
    assert "More than one action was tried in 0 of the 3 states" in ordered
    log = {name: cells for name, cells in DECIDED.items() if name not in ("order", "propensity")}
    log["action"] = ["wait"] * 3
    at_once = " ".join(aw.fit(log, CLINIC, acquisition="simultaneous").notes)
    assert "Policies that buy one observation after the other cannot be learned" in at_once
    assert "Nothing can be learned about actions never taken: treat." in at_once
    assert "The log has no propensities" in at_once
    assert "Every row has every observation" not in at_once
    seen = {"mri": ["neg", "pos"], "sex": ["f", "m"], "ward": [1, 2], "biopsy": ["a", "b"]}
    all_seen = aw.fit({**seen, "action": ["wait"] * 2, "reward": [1, 0]}, GIVEN)
    assert "confounded with the choice" in " ".join(all_seen.notes)
    inside = all_seen.statistics.lattice.index({"mri": "neg", "sex": "f", "ward": 1})
    assert all_seen.statistics.visits[inside] == 1
    assert not all_seen.statistics.action_counts[inside].any()


def test_learners_start_from_what_the_log_can_tell_them():
    complete, ordered = aw.fit(ROWS, CLINIC, rng=1), aw.fit(DECIDED, CLINIC)
    log = {name: cells for name, cells in DECIDED.items() if name not in ("order", "propensity")}
    at_once = aw.fit(log, CLINIC, acquisition="simultaneous")
    for fit, names in ((complete, ["seq-oos", "sim-oos"]), (ordered, ["seq-oos"])):
        for name in names:
            learner = fit.learner(name, width=0.5)
            assert learner.name == name
            assert strategy_of(learner).confidence.width == 0.5
            assert learner.statistics == fit.statistics
            assert now_of(learner).t == 4
    for fit in (complete, ordered, at_once):
        learner = fit.learner()
        assert learner.name == "learner"
        assert strategy_of(learner).acquisition.name == (
            "simultaneous" if fit is at_once else "sequential"
        )
        assert strategy_of(learner).log.cases == now_of(learner).opened == 3
    with pytest.raises(StatisticsError, match="sim-oos learns from simultaneous looks"):
        ordered.learner("sim-oos")
    with pytest.raises(StatisticsError, match="seq-oos learns from sequential looks"):
        at_once.learner("seq-oos")
    assert (
        strategy_of(complete.learner("learner", acquisition="simultaneous")).acquisition.name
        == "simultaneous"
    )
    mri = aw.Observation("mri", values=["neg", "pos"], cost=1)
    small = aw.Problem(observations=[mri], actions=["wait", "treat"])
    one = aw.fit({"mri": ["neg"], "action": ["wait"], "reward": [1]}, small)
    with pytest.raises(StatisticsError, match="more than statistics hold"):
        one.learner("policy-ucb")
    with pytest.raises(OptionError, match="unknown learner 'oracle'"):
        complete.learner("oracle")
    assert strategy_of(ordered.learner("learner")).acquisition.name == "sequential"
    assert strategy_of(at_once.learner("learner")).acquisition.name == "simultaneous"
    for options in ({"window": 100}, {"detect": True}, {"explore_budget": 5.0}):
        with pytest.raises(OptionError, match="which a log does not have"):
            ordered.learner("learner", **options)
    assert strategy_of(at_once.learner("learner", model="additive")).log.cases == 3
    before = complete.statistics.copy()
    complete.learner().open()
    assert complete.statistics == before
    assert "3 complete records" in repr(complete)
    assert "3 logged decisions, sequential" in repr(ordered)


def test_the_joint_model_learns_from_decisions_and_goes_on_in_long_rounds():
    """From a log of one learner another starts with what that one knew."""
    model = aw.environments.breast_cancer(cost=5.0)
    first = aw.SeqOOS(model.problem, rng=0)
    problem, names = model.problem, [o.name for o in model.problem.observations]
    rows = {name: [] for name in [*names, "order", "action", "reward"]}
    rng = np.random.default_rng(0)
    for values in model.sample(rng, 3000):
        full = {o.name: o.values[x] for o, x in zip(problem.observations, values, strict=True)}
        case, order = first.open(), []
        while case.wanted:
            order += case.wanted
            case.observe({name: full[name] for name in case.wanted})
        mean = model.reward[(*values, problem.action_names.index(case.action))]
        reward = float(rng.random() < mean)
        case.reward(reward)
        seen = {name: full[name] if name in order else None for name in names}
        for name, cell in {**seen, "action": case.action, "reward": reward}.items():
            rows[name].append(cell)
        rows["order"].append(order)
    fit = aw.fit(rows, problem, rng=0)
    assert fit.statistics == first.statistics
    learner = fit.learner("learner")
    population = aw.environments.Population(model)
    gain = aw.simulate(learner, population, steps=500, rng=1).gain.mean()
    anew = aw.simulate(aw.Learner(problem, rng=0), population, steps=500, rng=1).gain.mean()
    assert gain > anew
    assert now_of(learner).round < 30  # rounds are a part of all cases, those of the log included


def test_the_recommended_policy_is_the_best_where_much_is_known():
    """Against the oracle of the population that the log was drawn from."""
    model = aw.environments.breast_cancer(cost=5.0)
    problem = model.problem
    rng = np.random.default_rng(3)
    values = model.sample(rng, 40_000)
    rows = {
        o.name: [o.outcomes[x] for x in values[:, i]] for i, o in enumerate(problem.observations)
    }
    means = model.reward[tuple(values.T)]
    for a, action in enumerate(problem.action_names):
        rows[action] = (rng.random(len(values)) < means[:, a]).astype(float).tolist()
    best = aw.oracle.sequential(model).value
    found = aw.fit(rows, problem).recommend().evaluate(model)
    assert best - 0.5 < found <= best + 1e-9
    fit = aw.fit(rows, problem)
    at_once = fit.learner("sim-oos").recommend().evaluate(model)
    assert aw.oracle.simultaneous(model).value - 0.5 < at_once < best


def test_a_log_that_breaks_a_requirement_is_noted():
    problem = aw.Problem(
        observations=[aw.Observation(n, values=["a", "b"], cost=1.0) for n in ("phone", "file")],
        actions=["pay", aw.Action("deny", requires=["file"])],
        rewards=(-300.0, 8.0),
    )
    log = {
        "phone": ["a", "b"] * 3,
        "file": ["a", None] * 3,
        "order": ["phone,file", "phone"] * 3,
        "action": ["deny", "deny"] * 2 + ["deny", "pay"],
        "reward": [8.0, -300.0] * 3,
    }
    (note,) = (n for n in aw.fit(log, problem).notes if "requires" in n)
    assert note.startswith("2 rows have the action 'deny' without what it requires (file).")
    kept = {name: cells[::2] for name, cells in log.items()}
    assert not any("requires" in n for n in aw.fit(kept, problem).notes)
