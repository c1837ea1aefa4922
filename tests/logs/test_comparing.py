"""Two policies compared: from logs with propensities, and from live splits."""

import math

import numpy as np
import pytest

import askwise as aw
from askwise.errors import CaseError, OptionError, TableError
from askwise.simulation.environments import breast_cancer


def clinic(cost=0.1):
    problem = aw.Problem(
        observations=[
            aw.Observation("mri", values=["neg", "pos"], cost=cost, fails="refunded"),
            aw.Observation("age", values=["young", "old"], given=True),
        ],
        actions=["wait", "treat"],
    )
    p = np.array([[0.4, 0.3], [0.05, 0.15], [0.05, 0.05]])
    r = np.array([[[0.9, 0.5], [0.8, 0.5]], [[0.1, 0.8], [0.1, 0.9]], [[0.8, 0.5], [0.4, 0.6]]])
    return aw.Model(problem, p, r)


def today(known):
    """The rule of today: the scan for the old alone."""
    if known["age"] == "young":
        return "wait"
    if "mri" not in known:
        return "mri"
    return "treat" if known["mri"] == "pos" else "wait"


def played(trial, model, number, rng):
    """Cases of a population through a trial."""
    given = [o.name for o in model.problem.observations if o.given]
    for place in model.sample(rng, number).tolist():
        observations = model.problem.observations
        values = {o.name: o.outcomes[x] for o, x in zip(observations, place, strict=True)}
        case = trial.open({name: values[name] for name in given} or None)
        while case.wanted:
            case.observe({name: values[name] for name in case.wanted})
        mean = model.reward[tuple(place)][model.problem.action_names.index(case.action)]
        case.reward(float(rng.random() < mean))


def test_a_split_finds_the_difference_and_holds_however_often_one_looks():
    model = clinic()
    best, rule = aw.oracle.sequential(model), aw.Policy.from_rule(model.problem, today)
    truth = best.evaluate(model) - rule.evaluate(model)
    wrong, runs = 0, 25
    for seed in range(runs):
        trial, rng = aw.compare(best, rule, rng=seed), np.random.default_rng(seed)
        missed = False
        for _ in range(6):
            played(trial, model, 60, rng)
            low, high = trial.result().difference[1:]
            missed |= not low <= truth <= high and not math.isnan(low)
        wrong += missed
    assert wrong <= 3  # 1 of 25 is expected at most, of all looks together
    played(trial, model, 4_000, rng)
    found = trial.result()
    assert found.difference.value == pytest.approx(truth, abs=0.02)
    assert found.differing < found.rows
    assert "more than" in str(trial)


def test_what_is_settled_and_what_is_not():
    model = clinic()
    good, rng = aw.oracle.sequential(model), np.random.default_rng(1)
    bad = aw.Policy.from_rule(model.problem, lambda known: "treat")
    trial = aw.compare(good, bad, rng=2)
    assert math.isnan(trial.result().difference.value)
    played(trial, model, 20, rng)
    assert not trial.result().is_settled
    played(trial, model, 2_000, rng)
    found = trial.result()
    assert found.is_settled
    assert found.more_rows == 0.0
    assert "settled, by 2,020 rows" in str(found)
    other = aw.compare(bad, good, rng=2, share=0.3)
    played(other, model, 2_000, rng)
    assert other.result().difference.high < 0
    assert "b gains" in str(other)

    alike = aw.compare(good, aw.Policy.from_rule(model.problem, as_rule(good)), rng=2)
    played(alike, model, 200, rng)
    found = alike.result()
    assert found.differing == 0
    assert not found.is_settled
    assert "would have done the same in all 200 rows" in str(found)


def as_rule(policy):
    def rule(known):
        wanted = policy.wanted(known)
        return wanted[0] if wanted else policy.action(known)

    return rule


def test_more_rows_are_foreseen():
    model = clinic(cost=0.12)
    good, rule = aw.oracle.sequential(model), aw.Policy.from_rule(model.problem, today)
    trial, rng = aw.compare(good, rule, rng=5), np.random.default_rng(9)
    played(trial, model, 20, rng)
    assert "too few for an interval" in str(trial)
    played(trial, model, 2_980, rng)
    found = trial.result()
    assert not found.is_settled
    assert found.more_rows > 100
    assert "not settled by 3,000 rows" in str(found)


@pytest.mark.parametrize("seed", range(3))
def test_from_a_log_with_propensities(seed):
    model = clinic()
    learner = aw.baselines.RandomChoice(model.problem, rng=seed)
    rng = np.random.default_rng(seed)
    log = {name: [] for name in ("mri", "age", "action", "reward", "propensity")}
    for place in model.sample(rng, 6_000).tolist():
        observations = model.problem.observations
        values = {o.name: o.outcomes[x] for o, x in zip(observations, place, strict=True)}
        case = learner.open({"age": values["age"]})
        while case.wanted:
            case.observe({"mri": values["mri"]})
        mean = model.reward[tuple(place)][model.problem.action_names.index(case.action)]
        reward = float(rng.random() < mean)
        log["propensity"].append(list(case.propensity))
        case.reward(reward)
        seen = case.state.get("mri", "")
        log["mri"].append("unavailable" if seen is None else seen or None)
        log["age"].append(values["age"])
        log["action"].append(case.action)
        log["reward"].append(reward)
    best, rule = aw.oracle.sequential(model), aw.Policy.from_rule(model.problem, today)
    truth = best.evaluate(model) - rule.evaluate(model)
    found = aw.compare(best, rule, log=log, acquisition="simultaneous")
    assert found.difference.low - 0.02 < truth < found.difference.high + 0.02
    assert found.difference.high - found.difference.low < 0.1
    half = found.difference.high - found.difference.value
    apart = (found.a.high - found.a.value) + (found.b.high - found.b.value)
    assert half < apart  # rows on which both do the same add nothing to the doubt
    backwards = aw.compare(rule, best, log=log, acquisition="simultaneous")
    assert backwards.difference.value == pytest.approx(-found.difference.value)
    alone = aw.off_policy(best, log, acquisition="simultaneous")
    assert found.a == pytest.approx(alone.dr)


def test_a_mixture_is_estimated_as_the_mean_of_its_parts():
    model = clinic()
    best, rule = aw.oracle.sequential(model), aw.Policy.from_rule(model.problem, today)
    trial, rng = aw.compare(best, rule, rng=5), np.random.default_rng(9)
    played(trial, model, 800, rng)
    log = trial.log()
    one, other, both = (
        aw.off_policy(p, log, acquisition="sequential", order="order")
        for p in (best, rule, best.mixed(rule, 0.3))
    )
    assert both.ips.value == pytest.approx(0.7 * one.ips.value + 0.3 * other.ips.value)
    assert both.dr.value == pytest.approx(0.7 * one.dr.value + 0.3 * other.dr.value)


def test_sets_beside_one_after_the_other():
    model = breast_cancer(cost=5.0)
    at_once, one_by_one = aw.oracle.simultaneous(model), aw.oracle.sequential(model)
    truth = one_by_one.evaluate(model) - at_once.evaluate(model)
    trial, rng = aw.compare(one_by_one, at_once, rng=1), np.random.default_rng(2)
    played(trial, model, 3_000, rng)
    low, high = trial.result().difference[1:]
    assert low < truth < high
    sets = aw.compare(at_once, aw.oracle.fixed(model, ["age"]), rng=1)
    played(sets, model, 1_000, rng)
    assert sets.result().is_settled


def test_gains_are_told_in_money():
    problem = aw.Problem(
        observations=[aw.Observation("device", values=["known", "new"], cost=0.5)],
        actions=["approve", aw.Action("review", cost=4.0)],
        rewards=(-100.0, 30.0),
    )
    model = aw.Model(problem, [0.9, 0.1], [[25.0, 28.0], [-50.0, 20.0]])
    best = aw.oracle.sequential(model)
    review = aw.Policy.from_rule(problem, lambda known: "review")
    trial, rng = aw.compare(best, review, rng=1), np.random.default_rng(2)
    for place in model.sample(rng, 1_000)[:, 0].tolist():
        case = trial.open()
        while case.wanted:
            case.observe({"device": ["known", "new"][place]})
        share = model.reward[place][problem.action_names.index(case.action)]
        case.reward(problem.as_money(float(share)))
    found = trial.result()
    assert found.a.value == pytest.approx(best.evaluate(model), abs=0.6)
    assert found.b.value == pytest.approx(review.evaluate(model), abs=0.6)
    assert found.difference.value == pytest.approx(found.a.value - found.b.value)


def test_what_cannot_be_compared():
    model, other = clinic(), breast_cancer()
    best = aw.oracle.sequential(model)
    with pytest.raises(OptionError, match="two different problems"):
        aw.compare(best, aw.oracle.sequential(other))
    with pytest.raises(OptionError, match="expected a policy"):
        aw.compare(best, aw.Learner(model.problem))
    with pytest.raises(OptionError, match="share must be"):
        aw.compare(best, best, share=1.0)
    with pytest.raises(OptionError, match="action= is about a log: give log="):
        aw.compare(best, best, action="done")
    with pytest.raises(OptionError, match="share= is of a live split"):
        aw.compare(best, best, log={}, share=0.5)
    with pytest.raises(OptionError, match="confidence"):
        aw.compare(best, best, confidence=95)
    log = {"mri": ["neg"], "age": ["old"], "action": ["wait"], "reward": [1]}
    with pytest.raises(TableError, match="no propensities"):
        aw.compare(best, best, log=log)
    with pytest.raises(CaseError, match="nothing may be on file"):
        aw.compare(best, best).open({"age": "old", "mri": "neg"})


@pytest.mark.parametrize("rows", [400, 20])
def test_the_same_rule_at_two_prices_differs_by_what_it_spends(rows):
    """They would do the same in every row, and nothing was said of the difference."""
    model, dear = clinic(0.1), clinic(0.25)
    cheap, costly = (aw.Policy.from_rule(one.problem, today) for one in (model, dear))
    draws = np.random.default_rng(5)
    trial = aw.compare(cheap, cheap, rng=1)
    played(trial, model, rows, draws)
    log = trial.log()
    old = np.mean([age == "old" for age in log["age"]])
    failed = np.mean([seen == "unavailable" for seen in log["mri"]])  # it is refunded
    found = aw.compare(cheap, costly, log=log, acquisition="sequential")
    expected = 0.15 * (old - failed)
    assert found.differing == 0
    assert found.difference.value == pytest.approx(expected, abs=1e-9)
    assert f"the same in all {rows} rows that tell, but not at the same prices: a" in str(found)
    assert found.is_settled == (rows == 400)
    assert "more than b" in str(found)
    assert "the same prices" not in str(aw.compare(cheap, cheap, log=log, acquisition="sequential"))
