r"""What each observation is worth: how often it is bought, what it adds, what one may pay for it.

The numbers come from `explain/price_sensitivity.py`, their intervals from `explain/worth_draws.py`;
here they are asked for, and shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from html import escape
from typing import Any, Protocol

from askwise._support.frames import framed
from askwise._support.html import table
from askwise._support.numbers import as_price, shown
from askwise.errors import OptionError
from askwise.estimation.evidence import Beliefs, CountedEvidence, Evidence
from askwise.estimation.models import Model
from askwise.explain.observation_worth import DemandBand, DemandStep, ObservationWorth
from askwise.explain.price_sensitivity import PriceSensitivity
from askwise.explain.worth_draws import Estimate
from askwise.policy import Policy
from askwise.policy.acquisition import acquisition_of
from askwise.policy.trees.figures import Figures, share
from askwise.states import Lattice

COLUMNS = (
    "name",
    "price",
    "bought",
    "gain",
    "without",
    "free",
    "adds",
    "adds_low",
    "adds_high",
    "break_even",
    "break_even_low",
    "break_even_high",
    "fees",
    "verdict",
    "cases_to_settle",
)
"""Of a frame."""
COLUMN_OF_TITLE = ("", "price", "bought", "adds", "if free", "break-even", "verdict")


class EvidenceSource(Protocol):
    """Something that can say what is known of a population: a learner, or a fitted log."""

    def evidence(self) -> Evidence:
        """What is known of the population by now."""

    def recommend(self) -> Policy:
        """What to buy and do by that."""


class Worth:
    """The worth of every observation that can be bought. `print` it, or `worth["mri"]`."""

    def __init__(self, sensitivity: PriceSensitivity, policy: Policy | None = None) -> None:
        self._sensitivity = sensitivity
        self.problem = sensitivity.problem
        self.acquisition = sensitivity.acquisition.name
        """"sequential" or "simultaneous"."""
        self.policy = sensitivity.today.policy if policy is None else policy
        """What is recommended at today's prices."""
        self.rows = tuple(map(sensitivity.worth_of, sensitivity.names))
        """One for each observation, in the order of declaration."""

    def __getitem__(self, name: str) -> ObservationWorth:
        for row in self.rows:
            if row.name == name:
                return row
        known = ", ".join(row.name for row in self.rows)
        raise OptionError(f"nothing is known of the worth of {name!r}, expected one of: {known}")

    def __iter__(self) -> Iterator[ObservationWorth]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def gain(self) -> float:
        """Of a case, by what is recommended at today's prices."""
        return self.problem.lowest_reward + self._sensitivity.today.gain

    @property
    def blind_gain(self) -> float | None:
        """Of a case, if nothing were bought; None if it is not known."""
        return self._sensitivity.blind_gain()

    @property
    def full_gain(self) -> float | None:
        """Of a case, if everything were bought, or the best set of as many as may be; None if it is
        not known."""
        return self._sensitivity.full_gain()

    @property
    def still_to_learn(self) -> Estimate | None:
        """What perfect knowledge of the population would add a case; None if nothing can be said.

        The expected value of perfect information: what the best policy gains more than the one that
        is recommended, on average over the worlds that are possible. 0 of a known population.
        """
        return self._sensitivity.still_to_learn()

    def demand_band(self, name: str) -> list[DemandBand]:
        """At some prices, in which share of the cases it is bought, from least to most."""
        return self._sensitivity.demand_band(self[name])

    def demand(self, name: str) -> list[DemandStep]:
        """The steps of V as the price of one observation rises from 0 to its break-even price."""
        return self._sensitivity.demand(self[name])

    def frame(self, kind: str = "dict") -> Any:
        """The rows as columns in a "dict", or a "pandas", "polars" or "pyarrow" frame."""
        return framed({n: [getattr(row, n) for row in self.rows] for n in COLUMNS}, kind)

    def __repr__(self) -> str:
        return f"<Worth of {len(self)} observations, gain {shown(self.gain)}>"

    def __str__(self) -> str:
        return "\n\n".join([self._table(), *self.words()])

    def words(self) -> list[str]:
        """What a budget does to it, and what is still to learn of a population, as sentences."""
        said, learn, price = [], self.still_to_learn, self.policy.shadow_price
        if price:
            less = f"budget, within which one more to spend adds {shown(price, decimals=2)}"
            said.append(f"What observations are worth is said without the {less}.")
        if not self.is_known and learn is not None:
            amount = self._figures.estimate(*learn)
            words = f"knowing this population perfectly would add {amount} a case."
            said.append(f"Still to learn: {words}")
        return said

    @property
    def is_known(self) -> bool:
        """Whether these are the numbers of a known population, and not estimates."""
        return not self._sensitivity.is_estimated

    def _table(self) -> str:
        lines = self._lines()
        width = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        words = {0, len(lines[0]) - (0 if self.is_known else 1)}  # the name, and the verdict
        return "\n".join(
            "  ".join(
                f"{cell:<{width[k]}}" if k in words else f"{cell:>{width[k]}}"
                for k, cell in enumerate(line)
            ).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        titles, *rows = self._lines()
        return "".join([table(titles, rows), *(f"<p>{escape(said)}</p>" for said in self.words())])

    @cached_property
    def _figures(self) -> Figures:
        return Figures.of(self.problem.reward_value, [row.price for row in self.rows])

    def _lines(self) -> list[tuple[str, ...]]:
        titles = ["", "price", "bought", "adds", "if free", "break-even"]
        if not self.is_known:
            titles.append("verdict")
        lines: list[tuple[str, ...]] = [tuple(titles)]
        for row in sorted(self.rows, key=lambda row: -row.break_even):
            cells = shown_row(row, self._figures)
            lines.append(tuple(cells[title] for title in COLUMN_OF_TITLE if title in titles))
        return lines


def shown_row(row: ObservationWorth, figures: Figures) -> dict[str, str]:
    """What is shown of an observation, by the titles of the columns; prices have the fees."""
    prices = (row.break_even, row.break_even_low, row.break_even_high)
    verdict: str = row.verdict
    if row.cases_to_settle:
        verdict += f": {in_cases(row.cases_to_settle)}"
    return {
        "": row.name,
        "price": as_price(row.paid),
        "bought": share(row.bought),
        "adds": figures.estimate(row.adds, row.adds_low, row.adds_high),
        "if free": figures.plain_gain(row.free - row.without),
        "break-even": figures.estimate(*(price + row.fees for price in prices)),
        "verdict": verdict,
    }


def in_cases(number: float) -> str:
    """About how many cases, to one digit.

    >>> [in_cases(number) for number in (47.0, 23_400.0, math.inf)]
    ['some 50 cases more', 'some 20,000 cases more', 'more cases than can be foreseen']
    """
    if not math.isfinite(number):
        return "more cases than can be foreseen"
    scale = 10 ** max(0, math.floor(math.log10(max(1.0, number))))
    return f"some {math.ceil(number / scale - 0.5) * scale:,} cases more"


def still_to_learn(source: Model | EvidenceSource | Beliefs | CountedEvidence) -> Estimate | None:
    """What perfect knowledge of the population would add to the gain of a case, and its interval.

    That is the expected value of perfect information about the parameters: what the best policy of
    a world gains more there than what is recommended, over the worlds that are possible. If it is
    small beside what a case gains, more learning is worth little. None if nothing can be said,
    because states are known one by one only: more than 512 combinations of values.

    >>> from askwise.simulation.environments import breast_cancer
    >>> still_to_learn(breast_cancer(cost=5.0))
    Estimate(value=0.0, low=0.0, high=0.0)
    """
    return worth(source).still_to_learn


def worth(
    source: Model | EvidenceSource | Beliefs | CountedEvidence, *, acquisition: str | None = None
) -> Worth:
    """What each observation is worth in a known population, to a learner, or by a fitted log.

    acquisition: "sequential" or "simultaneous"; that of the learner, if it is not said.

    >>> from askwise import Model, Observation, Problem
    >>> model = Model(
    ...     Problem(
    ...         observations=[Observation("mri", values=["neg", "pos"], cost=9)],
    ...         actions=["wait", "treat"],
    ...         reward_value=100,
    ...     ),
    ...     probability=[0.8, 0.2],
    ...     reward=[[1.0, 0.5], [0.0, 1.0]],
    ... )
    >>> print(worth(model))
         price  bought  adds  if free  break-even
    mri      9    100%  11.0     20.0        20.0
    """
    chosen = acquisition_of("sequential" if acquisition is None else acquisition).name
    if isinstance(source, Model):
        return Worth(PriceSensitivity(source.beliefs(Lattice(source.problem)), chosen))
    if isinstance(source, Beliefs | CountedEvidence):
        return Worth(PriceSensitivity(source, chosen))
    if not hasattr(source, "recommend"):
        kind = type(source).__name__
        raise OptionError(f"expected a Model, a learner or a fitted log, got a {kind}")
    policy = source.recommend()
    if acquisition not in (None, policy.acquisition):
        return Worth(PriceSensitivity(_known(source.evidence()), chosen))
    return Worth(PriceSensitivity(_known(policy.evidence), policy.acquisition), policy)


def _known(evidence: Evidence | None) -> Beliefs | CountedEvidence:
    assert isinstance(evidence, Beliefs | CountedEvidence)
    return evidence
