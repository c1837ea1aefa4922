"""A live split: each case follows one of two policies at random.

The rewarded cases of a split are a log, and the propensities are those of the mixture. A case in
which both policies would have done the same counts for both.

People may overrule a case, stop it early, or make observations unasked. The case then does not
follow a policy, and the probability of its course is unknown. But the policy of the case was drawn
at random, with known probabilities. So such a case counts for that policy alone, with the weight
w = 1 / P(this policy was drawn). This is the principle of intention to treat. Let w be as before
for the other cases, and D the event that people did something else. Then

    E[w G] = E[G, not D | a] + E[G, D | a] = E[G | a],

the mean gain if policy a is deployed and people may overrule it. People must not know which of the
two policies advises them, only what it advises. Then E[w] = 1 for every start state, so

    V(s₀) + w (G − V(s₀))

is unbiased for every V. The estimate by steps is biased, because people may overrule a case
depending on the next step. It is used only for a split in which no case was overruled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from askwise._support.typing import Flags, Floats, RandomSource
from askwise.errors import CaseError, OptionError
from askwise.learners import Follower
from askwise.learners.cases import Case
from askwise.learners.waiting_cases import WaitingCases
from askwise.logs.case_log import rows_of
from askwise.logs.comparison import Comparison, compared, nothing_compared, reach_at_all_times
from askwise.logs.policy_rows import PolicyRows, rows_of_policies
from askwise.logs.trial_files import from_bytes, to_bytes, write
from askwise.policy import PathTable, Policy, SetTable
from askwise.policy.mixing import parts_followed
from askwise.problem import Seen


class Trial(Follower):
    """A live split: each case follows one of two policies at random."""

    def __init__(
        self,
        a: Policy,
        b: Policy,
        share: float,
        confidence: float,
        rng: RandomSource,
        names: tuple[str, str] = ("a", "b"),
    ) -> None:
        if not (isinstance(share, float) and 0 < share < 1):
            raise OptionError(f"share must be a number between 0 and 1, got {share!r}")
        if a.acquisition != b.acquisition:
            a, b = _one_by_one(a), _one_by_one(b)
        super().__init__(a.mixed(b, share), rng)
        self.a, self.b, self.share = a, b, share
        self.confidence, self.names = confidence, names
        self._waiting: dict[int, Case] = {}
        self._rows: dict[int, tuple[Case, float]] = {}

    def open(self, known: Mapping[str, Seen] | None = None, *, stake: float | None = None) -> Case:
        """Opens a case that follows one of the two policies. `known` has the given values only.

        `stake` is the number of times that the reward of the case counts in the comparison. The
        default is the stake of the policies.
        """
        lattice = self.policy.lattice
        if known is not None and lattice.index(known) >= lattice.contexts:
            raise CaseError(
                "a trial compares whole cases: nothing may be on file, so `known` takes only "
                "values of given observations"
            )
        with self.lock:
            case = super().open(known, stake=stake)
            self._waiting[case.id] = case
            return case

    @property
    def cases(self) -> WaitingCases:
        """The cases that wait for their reward or have a default reward, by number."""
        return WaitingCases(self._waiting, self.opened)

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """Stores the reward of a case, perhaps in place of another."""
        self._rows[case.id] = case, reward
        if not case.is_by_default:
            self._waiting.pop(case.id, None)

    def cancelled(self, case: Case) -> None:
        """Forgets a case that will have no reward."""
        self._waiting.pop(case.id, None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to one file. `askwise.load` returns a trial that continues
        identically; its waiting cases are in `cases`.
        """
        write(self, path)

    def to_bytes(self) -> bytes:
        """Returns the content of the file that `save` writes. `askwise.load` takes it, too."""
        return to_bytes(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_bytes, (self.to_bytes(),)

    def resume(self, case: Case) -> None:
        """Takes a case of a saved trial: as rewarded, if it has its reward."""
        if case.share is not None:
            self._rows[case.id] = case, case.share
        if case.share is None or case.is_by_default:
            self._waiting[case.id] = case

    def log(self) -> dict[str, list[Any]]:
        """Returns the rewarded cases as a log with propensities.

        Cases in which people did something else than advised are left out, unless their propensity
        was reported, because their propensities are unknown.
        """
        return self._log_of([row for row in self.rewarded_cases() if _has_propensities(row[0])])

    def result(self) -> Comparison:
        """Returns the comparison so far. Its interval is valid at all times at once.

        Cases that people overruled count for the policy that was drawn for them.
        """
        cases, acquisition = self.rewarded_cases(), self.policy.acquisition
        if not cases:
            return nothing_compared(self.names)
        rows = self._log_of(cases)
        changed = np.array([_is_changed(case) for case, _ in cases])
        for row in np.flatnonzero(changed).tolist():
            # unknown, and replaced below by the weight of the drawn policy
            rows["propensity"][row] = [1.0]
        if acquisition == "simultaneous":
            del rows["order"]
        said = ("action", "reward", "propensity", "order", "stake")
        columns = {name: name if name in rows else None for name in said}
        both = [self.a, self.b]
        (of_a, of_b), _ = rows_of_policies(both, rows, columns, acquisition, None, 0)
        reach = reach_at_all_times(self.confidence)
        if not changed.any():
            return compared(of_a, of_b, reach, self.names)
        follows_b = self._follow_b([case for case, _ in cases])
        gains = np.array([self._gain(case, reward) for case, reward in cases]).T
        of_a = _by_side(of_a, changed, ~follows_b / (1.0 - self.share), gains)
        of_b = _by_side(of_b, changed, follows_b / self.share, gains)
        overruled = int((changed & ~follows_b).sum()), int((changed & follows_b).sum())
        return replace(compared(of_a, of_b, reach, self.names), overruled=overruled)

    def __repr__(self) -> str:
        number = f"{self.opened:,} cases, {len(self._rows):,} rewarded"
        return f"<Trial of two policies: {self._split()}; {number}>"

    def __str__(self) -> str:
        return f"{self._split()}\n{self.result()}"

    def _split(self) -> str:
        first, second = self.names
        of_a, of_b = (f"{100 * share:.4g}%" for share in (1.0 - self.share, self.share))
        return f"{second} is followed by {of_b} of the cases, {first} by {of_a}"

    def rewarded_cases(self) -> list[tuple[Case, float]]:
        """Returns the cases that have their reward, with it, from 0 to 1."""
        with self.lock:
            return list(self._rows.values())

    def _log_of(self, cases: list[tuple[Case, float]]) -> dict[str, list[Any]]:
        rows = rows_of(self.policy.lattice.per_unit.problem, [case for case, _ in cases])
        rows["propensity"] = [likely or [] for likely in rows["propensity"]]
        return rows

    def _follow_b(self, cases: list[Case]) -> Flags:
        """Returns for each case whether b was drawn."""
        shares = [share for share, _ in self.policy.parts]
        tags = np.array([case.tag for case in cases], np.int64)
        drawn: Flags = parts_followed(tags, shares) >= len(self.a.parts)
        return drawn

    def _gain(self, case: Case, reward: float) -> tuple[float, float]:
        """Returns what a case earned, and less what it spent at the prices of the comparison."""
        lattice = self.policy.lattice.per_unit
        acting = float(lattice.action_costs[case.action_index])
        problem = lattice.problem
        earned = case.stake * (problem.lowest_reward + problem.reward_value * reward)
        return earned, -acting - lattice.spent(case.state_index)


def _is_changed(case: Case) -> bool:
    """Whether people did something else than the policy that the case followed."""
    return case.is_overruled or bool(case.unasked)


def _has_propensities(case: Case) -> bool:
    return not case.unasked and case.propensity is not None


def _by_side(rows: PolicyRows, changed: Flags, drawn: Floats, gains: Floats) -> PolicyRows:
    """Returns the rows of one policy, with changed cases weighted as wholes by the drawn policy."""
    weights: Floats = np.where(changed, drawn, rows.weights)
    weighted: Floats = np.where(changed, drawn * gains, rows.weighted)
    robust = rows.expected + weighted - weights * rows.expected
    return rows._replace(weights=weights, weighted=weighted, robust=robust)


def _one_by_one(policy: Policy) -> Policy:
    """Returns a policy that buys sets as a policy that buys their members in order."""
    table = policy.table
    if isinstance(table, PathTable) or policy.acquisition == "sequential":
        return policy
    if not isinstance(table, SetTable) or table.row_of is not None:
        raise OptionError(
            "one policy buys one observation after the other, and the other one buys sets along a "
            "tree: compare two policies of one acquisition"
        )
    values = np.full(len(table.actions), np.nan)
    path = PathTable(policy.lattice, table.as_path(), table.actions, values)
    return Policy(path, frequency=policy.frequency)
