import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwise import Observation, Problem, Statistics
from askwise.errors import AskwiseError, CaseError, FileError, ProblemError, TableError
from askwise.learners.baselines import ContextualUCB
from askwise.logs.cells import digits_of
from askwise.simulation.environments import Table
from askwise.states import Lattice


def clinic(*observations):
    return Problem(observations=observations, actions=["wait", "treat"])


# --- what is declared ----------------------------------------------------------------------------

DAY = date(2020, 1, 1)
MOMENT = datetime(2020, 1, 1, 12)


def test_bins_have_names_that_people_can_read():
    age = Observation.binned("age", edges=[40, 50.0, 62.5], cost=1.0, fails="charged")
    assert age.values == ("<40", "40-50", "50-62.5", ">=62.5")
    assert age.outcomes == (*age.values, None)
    since = Observation.binned("since", edges=[DAY, "2021-01-01"], given=True)
    assert since.values == ("<2020-01-01", "2020-01-01 to 2021-01-01", ">=2021-01-01")
    assert since.edges == (DAY, date(2021, 1, 1))
    named = Observation("age", values=["young", "old"], edges=[40], cost=1)
    assert named.values == ("young", "old")
    assert named != Observation("age", values=["young", "old"], edges=[41], cost=1)
    assert named != Observation("age", values=["young", "old"], cost=1)
    assert "edges" not in repr(Observation("mri", values=["neg"], cost=1))
    assert len({age, since, named}) == 3


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([], "edges is empty, expected at least one"),
        ((), "edges is empty, expected at least one"),
        (40, "edges must be a list, got 40"),
        ([40, math.inf], "edge inf must be a finite number or a date"),
        ([math.nan], "edge nan must be a finite number or a date"),
        ([True], "edge True must be a finite number or a date"),
        ([10**400], "edge 10+ must be a finite number or a date"),
        (["soon"], "edge 'soon' must be a finite number or a date"),
        ([pd.NaT], "edge NaT must be a finite number or a date"),
        ([40, 40], "edge 40 must be above the one before it, 40"),
        ([50, 40], "edge 40 must be above the one before it, 50"),
        ([DAY, DAY], r"edge datetime.date\(2020, 1, 1\) must be above .* 2020-01-01"),
        ([40, DAY], "edge datetime.* is a date, but the first is a number"),
        ([DAY, MOMENT], "edge datetime.* is a date and time, but the first is a date"),
        (
            [MOMENT, MOMENT.replace(tzinfo=UTC)],
            "edge datetime.* is a date and time with a time zone, but",
        ),
    ],
)
def test_edges(edges, message):
    with pytest.raises(ProblemError, match=f"observation 'age': {message}"):
        Observation.binned("age", edges=edges, cost=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edges": [40, 50]}, "2 values for 3 bins, expected 3, one for each bin"),
        ({"edges": [40], "values": ["young", 2]}, "value 2 names a bin, so it must be a text"),
        ({"edges": [40], "values": ["old", "old"]}, "value 'old' is given twice"),
        ({"edges": [40], "other": "pos"}, "it has edges, so leave out other, got 'pos'"),
        ({"other": "rest"}, "other must be one of 'neg', 'pos', got 'rest'"),
        ({"values": [0, 1], "other": True}, "other must be one of 0, 1, got True"),
        ({"values": [0, 1], "other": 1.0}, "other must be one of 0, 1, got 1.0"),
        ({"values": ()}, "values is empty"),
    ],
)
def test_bins_and_others(changes, message):
    with pytest.raises(ProblemError, match=f"observation 'mri': {message}"):
        Observation("mri", **{"values": ["neg", "pos"], "cost": 9.0} | changes)


kinds = st.one_of(
    st.lists(st.integers(-(2**60), 2**60) | st.floats(-1e300, 1e300), min_size=1, unique=True),
    st.lists(st.dates(), min_size=1, unique=True),
    st.lists(st.datetimes(), min_size=1, unique=True),
    st.lists(
        st.datetimes(min_value=datetime(2, 1, 1), timezones=st.just(timezone(timedelta(hours=-5)))),
        min_size=1,
        unique=True,
    ),
)


@given(edges=kinds.map(sorted), suffix=st.sampled_from([".yaml", ".json"]))
def test_edges_and_others_round_trip(tmp_path_factory, edges, suffix):
    p = clinic(
        Observation.binned("age", edges=edges, cost=1.0, fails="refunded"),
        Observation("region", values=["north", 7, "rest"], cost=1.0, other="rest"),
    )
    path = tmp_path_factory.mktemp("problem") / f"problem{suffix}"
    p.save(path)
    again = Problem.load(path)
    assert again == p
    assert again.observations[0].edges == tuple(edges)
    assert len({again, p}) == 1


def test_a_file_need_not_name_the_bins(tmp_path):
    path = tmp_path / "clinic.yaml"
    path.write_text(
        "observations:\n"
        "- {name: age, edges: [40, 50], cost: 1}\n"
        "- {name: since, edges: [2020-01-01, 2021-01-01], cost: 1}\n"
        "- {name: at, edges: [2020-01-01 12:00:00], cost: 1}\n"
        "actions: [wait]\n"
    )
    age, since, at = Problem.load(path).observations
    assert age == Observation.binned("age", edges=[40, 50], cost=1)
    assert since == Observation.binned("since", edges=["2020-01-01", "2021-01-01"], cost=1)
    assert at == Observation.binned("at", edges=[MOMENT], cost=1)
    path.write_text(path.read_text().replace("[40, 50]", "[50, 40]"))
    with pytest.raises(FileError, match=r"line 2: observations\[0\]: observation 'age': edge 40"):
        Problem.load(path)
    clinic(Observation("mri", values=["neg"], cost=1)).save(path)
    assert "edges" not in path.read_text()
    assert "other" not in path.read_text()


# --- what is seen --------------------------------------------------------------------------------


def digit(observation, value):
    return Lattice(clinic(observation)).digit(0, value)


finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(
    st.lists(st.integers(-100, 100) | finite, min_size=1, max_size=6, unique=True).map(sorted),
    st.integers(-120, 120) | st.floats(allow_nan=False),
)
def test_a_number_is_in_the_bin_that_numpy_finds(edges, x):
    age = Observation.binned("age", edges=edges, cost=1)
    for value in (x, *edges):
        expected = np.searchsorted(edges, value, side="right")
        assert digit(age, value) == expected
        assert digit(age, np.float64(value)) == expected
        assert digit(age, age.values[expected]) == expected


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (39, 0),
        (40, 1),
        (np.int8(49), 1),
        (Decimal("50"), 2),
        (Fraction(99, 2), 1),
        (math.inf, 2),
        (10**400, 2),
        (Fraction(-(10**400), 3), 0),
        (Decimal("Infinity"), 2),
    ],
)
def test_every_kind_of_number_has_its_bin(x, expected):
    assert digit(Observation.binned("age", edges=[40, 50], cost=1), x) == expected


def test_a_decimal_edge_is_in_the_bin_above_it():
    rate = Observation.binned("rate", edges=[Decimal("0.1"), 0.7], cost=1)
    assert [digit(rate, x) for x in (0.1, Decimal("0.1"), Decimal("0.7"))] == [1, 1, 2]


NOON = datetime(2020, 1, 1, 12)


@pytest.mark.parametrize(
    ("edge", "below", "above"),
    [
        (date(2020, 1, 1), date(2019, 12, 31), date(2020, 1, 1)),
        (date(2020, 1, 1), datetime(2019, 12, 31, 23, 59), datetime(2020, 1, 1)),
        (date(2020, 1, 1), "2019-12-31", "2020-01-01T00:00:00Z"),
        (date(2020, 1, 1), np.datetime64("2019-12"), np.datetime64("2020")),
        (date(2020, 1, 1), pd.Timestamp("2019-12-31"), pd.Timestamp("2020-01-01", tz="UTC")),
        (NOON, date(2020, 1, 1), date(2020, 1, 2)),
        (NOON, NOON - timedelta(microseconds=1), NOON),
        (NOON, pd.Timestamp("2020-01-01 11:59"), np.datetime64("2020-01-01T12", "ns")),
        (NOON.replace(tzinfo=UTC), "2020-01-01T12:30+01:00", "2020-01-01T12:00Z"),
    ],
)
def test_dates_have_their_bins(edge, below, above):
    since = Observation.binned("since", edges=[edge], cost=1)
    assert (digit(since, below), digit(since, above)) == (0, 1)


@pytest.mark.parametrize(
    ("edge", "value", "expected"),
    [
        (40, True, "a number, or one of: '<40', '>=40'"),
        (40, np.True_, "a number"),
        (40, "47", "a number"),
        (40, NOON, "a number"),
        (NOON.date(), 2020, "a date, or"),
        (NOON.date(), "soon", "a date, or"),
        (NOON, NOON.replace(tzinfo=UTC), "a date and time, or"),
        (NOON.replace(tzinfo=UTC), NOON, "a date and time with a time zone, or"),
        (NOON.replace(tzinfo=UTC), NOON.date(), "a date and time with a time zone, or"),
    ],
)
def test_what_has_no_bin_is_refused(edge, value, expected):
    with pytest.raises(CaseError, match=f"observation 'x' has no value .*, expected {expected}"):
        digit(Observation.binned("x", edges=[edge], cost=1, fails="charged"), value)


def test_unseen_categories_go_to_other():
    region = Observation("region", values=["north", 1, "rest"], other="rest", cost=1)
    seen = ["north", 1, "rest", "west", 2, np.int64(1), np.int64(7), np.str_("east"), "", True]
    assert [digit(region, x) for x in seen] == [0, 1, 2, 2, 2, 1, 2, 2, 2, 2]
    for x in (1.0, 2.5, NOON, ["north"]):  # neither declared nor a category
        with pytest.raises(CaseError, match="'region' has no value"):
            digit(region, x)


ALIKE = [
    (
        [0, 1],
        [
            (True, 1),
            (False, 0),
            ("TRUE", 1),
            ("false ", 0),
            (np.True_, 1),
            (0, 0),
            ("yes", None),
        ],
    ),
    ([1, 0], [(True, 0), (False, 1), ("True", 0)]),
    (["false", "true"], [(True, 1), (False, 0), ("True", 1), (1, None), ("1", None)]),
    (["no", "YES", "True"], [(True, 2), (False, None), ("true", 2)]),
    (["0", "1"], [(1, 1), (0, 0), (True, None), ("true", None)]),
    (["yes", "no"], [(True, None), (1, None)]),
    ([0, 1, 2], [(True, None), (2, 2)]),
    (["a", "true", "TRUE"], [(True, 1), ("TRUE", 2), (False, None)]),
]


@pytest.mark.parametrize(("values", "cells"), ALIKE, ids=repr)
def test_a_case_reads_booleans_and_numbers_that_print_alike_as_a_log_does(values, cells):
    observation = Observation("seen", values=values, cost=1)
    for cell, place in cells:
        if place is not None:
            assert digit(observation, cell) == place
            assert digits_of(observation, [cell], may_be_absent=False).tolist() == [place]
            continue
        for read in (digit, lambda o, x: digits_of(o, [x], may_be_absent=False)):
            with pytest.raises(AskwiseError, match=r"'seen' has no value .*; declare"):
                read(observation, cell)


def test_a_boolean_that_stands_for_nothing_is_refused_with_the_remedy():
    message = "'seen' has no value True, .*; declare values 'true' and 'false', or 1 and 0, to take"
    with pytest.raises(CaseError, match=message):
        digit(Observation("seen", values=["yes", "no"], cost=1), True)
    with pytest.raises(CaseError, match=r"'seen' has no value 'maybe', .*; declare other="):
        digit(Observation("seen", values=["yes", "no"], cost=1), "maybe")
    with pytest.raises(CaseError, match="'seen' has no value True, expected a number"):
        digit(Observation.binned("seen", edges=[0.5], cost=1), True)


MISSING = [None, math.nan, np.float32("nan"), Decimal("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]


@pytest.mark.parametrize("nothing", MISSING, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize(
    "rest",
    [
        {"edges": [40, 50]},
        {"edges": [NOON]},
        {"values": ["a", "b"]},
        {"values": [0, 1], "other": 0},
    ],
    ids=["number", "date", "text", "other"],
)
def test_a_missing_value_is_a_look_that_failed(nothing, rest):
    scan = Observation("scan", cost=1, fails="refunded", **rest)
    case = ContextualUCB(clinic(scan), rng=0).open()
    case.observe({"scan": nothing})
    assert (case.state, case.cost) == ({"scan": None}, 0.0)
    frame = {"scan": [scan.values[0], nothing], "wait": [0, 1], "treat": [1, 0]}
    assert Table(clinic(scan), frame).model().probability.tolist()[-1] == 0.5

    scan = Observation("scan", cost=1, **rest)
    message = r"'scan' has no value .*, expected .*; declare fails= if it may be missing"
    case = ContextualUCB(clinic(scan), rng=0).open()
    with pytest.raises(CaseError, match=message):
        case.observe({"scan": nothing})
    assert case.wanted == ("scan",)
    with pytest.raises(TableError, match=f"column 'scan', row 1: observation {message}"):
        Table(clinic(scan), frame)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_of_numbers_dates_and_empty_cells_is_a_table(frame):
    problem = clinic(
        Observation.binned("age", edges=[40, 50], cost=1, fails="charged"),
        Observation.binned("since", edges=["2020-01-01"], cost=1, fails="charged"),
        Observation("region", values=["north", "rest"], other="rest", cost=1, fails="charged"),
    )
    rows = {
        "age": [39.5, None, 50.0],
        "since": [datetime(2019, 5, 1), NOON, None],
        "region": [None, "north", "west"],
        "wait": [1.0, 0.0, 0.5],
        "treat": [0.0, 1.0, 0.5],
    }
    values = Table(problem, frame(rows)).draw(np.random.default_rng(0), 100).values
    assert set(map(tuple, values.tolist())) == {(0, 0, 2), (3, 1, 0), (2, 2, 1)}


def test_plain_numbers_are_taken_everywhere():
    problem = clinic(
        Observation.binned("age", edges=[40, 50], given=True),
        Observation.binned("dose", edges=[0.5], cost=0.01),
    )
    learner = ContextualUCB(problem, rng=0)
    case = learner.open(known={"age": 47})
    assert case.state == {"age": "40-50"}
    case.observe({"dose": 0.7})
    assert case.state == {"age": "40-50", "dose": ">=0.5"}
    case.reward(1.0)
    assert learner.policy.wanted({"age": 47.3}) == learner.policy.wanted({"age": "40-50"})
    assert learner.policy.action({"age": 47.3, "dose": 0.7}) in problem.action_names
    by_number, by_label = (
        Statistics(learner.statistics.lattice),
        Statistics(learner.statistics.lattice),
    )
    by_number.record({"age": 60, "dose": 0.1}, "wait", 0.5, acquisition="sequential")
    by_label.record({"age": ">=50", "dose": "<0.5"}, "wait", 0.5, acquisition="sequential")
    assert by_number == by_label
