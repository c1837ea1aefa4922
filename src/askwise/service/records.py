"""A case between two requests: all that is needed to go on with it, as a few bytes."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from askwise.cases import Case
from askwise.learners.base import BaseLearner
from askwise.learners.saved_policies import at_prices, own_prices
from askwise.policy import Policy
from askwise.service.ledger.contract import StoredCase


class Status(IntEnum):
    """Where a case is in its life."""

    OBSERVING = 0
    ACTED = 1
    DEFAULTED = 2
    REWARDED = 3
    CANCELLED = 4


class CaseRecord(msgspec.Struct, array_like=True, omit_defaults=True):
    """A case, in integers of the lattice."""

    version: int
    """Of the policy that it follows."""
    tag: int
    start: int
    opened: int
    """When, in microseconds."""
    path: list[tuple[int, int]] = []
    action: int = -1
    reward: float | None = None
    by_default: bool = False
    cancelled: bool = False
    prices: dict[str, float] = {}
    """Those that are not the ones it was planned with: what was paid."""
    on_file: list[int] = []
    spent: float = 0.0
    looks: tuple[int, ...] = ()
    """What it wants now."""

    @property
    def status(self) -> Status:
        """Where it is in its life."""
        if self.cancelled:
            return Status.CANCELLED
        if self.reward is not None:
            return Status.DEFAULTED if self.by_default else Status.REWARDED
        return Status.OBSERVING if self.action < 0 else Status.ACTED

    @property
    def state(self) -> int:
        """What is known, as an integer of the lattice."""
        return self.path[-1][1] if self.path else self.start


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(CaseRecord).decode


def stored(number: int, record: CaseRecord) -> StoredCase:
    """As the ledger keeps it."""
    return StoredCase(number, record.status, _encode(record))


def restored(case: StoredCase) -> CaseRecord:
    """As it was stored."""
    return _decode(case.data)


def record_of(
    case: Case, version: int, opened: int, learner: BaseLearner, spent: float
) -> CaseRecord:
    """What to keep of a case."""
    usual = case.lattice is learner.lattice
    prices, on_file = ({}, []) if usual else own_prices(case.lattice, learner.lattice)
    return CaseRecord(
        version,
        case.tag,
        case.start,
        opened,
        case.path,
        case.action_index,
        case.earned,
        case.is_by_default,
        case.is_cancelled,
        prices,
        on_file,
        spent,
        case._looks,
    )


def case_of(
    number: int, record: CaseRecord, learner: BaseLearner, policy: Policy, desk: object
) -> Case:
    """The case that goes on from where it was; it follows that policy unless it has acted."""
    lattice = learner.lattice
    case = object.__new__(Case)  # its constructor would open, and count, another case
    case.id, case.path, case.tag, case.start = number, record.path, record.tag, record.start
    case.action_index, case.earned = record.action, record.reward
    case.is_by_default, case.is_cancelled, case.block = record.by_default, record.cancelled, 0
    case.state_index = record.state
    case.subset = lattice.subset_of(case.state_index)
    case._desk = desk  # type: ignore[assignment]
    case._policy = policy if record.looks else None
    case._looks = record.looks
    case._chances = None  # those of a case that has acted are in the answer that said so
    case.wanted = lattice.names_of(record.looks)
    if record.prices or record.on_file:
        lattice = at_prices(lattice, record.prices, record.on_file)
    case._lattice = lattice
    return case
