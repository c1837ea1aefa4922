"""Intervals of gains hold, also where a few rows with large stakes decide."""

import numpy as np
import pytest

import askwise as aw
from askwise.logs.off_policy import spread_of_rows

DESK = aw.Problem(
    observations=[aw.Observation("device", values=["known", "new"], cost=0.1)],
    actions=["pay", aw.Action("check", cost=2.0)],
    rewards=(-500.0, 30.0),
)
FRAUD = 0.03
PAYS = 30.0 * (1 - FRAUD) - 500.0 * FRAUD
PAY, CHECK = (aw.Policy.from_rule(DESK, lambda _, a=action: a) for action in ("pay", "check"))


def stakes_of(rng, rows):
    """Over three orders of magnitude, up to a limit."""
    return np.clip(np.exp(rng.normal(0.0, 1.5, rows)), 0.03, 30.0)


MEAN_STAKE = float(stakes_of(np.random.default_rng(0), 1_000_000).mean())


def log_of(seed, rows):
    rng = np.random.default_rng(seed)
    pays = rng.random(rows) < 0.5
    reward = np.where(rng.random(rows) < FRAUD, -500.0, 30.0)
    return {
        "device": ["known"] * rows,
        "action": np.where(pays, "pay", "check").tolist(),
        "reward": np.where(pays, reward, 20.0).tolist(),
        "propensity": [0.5] * rows,
        "stake": stakes_of(rng, rows).tolist(),
    }


def test_rows_of_one_stake_have_their_standard_deviation():
    each = np.random.default_rng(0).normal(size=50)
    for stake in (1.0, 20.0):
        assert spread_of_rows(each, np.full(50, stake)) == np.std(each, ddof=1)


def test_rare_losses_are_expected_of_large_stakes_too():
    """The truth is the standard deviation over very many rows. Among 400 rows, no loss may have
    come at a large stake.
    """
    rng = np.random.default_rng(1)

    def rows(number):
        stakes = stakes_of(rng, number)
        return stakes * np.where(rng.random(number) < FRAUD, -500.0, 30.0), stakes

    truth = np.std(rows(4_000_000)[0])
    plain, found = np.empty((2, 200))
    for k in range(200):
        each, stakes = rows(400)
        plain[k], found[k] = np.std(each, ddof=1), spread_of_rows(each, stakes)
    assert np.median(plain) < 0.75 * truth  # so intervals were too narrow
    assert 0.75 * truth < np.median(found) < 1.5 * truth


@pytest.mark.parametrize("rows", [1_000, 4_000])
def test_intervals_hold_the_gain_with_stakes(rows):
    held, settled_wrongly, runs = 0, 0, 60
    truth = MEAN_STAKE * PAYS
    apart = truth - (MEAN_STAKE * 20.0 - 2.0)
    for seed in range(runs):
        log = log_of(seed, rows)
        found = aw.off_policy(PAY, log).dr
        held += not (found.low > truth or found.high < truth)  # none is not wrong
        both = aw.compare(PAY, CHECK, log=log)
        settled_wrongly += both.is_settled and both.difference.value * apart < 0
    assert held >= 0.9 * runs
    assert settled_wrongly <= 0.025 * runs


def test_few_large_stakes_are_too_few_rows_for_an_interval():
    log = log_of(0, 400)
    log["stake"] = [1.0] * 398 + [5_000.0] * 2
    found = aw.compare(PAY, CHECK, log=log)
    assert np.isnan(found.difference.low)
    assert "a few rows of large weight or stake decide" in str(found)
    assert np.isnan(aw.off_policy(PAY, log).ips.low)
