"""Cells of logs are read as values, bins and rewards, wherever the log is."""

from datetime import UTC, date, datetime, timedelta, timezone

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import askwise as aw
from askwise.counting import Statistics

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
