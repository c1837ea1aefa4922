"""A case between two requests: all that is needed to go on with it, as a few bytes."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from askwise.learners.case_owner import CaseOwner
from askwise.learners.case_snapshots import CaseSnapshot
from askwise.learners.cases import Case
from askwise.learners.people import NOTHING, PeopleDid
from askwise.policy import Policy
from askwise.policy.alike import PolicyBetween
from askwise.policy.saving import at_prices, own_prices
from askwise.service.ledger.rows import Status, StoredCase
from askwise.states import Lattice


class CaseRecord(msgspec.Struct, array_like=True, omit_defaults=True):
    """All that is stored of a case, in integers of the lattice."""

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
    """The amounts paid that differ from the planned prices."""
    on_file: list[int] = []
    spent: float = 0.0
    looks: tuple[int, ...] = ()
    """The observations that it wants now."""
    own_prices: dict[str, float] = {}
    """Those that it was opened with."""
    stake: float = 1.0
    people: PeopleDid = NOTHING
    block: int = 0
    """The block in which its reward was counted, if the learner forgets."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(CaseRecord).decode


class ServedCase:
    """A case of the library with what the service needs beside it."""

    __slots__ = ("case", "lattice", "opened", "prices", "spent", "status", "version")

    def __init__(
        self,
        case: Case,
        version: int,
        lattice: Lattice,
        opened: int,
        spent: float = 0.0,
        *,
        prices: dict[str, float],
    ) -> None:
        self.case = case
        self.version = version
        """Of the policy that it follows."""
        self.lattice = lattice
        """The lattice of the policy, at the prices it was planned with. The case may have its own
        prices.
        """
        self.opened = opened
        """When, in microseconds."""
        self.spent = spent
        self.prices = prices
        """Those that it was opened with."""
        self.status = _status(case)

    @property
    def has_own_terms(self) -> bool:
        """Whether it has prices or a stake of its own, and so may keep a whole plan."""
        return bool(self.prices) or self.case.stake != 1.0

    @property
    def may_plan(self) -> bool:
        """Whether its policy may have to be planned in the state that it comes to."""
        policy = self.case.policy
        return isinstance(policy, PolicyBetween) and policy.may_plan

    def update_status(self) -> Status:
        """Note where the case is now; returns where it was."""
        before, self.status = self.status, _status(self.case)
        return before

    def stored(self) -> StoredCase:
        """The case as the ledger keeps it."""
        case = self.case
        prices: dict[str, float] = {}
        on_file: list[int] = []
        if case.lattice is not self.lattice:
            prices, on_file = own_prices(case.lattice, self.lattice)
        record = CaseRecord(
            version=self.version,
            tag=case.tag,
            start=case.start,
            opened=self.opened,
            path=case.path,
            action=case.action_index,
            reward=case.share,
            by_default=case.is_by_default,
            cancelled=case.is_cancelled,
            prices=prices,
            on_file=on_file,
            spent=self.spent,
            looks=case.looks,
            own_prices=self.prices,
            stake=case.stake,
            people=case.people,
            block=case.block,
        )
        return StoredCase(case.id, int(self.status), _encode(record))


class CachedCase(NamedTuple):
    """A case in memory, as it was last stored."""

    stored: StoredCase
    may_plan: bool
    """Whether its policy may have to be planned in the state that it comes to."""


def decode_case(case: StoredCase) -> CaseRecord:
    """The record of a case that `ServedCase.stored` encoded."""
    return _decode(case.data)


def resume_case(
    number: int, record: CaseRecord, usual: Lattice, policy: Policy | None, owner: CaseOwner
) -> ServedCase:
    """The case, to go on from where it was; it follows that policy, none once it has acted."""
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
        block=record.block,
        stake=record.stake,
        people=record.people,
    )
    lattice = at_prices(usual, record.prices, record.on_file)
    case = Case.resumed(snapshot, owner, lattice, policy)
    opened, prices = record.opened, record.own_prices
    return ServedCase(case, record.version, usual, opened, record.spent, prices=prices)


def _status(case: Case) -> Status:
    if case.is_cancelled:
        return Status.CANCELLED
    if case.share is not None:
        return Status.DEFAULTED if case.is_by_default else Status.REWARDED
    return Status.OBSERVING if case.action_index < 0 else Status.ACTED


def status_text(status: Status) -> str:
    """How a case stands, as the end of a sentence."""
    return {
        Status.OBSERVING: "still wants something",
        Status.ACTED: "has its action",
        Status.DEFAULTED: "has its reward",
        Status.REWARDED: "has its reward",
        Status.CANCELLED: "is cancelled",
    }[status]
