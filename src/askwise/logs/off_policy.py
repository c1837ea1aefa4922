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
from askwise._support.random import as_generator
from askwise._support.typing import AcquisitionName, Floats, Integers, RandomSource
from askwise.counting import UNIT
from askwise.errors import OptionError, TableError
from askwise.estimation.models import Model
from askwise.logs.agreement import Agreement, agreement_of
from askwise.logs.checks import check_most, check_propensities
from askwise.logs.counting import Decisions, DecisionsWithPropensities, by_looks
from askwise.logs.notes import REFUSED
from askwise.logs.reading import opened_log
from askwise.logs.roles import Roles, roles_of
from askwise.logs.values import Values, values_of_log, values_of_model, values_of_rows
from askwise.policy import Policy

CONFOUNDED = (
    "the log has no propensities: whoever chose the actions may have had reasons that are not in "
    "it, and then rows on which the policy agrees are no fair sample of the others (confounding). "
    "Say propensity=, the column with the probability of what was done: of the whole course, or of "
    "each step in its order, '0.5,1,0.9'"
)


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
    if not isinstance(policy, Policy):
        raise OptionError(f"expected a policy, such as learner.recommend(), got {policy!r}")
    if not (isinstance(confidence, float) and 0 < confidence < 1):
        raise OptionError(f"confidence must be a number between 0 and 1, got {confidence!r}")
    lattice = policy.lattice
    columns = {"action": action, "reward": reward, "propensity": propensity, "order": order}
    logged, roles = _read_decisions(policy, log, columns, acquisition)
    decisions, chosen = logged.decisions, roles.acquisition
    is_known = chosen is None and bool((decisions.digits >= 0).all())
    if not is_known:
        check_most(lattice, decisions)
        if chosen is None and sum(1 for _ in by_looks(lattice, decisions.digits)) > 1:
            raise TableError(REFUSED)
        chosen = chosen or "simultaneous"
    agreement = agreement_of(policy, decisions, None if is_known else chosen)
    chances = _chances(logged, agreement, str(roles.propensity))
    return _estimated(policy, decisions, agreement, chances, chosen, model, confidence, rng)


def _read_decisions(
    policy: Policy, log: Any, columns: dict[str, str | None], acquisition: str | None
) -> tuple[DecisionsWithPropensities, Roles]:
    """What was done in each row, and how probable that was."""
    with opened_log(log) as opened:
        if columns["action"] is None and "action" in opened.columns:
            columns["action"] = "action"  # so that these are decisions, whatever else is there
        roles = roles_of(
            policy.problem,
            opened.columns,
            rewards=None,
            label=None,
            acquisition=acquisition,
            **columns,
        )
        if roles.is_complete:
            raise TableError("expected logged decisions: action= and reward= are missing")
        if roles.propensity is None:
            raise TableError(CONFOUNDED)
        return opened.decisions_with_propensities(policy.lattice, roles), roles


class _Chances(NamedTuple):
    by_step: Floats
    """The probability of each step; 1 where there is none."""
    is_whole: Any
    """Whether the first is that of the whole course."""

    def weights(self, agreement: Agreement) -> Floats:
        """[the policy agrees] / P(what was done)."""
        agrees = agreement.agreed == agreement.steps
        weights: Floats = np.where(agrees, 1 / self.by_step.prod(axis=1), 0.0)
        return weights


def _chances(logged: DecisionsWithPropensities, agreement: Agreement, column: str) -> _Chances:
    width = max(agreement.states.shape[1], *map(len, logged.propensities))
    distinct = np.ones((len(logged.propensities), width))
    for place, numbers in enumerate(logged.propensities):
        distinct[place, : len(numbers)] = numbers
    lengths = np.array([len(numbers) for numbers in logged.propensities])[logged.which]
    check_propensities(lengths, agreement.steps, lambda row: f"column {column!r}, row {row}")
    return _Chances(distinct[logged.which], (lengths == 1) & (agreement.steps > 1))


def _estimated(
    policy: Policy,
    decisions: Decisions,
    agreement: Agreement,
    chances: _Chances,
    acquisition: AcquisitionName | None,
    model: Model | None,
    confidence: float,
    rng: RandomSource,
) -> OffPolicyValue:
    rewards: Floats = decisions.units * np.float64(UNIT)
    cost = policy.lattice.action_costs
    if cost.any():
        rewards = rewards - cost[decisions.actions] / policy.problem.reward_value
    weights, earned = chances.weights(agreement), policy.problem.reward_value * rewards
    # where everything is known, so is what the policy spends on each row
    surely = agreement.spent if acquisition is None else np.zeros(len(earned))
    gain: Floats = earned if acquisition is None else earned - agreement.spent
    halves = as_generator(rng).permutation(len(earned)) % 2
    value = np.empty(agreement.states.shape)
    for half in (0, 1):
        mine, others = np.flatnonzero(halves == half), np.flatnonzero(halves != half)
        if model is not None:
            expected = values_of_model(policy, model)
        elif len(others) == 0:  # of a log of one row
            expected = _nothing
        elif acquisition is None:
            expected = values_of_rows(
                policy, agreement.at(others), rewards[others], weights[others]
            )
        else:
            expected = values_of_log(policy, _rows(decisions, others), acquisition)
        value[mine] = _looked_up(expected, agreement.states[mine])
    robust = _doubly_robust(agreement, chances, weights, earned, gain, value)
    mean = weights.mean()
    ratio = float((weights * gain).mean() / mean) if mean > 0 else math.nan
    agreeing = int((weights > 0).sum())
    total = float((weights**2).sum())
    effective = float(weights.sum()) ** 2 / total if total > 0 else 0.0

    lowest = policy.problem.lowest_reward  # G is reckoned above it, and told with it

    def estimate(centre: float, influence: Floats, least: float = LEAST_EFFECTIVE) -> Estimate:
        if effective < least or len(influence) < 2:
            return Estimate(centre, math.nan, math.nan)
        spread = float(np.std(influence, ddof=1)) / math.sqrt(len(influence))
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * spread
        return Estimate(centre, centre - reach, centre + reach)

    ips, dr = weights * gain - surely, robust - surely
    linear = weights * (gain - ratio) / mean - surely if mean > 0 else ips
    return OffPolicyValue(
        estimate(float(ips.mean()), ips).raised(lowest),
        estimate(ratio - float(surely.mean()), linear).raised(lowest),
        estimate(float(dr.mean()), dr).raised(lowest),
        len(earned),
        agreeing,
        effective,
        estimate(float(mean), weights, least=0),  # of all rows, whether they agree or not
        confidence,
    )


def _doubly_robust(
    agreement: Agreement,
    chances: _Chances,
    weights: Floats,
    earned: Floats,
    gain: Floats,
    value: Floats,
) -> Floats:
    """What each row says of the policy, less what was expected of it, plus what is expected."""
    total = np.zeros(len(gain))
    for k in reversed(range(agreement.states.shape[1])):
        gained = np.where(k == agreement.steps - 1, earned, 0.0) - agreement.prices[:, k]
        ratio = np.where(k < agreement.agreed, 1 / chances.by_step[:, k], 0.0)
        here = value[:, k] + ratio * (gained + total - value[:, k])
        total = np.where(k < agreement.steps, here, 0.0)
    whole = value[:, 0] + weights * (gain - value[:, 0])
    robust: Floats = np.where(chances.is_whole, whole, total)
    return robust


def _nothing(state: int) -> float:
    """What is expected without anything to go by."""
    return 0.0


def _looked_up(values: Values, states: Integers) -> Floats:
    distinct, inverse = np.unique(states, return_inverse=True)
    found = np.array([values(state) for state in distinct.tolist()])
    return found[inverse].reshape(states.shape)


def _rows(decisions: Decisions, rows: Integers) -> Decisions:
    digits, actions, counts, units, graded, orders, distinct = decisions
    sums = units[rows], graded[rows]
    return Decisions(digits[rows], actions[rows], counts[rows], *sums, orders[rows], distinct)
