"""Intervals of gains hold, also where a few rows with large stakes decide."""

import numpy as np
import pytest

import askwise as aw
from askwise.policy.row_variances import spread_of_gains

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
        parts = np.stack([each, np.zeros(50)])
        assert spread_of_gains(parts, np.full(50, stake)) == np.std(each, ddof=1)


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
        plain[k], found[k] = (
            np.std(each, ddof=1),
            spread_of_gains(np.stack([each, 0 * each]), stakes),
        )
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


@pytest.mark.parametrize(("large", "level"), [(40, 100.0), (60, 20.0)])
def test_rare_losses_are_expected_of_the_larger_of_two_stakes(large, level):
    """With two stakes, a line of squares through u² learns nothing of one from the other."""
    rng, held = np.random.default_rng(2), 0
    stakes = np.where(np.arange(2_000) < large, level, 1.0)
    truth = stakes.mean() * (0.98 - 20 * 0.02)
    for _ in range(300):
        each = stakes * np.where(rng.random(2_000) < 0.02, -20.0, 1.0)
        reach = 1.96 * spread_of_gains(np.stack([each, 0 * each]), stakes) / 2_000**0.5
        held += abs(each.mean() - truth) <= reach
    assert held >= 0.93 * 300


def test_what_is_spent_does_not_grow_with_the_stake():
    """Equal rewards and spends that vary: s² is that of stakes and of spends, worked by hand."""
    stakes, spent = np.array([1.0, 1.0, 3.0, 3.0]), np.array([-1.0, 1.0, -1.0, 1.0])
    found = spread_of_gains(np.stack([2 * stakes, spent]), stakes)
    assert found**2 == pytest.approx((4 * 4 + 4) / 3)


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_intervals_hold_with_two_stakes(estimator):
    """With the variance of the rows alone they hold in 33 of 60 logs."""
    problem = aw.Problem(observations=DESK.observations, actions=["pay", "wait"], rewards=(-20, 1))
    pay = aw.Policy.from_rule(problem, lambda _: "pay")
    stakes = [100.0] * 40 + [1.0] * 1_960
    rng, held, runs = np.random.default_rng(3), 0, 60
    for _ in range(runs):
        log = log_of(0, 2_000) | {"action": ["pay"] * 2_000, "propensity": [1.0] * 2_000}
        log |= {"stake": stakes, "reward": np.where(rng.random(2_000) < 0.02, -20, 1).tolist()}
        found = getattr(aw.off_policy(pay, log), estimator)
        held += found.low <= np.mean(stakes) * 0.58 <= found.high
    assert held >= 0.92 * runs


def test_a_split_with_two_stakes_holds_the_difference():
    held, runs = 0, 40
    rng = np.random.default_rng(5)
    for _ in range(runs):
        trial = aw.compare(PAY, CHECK, rng=rng)
        for k in range(600):
            case = trial.open(stake=50.0 if k % 10 == 0 else 1.0)
            loses = case.action == "pay" and rng.random() < FRAUD
            case.reward(-500.0 if loses else 30.0 if case.action == "pay" else 20.0)
        found = trial.result().difference
        held += found.low <= 5.9 * (PAYS - 20.0) + 2.0 <= found.high
    assert held >= 0.95 * runs


def test_the_remedy_is_of_the_cause():
    log = log_of(0, 400)
    log["stake"] = [1.0] * 398 + [5_000.0] * 2
    assert "log more rows with large stakes" in str(aw.off_policy(PAY, log))
    few = {name: cells[:40] for name, cells in log.items()}
    assert "log more rows on which the policy agrees" in str(aw.off_policy(PAY, few))


def test_few_large_stakes_are_too_few_rows_for_an_interval():
    log = log_of(0, 400)
    log["stake"] = [1.0] * 398 + [5_000.0] * 2
    found = aw.compare(PAY, CHECK, log=log)
    assert np.isnan(found.difference.low)
    assert "a few rows, of large weight or stake, decide" in str(found)
    assert np.isnan(aw.off_policy(PAY, log).ips.low)
