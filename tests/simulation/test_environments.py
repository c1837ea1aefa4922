import itertools
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import askwise as aw
from askwise.errors import ModelError, OptionError, TableError
from askwise.simulation.environments import (
    Population,
    Table,
    breast_cancer,
    model_at_random,
    random_model,
    wisconsin,
)

CLINIC = aw.Problem(
    observations=[
        aw.Observation("mri", values=["neg", "pos"], cost=9.0),
        aw.Observation("grade", values=[1, 2, 3], cost=1.0),
    ],
    actions=["wait", "treat"],
)
ROWS = {
    "mri": ["neg", "neg", "pos", "neg", "pos"],
    "grade": [1, 3, 3, 1, 2],
    "well": [1.0, 0.5, 0.0, 0.0, 0.25],
    "cured": [0.0, 0.5, 1.0, 1.0, 0.75],
}
REWARDS = {"wait": "well", "treat": "cured"}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "lists": dict,
    "numpy": lambda rows: {name: np.array(column) for name, column in rows.items()},
}


def rng(seed=0):
    return np.random.default_rng(seed)


# --- a population --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [breast_cancer(), random_model(rng(5), [3, 2, 4], actions=2)],
    ids=["patients", "random"],
)
def test_a_population_is_drawn_as_its_model_says(model):
    draws = Population(model).draw(rng(1), 200_000)
    place = np.ravel_multi_index(tuple(draws.values.T), model.probability.shape)
    counts = np.bincount(place, minlength=model.probability.size)
    assert chisquare(counts, 200_000 * model.probability.ravel()).pvalue > 0.001
    assert np.isin(draws.rewards, (0.0, 1.0)).all()
    means = model.reward.reshape(model.probability.size, -1)
    earned = np.zeros_like(means)
    np.add.at(earned, place, draws.rewards)
    spread = np.sqrt(counts[:, None] * means * (1 - means))
    off = np.abs(earned - counts[:, None] * means) / np.maximum(spread, 1.0)
    assert off.max() < 5  # of several hundred normal numbers


def test_the_better_action_is_never_worse_in_a_case():
    model = random_model(rng(2), [4], actions=2)
    draws = Population(model).draw(rng(3), 10_000)
    means = model.reward[draws.values[:, 0]]
    better = means.argmax(axis=1)
    here = np.arange(len(better))
    assert (draws.rewards[here, better] >= draws.rewards[here, 1 - better]).all()
    assert (draws.rewards[here, better] > draws.rewards[here, 1 - better]).any()


# --- a table -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_draws(kind):
    expected = Table(CLINIC, ROWS, rewards=REWARDS).draw(rng(4), 1000)
    table = Table(CLINIC, FRAMES[kind](ROWS), rewards=REWARDS)
    draws = table.draw(rng(4), 1000)
    assert len(table) == 5
    assert table.problem is CLINIC
    assert np.array_equal(draws.values, expected.values)
    assert np.array_equal(draws.rewards, expected.rewards)


def test_rows_are_drawn_whole_and_equally_often():
    draws = Table(CLINIC, ROWS, rewards=REWARDS).draw(rng(5), 50_000)
    rows = {
        (["neg", "pos"].index(mri), grade - 1, well, cured): row
        for row, (mri, grade, well, cured) in enumerate(zip(*ROWS.values(), strict=True))
    }
    drawn = [
        rows[*values, *rewards]
        for values, rewards in zip(draws.values.tolist(), draws.rewards.tolist(), strict=True)
    ]
    assert chisquare(np.bincount(drawn, minlength=5)).pvalue > 0.001


def test_a_table_is_a_model_of_its_rows():
    model = Table(CLINIC, ROWS, rewards=REWARDS).model()
    assert model.problem is CLINIC
    assert model.probability.tolist() == [[0.4, 0.0, 0.2], [0.0, 0.2, 0.2]]
    assert model.reward[0, 0].tolist() == [0.5, 0.5]  # of two rows
    assert model.reward[0, 2].tolist() == [0.5, 0.5]
    assert model.reward[1, 1].tolist() == [0.25, 0.75]
    assert model.reward[1, 2].tolist() == [0.0, 1.0]
    assert not model.reward[0, 1].any()  # no such row


def test_the_columns_of_the_actions_are_named_as_they_are_unless_told():
    renamed = {**ROWS, "wait": ROWS["well"], "treat": ROWS["cured"]}
    by_name = Table(CLINIC, renamed).draw(rng(6), 100)
    told = Table(CLINIC, ROWS, rewards=REWARDS).draw(rng(6), 100)
    assert np.array_equal(by_name.rewards, told.rewards)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("mri", 1, "huh", "column 'mri', row 1: .*'huh'.*, expected one of: 'neg', 'pos'"),
        ("grade", 4, 7, "column 'grade', row 4: .*7.*, expected one of: 1, 2, 3"),
        ("well", 2, float("nan"), "column 'well', row 2: expected a reward from 0 to 1, got .*nan"),
        ("cured", 3, 1.5, r"column 'cured', row 3: expected a reward from 0 to 1, got .*1\.5"),
        ("well", 0, -0.1, r"column 'well', row 0: expected a reward from 0 to 1, got .*-0\.1"),
    ],
    ids=["text", "number", "nan", "above 1", "below 0"],
)
def test_a_bad_cell_is_named(kind, column, row, value, message):
    rows = {name: list(cells) for name, cells in ROWS.items()}
    rows[column][row] = value
    with pytest.raises(TableError, match=message):
        Table(CLINIC, FRAMES[kind](rows), rewards=REWARDS)


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "lists"])
@pytest.mark.parametrize("column", ROWS)
def test_a_missing_cell_is_named(kind, column):
    rows = {name: list(cells) for name, cells in ROWS.items()}
    rows[column][2] = None
    with pytest.raises(TableError, match=f"column '{column}', row 2: .*None"):
        Table(CLINIC, FRAMES[kind](rows), rewards=REWARDS)


def test_the_text_unavailable_is_a_failure_as_in_logs():
    scan = aw.Observation("scan", values=["neg", "pos"], cost=1.0, fails="charged")
    problem = aw.Problem(observations=[scan], actions=["wait", "treat"])
    rows = {"scan": ["neg", "unavailable", None], "wait": [1, 0, 0], "treat": [0, 1, 1]}
    assert Table(problem, rows).model().probability == pytest.approx([1 / 3, 0, 2 / 3])

    never = aw.Problem(
        observations=[aw.Observation("scan", values=["neg", "pos"], cost=1.0)],
        actions=["wait", "treat"],
    )
    with pytest.raises(TableError, match=r"row 1: .* declare fails= if it may fail"):
        Table(never, rows)


@pytest.mark.parametrize("value", [True, 1.0, "1"])
def test_a_value_that_only_looks_like_a_declared_one_is_refused(value):
    with pytest.raises(TableError, match=f"column 'grade', row 3: .*{re.escape(repr(value))}"):
        Table(CLINIC, {**ROWS, "grade": [1, 3, 3, value, 2]}, rewards=REWARDS)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("column", ROWS)
def test_a_missing_column_is_named(kind, column):
    rows = {name: cells for name, cells in ROWS.items() if name != column}
    with pytest.raises(TableError, match=f"the table has no column '{column}'"):
        Table(CLINIC, FRAMES[kind](rows), rewards=REWARDS)


@pytest.mark.parametrize("kind", FRAMES)
def test_an_empty_table_is_refused(kind):
    frame = FRAMES[kind]({name: cells[:0] for name, cells in ROWS.items()})
    with pytest.raises(TableError, match="the table has no rows"):
        Table(CLINIC, frame, rewards=REWARDS)


@pytest.mark.parametrize(
    ("frame", "rewards", "message"),
    [
        (ROWS, {**REWARDS, "operate": "well"}, "rewards: unknown action 'operate'"),
        (ROWS, {"wait": "well"}, "rewards: no column is given for the action 'treat'"),
        (
            {**ROWS, "grade": [1, 2]},
            REWARDS,
            "the columns have different lengths: 'mri' has 5 cells, 'grade' has 2",
        ),
        (
            {**ROWS, "well": ["good"] * 5},
            REWARDS,
            "column 'well', row 0: expected a reward from 0 to 1, got 'good'",
        ),
        (5, REWARDS, "expected a data frame or a mapping of columns: .*int"),
        ([[1, 2]], REWARDS, "expected a data frame or a mapping of columns: .*list"),
        (pl.LazyFrame(ROWS), REWARDS, "expected a data frame or a mapping of columns"),
    ],
    ids=["unknown action", "no column", "lengths", "text", "number", "list", "lazy"],
)
def test_what_is_no_table_of_the_problem_is_refused(frame, rewards, message):
    with pytest.raises(TableError, match=message):
        Table(CLINIC, frame, rewards=rewards)


# --- the breast-cancer population ----------------------------------------------------------------


def test_the_patients_are_as_documented():
    model = breast_cancer()
    assert model.probability.shape == (4, 2, 3, 5)
    assert abs(model.probability.sum() - 1) < 1e-12
    ages = model.probability.sum(axis=(1, 2, 3))
    assert ages == pytest.approx([0.10, 0.25, 0.40, 0.25], abs=1e-12)
    positive = model.probability[:, 1].sum(axis=(1, 2)) / ages
    assert positive == pytest.approx([0.55, 0.62, 0.74, 0.80], abs=1e-12)
    assert model.reward.sum(axis=-1) == pytest.approx(np.ones((4, 2, 3, 5)))  # one is the best
    for share in ages.tolist() + positive.tolist():
        assert f"{share:.2f}".lstrip("0") in breast_cancer.__doc__


def test_what_is_bought_is_worth_it():
    """The claims the population is made for, in units of β = 100 at a price of 5."""
    model = breast_cancer(5.0)
    nothing = aw.oracle.fixed(model, []).value
    together = aw.oracle.simultaneous(model).value
    one_by_one = aw.oracle.sequential(model).value
    beta = model.problem.reward_value
    assert beta == 100.0
    assert one_by_one - nothing >= 0.10 * beta
    assert one_by_one - together >= 0.03 * beta
    assert together > nothing


def test_what_is_bought_changes_as_prices_rise():
    prices = (1.0, 13.0, 17.0, 22.0, 25.0)
    sets, trees = [], []
    for price in prices:
        model = breast_cancer(price)
        sets.append(aw.oracle.simultaneous(model).observations)
        trees.append(aw.oracle.sequential(model).tree().outline().replace(f" ({price:g})", ""))
    assert sets == [
        ("age", "estrogen receptor", "WHO score"),
        ("age", "WHO score"),
        ("WHO score",),
        (),
        (),
    ]
    assert len(set(trees)) == 4
    assert all(
        (sets[i], trees[i]) != (sets[j], trees[j]) for i, j in itertools.combinations(range(5), 2)
    )
    assert trees[-1] == "AC (buying nothing)"


def test_the_price_is_all_that_its_argument_changes():
    cheap, dear = breast_cancer(1.0), breast_cancer(20.0)
    assert np.array_equal(cheap.probability, dear.probability)
    assert np.array_equal(cheap.reward, dear.reward)
    assert {o.cost for o in dear.problem.observations} == {20.0}
    assert breast_cancer(max_observations=1, reward_value=7.0).problem.m == 1
    assert breast_cancer(max_observations=1, reward_value=7.0).problem.reward_value == 7.0


# --- real patients -------------------------------------------------------------------------------


def test_the_wisconsin_table():
    table = wisconsin()
    assert len(table) == 569
    assert len(table.problem.observations) == 6
    assert table.problem.m == 3
    model = table.model()
    thirds = [
        model.probability.sum(axis=tuple(set(range(6)) - {observation})) for observation in range(6)
    ]
    assert np.array(thirds) == pytest.approx(np.full((6, 3), 1 / 3), abs=0.01)
    nothing = aw.oracle.fixed(model, []).value
    assert nothing == pytest.approx(100 * 357 / 569)  # the benign ones
    assert aw.oracle.simultaneous(model).value > nothing + 20
    assert aw.oracle.sequential(model).value > aw.oracle.simultaneous(model).value


def test_seq_oos_learns_the_wisconsin_table():
    table = wisconsin()
    best = aw.oracle.sequential(table.model()).value
    learner = aw.SeqOOS(table.problem, rng=0)
    run = aw.simulate(learner, table, steps=100_000, rng=0)
    assert run.gain[-10_000:].mean() >= 0.95 * best
    assert learner.recommend().evaluate(table.model()) >= 0.95 * best


# --- random models -------------------------------------------------------------------------------


def test_a_random_model_is_its_seeds():
    first, again, other = (random_model(rng(seed), [2, 3], actions=4) for seed in (1, 1, 2))
    assert first.problem == again.problem != other.problem
    assert np.array_equal(first.probability, again.probability)
    assert np.array_equal(first.reward, again.reward)
    assert not np.array_equal(first.probability, other.probability)
    assert first.reward.shape == (2, 3, 4)


def test_a_model_at_random_keeps_the_problem():
    model = model_at_random(rng(3), CLINIC)
    assert model.problem is CLINIC
    assert np.array_equal(model.reward, model_at_random(rng(3), CLINIC).reward)
    assert not np.array_equal(model.reward, model_at_random(rng(4), CLINIC).reward)


@pytest.mark.parametrize(
    ("attempt", "error", "message"),
    [
        (lambda m: aw.environments.Table({}, m.problem), TableError, "problem must be a Problem"),
        (lambda m: Population(m.problem), ModelError, "expected a Model, got Problem"),
        (lambda m: aw.oracle.sequential(m.problem), ModelError, "expected a Model"),
        (lambda m: aw.SeqOOS(m.problem).policy.evaluate(1), ModelError, "expected a Model"),
        (lambda m: aw.Model("x", [1], [1]), ModelError, "problem must be a Problem, got str"),
        (lambda m: aw.simulate(aw.SeqOOS, Population(m), steps=1), OptionError, "a learner"),
    ],
)
def test_the_wrong_kind_of_thing_is_named(attempt, error, message):
    model = random_model(np.random.default_rng(0), [2, 2])
    with pytest.raises(error, match=message):
        attempt(model)
