"""Computes what each row of a log says about a policy: the summands of IPS, SNIPS and DR.

The equations are in `off_policy.py`. For a mixture of policies, a row contributes the weighted mean
over its parts, because all three are linear in the policy.

G = stake · (low + β r) − Σ c is the gain in money. IPS of the gain above the lowest reward would
differ by low · (1 − the mean of w), which may be more than any case can gain. The stake of a row is
the log's; in a log without stakes it is that of the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

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
from askwise.logs.same_rows import digest_of_decisions, is_chosen_on
from askwise.logs.values import Values, nothing_of, values_of_log, values_of_model, values_of_rows
from askwise.policy import Policy

CONFOUNDED = (
    "the log has no propensities. The actions may have been chosen for reasons that are not in the "
    "log; the rows on which the policy agrees are then no fair sample of the others (confounding). "
    "Say propensity=, the column with the probability of what was done: one number for the whole "
    "case, or one for each step in its order, '0.5,1,0.9'"
)

COMPLETE = (
    "the log has complete records, with the reward of every action, and logged decisions are "
    "expected here, with action=, reward= and propensity=. policy.evaluate(table) scores a policy "
    "on complete records: to compare two policies, score each of them on the same table"
)


class PolicyRows(NamedTuple):
    """The contribution of each row of a log to the estimates of a policy.

    Gains have two lines: what is earned at the stake of the row, and what is spent, below 0.
    """

    weights: Floats
    """w."""
    weighted: Floats
    """w G, in two lines."""
    surely: Floats
    """The policy's spend if everything is known; else 0. It is not in `weighted`."""
    robust: Floats
    """The DR estimate from the row, in two lines."""
    expected: Floats
    """V(s₀), which DR expects of the row before anything is done, in two lines."""
    stakes: Floats
    """How many times its reward counts."""

    def scaled(self, share: float) -> PolicyRows:
        """Returns the same estimates for a share of the cases."""
        return PolicyRows(*(share * array for array in self))


def rows_of_policies(
    policies: Sequence[Policy],
    log: Any,
    columns: dict[str, str | None],
    acquisition: str | None,
    model: Model | None,
    rng: RandomSource,
) -> tuple[list[PolicyRows], list[bool]]:
    """Returns the estimates from each row of a log for each of these policies of one problem, and
    whether each was chosen on these rows.
    """
    for policy in policies:
        if not isinstance(policy, Policy):
            raise OptionError(f"expected a policy, such as learner.recommend(), got {policy!r}")
    lattice = policies[0].lattice
    logged, roles = _read_decisions(policies[0], log, columns, acquisition)
    decisions, chosen = logged.decisions, roles.acquisition
    is_known = chosen is None and bool((decisions.digits >= 0).all())
    if not is_known:
        check_most(lattice, decisions)
        if chosen is None and sum(1 for _ in by_looks(lattice, decisions.digits)) > 1:
            raise TableError(REFUSED)
        chosen = chosen or "simultaneous"
    if logged.stakes is None and len({policy.lattice.stake for policy in policies}) > 1:
        raise OptionError(
            "the policies are for different stakes, and the log has none: say stake=, the column "
            "that says how many times the reward of a row counts"
        )
    halves = as_generator(rng).permutation(len(decisions.units)) % 2

    def of_part(policy: Policy) -> PolicyRows:
        agreement = agreement_of(policy, decisions, None if is_known else chosen)
        chances = _chances(logged, agreement, str(roles.propensity))
        stakes = logged.stakes
        if stakes is None:
            stakes = np.full(len(decisions.units), policy.lattice.stake)
        return _policy_rows(policy, decisions, stakes, agreement, chances, chosen, model, halves)

    def of_policy(policy: Policy) -> PolicyRows:
        parts = [of_part(one).scaled(share) for share, one in policy.parts]
        return PolicyRows(*(np.sum(arrays, axis=0) for arrays in zip(*parts, strict=True)))

    digest = digest_of_decisions(decisions)
    chosen_here = [is_chosen_on(policy, digest) for policy in policies]
    return [of_policy(policy) for policy in policies], chosen_here


def _read_decisions(
    policy: Policy, log: Any, columns: dict[str, str | None], acquisition: str | None
) -> tuple[DecisionsWithPropensities, Roles]:
    """Returns the action of each row, and its propensity."""
    with opened_log(log) as opened:
        if columns["action"] is None and "action" in opened.columns:
            columns["action"] = "action"  # so that these are decisions, whatever else is there
        roles = roles_of(
            policy.problem,
            opened.columns,
            rewards=None,
            label=None,
            acquisition=acquisition,
            wanted="logged decisions",
            **columns,
        )
        if roles.is_complete:
            raise TableError(COMPLETE)
        if roles.propensity is None:
            raise TableError(CONFOUNDED)
        # a log has the rewards of a stake of 1, whatever the stake of the policy
        return opened.decisions_with_propensities(policy.lattice.per_unit, roles), roles


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


def _policy_rows(
    policy: Policy,
    decisions: Decisions,
    stakes: Floats,
    agreement: Agreement,
    chances: _Chances,
    acquisition: AcquisitionName | None,
    model: Model | None,
    halves: Integers,
) -> PolicyRows:
    problem, cost = policy.lattice.per_unit.problem, policy.lattice.action_costs
    rewards: Floats = decisions.units * np.float64(UNIT)
    weights = chances.weights(agreement)
    earned = stakes * (problem.lowest_reward + problem.reward_value * rewards)
    acted: Floats = np.stack([earned, -cost[decisions.actions]])
    # where everything is known, so is what the policy spends on each row
    surely = agreement.spent if acquisition is None else np.zeros(len(earned))
    gain = acted.copy()
    gain[1] -= 0.0 if acquisition is None else agreement.spent
    expected_rewards, spends = np.empty((2, *agreement.states.shape))
    by_model = None if model is None else values_of_model(policy, model)
    for half in (0, 1):
        mine, others = np.flatnonzero(halves == half), np.flatnonzero(halves != half)
        if by_model is not None:
            expected = by_model
        elif len(others) == 0:  # of a log of one row
            expected = nothing_of(policy)
        elif acquisition is None:
            expected = values_of_rows(
                policy, agreement.at(others), rewards[others], weights[others]
            )
        else:
            expected = values_of_log(policy, _rows(decisions, others), acquisition)
        found = _looked_up(expected, agreement.states[mine])
        expected_rewards[mine], spends[mine] = np.moveaxis(found, -1, 0)
    each = problem.lowest_reward + problem.reward_value * expected_rewards
    value: Floats = np.stack([stakes[:, None] * each, -spends])
    robust = _doubly_robust(agreement, chances, weights, acted, gain, value)
    robust[1] -= surely
    return PolicyRows(weights, weights * gain, surely, robust, value[:, :, 0], stakes)


def _doubly_robust(
    agreement: Agreement,
    chances: _Chances,
    weights: Floats,
    acted: Floats,
    gain: Floats,
    value: Floats,
) -> Floats:
    """Returns the doubly robust estimate of each row: its correction plus the expected value."""
    total = np.zeros_like(gain)
    for k in reversed(range(agreement.states.shape[1])):
        gained = np.where(k == agreement.steps - 1, acted, 0.0)
        gained[1] -= agreement.prices[:, k]
        ratio = np.where(k < agreement.agreed, 1 / chances.by_step[:, k], 0.0)
        here = value[:, :, k] + ratio * (gained + total - value[:, :, k])
        total = np.where(k < agreement.steps, here, 0.0)
    whole = value[:, :, 0] + weights * (gain - value[:, :, 0])
    robust: Floats = np.where(chances.is_whole, whole, total)
    return robust


def _looked_up(values: Values, states: Integers) -> Floats:
    """R(ψ) and C(ψ) of each of these states, last."""
    distinct, inverse = np.unique(states, return_inverse=True)
    found = np.array([values(state) for state in distinct.tolist()])
    return found[inverse].reshape((*states.shape, 2))


def _rows(decisions: Decisions, rows: Integers) -> Decisions:
    digits, actions, counts, units, graded, orders, distinct = decisions
    sums = units[rows], graded[rows]
    return Decisions(digits[rows], actions[rows], counts[rows], *sums, orders[rows], distinct)
