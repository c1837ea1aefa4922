r"""The worth of each observation: how often it is bought, what it adds, its break-even price.

The numbers come from `explain/price_sensitivity.py`, and their intervals from
`explain/worth_draws.py`. This module combines and shows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from html import escape
from typing import Any, Protocol

from askwise._support.frames import framed
from askwise._support.html import table
from askwise._support.numbers import shown
from askwise.errors import OptionError
from askwise.estimation.evidence import Beliefs, CountedEvidence, Evidence
from askwise.estimation.models import Model
from askwise.explain.observation_worth import DemandBand, DemandStep, ObservationWorth
from askwise.explain.price_sensitivity import PriceSensitivity
from askwise.explain.purchase_shares import shares_in_tree
from askwise.explain.worth_rows import shown_row
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.policy import Policy
from askwise.policy.acquisition import acquisition_of
from askwise.policy.scores import Estimate
from askwise.policy.trees.figures import Figures
from askwise.problem.amounts import check_stake
from askwise.problem.stakes import for_stake
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
    "adds_if_free",
    "break_even",
    "break_even_low",
    "break_even_high",
    "fees",
    "verdict",
    "cases_to_settle",
)
"""The columns of a frame."""
MOST_NAMED = 12
"""The most observations without a row that are named."""
COLUMN_OF_TITLE = ("", "price", "bought", "adds", "if free", "break-even", "verdict")


class EvidenceSource(Protocol):
    """A source of evidence about a population: a learner, or a fitted log."""

    def evidence(self) -> Evidence:
        """Returns the current evidence about the population."""

    def recommend(self, *, stake: float = ...) -> Policy:
        """Returns the recommended policy for cases with this stake.

        The default stake is 1, or the mean stake of a log with stakes.
        """


class Worth:
    """The worth of every observation that can be bought. `print` it, or `worth["mri"]`."""

    def __init__(
        self,
        sensitivity: PriceSensitivity,
        policy: Policy | None = None,
        stake_of_log: float = 1.0,
    ) -> None:
        self._sensitivity = sensitivity
        self.problem = sensitivity.problem
        self.acquisition = sensitivity.acquisition.name
        """"sequential" or "simultaneous"."""
        self.policy = sensitivity.today.policy if policy is None else policy
        """The recommended policy at today's prices, within the budget."""
        self.stake_of_log = stake_of_log
        """The mean stake of the log that a learner began with."""
        rows = [sensitivity.worth_of(name) for name in sensitivity.names]
        if self.policy.shadow_price:
            bought = shares_in_tree(self.policy.tree().root)
            rows = [replace(row, bought=bought.get(row.name, 0.0)) for row in rows]
        self.rows = tuple(rows)
        """The worth of each observation, in the order of declaration."""

    def __getitem__(self, name: str) -> ObservationWorth:
        for row in self.rows:
            if row.name == name:
                return row
        known = ", ".join(row.name for row in self.rows)
        raise OptionError(f"nothing is known of the worth of {name!r}, expected one of: {known}")

    def __contains__(self, name: object) -> bool:
        return any(name in (row.name, row) for row in self.rows)

    def __iter__(self) -> Iterator[ObservationWorth]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The observations without a row, because a shortlist of others tells more."""
        return self._sensitivity.left_out

    @property
    def gain(self) -> float:
        """The gain of a case by the recommended policy at today's prices, within the budget."""
        if self.policy.shadow_price:
            return self.policy.value
        return self.problem.lowest_reward + self._sensitivity.today.gain

    @property
    def blind_gain(self) -> float | None:
        """The gain of a case if nothing were bought; None if it is not known."""
        return self._sensitivity.blind_gain()

    @property
    def full_gain(self) -> float | None:
        """The gain of a case if everything were bought, or the best set of m observations; None if
        it is not known.
        """
        return self._sensitivity.full_gain()

    @property
    def still_to_learn(self) -> Estimate | None:
        """What perfect knowledge of the population would add a case; None if it cannot be
        estimated.

        This is the expected value of perfect information: the gain of the best policy less that of
        the recommended one, on average over the possible worlds. It is 0 for a known population.
        A budget is left aside: both policies may spend what pays.
        """
        return self._sensitivity.still_to_learn()

    def demand_band(self, name: str) -> list[DemandBand]:
        """Returns the interval of the share of the cases that buy, at some prices.

        They go to twice today's price or 1.5 times the break-even price, whichever is more, but not
        beyond the interval of the break-even price.
        """
        return self._sensitivity.demand_band(self[name])

    def demand(self, name: str) -> list[DemandStep]:
        """Returns the steps of V as the price of one observation rises from 0 to its break-even
        price.
        """
        return self._sensitivity.demand(self[name])

    def frame(self, kind: str = "dict") -> Any:
        """Returns the rows as columns in a "dict", or a "pandas", "polars" or "pyarrow" frame.

        Within a budget, the share of the cases that buy is that of the recommended policy. All
        other columns are without the budget.
        """
        return framed({n: [getattr(row, n) for row in self.rows] for n in COLUMNS}, kind)

    def by_break_even(self) -> list[ObservationWorth]:
        """Returns the rows as they are shown, the highest break-even price first."""
        if not self._sensitivity.has_cases:
            return list(self.rows)
        return sorted(self.rows, key=lambda row: -row.with_fees(row.break_even))

    def __repr__(self) -> str:
        return f"<Worth of {len(self)} observations, gain {shown(self.gain)}>"

    def __str__(self) -> str:
        return "\n\n".join([self._table(), *self.words()])

    def below_tree(self) -> str:
        """Returns the table and the sentences as text, for below a tree, which names the stake."""
        return "\n\n".join([self._table(), *self.words(names_stake=False)])

    def words(self, *, names_stake: bool = True) -> list[str]:
        """Returns sentences on the stake, the budget, differences from the tree, and what is still
        to learn.
        """
        said, learn = self.remarks(), self.still_to_learn
        at = for_stake(self._sensitivity.lattice.stake)
        if at and names_stake:
            said.insert(0, f"{at.capitalize()}.")
        elif not at and self.stake_of_log != 1.0:
            mean = f"{self.stake_of_log:.3g}"
            said.insert(
                0,
                f"For a stake of 1. The log that it began with has stakes, {mean} on average: say "
                f"stake={mean}, or another, for what is worth buying then.",
            )
        if not self.is_known and learn is not None:
            amount = self._figures.estimate(*learn)
            words = f"knowing this population perfectly would add {amount} a case."
            said.append(f"Still to learn{self.beside_budget}: {words}")
        return said

    @property
    def beside_budget(self) -> str:
        """The words for what is computed without the budget; none if nothing is lost by it."""
        return ", without the budget" if self.policy.shadow_price else ""

    def remarks(self) -> list[str]:
        """Returns the remark that there are no cases yet, or what has no row, the differences
        between tree and table, and the budget.
        """
        if self._sensitivity.has_cases:
            return [*self._without_row(), *self.disagreements(), *self._budget_words()]
        return ["There are no cases yet: what observations are worth is not known."]

    def _without_row(self) -> list[str]:
        """Returns which observations have no row, and why."""
        names = self.left_out
        if not names:
            return []
        more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
        return [
            f"Without a row: {', '.join(names[:MOST_NAMED])}{more}. Estimates are made for as many "
            "observations as fit, those that seem to tell most about rewards. What is without a "
            "row is not among them, and is not bought."
        ]

    def _budget_words(self) -> list[str]:
        """Returns which numbers are within the budget, and which are not."""
        price = self.policy.shadow_price
        if not price:
            return []
        more = f"one more to spend adds {shown(price, decimals=2)}"
        return [
            f"How often observations are bought is said within the budget, where {more}. What they "
            "are worth, and how often they are bought at other prices, is said without the budget."
        ]

    def disagreements(self) -> list[str]:
        """Returns why the tree buys above a break-even price, or does not buy below one, if it does
        so.
        """
        if self.is_known:
            return []
        bought = [row.name for row in self.rows if row.bought > 0 and row.break_even < row.price]
        left = [row.name for row in self.rows if row.bought == 0 and row.break_even > row.price]
        if self.policy.shadow_price:  # what the budget alone keeps from being bought is no surprise
            left = [name for name in left if not self._sensitivity.today.bought[name]]
        middle = "while a break-even price is the middle of what is possible."
        said = []
        if bought:
            which = f"The tree buys {', '.join(bought)} above the break-even price"
            said.append(f"{which}: it goes by what is expected on average, {middle}")
        if left:
            which = f"The tree does not buy {', '.join(left)} below the break-even price"
            said.append(f"{which}: it counts on no more than is fairly sure, {middle}")
        return said

    @property
    def is_known(self) -> bool:
        """Whether the population is known, so that the numbers are not estimates."""
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
        for row in self.by_break_even():
            cells = shown_row(row, self._figures)
            lines.append(tuple(cells[title] for title in COLUMN_OF_TITLE if title in titles))
        return lines


def still_to_learn(
    source: Model | EvidenceSource | Beliefs | CountedEvidence, *, stake: float | None = None
) -> Estimate | None:
    """Estimates what perfect knowledge of the population would add to the gain of a case.

    This is the expected value of perfect information about the parameters: what the best policy of
    a plausible world gains more there than the recommended policy, averaged over these worlds. If
    it is small compared with the gain of a case, more learning is worth little. The result is None
    before the first case, and with more than 512 combinations of values, where states are only
    known one by one. A learner's budget is left aside: both policies may spend what pays. `stake`
    is as in `worth`.

    >>> from askwise.simulation.environments import breast_cancer
    >>> still_to_learn(breast_cancer(cost=5.0))
    Estimate(value=0.0, low=0.0, high=0.0)
    """
    return worth(source, stake=stake).still_to_learn


def worth(
    source: Model | EvidenceSource | Beliefs | CountedEvidence,
    *,
    acquisition: str | None = None,
    stake: float | None = None,
) -> Worth:
    """Computes the worth of every observation: what it adds, its break-even price, and a verdict.

    source: A known population (`Model`), a learner, or a fitted log.
    acquisition: "sequential" or "simultaneous". The default is that of the learner.
    stake: The number of times that the reward of a case counts. The default is 1, or the mean stake
    of a fitted log.

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
        source = source.beliefs(Lattice(source.problem))
    if isinstance(source, Beliefs | CountedEvidence):
        at = 1.0 if stake is None else check_stake(stake, source.lattice.problem.reward_value)
        return Worth(PriceSensitivity(source.at_stake(at), chosen))
    if not hasattr(source, "recommend"):
        kind = type(source).__name__
        raise OptionError(f"expected a Model, a learner or a fitted log, got a {kind}")
    policy = source.recommend() if stake is None else source.recommend(stake=stake)
    if acquisition not in (None, policy.acquisition):
        evidence = _known(source.evidence()).at_stake(policy.lattice.stake)
        return Worth(PriceSensitivity(evidence, chosen))
    evidence = _known(policy.evidence)
    return Worth(PriceSensitivity(evidence, policy.acquisition), policy, _stake_of_log(source))


def _stake_of_log(source: object) -> float:
    """The mean stake of the log that a learner began with; a fit has its own."""
    return rounds_of(source).strategy.log.stake if isinstance(source, BaseLearner) else 1.0


def _known(evidence: Evidence | None) -> Beliefs | CountedEvidence:
    assert isinstance(evidence, Beliefs | CountedEvidence)
    return evidence
