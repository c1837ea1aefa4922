"""Cases, answers and counters worked out again from nothing but the events and the policies.

Each event is put to the library again, in order. It must answer what was answered, and what it
counts must be, bit for bit, what the ledger counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from askwise.errors import AskwiseError, LedgerError
from askwise.service.api.administration import Repricing
from askwise.service.api.messages import BlockEnd, CaseAnswer, Opening
from askwise.service.api.refusals import Refusal
from askwise.service.decisions.case_decider import BODIES, CaseDecider, Step
from askwise.service.decisions.erasing import ERASE
from askwise.service.decisions.stored_cases import decode_case
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.counters import DAY, ERASED, REST, REST_OF, STAKE, STAKE_OF
from askwise.service.ledger.event_pages import watched_pages
from askwise.service.ledger.rows import Event, Increment, Project, StoredCase
from askwise.service.replanning.memory import AT, FORGET, Memory, memory_increments
from askwise.service.replanning.policy_versions import AnyVersion, PolicyCache
from askwise.service.replanning.prices import PRICES, paid_kinds, price_increments
from askwise.service.replanning.thinning import ThinVersion
from askwise.states import Lattice

REFUSED = (
    Refusal,
    AskwiseError,
    msgspec.MsgspecError,
    ArithmeticError,
    RecursionError,
    UnicodeDecodeError,
)
"""The errors that are raised for an impossible event."""

Key = tuple[str, int, int]
"""The kind, the cell and the place of a counter."""

GRADED = "graded_sums"
"""The statistics of rewards between 0 and 1."""

MOST_SHOWN = 20
"""Differences that are shown; the others are only counted."""


class Replay:
    """Cases and counters, as event after event makes them."""

    def __init__(
        self, project: Project, find_version: Callable[[Lattice, int], AnyVersion]
    ) -> None:
        self._decider = CaseDecider(project, find_version)
        self._find_version = find_version
        self._paid: dict[tuple[int, int], int] = {}
        self._opened = 0
        self._memory = Memory()
        self.counters: Counter[tuple[str, int, int]] = Counter()
        self.cases: dict[int, StoredCase] = {}
        self.differences: list[str] = []

    def replay(self, events: Iterable[Event]) -> None:
        """Decide these events again, after those before them."""
        self._decider.changes.reset()
        for event in events:
            self._decide(event)
        self._take_in_changes()

    def _take_in_changes(self) -> None:
        """Add what was counted since the last time."""
        changes = self._decider.changes
        for kind, cell, place, amount in changes.increments():
            self.counters[kind, cell, place] += amount
        changes.reset()
        self._paid = {
            (cell, place): amount
            for (kind, cell, place), amount in self.counters.items()
            if kind == "paid_sums"
        }

    def _decide(self, event: Event) -> None:
        try:
            if not event.body or event.kind == ERASE:
                self._pass_over(event)
                return
            if event.kind in (FORGET, PRICES):
                self._take_in_changes()
                (self._end_block if event.kind == FORGET else self._reprice)(event)
                return
            case, status, answer = self._step(event)
        except REFUSED as error:
            self.differences.append(f"event {event.seq}: refused when taken again: {error}")
            return
        if (status, answer) != (event.status, event.answer):
            self.differences.append(
                f"event {event.seq}: answered {event.answer!r}, taken again {answer!r}"
            )
        self.cases[event.case] = case

    def _pass_over(self, event: Event) -> None:
        """Skips an event of an erased case. It only counts that a case was opened."""
        if event.kind == "open":
            self._opened += 1
            self.cases[event.case] = StoredCase(event.case, 0, b"")

    def take_in_erased(self, counters: Iterable[Increment]) -> None:
        """Add what erased cases had counted: it is known as a sum only."""
        for kind, cell, place, amount in counters:
            if kind.startswith(ERASED):
                self.counters[kind[len(ERASED) + 1 :], cell, place] += amount
                self.counters[kind, cell, place] = amount

    def _step(self, event: Event) -> Step:
        if event.kind not in BODIES:
            raise LedgerError(f"unknown kind of event {event.kind!r}")
        body = msgspec.json.decode(event.body, type=BODIES[event.kind])
        decider, number, at = self._decider, event.case, event.at
        self._opened += isinstance(body, Opening)
        decider.changes.begin_step(self._opened, self._memory)
        answer = msgspec.json.decode(event.answer, type=CaseAnswer)
        if isinstance(body, Opening):
            planned = self._find_version(decider.lattice, answer.policy_version)
            if isinstance(planned, ThinVersion):
                return decider.open_as_answered(number, planned, body, at, answer)
            return decider.open(number, planned, body, at)
        if number not in self.cases:
            raise LedgerError(f"there is no case {number}")
        return decider.step(decider.resume(self.cases[number], answer), body, at, self._paid)

    def _end_block(self, event: Event) -> None:
        """Forget what the end of a block made the project forget."""
        end, before = msgspec.json.decode(event.body, type=BlockEnd), self._memory
        blocks, after = self._decider.changes.blocks, Memory(end.block, end.first)
        if (
            blocks is None
            or not before.examined + 1 == end.block <= blocks.current(self._opened)
            or not before.first <= end.first <= end.block
        ):
            raise LedgerError("there is no such block of cases that could end")
        moves = dict(blocks.moves(before, after))
        for kind, cell, place in [key for key in self.counters if key[0] in moves]:
            amount, into = self.counters.pop((kind, cell, place)), moves[kind]
            if into is not None:
                self.counters[into, cell, place] += amount
        for row in memory_increments(before, after, event.at // DAY, drift=end.drift):
            self.counters[row[:3]] += row.amount
        self._memory = after

    def _reprice(self, event: Event) -> None:
        """Forget what was paid, where there are new prices."""
        body, lattice = msgspec.json.decode(event.body, type=Repricing), self._decider.lattice
        positions = sorted(lattice.to_buy(name) for name in body.prices)
        kinds = paid_kinds(self._decider.changes.blocks, self._memory, self._opened)

        def counted(kind: str) -> dict[tuple[int, int], int]:
            return {(i, 0): self.counters[kind, i, 0] for i in positions}

        for row in price_increments(positions, kinds, counted):
            self.counters[row[:3]] += row.amount


class Verdict(NamedTuple):
    """Whether a project's ledger is what its events make it."""

    events: int
    cases: int
    counters: int
    differences: list[str]


def verify(ledger: Ledger, name: str) -> Verdict:
    """Rebuild the counters and the cases of a project from its events, and compare."""
    project = ledger.project(name)
    if project is None:
        raise LedgerError(f"there is no project {name!r}")
    snapshot = ledger.snapshot(project.id)
    policy_cache = PolicyCache(ledger)
    replay = Replay(project, partial(policy_cache.version_or_thin, project.id))
    taken = 0
    for page in watched_pages(ledger, project._replace(seq=snapshot.seq)):
        replay.replay(page)
        for event in page:
            taken += 1
            if event.seq != taken:
                raise LedgerError(f"{name}: event {taken} is missing")
    if taken != snapshot.seq:
        raise LedgerError(f"{name}: {snapshot.seq} events expected, found {taken}")
    replay.take_in_erased(snapshot.counters)
    differences = replay.differences + _compare(snapshot.counters, replay.counters)
    if len(replay.cases) != snapshot.opened:
        differences.append(f"{snapshot.opened} cases expected, found {len(replay.cases)}")
    differences += _compare_cases(ledger, project.id, snapshot.seq, replay.cases)
    return Verdict(
        taken, len(replay.cases), sum(row.amount != 0 for row in snapshot.counters), differences
    )


def _compare(found: list[Increment], rebuilt: Counter[tuple[str, int, int]]) -> list[str]:
    stored = {(row.kind, row.cell, row.place): row.amount for row in found}
    older = _Older(stored, rebuilt)
    return [
        f"counter {kind}[{cell}, {place}]: {stored.get((kind, cell, place), 0)} in the ledger, "
        f"{rebuilt.get((kind, cell, place), 0)} from the events"
        for kind, cell, place in sorted(stored.keys() | rebuilt.keys())
        if not _same(stored.get((kind, cell, place), 0), rebuilt.get((kind, cell, place), 0))
        and not older.did_not_count(kind, cell, place)
    ]


class _Older:
    """Knows what of the counters an older askwise did not count, when it wrote some of the events.

    Rests were not, in a day or block with fewer steps than the events make; and then, in the whole
    project, what is counted of rewards between 0 and 1 was perhaps not counted either. Stakes were
    not, in a day or block with fewer of them than the events make.
    """

    def __init__(self, stored: Mapping[Key, int], rebuilt: Mapping[Key, int]) -> None:
        self._stored, self._rebuilt = stored, rebuilt
        self._cells = self._fewer(REST_OF.values(), REST.index("steps"))
        self._staked = self._fewer(STAKE_OF.values(), STAKE.index("staked"))

    def _fewer(self, kinds: Collection[str], counts: int) -> set[tuple[str, int]]:
        """The days and blocks in which the ledger has counted fewer than the events make."""
        return {
            (kind, cell)
            for kind, cell, place in self._rebuilt
            if kind in kinds
            and place == counts
            and self._stored.get((kind, cell, place), 0) < self._rebuilt[kind, cell, place]
        }

    def did_not_count(self, kind: str, cell: int, place: int) -> bool:
        name = kind.removeprefix(f"{ERASED} ")
        if name.partition(AT)[0] == GRADED and self._cells:
            key = kind, cell, place
            return self._stored.get(key, 0) < self._rebuilt.get(key, 0)
        return (name, cell) in self._cells | self._staked


def _same(stored: object, rebuilt: int) -> bool:
    """Whether they are the same whole number: a float that is near it is not."""
    return type(stored) is int and stored == rebuilt


def _compare_cases(
    ledger: Ledger, project: int, seq: int, rebuilt: dict[int, StoredCase]
) -> list[str]:
    moved = {event.case for event in ledger.events(project, seq, 1_000_000)}  # meanwhile
    differences, before = [], max(rebuilt, default=0) + 1
    while page := ledger.latest_cases(project, before, 1000):
        differences += [
            f"case {case.id}: not what its events make it"
            for case in page
            if case.id not in moved and not _same_case(case, rebuilt.get(case.id))
        ]
        before = page[-1].id
    return differences


def _same_case(stored: StoredCase, rebuilt: StoredCase | None) -> bool:
    """Whether they say the same: an older askwise may have written fewer fields."""
    if rebuilt is None or (rebuilt.data and stored[:2] != rebuilt[:2]):
        return False
    if not stored.data or not rebuilt.data:  # it was erased
        return stored.data == rebuilt.data
    return stored == rebuilt or decode_case(stored) == decode_case(rebuilt)
