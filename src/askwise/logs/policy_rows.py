"""What each row of a log says of a policy: the summands of IPS, SNIPS and DR.

The equations are in `off_policy.py`. Of several policies that are mixed, a row says the mean of
what it says of each: all three are linear in the policy.
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
from askwise.logs.values import Values, values_of_log, values_of_model, values_of_rows
from askwise.policy import Policy

CONFOUNDED = (
    "the log has no propensities: whoever chose the actions may have had reasons that are not in "
    "it, and then rows on which the policy agrees are no fair sample of the others (confounding). "
    "Say propensity=, the column with the probability of what was done: of the whole course, or of "
    "each step in its order, '0.5,1,0.9'"
)


class PolicyRows(NamedTuple):
    """What each row of a log says of a policy."""

    weights: Floats
    """w."""
    weighted: Floats
    """w G."""
    surely: Floats
    """What the policy spends, where everything is known; else 0. It is not in `weighted`."""
    robust: Floats
    """What DR estimates from the row."""

    def scaled(self, share: float) -> PolicyRows:
        """What each row says of a share of the cases."""
        return PolicyRows(*(share * array for array in self))


def rows_of_policies(
    policies: Sequence[Policy],
    log: Any,
    columns: dict[str, str | None],
    acquisition: str | None,
    model: Model | None,
    rng: RandomSource,
) -> list[PolicyRows]:
    """What each row of a log says of each of these policies, which are of one problem."""
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
    halves = as_generator(rng).permutation(len(decisions.units)) % 2

    def of_part(policy: Policy) -> PolicyRows:
        agreement = agreement_of(policy, decisions, None if is_known else chosen)
        chances = _chances(logged, agreement, str(roles.propensity))
        return _policy_rows(policy, decisions, agreement, chances, chosen, model, halves)

    def of_policy(policy: Policy) -> PolicyRows:
        parts = [of_part(one).scaled(share) for share, one in policy.parts]
        return PolicyRows(*(np.sum(arrays, axis=0) for arrays in zip(*parts, strict=True)))

    return [of_policy(policy) for policy in policies]


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


def _policy_rows(
    policy: Policy,
    decisions: Decisions,
    agreement: Agreement,
    chances: _Chances,
    acquisition: AcquisitionName | None,
    model: Model | None,
    halves: Integers,
) -> PolicyRows:
    rewards: Floats = decisions.units * np.float64(UNIT)
    cost = policy.lattice.action_costs
    if cost.any():
        rewards = rewards - cost[decisions.actions] / policy.problem.reward_value
    weights, earned = chances.weights(agreement), policy.problem.reward_value * rewards
    # where everything is known, so is what the policy spends on each row
    surely = agreement.spent if acquisition is None else np.zeros(len(earned))
    gain: Floats = earned if acquisition is None else earned - agreement.spent
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
    return PolicyRows(weights, weights * gain, surely, robust - surely)


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
