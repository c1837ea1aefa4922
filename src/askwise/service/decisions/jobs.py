"""What operators ask, and what is answered to whatever was asked.

What an operator asks becomes an event like any other: of the project that it is about, if that goes
on from there (prices), and else of no project.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from askwise.service.api.refusals import Refusal
from askwise.service.ledger.contract import Transaction
from askwise.service.ledger.rows import NO_PROJECT, Event, Increment


class Answer(NamedTuple):
    """What was committed as the answer to a request."""

    status: int
    body: bytes
    is_new: bool = True
    """Whether it was decided just now; else it is the answer that was given before."""


Result = Answer | Refusal


class Written(NamedTuple):
    """What an operator's request has changed."""

    status: int
    answer: bytes
    increments: Sequence[Increment] = ()


class Administration(NamedTuple):
    """What an operator asks, about a token or a whole project; it becomes an event as well."""

    key: str
    kind: str
    body: bytes
    apply: Callable[[Transaction, int], Written]
    """Changes something in the transaction, at that time; or raises a Refusal, and has not."""
    log: int = NO_PROJECT
    """Of which project it becomes an event."""
    locks: tuple[int, ...] = ()
    """The projects that it changes."""


class StaleProjectError(Exception):
    """A project is not any more what this process knows of it: it has another name, or is gone."""


def administer(job: Administration, transaction: Transaction, at: int) -> Result:
    """Do what an operator asks, and write it down; the caller has locked what it changes."""
    before = transaction.events_with_keys(job.log, [job.key]).get(job.key)
    try:
        if before is not None:
            return repeated_answer(before, job.kind, 0, job.body)
        written = job.apply(transaction, at)
    except Refusal as refusal:
        return refusal
    head = transaction.lock([job.log])[job.log]
    event = Event(
        seq=head.seq + 1,
        key=job.key,
        kind=job.kind,
        case=0,
        body=job.body,
        status=written.status,
        answer=written.answer,
        at=at,
    )
    head = head._replace(seq=event.seq)
    transaction.append(job.log, head, [event], [], written.increments)
    return Answer(written.status, written.answer)


def repeated_answer(before: Event, kind: str, case: int, body: bytes) -> Answer:
    """The answer that this key was given before, if the request is the same; else a refusal."""
    asked = before.kind, 0 if kind == "open" else before.case, before.body
    if asked != (kind, case, body):
        raise Refusal(
            409,
            "this idempotency key was used for another request; a new request needs a new key",
            "header:Idempotency-Key",
        )
    return Answer(before.status, before.answer, is_new=False)
