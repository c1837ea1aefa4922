"""A case is erased, on request of the person it was about; what was counted stays counted.

The values that were seen and the answers of its events are blanked, for ever, and so is the case.
Of the keys of its events a digest is left, so that a request that is repeated later is not taken
for a new one. That it was, when, and what it added to the counters stays: the latter as sums over
all erased cases, `erased ` before the kind of each counter. So the counters are still what the
events that are left, and those sums, make them, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from askwise.service.api.administration import Repricing
from askwise.service.api.messages import CaseAnswer, Opening
from askwise.service.api.refusals import Refusal
from askwise.service.decisions.case_decider import BODIES, CaseDecider
from askwise.service.decisions.jobs import Administration, Written, erased_key
from askwise.service.ledger.contract import Ledger, Transaction
from askwise.service.ledger.counters import ERASED, MEMORY, REPRICED
from askwise.service.ledger.rows import Event, Increment, Project, Status, StoredCase
from askwise.service.replanning.memory import AT, Memory
from askwise.service.replanning.policy_versions import AnyVersion
from askwise.service.replanning.prices import PAID, PRICES
from askwise.service.replanning.thinning import ThinVersion
from askwise.states import Lattice

ERASE = "erase"
"""The kind of the event."""

FindVersion = Callable[[Lattice, int], AnyVersion]


class ChangedMeanwhile(Refusal):
    """A case changed after it was read to be erased; read again, it may be erased."""


def erasure(
    ledger: Ledger, project: Project, key: str, case: int, find_version: FindVersion
) -> Administration:
    """Erases a case, which must be over.

    Its events are read here, before the turn to write, because finding them takes long in a large
    ledger.
    """
    found, events = ledger.case(project.id, case), ledger.events_of_case(project.id, case)
    prices, repriced = ledger.counter_values(project.id, REPRICED), dict[int, int]()
    if prices:
        repriced = _last_prices(ledger, project, CaseDecider(project, find_version).lattice)

    def erase(transaction: Transaction, at: int) -> Written:
        now = transaction.cases(project.id, [case]).get(case)
        if now is None:
            raise Refusal(404, f"there is no case {case} in {project.name!r}", "path:case")
        if not now.data:
            raise Refusal(410, f"case {case} was erased already", "path:case")
        if now.status in (Status.OBSERVING, Status.ACTED):
            raise Refusal(409, f"case {case} is not over: cancel it, then erase it", "path:case")
        if now != found or transaction.counter_values(project.id, REPRICED) != prices:
            why = f"case {case} keeps changing: send no more rewards for it, then erase it"
            raise ChangedMeanwhile(409, why, "path:case")
        memory = Memory.of(transaction.counter_values(project.id, MEMORY))
        added = _added(CaseDecider(project, find_version), events, memory, repriced)
        keys = {event.seq: erased_key(project.seed, event.key) for event, _ in events}
        transaction.erase_case(project.id, case, keys)
        kept = [row._replace(kind=f"{ERASED} {row.kind}") for row in added]
        return Written(200, msgspec.json.encode({"case": case, "events": len(events)}), kept)

    body = msgspec.json.encode({"case": case})
    return Administration(key, ERASE, body, erase, log=project.id, locks=(project.id,))


def _added(
    decider: CaseDecider,
    events: list[tuple[Event, int]],
    memory: Memory,
    repriced: dict[int, int],
) -> list[Increment]:
    """Returns what the events of one case have added to the counters and what was not forgotten."""
    case: StoredCase | None = None
    decider.changes.reset()
    found: list[Increment] = []
    for event, opened in events:
        decider.changes.begin_step(opened, memory)
        body = msgspec.json.decode(event.body, type=BODIES[event.kind])
        answer = msgspec.json.decode(event.answer, type=CaseAnswer)
        if isinstance(body, Opening):
            case = _opened(decider, event, body, answer)
        else:
            assert case is not None
            case = decider.step(decider.resume(case, answer), body, event.at, {})[0]
        for row in decider.changes.increments():
            name, at, _ = row.kind.partition(AT)
            is_mean = name in PAID and (at or not decider.forgets)
            # what was paid before prices were changed is in no mean any more
            if not is_mean or repriced.get(row.cell, 0) < event.seq:
                found.append(row)
        decider.changes.reset()
    return found


def _opened(decider: CaseDecider, event: Event, body: Opening, answer: CaseAnswer) -> StoredCase:
    planned = decider.find_version(answer.policy_version)
    if isinstance(planned, ThinVersion):
        return decider.open_as_answered(event.case, planned, body, event.at, answer)[0]
    return decider.open(event.case, planned, body, event.at)[0]


def _last_prices(ledger: Ledger, project: Project, lattice: Lattice) -> dict[int, int]:
    """The event in which each observation got its newest price, where it ever got one."""
    last: dict[int, int] = {}
    for event in ledger.events_of_kind(project.id, PRICES):
        for name in msgspec.json.decode(event.body, type=Repricing).prices:
            last[lattice.to_buy(name)] = event.seq
    return last
