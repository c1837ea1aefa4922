"""Old versions of a policy, cut down to what the past needs of them.

A case that still looks follows the version that it was opened under, so that version stays. Of one
that no such case follows, just the prices are kept: what cases cost, and all that was counted,
follows from those and from the answers that were given. What it decided cannot be worked out again
then; `askwise ledger verify` takes it as it was answered.

A case is opened under one of the newest `MOST_BEHIND` versions, and only older ones are thinned: so
there is no moment in which a case could begin to follow one that is being thinned.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from askwise.learners import LEARNERS
from askwise.learners.learner import BaseLearner
from askwise.learners.saving import from_bytes
from askwise.policy.tables import Propensities
from askwise.service.api.messages import CaseAnswer
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import Project, Status
from askwise.states import Lattice

MOST_BEHIND = 8
"""How many versions a worker may be behind when it opens a case."""

RECENT = 32
"""The newest versions, which stay as they are."""

THINNED_EVERY = 64
"""A project is thinned with every so many versions: all its open cases are looked through."""

PAGE = 1000

THIN = b"askwise thin "
"""How the bytes of a thinned version begin."""


class ThinVersion(NamedTuple):
    """A version of which only the prices are left."""

    version: int
    lattice: Lattice


class AnsweredPolicy:
    """Decides what was answered, in one step of a case: of the policy itself nothing is left."""

    def __init__(self, lattice: Lattice, answer: CaseAnswer) -> None:
        self.lattice = lattice
        self._answer = answer

    def in_state(self, state: int) -> AnsweredPolicy:
        """Itself: whatever the state, the answer is what it was."""
        return self

    exact = in_state
    acquisition = "sequential"

    def looks_in_case(self, state: int, tag: int) -> tuple[int, ...]:
        """What was wanted after this step."""
        return tuple(self.lattice.to_buy(name) for name in self._answer.wanted)

    def action_in_case(self, state: int, tag: int) -> int:
        """The action that was answered."""
        return self.lattice.action(self._answer.action or "")

    def propensities(
        self, start: int, path: list[tuple[int, int]], looks: tuple[int, ...], action: int
    ) -> Propensities | None:
        """How likely the steps were, as that was answered."""
        return self._answer.propensity


def thinned(learner: BaseLearner) -> bytes:
    """What is kept of a version: its prices."""
    costs = [o.cost for o in learner.problem.observations]
    return THIN + msgspec.msgpack.encode(costs)


def read_thinned(version: int, blob: bytes, lattice: Lattice) -> ThinVersion:
    """A version that was thinned, in the states of its project's problem."""
    costs = msgspec.msgpack.decode(blob[len(THIN) :], type=list[float | None])
    names = [o.name for o in lattice.problem.observations]
    buyable = {o.name for o in lattice.observations[: lattice.buyable]}
    prices = {n: c for n, c in zip(names, costs, strict=True) if n in buyable and c is not None}
    return ThinVersion(version, lattice.priced(prices))


class _CaseHead(msgspec.Struct, array_like=True):
    """How the record of a case begins."""

    version: int


def followed_versions(ledger: Ledger, project: Project) -> set[int]:
    """The versions that cases follow which still look."""
    found: set[int] = set()
    after = 0
    while cases := ledger.cases_in(
        project.id, Status.OBSERVING, range(after + 1, project.opened + 1), PAGE
    ):
        found |= {msgspec.msgpack.decode(case.data, type=_CaseHead).version for case in cases}
        after = cases[-1].id
    return found


class Thinned(NamedTuple):
    """What thinning a project has come to."""

    versions: int
    """How many were thinned just now."""
    saved: int
    """Bytes of them."""


def thin(ledger: Ledger, project: Project) -> Thinned:
    """Thin all versions but the recent ones, the first, and those that cases follow.

    A case that is opened meanwhile follows a recent version.
    """
    followed, versions, saved = followed_versions(ledger, project), 0, 0
    for version, size in ledger.policy_sizes(project.id):
        if version == 1 or version > project.version - RECENT or version in followed:
            continue
        stored = ledger.policy(project.id, version)
        if stored is None or stored.blob.startswith(THIN):
            continue
        try:
            blob = thinned(from_bytes(stored.blob, LEARNERS))
        except Exception:  # noqa: S112 (what cannot be read is left for somebody to look at)
            continue
        with ledger.transaction() as transaction:
            transaction.lock([project.id])
            transaction.replace_policy(project.id, version, blob)
        versions, saved = versions + 1, saved + size - len(blob)
    return Thinned(versions, saved)
