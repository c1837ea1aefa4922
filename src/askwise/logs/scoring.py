"""A policy followed on every row of a table: what it would have bought, done and gained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Number
from typing import Any

import numpy as np

from askwise.errors import ModelError, TableError
from askwise.logs.off_policy import check_confidence
from askwise.logs.reading import opened_log
from askwise.logs.roles import roles_of
from askwise.logs.same_rows import CHOSEN_HERE, digest_of_records, is_chosen_on
from askwise.policy import Policy
from askwise.policy.evaluating import outcomes_on
from askwise.policy.scores import Score, score_of
from askwise.problem import Problem
from askwise.problem.amounts import check_stake

__all__ = ["Score", "score"]


def score(
    policy: Policy,
    table: Any,
    rewards: Mapping[str, str] | None,
    label: str | None,
    stake: str | float | None,
    confidence: float,
) -> Score:
    """Returns the gain of a policy on complete records, from any source that `fit` reads."""
    check_confidence(confidence)
    if table is None or isinstance(table, Number | Problem):
        kind = type(table).__name__
        raise ModelError(f"expected a Model, or a table of complete records, got {kind}")
    column = stake if isinstance(stake, str) else None
    same = policy.lattice.stake
    if stake is not None and column is None:
        same = check_stake(stake, policy.lattice.per_unit.problem.reward_value)
    others = dict.fromkeys(("action", "reward", "acquisition", "order", "propensity"))
    with opened_log(table) as opened:
        roles = roles_of(
            policy.problem,
            opened.columns,
            rewards=rewards,
            label=label,
            stake=column,
            wanted="complete records",
            **others,
        )
        if not roles.is_complete:
            raise TableError(
                "the table has logged decisions, of which only what was done is known: "
                "aw.off_policy estimates what the policy would have gained. Complete records have "
                "a label=, or what every action would have earned (rewards={action: column})"
            )
        # a table has the rewards of a stake of 1, whatever the stake of the policy
        lattice, has_own = policy.lattice.per_unit, roles.stake is not None
        if has_own:
            records, stakes = opened.records_with_stakes(lattice, roles)
        else:
            records, _, _ = opened.records(lattice, roles)
            stakes = np.full(len(records.counts), same)
        outcomes = outcomes_on(policy, records, stakes)
        found = score_of(lattice.problem, outcomes, confidence, has_own_stakes=has_own)
        if is_chosen_on(policy, digest_of_records(records)):
            found = replace(found, warnings=(f"the policy {CHOSEN_HERE}",))
        return found


Policy._scores = staticmethod(score)
