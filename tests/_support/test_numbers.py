"""How numbers are shown: parsed again, they are what they were, to within half a percent."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import askwise as aw
from askwise._support.html import text
from askwise._support.numbers import as_price, fixed, interval, shown, together, with_error
from askwise.logs.off_policy import Estimate
from askwise.policy.trees.figures import Figures
from askwise.policy.trees.nodes import Bounds, Reason

AMOUNT = st.floats(1e-6, 1e14) | st.floats(-1e14, -1e-6)
ERROR = st.floats(1e-6, 1e9)


def parsed(shown_text):
    assert re.fullmatch(r"-?\d{1,3}(,\d{3})*(\.\d+)?", shown_text), shown_text
    return float(shown_text.replace(",", ""))


@given(AMOUNT)
def test_a_number_is_shown_to_within_half_a_percent(number):
    for form in (shown, text, as_price):
        assert abs(parsed(form(number)) - number) <= 0.00501 * abs(number)
    figures = Figures.of(1e4, [4.56])
    if abs(number) >= figures.least:
        assert abs(parsed(figures.plain_gain(number)) - number) <= 0.00501 * abs(number)


@given(AMOUNT, ERROR)
def test_a_number_with_its_error_shows_both(mean, error):
    said, doubt = map(parsed, with_error(mean, error).split(" ± "))
    assert abs(said - mean) <= 0.00501 * max(abs(mean), error)
    assert doubt > 0
    assert abs(doubt - error) <= 0.501 * error  # at least one digit of it, and the mean as finely
    assert abs(said - mean) <= 0.501 * error + 1e-9 * abs(mean)


@given(AMOUNT, ERROR, st.floats(0.01, 0.99))
def test_an_estimate_and_its_ends_too(middle, width, where):
    estimate = Estimate(middle, middle - where * width, middle + (1 - where) * width)
    half = (estimate.high - estimate.low) / 2
    if half < 1e-12 * abs(middle):
        return
    said = str(estimate).replace(" (", " ").replace(" to ", " ").rstrip(")").split()
    for word, number in zip(said, estimate, strict=True):
        assert abs(parsed(word) - number) <= 0.00501 * half + 1e-9 * abs(middle)


def test_an_estimate_has_no_more_digits_than_its_error_is_known_to():
    assert with_error(-0.253, 49.826) == "-0.3 ± 49.8"
    assert with_error(-0.0447, 1.1436, decimals=2) == "-0.04 ± 1.14"
    assert interval(0.0042, -12.3012, 12.5) == "0.0 (-12.3 to 12.5)"
    figures = Figures.of(1120.0, [4.0])
    bounds = Bounds(-1000.0, 54.5)
    assert figures.with_doubt(-0.711, 79.0**2, bounds) == "-1 (-156 to 54)"
    assert figures.estimate(0.0009, 0.0, 21.6) == "0.0 (0.0 to 21.6)"


@given(st.lists(AMOUNT, min_size=1, max_size=5))
def test_numbers_that_are_compared_have_equally_many_decimals(numbers):
    said = together(numbers)
    assert len({len(word.partition(".")[2]) for word in said}) == 1
    for word, number in zip(said, numbers, strict=True):
        assert abs(parsed(word) - number) <= 0.00501 * abs(number)


@given(st.integers(0, 10**6), st.integers(0, 3))
def test_a_price_is_shown_as_it_was_given(whole, decimals):
    given_price = whole / 10**decimals
    said = parsed(as_price(given_price))
    assert said == given_price or (whole >= 10**6 and said == pytest.approx(given_price, rel=0.005))


def test_what_is_nothing_is_nothing():
    assert shown(0.0) == shown(-0.0) == "0"
    assert fixed(-0.0001, 2) == "0.00"
    assert shown(-1e-14, least=1e-9) == "0"
    assert with_error(1e-14, 1e-14, decimals=1, least=1e-9) == "0.0"
    assert shown(math.inf) == "inf"
    assert shown(math.nan) == "nan"
    assert shown(2.5e18) == "2.5e+18"


def test_a_large_gain_with_a_small_interval_is_not_a_power_of_ten():
    assert str(Estimate(9_987.312, 9_985.1, 9_989.5)) == "9,987.31 (9,985.10 to 9,989.50)"
    assert interval(10_000.0, 10_000.0, 10_000.0) == "10,000 (10,000 to 10,000)"


def rare_and_cheap():
    """A look that pays in few cases, where a reward of 1 is worth much: it adds little to each."""
    return aw.Model(
        aw.Problem(
            observations=[
                aw.Observation("flag", values=["no", "yes"], cost=0.0),
                aw.Observation("bureau", values=["bad", "good"], cost=4.5),
            ],
            actions=["lend", "decline"],
            reward_value=10_000.0,
        ),
        probability=[[0.495, 0.495], [0.00495, 0.00505]],
        reward=[[[0.5, 0.0], [0.5, 0.0]], [[0.4999, 0.501], [0.502, 0.501]]],
    )


def test_what_adds_little_is_seen_beside_its_break_even_price():
    model = rare_and_cheap()
    worth = aw.worth(model)
    row = worth["bureau"]
    assert 0 < row.adds < 0.05
    for shown_text in (str(worth), worth._repr_html_(), aw.explain(model).html()):
        cells = re.findall(r"(?<![\w.#-])\d[\d,]*\.\d+(?![\w%])", shown_text)
        numbers = [float(cell.replace(",", "")) for cell in cells]
        for wanted in (row.adds, row.free - row.without, row.break_even):
            assert any(abs(number - wanted) <= 0.00501 * wanted for number in numbers)


def test_a_gain_with_a_small_error_is_not_given_as_certain():
    figures = Figures.of(100.0, [1.0])
    reason = Reason(share=0.5, spent=1.0, gain=98.9987, variance=(0.0213 / 1.96) ** 2)
    assert figures.gained(reason) == "99.00 ± 0.02"
    assert figures.gained(Reason(0.5, 1.0, 98.9987, 0.0)) == "99.0"
    assert np.isfinite(figures.least)


def test_rounding_of_rewards_in_money_is_shown_as_nothing():
    """A reward of 0 between -479.96 and 144 is no whole number of the units that are counted."""
    figures = Figures.of(623.96, [5.0, 8.0])
    lowest, unit = -479.96, 2.0**-30
    for units_off in (-2, -1, 1, 2):
        counted = round(479.96 / 623.96 / unit) + units_off
        mean = lowest + 623.96 * counted * unit
        assert 0 < abs(mean) < 2e-6
        assert figures.with_doubt(mean, 0.0016, Bounds(-479.96, 144.0)) == "0.00 ± 0.08"
