"""Counting a log gives the counters of recording its rows one by one, wherever the log is."""

import pytest
from hypothesis import given, settings

import askwise as aw
from askwise.logs import counting
from log_rows import (
    CLINIC,
    DECIDED,
    GIVEN,
    KINDS,
    ROWS,
    complete_rows,
    counted_by_hand,
    decided_rows,
    recorded,
    saved,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("problem", [CLINIC, GIVEN], ids=["clinic", "given"])
def test_complete_records_count_in_every_state(problem, kind, tmp_path):
    @settings(max_examples=3)
    @given(rows=complete_rows(problem))
    def check(rows):
        if "age" in rows and kind == "polars":
            rows["age"] = [float(age) for age in rows["age"]]
        fit = aw.fit(saved(rows, tmp_path, kind), problem)
        assert fit.kind == "complete records"
        assert fit.rows == len(rows["wait"])
        assert fit.statistics == counted_by_hand(problem, rows)

    check()


@pytest.mark.parametrize(
    ("looks", "kind"),
    [
        *(("sequential", kind) for kind in KINDS),
        *(("simultaneous", kind) for kind in ("mapping", "parquet")),  # only counted otherwise
    ],
)
@pytest.mark.parametrize("problem", [CLINIC, GIVEN], ids=["clinic", "given"])
def test_decisions_count_as_if_recorded_one_by_one(problem, looks, kind, tmp_path):
    @settings(max_examples=3)
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
