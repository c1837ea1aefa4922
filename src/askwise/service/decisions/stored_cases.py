"""A case between two requests: all that is needed to go on with it, as a few bytes."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from askwise.learners.cases import Case, CaseOwner, CaseSnapshot
from askwise.policy import Policy
from askwise.policy.saving import at_prices, own_prices
from askwise.service.ledger.contract import StoredCase
from askwise.states import Lattice


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


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(CaseRecord).decode


class KeptCase:
    """A case of a project: the library's, and what the service keeps beside it."""

    __slots__ = ("case", "opened", "spent", "status", "usual", "version")

    def __init__(
        self, case: Case, version: int, usual: Lattice, opened: int, spent: float = 0.0
    ) -> None:
        self.case = case
        self.version = version
        """Of the policy that it follows."""
        self.usual = usual
        """With the prices that were planned with."""
        self.opened = opened
        """When, in microseconds."""
        self.spent = spent
        self.status = _status(case)

    def moved(self) -> Status:
        """Note where the case is now; returns where it was."""
        before, self.status = self.status, _status(self.case)
        return before

    def stored(self) -> StoredCase:
        """As the ledger keeps it."""
        case = self.case
        prices: dict[str, float] = {}
        on_file: list[int] = []
        if case.lattice is not self.usual:
            prices, on_file = own_prices(case.lattice, self.usual)
        record = CaseRecord(
            self.version,
            case.tag,
            case.start,
            self.opened,
            case.path,
            case.action_index,
            case.earned,
            case.is_by_default,
            case.is_cancelled,
            prices,
            on_file,
            self.spent,
            case.looks,
        )
        return StoredCase(case.id, int(self.status), _encode(record))


def restored(case: StoredCase) -> CaseRecord:
    """What was stored."""
    return _decode(case.data)


def resumed(
    number: int, record: CaseRecord, usual: Lattice, policy: Policy, owner: CaseOwner
) -> KeptCase:
    """The case that goes on from where it was; it follows that policy unless it has acted."""
    snapshot = CaseSnapshot(
        number,
        record.start,
        record.path,
        record.tag,
        record.looks,
        record.action,
        record.reward,
        record.by_default,
        record.cancelled,
    )
    lattice = at_prices(usual, record.prices, record.on_file)
    case = Case.resumed(snapshot, owner, lattice, policy if record.looks else None)
    return KeptCase(case, record.version, usual, record.opened, record.spent)


def _status(case: Case) -> Status:
    if case.is_cancelled:
        return Status.CANCELLED
    if case.earned is not None:
        return Status.DEFAULTED if case.is_by_default else Status.REWARDED
    return Status.OBSERVING if case.action_index < 0 else Status.ACTED
