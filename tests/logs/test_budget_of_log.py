"""A budget after a log with stakes is for all of its cases together, with the stakes they had."""

import numpy as np
import pandas as pd
import pytest

import askwise as aw
from inside import strategy_of
from logs.test_stakes import decisions_of, problem_at, rows_of

STAKES = (1.0, 3.0, 10.0)
SPEND = 0.4
PROBLEM = aw.Problem(
    observations=problem_at(0.3).observations, actions=["wait", "treat"], rewards=(-30, 60)
)


def records(seed=2, cases=3_000):
    """Complete records whose cases have stakes: without a budget they spend 0.7 on average."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rows_of(rng, PROBLEM, cases))
    return rows.assign(amount=rng.choice(STAKES, cases, p=[0.5, 0.4, 0.1]))


def fitted(log, **options):
    return aw.fit(log, PROBLEM, stake="amount").learner(
        budget=aw.Budget(spend_per_case=SPEND), rng=1, **options
    )


def spent_over(learner, log):
    """The mean spend if each row follows what is recommended for its stake."""
    spends = [
        len(some) * learner.recommend(stake=stake).evaluate(some, stake=stake).spend.value
        for stake, some in log.groupby("amount")
    ]
    return sum(spends) / len(log)


@pytest.mark.parametrize("options", [{}, {"model": "additive"}, {"acquisition": "simultaneous"}])
def test_all_stakes_of_the_log_together_spend_the_budget(options):
    log = records()
    learner = fitted(log, **options)
    assert learner.recommend().shadow_price > 0
    assert spent_over(learner, log) == pytest.approx(SPEND, rel=0.03)


def test_a_saved_learner_knows_the_stakes_of_its_log():
    log = records()
    again = aw.load(fitted(log).to_bytes())
    assert spent_over(again, log) == pytest.approx(SPEND, rel=0.03)


def test_a_part_of_a_log_has_its_stakes():
    log = records()
    whole, part = fitted(log), fitted(log, weight=0.5)
    kinds, some = (strategy_of(one).spending.kinds.tally for one in (whole, part))
    assert some[:, 0] == pytest.approx(kinds[:, 0] / 2, abs=1)
    assert some[:, 1] == pytest.approx(kinds[:, 1] / 2, abs=1)


@pytest.mark.parametrize("kind", ["records", "decisions"])
def test_files_and_frames_count_the_same_stakes(kind, tmp_path):
    rng = np.random.default_rng(3)
    log = records(3, 60) if kind == "records" else decisions_of(rng, PROBLEM, 60)
    log = pd.DataFrame(log).assign(amount=rng.choice([0.01, 0.25, 0.3, 1.0, 4.0, 4.1, 99.0], 60))
    log.to_parquet(tmp_path / "log.parquet")
    counted = [
        strategy_of(fitted(one)).spending.kinds.tally for one in (log, tmp_path / "log.parquet")
    ]
    assert counted[0][:, 0].sum() == 60
    assert counted[0][0, 0] == (log.amount == 1.0).sum()
    assert (counted[0] == counted[1]).all()


def test_a_log_without_stakes_counts_none():
    learner = aw.fit(records().drop(columns="amount"), PROBLEM).learner(
        budget=aw.Budget(spend_per_case=SPEND), rng=1
    )
    assert not strategy_of(learner).spending.kinds.tally.any()


def test_what_is_for_one_stake_is_told_from_what_is_for_all():
    """0.4 is spent by all cases, and less by those with a stake of 1."""
    log = records()
    learner = fitted(log)
    own = learner.recommend().evaluate(log[log.amount == 1], stake=1.0).spend.value
    said = learner.recommend().note
    assert said.startswith("Within 0.4 a case it spends 0.4, and one more to spend would add")
    about, spends = said.rsplit(" ", 1)
    assert about.endswith(
        ", over all stakes and prices; cases with a stake of 1 at the usual prices spend"
    )
    assert float(spends) == pytest.approx(own, abs=0.02)
    assert own < 0.3
    for stake in (1.0, 3.0):
        told = f"All cases with a stake of {stake:g}: gain"
        assert told in str(aw.explain(learner, stake=stake))
    assert "All cases: gain" in str(aw.explain(aw.fit(log, PROBLEM)))
