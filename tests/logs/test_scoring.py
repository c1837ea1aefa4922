"""A policy followed on every row of a table."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import askwise as aw
from askwise.errors import ModelError, OptionError, TableError
from askwise.simulation.environments import Table
from log_rows import KINDS, saved
from random_problems import busy_models, ruled_models

CLINIC = aw.Problem(
    observations=[
        aw.Observation("mri", values=["neg", "pos"], cost=9, fails="charged"),
        aw.Observation.binned("age", edges=[50], cost=1),
    ],
    actions=["wait", aw.Action("treat", cost=2)],
    reward_value=100,
)
ROWS = {
    "mri": ["neg", "pos", "pos", None],
    "age": [40, 40, 60, 60],
    "best": ["wait", "treat", "wait", "wait"],
}


def mri_then_treat(known):
    if "mri" not in known:
        return "mri"
    return "treat" if known["mri"] == "pos" else "wait"


RULE = aw.Policy.from_rule(CLINIC, mri_then_treat)


@pytest.mark.parametrize("kind", KINDS)
def test_gain_reward_and_spend_by_hand(kind, tmp_path):
    found = RULE.evaluate(saved(ROWS, tmp_path, kind), label="best")
    # right, right, wrong, right; each pays 9, the second and the third 2 more
    assert (found.reward.value, found.spend.value, found.looks) == (0.75, 10.0, 1.0)
    assert (found.gain.value, found.rows) == (65.0, 4)
    assert math.isnan(found.gain.low)
    assert "too few rows" in str(found)


def test_rewards_in_money_are_shown_in_money():
    problem = aw.Problem(
        observations=[aw.Observation("bureau", values=["poor", "good"], cost=1)],
        actions=["lend", "decline"],
        rewards=(-500, 30),
    )
    rule = aw.Policy.from_rule(problem, lambda known: "lend" if known else "bureau")
    rows = {"bureau": ["poor", "good"] * 50, "lend": [-500, 30] * 50, "decline": [0, 0] * 50}
    found = rule.evaluate(rows)
    assert found.reward.value == pytest.approx(-235, abs=1e-5)
    assert found.gain.value == pytest.approx(-236, abs=1e-5)
    assert found.reward.low < -235 < found.reward.high
    assert found.spend == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("earned", [-1000, 60])
def test_the_interval_of_the_gain_stays_within_what_can_be_gained(earned):
    """Every row earns the most there is, or the least, and spends 80 or 90."""
    problem = aw.Problem(
        observations=[
            aw.Observation("expert", values=[1, 2], cost=80),
            aw.Observation("photo", values=["pass", "fail"], cost=10),
        ],
        actions=["pay", "refuse"],
        rewards=(-1000, 60),
    )

    def rule(known):
        if "expert" not in known:
            return "expert"
        return "photo" if known == {"expert": 2} else "pay"

    policy = aw.Policy.from_rule(problem, rule)
    rows = {"expert": [1, 2] * 30, "photo": ["pass"] * 60, "pay": [earned] * 60}
    found = policy.evaluate(rows | {"refuse": [0] * 60})
    assert found.gain.value == pytest.approx(earned - 85)
    assert -1000 - 90 <= found.gain.low <= found.gain.value <= found.gain.high <= 60 - 80
    same = policy.evaluate({n: cells[:1] * 60 for n, cells in rows.items()} | {"refuse": [0] * 60})
    end = same.gain.high if earned == 60 else same.gain.low
    assert end == same.gain.value == pytest.approx(earned - 80)
    few = policy.evaluate({n: cells[:1] for n, cells in rows.items()} | {"refuse": [0]})
    assert math.isnan(few.gain.low)
    assert math.isnan(few.gain.high)


@pytest.mark.parametrize("model", [*busy_models(5, 8), *ruled_models(6, 8)])
def test_it_is_what_cases_gain_that_follow_the_policy(model):
    problem, rng = model.problem, np.random.default_rng(0)
    cells = [[*o.values, *([None] if o.fails else [])] for o in problem.observations]
    rows = list(itertools.product(*cells)) * 2
    table = dict(zip([o.name for o in problem.observations], zip(*rows, strict=True), strict=True))
    for action in problem.action_names:
        table[action] = rng.random(len(rows)).round(3).tolist()
    for policy in (aw.oracle.sequential(model), aw.oracle.simultaneous(model)):
        gains = []
        for row, cell in enumerate(rows):
            seen = dict(zip(table, cell, strict=False))
            case = policy.open({o.name: seen[o.name] for o in problem.observations if o.given})
            while case.wanted:
                case.observe({name: seen[name] for name in case.wanted})
            gains.append(problem.reward_value * table[case.action][row] - case.cost)
        found = policy.evaluate(table)
        assert found.gain.value == pytest.approx(np.mean(gains), abs=1e-6)
        if len(rows) >= 30:
            assert found.gain.low < np.mean(gains) < found.gain.high
        exact = policy.evaluate(Table(problem, table).model())
        assert found.gain.value == pytest.approx(exact, abs=1e-6)


def test_a_policy_that_is_mixed_has_its_share_of_every_row():
    blind = aw.Policy.from_rule(CLINIC, lambda _: "wait")
    mixed = RULE.mixed(blind, 0.25)
    one, other = (p.evaluate(ROWS, label="best") for p in (RULE, blind))
    found = mixed.evaluate(ROWS, label="best")
    assert found.gain.value == pytest.approx(0.75 * one.gain.value + 0.25 * other.gain.value)
    assert found.rows == 4


@pytest.mark.parametrize("right", [0.5, 0.95, 0.99])
def test_intervals_hold_also_where_hardly_a_row_is_wrong(right):
    """A normal interval without the added rows holds .99 in 63 of 100 tables of 100 rows."""
    rng = np.random.default_rng(1)
    blind = aw.Policy.from_rule(CLINIC, lambda _: "wait")
    held = 0
    for _ in range(200):
        best = np.where(rng.random(100) < right, "wait", "treat").tolist()
        table = {"mri": ["neg"] * 100, "age": [40] * 100, "best": best}
        found = blind.evaluate(table, label="best")
        held += found.reward.low <= right <= found.reward.high
        assert 0 <= found.reward.low <= found.reward.value <= found.reward.high <= 1
        assert found.gain.low == pytest.approx(100 * found.reward.low, abs=3)
    assert held >= 184


def test_the_spread_of_gains_is_that_of_rows():
    """Against the deviation of gains that are written out; the added rows hardly matter."""
    rng = np.random.default_rng(2)
    mri = rng.choice(["neg", "pos"], 20_000)
    best = np.where(rng.random(20_000) < 0.7, np.where(mri == "pos", "treat", "wait"), "wait")
    found = RULE.evaluate({"mri": mri, "age": [40] * 20_000, "best": best}, label="best")
    done = np.where(mri == "pos", "treat", "wait")
    gain = 100.0 * (done == best) - 9 - 2 * (done == "treat")
    half = 1.959964 * gain.std() / 20_000**0.5
    assert found.gain.value == pytest.approx(gain.mean())
    assert (found.gain.high - found.gain.low) / 2 == pytest.approx(half, rel=2e-3)
    wider = RULE.evaluate(
        {"mri": mri, "age": [40] * 20_000, "best": best}, label="best", confidence=0.99
    )
    assert wider.gain.high > found.gain.high


def test_frames_of_figures():
    found = RULE.evaluate(pl.DataFrame(ROWS), label="best")
    frame = found.frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    assert frame["figure"].tolist() == ["gain", "reward", "spend"]
    assert found.frame()["low"] == [None, None, None]


@pytest.mark.parametrize(
    ("change", "options", "error", "words"),
    [
        ({"mri": ["neg", "maybe", "pos", "neg"]}, {}, TableError, "column 'mri', row 1.*maybe"),
        ({"age": [1, 2, None, 4]}, {}, TableError, "column 'age', row 2"),
        ({"best": ["wait", "treat", "pray", "wait"]}, {}, TableError, "unknown action 'pray'"),
        ({}, {"label": "worst"}, TableError, "no column 'worst'"),
        (
            {},
            {"label": None},
            TableError,
            r"the log does not say what every action .* or label=\); its",
        ),
        ({}, {"confidence": 2}, OptionError, "confidence"),
        ({}, {"state": {}}, OptionError, "state= goes with a model"),
        (
            {"action": ["wait"] * 4, "reward": [1] * 4},
            {"label": None},
            TableError,
            "aw.off_policy",
        ),
    ],
)
def test_wrong_tables_are_refused(change, options, error, words):
    with pytest.raises(error, match=words):
        RULE.evaluate(ROWS | change, **({"label": "best"} | options))


def test_what_is_no_table_is_named():
    for thing in (3, None, CLINIC):
        with pytest.raises(ModelError, match="expected a Model, or a table"):
            RULE.evaluate(thing, label="best")
    model = aw.Model(CLINIC, np.full((3, 2), 1 / 6), np.zeros((3, 2, 2)))
    with pytest.raises(OptionError, match="columns of a table"):
        RULE.evaluate(model, label="best")


# --- stakes ---------------------------------------------------------------------------------------

DESK = aw.Problem(
    observations=[aw.Observation("device", values=["known", "new"], cost=0.05)],
    actions=["approve", "review"],
    rewards=(-500, 30),
)
ORDERS = {
    "device": ["known", "new"] * 100,
    "approve": [30, -20] * 100,
    "review": [26, 25] * 100,
}


@pytest.mark.parametrize("stake", [0.5, 1, 2, 20])
def test_a_policy_for_a_stake_is_scored_with_that_stake_in_every_row(stake):
    policy = aw.fit(ORDERS, DESK).recommend(stake=stake)
    found = policy.evaluate(ORDERS)
    # it looks at the device, approves known ones for 30, and reviews the others for 25
    assert found.gain.value == pytest.approx(27.5 * stake - 0.05, rel=1e-6)
    assert found.reward.value == pytest.approx(27.5 * stake, rel=1e-6)
    assert -500 * stake - 0.05 <= found.gain.low < found.gain.value < found.gain.high
    assert found.gain.high <= 30 * stake - 0.05
    unit = aw.fit(ORDERS, DESK).recommend(stake=1).evaluate(ORDERS)
    assert found.reward == pytest.approx([stake * number for number in unit.reward])
    same = policy.evaluate(ORDERS | {"amount": [stake] * 200}, stake="amount")
    for one, other in ((found.gain, same.gain), (found.reward, same.reward)):
        assert one == pytest.approx(other)
    assert found.stake == same.stake == stake


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_counts_its_own_stake(kind, tmp_path):
    rng = np.random.default_rng(0)
    stakes = rng.uniform(0.5, 40, 200).round(2).tolist()
    table = saved(ORDERS | {"amount": stakes}, tmp_path, kind)
    policy = aw.fit(ORDERS, DESK).recommend(stake=3)
    found = policy.evaluate(table, stake="amount")
    gains = [s * (30 if k % 2 == 0 else 25) - 0.05 for k, s in enumerate(stakes)]
    assert found.gain.value == pytest.approx(np.mean(gains), rel=1e-6)
    assert found.spend.value == pytest.approx(0.05)
    assert found.stake == pytest.approx(np.mean(stakes))
    assert found.gain.low < found.gain.value < found.gain.high <= 30 * max(stakes)
    assert "by 200 rows with their own stakes" in str(found)
    named = saved(ORDERS | {"stake": stakes}, tmp_path, kind)
    assert policy.evaluate(named) == found  # a column of that name is read
    wrong = saved(ORDERS | {"amount": [*stakes[:-1], 0]}, tmp_path, kind)
    with pytest.raises(TableError, match=r"amount', row 1?99: stake must be"):
        policy.evaluate(wrong, stake="amount")


def test_a_label_is_right_as_often_whatever_is_at_stake():
    found = RULE.evaluate({name: cells * 20 for name, cells in ROWS.items()}, label="best")
    stakes = [1, 2, 5, 2] * 20
    rows = {name: cells * 20 for name, cells in ROWS.items()} | {"amount": stakes}
    staked = RULE.evaluate(rows, label="best", stake="amount")
    assert staked.reward == found.reward
    assert staked.gain.value == pytest.approx(100 * (1 + 2 + 2) / 4 - 10)


def test_intervals_with_stakes_cover_the_truth():
    """Stakes and rewards go together: a mean of both, in 95 of 100 tables or so."""
    rule = aw.Policy.from_rule(DESK, lambda known: "approve")
    rng, covered = np.random.default_rng(3), 0
    for _ in range(300):
        stakes = rng.choice([1.0, 4.0, 10.0], 150)
        loses = rng.random(150) < np.where(stakes == 10, 0.15, 0.05)
        rows = {"device": ["new"] * 150, "approve": np.where(loses, -500, 30).tolist()}
        rows |= {"review": [25.0] * 150, "amount": stakes.tolist()}
        gain = rule.evaluate(rows, stake="amount").gain
        truth = (3.5 + 3.5 * 4 + (30 - 530 * 0.15) * 10) / 3
        covered += gain.low <= truth <= gain.high
    assert 0.92 <= covered / 300 <= 0.99


def test_stakes_are_columns_of_a_table():
    model = aw.Model(DESK, [0.5, 0.5], [[30, 26], [-20, 25]])
    rule = aw.Policy.from_rule(DESK, lambda known: "approve")
    with pytest.raises(OptionError, match="stake= are columns of a table"):
        rule.evaluate(model, stake="amount")


def test_the_same_spend_in_every_row_is_one_number():
    """A third of 4.4 in three rows is not exactly 4.4."""
    look = aw.Observation("device", values=["known", "new"], cost=4.4)
    problem = aw.Problem(observations=[look], actions=["approve", "review"], rewards=(-500, 30))
    rule = aw.Policy.from_rule(problem, lambda known: "approve" if known else "device")
    for n in range(16, 60):
        rows = {name: cells[: 2 * n - 1] for name, cells in ORDERS.items()}
        found = rule.mixed(rule, 0.3).evaluate(rows)
        assert "\nspend  4.4\n" in str(found)


@pytest.mark.parametrize(
    ("levels", "counts"), [((100, 1), (40, 1_960)), ((100, 10, 1), (40, 160, 1_800))]
)
def test_intervals_hold_where_a_few_large_stakes_decide(levels, counts):
    """With the variance of the rows alone they hold in 66 to 80 of 100 tables."""
    problem = aw.Problem(observations=DESK.observations, actions=["pay", "wait"], rewards=(-20, 1))
    pay = aw.Policy.from_rule(problem, lambda _: "pay")
    stakes = np.repeat(levels, counts).astype(float)
    table = {"device": ["new"] * 2_000, "wait": [0.0] * 2_000, "amount": stakes.tolist()}
    rng, held = np.random.default_rng(4), 0
    for _ in range(60):
        table["pay"] = np.where(rng.random(2_000) < 0.02, -20.0, 1.0).tolist()
        found = pay.evaluate(table, stake="amount")
        held += found.gain.low <= stakes.mean() * 0.58 <= found.gain.high
    assert held >= 0.92 * 60


def test_a_few_large_stakes_are_too_few_rows_for_an_interval():
    amounts = [1.0] * 198 + [5_000.0] * 2
    rule = aw.Policy.from_rule(DESK, lambda known: "approve")
    found = rule.evaluate(ORDERS | {"amount": amounts}, stake="amount")
    assert np.isnan(found.gain.low)
    assert np.isnan(found.reward.high)
    assert not np.isnan(found.spend.low)  # no stake counts for that
    assert "a few rows with large stakes decide, worth 2 rows" in str(found)
    labelled = RULE.evaluate(
        {name: cells * 50 for name, cells in ROWS.items()} | {"amount": amounts},
        label="best",
        stake="amount",
    )
    assert np.isnan(labelled.gain.low)
    assert not np.isnan(labelled.reward.low)


def test_thirty_rows_of_any_one_stake_are_enough():
    rule = aw.Policy.from_rule(DESK, lambda known: "approve")
    rows = {name: cells[:30] for name, cells in ORDERS.items()}
    for stake in (0.1, 0.3, 0.7, 1.1, 3.3):
        found = rule.evaluate(rows | {"amount": [stake] * 30}, stake="amount")
        assert not np.isnan(found.gain.low)
