"""Rewards in the currency: what is told comes back, and what cannot be is refused in one way."""

import math
import pickle
from decimal import Decimal

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import askwise as aw
from askwise.counting import UNIT
from askwise.errors import CaseError, ModelError, ProblemError, TableError
from askwise.problem.rewards import all_money_of
from askwise.simulation.environments import Table

MRI = aw.Observation("mri", values=["neg", "pos"], cost=9)


def problem(**more):
    return aw.Problem(observations=[MRI], actions=["wait", "treat"], **more)


DESK = problem(rewards=(-500, 30))
ends = st.floats(-1e6, 1e6).map(lambda x: round(x, 2))


def test_beta_is_what_lies_between_the_ends():
    assert DESK.rewards == (-500.0, 30.0)
    assert (DESK.reward_value, DESK.lowest_reward) == (530.0, -500.0)
    assert (problem().reward_value, problem().lowest_reward) == (1.0, 0.0)
    assert problem(reward_value=5).rewards is None


@pytest.mark.parametrize("wrong", [(1, 1), (10, 1)])
def test_the_lowest_reward_is_below_the_highest(wrong):
    with pytest.raises(ProblemError, match=r"the first below the second.*, got \(1"):
        problem(rewards=wrong)


@given(ends, st.floats(1, 1e6), st.floats(0, 1))
def test_money_comes_back_as_it_was_told_and_never_leaves_the_range(low, more, part):
    high = low + more
    within = problem(rewards=(low, high))
    told = min(high, max(low, round(low + part * (high - low), 2)))
    share = within.as_share(told)
    assert 0 <= share <= 1
    assert within.as_money(share) == pytest.approx(told, abs=1e-10 * (high - low) + 1e-9 * UNIT)
    assert (within.as_share(low), within.as_share(high)) == (0.0, 1.0)
    assert (within.as_money(0.0), within.as_money(1.0)) == (low, high)
    many = all_money_of(np.array([0.0, part, 1.0]), within.rewards)
    assert many[[0, 2]].tolist() == [low, high]
    assert low <= many[1] <= high
    assert within.as_share(float(many[1])) == pytest.approx(part, abs=1e-9)


def test_cents_come_back_to_the_cent():
    for cents in range(-50_000, 3_001, 7):
        assert DESK.as_money(DESK.as_share(cents / 100)) == cents / 100


@pytest.mark.parametrize("told", [-500.01, 30.01, 31])
def test_a_reward_out_of_the_range_is_refused_with_the_range_and_the_remedy(told):
    case = aw.Learner(DESK, rng=1).open()
    while case.wanted:
        case.observe(dict.fromkeys(case.wanted, "neg"))
    words = r"from -500 to 30, got .*; declare wider rewards in the problem"
    for tell in (case.reward, case.reward_by_default):
        with pytest.raises(CaseError, match=words):
            tell(told)
    assert case.earned is None
    case.reward(-77.7)
    assert case.earned == -77.7


@pytest.mark.parametrize("told", ["3", "50,00", math.nan, math.inf, None, [3.0]])
@pytest.mark.parametrize("problem", [DESK, problem()], ids=["money", "share"])
def test_what_is_no_number_is_refused_as_such(problem, told):
    """Other rewards in the problem would not help."""
    with pytest.raises(CaseError, match=r"reward must be a number from .* to \d+, got") as refused:
        problem.as_share(told)
    assert "declare" not in str(refused.value)
    assert ("write a number without quotes" in str(refused.value)) == isinstance(told, str)


@pytest.mark.parametrize("kind", ["frame", "csv"])
@pytest.mark.parametrize(
    ("cell", "remedy"),
    [
        ("50,00", "write a number, with a point for decimals"),
        (None, "write a number, or leave such rows out"),
        (31.0, "declare wider rewards in the problem"),
        ("31", "declare wider rewards in the problem"),
    ],
)
def test_a_cell_that_is_no_reward_is_refused_with_its_own_remedy(kind, cell, remedy, tmp_path):
    rows = pd.DataFrame({"mri": ["neg", "pos"], "wait": [0, cell], "treat": [0, 0]})
    if kind == "csv":
        rows.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(TableError, match=f"expected a reward from -500 to 30.*; {remedy}"):
        aw.fit(rows if kind == "frame" else tmp_path / "log.csv", DESK)


def test_a_label_in_money_is_noted_as_the_most_and_the_least():
    rows = {"mri": ["neg", "pos"], "best": ["wait", "treat"], "wait": [0, -9], "treat": [-9, 5]}
    (note,) = (note for note in aw.fit(rows, DESK, label="best").notes if "'best'" in note)
    assert "as earning 30, the most" in note
    assert "every other action as earning -500, the least" in note
    assert "rewards={action: column}" in note
    by_columns = aw.fit(rows, DESK, rewards={"wait": "wait", "treat": "treat"}).notes
    in_shares = aw.fit(rows, problem(), label="best").notes
    assert not any("the least" in note for note in (*by_columns, *in_shares))


def test_without_rewards_the_refusal_says_how_to_tell_money():
    with pytest.raises(CaseError, match=r"from 0 to 1, got -5.0; declare rewards \(low, high\)"):
        problem().as_share(-5.0)


@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        ((1, 1), "two numbers"),
        ((5, 1), "two numbers"),
        ((0,), "two numbers"),
        ("ab", "two numbers"),
        (("0", 5), "without quotes"),
        ((0, math.inf), "two numbers"),
        ((-2e9, 0), "another unit"),
        ((0, 1e-10), "reward_value must be from"),
        (7, "two numbers"),
    ],
)
def test_a_range_that_cannot_be_is_refused(rewards, words):
    with pytest.raises(ProblemError, match=words):
        problem(rewards=rewards)


@pytest.mark.parametrize("value", [1.0, 2, 100.0])
def test_rewards_exclude_a_reward_value(value):
    with pytest.raises(ProblemError, match="exclude each other"):
        problem(rewards=(-500, 30), reward_value=value)


def test_files_say_rewards_alone_and_every_form_is_read_back(tmp_path):
    for name in ("desk.yaml", "desk.json"):
        DESK.save(tmp_path / name)
        assert "reward_value" not in (tmp_path / name).read_text()
        assert aw.Problem.load(tmp_path / name) == DESK
    assert msgspec.json.decode(msgspec.json.encode(DESK), type=aw.Problem) == DESK
    assert pickle.loads(pickle.dumps(DESK)) == DESK
    assert DESK.priced({"mri": 4.0}).rewards == DESK.rewards
    (tmp_path / "both.yaml").write_text(
        "observations: [{name: mri, values: [neg, pos], cost: 9}]\nactions: [wait]\n"
        "reward_value: 7\nrewards: [-5, 5]\n"
    )
    with pytest.raises(aw.AskwiseError, match="exclude each other"):
        aw.Problem.load(tmp_path / "both.yaml")


def test_counters_of_another_range_are_of_another_problem():
    other = problem(rewards=(-600, 30))
    same_width = problem(rewards=(-530, 0))
    lattice = aw.states.Lattice
    assert lattice(DESK) != lattice(other)
    assert lattice(DESK) != lattice(same_width)
    assert lattice(DESK) == lattice(DESK.priced({"mri": 1.0}))


def test_models_and_tables_take_money():
    model = aw.Model(DESK, [0.8, 0.2], [[30, -235], [-500, 30]])
    assert model.reward.tolist() == [[1.0, 0.5], [0.0, 1.0]]
    assert model.priced({"mri": 1.0}).reward.tolist() == model.reward.tolist()
    with pytest.raises(ModelError, match=r"between -500 and 30, got 31.*wider rewards"):
        aw.Model(DESK, [0.8, 0.2], [[31, 0], [0, 0]])
    rows = {"mri": ["neg", "pos"], "wait": [30, -500], "treat": [-235, 30]}
    table = Table(DESK, rows)
    assert table.model().reward.tolist() == [[1.0, 0.5], [0.0, 1.0]]
    with pytest.raises(
        TableError, match=r"column 'wait', row 1: expected a reward from -500 to 30"
    ):
        Table(DESK, rows | {"wait": [30, -501]})


def test_what_is_shown_of_a_problem_says_money():
    assert "rewards -500 to 30" in DESK._repr_html_()
    assert (
        "an action earns from -500 to 30"
        in aw.explain(aw.Model(DESK, [0.8, 0.2], [[30, -235], [-500, 30]])).html()
    )


@pytest.mark.parametrize("stake", [0.29, 1.35, 7.7, 1_234.56])
def test_a_total_divided_by_its_stake_is_a_reward_however_it_was_rounded(stake, tmp_path):
    told = np.nextafter(30.0 * stake / stake, math.inf)
    case = aw.Learner(DESK, rng=0).open(stake=stake)
    while case.wanted:
        case.observe({"mri": "neg"})
    case.reward(told)
    assert case.earned == 30.0
    assert aw.Model(DESK, [0.5, 0.5], [[told, 0.0], [0.0, -500.0]]).reward[0, 0] == 1.0
    log = {"mri": ["neg"], "wait": [told], "treat": [np.nextafter(-500.0, -math.inf)]}
    assert Table(DESK, log).model().reward[0].tolist() == [1.0, 0.0]
    pd.DataFrame(log).to_parquet(tmp_path / "log.parquet")
    for source in (log, str(tmp_path / "log.parquet")):
        assert aw.fit(source, DESK).rows == 1


def test_a_reward_that_is_off_by_more_is_refused_as_before():
    case = aw.Learner(DESK, rng=0).open()
    while case.wanted:
        case.observe({"mri": "neg"})
    for wrong in (30.001, -500.001):
        with pytest.raises(CaseError, match="from -500 to 30"):
            case.reward(wrong)
        with pytest.raises(ModelError, match="between -500 and 30"):
            aw.Model(DESK, [0.5, 0.5], [[wrong, 0.0], [0.0, 0.0]])
        with pytest.raises(TableError, match="from -500 to 30"):
            aw.fit({"mri": ["neg"], "wait": [wrong], "treat": [0.0]}, DESK)


def test_a_decimal_is_refused_with_what_to_write():
    case = aw.Learner(DESK, rng=0).open()
    while case.wanted:
        case.observe({"mri": "neg"})
    with pytest.raises(CaseError, match=r"write it as a float, float\('2.50'\)"):
        case.reward(Decimal("2.50"))
    with pytest.raises(ProblemError, match=r"float\('9'\)"):
        aw.Observation("mri", values=["neg", "pos"], cost=Decimal(9))


def test_a_case_with_a_default_reward_says_how_it_is_closed():
    case = aw.Learner(DESK, rng=0).open()
    while case.wanted:
        case.observe({"mri": "neg"})
    case.reward_by_default(0.0)
    with pytest.raises(CaseError, match=r"has a reward by default already: report the real one"):
        case.cancel()
