"""Rows of logs, saved in every form that can be read, and counted by hand."""

import itertools

import duckdb
import pandas as pd
import polars as pl
from hypothesis import strategies as st

import askwise as aw
from askwise.counting import Statistics
from inside import bought

CLINIC = aw.Problem(
    observations=[
        aw.Observation("mri", values=["neg", "pos"], cost=9, fails="charged"),
        aw.Observation.binned("age", edges=[40, 50.5], cost=1),
        aw.Observation("grade", values=[1, 2, 7], cost=2),
        aw.Observation("region", values=["north", "south", "else"], cost=1, other="else"),
    ],
    actions=["wait", "treat"],
    max_observations=3,
    reward_value=100,
)
GIVEN = aw.Problem(
    observations=[
        aw.Observation("sex", values=["f", "m"], given=True),
        aw.Observation("mri", values=["neg", "pos"], cost=9),
        aw.Observation("ward", values=[1, 2, 3], given=True, fails="charged"),
        aw.Observation("biopsy", values=["a", "b"], cost=2),
    ],
    actions=["wait", "treat", "send home"],
)
CELLS = {
    "mri": ["neg", "pos"],
    "age": [31, 40, 47.25, 50.5, 88, float("inf")],
    "grade": [1, 2, 7],
    "region": ["north", "south", "west", "O'Hara"],
    "sex": ["f", "m"],
    "ward": [1, 2, 3],
    "biopsy": ["a", "b"],
}
HALVES = [0.0, 1.0, 0.5, 2**-31, 3 * 2**-31, 0.1, 1 / 3, 0.7 + 2**-31]
"""With some that lie half-way between two units."""


def saved(rows, folder, kind):  # noqa: PLR0911
    """The same rows, wherever: a mapping of lists, frames, files, a relation."""
    if kind == "mapping":
        return rows
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in rows.items()})
    frame = frame.infer_objects()
    if kind == "pandas":
        return frame
    if kind == "polars":
        return pl.DataFrame(rows, strict=False)
    if kind == "lazy":
        return pl.DataFrame(rows, strict=False).lazy()
    if kind == "csv":
        frame.to_csv(folder / "log.csv", index=False)
        return folder / "log.csv"
    if kind == "zipped":
        frame.to_csv(folder / "log.csv.gz", index=False)
        return str(folder / "*.csv.gz")
    frame.to_parquet(folder / "log.parquet")
    if kind == "parquet":
        return [folder / "log.parquet"]
    if kind == "two files":
        half = len(frame) // 2
        frame[:half].to_parquet(folder / "a1.parquet")
        frame[half:].to_parquet(folder / "a2.parquet")
        return str(folder / "a?.parquet")
    assert kind == "relation"
    return duckdb.connect().sql(f"SELECT * FROM read_parquet('{folder / 'log.parquet'}')")


KINDS = ["mapping", "pandas", "polars", "lazy", "csv", "zipped", "parquet", "two files", "relation"]


@st.composite
def complete_rows(draw, problem):
    """A table in which all is known."""
    n = draw(st.integers(4, 20))
    rows = {}
    for o in problem.observations:
        cells = [*CELLS[o.name], *([None] if o.fails else [])]
        rows[o.name] = draw(st.lists(st.sampled_from(cells), min_size=n, max_size=n))
    for action in problem.action_names:
        rows[action] = draw(st.lists(st.sampled_from(HALVES), min_size=n, max_size=n))
    return rows


@st.composite
def decided_rows(draw, problem):
    """A table of decisions: what was looked at, in which order, what was done and earned."""
    n = draw(st.integers(4, 20))
    buyable = [o.name for o in problem.observations if not o.given]
    columns = [*(o.name for o in problem.observations), "order", "action", "reward"]
    rows = {name: [] for name in columns}
    for _ in range(n):
        order = draw(st.permutations(buyable))[: draw(st.integers(0, problem.m))]
        for o in problem.observations:
            cells = [*CELLS[o.name], *(["unavailable"] if o.fails and not o.given else [])]
            cell = draw(st.sampled_from(cells))
            rows[o.name].append(cell if o.given or o.name in order else None)
        rows["order"].append(",".join(order) or None)
        rows["action"].append(draw(st.sampled_from(problem.action_names)))
        rows["reward"].append(draw(st.sampled_from(HALVES)))
    return rows


def value_of(problem, name, cell):
    """What `Statistics.record` takes for a cell."""
    return None if cell == "unavailable" else cell


def recorded(problem, rows, *, at_once):
    statistics = Statistics(aw.states.Lattice(problem))
    given = [o.name for o in problem.observations if o.given]
    for k, order in enumerate(rows["order"]):
        names = [*given, *(order.split(",") if order else [])]
        observed = {name: value_of(problem, name, rows[name][k]) for name in names}
        statistics.record(
            observed, rows["action"][k], rows["reward"][k], acquisition=bought(at_once)
        )
    return statistics


def counted_by_hand(problem, rows):
    """N of every state that a complete row agrees with, straight from the definition."""
    lattice = aw.states.Lattice(problem)
    statistics = Statistics(lattice)
    given = [o.name for o in problem.observations if o.given]
    buyable = [o.name for o in problem.observations if not o.given]
    for k in range(len(rows["wait"])):
        statistics.cases += 1
        statistics.records += 1
        for size in range(problem.m + 1):
            for chosen in itertools.combinations(buyable, size):
                seen = {name: rows[name][k] for name in [*given, *chosen]}
                state = lattice.index(seen)
                statistics.visits[state] += 1
                subset = lattice.subset_of(state)
                statistics.subset_visits[
                    lattice.context_subset(subset, lattice.context(state))
                ] += 1
                statistics.transitions[state, :size] += 1
                for a, action in enumerate(problem.action_names):
                    statistics.count_reward(state, a, rows[action][k])
    return statistics


ROWS = {
    "mri": ["neg", "pos", None],
    "age": [31, 40, 88],
    "grade": [1, 2, 7],
    "region": ["north", "south", "west"],
    "wait": [1.0, 0.0, 0.5],
    "treat": [0.0, 0.5, 1.0],
}
LABELLED = {**ROWS, "truth": ["wait", "treat", "treat"]}
DECIDED = {
    "mri": ["neg", None, "unavailable"],
    "age": [None, 40, 88],
    "grade": [1, None, None],
    "region": [None, None, None],
    "order": ["grade,mri", "age", "mri,age"],
    "action": ["wait", "treat", "wait"],
    "reward": [1.0, 0.5, 0.0],
    "propensity": ["0.5,0.5,1", "0.25,1", "1,1,1"],
}
