"""What a case was opened with beside what is known: its prices and its stake, and the plan for it.

The same version gives the same policy for the same terms, whenever and wherever that is asked: a
learner that draws when it plans draws from a generator that the terms make.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import msgspec
import numpy as np

from askwise.learners.learner import rounds_of
from askwise.policy import Policy
from askwise.service.replanning.policy_versions import PolicyVersion


class Terms(NamedTuple):
    """The prices that are a case's own, and how many times its reward counts."""

    prices: dict[str, float] = {}  # noqa: RUF012 (never changed)
    stake: float = 1.0


def policy_for(planned: PolicyVersion, start: int, subset: int, terms: Terms) -> Policy:
    """The policy of a case that began in this state, of that subset, on these terms."""
    prices, stake = terms
    if not subset and not prices and stake == 1.0:
        return planned.policy
    rounds = rounds_of(planned.learner)
    with rounds.lock:
        now = rounds.now
        lattice = now.lattice.priced(prices) if prices else now.lattice
        drawn = msgspec.msgpack.encode((start, sorted(prices.items()), stake))
        now.rng = np.random.default_rng([planned.version, zlib.crc32(drawn)])
        return rounds.policy_for_case(planned.policy, lattice, start, subset, stake)
