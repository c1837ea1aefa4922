"""Counting a log gives the counters of recording its rows one by one, wherever the log is."""

import itertools
import sys
from datetime import UTC, date, datetime, timedelta, timezone

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app
from askwise.counting import Statistics
from askwise.errors import (
    MissingExtraError,
    OptionError,
    StatisticsError,
    TableError,
    TooLargeError,
)
from askwise.logs import counting, draft
from inside import bought, now_of, strategy_of

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
    n = draw(st.integers(2, 12))
    rows = {}
    for o in problem.observations:
        cells = [*CELLS[o.name], *([None] if o.fails else [])]
        rows[o.name] = draw(st.lists(st.sampled_from(cells), min_size=n, max_size=n))
    for action in problem.actions:
        rows[action] = draw(st.lists(st.sampled_from(HALVES), min_size=n, max_size=n))
    return rows


@st.composite
def decided_rows(draw, problem):
    """A table of decisions: what was looked at, in which order, what was done and earned."""
    n = draw(st.integers(2, 12))
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
        rows["action"].append(draw(st.sampled_from(problem.actions)))
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
                for a, action in enumerate(problem.actions):
                    statistics.count_reward(state, a, rows[action][k])
    return statistics


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("problem", [CLINIC, GIVEN], ids=["clinic", "given"])
def test_complete_records_count_in_every_state(problem, kind, tmp_path):
    @settings(max_examples=5)
    @given(rows=complete_rows(problem))
    def check(rows):
        if "age" in rows and kind == "polars":
            rows["age"] = [float(age) for age in rows["age"]]
        fit = aw.fit(saved(rows, tmp_path, kind), problem)
        assert fit.kind == "complete records"
        assert fit.rows == len(rows["wait"])
        assert fit.statistics == counted_by_hand(problem, rows)

    check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("looks", ["simultaneous", "sequential"])
@pytest.mark.parametrize("problem", [CLINIC, GIVEN], ids=["clinic", "given"])
def test_decisions_count_as_if_recorded_one_by_one(problem, looks, kind, tmp_path):
    @settings(max_examples=5)
    @given(rows=decided_rows(problem))
    def check(rows):
        log = dict(rows)
        if looks == "simultaneous":
            del log["order"]
        fit = aw.fit(saved(log, tmp_path, kind), problem, acquisition=looks)
        assert fit.kind == "logged decisions"
        assert fit.acquisition == looks
        assert fit.statistics == recorded(problem, rows, at_once=looks == "simultaneous")

    check()


def test_subsets_are_counted_some_at_a_time(tmp_path, monkeypatch):
    log = saved(ROWS, tmp_path, "parquet")
    for some in (1, 3, 100):
        monkeypatch.setattr("askwise.logs.query_log.SETS_AT_A_TIME", some)
        assert aw.fit(log, CLINIC).statistics == counted_by_hand(CLINIC, ROWS)


@pytest.mark.parametrize("kind", ["mapping", "parquet"])
def test_few_states_of_many_are_counted_sparsely_and_alike(kind, tmp_path, monkeypatch):
    @settings(max_examples=10)
    @given(rows=decided_rows(GIVEN), records=complete_rows(GIVEN))
    def check(rows, records):
        log = saved(rows, tmp_path, kind)
        fit = aw.fit(log, GIVEN)
        assert fit.statistics.is_sparse
        assert fit.statistics == recorded(GIVEN, rows, at_once=False)
        at_once = aw.fit(
            {n: c for n, c in rows.items() if n != "order"}, GIVEN, acquisition="simultaneous"
        )
        assert at_once.statistics.is_sparse
        assert at_once.statistics == recorded(GIVEN, rows, at_once=True)
        complete = aw.fit(saved(records, tmp_path, kind), GIVEN)
        assert complete.statistics.is_sparse
        assert complete.statistics == counted_by_hand(GIVEN, records)

    monkeypatch.setattr(counting, "SPARSE_FROM", 1)
    monkeypatch.setattr(counting, "FEW", 0)
    monkeypatch.setattr("askwise.counting.row_counters.FIRST_ROWS", 2)  # so that rows run out
    check()


@pytest.mark.parametrize("kind", ["mapping", "csv", "parquet"])
def test_an_empty_cell_that_the_order_names_is_a_look_that_failed(kind, tmp_path):
    """As frames of simulated runs have it; their propensities may be unknown."""
    marked = aw.fit(DECIDED, CLINIC)
    rows = {**DECIDED, "mri": ["neg", None, None], "propensity": ["0.5,0.5,1", None, None]}
    assert aw.fit(saved(rows, tmp_path, kind), CLINIC).statistics == marked.statistics


@pytest.mark.parametrize("kind", ["mapping", "csv", "parquet"])
def test_a_label_is_a_reward_of_1_for_the_action_it_names(kind, tmp_path):
    rows = {"mri": ["neg", "pos", "pos"], "truth": ["wait", "treat", "treat"]}
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=1)],
        actions=["wait", "treat"],
    )
    earned = {"wait": [1.0, 0.0, 0.0], "treat": [0.0, 1.0, 1.0]}
    fit = aw.fit(saved(rows, tmp_path, kind), problem, label="truth")
    assert fit.statistics == counted_by_hand(problem, {**rows, **earned})
    by_column = aw.fit(
        {"mri": rows["mri"], "w": earned["wait"], "treat": earned["treat"]},
        problem,
        rewards={"wait": "w"},
    )
    assert by_column.statistics == fit.statistics


NOON = datetime(2024, 3, 1, 12)
ZONE = timezone(timedelta(hours=2))
MOMENTS = [
    ([date(2024, 1, 1), date(2024, 3, 1)], [date(2023, 5, 5), date(2024, 3, 1), date(2030, 1, 1)]),
    ([date(2024, 3, 1)], [NOON, NOON - timedelta(days=1), NOON - timedelta(hours=12)]),
    ([NOON], [NOON, NOON - timedelta(microseconds=1), datetime(2024, 3, 1)]),
    (
        [NOON.replace(tzinfo=ZONE)],
        [NOON.replace(tzinfo=UTC), datetime(2024, 3, 1, 9, tzinfo=UTC)],
    ),
    ([0.1, 2], [0.1, 0.0999, -3.5, 2.0]),
    ([-5, 0, 2**60], [-5, -6, 0, 2**60, 2**60 - 200]),
]


@pytest.mark.parametrize("kind", ["mapping", "csv", "parquet", "relation"])
@pytest.mark.parametrize(("edges", "cells"), MOMENTS)
def test_numbers_and_dates_go_into_their_bins(edges, cells, kind, tmp_path):
    problem = aw.Problem(
        observations=[aw.Observation.binned("when", edges=edges, cost=1)], actions=["go"]
    )
    rows = {"when": cells, "go": [1.0] * len(cells)}
    if kind == "csv":
        lines = [c.isoformat() if isinstance(c, date) else repr(c) for c in cells]
        (tmp_path / "log.csv").write_text("when,go\n" + "".join(f"{c},1\n" for c in lines))
        log = tmp_path / "log.csv"
    elif kind == "mapping":
        log = rows
    else:
        import pyarrow.parquet as pq

        pq.write_table(pa.table(rows), tmp_path / "log.parquet")
        log = str(tmp_path / "log.parquet")
        if kind == "relation":
            log = duckdb.connect().sql(f"SELECT * FROM '{log}'")
    statistics = aw.fit(log, problem).statistics
    expected = Statistics(aw.states.Lattice(problem))
    for cell in cells:
        expected.record({"when": cell}, "go", 1.0, acquisition="simultaneous")
    assert statistics.visits.tolist() == expected.visits.tolist()


def test_columns_of_numbers_match_values_as_they_print(tmp_path):
    """Whole numbers with gaps are floats in pandas; a text file has only texts."""
    rows = pd.DataFrame(
        {"grade": [1.0, np.nan, 7.0], "action": ["wait"] * 3, "reward": [1, 0, 1], "order": ""}
    )
    rows["order"] = ["grade", "", "grade"]
    problem = aw.Problem(
        observations=[aw.Observation("grade", values=[1, 7], cost=1)], actions=["wait"]
    )
    rows.to_parquet(tmp_path / "log.parquet")
    counts = aw.fit(rows, problem).statistics
    assert counts.transitions[:, 0].tolist() == [0, 1, 1]
    assert aw.fit(tmp_path / "log.parquet", problem).statistics == counts
    texts = {"grade": ["1", "", "7"], "action": ["wait"] * 3, "reward": ["1", "0", "1"]}
    assert aw.fit({**texts, "order": [["grade"], [], ["grade"]]}, problem).statistics == counts


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


@pytest.mark.parametrize("kind", ["mapping", "csv", "parquet"])
@pytest.mark.parametrize(
    ("rows", "column", "cell", "options", "words"),
    [
        (ROWS, "mri", "maybe", {}, ["'mri'", "'maybe'", "row 1", "'neg'"]),
        (ROWS, "grade", None, {}, ["'grade'", "row 1", "fails="]),
        (ROWS, "grade", 3, {}, ["'grade'", "3", "row 1"]),
        (ROWS, "treat", 1.5, {}, ["'treat'", "1.5", "row 1", "from 0 to 1"]),
        (ROWS, "treat", float("nan"), {}, ["'treat'", "row 1", "from 0 to 1"]),
        (LABELLED, "truth", "up", {"label": "truth"}, ["'truth'", "row 1", "'up'", "wait, treat"]),
        (DECIDED, "age", "unavailable", {}, ["'age'", "row 1"]),
        (DECIDED, "action", "cut", {}, ["'action'", "'cut'", "row 1", "wait, treat"]),
        (DECIDED, "action", None, {}, ["'action'", "row 1"]),
        (DECIDED, "reward", -0.1, {}, ["'reward'", "-0.1", "row 1"]),
        (DECIDED, "propensity", "0.5,0", {}, ["'propensity'", "row 1"]),
        (DECIDED, "propensity", "1.5", {}, ["'propensity'", "1.5", "row 1"]),
        (DECIDED, "order", "mra", {}, ["'order'", "mra", "row 1"]),
        (DECIDED, "order", "age,age", {}, ["'order'", "age, age", "row 1", "twice"]),
        (DECIDED, "order", "grade", {}, ["row 1", "'age' has a value", "does not name it"]),
        (DECIDED, "order", "age,grade", {}, ["row 1", "'grade' has none", "names it"]),
    ],
)
def test_what_cannot_be_is_named(rows, column, cell, options, words, kind, tmp_path):
    bad = {name: list(cells) for name, cells in rows.items()}
    bad[column][1] = cell
    if kind != "mapping":
        bad = {name: [c if c is None else str(c) for c in cells] for name, cells in bad.items()}
    with pytest.raises(TableError) as error:
        aw.fit(saved(bad, tmp_path, kind), CLINIC, **options)
    for word in words:
        assert word.strip("'") in str(error.value)
    if kind == "csv":
        assert "log.csv" in str(error.value)
    assert "\n" not in str(error.value)


def test_more_looks_than_the_problem_allows_are_refused():
    rows = {name: [cells[0]] for name, cells in ROWS.items()} | {"action": ["wait"]}
    with pytest.raises(
        TableError, match=r"looked at 4 observations \(mri, age.* max_observations=3"
    ):
        aw.fit(rows, CLINIC, action="action", reward="wait")


def test_a_log_that_says_too_little_is_refused(tmp_path):
    rows = dict(ROWS)
    del rows["treat"]
    with pytest.raises(TableError, match=r"neither .*rewards=.* label=.*action= and reward="):
        aw.fit(rows, CLINIC)
    del rows["mri"]
    with pytest.raises(TableError, match="no column 'mri', it has: age"):
        aw.fit(rows, CLINIC, label="wait")
    with pytest.raises(OptionError, match="label='region' is an observation"):
        aw.fit(ROWS, CLINIC, label="region")
    with pytest.raises(TableError, match="no column 'zone'"):
        aw.fit(ROWS, CLINIC, label="zone")
    with pytest.raises(TableError, match="unknown action 'cut'"):
        aw.fit(ROWS, CLINIC, rewards={"cut": "treat"})
    with pytest.raises(OptionError, match="label and action or reward exclude each other"):
        aw.fit(ROWS, CLINIC, label="treat", action="wait")
    with pytest.raises(OptionError, match="order='x' is of logged decisions"):
        aw.fit(ROWS, CLINIC, order="x")
    with pytest.raises(OptionError, match="acquisition must be"):
        aw.fit(DECIDED, CLINIC, acquisition="blindly")
    with pytest.raises(OptionError, match="problem must be a Problem"):
        aw.fit(ROWS, "clinic.yaml")
    log = {name: cells for name, cells in DECIDED.items() if name != "order"}
    with pytest.raises(TableError, match="needs order="):
        aw.fit(log, CLINIC, acquisition="sequential")
    with pytest.raises(TableError, match=r"expected a path, .* got a int"):
        aw.fit(7, CLINIC)
    two = aw.Problem(
        observations=[aw.Observation("grade", values=[1, "1"], cost=1)], actions=["wait"]
    )
    with pytest.raises(TableError, match="two values that print as '1'"):
        aw.fit({"grade": [1], "wait": [1]}, two)


def test_files_that_cannot_be_read_are_named(tmp_path):
    def fails(name, content, message):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TableError, match=message) as error:
            aw.fit(tmp_path / name, CLINIC)
        assert "\n" not in str(error.value)

    with pytest.raises(TableError, match=r"nothing\.csv: there is no such file"):
        aw.fit(tmp_path / "nothing.csv", CLINIC)
    header = ",".join(ROWS).encode()
    fails("a.csv", b"", "is empty")
    fails("b.csv", header + b"\n", "no rows")
    fails("c.csv", header + b"\nneg,31\n", "Line: 2")
    fails("d.csv", header + b"\n\xff\xfe,31,1,north,1,1\n", "UTF-8")
    fails("e.parquet", b"PAR1 or not", r"e\.parquet")
    fails("f.xlsx", b"", r"expected a name ending in \.csv")
    fails("g.csv", b"mri,mri\n", "two columns are called 'mri'")
    good = header + b"\nneg,31,1,north,1,1\n"
    (tmp_path / "x1.csv").write_bytes(good)
    (tmp_path / "x2.csv").write_bytes(good.replace(b"treat", b"other"))
    with pytest.raises(TableError, match=r"x\d\.csv has a column '(other|treat)', but .*x\d\.csv"):
        aw.fit(str(tmp_path / "x*.csv"), CLINIC)


def test_files_with_their_columns_in_another_order_are_one_log(tmp_path):
    frame = pd.DataFrame(ROWS)
    frame.to_csv(tmp_path / "1.csv", index=False)
    frame[frame.columns[::-1]].to_csv(tmp_path / "2.csv", index=False)
    twice = aw.fit(str(tmp_path / "*.csv"), CLINIC).statistics
    assert twice == aw.fit(pd.concat([frame, frame]), CLINIC).statistics


def test_without_duckdb_a_file_needs_the_extra_but_a_frame_does_not(tmp_path, monkeypatch):
    pd.DataFrame(ROWS).to_csv(tmp_path / "log.csv", index=False)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"duckdb.*askwise\[logs\]"):
        aw.fit(tmp_path / "log.csv", CLINIC)
    assert aw.fit(ROWS, CLINIC).rows == 3


def test_complete_records_in_too_many_subsets_are_not_counted_in_them(monkeypatch):
    """The default learner takes them as they are; learners from counters cannot."""
    monkeypatch.setattr("askwise.logs.fitting.MOST_SUBSETS", 14)
    fit = aw.fit(ROWS, CLINIC)
    assert repr(fit) == "<Fit of 3 complete records>"
    assert strategy_of(fit.learner()).log.cases == 3
    for ask in (lambda: fit.statistics, lambda: fit.learner("seq-oos")):
        with pytest.raises(TooLargeError, match="15 subsets"):
            ask()


# --- what can be learned ----------------------------------------------------------------------


def test_different_looks_without_a_word_on_how_they_were_chosen_are_refused():
    log = {name: cells for name, cells in DECIDED.items() if name not in ("order", "propensity")}
    with pytest.raises(
        TableError,
        match=r"no fair sample .* acquisition='simultaneous' .* acquisition='sequential'",
    ):
        aw.fit(log, CLINIC)
    assert aw.fit(log, CLINIC, acquisition="simultaneous").acquisition == "simultaneous"
    one = {name: cells[:1] for name, cells in log.items()}
    assert aw.fit(one, CLINIC).acquisition == "simultaneous"  # all rows looked at the same


def test_notes_say_what_can_be_learned():
    complete = aw.fit(ROWS, CLINIC)
    assert "every state of at most 3 looks is a fair sample" in complete.notes[0]
    ordered = " ".join(aw.fit(DECIDED, CLINIC).notes)
    assert "sets bought at once cannot be learned" in ordered
    assert "off_policy can say" in ordered
    assert "More than one action was tried in 0 of the 3 states" in ordered
    log = {name: cells for name, cells in DECIDED.items() if name not in ("order", "propensity")}
    log["action"] = ["wait"] * 3
    at_once = " ".join(aw.fit(log, CLINIC, acquisition="simultaneous").notes)
    assert "Policies that look one after the other cannot be learned" in at_once
    assert "Nothing can be learned of actions never taken: treat." in at_once
    assert "Without propensities" in at_once
    assert "Every row saw everything" not in at_once
    seen = {"mri": ["neg", "pos"], "sex": ["f", "m"], "ward": [1, 2], "biopsy": ["a", "b"]}
    all_seen = aw.fit({**seen, "action": ["wait"] * 2, "reward": [1, 0]}, GIVEN)
    assert "confounded with how it was chosen" in " ".join(all_seen.notes)
    inside = all_seen.statistics.lattice.index({"mri": "neg", "sex": "f", "ward": 1})
    assert all_seen.statistics.visits[inside] == 1
    assert not all_seen.statistics.action_counts[inside].any()


def test_learners_start_from_what_the_log_can_tell_them():
    complete, ordered = aw.fit(ROWS, CLINIC, rng=1), aw.fit(DECIDED, CLINIC)
    log = {name: cells for name, cells in DECIDED.items() if name not in ("order", "propensity")}
    at_once = aw.fit(log, CLINIC, acquisition="simultaneous")
    for fit, names in ((complete, ["seq-oos", "sim-oos"]), (ordered, ["seq-oos"])):
        for name in names:
            learner = fit.learner(name, width=0.5)
            assert learner.name == name
            assert strategy_of(learner).confidence.width == 0.5
            assert learner.statistics == fit.statistics
            assert now_of(learner).t == 4
    for fit in (complete, ordered, at_once):
        learner = fit.learner()
        assert learner.name == "learner"
        assert strategy_of(learner).acquisition.name == (
            "simultaneous" if fit is at_once else "sequential"
        )
        assert strategy_of(learner).log.cases == now_of(learner).opened == 3
    with pytest.raises(StatisticsError, match="sim-oos learns from simultaneous looks"):
        ordered.learner("sim-oos")
    with pytest.raises(StatisticsError, match="seq-oos learns from sequential looks"):
        at_once.learner("seq-oos")
    assert (
        strategy_of(complete.learner("learner", acquisition="simultaneous")).acquisition.name
        == "simultaneous"
    )
    mri = aw.Observation("mri", values=["neg", "pos"], cost=1)
    small = aw.Problem(observations=[mri], actions=["wait", "treat"])
    one = aw.fit({"mri": ["neg"], "action": ["wait"], "reward": [1]}, small)
    with pytest.raises(StatisticsError, match="more than statistics hold"):
        one.learner("policy-ucb")
    with pytest.raises(OptionError, match="unknown learner 'oracle'"):
        complete.learner("oracle")
    assert strategy_of(ordered.learner("learner")).acquisition.name == "sequential"
    assert strategy_of(at_once.learner("learner")).acquisition.name == "simultaneous"
    for options in ({"window": 100}, {"detect": True}, {"explore_budget": 5.0}):
        with pytest.raises(OptionError, match="not with those of a log"):
            ordered.learner("learner", **options)
    assert strategy_of(at_once.learner("learner", model="additive")).log.cases == 3
    before = complete.statistics.copy()
    complete.learner().open()
    assert complete.statistics == before
    assert "3 complete records" in repr(complete)
    assert "3 logged decisions, sequential" in repr(ordered)


def test_the_joint_model_learns_from_decisions_and_goes_on_in_long_rounds():
    """From a log of one learner another starts with what that one knew."""
    model = aw.environments.breast_cancer(cost=5.0)
    first = aw.SeqOOS(model.problem, rng=0)
    problem, names = model.problem, [o.name for o in model.problem.observations]
    rows = {name: [] for name in [*names, "order", "action", "reward"]}
    rng = np.random.default_rng(0)
    for values in model.sample(rng, 3000):
        full = {o.name: o.values[x] for o, x in zip(problem.observations, values, strict=True)}
        case, order = first.open(), []
        while case.wanted:
            order += case.wanted
            case.observe({name: full[name] for name in case.wanted})
        mean = model.reward[(*values, problem.actions.index(case.action))]
        reward = float(rng.random() < mean)
        case.reward(reward)
        seen = {name: full[name] if name in order else None for name in names}
        for name, cell in {**seen, "action": case.action, "reward": reward}.items():
            rows[name].append(cell)
        rows["order"].append(order)
    fit = aw.fit(rows, problem, rng=0)
    assert fit.statistics == first.statistics
    learner = fit.learner("learner")
    population = aw.environments.Population(model)
    gain = aw.simulate(learner, population, steps=500, rng=1).gain.mean()
    anew = aw.simulate(aw.Learner(problem, rng=0), population, steps=500, rng=1).gain.mean()
    assert gain > anew
    assert now_of(learner).round < 30  # rounds are a part of all cases, those of the log included


def test_the_recommended_policy_is_the_best_where_much_is_known():
    """Against the oracle of the population that the log was drawn from."""
    model = aw.environments.breast_cancer(cost=5.0)
    problem = model.problem
    rng = np.random.default_rng(3)
    values = model.sample(rng, 40_000)
    rows = {
        o.name: [o.outcomes[x] for x in values[:, i]] for i, o in enumerate(problem.observations)
    }
    means = model.reward[tuple(values.T)]
    for a, action in enumerate(problem.actions):
        rows[action] = (rng.random(len(values)) < means[:, a]).astype(float).tolist()
    best = aw.oracle.sequential(model).value
    found = aw.fit(rows, problem).recommend().evaluate(model)
    assert best - 0.5 < found <= best + 1e-9
    fit = aw.fit(rows, problem)
    at_once = fit.learner("sim-oos").recommend().evaluate(model)
    assert aw.oracle.simultaneous(model).value - 0.5 < at_once < best


# --- a draft, and the command line ------------------------------------------------------------

PATIENTS = {
    "age": [str(25 + k % 50) for k in range(200)],
    "mri": ["neg", "pos", "neg", ""] * 50,
    "name": [f"patient {k}" for k in range(200)],
    "unit": ["7"] * 200,
    "best": ["treat" if k % 50 >= 25 else "wait" for k in range(200)],
}


def write_csv(path, rows):
    pd.DataFrame(rows).to_csv(path, index=False)
    return str(path)


def test_a_draft_is_a_problem_that_the_log_fits(tmp_path):
    log = write_csv(tmp_path / "log.csv", PATIENTS)
    drafted = draft(log, label="best")
    age, mri = drafted.problem.observations
    assert age.edges == (50,)  # that is where the label changes
    assert mri.outcomes == ("neg", "pos", None)
    assert [o.cost for o in drafted.problem.observations] == [1.0, 1.0]
    assert drafted.problem.actions == ("treat", "wait")
    assert set(drafted.left_out) == {"name", "unit"}
    (tmp_path / "draft.yaml").write_text(drafted.text())
    problem = aw.Problem.load(tmp_path / "draft.yaml")
    assert problem == drafted.problem
    assert problem == draft(PATIENTS, label="best").problem
    tree = aw.fit(log, problem, label="best").recommend().tree().outline()
    assert tree == "buy age (1)\n├─ <50 → wait\n└─ >=50 → treat"


def test_a_draft_of_decisions_takes_empty_cells_for_what_was_not_looked_at(tmp_path):
    rows = {
        "mri": ["neg", "pos", None, "unavailable"] * 50,
        "age": [31.0, None, 47.0, 52.0] * 50,
        "action": ["wait", "treat"] * 100,
        "reward": [0.5, 1.0] * 100,
        "order": ["mri,age", "mri", "age", "age,mri"] * 50,
    }
    problem = draft(rows).problem
    mri, age = problem.observations
    assert (mri.outcomes, mri.fails) == (("neg", "pos", None), "charged")
    assert age.fails is None
    assert aw.fit(rows, problem).rows == 200
    with pytest.raises(TableError, match=r"no column 'action'.* label="):
        draft(PATIENTS)
    with pytest.raises(OptionError, match="exclude each other"):
        draft(PATIENTS, label="best", action="best")
    with pytest.raises(TableError, match="200 different actions"):
        draft(PATIENTS, label="name")
    with pytest.raises(TableError, match="could be looked at"):
        draft({"unit": [1, 1], "a": [0, 1]}, rewards={"go": "a"})


def askwise(*arguments):
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_line_drafts_fits_and_saves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv("log.csv", PATIENTS)
    guess = ("fit", "log.csv", "--guess-problem", "--label", "best")
    assert "edges: [50]" in askwise(*guess)
    assert "drafted p.yaml" in askwise(*guess, "--output", "p.yaml")
    with pytest.raises(OptionError, match=r"p\.yaml: there is such a file"):
        askwise(*guess, "--output", "p.yaml")
    with pytest.raises(OptionError, match=r"\.yaml or \.yml"):
        askwise(*guess, "--output", "p.json")
    fitted = ("fit", "log.csv", "--problem", "p.yaml", "--label", "best")
    printed = askwise(*fitted, "--save", "log.askwise")
    assert "200 complete records" in printed
    assert "- Everything is known in every row" in printed
    assert "What to buy and do:\n\n" in printed
    assert "buy age (1)" in printed
    assert "├─ <50 → wait" in printed
    loaded = aw.load("log.askwise")
    problem = aw.Problem.load("p.yaml")
    fit = aw.fit("log.csv", problem, label="best")
    for kept, known in zip(strategy_of(loaded).log.records, fit.records, strict=True):
        assert np.array_equal(kept, known)
    assert loaded.recommend().tree() == fit.recommend().tree()
    assert "buy age (1)" in askwise(*fitted, "--learner", "sim-oos")
    with pytest.raises(OptionError, match="--guess-problem drafts one"):
        askwise("fit", "log.csv", "--label", "best")
    with pytest.raises(OptionError, match="--save"):
        askwise(*fitted, "--output", "x.yaml")
    with pytest.raises(OptionError, match="there is no folder"):
        askwise(*fitted, "--save", "nowhere/x.askwise")


def test_the_command_line_takes_rewards_and_decisions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CLINIC.save("clinic.yaml")
    write_csv("decided.csv", DECIDED)
    printed = askwise("fit", "decided.csv", "--problem", "clinic.yaml")
    assert "3 logged decisions, sequential" in printed
    write_csv("rows.csv", {"good": ROWS["wait"], **ROWS})
    rewards = ("--reward", "wait=good", "--reward", "treat=treat")
    assert "3 complete" in askwise("fit", "rows.csv", "--problem", "clinic.yaml", *rewards)
    with pytest.raises(OptionError, match="--reward is given 2 times"):
        askwise("fit", "rows.csv", "--problem", "clinic.yaml", "--reward", "a", "--reward", "b")
