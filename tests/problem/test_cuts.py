import itertools
import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askwise import Observation, Problem, cuts
from askwise.errors import OptionError, TableError
from askwise.problem.bins import bin_of
from askwise.problem.scales import first_of, shortest

numbers = st.integers(-50, 50) | st.floats(-1e6, 1e6, allow_subnormal=False)
with_ties = st.lists(st.integers(0, 8), min_size=10, max_size=60)


def sizes_of(column, edges):
    """How many cells are in each bin."""
    return np.bincount([bin_of(edges, x) if edges else 0 for x in column]).tolist()


# --- round edges ---------------------------------------------------------------------------------


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e3, 1e3), st.booleans())
def test_an_edge_parts_the_two_values_beside_it(x, gap, is_next):
    y = math.nextafter(x, math.inf) if is_next else x + abs(gap) * max(1.0, abs(x))
    if not x < y < math.inf:
        return
    assert x < shortest(x, y) <= y


@given(st.integers(-999, 999), st.integers(1, 400), st.sampled_from([1, 10, 100, 1000]))
def test_no_decimal_between_them_is_shorter(low, gap, unit):
    low, high = low / unit, (low + gap) / unit
    edge = shortest(low, high)

    def digits(number):  # before and behind the point, without the zeros at either end
        return len(f"{number:.6f}".replace("-", "").replace(".", "").strip("0"))

    between = [k / unit for k in range(math.ceil(low * unit - 1e-6), round(high * unit) + 1)]
    assert digits(edge) <= min(digits(x) for x in between if low < x <= high)


@given(st.dates(), st.dates())
def test_a_day_is_as_round_as_it_can_be(low, high):
    if low < high:
        edge = first_of(low, high)
        assert low < edge <= high
        assert (edge.month, edge.day) == (1, 1) or low.year == high.year
        assert edge.day == 1 or low.month == high.month


# --- quantiles -----------------------------------------------------------------------------------


@given(st.lists(numbers, min_size=1, max_size=40) | with_ties, st.integers(2, 6))
def test_quantiles_leave_no_bin_empty_and_are_as_equal_as_ties_allow(column, bins):
    edges = cuts.quantiles(column, bins)
    distinct = sorted(set(map(float, column)))
    sizes = sizes_of(column, edges)
    assert len(sizes) == min(bins, len(distinct))
    assert min(sizes) > 0
    if len(distinct) == len(column):
        assert max(sizes) - min(sizes) <= 1
    if len(distinct) < 12:
        counts = Counter(map(float, column))

        def spread(cut):
            ends = [0, *cut, len(distinct)]
            return sum(
                sum(counts[x] for x in distinct[a:b]) ** 2 for a, b in itertools.pairwise(ends)
            )

        possible = itertools.combinations(range(1, len(distinct)), len(sizes) - 1)
        assert sum(size**2 for size in sizes) == min(map(spread, possible))


def test_many_values_are_cut_as_equally():
    column = np.random.default_rng(0).normal(size=10_007)
    for bins in (2, 3, 4, 7, 100):
        sizes = sizes_of(column, cuts.quantiles(column, bins))
        assert len(sizes) == bins
        assert max(sizes) - min(sizes) <= 1
    mostly = [0.0] * 100_000 + np.random.default_rng(1).normal(5, 1, size=900).tolist()
    sizes = sizes_of(mostly, cuts.quantiles(mostly, 4))
    assert sizes[0] == 100_000
    assert max(sizes[1:]) - min(sizes[1:]) <= 20  # the places there are every few values


@pytest.mark.parametrize("column", [[], [None, math.nan], [3.0, 3.0], [math.inf, 3, -math.inf]])
def test_fewer_than_two_values_leave_nothing_to_cut(column):
    assert cuts.quantiles(column) == []
    assert cuts.supervised(column, ["a"] * len(column)) == []


KINDS = {
    "list": list,
    "array": np.array,
    "pandas": pd.Series,
    "polars": pl.Series,
    "pyarrow": lambda cells: pa.chunked_array([cells]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("cells", "edges"),
    [
        ([31, 35, 42, 47, 51, 58, 64, 71], [40, 50, 60]),
        ([0.31, 0.35, math.nan, 0.42, 0.47], [0.35, 0.4, 0.45]),
        ([date(2019, 3, 1) + timedelta(k * 100) for k in range(8)], None),
        ([datetime(2024, 3, 1, 8) + timedelta(hours=k) for k in range(4)], None),
        ([datetime(2024, 3, 1, tzinfo=UTC) + timedelta(hours=9 * k) for k in range(4)], None),
    ],
    ids=["whole", "floats", "days", "moments", "with a zone"],
)
def test_every_kind_of_column_is_cut_alike(kind, cells, edges):
    if kind == "array" and isinstance(cells[0], date):
        if getattr(cells[0], "tzinfo", None):
            pytest.skip("NumPy has no time zones")
        column = np.array(cells, "datetime64[ns]")
    else:
        column = KINDS[kind](cells)
    found = cuts.quantiles(column, 4)
    assert found == (edges or cuts.quantiles(cells, 4))
    assert len(found) == 3
    sizes = sizes_of([x for x in cells if isinstance(x, date) or not math.isnan(x)], found)
    assert max(sizes) == min(sizes)
    assert (
        cuts.supervised(
            column, KINDS[kind](["a", "b"] * (len(cells) // 2) + ["a"][: len(cells) % 2])
        )
        == []
    )
    Observation.binned("age", edges=found, cost=1)


def test_days_that_come_as_moments_are_cut_as_days():
    days = pd.Series(pd.to_datetime(["2019-05-01", "2019-08-01", "2021-02-01", "2021-02-11"]))
    assert cuts.quantiles(days, 2) == [date(2020, 1, 1)]
    assert cuts.quantiles(days, 4) == [
        date(2019, 6, 1),
        date(2020, 1, 1),
        date(2021, 2, 6),
    ]
    hours = [datetime(2024, 3, 1, *at) for at in ((8,), (9, 59), (10, 40))]
    assert cuts.quantiles(hours, 3) == [datetime(2024, 3, 1, 9), datetime(2024, 3, 1, 10)]
    west = timezone(timedelta(hours=-5))
    days = [datetime(2024, 3, k, 12, tzinfo=west) for k in (1, 2)]
    assert cuts.quantiles(days, 2) == [datetime(2024, 3, 2, tzinfo=west)]


# --- supervised ----------------------------------------------------------------------------------


def charged(column, label, edges):
    """−log likelihood of the bins and ½ log N for every number that a further one has."""
    n, sides = len(column), {}
    for x, y in zip(column, label, strict=True):
        sides.setdefault(bin_of(edges, x) if edges else 0, []).append(y)
    if isinstance(label[0], str):
        fit = sum(-k * math.log(k / len(ys)) for ys in sides.values() for k in Counter(ys).values())
        return fit + len(edges) * len(set(label)) / 2 * math.log(n)
    least = 1e-9 * n * np.var(label)
    within = max(least, sum(len(ys) * np.var(ys) for ys in sides.values()))
    return n / 2 * math.log(within) + len(edges) * math.log(n)


rows = st.integers(2, 4).flatmap(
    lambda k: st.lists(
        st.tuples(st.integers(0, 7), st.sampled_from("abcd"[:k])), min_size=2, max_size=40
    )
) | st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 3).map(float) | st.just(9.0)),
    min_size=2,
    max_size=40,
)


@settings(max_examples=300)
@given(rows, st.integers(2, 4))
def test_supervised_cuts_are_the_best_of_all(rows, bins):
    column, label = zip(*rows, strict=True)
    if len(set(label)) == 1:
        assert cuts.supervised(column, label, bins) == []
        return
    edges = cuts.supervised(column, label, bins)
    places = sorted(set(column))[1:]
    every = [
        charged(column, label, list(cut))
        for k in range(min(bins, len(places) + 1))
        for cut in itertools.combinations(places, k)
    ]
    assert charged(column, label, edges) == pytest.approx(min(every), abs=1e-6)


def test_two_cuts_are_found_where_one_does_not_pay():
    column = np.arange(400)
    label = np.where((column >= 150) & (column < 250), "ill", "well")
    assert cuts.supervised(column, label) == [150, 250]
    assert cuts.supervised(column, label == "ill") == [150, 250]
    assert cuts.supervised(column, np.where(label == "ill", 0.9, 0.1)) == [150, 250]
    assert len(cuts.supervised(column, label, bins=2)) == 1


def test_no_cut_pays_where_there_is_nothing_to_learn():
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        column = rng.normal(size=500)
        found += len(cuts.supervised(column, rng.choice(["a", "b"], size=500)))
        found += len(cuts.supervised(column, rng.normal(size=500)))
    assert found <= 12  # of 600 that would fit


def test_a_cut_is_found_among_many_values():
    rng = np.random.default_rng(3)
    column = rng.uniform(20, 90, size=20_000)
    label = np.where(rng.random(20_000) < np.where(column < 50, 0.1, 0.6), "ill", "well")
    (edge,) = cuts.supervised(column, label)
    assert abs(edge - 50) < 0.5


def test_rows_with_something_missing_are_left_out():
    column = [1, 2, None, 3, 4, math.nan, 5, 6, 3.5] * 5
    label = ["a", "a", "b", "a", "b", "a", "b", "b", None] * 5
    assert cuts.supervised(column, label) == [4]


@pytest.mark.parametrize(
    ("attempt", "error", "message"),
    [
        (
            lambda: cuts.quantiles([1, "old"]),
            TableError,
            "row 1: expected a number or a date, got 'old'",
        ),
        (lambda: cuts.quantiles([1, True]), TableError, "row 1: .*got True"),
        (
            lambda: cuts.quantiles([1, date(2020, 1, 1)]),
            TableError,
            "row 1: expected a number, as in the rows above",
        ),
        (lambda: cuts.quantiles(np.eye(2)), TableError, r"got an array of shape \(2, 2\)"),
        (lambda: cuts.quantiles(7), TableError, "expected a list, an array or a series"),
        (
            lambda: cuts.quantiles([1, 2], bins=1),
            OptionError,
            "bins must be .* from 2 to 100, got 1",
        ),
        (lambda: cuts.quantiles([1, 2], bins=2.0), OptionError, "got 2.0"),
        (lambda: cuts.supervised([1, 2], ["a"]), TableError, "2 cells in the column, but 1 in the"),
        (lambda: cuts.supervised([1, 2], ["a", 1]), TableError, "the label must be .* got 'a'"),
        (lambda: cuts.supervised([1, 2], [1.0, math.inf]), TableError, "got inf"),
        (lambda: cuts.observations({"a": [1]}, {"b": 1}), TableError, "no column 'b'"),
        (lambda: cuts.observations({"a": [1, 1]}, {"a": 1}), TableError, "'a' has fewer than two"),
        (lambda: cuts.observations({"a": [1, "x"]}, {"a": 1}), TableError, "column 'a', row 1:"),
    ],
)
def test_bad_input_is_named(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


# --- a draft -------------------------------------------------------------------------------------

ROWS = {
    "age": [31.0, 35, 42, 47, 51, 58, 64, None],
    "since": [date(2019, 3, 1) + timedelta(k * 100) for k in range(8)],
    "region": ["north", "south"] * 3 + ["south", "west"],
    "ill": ["no"] * 4 + ["yes"] * 4,
}


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_a_draft_takes_every_row_of_its_frame(frame):
    drafted = cuts.observations(
        frame(ROWS), {"age": 1, "since": 2, "region": 3}, label="ill", bins=3, rare=0.2
    )
    age, since, region = drafted
    assert (age.edges, age.fails, age.cost) == ((50,), "charged", 1.0)
    assert (since.edges, since.fails) == ((date(2020, 1, 1),), None)
    assert (region.values, region.other) == (("north", "south", "other"), "other")
    problem = Problem(observations=drafted, actions=["wait"])
    for o in problem.observations:
        assert all(cell in o.outcomes or o.place(cell) >= 0 for cell in ROWS[o.name])


def test_booleans_are_categories():
    (seen,) = cuts.observations({"seen": [True, False, None] * 5}, {"seen": 1.0})
    assert seen.outcomes == ("false", "true", None)


def test_a_draft_without_a_label_goes_by_quantiles():
    age, ill = cuts.observations(ROWS, {"age": 1, "ill": 2}, bins=2, fails="refunded")
    assert (age.edges, age.fails, ill.values) == ((45,), "refunded", ("no", "yes"))
