"""The terms of a case are its prices and its stake, and they determine its plan.

The same version gives the same policy for the same terms, at any time and in any process. A learner
that draws when it plans gets a generator that depends on the terms.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import msgspec
import numpy as np

from askwise.errors import CaseError, ProblemError
from askwise.learners.learner import rounds_of
from askwise.policy import Policy
from askwise.problem.amounts import check_stake
from askwise.service.api.messages import Opening
from askwise.service.api.refusals import Refusal, in_fields
from askwise.service.replanning.policy_versions import PolicyVersion
from askwise.states import Lattice


class Terms(NamedTuple):
    """The prices that are a case's own, and how many times its reward counts."""

    prices: dict[str, float] = {}  # noqa: RUF012 (never changed)
    stake: float = 1.0


def start_of(lattice: Lattice, body: Opening) -> tuple[int, int]:
    """The state that a case begins in, and of which subset it is."""
    if body.known is None and not lattice.has_given:
        return 0, 0
    try:
        start = lattice.index(body.known or {})
    except (CaseError, OverflowError) as error:
        raise Refusal(422, in_fields(str(error)), "#/known") from None
    return start, 0 if start < lattice.contexts else lattice.subset_of(start)


def terms_of(lattice: Lattice, body: Opening) -> Terms:
    """The prices and the stake of a case, if they can be."""
    problem = lattice.problem
    try:
        check_stake(body.stake, problem.reward_value)
    except CaseError as error:
        raise Refusal(422, in_fields(str(error)), "#/stake") from None
    try:
        problem.priced(body.prices or {})
    except (ProblemError, OverflowError) as error:
        raise Refusal(422, in_fields(str(error)), "#/prices") from None
    return Terms(body.prices or {}, body.stake)


def policy_for(planned: PolicyVersion, start: int, subset: int, terms: Terms) -> Policy:
    """The policy of a case that began in this state, of that subset, on these terms.

    A policy that is in use is found without waiting for a plan of another case, and that of the
    version without waiting at all.
    """
    prices, stake = terms
    if not prices and stake == 1.0 and not _needs_plan(planned, subset):
        return planned.policy
    key = (start, subset, tuple(sorted(prices.items())), stake)
    found = planned.case_policies.get(key)
    if found is not None:
        return found
    rounds = rounds_of(planned.learner)
    with rounds.lock:
        now = rounds.now
        lattice = now.lattice.priced(prices) if prices else now.lattice
        drawn = msgspec.msgpack.encode((start, sorted(prices.items()), stake))
        now.rng = np.random.default_rng([planned.version, zlib.crc32(drawn)])
        found = rounds.policy_for_case(planned.policy, lattice, start, subset, stake)
    if found is planned.policy:  # which never dies, so its entry would stay for good
        found = _again(found)
    planned.case_policies[key] = found
    return found


def _needs_plan(planned: PolicyVersion, subset: int) -> bool:
    """Whether a case on the usual terms has a policy of its own, for its values on file."""
    if not subset:
        return False
    rounds = rounds_of(planned.learner)
    lattice = rounds.now.lattice
    if rounds.strategy.acquisition.plans_anew_for_files:
        return True
    return bool(lattice.tariff.in_panels(lattice.members(subset)))


def _again(policy: Policy) -> Policy:
    """Returns another object with the same frozen tables."""
    again = object.__new__(type(policy))
    vars(again).update(vars(policy))
    return again


def policy_at_stake(planned: PolicyVersion, stake: float) -> Policy:
    """The whole policy of cases with this stake that begin with nothing on file."""
    return policy_for(planned, 0, 0, Terms(stake=stake)).exact()
