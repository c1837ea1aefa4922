"""Which of two policies gains more, and whether that is settled: from a log, or from a live split.

Each row of a log, with how probable it was, says something of either policy (`off_policy.py`); what
it says of the difference is the difference of the two, row by row: rows on which both would have
done the same say nothing of it, and add nothing to its doubt. A live split is such a log: a case
follows either policy by chance, and the propensities are those of the mixture.

Of a log, the interval is the normal one. Who watches a split looks at it again and again, and stops
when it shows what was hoped for: with normal intervals every second look would deceive in the end.
There the interval holds at all times at once, for n rows of variance s²,

    ± s √( 2 (n ρ² + 1) / (n² ρ²) · log(√(n ρ² + 1) / α) ),

with ρ such that it is narrowest at about `NARROWEST` rows (Waudby-Smith, Arbour, Sinha, Kennedy,
Ramdas: Time-uniform central limit theory and asymptotic confidence sequences, 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, overload

import numpy as np

from askwise._support.numbers import interval, shown
from askwise._support.typing import Floats, RandomSource
from askwise.errors import CaseError, OptionError
from askwise.estimation.models import Model
from askwise.learners import Follower
from askwise.learners.cases import Case
from askwise.logs.off_policy import LEAST_EFFECTIVE, Estimate, check_confidence, effective_rows
from askwise.logs.policy_rows import PolicyRows, rows_of_policies
from askwise.logs.roles import UNAVAILABLE
from askwise.policy import PathTable, Policy, SetTable

NARROWEST = 1_000
MOST_ROWS = 1e9
"""A number of rows beyond which none is foreseen."""


@dataclass(frozen=True)
class Comparison:
    """What two policies gain, and the difference."""

    a: Estimate
    """The gain of a case under the first,"""
    b: Estimate
    """and under the second."""
    difference: Estimate
    """What the first gains more; without an interval if too few rows tell them apart."""
    rows: int
    differing: int
    """The rows on which they would not have done the same, so that they say something."""
    more_rows: float
    """How many more rows would settle it, if the difference is what it seems; 0 if it is settled,
    infinite if that cannot be foreseen."""

    @property
    def is_settled(self) -> bool:
        """Whether the interval of the difference leaves out 0."""
        return self.difference.low > 0 or self.difference.high < 0  # NaN is neither

    def __str__(self) -> str:
        value, low, high = self.difference
        named = f"a gains {self.a}\nb gains {self.b}\n"
        if self.differing == 0:
            return named + f"they would have done the same in all {self.rows:,} rows that tell"
        if math.isnan(low):
            few = f"only {self.differing:,} of {self.rows:,} rows tell them apart"
            return named + f"a gains {_more(value)} than b, but {few}: too few for an interval"
        better = "a" if value >= 0 else "b"
        other = "b" if value >= 0 else "a"
        bounds = (low, high) if value >= 0 else (-high, -low)
        said = f"{better} gains {interval(abs(value), *bounds)} more than {other}: "
        return named + said + self._verdict()

    def _verdict(self) -> str:
        if self.is_settled:
            return f"settled, by {self.rows:,} rows"
        if not math.isfinite(self.more_rows):
            return f"not settled by {self.rows:,} rows, and more than can be foreseen would be"
        scale = 10 ** max(0, math.floor(math.log10(max(1.0, self.more_rows))))
        some = math.ceil(self.more_rows / scale) * scale
        return f"not settled by {self.rows:,} rows; some {some:,} more would, if it is so"


@overload
def compare(
    a: Policy,
    b: Policy,
    *,
    log: None = None,
    share: float = ...,
    confidence: float = ...,
    rng: RandomSource = ...,
) -> Trial: ...


@overload
def compare(
    a: Policy,
    b: Policy,
    *,
    log: Any,
    action: str | None = ...,
    reward: str | None = ...,
    propensity: str | None = ...,
    order: str | None = ...,
    acquisition: str | None = ...,
    model: Model | None = ...,
    confidence: float = ...,
    rng: RandomSource = ...,
) -> Comparison: ...


def compare(
    a: Policy,
    b: Policy,
    *,
    log: Any = None,
    action: str | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    order: str | None = None,
    acquisition: str | None = None,
    model: Model | None = None,
    share: float = 0.5,
    confidence: float = 0.95,
    rng: RandomSource = None,
) -> Comparison | Trial:
    """Which of two policies gains more for each case, by how much, and whether that is settled.

    With a `log`, whose columns are those of `off_policy`, it is estimated from that, and `model` is
    what DR expects. Without one it is a live split: `trial.open()` gives cases of which a `share`
    follows b, and what they earn is compared as it comes, `trial.result()`.

    Policies are what `learner.recommend()` and `oracle` give, or `Policy.from_rule`, for the rule
    that is followed today.

    >>> from askwise import Model, Observation, Policy, Problem, oracle
    >>> mri = Observation("mri", values=["neg", "pos"], cost=0.1)
    >>> problem = Problem(observations=[mri], actions=["wait", "treat"])
    >>> model = Model(problem, [0.75, 0.25], [[1, 0], [0, 1]])
    >>> today = Policy.from_rule(problem, lambda known: "wait")
    >>> trial = compare(oracle.sequential(model), today, rng=0)
    >>> draws = np.random.default_rng(0)
    >>> for sick in draws.random(2_000) < 0.25:
    ...     case = trial.open()
    ...     if case.wanted:
    ...         case.observe({"mri": "pos" if sick else "neg"})
    ...     case.reward(float((case.action == "treat") == sick))
    >>> print(trial.result())
    a gains 0.8999903 (0.8999695 to 0.9000111)
    b gains 0.7519 (0.7095 to 0.7944)
    a gains 0.1480 (0.1056 to 0.1905) more than b: settled, by 2,000 rows
    """
    check_confidence(confidence)
    for policy in (a, b):
        if not isinstance(policy, Policy):
            raise OptionError(f"expected a policy, such as learner.recommend(), got {policy!r}")
    if a.lattice != b.lattice:
        raise OptionError("the two policies are of two different problems")
    if log is None:
        return Trial(a, b, share, confidence, rng)
    columns = {"action": action, "reward": reward, "propensity": propensity, "order": order}
    seed = 0 if rng is None else rng
    of_a, of_b = rows_of_policies([a, b], log, columns, acquisition, model, seed)
    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    return _compared(of_a, of_b, lambda n: normal / math.sqrt(n), a.problem.lowest_reward)


class Trial(Follower):
    """Cases that follow one of two policies by chance, and what came of them."""

    def __init__(
        self, a: Policy, b: Policy, share: float, confidence: float, rng: RandomSource
    ) -> None:
        if not (isinstance(share, float) and 0 < share < 1):
            raise OptionError(f"share must be a number between 0 and 1, got {share!r}")
        if a.acquisition != b.acquisition:
            a, b = _one_by_one(a), _one_by_one(b)
        super().__init__(a.mixed(b, share), rng)
        self.a, self.b, self.confidence = a, b, confidence
        self._rows: dict[int, tuple[Case, float]] = {}

    def open(self, known: Any = None) -> Case:
        """A new case, that follows one of the two; `known` has what is given, and nothing else."""
        case = super().open(known)
        if case.start >= case.lattice.contexts:
            raise CaseError("a trial compares whole cases: nothing may be on file")
        return case

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """A reward has come, perhaps in place of another."""
        self._rows[case.id] = case, reward

    def log(self) -> dict[str, list[Any]]:
        """The cases that have their reward, as a log with propensities."""
        problem = self.policy.problem
        names = [o.name for o in problem.observations]
        rows: dict[str, list[Any]] = {name: [] for name in names}
        rows |= {"action": [], "reward": [], "propensity": [], "order": []}
        with self.lock:
            cases = list(self._rows.values())
        for case, reward in cases:
            state = case.state
            for name in names:
                seen = state.get(name, "")
                rows[name].append(UNAVAILABLE if seen is None else None if seen == "" else seen)
            rows["action"].append(case.action)
            rows["reward"].append(problem.as_money(reward))
            rows["propensity"].append(list(case.propensity or ()))
            looks = case.lattice.names_of(tuple(i for i, _ in case.path))
            rows["order"].append(list(looks))
        return rows

    def result(self) -> Comparison:
        """What is known of the two by now; its interval holds however often one asks."""
        rows, acquisition = self.log(), self.policy.acquisition
        if not rows["action"]:
            nothing = Estimate(math.nan, math.nan, math.nan)
            return Comparison(nothing, nothing, nothing, 0, 0, math.inf)
        if acquisition == "simultaneous":
            del rows["order"]
        said = ("action", "reward", "propensity", "order")
        columns = {name: name if name in rows else None for name in said}
        a, b = rows_of_policies([self.a, self.b], rows, columns, acquisition, None, 0)
        return _compared(a, b, _at_all_times(1.0 - self.confidence), self.a.problem.lowest_reward)

    def __repr__(self) -> str:
        return f"<Trial of two policies: {self.opened:,} cases, {len(self._rows):,} rewarded>"

    def __str__(self) -> str:
        return str(self.result())


def _one_by_one(policy: Policy) -> Policy:
    """A policy that buys sets, as one that buys their members in order."""
    table = policy.table
    if isinstance(table, PathTable) or policy.acquisition == "sequential":
        return policy
    if not isinstance(table, SetTable) or table.row_of is not None:
        raise OptionError("one policy buys one after the other, and the other sets of a tree")
    values = np.full(len(table.actions), np.nan)
    path = PathTable(policy.lattice, table.as_path(), table.actions, values)
    return Policy(path, frequency=policy.frequency)


def _at_all_times(alpha: float) -> Any:
    """How many standard deviations of a row the interval reaches, for a number of rows."""
    wide = -2 * math.log(alpha)
    rho = (wide + math.log(wide + 1)) / NARROWEST

    def reach(n: float) -> float:
        return math.sqrt(
            2 * (n * rho + 1) / (n * n * rho) * math.log(math.sqrt(n * rho + 1) / alpha)
        )

    return reach


def _compared(a: PolicyRows, b: PolicyRows, reach: Any, lowest: float) -> Comparison:
    """The difference of what each row says; an interval reaches so far for a number of rows.

    Gains are told with the lowest reward, above which rows reckon.
    """
    number = len(a.weights)
    apart = a.weights != b.weights
    telling = min(effective_rows(rows.weights[apart]) for rows in (a, b)) if apart.any() else 0.0
    is_enough = telling >= LEAST_EFFECTIVE

    def estimate(each: Floats, enough: bool) -> Estimate:
        centre = float(each.mean())
        if not enough or number < 2:
            return Estimate(centre, math.nan, math.nan)
        width = reach(number) * float(np.std(each, ddof=1))
        return Estimate(centre, centre - width, centre + width)

    of_a, of_b = (
        estimate(rows.robust, effective_rows(rows.weights) >= LEAST_EFFECTIVE).raised(lowest)
        for rows in (a, b)
    )
    each = a.robust - b.robust
    difference = estimate(each, is_enough)
    more = math.inf
    if is_enough:
        more = _rows_needed(abs(difference.value), float(np.std(each, ddof=1)), reach) - number
    return Comparison(of_a, of_b, difference, number, int(apart.sum()), max(0.0, more))


def _rows_needed(difference: float, spread: float, reach: Any) -> float:
    """As many rows as make the interval narrower than the difference."""
    low, high = 2.0, 4.0
    while high < MOST_ROWS and reach(high) * spread >= difference:
        low, high = high, 2.0 * high
    if high >= MOST_ROWS:
        return math.inf
    while high - low > 1.0:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if reach(middle) * spread >= difference else (low, middle)
    return high


def _more(value: float) -> str:
    return f"{shown(abs(value))} {'more' if value >= 0 else 'less'}"
