"""A policy that was chosen on the rows it is scored on says so: its gain is estimated too high."""

import numpy as np
import pandas as pd
import pytest

import askwise as aw
from logs.test_stakes import decisions_of, problem_at, rows_of

PROBLEM = problem_at()
TOLD = "was chosen on these very rows, so its gain is estimated too high"


def rule(known):
    return "treat" if known["sex"] == "f" else "wait"


def kept(policy, how, tmp_path):
    """The same policy, as it is or from a file."""
    if how == "as it is":
        return policy
    policy.save(tmp_path / "policy.askwise")
    return aw.load(tmp_path / "policy.askwise")


@pytest.mark.parametrize("how", ["as it is", "saved policy", "saved learner"])
@pytest.mark.parametrize("where", ["frame", "file"])
def test_decisions_that_a_policy_was_chosen_on(how, where, tmp_path):
    """On its own log an advantage of nothing was settled."""
    log = pd.DataFrame(decisions_of(np.random.default_rng(4), PROBLEM, 400))
    later = pd.DataFrame(decisions_of(np.random.default_rng(5), PROBLEM, 400))
    for name, rows in (("log", log.sample(frac=1, random_state=0)), ("later", later)):
        rows.to_parquet(tmp_path / f"{name}.parquet")
    fit = aw.fit(log, PROBLEM)
    if how == "saved learner":
        fit.learner(rng=0).save(tmp_path / "learner.askwise")
        found = aw.load(tmp_path / "learner.askwise").recommend(stake=2.0)
    else:
        found = kept(fit.recommend(stake=2.0), how, tmp_path)
    same, other = (
        (log, later)
        if where == "frame"
        else (
            tmp_path / "log.parquet",
            tmp_path / "later.parquet",
        )
    )
    assert f"the policy {TOLD}" in str(aw.off_policy(found, same))
    assert aw.off_policy(found, same).chosen_here
    assert TOLD not in str(aw.off_policy(found, other))
    today = aw.Policy.from_rule(PROBLEM, rule)
    assert TOLD not in str(aw.off_policy(today, same))
    compared = aw.compare(found, found, log=same, names=("new", "also new"))
    assert [f"{name} {TOLD}" in str(compared) for name in ("new", "also new")] == [True, True]
    assert not compared.is_settled
    assert not aw.compare(found, found, log=other).warnings


@pytest.mark.parametrize("how", ["as it is", "saved policy"])
def test_records_that_a_policy_was_chosen_on(how, tmp_path):
    rows = pd.DataFrame(rows_of(np.random.default_rng(4), PROBLEM, 200))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    found = kept(aw.fit(rows[:100], PROBLEM).recommend(), how, tmp_path)
    assert f"the policy {TOLD}" in str(found.evaluate(rows[:100]))
    assert TOLD not in str(found.evaluate(rows[100:]))
    whole = kept(aw.fit(rows, PROBLEM).recommend(), how, tmp_path)
    assert f"the policy {TOLD}" in str(whole.evaluate(tmp_path / "rows.csv"))
    assert TOLD not in str(aw.Policy.from_rule(PROBLEM, rule).evaluate(rows))
