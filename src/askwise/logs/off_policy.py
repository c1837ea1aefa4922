"""Estimates what a policy would have gained on logged cases, from their propensities.

A row has the reward of what was done, not of what the policy would have done. Rows on which the two
agree are weighted to represent the others: with w = [the policy agrees] / P(what was done),

    IPS      mean of w G                                        unbiased, wide
    SNIPS    Σ w G / Σ w                                        slightly biased, narrower
    DR       V(s₀) + w (G − V(s₀)), or with a probability for each step, from the last one back,
             v_k = V(s_k) + [agrees]/p_k (g_k + v_{k+1} − V(s_k))

G = stake · β r − Σ c is the gain, and g_k that of step k. V is the estimate of a model, or of the
other half of the log (N. Jiang, L. Li: Doubly robust off-policy value evaluation for reinforcement
learning, ICML 2016). DR is unbiased whatever V is, and narrower the better V is.

If every row has every observation, the cost of the policy is known in each row, and only its action
must agree.

Intervals are normal approximations. `policy/row_variances.py` has the variance of rows, which may
have their own stakes. Below 30 effective rows there are no intervals: four rows with the same
reward would seem to give the gain exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from askwise._support.frames import framed
from askwise._support.numbers import shown
from askwise._support.typing import Floats, RandomSource
from askwise.errors import OptionError
from askwise.estimation.models import Model
from askwise.logs.policy_rows import PolicyRows, rows_of_policies
from askwise.logs.same_rows import CHOSEN_HERE
from askwise.policy import Policy
from askwise.policy.row_variances import (
    LEAST_EFFECTIVE,
    effective_rows,
    is_enough,
    spread_of,
    spread_of_gains,
)
from askwise.policy.scores import Estimate


@dataclass(frozen=True)
class OffPolicyValue:
    """Estimates of the gain that a policy would have had on a log, by three estimators."""

    ips: Estimate
    """Inverse propensity scoring."""
    snips: Estimate
    """Inverse propensity scoring, self-normalised."""
    dr: Estimate
    """The doubly robust estimate."""
    rows: int
    agreeing: int
    """The number of rows on which the policy would have done the same."""
    effective_rows: float
    """(Σ w u)² / Σ (w u)²: the number of rows with equal weights w and stakes u that have as much
    information.
    """
    mean_weight: Estimate
    """The mean of w. It is 1 if the log's policy could have taken every step of this policy, and
    less if it could not.
    """
    confidence: float
    stake: float = 1.0
    """The mean stake of the rows: how many times their rewards count."""
    has_own_stakes: bool = False
    """Whether the stakes of the rows differ."""
    rows_by_weight: float = math.nan
    """(Σ w)² / Σ w²: the effective rows if all stakes were equal."""
    chosen_here: bool = False
    """Whether the policy was chosen on these rows, so that its estimates are too high."""

    @property
    def has_intervals(self) -> bool:
        """Whether there are enough effective rows for intervals: at least 30."""
        return is_enough(self.effective_rows)

    def frame(self, kind: str = "dict") -> Any:
        """Returns a row for each estimator: its name, the gain and the interval, if there is one.

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
                f"fewer than {LEAST_EFFECTIVE} effective rows: the estimates may be far off, and "
                f"no interval can be given; {self._remedy()}"
            )
        lines += self._of_stakes()
        if self.chosen_here:
            lines.append(f"the policy {CHOSEN_HERE}")
        if why := why_weights_are_off(self.mean_weight):
            lines.append(f"{why}; ips is off by this factor, snips and dr may be far off too")
        return "\n".join(lines)

    def _remedy(self) -> str:
        """What would give intervals."""
        if is_enough(self.rows_by_weight):
            return "a few rows with large stakes decide: log more rows with large stakes"
        return "log more rows on which the policy agrees"

    def _of_stakes(self) -> list[str]:
        """A line if the stakes are not 1."""
        if self.has_own_stakes:
            return [f"rows have their own stakes, {shown(self.stake)} on average"]
        return [] if self.stake == 1.0 else [f"every row has a stake of {shown(self.stake)}"]


def off_policy(
    policy: Policy,
    log: Any,
    *,
    action: str | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    order: str | None = None,
    acquisition: str | None = None,
    stake: str | None = None,
    model: Model | None = None,
    confidence: float = 0.95,
    rng: RandomSource = 0,
) -> OffPolicyValue:
    """Estimates the gain that `policy` would have had on a log of decisions.

    The log and its columns are those of `fit`. `propensity` is the column with the probability of
    what was done, recorded at the time: one number for the whole case, or one for each observation
    in its order and one for the action ("0.5,1,0.9", or a list). If every row has every observation
    and there is no order, it is the propensity of the action alone. `stake` is the column that says
    how many times the reward of a row counts. Without one it is the stake of the policy, for which
    it was recommended, in every row. The printed estimates name a stake that is not 1.

    `model` is the model of the doubly robust estimate. Without it, each half of the rows, drawn
    with `rng`, is estimated from the other. The intervals are normal approximations, which are too
    narrow if few rows agree with the policy. With fewer than 30 effective rows there are no
    intervals, and the printed estimates say so.

    >>> from askwise import Model, Observation, Problem, oracle
    >>> mri = Observation("mri", values=["neg", "pos"], cost=0.1)
    >>> problem = Problem(observations=[mri], actions=["wait", "treat"])
    >>> model = Model(problem, [0.75, 0.25], [[1, 0], [0, 1]])
    >>> log = {  # the right action was taken three times in four
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
    columns["stake"] = stake
    check_confidence(confidence)
    (rows,), (here,) = rows_of_policies([policy], log, columns, acquisition, model, rng)
    return replace(_estimated(rows, confidence), chosen_here=here)


def why_weights_are_off(mean_weight: Estimate) -> str:
    """Says why the estimates may be off, if the weights do not average 1; else nothing.

    If the few large weights are missing from a log, both the mean and its interval are too small.
    Below 1 the mean must therefore be twice as far off as the interval allows.
    """
    weight, low, high = mean_weight
    if low > 1:
        reason = "propensities are wrong (too small), or this is chance"
    elif 1 - weight > high - low:
        reason = (
            "either propensities are wrong, or the log's policy could not have done what this "
            "policy does in some cases"
        )
    else:
        return ""
    return f"weights average {shown(weight)}, where 1 is expected: {reason}"


def check_confidence(confidence: object) -> None:
    """Raises an error if it is not a number between 0 and 1."""
    if not (isinstance(confidence, float) and 0 < confidence < 1):
        raise OptionError(f"confidence must be a number between 0 and 1, got {confidence!r}")


def _estimated(rows: PolicyRows, confidence: float) -> OffPolicyValue:
    weights, weighted, surely, robust, _, stakes = rows
    mean = float(weights.mean())
    ratio = float(weighted.sum(axis=0).mean()) / mean if mean > 0 else math.nan
    effective = effective_rows(weights * stakes)

    def estimate(centre: float, influence: Floats) -> Estimate:
        if not is_enough(effective):
            return Estimate(centre, math.nan, math.nan)
        return _estimate(centre, spread_of_gains(influence, stakes), len(weights), confidence)

    earned, spent = weighted
    ips: Floats = np.stack([earned, spent - surely])
    linear = ips
    if mean > 0:
        # Σ w (G − the ratio) / Σ w, whose second part does not grow with the stake
        linear = np.stack([earned / mean, (spent - ratio * weights) / mean - surely])
    return OffPolicyValue(
        estimate(float(ips.sum(axis=0).mean()), ips),
        estimate(ratio - float(surely.mean()), linear),
        estimate(float(robust.sum(axis=0).mean()), robust),
        len(weights),
        int((weights > 0).sum()),
        effective,
        # of all rows, whether they agree or not
        _estimate(mean, spread_of(weights), len(weights), confidence),
        confidence,
        float(stakes.mean()),
        has_own_stakes=bool((stakes != stakes[0]).any()),
        rows_by_weight=effective_rows(weights),
    )


def _estimate(centre: float, spread: float, rows: int, confidence: float) -> Estimate:
    """A mean with its normal interval; NaN if there is but one row."""
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * spread / math.sqrt(rows)
    return Estimate(centre, centre - reach, centre + reach)
