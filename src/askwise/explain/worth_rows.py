"""Shows the worth of one observation as the cells of a row."""

from __future__ import annotations

import math

from askwise._support.numbers import as_price
from askwise.explain.observation_worth import ObservationWorth
from askwise.policy.trees.figures import Figures, share


def shown_row(row: ObservationWorth, figures: Figures) -> dict[str, str]:
    """Returns the row of an observation by the titles of the columns. Prices include fees."""
    prices = (row.break_even, row.break_even_low, row.break_even_high)
    verdict: str = row.verdict
    if row.cases_to_settle:
        verdict += f": {in_cases(row.cases_to_settle)}"
    numbers = {
        "adds": figures.estimate(row.adds, row.adds_low, row.adds_high),
        "if free": figures.plain_gain(row.adds_if_free),
        "break-even": figures.estimate(*map(row.with_fees, prices)),
    }
    if row.verdict == "no cases yet":
        numbers = dict.fromkeys(numbers, "?")
    return {
        "": row.name,
        "price": as_price(row.paid),
        "bought": share(row.bought),
        **numbers,
        "verdict": verdict,
    }


def in_cases(number: float) -> str:
    """Returns the approximate number of cases, to one digit.

    >>> [in_cases(number) for number in (47.0, 23_400.0, math.inf)]
    ['some 50 cases more', 'some 20,000 cases more', 'more cases than can be foreseen']
    >>> in_cases(0.3)
    'about one case more'
    """
    if not math.isfinite(number):
        return "more cases than can be foreseen"
    if number < 1.5:
        return "about one case more"
    scale = 10 ** max(0, math.floor(math.log10(max(1.0, number))))
    return f"some {math.ceil(number / scale - 0.5) * scale:,} cases more"
