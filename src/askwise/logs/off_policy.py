"""What a policy would have gained on logged cases, from how probable each of them was.

A row says what came of what was done, not of what the policy would have done. Rows on which the two
agree stand for those on which they do not: with w = [the policy agrees] / P(what was done),

    IPS      mean of w G                                        without bias, wide
    SNIPS    Σ w G / Σ w                                        slightly biased, narrower
    DR       V(s₀) + w (G − V(s₀)), or with a probability for each step, from the last one back,
             v_k = V(s_k) + [agrees]/p_k (g_k + v_{k+1} − V(s_k))

G = β r − Σ c is the gain, g_k that of step k, and V what a model, or the other half of the log,
expects (N. Jiang, L. Li: Doubly robust off-policy value evaluation for reinforcement learning, ICML
2016). DR is without bias whatever V is, and the narrower the better V is.

Where every row saw everything, the policy's own cost is known in each, and only its action must
agree.

Intervals are normal, and there are none below `LEAST_EFFECTIVE` effective rows: four rows that
earned the same would claim to know the gain exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from askwise._support.frames import framed
from askwise._support.numbers import interval, shown
from askwise._support.typing import Floats, RandomSource
from askwise.errors import OptionError
from askwise.estimation.models import Model
from askwise.logs.policy_rows import PolicyRows, rows_of_policies
from askwise.policy import Policy

LEAST_EFFECTIVE = 30
"""With fewer effective rows there is no interval."""


class Estimate(NamedTuple):
    """A gain for each case, and the interval that holds it with the confidence asked for."""

    value: float
    """NaN if no row agrees, and there is no other way to tell."""
    low: float
    """NaN if there are too few rows for an interval, and so is `high`."""
    high: float

    def raised(self, by: float) -> Estimate:
        """The same, so much higher."""
        return Estimate(*(by + number for number in self)) if by else self

    def __str__(self) -> str:
        if not math.isnan(self.low):
            return interval(*self)
        value = "unknown" if math.isnan(self.value) else shown(self.value)
        return f"{value} (too few rows for an interval)"


@dataclass(frozen=True)
class OffPolicyValue:
    """The gain that a policy would have had, by three estimators."""

    ips: Estimate
    """Inverse propensity scores."""
    snips: Estimate
    """The same, self-normalised."""
    dr: Estimate
    """Doubly robust."""
    rows: int
    agreeing: int
    """On how many rows the policy would have done the same."""
    effective_rows: float
    """(Σ w)² / Σ w²: as many equally weighted rows would say as much."""
    mean_weight: Estimate
    """The mean of w, which is 1 if whoever wrote the log might have done what the policy does, in
    every case; less where that was out of the question."""
    confidence: float

    @property
    def has_intervals(self) -> bool:
        """Whether there are enough effective rows for intervals: 30."""
        return self.effective_rows >= LEAST_EFFECTIVE

    def frame(self, kind: str = "dict") -> Any:
        """A row for each estimator: its name, the gain, and the interval, empty if there is none.

        The columns come in a "dict", or a "pandas", "polars" or "pyarrow" frame.
        """
        named = {"ips": self.ips, "snips": self.snips, "dr": self.dr}
        columns: dict[str, list[Any]] = {"estimator": list(named)}
        for place, name in enumerate(("gain", "low", "high")):
            numbers = [estimate[place] for estimate in named.values()]
            columns[name] = [None if math.isnan(number) else number for number in numbers]
        return framed(columns, kind)

    def __str__(self) -> str:
        named = {"ips": self.ips, "snips": self.snips, "dr": self.dr}
        lines = [f"{name:<6} {estimate}" for name, estimate in named.items()]
        agreeing = f"{self.agreeing:,} of {self.rows:,} rows agree with the policy"
        lines.append(f"{agreeing}, worth {self.effective_rows:,.0f} rows")
        if not self.has_intervals:
            lines.append(
                f"fewer than {LEAST_EFFECTIVE} effective rows: the figures may be far off, and "
                "nobody can say how far; log more rows on which the policy agrees"
            )
        weight, low, high = self.mean_weight
        if abs(weight - 1) > high - low:  # twice as far off as luck explains
            lines.append(
                f"weights average {shown(weight)}, where 1 is expected: propensities that are "
                "wrong, or cases in which nobody would have done what the policy does; ips is off "
                "by that"
            )
        return "\n".join(lines)


def off_policy(
    policy: Policy,
    log: Any,
    *,
    action: str | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    order: str | None = None,
    acquisition: str | None = None,
    model: Model | None = None,
    confidence: float = 0.95,
    rng: RandomSource = 0,
) -> OffPolicyValue:
    """The gain that `policy` would have had for each case of a log of decisions.

    The log, and its columns, are those of `fit`. `propensity` is the column with the probability of
    what was done, as it was when it was done: one number for the whole course, or one for each
    look, in their order, and one for stopping with that action ("0.5,1,0.9", or a list). If every
    row saw everything and no order is said, it is that of the action alone.

    `model` is what DR expects; without it each half of the rows, drawn with `rng`, is expected from
    the other. Intervals are normal, and too narrow where few rows agree: with fewer than 30
    effective rows there are none, and printing the estimates says so.

    >>> from askwise import Model, Observation, Problem, oracle
    >>> mri = Observation("mri", values=["neg", "pos"], cost=0.1)
    >>> problem = Problem(observations=[mri], actions=["wait", "treat"])
    >>> model = Model(problem, [0.75, 0.25], [[1, 0], [0, 1]])
    >>> log = {  # whoever acted did the right thing three times in four
    ...     "mri": ["neg", "neg", "neg", "neg", "pos", "pos", "pos", "pos"] * 50,
    ...     "action": ["wait", "wait", "wait", "treat", "treat", "treat", "treat", "wait"] * 50,
    ...     "reward": [1, 1, 1, 0, 1, 1, 1, 0] * 50,
    ...     "propensity": [0.75, 0.75, 0.75, 0.25, 0.75, 0.75, 0.75, 0.25] * 50,
    ... }
    >>> print(off_policy(oracle.sequential(model), log))
    ips    0.9000 (0.8433 to 0.9567)
    snips  0.900 (0.900 to 0.900)
    dr     0.900 (0.900 to 0.900)
    300 of 400 rows agree with the policy, worth 300 rows
    """
    columns = {"action": action, "reward": reward, "propensity": propensity, "order": order}
    check_confidence(confidence)
    (rows,) = rows_of_policies([policy], log, columns, acquisition, model, rng)
    return _estimated(rows, policy.problem.lowest_reward, confidence)


def check_confidence(confidence: object) -> None:
    """Raise if it is not a number between 0 and 1."""
    if not (isinstance(confidence, float) and 0 < confidence < 1):
        raise OptionError(f"confidence must be a number between 0 and 1, got {confidence!r}")


def _estimated(rows: PolicyRows, lowest: float, confidence: float) -> OffPolicyValue:
    # G is reckoned above the lowest reward, and told with it
    weights, weighted, surely, robust = rows
    mean = weights.mean()
    ratio = float(weighted.mean() / mean) if mean > 0 else math.nan
    effective = effective_rows(weights)

    def estimate(centre: float, influence: Floats, least: float = LEAST_EFFECTIVE) -> Estimate:
        return estimated(centre, influence, confidence, is_enough=effective >= least)

    ips = weighted - surely
    linear = (weighted - ratio * weights) / mean - surely if mean > 0 else ips
    return OffPolicyValue(
        estimate(float(ips.mean()), ips).raised(lowest),
        estimate(ratio - float(surely.mean()), linear).raised(lowest),
        estimate(float(robust.mean()), robust).raised(lowest),
        len(weights),
        int((weights > 0).sum()),
        effective,
        estimate(float(mean), weights, least=0),  # of all rows, whether they agree or not
        confidence,
    )


def effective_rows(weights: Floats) -> float:
    """(Σ w)² / Σ w²."""
    total = float((weights**2).sum())
    return float(weights.sum()) ** 2 / total if total > 0 else 0.0


def estimated(centre: float, influence: Floats, confidence: float, *, is_enough: bool) -> Estimate:
    """A mean with its normal interval, if there are enough rows for one."""
    if not is_enough or len(influence) < 2:
        return Estimate(centre, math.nan, math.nan)
    spread = float(np.std(influence, ddof=1)) / math.sqrt(len(influence))
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * spread
    return Estimate(centre, centre - reach, centre + reach)
