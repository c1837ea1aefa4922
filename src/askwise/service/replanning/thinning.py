"""Thins old versions of a policy to their prices.

A case that is still observing follows the version that it was opened under, so that version stays
whole. Of a version that no such case follows, only the prices are kept. The costs of cases and all
counters follow from the prices and from the answers that were given. The decisions of a thinned
version cannot be computed again: `askwise ledger verify` takes them from the answers.

A case is opened under one of the newest `MOST_BEHIND` versions, and only older versions are
thinned. So no case can begin to follow a version while it is being thinned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from askwise.learners import LEARNERS
from askwise.learners.learner import BaseLearner
from askwise.learners.saving import from_bytes
from askwise.policy.tables import Propensities
from askwise.service.api.messages import CaseAnswer
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import Project, Status, StoredCase
from askwise.states import Lattice

MOST_BEHIND = 8
"""How many versions a worker may be behind when it opens a case."""

RECENT = 32
"""How many of the newest versions are never thinned."""

THINNED_EVERY = 64
"""A project is thinned once in so many versions, because all its open cases must be read."""

PAGE = 1000

THIN = b"askwise thin "
"""The first bytes of a thinned version."""


class ThinVersion(NamedTuple):
    """A version of which only the prices are kept."""

    version: int
    lattice: Lattice


class AnsweredPolicy:
    """Stands for a thinned policy in one step of a case: decides what was answered."""

    def __init__(self, lattice: Lattice, answer: CaseAnswer) -> None:
        self.lattice = lattice
        self._answer = answer

    def in_state(self, state: int) -> AnsweredPolicy:
        """Itself, because the answer is the same in every state."""
        return self

    exact = in_state
    acquisition = "sequential"

    def looks_in_case(self, state: int, tag: int) -> tuple[int, ...]:
        """The observations that the answer wanted."""
        return tuple(self.lattice.to_buy(name) for name in self._answer.wanted)

    def action_in_case(self, state: int, tag: int) -> int:
        """The action of the answer."""
        return self.lattice.action(self._answer.action or "")

    def propensities(
        self, start: int, path: list[tuple[int, int]], looks: tuple[int, ...], action: int
    ) -> Propensities | None:
        """The propensities of the answer."""
        return self._answer.propensity


def thinned(learner: BaseLearner) -> bytes:
    """The bytes that are kept of a version: its prices."""
    costs = [o.cost for o in learner.problem.observations]
    return THIN + msgspec.msgpack.encode(costs)


def read_thinned(version: int, blob: bytes, lattice: Lattice) -> ThinVersion:
    """A thinned version, in the states of its project's problem."""
    costs = msgspec.msgpack.decode(blob[len(THIN) :], type=list[float | None])
    names = [o.name for o in lattice.problem.observations]
    buyable = {o.name for o in lattice.observations[: lattice.buyable]}
    prices = {n: c for n, c in zip(names, costs, strict=True) if n in buyable and c is not None}
    return ThinVersion(version, lattice.priced(prices))


class _CaseHead(msgspec.Struct, array_like=True):
    """The first field of the record of a case."""

    version: int


def observing_cases(ledger: Ledger, project: Project) -> Iterator[list[StoredCase]]:
    """The cases that are still observing, in order, some at a time."""
    after = 0
    while cases := ledger.cases_in(
        project.id, Status.OBSERVING, range(after + 1, project.opened + 1), PAGE
    ):
        yield cases
        after = cases[-1].id


def followed_versions(ledger: Ledger, project: Project) -> set[int]:
    """The versions that are followed by cases which are still observing."""
    return {
        msgspec.msgpack.decode(case.data, type=_CaseHead).version
        for cases in observing_cases(ledger, project)
        for case in cases
    }


class Thinned(NamedTuple):
    """The result of thinning a project."""

    versions: int
    """How many versions were thinned."""
    saved: int
    """How many bytes that saved."""


def thin(ledger: Ledger, project: Project) -> Thinned:
    """Thin all versions except the recent ones, the first, and those that cases follow.

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
        except Exception:  # noqa: S112 (an unreadable version is left as it is, for the operator)
            continue
        with ledger.transaction() as transaction:
            transaction.lock([project.id])
            transaction.replace_policy(project.id, version, blob)
        versions, saved = versions + 1, saved + size - len(blob)
    return Thinned(versions, saved)
