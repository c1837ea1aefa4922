"""The cases of a live learner as a log: what it says is what happened."""

import numpy as np
import pytest

import askwise as aw
from askwise.errors import OptionError

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("bureau", values=["good", "poor"], cost=0.6, fails="charged"),
        aw.Observation("device", values=["known", "new"], cost=0.05),
    ],
    actions=["approve", aw.Action("review", cost=1.0)],
    rewards=(-50.0, 10.0),
)


def model():
    probability = np.outer([0.75, 0.15, 0.1], [0.7, 0.3])
    approve = np.array([[9.0, 4.0], [-12.0, -30.0], [2.0, -20.0]])
    return aw.Model(PROBLEM, probability, np.stack([approve, np.full((3, 2), 3.0)], axis=-1))


def values_of(row):
    return {o.name: o.outcomes[x] for o, x in zip(PROBLEM.observations, row, strict=True)}


def play(log, cases, *, seed=0, end=lambda case, number: None):
    """Decides cases; `end` is what people do before the reward."""
    rng, truth = np.random.default_rng(seed), model()
    for number, row in enumerate(truth.sample(rng, cases).tolist()):
        case = log.open(stake=float(rng.choice([1.0, 5.0])), prices={"bureau": 0.3 + number % 2})
        while case.wanted:
            case.observe({name: values_of(row)[name] for name in case.wanted})
        end(case, number)
        mean = truth.reward[(*row, PROBLEM.action_names.index(case.action))]
        case.reward(10.0 if rng.random() < mean else -50.0)


@pytest.mark.parametrize("acquisition", ["sequential", "simultaneous"])
def test_its_table_is_what_the_learner_counted(acquisition):
    log = aw.CaseLog(aw.Learner(PROBLEM, acquisition=acquisition, rng=1))
    play(log, 300)
    fit = aw.fit(log.table(), PROBLEM, acquisition=acquisition)
    assert fit.rows == 300
    counted = log.learner.statistics
    assert np.array_equal(fit.statistics.action_counts, counted.action_counts)
    assert np.array_equal(fit.statistics.reward_sums, counted.reward_sums)
    assert np.array_equal(fit.statistics.visits, counted.visits)
    assert np.array_equal(fit.statistics.transitions, counted.transitions)
    assert log.left_out == {}


def test_off_policy_estimates_from_it_are_right():
    """Most intervals hold the true gain, though the log has few of the steps of the policy."""
    truth = model()
    best = aw.oracle.sequential(truth, stake=5.0)
    held = []
    for seed in range(8, 16):
        log = aw.CaseLog(aw.Learner(PROBLEM, rng=seed, explore=True))
        play(log, 1_500, seed=seed)
        rows = log.table()
        found = aw.off_policy(best, rows, acquisition="sequential", model=truth)
        each, rows_of_each = np.unique(rows["stake"], return_counts=True)
        exact = rows_of_each @ [best.evaluate(truth, stake=float(s)) for s in each] / 1_500
        if found.has_intervals:
            held.append(found.dr.low < exact < found.dr.high)
    assert len(held) >= 5
    assert np.mean(held) >= 0.8
    review = aw.Policy.from_rule(PROBLEM, lambda known: "review")
    compared = aw.compare(best, review, log=rows, acquisition="sequential", model=truth)
    assert compared.rows == 1_500


def test_what_people_did_is_said_and_left_out():
    def end(case, number):
        other = "review" if case.action == "approve" else "approve"
        if number % 4 == 1:
            case.act(other)
        elif number % 4 == 2:
            case.act(other, knew_more=False)
        elif number % 4 == 3:
            case.act(other, knew_more=False, propensity=0.2)

    log = aw.CaseLog(aw.Learner(PROBLEM, rng=1))
    play(log, 80, end=end)
    rows, more = log.table(), log.table(people=True)
    assert log.left_out == {
        "people decided or looked, and knew more than the case": 20,
        "people decided, and the probability of that is unknown": 20,
    }
    assert (len(rows["case"]), len(more["case"])) == (40, 60)
    assert sum(advice is not None for advice in rows["overruled"]) == 20
    assert all(a != b for a, b in zip(rows["overruled"], rows["action"], strict=True))
    assert more["propensity"].count(None) == 20
    assert aw.fit(more, PROBLEM, acquisition="sequential").rows == 60
    assert aw.off_policy(log.learner.recommend(), rows, acquisition="sequential").rows == 40
    assert repr(log) == "<CaseLog: 80 cases, 80 rewarded, 40 left out>"


def test_what_waits_or_is_no_whole_case_is_no_row():
    log = aw.CaseLog(aw.Learner(PROBLEM, rng=1))
    log.open()
    filed = log.open({"device": "new", "bureau": "poor"})
    filed.reward(3.0)
    assert log.table()["case"] == []
    assert log.left_out == {"began with values on file": 1}
    gone = log.open({"device": "new", "bureau": "poor"})
    gone.cancel()
    assert repr(log) == "<CaseLog: 3 cases, 1 rewarded, 1 left out>"
    with pytest.raises(OptionError, match="expected a learner"):
        aw.CaseLog(PROBLEM)
