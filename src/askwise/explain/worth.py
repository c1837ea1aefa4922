r"""What each observation is worth: how often it is bought, what it adds, what one may pay for it.

The numbers come from `explain/price_sensitivity.py`; here they are asked for, and shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from askwise._support.frames import framed
from askwise._support.html import table
from askwise._support.numbers import as_price, shown
from askwise.errors import OptionError
from askwise.estimation.evidence import Beliefs, CountedEvidence, Evidence
from askwise.estimation.models import Model
from askwise.explain.price_sensitivity import DemandStep, ObservationWorth, PriceSensitivity
from askwise.policy import Policy
from askwise.policy.acquisition import acquisition_of
from askwise.policy.trees.figures import Figures, share
from askwise.states import Lattice


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
        return self._sensitivity.today.gain

    @property
    def blind_gain(self) -> float | None:
        """Of a case, if nothing were bought; None if it is not known."""
        return self._sensitivity.blind_gain()

    @property
    def full_gain(self) -> float | None:
        """Of a case, if everything were bought, or the best set of as many as may be; None if it is
        not known."""
        return self._sensitivity.full_gain()

    def demand(self, name: str) -> list[DemandStep]:
        """The steps of V as the price of one observation rises from 0 to its break-even price."""
        return self._sensitivity.demand(self[name])

    def frame(self, kind: str = "dict") -> Any:
        """The rows as columns in a "dict", or a "pandas", "polars" or "pyarrow" frame."""
        names = ("name", "price", "bought", "gain", "without", "free", "break_even", "fees")
        return framed({n: [getattr(row, n) for row in self.rows] for n in names}, kind)

    def __repr__(self) -> str:
        return f"<Worth of {len(self)} observations, gain {shown(self.gain)}>"

    def __str__(self) -> str:
        lines = self._lines()
        width = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        return "\n".join(
            f"{line[0]:<{width[0]}}  "
            + "  ".join(f"{cell:>{w}}" for cell, w in zip(line[1:], width[1:], strict=True))
            for line in lines
        )

    def _repr_html_(self) -> str:
        titles, *rows = self._lines()
        return table(titles, rows)

    def _lines(self) -> list[tuple[str, ...]]:
        figures = Figures.of(self.problem.reward_value, [row.price for row in self.rows])
        lines: list[tuple[str, ...]] = [("", "price", "bought", "adds", "if free", "break-even")]
        for row in sorted(self.rows, key=lambda row: -row.break_even):
            adds, free = figures.plain_gain(row.adds), figures.plain_gain(row.free - row.without)
            worth = (share(row.bought), adds, free, figures.amount(row.break_even + row.fees))
            lines.append((row.name, as_price(row.paid), *worth))
        return lines


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
